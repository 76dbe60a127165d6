// The colours of screens: two palettes of sixteen, and the 256 of xterm behind them.

export interface ScreenTheme {
  background: string;
  foreground: string;
  cursor: string;
  cursorAccent: string;
  selectionBackground: string;
  colors: readonly string[];
}

export const DARK: ScreenTheme = {
  background: "#0f1419",
  foreground: "#d9dee5",
  cursor: "#d9dee5",
  cursorAccent: "#0f1419",
  selectionBackground: "#2f4f78",
  colors: [
    "#1c232b", "#f0716f", "#7fce7f", "#e3b45c", "#6fb0f6", "#c99af5", "#5fc9c9", "#c6ccd4",
    "#66717f", "#ff9a94", "#a4e3a0", "#f5d08a", "#9ccaff", "#ddbcff", "#92e3e0", "#ffffff",
  ],
};

export const LIGHT: ScreenTheme = {
  background: "#fbfbfa",
  foreground: "#1f2429",
  cursor: "#1f2429",
  cursorAccent: "#fbfbfa",
  selectionBackground: "#b7d3f7",
  colors: [
    "#1f2429", "#b3261e", "#1d6f2c", "#815600", "#1a56b8", "#7a35a8", "#0b6b70", "#6b727a",
    "#565d65", "#c8362d", "#27803a", "#946400", "#2b66c8", "#8b46b9", "#147a80", "#2f363d",
  ],
};

const STEPS = [0, 95, 135, 175, 215, 255];
const hex = (value: number): string => value.toString(16).padStart(2, "0");

/** Returns the colour of an index from 16 on: the cube, then the greys. */
export function cubeColor(index: number): string {
  if (index >= 232) return `#${hex(8 + (index - 232) * 10).repeat(3)}`;
  const cube = index - 16;
  const step = (part: number): string => hex(STEPS[part] ?? 0);
  return `#${step(Math.floor(cube / 36))}${step(Math.floor(cube / 6) % 6)}${step(cube % 6)}`;
}

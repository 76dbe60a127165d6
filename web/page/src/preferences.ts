// What this device remembers: theme, size of text, notifications, drafts.

import { invalidate } from "./store.ts";

export type ThemeChoice = "auto" | "light" | "dark";

export const FONT_SMALLEST = 9;
export const FONT_LARGEST = 20;

const read = (name: string): string | null => {
  try {
    return localStorage.getItem(`qd.${name}`);
  } catch {
    return null;
  }
};

const write = (name: string, value: string | undefined): void => {
  try {
    if (value === undefined) localStorage.removeItem(`qd.${name}`);
    else localStorage.setItem(`qd.${name}`, value);
  } catch {
    // A browser without storage forgets; nothing else depends on it.
  }
};

const systemDark = matchMedia("(prefers-color-scheme: dark)");
const coarse = matchMedia("(pointer: coarse)");
const narrow = matchMedia("(max-width: 760px)");

export const isTouch = (): boolean => coarse.matches;
export const isNarrow = (): boolean => narrow.matches;

/** The agent that a person chose last for a task. */
export const lastAgent = (): string | null => read("agent");
export const setLastAgent = (name: string): void => write("agent", name);

export function themeChoice(): ThemeChoice {
  const value = read("theme");
  return value === "light" || value === "dark" ? value : "auto";
}

export function isDark(): boolean {
  const choice = themeChoice();
  return choice === "auto" ? systemDark.matches : choice === "dark";
}

type Listener = () => void;
const listeners = new Set<Listener>();

/** Calls back when theme or text size change; returns how to stop. */
export function onAppearance(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function appearanceChanged(): void {
  applyTheme();
  for (const listener of listeners) listener();
  invalidate();
}

export function setTheme(choice: ThemeChoice): void {
  write("theme", choice === "auto" ? undefined : choice);
  appearanceChanged();
}

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = isDark() ? "dark" : "light";
  const color = isDark() ? "#12171d" : "#ffffff";
  document.querySelector('meta[name="theme-color"]')?.setAttribute("content", color);
}

export function watchSystem(): void {
  systemDark.addEventListener("change", appearanceChanged);
  coarse.addEventListener("change", invalidate);
  narrow.addEventListener("change", invalidate);
}

export function fontSize(): number {
  const value = Number(read("font"));
  const usual = isTouch() ? 12 : 13;
  return value >= FONT_SMALLEST && value <= FONT_LARGEST ? value : usual;
}

export function setFontSize(pixels: number): void {
  write("font", String(Math.min(FONT_LARGEST, Math.max(FONT_SMALLEST, Math.round(pixels)))));
  appearanceChanged();
}

export const draft = (process: string): string => read(`draft.${process}`) ?? "";
export const setDraft = (process: string, text: string): void => write(`draft.${process}`, text === "" ? undefined : text);

export const wantsNotifications = (): boolean => read("notify") === "on";
export const setWantsNotifications = (isOn: boolean): void => write("notify", isOn ? "on" : undefined);
export const lastNotified = (): number | undefined => Number(read("notified")) || undefined;
export const setLastNotified = (at: number): void => write("notified", String(at));

/** The screen as text instead of a terminal; by default where a finger points. */
export function prefersText(): boolean {
  const value = read("screen");
  return value === null ? isTouch() : value === "text";
}

export function setPrefersText(isText: boolean): void {
  write("screen", isText ? "text" : "terminal");
  invalidate();
}

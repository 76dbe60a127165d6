// What a terminal sends for a turn of the wheel, as programs expect it.

export interface WheelModes {
  /** The program asked for the mouse. */
  isTracking: boolean;
  /** It wants the mouse's reports in the form of mode 1006. */
  isSgr: boolean;
  isAlternate: boolean;
  isApplicationCursor: boolean;
}

const UP = 64;
const DOWN = 65;
/** A turn of so many rows at once is a slip. */
const MOST_ROWS = 60;

/**
 * Returns what turning by `rows` types, upwards if negative: reports of the mouse at a cell (counted from 1) to a program
 * that follows it, arrows to another one that has the whole screen, else nothing.
 */
export function wheelInput(rows: number, modes: WheelModes, cell: { col: number; row: number }): string {
  const count = Math.min(MOST_ROWS, Math.abs(rows));
  const isUp = rows < 0;
  if (modes.isTracking) return report(isUp ? UP : DOWN, modes.isSgr, cell).repeat(count);
  if (!modes.isAlternate) return "";
  return `\x1b${modes.isApplicationCursor ? "O" : "["}${isUp ? "A" : "B"}`.repeat(count);
}

function report(button: number, isSgr: boolean, { col, row }: { col: number; row: number }): string {
  if (isSgr) return `\x1b[<${button};${col};${row}M`;
  // The old form adds 32 to each number; above 127 it would no longer be text, so the place is only near.
  const byte = (value: number): string => String.fromCharCode(32 + Math.min(95, value));
  return `\x1b[M${byte(button)}${byte(col)}${byte(row)}`;
}

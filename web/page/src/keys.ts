// The names of keys, as `qd key` takes them, for the key bar and for the keyboard.

export interface BarKey {
  /** What `input` takes. */
  name: string;
  /** What the bar shows. */
  label: string;
  /** It repeats while it is held. */
  repeats?: boolean;
}

export const FIRST_ROW: readonly BarKey[] = [
  { name: "escape", label: "esc" },
  { name: "tab", label: "tab" },
  { name: "ctrl", label: "ctrl" },
  { name: "up", label: "↑", repeats: true },
  { name: "down", label: "↓", repeats: true },
  { name: "left", label: "←", repeats: true },
  { name: "right", label: "→", repeats: true },
  { name: "enter", label: "⏎" },
];

export const SECOND_ROW: readonly BarKey[] = [
  { name: "ctrl-c", label: "^C" },
  { name: "ctrl-d", label: "^D" },
  { name: "ctrl-z", label: "^Z" },
  { name: "ctrl-r", label: "^R" },
  { name: "shift-tab", label: "⇧⇥" },
  { name: "backspace", label: "⌫", repeats: true },
  { name: "pageup", label: "PgUp", repeats: true },
  { name: "pagedown", label: "PgDn", repeats: true },
  { name: "/", label: "/" },
  { name: "|", label: "|" },
  { name: "~", label: "~" },
  { name: "-", label: "-" },
];

/** Returns the key's name with Ctrl held, or undefined for a key that has no such form. */
export function withCtrl(name: string): string | undefined {
  if (name === "ctrl" || name.startsWith("ctrl-")) return undefined;
  if (name.length === 1) return /^[a-z@[\]\\^_?/ -]$/i.test(name) ? `ctrl-${name === " " ? "space" : name.toLowerCase()}` : undefined;
  return `ctrl-${name}`;
}

/** Returns what a press of a bar key sends, and whether Ctrl stays on for the next one. */
export function pressBarKey(name: string, isCtrlOn: boolean): { send?: string; isCtrlOn: boolean } {
  if (name === "ctrl") return { isCtrlOn: !isCtrlOn };
  if (!isCtrlOn) return { send: name, isCtrlOn: false };
  return { send: withCtrl(name) ?? name, isCtrlOn: false };
}

/** A single character goes as text, everything else as a named key. */
export function inputOf(name: string): { keys: string[] } | { text: string } {
  return name.length === 1 ? { text: name } : { keys: [name] };
}

export interface Chord {
  key: string;
  ctrlKey: boolean;
  altKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
}

/** The keys that the page keeps even while a terminal has the keyboard. */
export function isPageKey(chord: Chord): boolean {
  if (chord.altKey || chord.metaKey) return false;
  if (chord.key === "F6") return !chord.ctrlKey;
  if (!chord.ctrlKey || chord.shiftKey) return false;
  return chord.key === "k" || chord.key === "\\";
}

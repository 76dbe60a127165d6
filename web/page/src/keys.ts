// The names of keys, as `qd key` takes them, for the key bar and for the keyboard.

export interface BarKey {
  /** What `input` takes. */
  name: string;
  /** What the bar shows. */
  label: string;
  /** What a screen reader says. */
  spoken: string;
  /** It repeats while it is held. */
  repeats?: boolean;
}

export const FIRST_ROW: readonly BarKey[] = [
  { name: "escape", label: "esc", spoken: "Escape" },
  { name: "tab", label: "tab", spoken: "Tab" },
  { name: "ctrl", label: "ctrl", spoken: "Control, for the next key" },
  { name: "up", label: "↑", spoken: "Up", repeats: true },
  { name: "down", label: "↓", spoken: "Down", repeats: true },
  { name: "left", label: "←", spoken: "Left", repeats: true },
  { name: "right", label: "→", spoken: "Right", repeats: true },
  { name: "enter", label: "⏎", spoken: "Enter" },
];

export const SECOND_ROW: readonly BarKey[] = [
  { name: "ctrl-c", label: "^C", spoken: "Control C" },
  { name: "ctrl-d", label: "^D", spoken: "Control D" },
  { name: "ctrl-z", label: "^Z", spoken: "Control Z" },
  { name: "ctrl-r", label: "^R", spoken: "Control R" },
  { name: "shift-tab", label: "⇧⇥", spoken: "Shift Tab" },
  { name: "backspace", label: "⌫", spoken: "Backspace", repeats: true },
  { name: "pageup", label: "PgUp", spoken: "Page up", repeats: true },
  { name: "pagedown", label: "PgDn", spoken: "Page down", repeats: true },
  { name: "/", label: "/", spoken: "Slash" },
  { name: "|", label: "|", spoken: "Bar" },
  { name: "~", label: "~", spoken: "Tilde" },
  { name: "-", label: "-", spoken: "Dash" },
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

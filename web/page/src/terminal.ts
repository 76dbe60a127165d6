// The terminal emulator, loaded when the first screen opens: xterm.js for mouse and keyboard, and as a parser alone
// behind the text view.

import "@xterm/xterm/css/xterm.css";
import { UnicodeGraphemesAddon } from "@xterm/addon-unicode-graphemes";
import { type IBufferCell, type ITheme, Terminal } from "@xterm/xterm";
import { stampStyles } from "./base.ts";
import { isPageKey } from "./keys.ts";
import { DARK, LIGHT, type ScreenTheme } from "./palette16.ts";
import type { Size, StyledRow, StyledRun } from "./types.ts";
import type { Emulator } from "./viewer.ts";
import { wheelInput } from "./wheel.ts";

stampStyles();

export const FONT = '"Quarterdeck Mono", ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';
/** A child may offer at most this much for the clipboard. */
const CLIPBOARD_LIMIT = 64 * 1024;
/** The mode in which reports of the mouse are numbers in text. */
const SGR_MOUSE = 1006;

export interface ScreenEvents {
  input: (bytes: Uint8Array) => void;
  clipboard: Offer;
  openLink: (target: string) => void;
  /** The reader scrolls up on the main screen. */
  history: () => void;
  leave: () => void;
}

/** Programs choose bright colours for a dark screen; on a light one they are darkened until they can be read. */
const contrastOf = (isDark: boolean): number => (isDark ? 1 : 4.5);

function themeOf(theme: ScreenTheme): ITheme {
  const names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
  const bright = ["brightBlack", "brightRed", "brightGreen", "brightYellow", "brightBlue", "brightMagenta", "brightCyan", "brightWhite"] as const;
  const { background, foreground, cursor, cursorAccent, selectionBackground, colors } = theme;
  const all: ITheme = { background, foreground, cursor, cursorAccent, selectionBackground };
  [...names, ...bright].forEach((name, index) => {
    all[name] = colors[index] ?? foreground;
  });
  return all;
}

/** The child offers text for the clipboard; a person decides. */
export type Offer = (text: string) => void;

abstract class Screen implements Emulator {
  protected readonly terminal: Terminal;

  constructor(size: Size, isDark: boolean, fontSize: number, private readonly offer: Offer) {
    this.terminal = new Terminal({
      cols: size.cols,
      rows: size.rows,
      scrollback: 0,
      allowProposedApi: true,
      fontFamily: FONT,
      fontSize,
      lineHeight: 1.15,
      theme: themeOf(isDark ? DARK : LIGHT),
      minimumContrastRatio: contrastOf(isDark),
      macOptionIsMeta: true,
      customGlyphs: true,
    });
    this.terminal.loadAddon(new UnicodeGraphemesAddon());
    this.terminal.unicode.activeVersion = "15-graphemes";
    this.terminal.parser.registerOscHandler(52, (data) => this.offerClipboard(data));
  }

  get size(): Size {
    return { cols: this.terminal.cols, rows: this.terminal.rows };
  }

  write(bytes: Uint8Array, parsed: () => void): void {
    this.terminal.write(bytes, parsed);
  }

  resize(size: Size): void {
    if (size.cols !== this.terminal.cols || size.rows !== this.terminal.rows) this.terminal.resize(size.cols, size.rows);
  }

  setTheme(isDark: boolean): void {
    this.terminal.options.theme = themeOf(isDark ? DARK : LIGHT);
    this.terminal.options.minimumContrastRatio = contrastOf(isDark);
  }

  close(): void {
    this.terminal.dispose();
  }

  /** OSC 52: a read gets no reply; a write waits for a tap. */
  private offerClipboard(data: string): boolean {
    const encoded = data.slice(data.indexOf(";") + 1);
    if (encoded === "?" || encoded.length > CLIPBOARD_LIMIT * 1.4) return true;
    try {
      const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
      if (bytes.length > 0 && bytes.length <= CLIPBOARD_LIMIT) this.offer(new TextDecoder().decode(bytes));
    } catch {
      // Not base64: nothing is offered.
    }
    return true;
  }
}

/** A terminal with a keyboard and a mouse. */
export class LiveScreen extends Screen {
  constructor(private readonly parent: HTMLElement, size: Size, isDark: boolean, fontSize: number, label: string, private readonly events: ScreenEvents) {
    super(size, isDark, fontSize, events.clipboard);
    const { terminal } = this;
    terminal.options.linkHandler = { activate: (_event, target) => events.openLink(target), allowNonHttpProtocols: false };
    terminal.open(parent);
    terminal.textarea?.setAttribute("aria-label", label);
    terminal.onData((data) => events.input(new TextEncoder().encode(data)));
    terminal.onBinary((data) => events.input(Uint8Array.from(data, (character) => character.charCodeAt(0))));
    terminal.attachCustomKeyEventHandler((event) => this.filterKey(event));
    parent.addEventListener("wheel", this.wheel, { passive: true, capture: true });
  }

  /** Sets the size of the text; `undefined` for the largest that shows all columns. */
  setFont(fontSize: number): void {
    this.terminal.options.fontSize = fontSize;
  }

  /** The size that would fill the parent with the present text. */
  fitting(): Size {
    const cell = this.cellSize();
    const width = this.parent.clientWidth - 16;
    const height = this.parent.clientHeight - 16;
    return { cols: Math.max(20, Math.floor(width / cell.width)), rows: Math.max(5, Math.floor(height / cell.height)) };
  }

  cellSize(): { width: number; height: number } {
    const screen = this.parent.querySelector<HTMLElement>(".xterm-screen");
    const width = (screen?.offsetWidth ?? 0) / this.terminal.cols;
    const height = (screen?.offsetHeight ?? 0) / this.terminal.rows;
    return { width: width || 8, height: height || 17 };
  }

  /** Scrolls the parent so that the cursor's row is inside. */
  showCursor(): void {
    const bottom = (this.terminal.buffer.active.cursorY + 2) * this.cellSize().height;
    const { parent } = this;
    if (bottom > parent.scrollTop + parent.clientHeight) parent.scrollTop = bottom - parent.clientHeight;
  }

  focus(): void {
    this.terminal.focus();
  }

  blur(): void {
    this.terminal.blur();
  }

  paste(text: string): void {
    this.terminal.paste(text);
  }

  override close(): void {
    this.parent.removeEventListener("wheel", this.wheel, { capture: true });
    super.close();
  }

  private readonly wheel = (event: WheelEvent): void => {
    const isApp = this.terminal.buffer.active.type === "alternate" || this.terminal.modes.mouseTrackingMode !== "none";
    if (event.deltaY < 0 && !isApp && !event.ctrlKey) this.events.history();
  };

  private filterKey(event: KeyboardEvent): boolean {
    if (event.type !== "keydown") return true;
    if (event.key === "PageUp" && event.shiftKey && this.terminal.buffer.active.type !== "alternate") {
      event.preventDefault();
      this.events.history();
      return false;
    }
    if (event.key === "\\" && event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      event.stopPropagation();
      this.events.leave();
      return false;
    }
    const isCopy = event.key.toLowerCase() === "c" && event.ctrlKey && (event.shiftKey || this.terminal.hasSelection());
    if (isCopy && this.terminal.hasSelection()) {
      event.preventDefault();
      void navigator.clipboard?.writeText(this.terminal.getSelection());
      this.terminal.clearSelection();
      return false;
    }
    const isPaste = event.key.toLowerCase() === "v" && ((event.ctrlKey && event.shiftKey) || event.metaKey);
    return !isPaste && !isPageKey(event);
  }
}

/** A terminal that is never shown: it parses, and the text view draws its rows. */
export class ParsedScreen extends Screen {
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** The program wants reports of the mouse in the form of mode 1006; xterm.js does not say. */
  private isSgr = false;

  constructor(size: Size, private readonly changed: (rows: StyledRow[], cursor: { row: number; col: number }) => void, offer: Offer) {
    super(size, true, 13, offer);
    const watch = (isOn: boolean) => (modes: (number | number[])[]): boolean => {
      if (modes.includes(SGR_MOUSE)) this.isSgr = isOn;
      return false;
    };
    this.terminal.parser.registerCsiHandler({ prefix: "?", final: "h" }, watch(true));
    this.terminal.parser.registerCsiHandler({ prefix: "?", final: "l" }, watch(false));
    this.terminal.parser.registerEscHandler({ final: "c" }, () => watch(false)([SGR_MOUSE]));
  }

  /** The program scrolls by itself. */
  get takesWheel(): boolean {
    return this.wheel(1) !== "";
  }

  /** Returns what the wheel types when it is turned by rows, upwards if negative, in the middle of the screen. */
  wheel(rows: number): string {
    const { terminal } = this;
    const modes = {
      isTracking: !["none", "x10"].includes(terminal.modes.mouseTrackingMode),
      isSgr: this.isSgr,
      isAlternate: terminal.buffer.active.type === "alternate",
      isApplicationCursor: terminal.modes.applicationCursorKeysMode,
    };
    return wheelInput(rows, modes, { col: Math.ceil(terminal.cols / 2), row: Math.ceil(terminal.rows / 2) });
  }

  override write(bytes: Uint8Array, parsed: () => void): void {
    super.write(bytes, () => {
      parsed();
      this.schedule();
    });
  }

  override resize(size: Size): void {
    super.resize(size);
    this.schedule();
  }

  override close(): void {
    clearTimeout(this.timer);
    super.close();
  }

  /** At most thirty drawings a second, whatever arrives. */
  private schedule(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const buffer = this.terminal.buffer.active;
      this.changed(bufferRows(this.terminal), { row: buffer.cursorY, col: buffer.cursorX });
    }, 33);
  }
}

/** Returns the rows of a terminal's screen. */
export function bufferRows(terminal: Terminal): StyledRow[] {
  const buffer = terminal.buffer.active;
  const rows: StyledRow[] = [];
  const cell = buffer.getNullCell();
  for (let y = 0; y < terminal.rows; y++) {
    const line = buffer.getLine(buffer.baseY + y);
    const runs: StyledRun[] = [];
    let key = "";
    for (let x = 0; line && x < line.length; x++) {
      if (!line.getCell(x, cell) || cell.getWidth() === 0) continue;
      const style = styleOf(cell);
      const nextKey = JSON.stringify(style);
      const last = runs.at(-1);
      const text = cell.isInvisible() ? " ".repeat(cell.getWidth()) : cell.getChars() || " ";
      if (last && nextKey === key) last.text += text;
      else runs.push({ text, ...style });
      key = nextKey;
    }
    rows.push({ line: y, wrapped: buffer.getLine(buffer.baseY + y + 1)?.isWrapped ?? false, runs: trimmed(runs) });
  }
  return rows;
}

function styleOf(cell: IBufferCell): Omit<StyledRun, "text"> {
  const style: Omit<StyledRun, "text"> = {};
  if (!cell.isFgDefault()) style.fg = colorOf(cell.getFgColor(), cell.isFgRGB());
  if (!cell.isBgDefault()) style.bg = colorOf(cell.getBgColor(), cell.isBgRGB());
  if (cell.getWidth() === 2) style.width = 2;
  if (cell.isBold()) style.bold = true;
  if (cell.isDim()) style.dim = true;
  if (cell.isItalic()) style.italic = true;
  if (cell.isInverse()) style.reverse = true;
  if (cell.isStrikethrough()) style.strike = true;
  if (cell.isOverline()) style.overline = true;
  if (cell.isUnderline()) style.underline = "single";
  return style;
}

const colorOf = (color: number, isRgb: boolean): number | string => (isRgb ? `#${color.toString(16).padStart(6, "0")}` : color);

/** Leaves out blanks of the default style at the end. */
function trimmed(runs: StyledRun[]): StyledRun[] {
  const last = runs.at(-1);
  if (!last || last.bg !== undefined || last.reverse || last.underline) return runs;
  last.text = last.text.trimEnd();
  return last.text === "" ? trimmed(runs.slice(0, -1)) : runs;
}

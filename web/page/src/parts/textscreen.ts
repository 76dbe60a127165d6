// The text view's part of the page: a screen's rows as text, what was skipped before them, and a hint that there is more
// beside them.

import { announce } from "../announce.ts";
import { bytesText } from "../format.ts";
import { patchRows, rowText, withoutEmptyEnd } from "../rows.ts";
import { text } from "../strings.ts";
import type { Size, StyledRow } from "../types.ts";

/** A character of the screen's font is so much of its size wide, and a row so much of it high. */
export const CHARACTER_WIDTH = 0.6;
const ROW_HEIGHT = 1.3;
/** Reading this close to the end means following it. */
const END_PX = 40;

export class TextScreen {
  private readonly rows = document.createElement("div");
  private readonly gap = document.createElement("p");
  private readonly sizes: ResizeObserver;
  private shown: StyledRow[] = [];
  private skipped = 0;
  private fontSize = 12;
  private readonly hint = (): void => {
    const { scrollLeft, clientWidth, scrollWidth } = this.stage;
    this.stage.classList.toggle("pans", scrollLeft + clientWidth < scrollWidth - 4);
  };

  constructor(private readonly stage: HTMLElement, label: string) {
    this.rows.className = "rows";
    this.rows.tabIndex = 0;
    this.rows.setAttribute("role", "region");
    this.rows.setAttribute("aria-label", label);
    this.gap.className = "gap";
    this.gap.hidden = true;
    stage.append(this.gap, this.rows);
    stage.addEventListener("scroll", this.hint, { passive: true });
    this.sizes = new ResizeObserver(this.hint);
    this.sizes.observe(stage);
  }

  /** Shows a screen; a reader at its end stays there. */
  show(next: StyledRow[]): void {
    const { stage } = this;
    const isAtEnd = stage.scrollHeight - stage.scrollTop - stage.clientHeight < END_PX;
    const used = withoutEmptyEnd(next);
    const changed = patchRows(this.rows, this.shown, used);
    this.shown = used;
    if (isAtEnd) stage.scrollTop = stage.scrollHeight;
    this.hint();
    announceRows(used, changed);
  }

  /** Says above the rows that output before them was not shown. */
  skip(bytes: number): void {
    this.skipped += bytes;
    this.gap.textContent = text.skipped(bytesText(this.skipped));
    this.gap.hidden = false;
  }

  setFont(pixels: number): void {
    this.fontSize = pixels;
    this.rows.style.setProperty("--rows-size", `${pixels}px`);
    this.hint();
  }

  /** The size of text with which so many columns fill the stage. */
  fontFor(cols: number): number {
    return Math.max(3, Math.floor(((this.stage.clientWidth - 24) / cols / CHARACTER_WIDTH) * 10) / 10);
  }

  get rowHeight(): number {
    return this.fontSize * ROW_HEIGHT;
  }

  /** The size of a terminal that would fill the stage. */
  fitting(): Size {
    const cols = Math.floor((this.stage.clientWidth - 24) / (this.fontSize * CHARACTER_WIDTH));
    const rows = Math.floor((this.stage.clientHeight - 16) / this.rowHeight);
    return { cols: Math.max(20, cols), rows: Math.max(5, rows) };
  }

  close(): void {
    this.sizes.disconnect();
    this.stage.removeEventListener("scroll", this.hint);
    this.stage.classList.remove("pans");
    this.stage.replaceChildren();
  }
}

/** Reads the last changed rows; a screen that is drawn whole is not read whole. */
function announceRows(rows: StyledRow[], changed: number[]): void {
  const words = changed.slice(-3).map((index) => rowText(rows[index]!).trim()).filter((line) => /[\p{L}\p{N}]/u.test(line));
  if (words.length > 0) announce(words.join("\n"));
}

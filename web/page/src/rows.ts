// Draws styled rows as DOM text: for touch, for history and for screen readers. Text only ever becomes text nodes.

import { cubeColor } from "./palette16.ts";
import { safeTarget } from "./markdown.ts";
import { askFirst } from "./parts/link.ts";
import type { CellColor, StyledRow, StyledRun } from "./types.ts";

/** Returns the text of a row. */
export function rowText(row: StyledRow): string {
  return row.runs.map((run) => run.text).join("");
}

/** Returns true if both rows look alike, so that the older element can stay. */
export function isSameRow(a: StyledRow, b: StyledRow): boolean {
  return a.runs.length === b.runs.length && JSON.stringify(a.runs) === JSON.stringify(b.runs);
}

/** Returns the element of a row. */
export function rowElement(row: StyledRow): HTMLElement {
  const element = document.createElement("div");
  element.className = row.wrapped ? "row wrapped" : "row";
  if (row.runs.length === 0) element.append("\n");
  for (const run of row.runs) element.append(runNode(run));
  return element;
}

function runNode(run: StyledRun): Node {
  const isPlain = run.fg === undefined && run.bg === undefined && !run.reverse && classOf(run) === "" && !run.link && (run.width ?? 1) === 1;
  if (isPlain) return document.createTextNode(run.text);
  const target = run.link ? safeTarget(run.link) : undefined;
  const element = document.createElement(target ? "a" : "span");
  if (element instanceof HTMLAnchorElement && target) {
    element.href = target;
    element.rel = "noopener noreferrer";
    element.target = "_blank";
    element.title = target;
    element.addEventListener("click", askFirst);
    element.addEventListener("auxclick", askFirst);
  }
  element.className = classOf(run);
  paint(element, run);
  element.textContent = run.text;
  return element;
}

function classOf(run: StyledRun): string {
  const names = [];
  if (run.bold) names.push("b");
  if (run.dim) names.push("d");
  if (run.italic) names.push("i");
  if (run.underline) names.push(run.underline === "curly" ? "u w" : "u");
  if (run.strike) names.push("s");
  if (run.overline) names.push("o");
  return names.join(" ");
}

function paint(element: HTMLElement, run: StyledRun): void {
  const front = run.reverse ? (run.bg ?? "back") : run.fg;
  const back = run.reverse ? (run.fg ?? "front") : run.bg;
  if (front !== undefined) element.style.color = cssColor(front);
  // A bright colour that was meant for a dark screen is darkened on a light one; old browsers ignore this.
  if (front !== undefined && back === undefined) element.style.color = `oklch(from ${cssColor(front)} min(l, var(--screen-brightest)) c h)`;
  if (back !== undefined) element.style.backgroundColor = cssColor(back);
}

function cssColor(color: CellColor): string {
  if (color === "back") return "var(--screen-back)";
  if (color === "front") return "var(--screen-front)";
  if (typeof color === "string") return /^#[0-9a-f]{6}$/i.test(color) ? color : "inherit";
  return color < 16 ? `var(--ansi-${color})` : cubeColor(color);
}

/** Shows rows in an element and touches only those that changed; `keep` is what it showed before. */
export function patchRows(parent: HTMLElement, keep: StyledRow[], rows: StyledRow[]): number[] {
  const changed: number[] = [];
  rows.forEach((row, index) => {
    const before = keep[index];
    const child = parent.children[index];
    if (before && child && isSameRow(before, row) && before.wrapped === row.wrapped) return;
    changed.push(index);
    const element = rowElement(row);
    if (child) child.replaceWith(element);
    else parent.append(element);
  });
  while (parent.children.length > rows.length) parent.lastElementChild?.remove();
  return changed;
}

/** Returns rows whose links are plain text. */
export function withoutLinks(rows: StyledRow[]): StyledRow[] {
  return rows.map((row) => ({ ...row, runs: row.runs.map(({ link: _link, ...run }) => run) }));
}

/** Rows below the last one with content are only blank space on a phone. */
export function withoutEmptyEnd(rows: StyledRow[]): StyledRow[] {
  let count = rows.length;
  while (count > 1 && rowText(rows[count - 1]!).trim() === "") count--;
  return rows.slice(0, count);
}

// Compares what a terminal on the page holds with the daemon's own grid: every cell with its character, width, colours and
// attributes.

/** Remembers the terminal that was written to last; one that is shown must have loaded its part of the page. */
export const watchTerminals = (page) => page.evaluate(async () => {
  const part = performance.getEntriesByType("resource").find((entry) => /assets\/terminal-[^/]*\.js$/.test(entry.name));
  const { LiveScreen } = await import(part.name);
  const screen = Object.getPrototypeOf(LiveScreen.prototype);
  const { write } = screen;
  screen.write = function (...parts) {
    window.writtenTerminal = this.terminal;
    return write.apply(this, parts);
  };
});

/** Returns the rows of that terminal's buffer as cells. */
export const shownCells = (page) => page.evaluate(() => {
  const terminal = window.writtenTerminal;
  const buffer = terminal?.buffer.active;
  const color = (value, isRgb, isDefault) => (isDefault ? null : isRgb ? `#${value.toString(16).padStart(6, "0")}` : value);
  return Array.from({ length: terminal?.rows ?? 0 }, (_unused, y) => {
    const line = buffer.getLine(buffer.baseY + y);
    const cells = [];
    for (let x = 0; x < terminal.cols; x++) {
      const cell = line.getCell(x);
      if (cell.getWidth() === 0) continue;
      const attributes = { bold: cell.isBold(), dim: cell.isDim(), italic: cell.isItalic(), blink: cell.isBlink(), reverse: cell.isInverse(), strike: cell.isStrikethrough(), overline: cell.isOverline(), underline: cell.isUnderline() };
      const front = color(cell.getFgColor(), cell.isFgRGB(), cell.isFgDefault());
      const back = color(cell.getBgColor(), cell.isBgRGB(), cell.isBgDefault());
      cells.push([(!cell.isInvisible() && cell.getChars()) || " ", cell.getWidth(), front, back, Object.keys(attributes).filter((name) => attributes[name]).join(" ")].join("|"));
    }
    return cells;
  });
}).then((rows) => rows.map(withoutBlankEnd));

/** Returns the daemon's rows (`screen?styles=1`) as cells. */
export function gridCells(rows) {
  const names = ["bold", "dim", "italic", "blink", "reverse", "strike", "overline", "underline"];
  const cellsOf = (run) => (run.joined ? [run.text] : [...run.text])
    .map((text) => [text, run.width ?? 1, run.fg ?? "", run.bg ?? "", names.filter((name) => run[name]).join(" ")].join("|"));
  return rows.map((row) => withoutBlankEnd(row.runs.flatMap(cellsOf)));
}

/** A row may end with cells that nothing was written to. */
function withoutBlankEnd(cells) {
  return cells.slice(0, cells.findLastIndex((cell) => cell !== BLANK) + 1);
}

const BLANK = " |1|||";

// Reads the text of a unified diff into files and lines with their numbers.

export type LineKind = "context" | "added" | "removed" | "hunk" | "note";

export interface DiffLine {
  kind: LineKind;
  /** Its number before, from 1. */
  old?: number;
  /** Its number now, from 1. */
  new?: number;
  /** Of a hunk: so many lines before it did not change. */
  unchanged?: number;
  text: string;
}

export interface DiffFile {
  path: string;
  original?: string;
  change: "added" | "removed" | "renamed" | "changed";
  isBinary: boolean;
  added: number;
  removed: number;
  lines: DiffLine[];
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/;

/** Returns the files of a diff in their order. */
export function parseDiff(text: string): DiffFile[] {
  const reader = new DiffReader();
  for (const line of text.split("\n")) reader.read(line);
  return reader.files;
}

class DiffReader {
  readonly files: DiffFile[] = [];
  private file: DiffFile | undefined;
  private oldLine = 0;
  private newLine = 0;
  private oldLeft = 0;
  private newLeft = 0;

  read(line: string): void {
    if (this.file && (this.oldLeft > 0 || this.newLeft > 0)) return this.readBody(this.file, line);
    if (line.startsWith("diff --git ")) return this.begin(line);
    if (!this.file) return;
    const hunk = HUNK.exec(line);
    if (hunk) return this.beginHunk(this.file, hunk);
    if (line.startsWith("\\")) this.file.lines.push({ kind: "note", text: line.slice(2) });
    else this.readHeader(this.file, line);
  }

  private begin(line: string): void {
    const path = unquote(/ "?b\/(.*?)"?$/.exec(line)?.[1] ?? line.slice("diff --git ".length));
    this.file = { path, change: "changed", isBinary: false, added: 0, removed: 0, lines: [] };
    this.files.push(this.file);
  }

  private readHeader(file: DiffFile, line: string): void {
    if (line.startsWith("new file")) file.change = "added";
    else if (line.startsWith("deleted file")) file.change = "removed";
    else if (line.startsWith("rename from ")) [file.change, file.original] = ["renamed", unquote(line.slice(12))];
    else if (line.startsWith("rename to ")) file.path = unquote(line.slice(10));
    else if (line.startsWith("Binary files ") || line.startsWith("GIT binary patch")) file.isBinary = true;
    else if (line.startsWith("+++ ") && !line.startsWith("+++ /dev/null")) file.path = pathOf(line.slice(4));
  }

  private beginHunk(file: DiffFile, hunk: RegExpExecArray): void {
    const isFirst = file.lines.length === 0;
    const unchanged = Math.max(0, Number(hunk[3]) - (isFirst ? 1 : this.newLine));
    this.oldLine = Number(hunk[1]);
    this.newLine = Number(hunk[3]);
    this.oldLeft = hunk[2] === undefined ? 1 : Number(hunk[2]);
    this.newLeft = hunk[4] === undefined ? 1 : Number(hunk[4]);
    file.lines.push({ kind: "hunk", unchanged, text: (hunk[5] ?? "").trim() });
  }

  private readBody(file: DiffFile, line: string): void {
    const text = line.slice(1);
    if (line.startsWith("+")) {
      file.lines.push({ kind: "added", new: this.newLine++, text });
      file.added++;
      this.newLeft--;
    } else if (line.startsWith("-")) {
      file.lines.push({ kind: "removed", old: this.oldLine++, text });
      file.removed++;
      this.oldLeft--;
    } else if (line.startsWith("\\")) {
      file.lines.push({ kind: "note", text: line.slice(2) });
    } else {
      file.lines.push({ kind: "context", old: this.oldLine++, new: this.newLine++, text });
      this.oldLeft--;
      this.newLeft--;
    }
  }
}

function pathOf(text: string): string {
  const path = unquote(text.replace(/\t$/, "").replace(/^"(.*)"$/, "$1"));
  return path.replace(/^b\//, "");
}

/** Undoes git's quoting of unusual names: octal bytes and backslashes. */
function unquote(name: string): string {
  const bare = name.replace(/^"(.*)"$/, "$1");
  if (!bare.includes("\\")) return bare;
  const bytes: number[] = [];
  const pattern = /\\([0-7]{3})|\\(.)|([^\\]+)/g;
  const encoder = new TextEncoder();
  const escapes: Record<string, string> = { n: "\n", t: "\t", r: "\r" };
  for (const match of bare.matchAll(pattern)) {
    if (match[1]) bytes.push(parseInt(match[1], 8));
    else bytes.push(...encoder.encode(match[2] ? (escapes[match[2]] ?? match[2]) : match[3]));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

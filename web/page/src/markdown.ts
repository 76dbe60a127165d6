// Reads a small part of Markdown into a tree: headings, lists, quotes, code, emphasis, links. Raw HTML is plain text.

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong" | "emphasis"; parts: Inline[] }
  | { kind: "link"; text: string; target: string };

export type Block =
  | { kind: "heading"; level: number; parts: Inline[] }
  | { kind: "paragraph" | "quote"; parts: Inline[] }
  | { kind: "list"; isOrdered: boolean; items: { parts: Inline[]; depth: number; isDone?: boolean }[] }
  | { kind: "code"; text: string }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

const ITEM = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
/** Every part is bounded, so that no text makes the search slow. */
const INLINE =
  /`([^`]{1,2000})`|\*\*([^*]{1,2000})\*\*|__([^_]{1,2000})__|\*([^*\s][^*]{0,2000})\*|\b_([^_\s][^_]{0,2000})_\b|\[([^\][]{0,500})\]\(([^()\s]{1,2000})\)|(https?:\/\/[^\s<>"')\]]{1,2000})/g;

/** Returns the blocks of a text. */
export function parseMarkdown(text: string): Block[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const [block, next] = readBlock(lines, at);
    if (block) blocks.push(block);
    at = next;
  }
  return blocks;
}

function readBlock(lines: string[], at: number): [Block | undefined, number] {
  const line = lines[at] ?? "";
  if (line.trim() === "") return [undefined, at + 1];
  const fence = /^\s*(```+|~~~+)/.exec(line)?.[1];
  if (fence) return readCode(lines, at + 1, fence);
  const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
  if (heading) return [{ kind: "heading", level: heading[1]!.length, parts: parseInline(heading[2]!) }, at + 1];
  if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) return [{ kind: "rule" }, at + 1];
  if (line.startsWith(">")) return readQuote(lines, at);
  if (ITEM.test(line)) return readList(lines, at);
  if (line.includes("|") && /^\s*\|?[\s:|-]*-[\s:|-]*\|[\s:|-]*$/.test(lines[at + 1] ?? "")) return readTable(lines, at);
  return readParagraph(lines, at);
}

function readCode(lines: string[], at: number, fence: string): [Block, number] {
  const first = at;
  while (at < lines.length && !lines[at]!.trimStart().startsWith(fence)) at++;
  return [{ kind: "code", text: lines.slice(first, at).join("\n") }, at + 1];
}

function readQuote(lines: string[], at: number): [Block, number] {
  const first = at;
  while (at < lines.length && lines[at]!.startsWith(">")) at++;
  const text = lines.slice(first, at).map((line) => line.replace(/^>\s?/, "")).join(" ");
  return [{ kind: "quote", parts: parseInline(text) }, at];
}

function readList(lines: string[], at: number): [Block, number] {
  const items: { parts: Inline[]; depth: number; isDone?: boolean }[] = [];
  const isOrdered = ITEM.exec(lines[at]!)?.[2] !== undefined;
  while (at < lines.length) {
    const item = ITEM.exec(lines[at]!);
    if (!item) break;
    let text = item[3]!;
    at++;
    while (at < lines.length && /^\s+\S/.test(lines[at]!) && !ITEM.test(lines[at]!)) text += ` ${lines[at++]!.trim()}`;
    const box = /^\[([ xX])\]\s+(.*)$/.exec(text);
    const depth = Math.min(5, Math.floor(item[1]!.replaceAll("\t", "    ").length / 2));
    items.push(box ? { parts: parseInline(box[2]!), depth, isDone: box[1] !== " " } : { parts: parseInline(text), depth });
  }
  return [{ kind: "list", isOrdered, items }, at];
}

function readTable(lines: string[], at: number): [Block, number] {
  const cells = (line: string): Inline[][] =>
    line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => parseInline(cell.trim()));
  const head = cells(lines[at]!);
  const rows: Inline[][][] = [];
  for (at += 2; at < lines.length && lines[at]!.includes("|"); at++) rows.push(cells(lines[at]!));
  return [{ kind: "table", head, rows }, at];
}

function readParagraph(lines: string[], at: number): [Block, number] {
  const first = at;
  const ends = (line: string): boolean => line.trim() === "" || /^(#{1,6}\s|>|\s*```|\s*~~~)/.test(line) || ITEM.test(line);
  for (at++; at < lines.length && !ends(lines[at]!); at++);
  return [{ kind: "paragraph", parts: parseInline(lines.slice(first, at).join("\n")) }, at];
}

/** Returns the parts of a line. */
export function parseInline(text: string): Inline[] {
  const parts: Inline[] = [];
  let done = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > done) parts.push({ kind: "text", text: text.slice(done, match.index) });
    parts.push(inlineOf(match));
    done = match.index + match[0].length;
  }
  if (done < text.length) parts.push({ kind: "text", text: text.slice(done) });
  return parts;
}

function inlineOf(match: RegExpMatchArray): Inline {
  const [whole, code, strong, strong2, emphasis, emphasis2, label, target, bare] = match;
  if (code !== undefined) return { kind: "code", text: code };
  const bold = strong ?? strong2;
  if (bold !== undefined) return { kind: "strong", parts: parseInline(bold) };
  const slanted = emphasis ?? emphasis2;
  if (slanted !== undefined) return { kind: "emphasis", parts: parseInline(slanted) };
  if (bare !== undefined) return { kind: "link", text: bare, target: bare };
  if (target !== undefined && safeTarget(target)) return { kind: "link", text: label || target, target };
  return { kind: "text", text: whole };
}

/** Returns the address of a link if it is http or https, so that nothing else can be opened. */
export function safeTarget(target: string): string | undefined {
  try {
    const url = new URL(target);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : undefined;
  } catch {
    return undefined;
  }
}

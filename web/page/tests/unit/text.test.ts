// Texts from outside: diffs, Markdown, addresses, routes, names.

import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDiff } from "../../src/diff.ts";
import { bytesText, exitText, shortAge, shortPath } from "../../src/format.ts";
import { type Inline, parseInline, parseMarkdown, safeTarget } from "../../src/markdown.ts";
import { cubeColor } from "../../src/palette16.ts";
import { parseRoute, paths } from "../../src/router.ts";
import { rank } from "../../src/search.ts";

const DIFF = [
  "diff --git a/src/a.rs b/src/a.rs", "index 1..2 100644", "--- a/src/a.rs", "+++ b/src/a.rs",
  "@@ -10,3 +10,4 @@ fn main() {", " one", "-two", "+TWO", "+--- not a header", " three",
  "diff --git a/old name b/new name", "similarity index 100%", "rename from old name", "rename to new name",
  "diff --git a/x.bin b/x.bin", "new file mode 100644", "Binary files /dev/null and b/x.bin differ",
  'diff --git "a/\\303\\274.txt" "b/\\303\\274.txt"', "deleted file mode 100644", '--- "a/\\303\\274.txt"', "+++ /dev/null", "@@ -1 +0,0 @@", "-gone", "\\ No newline at end of file", "",
].join("\n");

test("w27 a diff has files with numbered lines on both sides", () => {
  const [changed, renamed, binary, removed] = parseDiff(DIFF);
  assert.equal(changed?.path, "src/a.rs");
  assert.deepEqual(changed?.lines.map((line) => [line.kind, line.old, line.new, line.text]), [
    ["hunk", undefined, undefined, "fn main() {"], ["context", 10, 10, "one"], ["removed", 11, undefined, "two"],
    ["added", undefined, 11, "TWO"], ["added", undefined, 12, "--- not a header"], ["context", 12, 13, "three"],
  ]);
  assert.deepEqual([changed?.added, changed?.removed], [2, 1]);
  assert.deepEqual([renamed?.change, renamed?.original, renamed?.path], ["renamed", "old name", "new name"]);
  assert.deepEqual([binary?.change, binary?.isBinary], ["added", true]);
  assert.deepEqual([removed?.change, removed?.path, removed?.removed, removed?.lines.at(-1)?.kind], ["removed", "ü.txt", 1, "note"]);
});

test("a diff says how many unchanged lines it leaves out before each hunk", () => {
  const [file] = parseDiff(["diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -1,1 +1,2 @@", " one", "+two", "@@ -9,1 +10,1 @@", "-ten", "+TEN", ""].join("\n"));
  assert.deepEqual(file?.lines.filter((line) => line.kind === "hunk").map((line) => line.unchanged), [0, 7]);
  assert.deepEqual(parseDiff("diff --git a/y b/y\n@@ -38,1 +39,1 @@ fn x\n-a\n+b")[0]?.lines[0], { kind: "hunk", unchanged: 38, text: "fn x" });
});

test("a diff that is cut or no diff at all ends without an error", () => {
  assert.deepEqual(parseDiff("hello\nworld"), []);
  assert.equal(parseDiff(DIFF.slice(0, 120))[0]?.path, "src/a.rs");
  assert.equal(parseDiff("diff --git a/x b/x\n@@ -1,9 +1,9 @@\n a")[0]?.lines.length, 2);
});

const plain = (parts: Inline[]): string => parts.map((part) => ("text" in part ? part.text : plain(part.parts))).join("");

test("w12 raw HTML in Markdown stays text", () => {
  for (const evil of ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<b>bold</b>", "<a href='javascript:alert(1)'>x</a>"]) {
    const [block] = parseMarkdown(evil);
    assert.ok(block?.kind === "paragraph");
    assert.equal(plain(block.parts), evil);
  }
});

test("w12 only http and https can be opened", () => {
  for (const bad of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "//host/x", "/x", "", "java\nscript:alert(1)", "blob:x"]) {
    assert.equal(safeTarget(bad), undefined, bad);
  }
  assert.equal(safeTarget("https://example.org/a?b"), "https://example.org/a?b");
  assert.deepEqual(parseInline("[x](javascript:alert(1))").map((part) => part.kind).includes("link"), false);
});

test("Markdown has headings, lists, code, tables and emphasis", () => {
  const kinds = parseMarkdown("# a\n\ntext *b* **c** `d`\n\n- one\n  more\n  - two\n1. three\n\n```\ncode\n```\n\n> q\n\n---\n\n|a|b|\n|-|-|\n|1|2|\n").map((block) => block.kind);
  assert.deepEqual(kinds, ["heading", "paragraph", "list", "code", "quote", "rule", "table"]);
  const [list] = parseMarkdown("- one\n  more\n  - [x] two");
  assert.ok(list?.kind === "list");
  assert.deepEqual(list.items.map((item) => [plain(item.parts), item.depth, item.isDone]), [["one more", 0, undefined], ["two", 1, true]]);
});

test("Markdown of any shape ends", () => {
  for (const odd of ["```\nno end", "|a|", "- ", ">", "#", "*".repeat(65_536), "[".repeat(65_536), "_".repeat(65_536), "`".repeat(65_537), "*a ".repeat(20_000), "[a](".repeat(15_000)]) parseMarkdown(odd);
});

test("every path leads back to its route", () => {
  const read = (path: string): unknown => parseRoute(path.split("?")[0]!.replace("./", ""), path.split("?")[1] ?? "");
  assert.deepEqual(read(paths.deck), { view: "deck" });
  assert.deepEqual(read(paths.item(7)), { view: "item", item: 7 });
  assert.deepEqual(read(paths.process("p_1", "log")), { view: "process", id: "p_1", tab: "log" });
  assert.deepEqual(read(paths.process("a/b?c")), { view: "process", id: "a/b?c" });
  assert.deepEqual(read(paths.task("t 1", "changes")), { view: "task", name: "t 1", tab: "changes" });
  assert.deepEqual(read(paths.pads("n&m", "/src/x y")), { view: "pads", name: "n&m", project: "/src/x y" });
  assert.deepEqual([parseRoute("inbox/7", ""), parseRoute("pads/n%26m", "")], [{ view: "item", item: 7 }, { view: "pads", name: "n&m" }]);
  assert.deepEqual(parseRoute("nowhere", ""), { view: "unknown" });
  assert.deepEqual(parseRoute("p/%E0%A4", ""), { view: "process", id: "%E0%A4" });
  assert.deepEqual(parseRoute("inbox", "item=x"), { view: "inbox" });
});

test("numbers become a few characters", () => {
  assert.deepEqual([0, 59_999, 60_000, 7_200_000, 200_000_000, -5].map(shortAge), ["0s", "59s", "1m", "2h", "2d", "0s"]);
  assert.deepEqual([12, 2048, 5 * 1024 * 1024].map(bytesText), ["12 B", "2.0 KiB", "5.0 MiB"]);
  assert.equal(shortPath("/home/ana/projects/quarter/worktrees/fix-login", 24), "…/worktrees/fix-login");
  assert.deepEqual([exitText({ code: 2, reason: "exited" }), exitText({ signal: 9, reason: "signalled" }), exitText({ reason: "lost" })], ["exit 2", "signal 9", "lost"]);
});

test("the palette finds words, beginnings first, and letters in order", () => {
  assert.equal(rank("xyz", "fix-login"), undefined);
  assert.ok(rank("fix", "fix-login")! < rank("log", "fix-login")!);
  assert.ok(rank("log", "fix-login")! < rank("ogi", "fix-login")!);
  assert.ok(rank("fxl", "fix-login") !== undefined);
  assert.equal(rank("", "anything")! < 1, true);
});

test("the 256 colours are those of xterm", () => {
  assert.deepEqual([16, 21, 196, 231, 232, 255].map(cubeColor), ["#000000", "#0000ff", "#ff0000", "#ffffff", "#080808", "#eeeeee"]);
});

// Screens in headless Chromium against the real `qd web`: bytes, cells, connections, sizes, input.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gridCells, shownCells, watchTerminals } from "./cells.mjs";
import { untilAnswer } from "./chromium.mjs";
import { ABSENCES, pasteText, stroke } from "./gestures.mjs";
import { deck, open, relay, shows, signedIn, spawnShell } from "./real.mjs";

/** Opens a process's screen so that the cells of its terminal can be read. */
async function openCells(page, id) {
  await open(page, id, "screen");
  await watchTerminals(page);
  await page.locator(".switch a", { hasText: "Log" }).click();
  await page.locator(".switch a", { hasText: "Screen" }).click();
  await page.waitForFunction(() => window.writtenTerminal !== undefined);
}

/** Waits until the terminal on the page holds the daemon's own grid, cell by cell. */
async function showsGrid(page, id) {
  let shown = [];
  let grid = [];
  for (let attempt = 0; attempt < 200; attempt++) {
    const { rows } = await page.evaluate((process) => fetch(`api/v1/processes/${process}/screen?styles=1&limit=1048576`, { headers: { "X-Qd": "1" } }).then((response) => response.json()), id);
    grid = gridCells(rows);
    shown = await shownCells(page);
    if (JSON.stringify(shown) === JSON.stringify(grid)) return grid;
    await page.waitForTimeout(100);
  }
  assert.deepEqual(shown, grid);
}

const COLORS = [
  "for i in 0 1 2 3 4 5 6 7; do printf '\\033[3%dmcolor%d\\033[0m \\033[9%dmbright%d\\033[0m \\033[4%dm \\033[10%dm \\033[48;5;%dm  \\033[0m\\n' $i $i $i $i $i $i $((i*30+16)); done",
  "for i in 1 2 3 4 5 7 8 9 53; do printf '\\033[%dmstyle%d\\033[0m ' $i $i; done",
  "printf '\\n\\033[38;2;1;200;99mtrue\\033[48;2;9;8;7mboth\\033[0m \\033[1;3;4;31mall\\033[0m 漢字 e\\314\\201 \\360\\237\\221\\251\\342\\200\\215\\360\\237\\222\\273 end\\n'",
  "exec cat",
].join("; ");

test("w12 colours, attributes and wide characters equal the daemon's grid, cell by cell", async () => {
  const page = await signedIn({ theme: "dark" });
  const id = spawnShell("colors", COLORS);
  await openCells(page, id);
  await shows(page, "end");
  const grid = await showsGrid(page, id);
  assert.ok(grid[0].includes("c|1|0||") && grid[1].includes("b|1|9||") && grid.flat().includes("漢|2|||") && grid.flat().includes("a|1|1||bold italic underline"), JSON.stringify(grid));
  const styles = await page.evaluate(() => Object.fromEntries([...document.querySelectorAll(".xterm-rows span")].map((span) => [span.textContent.trim(), getComputedStyle(span).color])));
  assert.deepEqual([styles.color1, styles.bright4, styles.true], ["rgb(240, 113, 111)", "rgb(156, 202, 255)", "rgb(1, 200, 99)"]);
  assert.deepEqual(page.problems, []);
});

test("w12 an editor equals the daemon's grid cell by cell, also after it has scrolled", async () => {
  const page = await signedIn({ theme: "dark" });
  writeFileSync(join(deck.home, "text"), Array.from({ length: 60 }, (_unused, line) => `line ${line} of the file`).join("\n"));
  const editor = ["vim", "vi", "less"].find((name) => ["/usr/bin", "/bin"].some((place) => existsSync(join(place, name))));
  const id = spawnShell("editor", `exec ${editor} ${join(deck.home, "text")}`);
  await openCells(page, id);
  await shows(page, "line 20");
  await showsGrid(page, id);
  await page.locator(".xterm-helper-textarea").focus();
  await page.keyboard.press("PageDown");
  await shows(page, "line 40");
  await showsGrid(page, id);
  assert.deepEqual(page.problems, []);
});

test("w13 a child's text reaches the clipboard only when a person taps, at a desk and on a phone", async () => {
  for (const width of [1280, 390]) {
    const page = await signedIn({ width });
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.evaluate(() => navigator.clipboard.writeText("the person's own"));
    const log = join(deck.home, `asked-${width}`);
    const id = spawnShell(`offers-${width}`, `stty -echo -icanon; read go; printf '\\033]52;c;%s\\007\\033]52;c;?\\007ready' $(printf 'from the child' | base64); cat > ${log}`);
    await open(page, id, "screen");
    deck.qd("send", id, "go");
    await shows(page, "ready");
    const chip = page.locator(".chip button").first();
    await chip.waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "the person's own");
    await chip.click();
    await untilAnswer(page, () => page.evaluate(() => navigator.clipboard.readText()), "from the child");
    assert.equal(readFileSync(log, "utf8"), "", "the question has no answer");
    assert.deepEqual(page.problems, []);
  }
});

test("w20 a megabyte is pasted into a real terminal, byte for byte", async () => {
  const page = await signedIn();
  const out = join(deck.home, "pasted");
  const paste = Array.from({ length: 16_384 }, (_unused, line) => `line ${String(line).padStart(6, "0")} ${"x".repeat(48)} é`).join("\r");
  const bytes = Buffer.from(paste);
  const id = spawnShell("paste", `stty raw -echo; echo ready; head -c ${bytes.length} > ${out}; printf 'all\\r\\n'; exec sleep 1000`);
  await open(page, id, "screen");
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("ready"));
  await pasteText(page, paste);
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("all"), undefined, { timeout: 60_000 });
  const hash = (data) => createHash("sha256").update(data).digest("hex");
  assert.equal(hash(readFileSync(out)), hash(bytes));
  assert.deepEqual(page.problems, []);
});

test("w20 a program that reads nothing holds its paste, the connection lives meanwhile, and the rest arrives when it reads", async () => {
  const page = await signedIn();
  const [out, gate] = [join(deck.home, "held"), join(deck.home, "gate")];
  execFileSync("mkfifo", [gate]);
  const paste = Array.from({ length: 20_000 }, (_unused, line) => `line ${String(line).padStart(6, "0")} ${"y".repeat(40)}`).join("\r");
  const sockets = [];
  const pongs = [];
  page.on("websocket", (socket) => {
    if (!socket.url().includes("/ws/view/")) return;
    sockets.push(socket);
    socket.on("framereceived", ({ payload }) => typeof payload === "string" && payload.includes('"pong"') && pongs.push(payload));
  });
  const id = spawnShell("holds", `stty raw -echo; echo ready; cat ${gate}; head -c ${paste.length} > ${out}; printf 'all\\r\\n'; exec sleep 1000`);
  await open(page, id, "screen");
  await shows(page, "ready");
  await pasteText(page, paste);
  await page.locator(".stage-status", { hasText: /Wrote .* of 1/ }).waitFor();
  const before = pongs.length;
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  for (let wait = 0; wait < 500 && pongs.length === before; wait++) await page.waitForTimeout(20);
  assert.ok(pongs.length > before, "the server answers although the program reads nothing");
  writeFileSync(gate, "");
  await shows(page, "all", { timeout: 60_000 });
  assert.equal(readFileSync(out, "latin1"), paste);
  await page.locator(".stage-status").waitFor({ state: "detached" });
  assert.equal(sockets.length, 1, "the view was not attached again");
  assert.deepEqual(page.problems, []);
});

const DESK = { cols: 120, rows: 40 };

test("w21 a phone that watches, types, turns and shows its keyboard sends no SIGWINCH to a desk of 120 columns", async () => {
  const log = join(deck.home, "sizes");
  writeFileSync(log, "");
  const id = spawnShell("sizes", `trap 'stty size >> ${log}' WINCH; echo ready; while read line; do echo "got $line"; done`, "--size", "120x40");
  const desk = deck.attach(id, DESK);
  const page = await signedIn({ width: 390 });
  try {
    await untilAnswer(page, async () => desk.shows("ready"), true);
    await open(page, id, "screen");
    await page.waitForFunction(() => document.querySelector(".rows")?.textContent.includes("ready"));
    for (const size of [{ width: 844, height: 390 }, { width: 390, height: 420 }]) await page.setViewportSize(size);
    await page.locator(".composer textarea").fill("from the phone");
    await page.locator(".composer button.primary").tap();
    await page.waitForFunction(() => document.querySelector(".rows")?.textContent.includes("got from the phone"));
    await page.setViewportSize({ width: 390, height: 844 });
    await untilAnswer(page, async () => desk.shows("got from the phone"), true);
    assert.equal(readFileSync(log, "utf8"), "");
    assert.deepEqual(deck.json("ps").find((process) => process.id === id).size, DESK);
    assert.deepEqual(page.problems, []);
  } finally {
    desk.leave();
  }
});

test("w21 a leased size goes back to the desk when somebody types there, and the phone says so", async () => {
  const id = spawnShell("desk-lease", "echo ready; exec cat", "--size", "120x40");
  const size = () => deck.json("ps").find((process) => process.id === id).size;
  const desk = deck.attach(id, DESK);
  const page = await signedIn({ width: 390 });
  try {
    await untilAnswer(page, async () => desk.shows("ready"), true);
    await open(page, id, "screen");
    await page.getByRole("button", { name: "Fit here" }).tap();
    await page.getByRole("button", { name: "Give the size back" }).waitFor();
    await untilAnswer(page, async () => size().cols < 60, true);
    desk.type("x");
    await untilAnswer(page, async () => size(), DESK);
    await page.getByRole("button", { name: "Fit here" }).waitFor();
  } finally {
    desk.leave();
  }
});

test("w21 a phone leases the size, and the old one returns when it leaves", async () => {
  const id = spawnShell("lease", "exec cat");
  const size = () => deck.json("ps").find((process) => process.id === id).size;
  const page = await signedIn({ width: 390 });
  await open(page, id, "screen");
  const button = page.getByRole("button", { name: "Fit here" });
  await button.tap();
  await page.getByRole("button", { name: "Give the size back" }).waitFor();
  await untilAnswer(page, async () => size().cols < 60, true);
  await page.goto(relay.url);
  await page.waitForSelector("#main .line");
  await untilAnswer(page, async () => size(), { cols: 100, rows: 30 });
});

test("w16 w18 a flood whose connection is cut at a hundred moments ends as the daemon's grid", async () => {
  const page = await signedIn();
  const stop = join(deck.home, "flooded");
  const id = spawnShell("flood", `read go; i=0; while [ ! -e ${stop} ]; do echo "row $i of the flood ########################################"; i=$((i+1)); done; echo over; exec cat`);
  await openCells(page, id);
  await page.evaluate(() => {
    window.stays = true;
  });
  deck.qd("send", id, "go");
  await shows(page, "of the flood");
  let attached = 0;
  const isView = (socket) => socket.url().includes("/ws/view/");
  page.on("websocket", (socket) => isView(socket) && attached++);
  for (let cut = 0; cut < 100; cut++) {
    await page.waitForTimeout(5 + Math.random() * 90);
    relay.cut();
  }
  // On a busy machine most of these find no view to cut; the others wait for one.
  while (attached <= 5) {
    await page.waitForEvent("websocket", { predicate: isView });
    relay.cut();
  }
  writeFileSync(stop, "");
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("over"), undefined, { timeout: 60_000 });
  await showsGrid(page, id);
  assert.equal(await page.evaluate(() => window.stays), true, "the page was not loaded again");
});

test("w18 a socket that sleep has killed is replaced when the page is seen again", async () => {
  const page = await signedIn();
  const id = spawnShell("asleep", "echo before; exec cat");
  await open(page, id, "screen");
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("before"));
  await page.evaluate(() => {
    window.stays = true;
  });
  relay.freeze();
  deck.qd("send", id, "while it slept");
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("while it slept"));
  await page.waitForSelector(".connection.open");
  await page.keyboard.type("and typed");
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("and typed"));
  assert.equal(await page.evaluate(() => window.stays), true, "the page was not loaded again");
});

test("the log has every line once, above the screen and on it, also those that come later", async () => {
  const page = await signedIn();
  const id = spawnShell("lines", "seq -f 'line %03.0f' 1 200; read go; seq -f 'line %03.0f' 201 250; exec cat");
  deck.qd("wait", id, "--pattern", "line 200", "--since", "0");
  await open(page, id, "log");
  const shown = () => page.evaluate(() => [...document.querySelectorAll(".log-scroll .row")].map((row) => row.textContent.trim()).filter((line) => /^line /.test(line)));
  const lines = (count) => Array.from({ length: count }, (_unused, index) => `line ${String(index + 1).padStart(3, "0")}`);
  await page.waitForFunction(() => document.querySelector(".on-screen")?.textContent.includes("line 200"));
  assert.deepEqual(await shown(), lines(200));
  deck.qd("send", id, "go");
  await page.waitForFunction(() => document.querySelector(".on-screen")?.textContent.includes("line 250"));
  assert.deepEqual(await shown(), lines(250));
  assert.deepEqual(page.problems, []);
});

test("the page goes on by itself after the daemon was killed, and what runs is there", async () => {
  const page = await signedIn();
  const id = spawnShell("survivor", "echo before; exec cat");
  await open(page, id, "screen");
  await shows(page, "before");
  await page.evaluate(() => {
    window.stays = true;
  });
  process.kill(deck.json("status").pid, "SIGKILL");
  deck.qd("rename", id, "renamed-after");
  await page.waitForFunction(() => document.querySelector("h1")?.textContent === "renamed-after" && document.querySelector(".connection.open") && !document.querySelector(".banner"), undefined, { timeout: 60_000 });
  await page.locator(".xterm-helper-textarea").focus();
  await page.waitForFunction(() => !document.querySelector(".stage-status"));
  await page.keyboard.type("and typed");
  await shows(page, "and typed");
  assert.equal(await page.evaluate(() => window.stays), true, "the page was not loaded again");
});

for (const [what, happens] of Object.entries(ABSENCES)) {
  test(`w18 a page that ${what}, is live again without a reload, where its reader was, with the real server`, async () => {
    const page = await signedIn();
    const id = spawnShell(`away-${Object.keys(ABSENCES).indexOf(what)}`, "seq -f 'line %03.0f' 1 200; read go; echo after it; exec cat");
    deck.qd("wait", id, "--pattern", "line 200", "--since", "0");
    await open(page, id, "log");
    await page.waitForFunction(() => document.querySelectorAll(".log-scroll .row").length > 150);
    await page.waitForSelector(".connection.open", { state: "attached" });
    const scrolled = await page.evaluate(() => {
      window.stays = true;
      const log = document.querySelector(".log-scroll");
      log.scrollTop = Math.round(log.scrollHeight / 2);
      return log.scrollTop;
    });
    await happens({ page, server: relay });
    deck.qd("rename", id, `renamed-${id}`);
    deck.qd("send", id, "go");
    await page.waitForFunction((name) => document.querySelector(".connection.open") && document.querySelector("h1").textContent === name && document.querySelector(".on-screen").textContent.includes("after it"), `renamed-${id}`);
    assert.deepEqual(await page.evaluate(() => [window.stays, document.querySelector(".log-scroll").scrollTop]), [true, scrolled]);
  });
}

test("a finger on a phone scrolls a pager", async () => {
  const page = await signedIn({ width: 390 });
  writeFileSync(join(deck.home, "long"), Array.from({ length: 200 }, (_unused, line) => `row ${line} of the text`).join("\n"));
  const id = spawnShell("pager", `exec less ${join(deck.home, "long")}`);
  await open(page, id, "screen");
  await shows(page, "row 20 of");
  // Upwards: first the text itself goes to its end, then the program turns.
  for (let strokes = 0; strokes < 20 && !(await page.locator(".rows").textContent()).includes("row 40 of"); strokes++) await stroke(page, ".stage", [-30, -30, -30]);
  await shows(page, "row 40 of");
  assert.deepEqual(page.problems, []);
});

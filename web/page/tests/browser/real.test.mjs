// The page in headless Chromium against the real `qd web`. `QD_PROGRAM` names the program; else the debug build is taken.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { page as pageDirectory } from "../../build/build.mjs";
import { AGENT, agentEnvironment, startModel } from "../fixtures/agent.mjs";
import { launch, openPage } from "./chromium.mjs";
import { startQuarterdeck, startRelay } from "./quarterdeck.mjs";

const program = process.env.QD_PROGRAM ?? join(pageDirectory, "../../target/debug/qd");
assert.ok(existsSync(program), `${program} does not exist: build it, or set QD_PROGRAM`);

let deck;
let relay;
let browser;
let pages = [];

before(async () => {
  browser = await launch();
  deck = await startQuarterdeck(program);
  relay = await startRelay(deck.url);
});
after(async () => {
  for (const page of pages) await page.context().close();
  await browser.close();
  relay.stop();
  deck.stop();
});

/** A signed-in page; each one is a device of its own. */
async function signedIn(options = {}) {
  const page = await openPage(browser, options);
  pages.push(page);
  const { code } = deck.json("pair", "--role", "admin");
  await page.goto(`${relay.url}#c=${code}`);
  await page.waitForSelector("#main .line, #main .empty");
  return page;
}

const spawnShell = (name, script, ...more) => deck.json("spawn", "--name", name, "--size", "100x30", ...more, "--", "/bin/sh", "-c", script).id;

async function open(page, id, tab) {
  await page.goto(`${relay.url}p/${id}?tab=${tab}`);
  await page.waitForSelector(tab === "screen" ? ".xterm-rows > div, .screen.text .row" : "#main .page");
}

const shownRows = (page) => page.evaluate(() => [...document.querySelectorAll(".xterm-rows > div")].map((row) => row.textContent.replaceAll("\u00a0", " ").trimEnd()));
const gridRows = (id) => deck.json("read", id).text.split("\n").map((row) => row.trimEnd());

/** Waits until the page shows the daemon's own grid. */
async function showsGrid(page, id) {
  let shown = [];
  let grid = [];
  for (let attempt = 0; attempt < 100; attempt++) {
    grid = gridRows(id);
    shown = (await shownRows(page)).slice(0, grid.length);
    if (JSON.stringify(shown) === JSON.stringify(grid)) return;
    await page.waitForTimeout(100);
  }
  assert.deepEqual(shown, grid);
}

test("w24 a browser signs in by a code and sees the deck", async () => {
  spawnShell("first", "echo hello; exec cat");
  const page = await signedIn();
  await page.waitForSelector(".line .name");
  assert.equal(new URL(page.url()).hash, "");
  assert.match(await page.locator("#main").innerText(), /first/);
  await page.reload();
  await page.waitForSelector(".line .name");
  const drawn = await page.evaluate(() => Math.round(performance.now()));
  console.log(`deck drawn after ${drawn} ms`);
  assert.deepEqual(page.problems, []);
});

test("w12 colours and an editor equal the daemon's grid", async () => {
  const page = await signedIn({ theme: "dark" });
  const colors = spawnShell("colors", "for i in 0 1 2 3 4 5 6 7; do printf '\\033[3%dmcolor%d\\033[0m \\033[9%dmbright%d\\033[0m \\033[48;5;%dm  \\033[0m\\n' $i $i $i $i $((i*30+16)); done; printf '\\033[38;2;1;200;99mtrue\\033[0m 漢字 e\\314\\201\\n'; exec cat");
  await open(page, colors, "screen");
  await showsGrid(page, colors);
  const styles = await page.evaluate(() => Object.fromEntries([...document.querySelectorAll(".xterm-rows span")].map((span) => [span.textContent.trim(), getComputedStyle(span).color])));
  assert.equal(styles.color1, "rgb(240, 113, 111)");
  assert.equal(styles.bright4, "rgb(156, 202, 255)");
  assert.equal(styles.true, "rgb(1, 200, 99)");
  writeFileSync(join(deck.home, "text"), Array.from({ length: 60 }, (_unused, line) => `line ${line} of the file`).join("\n"));
  const editor = ["vim", "vi", "less"].find((name) => ["/usr/bin", "/bin"].some((place) => existsSync(join(place, name))));
  const id = spawnShell("editor", `exec ${editor} ${join(deck.home, "text")}`);
  await open(page, id, "screen");
  await showsGrid(page, id);
  await page.keyboard.press("PageDown");
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("line 40"));
  await showsGrid(page, id);
  assert.deepEqual(page.problems, []);
});

test("w20 a megabyte is pasted into a real terminal, byte for byte", async () => {
  const page = await signedIn();
  const out = join(deck.home, "pasted");
  const paste = Array.from({ length: 16_384 }, (_unused, line) => `line ${String(line).padStart(6, "0")} ${"x".repeat(48)} é`).join("\r");
  const bytes = Buffer.from(paste);
  const id = spawnShell("paste", `stty raw -echo; echo ready; head -c ${bytes.length} > ${out}; printf 'all\\r\\n'; exec sleep 1000`);
  await open(page, id, "screen");
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("ready"));
  await page.evaluate((text) => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    document.querySelector(".xterm-helper-textarea").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  }, paste);
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("all"), undefined, { timeout: 60_000 });
  const hash = (data) => createHash("sha256").update(data).digest("hex");
  assert.equal(hash(readFileSync(out)), hash(bytes));
  assert.deepEqual(page.problems, []);
});

test("w21 a phone that watches, types, turns and shows its keyboard resizes nothing", async () => {
  const log = join(deck.home, "sizes");
  writeFileSync(log, "");
  const id = spawnShell("sizes", `trap 'stty size >> ${log}' WINCH; echo ready; while read line; do echo "got $line"; done`);
  const page = await signedIn({ width: 390 });
  await open(page, id, "screen");
  await page.waitForFunction(() => document.querySelector(".rows")?.textContent.includes("ready"));
  await page.setViewportSize({ width: 844, height: 390 });
  await page.setViewportSize({ width: 390, height: 420 });
  await page.locator(".composer textarea").fill("from the phone");
  await page.locator(".composer button.primary").tap();
  await page.waitForFunction(() => document.querySelector(".rows")?.textContent.includes("got from the phone"));
  await page.setViewportSize({ width: 390, height: 844 });
  assert.equal(readFileSync(log, "utf8"), "");
  assert.deepEqual(deck.json("ps").find((process) => process.id === id).size, { cols: 100, rows: 30 });
  assert.deepEqual(page.problems, []);
});

test("w21 a phone leases the size, and the old one returns when it leaves", async () => {
  const id = spawnShell("lease", "exec cat");
  const size = () => deck.json("ps").find((process) => process.id === id).size;
  const page = await signedIn({ width: 390 });
  await open(page, id, "screen");
  const button = page.getByRole("button", { name: "Fit here" });
  await button.tap();
  await page.getByRole("button", { name: "Give the size back" }).waitFor();
  for (let wait = 0; wait < 50 && size().cols === 100; wait++) await page.waitForTimeout(50);
  assert.ok(size().cols < 60, JSON.stringify(size()));
  await page.goto(relay.url);
  await page.waitForSelector("#main .line");
  for (let wait = 0; wait < 50 && size().cols !== 100; wait++) await page.waitForTimeout(50);
  assert.deepEqual(size(), { cols: 100, rows: 30 });
});

test("w16 w18 a flood whose connection is cut again and again ends as the daemon's grid", async () => {
  const page = await signedIn();
  const id = spawnShell("flood", "read go; i=0; while [ $i -lt 60000 ]; do echo \"row $i of the flood ########################################\"; i=$((i+1)); done; echo over; exec cat");
  await open(page, id, "screen");
  await page.evaluate(() => {
    window.stays = true;
  });
  deck.qd("send", id, "go");
  for (let cut = 0; cut < 5; cut++) {
    await page.waitForTimeout(150);
    relay.cut();
  }
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("over"), undefined, { timeout: 60_000 });
  await showsGrid(page, id);
  assert.equal(await page.evaluate(() => window.stays), true, "the page was not loaded again");
});

test("w6 a link shows one process and cannot type", async () => {
  const id = spawnShell("watched", "echo only to watch; exec cat");
  const { secret } = deck.json("access", "link", id);
  const page = await openPage(browser, {});
  pages.push(page);
  await page.goto(`${relay.url}#l=${secret}`);
  await page.waitForURL(/\/p\//);
  await page.goto(`${relay.url}p/${id}?tab=screen`);
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("only to watch"));
  assert.equal(await page.locator(".composer, .menu").count(), 0);
  await page.keyboard.type("must not arrive");
  await page.waitForTimeout(500);
  assert.ok(!deck.json("read", id).text.includes("must not arrive"));
});

test("w25 a real agent's permission dialog is answered on a phone in two taps", async () => {
  const work = join(deck.home, "work");
  const made = join(work, "made-by-the-agent");
  mkdirSync(work);
  const model = await startModel("please make it", `touch ${made}`);
  try {
    const env = agentEnvironment(join(deck.home, "agent"), work, model.url);
    const spawned = JSON.parse(deck.run(["spawn", "--json", "--kind", "agent", "--name", "asks", "--cwd", work, "--size", "100x30", "--", AGENT], env));
    const page = await signedIn({ width: 390 });
    await page.goto(`${relay.url}p/${spawned.id}?tab=now`);
    await page.locator(".composer textarea").fill("please make it");
    await page.locator(".composer button.primary").tap();
    await page.waitForSelector(".card .answers button", { timeout: 60_000 });
    await page.goto(relay.url);
    await page.locator(".needs .line", { hasText: "asks" }).tap();
    assert.ok(!existsSync(made));
    await page.locator(".card .answers button").first().tap();
    await page.waitForSelector(".card", { state: "detached", timeout: 30_000 });
    await page.waitForFunction(() => document.querySelector(".said .prose")?.textContent.includes("done"), undefined, { timeout: 60_000 });
    assert.ok(existsSync(made), "the agent ran the command");
    // The page may ask for the result a moment before the turn is over; then the server says 409, and the page asks again.
    const isTooEarly = (problem) => /^409 GET .*\/result\?turn=\d+$|status of 409/.test(problem);
    assert.deepEqual(page.problems.filter((problem) => !isTooEarly(problem)), []);
  } finally {
    model.stop();
  }
});

test("w27 the changes of a real task are commented on by touch, and the comment is there after a reload", async () => {
  const repository = join(deck.home, "repository");
  mkdirSync(repository);
  const git = (directory, ...words) => execFileSync("git", ["-c", "user.name=Ana", "-c", "user.email=ana@example.org", ...words], { cwd: directory });
  git(repository, "init", "-q", "-b", "main");
  writeFileSync(join(repository, "a.txt"), "one\ntwo\nthree\n");
  git(repository, "add", ".");
  git(repository, "commit", "-qm", "first");
  deck.runIn(repository, ["new", "count", "-w"]);
  const { directory } = deck.json("tasks")[0];
  writeFileSync(join(directory, "a.txt"), "one\nTWO and more\nthree\n");
  const page = await signedIn({ width: 390 });
  await page.goto(`${relay.url}tasks`);
  await page.locator(".task-line", { hasText: "count" }).tap();
  await page.getByRole("link", { name: "Changes", exact: true }).tap();
  await page.locator(".dl.added button.num").tap();
  await page.locator(".comment.editor textarea").fill("why capitals?");
  await page.locator(".comment.editor button.primary").tap();
  await page.locator(".comment.draft", { hasText: "why capitals?" }).waitFor();
  await page.reload();
  await page.locator(".comment.draft", { hasText: "why capitals?" }).waitFor();
  assert.deepEqual(page.problems, []);
});

test("w8 a revoked device loses its page at once", async () => {
  const page = await signedIn();
  const me = await page.evaluate(() => fetch("api/v1/me", { headers: { "X-Qd": "1" } }).then((response) => response.json()));
  deck.qd("access", "revoke", me.id);
  await page.waitForSelector("input[name=code]");
});

test("every view opens on a real deck, on a desktop and on a phone", async () => {
  for (const options of [{}, { width: 390 }]) {
    const page = await signedIn(options);
    const id = deck.json("ps")[0].id;
    for (const path of ["", "wall", "inbox", `p/${id}?tab=now`, `p/${id}?tab=screen`, `p/${id}?tab=log`, "tasks", "pads", "settings"]) {
      await page.goto(relay.url + path);
      await page.waitForSelector("#main .page");
      await page.waitForTimeout(300);
    }
    assert.deepEqual(page.problems, []);
  }
});

// Makes pictures of every view in headless Chromium, wide and narrow, light and dark.
// `node tests/browser/pictures.mjs DIRECTORY [FILTER]`; pngquant makes them small where it is installed. With `--compare` before
// the directory they are compared with those that are there.

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { AGENT } from "../fixtures/agent.mjs";
import { makeWorld } from "../fixtures/world.mjs";
import { launch, openPage } from "./chromium.mjs";
import { serve } from "./server.mjs";

const VIEWS = [
  ["deck", ""],
  ["wall", "wall", (page) => page.waitForSelector(".tile .rows.filled .row")],
  ["inbox", "inbox"],
  ["card", "inbox?item=41"],
  ["now", "p/p_a1fixlogn?tab=now", (page) => page.waitForSelector(".rows.live .row")],
  ["screen", "p/p_a1fixlogn?tab=screen", (page) => page.waitForSelector(".xterm-rows span, .screen.text .row")],
  ["fitted", "p/p_c3docsdoc?tab=screen", async (page) => {
    await page.getByRole("button", { name: "Fit here" }).click();
    await page.getByRole("button", { name: "Give the size back" }).waitFor();
    await page.waitForSelector(".xterm-rows span, .screen.text .row");
  }],
  ["link", `#l=${"5e".repeat(32)}`, (page) => page.waitForSelector(".xterm-rows span, .rows .row"), { loggedIn: false }],
  ["log", "p/p_f6shellll?tab=log", (page) => page.waitForSelector(".log-scroll .row")],
  ["tasks", "tasks", (page) => page.waitForSelector(".task-line")],
  ["task", "t/fix-login", (page) => page.waitForSelector(".facts-list")],
  ["changes", "t/fix-login?tab=changes", (page) => page.waitForSelector(".comment")],
  ["runs", "t/fix-login?tab=runs", (page) => page.waitForSelector(".runs .line")],
  ["pads", "pads", (page) => page.waitForSelector(".pad-list .line")],
  ["pad", "pads?name=plan", (page) => page.waitForSelector(".prose")],
  ["settings", "settings", (page) => page.waitForSelector(".settings .setting")],
  ["token", "settings", async (page) => {
    await page.waitForSelector(".settings .setting");
    await page.getByRole("button", { name: "New token" }).click();
    await page.locator("dialog input[name=name]").fill("release notes");
  }, { confirmed: true }],
  ["token-made", "settings", async (page) => {
    await page.waitForSelector(".settings .setting");
    await page.getByRole("button", { name: "New token" }).click();
    await page.locator("dialog input[name=name]").fill("release notes");
    await page.locator("dialog button.primary").click();
    await page.waitForSelector("dialog .command");
  }, { confirmed: true }],
  ["new", "", async (page) => {
    await page.getByRole("button", { name: "New…" }).first().click();
    await page.locator("dialog option", { hasText: AGENT }).waitFor({ state: "attached" });
    await page.locator("dialog select").selectOption(`agent ${AGENT}`);
    await page.locator("dialog textarea").fill("Make every comparison of tokens constant-time.");
  }],
  ["step-up", "settings", async (page) => {
    await page.waitForSelector(".settings .setting");
    await page.getByRole("button", { name: "New link" }).click();
    await page.locator("dialog button.primary").click();
    await page.waitForSelector("dialog input[name=code]");
  }],
  ["palette", "", async (page) => {
    await page.waitForSelector(".list .line");
    await page.keyboard.press("Control+k");
    await page.waitForSelector("dialog.palette li");
  }],
  ["empty", "", (page) => page.waitForSelector("#main .empty"), { processes: [], inbox: [] }],
  ["inbox-zero", "inbox", (page) => page.waitForSelector("#main .empty"), (world) => ({ inbox: [], processes: world.processes.slice(2) })],
  ["daemon-gone", "", async (page, server, world) => {
    await page.waitForSelector(".connection.open", { state: "attached" });
    world.isDaemonGone = true;
    server.closeEvents(4503);
    await page.waitForSelector(".banner");
  }],
  ["link-expired", `#l=${"00".repeat(32)}`, (page) => page.waitForSelector(".notice"), { loggedIn: false }],
  ["pair", "pair", (page) => page.waitForSelector("input.pair-code"), { loggedIn: false }],
];

/** The clock in every picture. */
const NOW = Date.UTC(2026, 10, 18, 14, 2, 30);
const ROUND_TRIP = "12 ms";
/** Where `qd web` listens unless it is told otherwise. */
const PORT = 7373;

/** Makes the afternoon for a picture: on a phone, or at a desk. */
function worldFor(width, more) {
  const world = makeWorld(NOW);
  Object.assign(world, typeof more === "function" ? more(world) : more);
  const labels = width < 700 ? ["Ana's phone", "Ana's laptop"] : ["Ana's laptop", "Ana's phone"];
  world.label = labels[0];
  labels.forEach((label, index) => Object.assign(world.devices[index], { label }));
  return world;
}

/** So much of a picture may differ: glyphs are drawn a little differently by each version of Chromium. */
const BUDGET = 0.01;

/** Returns the share of pixels that are visibly different in two pictures, or 1 if their sizes differ. */
const difference = (page, one, other) => page.evaluate(async (pictures) => {
  const [left, right] = await Promise.all(pictures.map(async (text) => {
    const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))]));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    canvas.drawImage(bitmap, 0, 0);
    return canvas.getImageData(0, 0, bitmap.width, bitmap.height);
  }));
  if (left.width !== right.width || left.height !== right.height) return 1;
  let count = 0;
  for (let at = 0; at < left.data.length; at += 4) if ([0, 1, 2].some((channel) => Math.abs(left.data[at + channel] - right.data[at + channel]) > 48)) count++;
  return count / (left.data.length / 4);
}, [one.toString("base64"), other.toString("base64")]);

/** The widths of some words in this machine's fonts: with other fonts every picture differs. */
const fontWidths = (page) => page.evaluate(() => ["system-ui", "sans-serif", "monospace"].map((family) => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d");
  canvas.font = `16px ${family}`;
  return Math.round(canvas.measureText("Quarterdeck ◆ May I run this?").width);
}).join(" "));

/** Waits until nothing moves on the page: it is drawn the same three times, some frames apart. */
async function atRest(page) {
  let before = Buffer.alloc(0);
  for (let same = 0, looks = 0; same < 2 && looks < 40; looks++) {
    await page.waitForTimeout(125);
    const now = await page.screenshot();
    same = now.equals(before) ? same + 1 : 0;
    before = now;
  }
}

/** Draws one picture and returns it. */
async function draw(browser, [, address, ready, more], width, theme) {
  const world = worldFor(width, more);
  const server = await serve(world, { port: PORT });
  const page = await openPage(browser, { width, theme, scale: 1 });
  try {
    await page.clock.setFixedTime(NOW);
    await page.goto(server.url + address);
    await (ready ?? ((one) => one.waitForSelector("#main .list .line, #main .card")))(page, server, world);
    await atRest(page);
    // What a connection takes depends on the machine that makes the pictures.
    await page.evaluate((words) => document.querySelectorAll(".connection.open .label").forEach((label) => (label.textContent = words)), ROUND_TRIP);
    return await page.screenshot();
  } finally {
    await page.context().close();
    await server.stop();
  }
}

/** Writes a picture; 256 colours are enough for a page, and a third of the bytes. */
function keep(path, bytes) {
  writeFileSync(path, bytes);
  spawnSync("pngquant", ["--force", "--ext", ".png", "--speed", "1", "256", path]);
}

const isComparing = process.argv[2] === "--compare";
const [directory = "pictures", filter = ""] = process.argv.slice(isComparing ? 3 : 2);
mkdirSync(directory, { recursive: true });
const browser = await launch();
const blank = await openPage(browser);
const fonts = await fontWidths(blank);
const mark = join(directory, "FONTS");
if (isComparing && readFileSync(mark, "utf8").trim() !== fonts) console.log(`pictures: not compared, this machine has other fonts (${fonts})`);
else {
  for (const view of VIEWS) {
    for (const width of [1280, 390]) {
      for (const theme of ["light", "dark"]) {
        const label = `${view[0]}-${width}-${theme}`;
        if (!label.includes(filter)) continue;
        const bytes = await draw(browser, view, width, theme);
        const path = join(resolve(directory), `${label}.png`);
        if (!isComparing) keep(path, bytes);
        else {
          const kept = readFileSync(path);
          // On a busy machine a part of the page may come later than everything that is waited for, so it is drawn once more.
          let share = await difference(blank, bytes, kept);
          if (share > BUDGET) share = await difference(blank, await draw(browser, view, width, theme), kept);
          if (share <= BUDGET) continue;
          process.exitCode = 1;
          console.error(`pictures: ${(share * 100).toFixed(1)} % of ${label} differ from ${directory}: look at both, and if it is meant so, run \`npm run pictures\``);
        }
      }
    }
  }
  if (!isComparing) writeFileSync(mark, `${fonts}\n`);
}
await browser.close();

// Makes pictures of every view in headless Chromium, wide and narrow, light and dark.
// `node tests/browser/pictures.mjs DIRECTORY [FILTER]`; pngquant makes them small where it is installed.

import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
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
    await page.getByRole("button", { name: "New token" }).click();
    await page.locator("dialog input[name=name]").fill("release notes");
  }, { confirmed: true }],
  ["token-made", "settings", async (page) => {
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

const [directory = "pictures", filter = ""] = process.argv.slice(2);
mkdirSync(directory, { recursive: true });
const browser = await launch();
for (const [name, address, ready, more] of VIEWS) {
  for (const width of [1280, 390]) {
    for (const theme of ["light", "dark"]) {
      const label = `${name}-${width}-${theme}`;
      if (!label.includes(filter)) continue;
      const world = worldFor(width, more);
      const server = await serve(world, { port: PORT });
      const page = await openPage(browser, { width, theme, scale: 1 });
      await page.clock.setFixedTime(NOW);
      await page.goto(server.url + address);
      await (ready ?? ((one) => one.waitForSelector("#main .list .line, #main .card")))(page, server, world);
      await page.waitForTimeout(250);
      // What a connection takes depends on the machine that makes the pictures.
      await page.evaluate((words) => document.querySelectorAll(".connection.open .label").forEach((label) => (label.textContent = words)), ROUND_TRIP);
      const path = join(resolve(directory), `${label}.png`);
      await page.screenshot({ path });
      // 256 colours are enough for a page, and a third of the bytes.
      spawnSync("pngquant", ["--force", "--ext", ".png", "--speed", "1", "256", path]);
      for (const problem of page.problems) console.log(`${label}: ${problem}`);
      await page.context().close();
      await server.stop();
    }
  }
}
await browser.close();

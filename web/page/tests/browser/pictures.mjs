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
    await page.locator("dialog input[name=name]").fill("nightly script");
  }, { confirmed: true }],
  ["token-made", "settings", async (page) => {
    await page.getByRole("button", { name: "New token" }).click();
    await page.locator("dialog input[name=name]").fill("nightly script");
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
  ["pair", "pair", (page) => page.waitForSelector("input.pair-code"), { loggedIn: false }],
];

const [directory = "pictures", filter = ""] = process.argv.slice(2);
mkdirSync(directory, { recursive: true });
const browser = await launch();
for (const [name, address, ready, more] of VIEWS) {
  for (const width of [1280, 390]) {
    for (const theme of ["light", "dark"]) {
      const label = `${name}-${width}-${theme}`;
      if (!label.includes(filter)) continue;
      const server = await serve({ ...Object.assign(makeWorld(), more) });
      const page = await openPage(browser, { width, theme, scale: 1 });
      await page.goto(server.url + address);
      await (ready ?? ((one) => one.waitForSelector("#main .list .line, #main .card")))(page);
      await page.waitForTimeout(250);
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

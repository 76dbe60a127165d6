// What tests of the page share: a server with fixed data, a page that must not go wrong, and the list of views.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before } from "node:test";
import { makeWorld } from "../fixtures/world.mjs";
import { launch, openPage } from "./chromium.mjs";
import { serve } from "./server.mjs";

export const VIEWS = ["", "wall", "inbox", "inbox?item=41", "p/p_a1fixlogn?tab=now", "p/p_a1fixlogn?tab=screen", "p/p_a1fixlogn?tab=log", "tasks", "t/fix-login", "t/fix-login?tab=changes", "t/fix-login?tab=runs", "pads", "pads?name=plan", "settings"];
export const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** Runs a test with a server and a page, and demands that nothing went wrong on it. */
export async function withPage(options, run) {
  const world = options.world ?? makeWorld();
  const server = await serve(world, options);
  const page = await openPage(browser, options);
  try {
    await run({ page, server, world, go: (path) => page.goto(server.url + path) });
    assert.deepEqual(page.problems.filter((problem) => !options.expects?.test(problem)), []);
  } finally {
    await page.context().close();
    await server.stop();
  }
}

export const settled = (page) => page.waitForFunction(() => document.querySelector("#main .line, #main .card, #main .setting, #main .row, #main .xterm-rows, #main .prose, #main .facts-list, #main .diff"));

/** Waits until something is true on this side of the wire. */
export async function until(page, isTrue) {
  for (let wait = 0; wait < 1500 && !isTrue(); wait++) await page.waitForTimeout(20);
  assert.ok(isTrue());
}

// What tests of the page share: a server with fixed data, a page that must not go wrong, and the list of views.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before } from "node:test";
import { makeWorld } from "../fixtures/world.mjs";
import { launch, openPage } from "./chromium.mjs";
import { serve } from "./server.mjs";

export const VIEWS = ["", "wall", "inbox", "inbox?item=41", "p/p_a1fixlogn?tab=now", "p/p_a1fixlogn?tab=screen", "p/p_a1fixlogn?tab=log", "tasks", "t/fix-login", "t/fix-login?tab=changes", "t/fix-login?tab=runs", "pads", "pads?name=plan", "settings"];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Returns what axe finds to be serious or worse. The colours of a terminal are its program's. */
export async function seriousFindings(page) {
  // Over the debugger: the page's policy would refuse a script element.
  await page.evaluate(axe);
  const found = await page.evaluate(async () => [
    ...(await window.axe.run({ rules: { "color-contrast": { enabled: false } } })).violations,
    ...(await window.axe.run({ exclude: [".rows", ".xterm"] }, { runOnly: ["color-contrast"] })).violations,
  ]);
  return found.filter((one) => ["serious", "critical"].includes(one.impact)).map((one) => [one.id, one.nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary?.split("\n")[1] ?? ""}`)]);
}

/** The dialogs, menus and forms that a person opens: where, how, and what shows that it is open. */
export const OPENED = {
  palette: ["", (page) => page.locator(".find").click(), "dialog [role=option]"],
  "new process": ["", (page) => page.getByRole("button", { name: "New…" }).first().click(), "dialog select"],
  "new task": ["tasks", (page) => page.getByRole("button", { name: "New task" }).click(), "dialog select"],
  menu: ["p/p_a1fixlogn?tab=now", (page) => page.locator(".menu summary").click(), ".menu-list button"],
  why: ["p/p_a1fixlogn?tab=now", async (page) => {
    await page.locator(".menu summary").click();
    await page.getByRole("button", { name: "Why?" }).last().click();
  }, "dialog .evidence"],
  drop: ["t/docs", async (page) => {
    await page.locator(".menu summary").click();
    await page.getByRole("button", { name: "Drop…" }).click();
  }, "dialog .check"],
  land: ["t/docs", (page) => page.getByRole("button", { name: "Land" }).click(), "dialog button.primary"],
  token: ["settings", (page) => page.getByRole("button", { name: "New token" }).click(), "dialog select"],
  link: ["settings", (page) => page.getByRole("button", { name: "New link" }).click(), "dialog select"],
  revoke: ["settings", (page) => page.getByRole("button", { name: "Revoke" }).first().click(), "dialog button.danger"],
  keys: ["settings", (page) => page.getByRole("button", { name: "Show", exact: true }).click(), "dialog .keys"],
  comment: ["t/fix-login?tab=changes", (page) => page.getByRole("button", { name: "Comment on line 4", exact: true }).first().click(), ".comment.editor"],
  "edited pad": ["pads?name=plan", (page) => page.getByRole("button", { name: "Edit" }).click(), ".pad textarea"],
};

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

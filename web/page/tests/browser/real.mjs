// What tests with the real `qd web` share: one Quarterdeck with a relay in front for all tests of a file, and pages that are
// devices of their own. `QD_PROGRAM` names the program; else the debug build is taken.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { page as pageDirectory } from "../../build/build.mjs";
import { launch, openPage } from "./chromium.mjs";
import { startQuarterdeck, startRelay } from "./quarterdeck.mjs";

export const program = process.env.QD_PROGRAM ?? join(pageDirectory, "../../target/debug/qd");
assert.ok(existsSync(program), `${program} does not exist: build it, or set QD_PROGRAM`);

export let deck;
export let relay;
export let browser;
const pages = [];

before(async () => {
  browser = await launch();
  deck = await startQuarterdeck(program);
  relay = await startRelay(deck.url, deck.hide);
});
after(async () => {
  for (const page of pages) await page.context().close();
  await browser.close();
  relay.stop();
  deck.stop();
});

/** A page that is not signed in. */
export async function unpaired(options = {}) {
  const page = await openPage(browser, options);
  pages.push(page);
  return page;
}

/** A signed-in page; each one is a device of its own. */
export async function signedIn(options = {}) {
  const page = await unpaired(options);
  const { code } = deck.json("pair", "--role", "admin");
  await page.goto(`${relay.url}#c=${code}`);
  await page.waitForSelector("#main .line, #main .empty");
  return page;
}

export const spawnShell = (name, script, ...more) => deck.json("spawn", "--name", name, ...(more.includes("--size") ? [] : ["--size", "100x30"]), ...more, "--", "/bin/sh", "-c", script).id;

export async function open(page, id, tab) {
  await page.goto(`${relay.url}p/${id}?tab=${tab}`);
  await page.waitForSelector(tab === "screen" ? ".xterm-rows > div, .screen.text .row" : "#main .page");
}

/** Waits until a terminal or a text view shows some words. */
export const shows = (page, words, options) => page.waitForFunction((text) => document.querySelector(".xterm-rows, .rows")?.textContent.includes(text), words, options);

export const git = (directory, ...words) => execFileSync("git", ["-c", "user.name=Ana", "-c", "user.email=ana@example.org", ...words], { cwd: directory, encoding: "utf8" });

/** Makes a repository and a task in it with a changed file; returns both directories. */
export function makeTask(name) {
  const repository = join(deck.home, `repository-${name}`);
  mkdirSync(repository);
  git(repository, "init", "-q", "-b", "main");
  writeFileSync(join(repository, "a.txt"), "one\ntwo\nthree\n");
  git(repository, "add", ".");
  git(repository, "commit", "-qm", "first");
  deck.runIn(repository, ["new", name, "-w"]);
  const { directory } = deck.json("tasks").find((task) => task.name === name);
  writeFileSync(join(directory, "a.txt"), "one\nTWO and more\nthree\n");
  return { repository, directory };
}

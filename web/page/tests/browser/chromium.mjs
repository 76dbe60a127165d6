// Starts Chromium, opens pages that remember what went wrong on them, and waits for what a page answers.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { chromium } from "playwright-core";

const PROGRAMS = [process.env.QD_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export function launch(more = []) {
  const executablePath = PROGRAMS.find((path) => path && existsSync(path));
  if (!executablePath) throw new Error("no Chromium: install the package `chromium` or set QD_CHROMIUM");
  // Pages are kept for the way back, as they are for a person.
  return chromium.launch({ executablePath, ignoreDefaultArgs: ["--disable-back-forward-cache"], args: ["--no-sandbox", "--font-render-hinting=none", "--disable-lcd-text", ...more] });
}

const PHONE = "Mozilla/5.0 (Linux; Android 16; Pixel 10) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36";

/** Opens a page: narrow ones are touched, wide ones have a mouse. `page.problems` collects errors and policy reports. */
export async function openPage(browser, { width = 1280, theme = "light", forcedColors = "none", scale } = {}) {
  const isPhone = width < 700;
  const context = await browser.newContext({
    ...(isPhone ? { userAgent: PHONE } : {}),
    viewport: { width, height: isPhone ? 844 : 800 },
    colorScheme: theme,
    forcedColors,
    hasTouch: isPhone,
    isMobile: isPhone,
    deviceScaleFactor: scale ?? (isPhone ? 2 : 1),
    locale: "en-GB",
    timezoneId: "UTC",
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.problems = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.text().includes("Content Security Policy")) page.problems.push(message.text());
  });
  page.on("response", (response) => {
    if (response.status() >= 400) page.problems.push(`${response.status()} ${response.request().method()} ${response.url()}`);
  });
  page.on("pageerror", (error) => page.problems.push(String(error)));
  return page;
}

/** Waits until the page answers so. Playwright takes an asynchronous condition for true before it is known. */
export async function untilAnswer(page, ask, wanted) {
  let answer = await ask();
  for (let wait = 0; wait < 1500 && !isDeepStrictEqual(answer, wanted); wait++) {
    await page.waitForTimeout(20);
    answer = await ask();
  }
  assert.deepEqual(answer, wanted);
}

/** Returns what of a page could run or lead somewhere, as a text that became markup would: nothing may. */
export const activeContent = (page) => page.evaluate(() => ({
  ran: window.ran ?? null,
  images: document.querySelectorAll("img[src*='x']").length,
  scripts: document.querySelectorAll("body script, iframe, object, embed").length,
  handlers: [...document.querySelectorAll("*")].filter((element) => element.getAttributeNames().some((name) => name.startsWith("on"))).length,
  links: [...document.links].filter((link) => !/^https?:/.test(link.href)).length,
}));
export const INERT = { ran: null, images: 0, scripts: 0, handlers: 0, links: 0 };

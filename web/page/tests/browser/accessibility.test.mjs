// The page for everybody: by keyboard alone, by screen reader, by finger, and with the system's own colours.

import assert from "node:assert/strict";
import { test } from "node:test";
import { frame, makeWorld } from "../fixtures/world.mjs";
import { OPENED, seriousFindings, settled, until, VIEWS, withPage } from "./harness.mjs";

/** The views, and what is shown to somebody who is not signed in or went astray. */
const SHOWN = [...VIEWS, "no/such/page"];

for (const theme of ["light", "dark"]) {
  for (const width of [1280, 390]) {
    test(`w28 axe has no serious finding in any view, dialog or menu, ${theme}, ${width} pixels wide`, async () => {
      await withPage({ theme, width, expects: /404/ }, async ({ page, go }) => {
        for (const path of SHOWN) {
          await go(path);
          await (path === "no/such/page" ? page.waitForSelector("#main .empty") : settled(page));
          await page.waitForTimeout(150);
          assert.deepEqual(await seriousFindings(page), [], path);
        }
        for (const [name, [path, open, sign]] of Object.entries(OPENED)) {
          await go(path);
          await settled(page);
          await open(page);
          await page.locator(sign).first().waitFor();
          assert.deepEqual(await seriousFindings(page), [], name);
        }
      });
      await withPage({ theme, width, world: Object.assign(makeWorld(), { loggedIn: false }), expects: /401/ }, async ({ page, go }) => {
        await go("pair");
        await page.waitForSelector("input[name=code]");
        assert.deepEqual(await seriousFindings(page), [], "pair");
      });
    });
  }
}

/** Presses Tab until the element is in focus. */
async function tabTo(page, selector) {
  for (let press = 0; press < 80; press++) {
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab does not reach ${selector}`);
}

const told = (server, path) => server.calls.filter((call) => call.method !== "GET" && call.path === path).map((call) => call.body);

test("w28 everything is reached by the keyboard alone", async () => {
  await withPage({}, async ({ page, server, go }) => {
    await go("");
    await page.waitForSelector(".list .line");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await page.keyboard.press("Enter");
    await page.waitForURL(/p\/p_a1fixlogn/);
    await page.waitForFunction(() => document.activeElement?.classList.contains("xterm-helper-textarea"));
    await page.keyboard.press("F6");
    assert.equal(await page.evaluate(() => document.activeElement?.classList.contains("xterm-helper-textarea")), false, "F6 leaves the terminal");
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.waitForURL(/tasks$/);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("vite");
    await page.keyboard.press("Enter");
    await page.waitForURL(/p_g7viteeee/);
    await page.waitForSelector(".xterm-rows span");
    await page.keyboard.press("Control+k");
    await page.waitForSelector("dialog.palette");
    await page.keyboard.press("Escape");
    await page.goto(`${server.url}inbox?item=42`);
    await page.waitForSelector(".card");
    await page.keyboard.press("2");
    await page.waitForFunction(() => document.querySelector(".notes")?.textContent.includes("Answered"));
    assert.deepEqual(told(server, "inbox/42/answer").map((body) => body.choice), ["2"]);
  });
});

test("w28 lines are commented on by the keyboard, one after the other, and the comments are sent", async () => {
  const world = Object.assign(makeWorld(), { comments: [] });
  await withPage({ world }, async ({ page, server, go }) => {
    await go("t/fix-login?tab=changes");
    await page.waitForSelector(".dl button.num");
    for (const words of ["first", "second"]) {
      await page.keyboard.press("j");
      await page.keyboard.press("c");
      await page.waitForFunction(() => document.activeElement?.matches(".comment.editor textarea"));
      await page.keyboard.type(words);
      await page.keyboard.press("Control+Enter");
      await page.locator(".comment.draft", { hasText: words }).waitFor();
      await page.waitForFunction(() => document.activeElement?.matches(".dl button.num"), undefined, {});
    }
    await page.keyboard.press("c");
    await page.waitForFunction(() => document.activeElement?.matches(".comment.editor textarea"));
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.activeElement?.matches(".dl button.num"));
    assert.deepEqual(world.comments.map(({ first, text }) => [first, text]), [[1, "first"], [2, "second"]], "the focus stays where it was");
    await page.evaluate(() => document.querySelector("#main").focus());
    await tabTo(page, "#main .head button.primary");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelectorAll(".comment.sent").length === 2);
    assert.equal(told(server, "tasks/fix-login/review").filter((body) => body.send).length, 1);
  });
});

test("w28 a task is landed and dropped by the keyboard, and a menu closes with Escape and gives the focus back", async () => {
  await withPage({}, async ({ page, server, go }) => {
    await go("t/docs");
    await page.waitForSelector(".facts-list");
    await page.evaluate(() => document.querySelector("#main").focus());
    await tabTo(page, ".menu summary");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".menu[open] .menu-list button");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Escape");
    await page.waitForSelector(".menu:not([open])");
    assert.ok(await page.evaluate(() => document.activeElement.matches(".menu summary")));
    await page.keyboard.press("Shift+Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Land…");
    await page.keyboard.press("Enter");
    await page.waitForSelector("dialog[open]");
    await tabTo(page, "dialog button.primary");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".notes")?.textContent.includes("Landed"));
    assert.equal(told(server, "tasks/docs/land").length, 1);
    await tabTo(page, ".menu summary");
    await page.keyboard.press("Space");
    await tabTo(page, ".menu-list button.danger");
    await page.keyboard.press("Enter");
    await page.waitForSelector("dialog[open]");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !document.querySelector("dialog") && document.activeElement?.matches(".menu summary"));
    await page.keyboard.press("Enter");
    await tabTo(page, ".menu-list button.danger");
    await page.keyboard.press("Enter");
    await tabTo(page, "dialog button.danger");
    await page.keyboard.press("Enter");
    await page.waitForURL(/tasks$/);
    assert.deepEqual(server.calls.filter((call) => call.method === "DELETE").map((call) => call.path), ["tasks/docs"]);
  });
});

test("w28 a size is leased, a message is sent, a process is started and the theme is changed by the keyboard", async () => {
  await withPage({}, async ({ page, server, go }) => {
    await go("p/p_c3docsdoc?tab=screen");
    await page.waitForFunction(() => document.activeElement?.classList.contains("xterm-helper-textarea"));
    await page.keyboard.press("Control+\\");
    await page.waitForFunction(() => !document.activeElement?.classList.contains("xterm-helper-textarea"));
    await page.getByRole("button", { name: "Fit here" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Give the size back" }).waitFor();
    await go("p/p_e5parserr?tab=now");
    await page.waitForSelector(".composer textarea");
    await page.evaluate(() => document.querySelector("#main").focus());
    await tabTo(page, ".composer textarea");
    await page.keyboard.type("and the docs?");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".composer textarea").value === "");
    assert.deepEqual(told(server, "processes/p_e5parserr/tell").map((body) => body.text), ["and the docs?"]);
    const before = await page.evaluate(() => document.documentElement.dataset.theme);
    const perform = async (words) => {
      await page.keyboard.press("Control+k");
      await page.waitForSelector("dialog.palette li");
      await page.keyboard.type(words);
      await page.keyboard.press("Enter");
    };
    await perform("theme");
    await page.waitForFunction((old) => document.documentElement.dataset.theme !== old, before);
    await perform("new process");
    await page.waitForSelector("dialog form select");
    await tabTo(page, "dialog button.primary");
    await page.keyboard.press("Enter");
    await until(page, () => told(server, "processes").length === 1);
    // What the start lacks is told.
    await page.getByText("it has no hooks: its state is read from the screen").waitFor();
  });
});

test("w28 new rows of a screen are read politely, and a screen that is drawn anew is not read whole", async () => {
  await withPage({ width: 390 }, async ({ page, server, go }) => {
    await go("p/p_f6shellll?tab=screen");
    await page.waitForFunction(() => document.querySelector(".rows")?.textContent.includes("git status"));
    const region = page.locator("#announcements");
    assert.deepEqual(await region.evaluate((element) => [element.getAttribute("aria-live") ?? element.getAttribute("role"), element.checkVisibility()]), ["polite", true]);
    const print = (offset, words) => {
      for (const connection of server.views) connection.send(frame(1, offset, offset + words.length, words));
    };
    print(9000, "cargo test\r\nall 214 tests pass\r\n");
    await region.filter({ hasText: "all 214 tests pass" }).waitFor({ state: "attached" });
    const lines = Array.from({ length: 20 }, (_unused, line) => `row ${line}`).join("\r\n");
    print(9034, `\x1b[2J\x1b[H${lines}`);
    await region.filter({ hasText: "row 19" }).waitFor({ state: "attached" });
    assert.equal(await region.innerText().then((words) => words.split("\n").length <= 3), true);
  });
});

/** What is pressed, and how large it is where it is less than a finger needs. Lines of text may have links. */
const smallTargets = (page) => page.evaluate(() => [...document.querySelectorAll("button, a[href]:not(p a, .meta a, .prose a, .rows a, .skip), summary, select, [role=option], input:not(.hidden, [type=checkbox]:not(.toggle)), label.attach, label:has(> input[type=checkbox])")]
  .filter((element) => element.checkVisibility() && (element.getBoundingClientRect().height < 43.5 || element.getBoundingClientRect().width < 39.5))
  .map((element) => `${element.tagName} ${element.className} ${element.textContent.trim().slice(0, 20)} ${element.getBoundingClientRect().width}×${element.getBoundingClientRect().height}`));

test("w28 targets on a phone are at least 44 pixels high in every view, dialog and menu", async () => {
  await withPage({ width: 390 }, async ({ page, go }) => {
    for (const path of VIEWS) {
      await go(path);
      await settled(page);
      assert.deepEqual(await smallTargets(page), [], path);
    }
    for (const [name, [path, open, sign]] of Object.entries(OPENED)) {
      await go(path);
      await settled(page);
      await open(page);
      await page.locator(sign).first().waitFor();
      assert.deepEqual(await smallTargets(page), [], name);
    }
  });
  await withPage({ width: 390, world: Object.assign(makeWorld(), { loggedIn: false }), expects: /401/ }, async ({ page, go }) => {
    await go("pair");
    await page.waitForSelector("input[name=code]");
    assert.deepEqual(await smallTargets(page), [], "pair");
  });
});

test("w28 with the system's own colours every button has a border, and a switch shows whether it is on", async () => {
  await withPage({ forcedColors: "active" }, async ({ page, go }) => {
    for (const path of VIEWS) {
      await go(path);
      await settled(page);
      const bare = await page.evaluate(() => [...document.querySelectorAll("#main button, #main .card, #main .tile, #main .list .line")]
        .filter((element) => element.checkVisibility() && getComputedStyle(element).borderTopWidth === "0px").map((element) => `${element.tagName} ${element.className}`));
      assert.deepEqual(bare.filter((one) => one !== "BUTTON num"), [], path);
    }
    await go("settings");
    await settled(page);
    const toggle = page.locator("#notify");
    await toggle.evaluate((box) => Object.assign(box, { disabled: false, checked: false }));
    const off = await toggle.screenshot();
    await toggle.evaluate((box) => Object.assign(box, { checked: true }));
    assert.notDeepEqual(await toggle.screenshot(), off);
    assert.ok(await toggle.evaluate((box) => getComputedStyle(box, "::after").backgroundColor !== getComputedStyle(box, "::before").backgroundColor), "the knob is seen");
  });
});

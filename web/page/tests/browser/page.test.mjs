// The page in headless Chromium against a server with fixed data: its views, by mouse and by touch.

import assert from "node:assert/strict";
import { test } from "node:test";
import { EVIL, EVIL_VIEWS, evilWorld } from "../fixtures/evil.mjs";
import { KEYBOARDS, replay } from "../fixtures/keyboards.mjs";
import { makeWorld } from "../fixtures/world.mjs";
import { activeContent, INERT } from "./chromium.mjs";
import { OPENED, seriousFindings, settled, until, VIEWS, withPage } from "./harness.mjs";

for (const width of [1280, 390]) {
  test(`w12 no text from outside becomes markup or script, in any view or dialog, ${width} pixels wide`, async () => {
    const world = Object.assign(evilWorld(), { confirmed: true });
    await withPage({ world, width, expects: /status of 404|^404 GET .*p_unknown0/ }, async ({ page, server, go }) => {
      for (const path of [...VIEWS, ...EVIL_VIEWS]) {
        await go(path);
        await settled(page);
        assert.deepEqual(await activeContent(page), INERT, path);
      }
      for (const [name, [path, open, sign]] of Object.entries(OPENED)) {
        if (name === "comment") continue;
        await go(path);
        await settled(page);
        await open(page);
        await page.locator(sign).first().waitFor();
        await page.waitForTimeout(50);
        assert.deepEqual(await activeContent(page), INERT, name);
      }
      await go("t/fix-login?tab=changes");
      await page.getByRole("button", { name: "Comment on line 1", exact: true }).first().click();
      await page.locator(".comment.editor textarea").fill(EVIL.join("\n"));
      await page.locator(".comment.editor button.primary").click();
      await page.locator(".comment.draft", { hasText: EVIL[0] }).last().waitFor();
      assert.deepEqual(await page.locator(".file h3").allInnerTexts().then((all) => all.map((title) => title.split(/ \d (draft|sent)/)[0].trim())), EVIL, "file names are shown as they are");
      assert.deepEqual(await activeContent(page), INERT, "a comment");
      await go("p/p_a1fixlogn?tab=log");
      await page.waitForSelector(".log-scroll .row");
      await page.locator("input[type=search]").fill("window");
      await page.keyboard.press("Enter");
      await page.waitForTimeout(200);
      assert.deepEqual(await activeContent(page), INERT, "a search");
      await go("p/p_e5parserr?tab=now");
      await page.locator(".composer textarea").fill("hello");
      await page.locator(".composer button.primary").click();
      await page.waitForSelector(".receipt");
      server.event({ mail: { mail: 9, to: "p_e5parserr", status: "refused", reason: EVIL[0] } });
      server.event({ item_opened: { item: 77, id: "p_c3docsdoc", name: EVIL[0], kind: "question", title: EVIL[5], at: Date.now(), options: [] } });
      await page.waitForFunction(() => document.title.includes("3"));
      assert.deepEqual(await activeContent(page), INERT, "what arrives later");
      await go("inbox");
      await page.waitForSelector(".card h2");
      assert.ok((await page.locator("#main").innerText()).includes(EVIL[0]), "the text is shown as it is");
    });
  });
}

test("w25 a question is answered on a phone in two taps, and the daemon's word closes it", async () => {
  const world = makeWorld();
  await withPage({ world, width: 390 }, async ({ page, server, go }) => {
    world.onAnswered = (item) => server.event({ item_closed: { item: item.item } });
    await go("");
    await page.locator(".needs .line").first().tap();
    await page.locator(".card .answers button").first().tap();
    await page.waitForSelector(".card", { state: "detached" });
    assert.equal(world.answered, "1");
  });
});

test("w25 an answer that comes too late says so and keeps what is there", async () => {
  const world = makeWorld();
  await withPage({ world, expects: /409/ }, async ({ page, go }) => {
    await go("inbox?item=41");
    await page.waitForSelector(".card");
    // The page has not heard yet that the question is over; without it in the list it would take the card away.
    world.isTooLate = true;
    await page.keyboard.press("1");
    await page.locator(".card .error", { hasText: "no longer open" }).waitFor();
  });
});

test("w26 what a phone's keyboard composes is sent once", async () => {
  const world = makeWorld();
  await withPage({ world, width: 390 }, async ({ page, server, go }) => {
    await go("p/p_e5parserr?tab=now");
    const field = page.locator(".composer textarea");
    await field.tap();
    const keyboard = await page.context().newCDPSession(page);
    for (const part of ["k", "ko", "kon", "konn", "konnichiwa"]) await keyboard.send("Input.imeSetComposition", { text: part, selectionStart: part.length, selectionEnd: part.length });
    await keyboard.send("Input.insertText", { text: "こんにちは" });
    await keyboard.send("Input.insertText", { text: " world" });
    await page.keyboard.press("Enter");
    await keyboard.send("Input.insertText", { text: "two" });
    assert.equal(await field.inputValue(), "こんにちは world\ntwo", "Enter is a new line on a phone");
    await page.locator(".composer button.primary").tap();
    await page.waitForFunction(() => document.querySelector(".composer textarea").value === "");
    const told = server.calls.filter((call) => call.path.endsWith("/tell"));
    assert.deepEqual(told.map((call) => call.body.text), ["こんにちは world\ntwo"]);
    server.event({ mail: { mail: 9, to: "p_e5parserr", status: "submitted", turn: 6 } });
    await page.waitForFunction(() => document.querySelector(".receipt")?.textContent === "Submitted, turn 6");
  });
});

test("what a person selects is shown, and what a process selects is only told", async () => {
  await withPage({}, async ({ page, server, go }) => {
    await go("p/p_e5parserr");
    await page.waitForSelector(".connection.open", { state: "attached" });
    server.event({ selected: { id: "p_c3docsdoc", by: "p_c3docsdoc" } });
    await page.locator(".notes", { hasText: "asks you to look at it" }).waitFor();
    assert.match(page.url(), /p_e5parserr/);
    server.event({ selected: { id: "p_c3docsdoc" } });
    await page.waitForURL(/p_c3docsdoc/);
  });
});

for (const [name, { steps, text }] of Object.entries(KEYBOARDS)) {
  test(`w26 ${name}, gives the text once`, async () => {
    await withPage({ width: 390 }, async ({ page, server, go }) => {
      await go("p/p_e5parserr?tab=now");
      const field = page.locator(".composer textarea");
      await field.tap();
      assert.equal(await replay(page, steps), 0, "the page does not write into a field while a keyboard does");
      assert.equal(await field.inputValue(), text);
      await page.locator(".composer button.primary").tap();
      await page.waitForFunction(() => document.querySelector(".composer textarea").value === "");
      assert.deepEqual(server.calls.filter((call) => call.path.endsWith("/tell")).map((call) => call.body.text), [text]);
    });
  });
}

test("w26 a word that is still composed is sent whole, and is not there again afterwards", async () => {
  await withPage({ width: 390 }, async ({ page, server, go }) => {
    await go("p/p_e5parserr?tab=now");
    const field = page.locator(".composer textarea");
    await field.tap();
    const keyboard = await page.context().newCDPSession(page);
    for (const part of ["h", "he", "hello"]) await keyboard.send("Input.imeSetComposition", { text: part, selectionStart: part.length, selectionEnd: part.length });
    // As on iOS, where a button takes no focus.
    const isWrittenFocused = await field.evaluate(async (element) => {
      const own = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value");
      const written = new Promise((resolve) => Object.defineProperty(element, "value", { configurable: true, get: () => own.get.call(element), set: (value) => {
        own.set.call(element, value);
        resolve(document.activeElement === element);
      } }));
      element.form.requestSubmit();
      return written;
    });
    assert.equal(isWrittenFocused, false, "the field is emptied while no keyboard has it");
    // The next word begins anew.
    await keyboard.send("Input.imeSetComposition", { text: "n", selectionStart: 1, selectionEnd: 1 });
    await keyboard.send("Input.insertText", { text: "next" });
    assert.equal(await field.inputValue(), "next");
    assert.deepEqual(server.calls.filter((call) => call.path.endsWith("/tell")).map((call) => call.body.text), ["hello"]);
  });
});

test("a draft survives a reload and the key bar sends keys in order", async () => {
  const world = makeWorld();
  await withPage({ world, width: 390 }, async ({ page, server, go }) => {
    await go("p/p_f6shellll?tab=now");
    await page.locator(".composer textarea").fill("half a thought");
    await page.reload();
    await page.waitForFunction(() => document.querySelector(".composer textarea")?.value === "half a thought");
    for (const name of ["Control, for the next key", "Up", "Escape"]) await page.getByRole("button", { name, exact: true }).tap();
    await page.waitForFunction(() => document.querySelector(".keybar [aria-pressed]").getAttribute("aria-pressed") === "false");
    await until(page, () => server.calls.filter((call) => call.path.endsWith("/input")).length === 2);
    assert.deepEqual(server.calls.filter((call) => call.path.endsWith("/input")).map((call) => call.body.input), [{ keys: ["ctrl-up"] }, { keys: ["escape"] }]);
  });
});

test("w27 comments are written by touch, survive a reload and go as one message", async () => {
  const world = makeWorld();
  world.comments = [];
  await withPage({ world, width: 390 }, async ({ page, server, go }) => {
    await go("t/fix-login?tab=changes");
    for (const [line, text] of [[3, "why this crate?"], [42, "cookies too"], [40, "rename it"]]) {
      await page.getByRole("button", { name: `Comment on line ${line}`, exact: true }).first().tap();
      await page.locator(".comment.editor textarea").fill(text);
      await page.locator(".comment.editor button.primary").tap();
      await page.locator(".comment.draft", { hasText: text }).waitFor();
    }
    await page.reload();
    await page.getByRole("button", { name: /^Send 3 comments/ }).tap();
    await page.waitForFunction(() => document.querySelectorAll(".comment.sent").length === 3);
    assert.equal(server.calls.filter((call) => call.body?.send).length, 1);
  });
});

test("w27 a draft is edited, a comment covers several lines, and files say how many they have", async () => {
  const world = makeWorld();
  world.comments = [];
  await withPage({ world }, async ({ page, server, go }) => {
    await go("t/fix-login?tab=changes");
    const line = (number) => page.getByRole("button", { name: `Comment on line ${number}`, exact: true }).first();
    const write = async (words, button) => {
      await page.locator(".comment.editor textarea").fill(words);
      await page.getByRole("button", { name: button, exact: true }).click();
      await page.locator(".comment.draft", { hasText: words }).waitFor();
    };
    await line(39).click();
    await line(40).click({ modifiers: ["Shift"] });
    await page.locator(".comment.editor", { hasText: "Lines 39–40" }).waitFor();
    await write("one thing", "Add comment");
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    assert.equal(await page.locator(".comment.editor textarea").inputValue(), "one thing");
    await write("another thing", "Save");
    assert.deepEqual(world.comments.map(({ first, last, text }) => [first, last, text]), [[39, 40, "another thing"]]);
    assert.match(await page.locator(".comment.draft .meta").innerText(), /Lines 39–40/);
    await line(42).click();
    await page.getByRole("button", { name: "From one line above" }).click();
    await write("and this", "Add comment");
    assert.deepEqual(server.calls.findLast((call) => call.body?.add).body.add, { file: "src/auth.rs", side: "new", first: 41, last: 42, text: "and this" });
    assert.deepEqual(await page.locator(".files a").evaluateAll((all) => all.map((entry) => entry.textContent.replace(/\s+/g, " ").trim())), ["M src/auth.rs 2 comments +2 −1", "A src/ticket.rs +8 −0", "? notes.md +2 −0"]);
    assert.match(await page.locator(".file h3").first().innerText(), /2 drafts/);
  });
});

test("w27 changes are compared with another base, and the page says what no commit has", async () => {
  await withPage({}, async ({ page, server, go }) => {
    await go("t/fix-login?tab=changes");
    const shown = () => page.locator(".file h3").allInnerTexts();
    await page.locator(".file").nth(2).waitFor();
    await page.getByLabel("Compared with").selectOption("the last commit");
    await page.locator(".file").nth(1).waitFor({ state: "detached" });
    assert.match((await shown()).join(), /^notes.md/);
    await page.getByLabel("Compared with").selectOption("something else…");
    await page.locator("dialog input[name=base]").fill("v1.2");
    await page.locator("dialog button.primary").click();
    await page.locator(".file").nth(2).waitFor();
    assert.deepEqual(server.calls.findLast((call) => call.path.endsWith("/diff") && !call.query.stat).query, { base: "v1.2" });
    assert.equal(await page.getByLabel("Compared with").inputValue(), "v1.2");
  });
});

test("no view is wider than a phone of 360 pixels", async () => {
  await withPage({ width: 360 }, async ({ page, go }) => {
    for (const path of VIEWS) {
      await go(path);
      await settled(page);
      const width = await page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.getElementById("main").scrollWidth));
      assert.ok(width <= 360, `${path}: ${width}`);
    }
  });
});

test("on a phone no dialog is cut off, a long name leaves room for its state, and a process that is gone leads back", async () => {
  const world = makeWorld();
  world.processes[5].name = "a-process-with-a-name-of-forty-character";
  await withPage({ world, width: 390 }, async ({ page, go }) => {
    await go("");
    await page.getByRole("button", { name: "New…" }).first().tap();
    await page.locator("dialog option", { hasText: "not installed" }).waitFor({ state: "attached" });
    assert.equal(await page.locator("dialog").evaluate((dialog) => dialog.scrollWidth - dialog.clientWidth), 0);
    await go("p/p_f6shellll?tab=now");
    const [name, word] = [page.locator(".head h1"), page.locator(".head .word")];
    assert.ok(Math.abs((await name.boundingBox()).y - (await word.boundingBox()).y) < 20, "both are on one row");
    await go("p/p_nowhere0?tab=now");
    await page.getByRole("link", { name: "Go to Deck" }).tap();
    await page.waitForSelector(".list .line");
  });
});

test("w29 everything works below another path", async () => {
  await withPage({ base: "/x/" }, async ({ page, go, server }) => {
    await go("p/p_a1fixlogn?tab=screen");
    await page.waitForSelector(".xterm-rows span");
    await page.locator(".top-links a", { hasText: "Inbox" }).click();
    await page.waitForSelector(".card");
    assert.equal(page.url(), `${server.url}inbox`);
  });
});

test("w6 a device that may only watch sees no way to type", async () => {
  const world = makeWorld();
  world.role = "view";
  await withPage({ world }, async ({ page, go }) => {
    await go("p/p_a1fixlogn?tab=now");
    await page.waitForSelector(".card");
    assert.equal(await page.locator(".composer, .answers, .menu").count(), 0);
    assert.match(await page.locator(".card").innerText(), /A device that may type can answer this/);
    assert.equal((await page.locator("#main").innerText()).match(/You may watch/g).length, 1);
  });
});

test("a browser that is not paired pairs with a code, and the code leaves the address", async () => {
  const world = makeWorld();
  world.loggedIn = false;
  await withPage({ world, expects: /401|403/ }, async ({ page, server, go }) => {
    await go("#c=K7QM2XPD");
    await page.waitForSelector(".list .line");
    assert.equal(page.url(), server.url);
    world.loggedIn = false;
    await page.goto(`${server.url}inbox`);
    await page.locator("input[name=code]").fill("wrong-code");
    await page.locator("button.primary").click();
    await page.waitForSelector(".error");
    await page.locator("input[name=code]").fill("k7qm-2xpd");
    await page.locator("button.primary").click();
    await page.waitForSelector(".card");
  });
});

test("a link leads a paired browser to its target and does not sign it out", async () => {
  const world = makeWorld();
  await withPage({ world }, async ({ page, server, go }) => {
    await go(`#l=${"5e".repeat(32)}`);
    await page.waitForURL(/p\/p_a1fixlogn$/);
    await page.locator(".menu summary").waitFor();
    assert.equal(await page.evaluate(() => location.hash), "");
    await page.goto(server.url);
    await page.locator(".line", { hasText: "vite" }).waitFor();
  });
});

test("w6 a link shows its process alone to a browser that is not paired", async () => {
  const world = makeWorld();
  world.loggedIn = false;
  await withPage({ world }, async ({ page, go }) => {
    await go(`#l=${"5e".repeat(32)}`);
    await page.waitForURL(/p\/p_a1fixlogn$/);
    await page.waitForSelector(".xterm-rows span");
    assert.equal(await page.locator(".composer, .menu, .answers").count(), 0);
    assert.equal(await page.locator(".rail .line").count(), 1);
  });
});

test("what needs a confirmation asks for a code", async () => {
  await withPage({ expects: /403/ }, async ({ page, server, go }) => {
    await go("p/p_a1fixlogn?tab=now");
    await page.locator(".menu summary").click();
    await page.getByRole("button", { name: "View-only link" }).click();
    await page.locator("dialog button.primary").click();
    await page.locator("dialog input[name=code]").fill("AAAA1111");
    await page.getByRole("button", { name: "Confirm", exact: true }).click();
    await page.locator("dialog code", { hasText: "#l=5e5e" }).waitFor();
    assert.deepEqual(server.calls.filter((call) => /^(links|step-up)$/.test(call.path)).map((call) => call.path), ["links", "step-up", "links"]);
    assert.deepEqual(server.calls.findLast((call) => call.path === "links").body, { process: "p_a1fixlogn", minutes: 1440 });
  });
});

for (const width of [1280, 390]) {
  test(`tokens and links are made and revoked in the settings, ${width} pixels wide`, async () => {
    const world = makeWorld();
    world.confirmed = true;
    await withPage({ world, width, expects: /400/ }, async ({ page, server, go }) => {
      await go("settings");
      await page.getByRole("button", { name: "New token" }).click();
      await page.locator("dialog input[name=name]").fill('a "quoted" name');
      await page.locator("dialog button.primary").click();
      await page.locator("dialog .error", { hasText: "no quotes" }).waitFor();
      await page.locator("dialog input[name=name]").fill("ci");
      await page.locator("dialog input[name=days]").fill("");
      await page.locator("dialog button.primary").click();
      await page.locator("dialog code", { hasText: /^5e5e/ }).waitFor();
      assert.deepEqual(server.calls.findLast((call) => call.path === "tokens").body, { name: "ci", role: "view" }, "without days it stays until it is revoked");
      await page.locator("dialog button.primary").click();
      await page.locator(".setting", { hasText: "ci" }).first().waitFor();
      await page.getByRole("button", { name: "New link" }).click();
      await page.locator("dialog option", { hasText: "task docs" }).waitFor({ state: "attached" });
      await page.locator("dialog select[name=target]").selectOption({ label: "task docs" });
      await page.locator("dialog input[name=hours]").fill("3");
      await page.locator("dialog button.primary").click();
      await page.locator("dialog code", { hasText: "#l=5e5e" }).waitFor();
      assert.deepEqual(server.calls.findLast((call) => call.path === "links").body, { task: "docs", minutes: 180 });
      assert.deepEqual(await seriousFindings(page), []);
      await page.locator("dialog button.primary").click();
      await page.locator(".setting", { hasText: "task docs" }).getByRole("button", { name: "Revoke" }).click();
      assert.match(await page.locator("dialog").innerText(), /Revoke the link to task docs\?/);
      await page.locator("dialog button.danger").click();
      await page.locator(".setting", { hasText: "task docs" }).waitFor({ state: "detached" });
      assert.equal(server.calls.filter((call) => call.method === "DELETE" && call.path === "devices/l_iiiijjjj").length, 1);
    });
  });
}

test("an empty deck, inbox and task say what to do next", async () => {
  const world = makeWorld();
  Object.assign(world, { processes: [], inbox: [], pads: [], diff: "" });
  await withPage({ world }, async ({ page, go }) => {
    for (const [path, words] of [
      ["", /No process runs[^]*qd new fix-login --run/], ["wall", /No process runs[^]*qd new fix-login --run/], ["inbox", /Nothing needs you[^]*No agent is working/],
      ["t/docs?tab=changes", /No changes since the base[^]*Compared with main/], ["pads", /pad/i],
    ]) {
      await go(path);
      await page.waitForSelector("#main .empty");
      assert.match(await page.locator("#main .empty").first().innerText(), words, path);
    }
    world.tasks = [];
    await go("tasks");
    await page.waitForSelector("#main .empty .command");
  });
});

test("the page says that the daemon is gone, and goes on by itself when it is back", async () => {
  const world = makeWorld();
  await withPage({ world }, async ({ page, server, go }) => {
    await go("");
    await page.waitForSelector(".connection.open", { state: "attached" });
    world.isDaemonGone = true;
    server.closeEvents(4503);
    await page.locator(".banner", { hasText: "The daemon does not answer" }).waitFor();
    assert.equal(await page.locator(".list .line").count() > 0, true, "what was there stays");
    world.processes[0] = { ...world.processes[0], name: "renamed-meanwhile" };
    world.isDaemonGone = false;
    await page.locator(".line", { hasText: "renamed-meanwhile" }).waitFor();
    await page.locator(".banner").waitFor({ state: "detached" });
  });
});

test("a link that has expired says so, and a server that cannot be reached is not an expired link", async () => {
  const world = Object.assign(makeWorld(), { loggedIn: false });
  await withPage({ world, expects: /401|403|Failed to load|ERR_/ }, async ({ page, go }) => {
    await go(`#l=${"00".repeat(32)}`);
    await page.locator(".notice", { hasText: "This link has expired. Ask for a new one." }).waitFor();
    assert.equal(await page.evaluate(() => location.hash), "");
    await page.route("**/api/v1/login", (route) => route.abort());
    await page.goto("about:blank");
    await go(`#l=${"00".repeat(32)}`);
    await page.waitForSelector(".error");
    assert.doesNotMatch(await page.locator(".error").first().innerText(), /expired/);
  });
});

test("the page can be installed", async () => {
  await withPage({}, async ({ page, go }) => {
    await go("");
    await page.waitForSelector(".list .line");
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    const debug = await page.context().newCDPSession(page);
    const { errors, data } = await debug.send("Page.getAppManifest");
    assert.deepEqual(errors, []);
    const manifest = JSON.parse(data);
    assert.equal(manifest.display, "standalone");
    const { installabilityErrors } = await debug.send("Page.getInstallabilityErrors");
    // Each test has a context like a private window, and those install nothing.
    assert.deepEqual(installabilityErrors.map((one) => one.errorId).filter((id) => id !== "in-incognito"), []);
  });
});

// The page in headless Chromium against a server with fixed data.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { EVIL, evilWorld } from "../fixtures/evil.mjs";
import { KEYBOARDS, replay } from "../fixtures/keyboards.mjs";
import { frame, makeWorld } from "../fixtures/world.mjs";
import { launch, openPage } from "./chromium.mjs";
import { serve } from "./server.mjs";

const VIEWS = ["", "wall", "inbox", "inbox?item=41", "p/p_a1fixlogn?tab=now", "p/p_a1fixlogn?tab=screen", "p/p_a1fixlogn?tab=log", "tasks", "t/fix-login", "t/fix-login?tab=changes", "t/fix-login?tab=runs", "pads", "pads?name=plan", "settings"];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** Runs a test with a server and a page, and demands that nothing went wrong on it. */
async function withPage(options, run) {
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

const settled = (page) => page.waitForFunction(() => document.querySelector("#main .line, #main .card, #main .setting, #main .row, #main .xterm-rows, #main .prose, #main .facts-list, #main .diff"));

test("w12 no text from outside becomes markup or script, in any view", async () => {
  await withPage({ world: evilWorld() }, async ({ page, go }) => {
    for (const path of VIEWS) {
      await go(path);
      await settled(page);
      const found = await page.evaluate(() => ({
        ran: window.ran, images: document.querySelectorAll("img[src*='x']").length, scripts: document.querySelectorAll("body script").length,
        handlers: document.querySelectorAll("[onerror],[onload],[onclick]").length, links: [...document.links].filter((link) => !/^https?:/.test(link.href)).length,
      }));
      assert.deepEqual(found, { ran: undefined, images: 0, scripts: 0, handlers: 0, links: 0 }, path);
    }
    await go("inbox");
    await page.waitForSelector(".card h2");
    assert.ok((await page.locator("#main").innerText()).includes(EVIL[0]), "the text is shown as it is");
  });
});

test("w12 a terminal has its colours although the policy allows no style attributes", async () => {
  await withPage({ theme: "dark" }, async ({ page, go }) => {
    await go("p/p_a1fixlogn?tab=screen");
    await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("41 +"));
    const colors = await page.evaluate(() => [...document.querySelectorAll(".xterm-rows span")].map((span) => [span.textContent.trim(), getComputedStyle(span).color]));
    const of = (text) => colors.find(([content]) => content.startsWith(text))?.[1];
    assert.equal(of("●"), "rgb(215, 119, 87)");
    assert.equal(of("41 -"), "rgb(240, 113, 111)");
    assert.equal(of("41 +"), "rgb(127, 206, 127)");
  });
});

test("w13 a child's text reaches the clipboard only when a person taps", async () => {
  const world = makeWorld();
  world.screens.p_f6shellll = `\x1b]52;c;${Buffer.from("from the child").toString("base64")}\x07\x1b]52;c;?\x07`;
  await withPage({ world }, async ({ page, go }) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await go("p/p_f6shellll?tab=screen");
    const chip = page.locator(".chip button").first();
    await chip.waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "");
    assert.equal(world.typed, "", "a question about the clipboard gets no answer");
    await chip.click();
    await page.waitForFunction(async () => (await navigator.clipboard.readText()) === "from the child");
  });
});

test("w16 w18 a cut connection comes back by itself, at the offset that was parsed, without a reload", async () => {
  const world = makeWorld();
  const starts = [];
  const attach = world.attach;
  world.attach = (id, connection, query) => {
    starts.push(query.toString());
    if (!query.has("from")) return attach(id, connection);
    connection.json({ type: "attached", id, name: "x", run: 1, cols: 100, rows: 30, types: true });
    connection.send(frame(1, 9000, 9005, "AGAIN"));
  };
  await withPage({ world, expects: /ERR_|WebSocket|Failed to load/ }, async ({ page, server, go }) => {
    await go("p/p_f6shellll?tab=screen");
    await page.waitForSelector(".xterm-rows span");
    await page.evaluate(() => {
      window.stays = true;
    });
    server.cut();
    await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("AGAIN"));
    assert.equal(await page.evaluate(() => window.stays), true);
    assert.deepEqual(starts.slice(0, 2), ["", "run=1&from=9000"]);
    assert.ok((await page.locator(".xterm-rows").innerText()).includes("git status"), "what was there stays");
    await page.waitForSelector(".connection.open");
  });
});

/** What a page may go through while nobody looks at it; each leaves dead connections behind. */
const ABSENCES = {
  "slept, and its connections are dead": async ({ page, server }) => {
    const debug = await page.context().newCDPSession(page);
    await debug.send("Page.setWebLifecycleState", { state: "frozen" });
    server.cut();
    await debug.send("Page.setWebLifecycleState", { state: "active" });
  },
  "was without a network": async ({ page, server }) => {
    await page.context().setOffline(true);
    server.cut();
    await page.waitForSelector(".connection.lost", { state: "attached" });
    await page.context().setOffline(false);
  },
  "was left and is back from the browser's memory": async ({ page }) => {
    await page.goto("about:blank");
    await page.goBack({ waitUntil: "commit" });
  },
};

for (const [what, happens] of Object.entries(ABSENCES)) {
  test(`w18 a page that ${what}, is live again without a reload, where its reader was`, async () => {
    const world = makeWorld();
    await withPage({ world, expects: /ERR_|WebSocket|Failed to load/ }, async ({ page, server, go }) => {
      await go("p/p_f6shellll?tab=log");
      await page.waitForFunction(() => document.querySelectorAll(".log-scroll .row").length > 60);
      await page.waitForSelector(".connection.open", { state: "attached" });
      const scrolled = await page.evaluate(() => {
        window.stays = true;
        const log = document.querySelector(".log-scroll");
        log.scrollTop = Math.round(log.scrollHeight / 2);
        return log.scrollTop;
      });
      await happens({ page, server });
      world.processes[0] = { ...world.processes[0], name: "renamed-meanwhile" };
      server.event({ changed: world.processes[0] });
      await page.waitForFunction(() => document.querySelector(".connection.open") && document.body.textContent.includes("renamed-meanwhile"));
      assert.deepEqual(await page.evaluate(() => [window.stays, document.querySelector(".log-scroll").scrollTop]), [true, scrolled]);
    });
  });
}

test("w20 a paste of one megabyte arrives byte for byte, and the page says how far it is", async () => {
  const world = makeWorld();
  await withPage({ world }, async ({ page, go }) => {
    await go("p/p_f6shellll?tab=screen");
    await page.waitForSelector(".xterm-rows span");
    const paste = Array.from({ length: 16_384 }, (_unused, index) => `line ${String(index).padStart(6, "0")} ${"x".repeat(48)} é`).join("\n");
    await page.evaluate((text) => {
      new MutationObserver(() => {
        window.progress ??= document.querySelector("#main").textContent.match(/Wrote \S+ \S+ of \S+ \S+/)?.[0];
      }).observe(document.querySelector("#main"), { subtree: true, childList: true, characterData: true });
      const data = new DataTransfer();
      data.setData("text/plain", text);
      document.querySelector(".xterm-helper-textarea").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    }, paste);
    const all = Buffer.from(paste.replaceAll("\n", "\r"));
    assert.ok(all.length > 1_000_000);
    const typed = () => Buffer.concat(world.frames);
    for (let wait = 0; wait < 600 && typed().length < all.length; wait++) await page.waitForTimeout(50);
    assert.ok(typed().equals(all));
    assert.match(await page.evaluate(() => window.progress), /^Wrote .* of 1/);
  });
});

test("w21 a leased size goes back when the page was hidden for 30 seconds, and not before", async () => {
  const world = makeWorld();
  const asked = [];
  const attach = world.attach;
  world.attach = (id, connection) => {
    const json = connection.json;
    attach(id, { ...connection, json: (message) => json(message.type === "attached" ? { ...message, lease: true } : message) });
  };
  world.received = (_path, data, connection) => {
    const message = typeof data === "string" ? JSON.parse(data) : {};
    if (message.type !== "own_size") return;
    asked.push(message.size !== undefined);
    connection.json({ type: "lease", held: message.size !== undefined });
  };
  await withPage({ world, width: 390 }, async ({ page, go }) => {
    await go("p/p_f6shellll?tab=screen");
    await page.getByRole("button", { name: "Fit here" }).tap();
    await page.getByRole("button", { name: "Give the size back" }).waitFor();
    await page.clock.install();
    const hide = (isHidden) => page.evaluate((value) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
      document.dispatchEvent(new Event("visibilitychange"));
    }, isHidden);
    await hide(true);
    await page.clock.fastForward(29_000);
    await hide(false);
    await hide(true);
    await page.clock.fastForward(29_000);
    assert.deepEqual(asked, [true]);
    await page.clock.fastForward(1500);
    for (let wait = 0; wait < 500 && asked.length < 2; wait++) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.deepEqual(asked, [true, false]);
  });
});

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
    world.inbox = [];
    await page.keyboard.press("1");
    await page.waitForSelector(".card .error");
    assert.match(await page.locator(".card .error").innerText(), /no longer open/);
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
    for (let wait = 0; wait < 100 && server.calls.filter((call) => call.path.endsWith("/input")).length < 2; wait++) await page.waitForTimeout(20);
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

for (const theme of ["light", "dark"]) {
  test(`w28 axe has no serious finding in any view, ${theme}`, async () => {
    for (const width of [1280, 390]) {
      await withPage({ theme, width }, async ({ page, go }) => {
        for (const path of VIEWS) {
          await go(path);
          await settled(page);
          await page.waitForTimeout(150);
          // Over the debugger: the page's policy would refuse a script element.
          await page.evaluate(axe);
          const { violations } = await page.evaluate(() => window.axe.run({ exclude: [".rows", ".xterm"] }));
          const serious = violations.filter((one) => ["serious", "critical"].includes(one.impact));
          assert.deepEqual(serious.map((one) => [one.id, one.nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary?.split("\n")[1] ?? ""}`)]), [], `${path} ${width}`);
        }
      });
    }
  });
}

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
    assert.deepEqual(server.calls.filter((call) => call.path === "inbox/42/answer").map((call) => call.body.choice), ["2"]);
  });
});

test("w28 keys typed into a terminal reach the child and not the page", async () => {
  const world = makeWorld();
  await withPage({ world }, async ({ page, go }) => {
    await go("p/p_f6shellll?tab=screen");
    await page.waitForSelector(".xterm-rows span");
    await page.keyboard.type("gi?1j");
    await page.keyboard.press("Control+c");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Escape");
    for (let wait = 0; wait < 100 && world.typed.length < 10; wait++) await page.waitForTimeout(20);
    assert.equal(world.typed, "gi?1j\x03\x1b[A\x1b");
    assert.match(page.url(), /p_f6shellll/);
  });
});

test("w28 targets on a phone are at least 44 pixels high", async () => {
  await withPage({ width: 390 }, async ({ page, go }) => {
    for (const path of ["", "inbox", "p/p_a1fixlogn?tab=now", "p/p_a1fixlogn?tab=screen", "settings", "pads"]) {
      await go(path);
      await settled(page);
      const small = await page.evaluate(() => [...document.querySelectorAll("button, .line, .tabs a, .switch a, summary, select")]
        .filter((element) => element.offsetParent !== null && element.getBoundingClientRect().height < 43.5)
        .map((element) => `${element.className} ${element.textContent.trim().slice(0, 20)} ${element.getBoundingClientRect().height}`));
      assert.deepEqual(small, [], path);
    }
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
    assert.match(await page.locator(".card").innerText(), /You may watch/);
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
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run());
      assert.deepEqual(violations.filter((one) => ["serious", "critical"].includes(one.impact)).map((one) => one.id), []);
      await page.locator("dialog button.primary").click();
      await page.locator(".setting", { hasText: "task docs" }).getByRole("button", { name: "Revoke" }).click();
      assert.match(await page.locator("dialog").innerText(), /Revoke the link to task docs\?/);
      await page.locator("dialog button.danger").click();
      await page.locator(".setting", { hasText: "task docs" }).waitFor({ state: "detached" });
      assert.equal(server.calls.filter((call) => call.method === "DELETE" && call.path === "devices/l_iiiijjjj").length, 1);
    });
  });
}

test("forced colours keep every control visible", async () => {
  await withPage({ forcedColors: "active" }, async ({ page, go }) => {
    await go("p/p_a1fixlogn?tab=now");
    await page.waitForSelector(".card .answers button");
    const width = await page.evaluate(() => getComputedStyle(document.querySelector(".card .answers button")).borderTopWidth);
    assert.equal(width, "1px");
  });
});

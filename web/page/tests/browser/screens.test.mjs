// Screens in headless Chromium against a server with fixed data: connections, sizes, input, links, files.

import assert from "node:assert/strict";
import { test } from "node:test";
import { confirm, frame, makeWorld } from "../fixtures/world.mjs";
import { untilAnswer } from "./chromium.mjs";
import { ABSENCES, pasteText, stroke } from "./gestures.mjs";
import { until, withPage } from "./harness.mjs";

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

for (const width of [1280, 390]) {
  test(`w13 a child's text reaches the clipboard only when a person taps, ${width} pixels wide`, async () => {
    const world = makeWorld();
    world.screens.p_f6shellll = `\x1b]52;c;${Buffer.from("from the child").toString("base64")}\x07\x1b]52;c;?\x07`;
    await withPage({ world, width }, async ({ page, go }) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await go("");
      await page.evaluate(() => navigator.clipboard.writeText("the person's own"));
      await go("p/p_f6shellll?tab=screen");
      const chip = page.locator(".chip button").first();
      await chip.waitFor();
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "the person's own");
      assert.equal(world.typed, "", "a question about the clipboard gets no answer");
      await chip.click();
      await untilAnswer(page, () => page.evaluate(() => navigator.clipboard.readText()), "from the child");
    });
  });
}

for (const width of [1280, 390]) {
  test(`w13 c6 a text of more than 64 KiB is not offered for the clipboard, one of 64 KiB is, ${width} pixels wide`, async () => {
    const world = makeWorld();
    const write = (bytes) => `\x1b]52;c;${Buffer.alloc(bytes, "x").toString("base64")}\x07`;
    world.screens.p_f6shellll = `${write(64 * 1024 + 1)}first`;
    world.screens.p_g7viteeee = `${write(64 * 1024)}second`;
    await withPage({ world, width }, async ({ page, go }) => {
      const shows = (words) => page.waitForFunction((text) => document.querySelector(".xterm-rows, .rows")?.textContent.includes(text), words);
      await go("p/p_f6shellll?tab=screen");
      await shows("first");
      assert.equal(await page.locator(".chip").count(), 0);
      await go("p/p_g7viteeee?tab=screen");
      await shows("second");
      await page.locator(".chip", { hasText: "64 KiB" }).waitFor();
    });
  });
}

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
    await page.evaluate(() => {
      new MutationObserver(() => {
        window.progress ??= document.querySelector("#main").textContent.match(/Wrote \S+ \S+ of \S+ \S+/)?.[0];
      }).observe(document.querySelector("#main"), { subtree: true, childList: true, characterData: true });
    });
    await pasteText(page, paste);
    const all = Buffer.from(paste.replaceAll("\n", "\r"));
    assert.ok(all.length > 1_000_000);
    await until(page, () => Buffer.concat(world.frames).length >= all.length);
    assert.ok(Buffer.concat(world.frames).equals(all));
    assert.match(await page.evaluate(() => window.progress), /^Wrote .* of 1/);
    await page.locator(".stage-status").waitFor({ state: "detached" });
  });
});

test("w20 a paste that the program does not read waits in the page, counts what is written, and can be left out", async () => {
  const world = makeWorld();
  let written;
  world.screens.p_f6shellll = "\x1b[?2004h$ ";
  world.received = (_path, data, connection) => {
    if (typeof data === "string") return;
    world.frames.push(data.subarray(24));
    written = (bytes) => confirm(connection, bytes);
  };
  await withPage({ world }, async ({ page, go }) => {
    await go("p/p_f6shellll?tab=screen");
    await page.waitForSelector(".xterm-rows span");
    await pasteText(page, "x".repeat(1_000_000));
    await until(page, () => world.frames.length === 2);
    const status = page.locator(".stage-status");
    written(64 * 1024);
    await status.filter({ hasText: "Wrote 64 KiB of 977 KiB" }).waitFor();
    await until(page, () => world.frames.length === 3);
    await page.getByRole("button", { name: "Leave out the rest" }).click();
    await until(page, () => world.frames.length === 3 && written !== undefined);
    for (const _left of [2, 3]) written(64 * 1024);
    await until(page, () => world.frames.length === 4);
    assert.equal(world.frames[3].toString(), "\x1b[201~", "a program that was told of a paste is told of its end");
    written(6);
    await status.waitFor({ state: "detached" });
  });
});

test("w20 what was not written when a connection is lost or the view is left is said, and not sent later", async () => {
  const world = makeWorld();
  world.received = (_path, data) => typeof data === "string" || world.frames.push(data.subarray(24));
  await withPage({ world, expects: /ERR_|WebSocket|Failed to load/ }, async ({ page, server, go }) => {
    await go("p/p_f6shellll?tab=screen");
    await page.waitForSelector(".xterm-rows span");
    await pasteText(page, "x".repeat(300_000));
    await until(page, () => world.frames.length === 2);
    server.cut();
    await page.locator(".notes .error", { hasText: "The last 293 KiB that you typed may not have arrived." }).waitFor();
    await page.waitForSelector(".connection.open");
    await page.waitForFunction(() => !document.querySelector(".stage-status"));
    await page.keyboard.type("y");
    await until(page, () => world.frames.length === 3);
    assert.equal(world.frames[2].toString(), "y");
    await pasteText(page, "z".repeat(300_000));
    await until(page, () => world.frames.length === 5);
    await page.locator(".top-links a", { hasText: "Deck" }).click();
    await page.locator(".notes .error", { hasText: "The last 165 KiB that you typed may not have arrived." }).waitFor();
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

test("w28 keys typed into a terminal reach the child and not the page", async () => {
  const world = makeWorld();
  await withPage({ world }, async ({ page, go }) => {
    await go("p/p_f6shellll?tab=screen");
    await page.waitForSelector(".xterm-rows span");
    await page.keyboard.type("gi?1j");
    await page.keyboard.press("Control+c");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Escape");
    await until(page, () => world.typed.length >= 10);
    assert.equal(world.typed, "gi?1j\x03\x1b[A\x1b");
    assert.match(page.url(), /p_f6shellll/);
  });
});

test("w12 a link that a program made shows its target before it opens, with every button of the mouse, and a tile has none", async () => {
  const world = makeWorld();
  const target = "https://example.org/a/long/path?with=a&query";
  const answer = world.answer;
  world.answer = (call) => {
    const told = answer(call);
    if (/\/(screen|history)$/.test(call.path)) told.ok.rows = [{ line: 0, runs: [{ text: "harmless", link: target }] }];
    if (/\/result$/.test(call.path)) told.ok.text = `[harmless](${target}) and [${target}](${target})`;
    return told;
  };
  await withPage({ world }, async ({ page, go }) => {
    const opened = [];
    page.context().on("page", (other) => opened.push(other));
    for (const [path, place] of [["p/p_a1fixlogn?tab=now", ".rows.live a"], ["p/p_a1fixlogn?tab=now", ".said a:first-child"], ["p/p_f6shellll?tab=log", ".log-scroll a"]]) {
      for (const button of ["left", "middle"]) {
        await go(path);
        await page.locator(place).first().click({ button });
        await page.locator("dialog pre", { hasText: target }).waitFor();
        await page.getByRole("button", { name: "Cancel" }).click();
      }
    }
    assert.deepEqual(opened, []);
    await page.locator(".log-scroll a").first().click();
    const leads = await page.locator("dialog a.primary").evaluate((link) => [link.href, link.rel, link.target]);
    assert.deepEqual(leads, [target, "noopener noreferrer", "_blank"]);
    await go("wall");
    await page.waitForSelector(".tile .row");
    assert.equal(await page.locator(".tile .rows a").count(), 0);
  });
});

test("w25 the whole command can be read on a phone's screen before it is approved, and the answers stay in reach", async () => {
  for (const body of ["rm -rf build && make", Array.from({ length: 60 }, (_unused, line) => `command of line ${line}`).join("\n")]) {
    const world = makeWorld();
    world.inbox[0].body = body;
    await withPage({ world, width: 390 }, async ({ page, go }) => {
      await go("p/p_a1fixlogn?tab=screen");
      await page.waitForSelector(".screen-cards .answers button");
      assert.equal(await page.locator(".screen-cards pre.body").innerText(), body);
      const seen = await page.evaluate(() => {
        const inside = (element) => {
          const { top, bottom } = element.getBoundingClientRect();
          const shown = document.querySelector(".screen-cards").getBoundingClientRect();
          return top >= shown.top - 1 && bottom <= shown.bottom + 1;
        };
        const text = document.querySelector(".screen-cards pre.body");
        text.scrollTop = text.scrollHeight;
        return { text: inside(text), isAtEnd: text.scrollTop + text.clientHeight >= text.scrollHeight - 1, answers: [...document.querySelectorAll(".screen-cards .answers button")].map(inside) };
      });
      assert.deepEqual(seen, { text: true, isAtEnd: true, answers: [true, true, true] });
    });
  }
});

test("what was skipped is a line above the rows of the text view", async () => {
  const world = makeWorld();
  const attach = world.attach;
  world.attach = (id, connection) => {
    attach(id, connection);
    connection.json({ type: "gap", from: 9000, to: 9000 + 64 * 1024 });
    connection.send(frame(2, 9000 + 64 * 1024, 9000 + 64 * 1024, "\x1b[2J\x1b[Hafter the gap"));
  };
  await withPage({ world, width: 390 }, async ({ page, go }) => {
    await go("p/p_f6shellll?tab=screen");
    await page.waitForFunction(() => document.querySelector(".rows")?.textContent.includes("after the gap"));
    assert.deepEqual(await page.evaluate(() => [...document.querySelector(".stage").children].map((child) => [child.className, child.textContent.trim()])), [["gap", "64 KiB of output skipped; the log has it"], ["rows", "after the gap"]]);
  });
});

for (const [what, modes, expected] of [
  ["arrows to a program that has the whole screen", "\x1b[?1049h", /^(\x1b\[A){2,}$/],
  ["arrows in the form that it asked for", "\x1b[?1049h\x1b[?1h", /^(\x1bOA){2,}$/],
  ["reports to a program that follows the mouse", "\x1b[?1049h\x1b[?1000h\x1b[?1006h", /^(\x1b\[<64;50;15M){2,}$/],
  ["nothing to a shell", "", /^$/],
]) {
  test(`a finger on the text view turns the wheel: ${what}`, async () => {
    const world = makeWorld();
    world.screens.p_f6shellll = `${modes}\x1b[Hone\r\ntwo`;
    await withPage({ world, width: 390 }, async ({ page, go }) => {
      await go("p/p_f6shellll?tab=screen");
      await page.waitForFunction(() => document.querySelector(".rows")?.textContent.includes("two"));
      await stroke(page, ".stage", [20, 20, 20, 20]);
      if (modes !== "") await until(page, () => world.typed !== "");
      assert.match(world.typed, expected);
    });
  });
}

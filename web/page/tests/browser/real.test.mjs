// The page in headless Chromium against the real `qd web`: signing in, access, agents, tasks.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { AGENT, agentEnvironment, startModel } from "../fixtures/agent.mjs";
import { activeContent, INERT, untilAnswer } from "./chromium.mjs";
import { startQuarterdeck } from "./quarterdeck.mjs";
import { browser, deck, git, makeTask, open, program, relay, shows, signedIn, spawnShell, unpaired } from "./real.mjs";

test("w24 a browser signs in by a code and sees the deck", async () => {
  spawnShell("first", "echo hello; exec cat");
  const page = await signedIn();
  await page.waitForSelector(".line .name");
  assert.equal(new URL(page.url()).hash, "");
  assert.match(await page.locator("#main").innerText(), /first/);
  await page.reload();
  await page.waitForSelector(".line .name");
  const drawn = await page.evaluate(() => Math.round(performance.now()));
  console.log(`deck drawn after ${drawn} ms`);
  assert.deepEqual(page.problems, []);
});

test("w6 a link shows one process and cannot type", async () => {
  const id = spawnShell("watched", "echo only to watch; exec cat");
  const { secret } = deck.json("access", "link", id);
  const page = await unpaired();
  await page.goto(`${relay.url}#l=${secret}`);
  await page.waitForURL(/\/p\//);
  await page.goto(`${relay.url}p/${id}?tab=screen`);
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("only to watch"));
  assert.equal(await page.locator(".composer, .menu").count(), 0);
  await page.keyboard.type("must not arrive");
  await page.waitForTimeout(500);
  assert.ok(!deck.json("read", id).text.includes("must not arrive"));
});

test("w9 a link leads a paired browser to its process and does not sign it out", async () => {
  const id = spawnShell("linked", "echo for anybody; exec cat");
  const { secret } = deck.json("access", "link", id);
  const page = await signedIn();
  await page.goto("about:blank");
  await page.goto(`${relay.url}#l=${secret}`);
  await page.waitForURL(new RegExp(`/p/${id}`));
  await shows(page, "for anybody");
  await page.locator(".xterm-helper-textarea").focus();
  await page.keyboard.type("typed by the device");
  await shows(page, "typed by the device");
  await page.goto(relay.url);
  await page.waitForSelector("#main .line");
  assert.equal(await page.evaluate(() => fetch("api/v1/me", { headers: { "X-Qd": "1" } }).then((response) => response.json()).then((me) => me.kind)), "device");
});

/** Confirms in the dialog that asks for it. */
async function confirm(page) {
  await page.locator("dialog input[name=code]").fill(deck.json("pair", "--confirm").code);
  await page.getByRole("button", { name: "Confirm", exact: true }).click();
}

/** Opens an address as somebody who was given it. */
async function asGuest(address) {
  deck.hide(address.split("#l=")[1]);
  const guest = await unpaired();
  await guest.goto(address);
  return guest;
}

const shownSecret = (page, words) => page.locator("dialog", { hasText: words }).locator("code").first().innerText();

async function revoke(page, name) {
  await page.locator(".setting", { hasText: name }).getByRole("button", { name: "Revoke" }).click();
  await page.locator("dialog button.danger").click();
  await page.locator(".setting", { hasText: name }).waitFor({ state: "detached" });
}

test("w8 a token that is made in the settings works for a program until it is revoked there", async () => {
  const page = await signedIn();
  await page.goto(`${relay.url}settings`);
  await page.getByRole("button", { name: "New token" }).click();
  await page.locator("dialog input[name=name]").fill('say "hi"');
  await page.locator("dialog select[name=role]").selectOption("type");
  await page.locator("dialog button.primary").click();
  await confirm(page);
  await page.locator("dialog .error").waitFor();
  await page.locator("dialog input[name=name]").fill("night script");
  await page.locator("dialog button.primary").click();
  const token = await shownSecret(page, "This is the token");
  deck.hide(token);
  const me = () => fetch(`${deck.url}api/v1/me`, { headers: { Authorization: `Bearer ${token}` } });
  assert.deepEqual(await me().then((answer) => answer.json()).then(({ kind, label, role }) => [kind, label, role]), ["token", "night script", "type"]);
  await page.locator("dialog button.primary").click();
  await page.locator(".setting", { hasText: "night script" }).filter({ hasText: "until" }).waitFor();
  await revoke(page, "night script");
  assert.equal((await me()).status, 401);
  assert.deepEqual(page.problems.filter((problem) => !/^40[03] POST .*\/tokens$|status of 40[03]/.test(problem)), []);
});

test("w8 a link that is made in the settings shows its process until it is revoked there", async () => {
  const page = await signedIn({ width: 390 });
  spawnShell("to-show", "echo for a guest; exec cat");
  await page.goto(`${relay.url}settings`);
  await page.getByRole("button", { name: "New link" }).tap();
  await page.locator("dialog select[name=target]").selectOption({ label: "to-show" });
  await page.locator("dialog button.primary").tap();
  await confirm(page);
  const guest = await asGuest(await shownSecret(page, "Anybody with this address"));
  await guest.waitForFunction(() => document.querySelector(".xterm-rows, .rows")?.textContent.includes("for a guest"));
  await page.locator("dialog button.primary").tap();
  await revoke(page, "to-show");
  await guest.waitForSelector("input[name=code]");
});

test("w6 a link from the menu of a process or a task shows it to whoever has it, and one that is not confirmed is not made", async () => {
  makeTask("handed-on");
  const id = spawnShell("handed-over", "echo look at this; exec cat");
  const page = await signedIn();
  const share = async (path) => {
    await page.goto(relay.url + path);
    await page.locator(".menu summary").click();
    await page.getByRole("button", { name: "View-only link" }).click();
    await page.locator("dialog input[name=hours]").fill("2");
    await page.locator("dialog button.primary").click();
  };
  await share(`p/${id}`);
  await page.locator("dialog", { hasText: "qd pair --confirm" }).getByRole("button", { name: "Cancel" }).click();
  await page.locator("dialog .error", { hasText: "not confirmed" }).waitFor();
  const links = () => deck.json("access", "list").filter((record) => record.kind === "link" && record.expires - record.created === 7_200_000);
  assert.deepEqual(links(), []);
  await page.locator("dialog button.primary").click();
  await confirm(page);
  const guest = await asGuest(await shownSecret(page, "Anybody with this address"));
  await guest.waitForURL(new RegExp(id));
  await guest.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("look at this"));
  assert.equal(await guest.locator(".composer, .menu").count(), 0);
  await share("t/handed-on");
  const reader = await asGuest(await shownSecret(page, "Anybody with this address"));
  await reader.waitForURL(/\/t\/handed-on$/);
  await reader.getByRole("link", { name: "Changes", exact: true }).click();
  await reader.locator(".diffs", { hasText: "TWO and more" }).waitFor();
  assert.equal(links().length, 2);
});

test("an address that is nowhere says so and leads back", async () => {
  const page = await signedIn();
  await page.goto(`${relay.url}no/such/page`);
  await page.getByRole("link", { name: "Go to Deck" }).click();
  await page.waitForSelector("#main .line");
  assert.equal(page.url(), relay.url);
});

/** Starts a real agent that asks to make a file when it is told so; `run` gets its id and the file. */
async function withAskingAgent(name, run) {
  const work = join(deck.home, `work-${name}`);
  const made = join(work, "made-by-the-agent");
  mkdirSync(work);
  const model = await startModel("please make it", `touch ${made}`);
  try {
    const env = agentEnvironment(join(deck.home, `agent-${name}`), work, model.url);
    const spawned = JSON.parse(deck.run(["spawn", "--json", "--kind", "agent", "--name", name, "--cwd", work, "--size", "100x30", "--", AGENT], env));
    await run(spawned.id, made);
  } finally {
    model.stop();
  }
}

test("w25 a real agent's permission dialog is answered on a phone in two taps", async () => {
  await withAskingAgent("asks", async (id, made) => {
    const page = await signedIn({ width: 390 });
    await page.goto(`${relay.url}p/${id}?tab=now`);
    await page.locator(".composer textarea").fill("please make it");
    await page.locator(".composer button.primary").tap();
    await page.waitForSelector(".card .answers button", { timeout: 60_000 });
    await page.goto(relay.url);
    await page.locator(".needs .line", { hasText: "asks" }).tap();
    assert.ok(!existsSync(made));
    await page.locator(".card .answers button").first().tap();
    await page.waitForSelector(".card", { state: "detached", timeout: 30_000 });
    await page.waitForFunction(() => document.querySelector(".said .prose")?.textContent.includes("done"), undefined, { timeout: 60_000 });
    assert.ok(existsSync(made), "the agent ran the command");
    assert.deepEqual(page.problems, []);
  });
});

test("w25 a card that was answered at the desk meanwhile says so, and the second answer is not taken", async () => {
  await withAskingAgent("asks-twice", async (id, made) => {
    const page = await signedIn({ width: 390 });
    let isDeaf = false;
    await page.routeWebSocket(/\/ws\/events/, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((message) => isDeaf || socket.send(message));
    });
    await page.goto(`${relay.url}p/${id}?tab=now`);
    await page.locator(".composer textarea").fill("please make it");
    await page.locator(".composer button.primary").tap();
    await page.waitForSelector(".card .answers button", { timeout: 60_000 });
    isDeaf = true;
    const { item, options } = deck.json("inbox").find((one) => one.id === id);
    deck.qd("answer", String(item), options.at(-1).names[0]);
    await page.locator(".card .answers button").first().tap();
    await page.locator(".card .error").waitFor();
    assert.match(await page.locator(".card .error").innerText(), /no longer|answered/);
    assert.ok(!existsSync(made), "the desk said no, and the phone's yes came too late");
    assert.deepEqual(page.problems.filter((problem) => !/^4\d\d POST .*\/answer$|status of 4/.test(problem)), []);
  });
});

test("w6 a link to a task shows its changes, its review and its screens, and nothing to press", async () => {
  makeTask("shared");
  makeTask("hidden");
  const words = ["--task", "shared", "--name", "worker", "--", "/bin/sh", "-c", "echo at work; exec cat"];
  const { id } = deck.json("spawn", ...words);
  spawnShell("elsewhere", "exec cat");
  deck.qd("review", "shared", "add", "a.txt:2", "why capitals?");
  const { secret, id: link } = deck.json("access", "link", "--task", "shared");
  const page = await unpaired({ width: 390 });
  await page.goto(`${relay.url}#l=${secret}`);
  await page.waitForURL(/\/t\/shared$/);
  await page.getByRole("link", { name: "Changes", exact: true }).tap();
  await page.locator(".comment.draft", { hasText: "why capitals?" }).waitFor();
  assert.match(await page.locator(".diffs").innerText(), /TWO and more/);
  assert.equal(await page.locator("#main button").count(), 0, "nothing can be pressed");
  await page.getByRole("link", { name: "Overview", exact: true }).tap();
  await page.locator(".line", { hasText: "worker" }).tap();
  await page.waitForURL(new RegExp(id));
  await page.waitForFunction(() => document.querySelector(".rows")?.textContent.includes("at work"));
  assert.equal(await page.locator(".composer, .menu").count(), 0);
  await page.goto(relay.url);
  await page.locator(".line", { hasText: "worker" }).waitFor();
  assert.equal(await page.locator("#main .line").count(), 1, "no other process is shown");
  assert.deepEqual(await page.locator(".tabs a").allInnerTexts().then((all) => all.map((label) => label.split("\n").at(-1))), ["Task", "Deck", "Settings"]);
  assert.deepEqual(page.problems, []);
  deck.qd("access", "revoke", link);
  await page.waitForSelector("input[name=code]");
});

test("a task is landed from the browser, after a person has confirmed with a passphrase", async () => {
  const { repository, directory } = makeTask("ship");
  git(directory, "commit", "-qam", "second");
  deck.run(["access", "passphrase"], {}, "four words nobody guesses\n");
  const page = await signedIn();
  await page.goto(`${relay.url}t/ship`);
  await page.getByRole("button", { name: "Land" }).click();
  await page.locator("dialog button.primary").click();
  await page.locator("dialog input[name=passphrase]").fill("four words everybody guesses");
  await page.locator("dialog button.primary").click();
  await page.locator("dialog .error").waitFor();
  assert.equal(git(repository, "log", "--format=%s", "main").trim(), "first");
  await page.locator("dialog input[name=passphrase]").fill("four words nobody guesses");
  await page.locator("dialog button.primary").click();
  await page.waitForFunction(() => document.querySelector(".notes")?.textContent.includes("Landed"), undefined, { timeout: 30_000 });
  assert.equal(git(repository, "log", "--format=%s", "main").trim(), "second\nfirst");
  assert.equal(readFileSync(join(repository, "a.txt"), "utf8"), "one\nTWO and more\nthree\n");
  await page.getByRole("button", { name: "Land" }).waitFor({ state: "detached" });
  const isExpected = (problem) => /^403 POST .*\/(land|step-up)$|status of 403/.test(problem);
  assert.deepEqual(page.problems.filter((problem) => !isExpected(problem)), []);
});

test("a file that is pasted becomes a path on the machine, in a message and in a terminal", async () => {
  const page = await signedIn();
  const id = spawnShell("files", "exec cat");
  const paste = (selector, content) => page.evaluate(([target, bytes]) => {
    const data = new DataTransfer();
    data.items.add(new File([bytes], "some notes.txt", { type: "text/plain" }));
    document.querySelector(target).dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  }, [selector, content]);
  await open(page, id, "now");
  await paste(".composer textarea", "for a message");
  await page.waitForFunction(() => document.querySelector(".composer textarea").value.includes("some-notes.txt"));
  const path = (await page.locator(".composer textarea").inputValue()).trim();
  assert.equal(readFileSync(path, "utf8"), "for a message");
  assert.equal(deck.json("read", id).text.trim(), "", "nothing is sent by itself");
  await open(page, id, "screen");
  await paste(".xterm-helper-textarea", "for a terminal");
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("2-some-notes.txt"));
  assert.equal(readFileSync(join(path, "../2-some-notes.txt"), "utf8"), "for a terminal");
  assert.deepEqual(page.problems, []);
});

test("w10 the page works over a certificate that the server made", async () => {
  const encrypted = await startQuarterdeck(program, ["--self-signed"]);
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  try {
    encrypted.qd("spawn", "--name", "secret", "--", "/bin/sh", "-c", "echo over TLS; exec cat");
    const page = await context.newPage();
    await page.goto(`${encrypted.url}#c=${encrypted.code}`);
    await page.locator(".line", { hasText: "secret" }).click();
    await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("over TLS"));
    await page.keyboard.type("typed");
    await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("typed"));
    const [cookie] = await context.cookies();
    assert.deepEqual([cookie.name, cookie.secure, cookie.httpOnly, cookie.sameSite], ["__Host-qd", true, true, "Strict"]);
  } finally {
    await context.close();
    encrypted.stop();
  }
});

test("w27 three comments are made by touch, survive a reload, are finished on a desktop and reach the agent as one message", async () => {
  const { directory } = makeTask("count");
  const model = await startModel("no such words", "true");
  try {
    deck.runIn(directory, ["run", "count", "--agent", AGENT, "--detach"], agentEnvironment(join(deck.home, "reviewed"), directory, model.url));
    const phone = await signedIn({ width: 390 });
    await phone.goto(`${relay.url}tasks`);
    await phone.locator(".task-line", { hasText: "count" }).tap();
    await phone.getByRole("link", { name: "Changes", exact: true }).tap();
    const comment = async (line, words) => {
      await line.tap();
      await phone.locator(".comment.editor textarea").fill(words);
      await phone.locator(".comment.editor button.primary").tap();
      await phone.locator(".comment.draft", { hasText: words }).waitFor();
    };
    await comment(phone.locator(".dl.added button.num").first(), "why capitals?");
    await comment(phone.locator(".dl.removed button.num").first(), "who reads this?");
    await comment(phone.locator(".dl.context button.num").first(), "a heder");
    await phone.reload();
    await phone.locator(".comment.draft").nth(2).waitFor();
    // Finished at a desk: a word is mended there, and everything is sent.
    const desk = await signedIn();
    await desk.goto(`${relay.url}t/count?tab=changes`);
    await desk.locator(".comment.draft", { hasText: "a heder" }).getByRole("button", { name: "Edit" }).click();
    await desk.locator(".comment.editor textarea").fill("add a header");
    await desk.getByRole("button", { name: "Save", exact: true }).click();
    await desk.locator(".comment.draft", { hasText: "add a header" }).waitFor();
    await desk.getByRole("button", { name: /^Send 3 comments/ }).click();
    await desk.waitForFunction(() => /^Submitted/.test(document.querySelector(".head .receipt")?.textContent ?? ""), undefined, { timeout: 60_000 });
    await desk.waitForFunction(() => document.querySelectorAll(".comment.sent").length === 3);
    const words = ["why capitals?", "who reads this?", "add a header"];
    const holding = () => model.prompts.flat().filter((one) => one.role === "user").map((one) => JSON.stringify(one.content)).filter((one) => words.some((word) => one.includes(word)));
    for (let wait = 0; wait < 600 && holding().length === 0; wait++) await desk.waitForTimeout(50);
    assert.ok(holding().length > 0 && holding().every((one) => words.every((word) => one.includes(word))), JSON.stringify(model.prompts));
    assert.deepEqual([...phone.problems, ...desk.problems], []);
  } finally {
    model.stop();
  }
});

test("w27 a new file that no commit has is marked, and changes are compared with the last commit", async () => {
  const { directory } = makeTask("compared");
  writeFileSync(join(directory, "committed.txt"), "kept\n");
  git(directory, "add", ".");
  git(directory, "commit", "-qm", "second");
  writeFileSync(join(directory, "new.txt"), "fresh\n");
  const page = await signedIn();
  await page.goto(`${relay.url}t/compared?tab=changes`);
  const files = () => page.locator(".files a").evaluateAll((all) => all.map((entry) => entry.textContent.replace(/\s+/g, " ").trim()));
  await page.locator(".file").nth(2).waitFor();
  assert.deepEqual(await files(), ["M a.txt +1 −1", "A committed.txt +1 −0", "? new.txt +1 −0"]);
  await page.getByLabel("Compared with").selectOption("the last commit");
  await page.locator(".file").nth(1).waitFor({ state: "detached" });
  assert.deepEqual(await files(), ["? new.txt +1 −0"]);
  assert.deepEqual(page.problems, []);
});

test("w12 what programs, files, branches, pads and devices are called is only text, with the real server", async () => {
  const evil = "<img src=x onerror=window.ran=1>";
  const { directory } = makeTask("marked-up");
  writeFileSync(join(directory, `${evil}.txt`), `${evil}\n"><script>window.ran=2</script>\n`);
  git(directory, "checkout", "-q", "-b", "<svg/onload=window.ran=6>");
  deck.runIn(directory, ["pads", "write", "marked-up"], {}, `# ${evil}\n\n[link](javascript:window.ran=7) ${evil}\n`);
  deck.qd("review", "marked-up", "add", `${evil}.txt:1`, `${evil} </textarea><iframe srcdoc='<script>parent.ran=9</script>'>`);
  const id = spawnShell("marked-up", `printf '\\033]2;${evil}\\007\\033]8;;javascript:window.ran=3\\007here\\033]8;;\\007 ${evil} over'; exec cat`, "--cwd", directory);
  for (const width of [1280, 390]) {
    const page = await unpaired({ width });
    const { code } = deck.json("pair", "--role", "admin");
    await page.goto(`${relay.url}pair`);
    await page.locator("input[name=code]").fill(code);
    await page.locator("input[name=name]").fill(`<svg/onload=window.ran=${width}>`);
    await page.locator("button.primary").click();
    await page.waitForSelector("#main .line");
    for (const [path, words] of [
      ["", evil], ["wall", "over"], [`p/${id}?tab=now`, "over"], [`p/${id}?tab=screen`, "over"], [`p/${id}?tab=log`, "over"], ["tasks", "marked-up"], ["t/marked-up", "marked-up"],
      ["t/marked-up?tab=changes", `${evil}.txt`], [`pads?name=marked-up&project=${encodeURIComponent(directory)}`, evil], ["settings", `<svg/onload=window.ran=${width}>`],
    ]) {
      await page.goto(relay.url + path);
      await page.waitForFunction((text) => document.querySelector("#main")?.textContent.includes(text), words).catch(async () => assert.fail(`${path} does not show ${words}: ${await page.locator("#main").innerText()}`));
      assert.deepEqual(await activeContent(page), INERT, path);
    }
    assert.deepEqual(page.problems.filter((problem) => !/status of 401|^401 GET /.test(problem)), []);
  }
});

test("w8 a revoked device loses its page at once", async () => {
  const page = await signedIn();
  const me = await page.evaluate(() => fetch("api/v1/me", { headers: { "X-Qd": "1" } }).then((response) => response.json()));
  deck.qd("access", "revoke", me.id);
  await page.waitForSelector("input[name=code]");
});

test("every view opens on a real deck, on a desktop and on a phone", async () => {
  for (const options of [{}, { width: 390 }]) {
    const page = await signedIn(options);
    const id = deck.json("ps")[0].id;
    for (const path of ["", "wall", "inbox", `p/${id}?tab=now`, `p/${id}?tab=screen`, `p/${id}?tab=log`, "tasks", "pads", "settings"]) {
      await page.goto(relay.url + path);
      await page.waitForSelector("#main .page");
      await page.waitForTimeout(300);
    }
    assert.deepEqual(page.problems, []);
  }
});

// What the page does with the device: notifications that are taken back, and files that leave it without their place.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { page as pageDirectory } from "../../build/build.mjs";
import { makeWorld } from "../fixtures/world.mjs";
import { untilAnswer } from "./chromium.mjs";
import { until, withPage } from "./harness.mjs";

const item = (number) => ({ item: number, id: "p_c3docsdoc", name: "docs", kind: "question", title: "Shall I go on?", at: Date.now(), options: [] });

test("a notification of a phone, which only a service worker may show, is taken back when its question is answered, also by the next page", async () => {
  await withPage({}, async ({ page, server, go }) => {
    await page.context().grantPermissions(["notifications"], { origin: new URL(server.url).origin });
    await page.addInitScript(() => {
      localStorage.setItem("qd.notify", "on");
      window.Notification = class {
        static permission = "granted";
        constructor() {
          throw new TypeError("Illegal constructor. Use ServiceWorkerRegistration.showNotification() instead.");
        }
      };
      Document.prototype.hasFocus = () => false;
    });
    await go("");
    await page.waitForSelector(".list .line");
    const shown = () => page.evaluate(async () => (await (await navigator.serviceWorker.ready).getNotifications()).map((one) => one.tag).sort());
    await page.evaluate(async () => (await navigator.serviceWorker.ready).showNotification("old", { tag: "qd-7" }));
    await page.clock.install();
    await page.reload();
    await page.waitForSelector(".connection.open", { state: "attached" });
    await untilAnswer(page, shown, []);
    for (const number of [50, 51]) server.event({ item_opened: item(number) });
    await page.locator(".badge", { hasText: "4" }).first().waitFor();
    await page.clock.fastForward(6000);
    await untilAnswer(page, shown, ["qd-50", "qd-51"]);
    server.event({ item_closed: { item: 50 } });
    await untilAnswer(page, shown, ["qd-51"]);
  });
});

/** A browser with a push service: the real one would need the internet. */
const withPushService = () => {
  if (location.protocol === "about:") return;
  localStorage.setItem("qd.notify", "on");
  const key = "test.subscription";
  const subscription = () => localStorage.getItem(key) && {
    endpoint: localStorage.getItem(key),
    toJSON: () => ({ endpoint: localStorage.getItem(key), keys: { p256dh: "p", auth: "a" } }),
    unsubscribe: async () => localStorage.removeItem(key) === undefined,
  };
  PushManager.prototype.getSubscription = async () => subscription() || null;
  PushManager.prototype.subscribe = async (options) => {
    if (!options.userVisibleOnly || options.applicationServerKey.length !== 87) throw new Error("refused by the browser");
    localStorage.setItem(key, "https://push.example/1");
    return subscription();
  };
};

/** Opens the settings of a browser that may notify. */
async function openSettings({ page, server, go }) {
  await page.context().grantPermissions(["notifications"], { origin: new URL(server.url).origin });
  await page.addInitScript(withPushService);
  await go("settings");
  await page.waitForSelector("#push");
}

test("Web Push is switched on and off, and the switch says what the browser has, also after a reload", async () => {
  const world = Object.assign(makeWorld(), { push: { endpoints: [], outcome: "accepted" } });
  await withPage({ world, expects: /429/ }, async (all) => {
    const { page } = all;
    await openSettings(all);
    const toggle = page.locator("#push");
    const isOn = () => toggle.evaluate((box) => box.checked);
    assert.equal(await isOn(), false);
    world.push.isFull = true;
    await toggle.click();
    await page.locator(".notes .error", { hasText: "too many browsers" }).waitFor();
    await untilAnswer(page, isOn, false);
    assert.equal(await page.evaluate(() => localStorage.getItem("test.subscription")), null, "what the server does not know is not kept");
    world.push.isFull = false;
    await toggle.click();
    await untilAnswer(page, async () => [...world.push.endpoints], ["https://push.example/1"]);
    await untilAnswer(page, isOn, true);
    await page.reload();
    await page.waitForSelector("#push");
    await untilAnswer(page, isOn, true);
    await toggle.click();
    await untilAnswer(page, async () => [...world.push.endpoints], []);
    await page.reload();
    await page.waitForSelector("#push");
    await untilAnswer(page, isOn, false);
  });
});

test("who wants no notifications gets no pushed ones either", async () => {
  const world = Object.assign(makeWorld(), { push: { endpoints: [], outcome: "accepted" } });
  await withPage({ world }, async (all) => {
    const { page } = all;
    await openSettings(all);
    await page.locator("#push").click();
    await untilAnswer(page, async () => world.push.endpoints.length, 1);
    await page.locator("#notify").click();
    await untilAnswer(page, async () => world.push.endpoints.length, 0);
    await untilAnswer(page, () => page.locator("#push").evaluate((box) => [box.checked, box.disabled]), [false, true]);
  });
});

test("a test says what the push service said, and the click alone is no notification", async () => {
  const world = Object.assign(makeWorld(), { push: { endpoints: [], outcome: "accepted" } });
  await withPage({ world }, async (all) => {
    const { page } = all;
    await openSettings(all);
    await page.locator("#push").click();
    await untilAnswer(page, async () => world.push.endpoints.length, 1);
    const push = page.getByRole("button", { name: "Test", exact: true });
    await push.click();
    await page.locator(".notes", { hasText: "has taken the notification" }).waitFor();
    assert.match(await page.locator(".settings").innerText(), /No notification yet/);
    world.push.outcome = "the push service answered 410";
    await push.click();
    await page.locator(".notes .error", { hasText: "410" }).waitFor();
    world.push.endpoints = [];
    await push.click();
    await page.locator(".notes .error", { hasText: "does not know this browser" }).waitFor();
  });
});

/** Delivers messages to the page's service worker as a push service does. */
async function pushTo(page, server) {
  const debug = await page.context().newCDPSession(page);
  const registered = new Promise((resolve) => debug.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => registrations[0] && resolve(registrations[0].registrationId)));
  await debug.send("ServiceWorker.enable");
  const registrationId = await registered;
  return (data) => debug.send("ServiceWorker.deliverPushMessage", { origin: new URL(server.url).origin, registrationId, data: typeof data === "string" ? data : JSON.stringify(data) });
}

/** Counts what the worker shows, and returns how to ask it. */
async function watchWorker(page) {
  const [worker] = page.context().serviceWorkers();
  await worker.evaluate(() => {
    self.told = [];
    const show = self.registration.showNotification.bind(self.registration);
    self.registration.showNotification = (title, options) => {
      self.told.push([title, options.body, options.silent]);
      return show(title, options);
    };
  });
  return {
    shown: () => worker.evaluate(async () => (await self.registration.getNotifications()).map((one) => [one.tag, one.title, one.body]).sort()),
    told: () => worker.evaluate(() => self.told),
  };
}

test("a pushed notification is shown once for each question, is taken back when it is answered, and the settings say when it came", async () => {
  const world = Object.assign(makeWorld(), { push: { endpoints: [], outcome: "accepted" } });
  await withPage({ world }, async (all) => {
    const { page, server, go } = all;
    await openSettings(all);
    const deliver = await pushTo(page, server);
    const { shown, told } = await watchWorker(page);
    // No page is open.
    await page.goto("about:blank");
    await deliver({ item: 50, name: "fix-login", kind: "permission" });
    await untilAnswer(page, shown, [["qd-50", "fix-login", "permission"]]);
    await deliver({ item: 50, name: "fix-login", kind: "permission" });
    await deliver({ item: 51, name: "docs", kind: "question" });
    await untilAnswer(page, shown, [["qd-50", "fix-login", "permission"], ["qd-51", "docs", "question"]]);
    await deliver({ item: 50, closed: true });
    await untilAnswer(page, shown, [["qd-51", "docs", "question"]]);
    await deliver("no JSON");
    await untilAnswer(page, shown, [["qd-51", "docs", "question"], ["qd-test", "Quarterdeck", ""]]);
    assert.equal((await told()).length, 5, "every push shows something: a browser ends what is silent");
    await go("settings");
    await page.locator(".settings", { hasText: /Last notification/ }).waitFor();
  });
});

test("a pushed question is no notification for a person who looks at the page, and a test is one", async () => {
  const world = Object.assign(makeWorld(), { push: { endpoints: [], outcome: "accepted" } });
  await withPage({ world }, async (all) => {
    const { page, server } = all;
    await openSettings(all);
    const deliver = await pushTo(page, server);
    const { shown, told } = await watchWorker(page);
    await deliver({ item: 52, name: "docs", kind: "question" });
    await untilAnswer(page, told, [["docs", "question", true]]);
    await untilAnswer(page, shown, []);
    assert.match(await page.locator(".settings").innerText(), /No notification yet/);
    await deliver({ title: "Notifications work." });
    await untilAnswer(page, shown, [["qd-test", "Quarterdeck", "Notifications work."]]);
    await page.locator(".settings", { hasText: /Last notification/ }).waitFor();
  });
});

const PLACE = "GPS 48.8584 N 2.2945 E";
const chunk = (name, content) => {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(content.length);
  head.write(name, 4, "latin1");
  return Buffer.concat([head, content, Buffer.alloc(4)]);
};

/** Pictures that say where they were made. */
const PICTURES = {
  "photo.png": () => {
    const png = readFileSync(join(pageDirectory, "public/icon-192.png"));
    return Buffer.concat([png.subarray(0, 33), chunk("tEXt", Buffer.from(`Comment\0${PLACE}`)), png.subarray(33)]);
  },
  "photo.jpg": (drawn) => {
    const exif = Buffer.from(`Exif\0\0${PLACE}`);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(exif.length + 2);
    return Buffer.concat([drawn.subarray(0, 2), Buffer.from([0xff, 0xe1]), length, exif, drawn.subarray(2)]);
  },
  "photo.webp": (drawn) => {
    const exif = Buffer.from(PLACE.padEnd(24));
    const head = Buffer.alloc(8);
    head.write("EXIF");
    head.writeUInt32LE(exif.length, 4);
    const all = Buffer.concat([drawn, head, exif]);
    all.writeUInt32LE(all.length - 8, 4);
    return all;
  },
};

/** Returns a picture as the browser writes it. */
async function draw(page, type) {
  return Buffer.from(await page.evaluate(async (kind) => {
    const canvas = new OffscreenCanvas(8, 8);
    canvas.getContext("2d").fillRect(0, 0, 4, 4);
    return [...new Uint8Array(await (await canvas.convertToBlob({ type: kind })).arrayBuffer())];
  }, type));
}

for (const [name, make] of Object.entries(PICTURES)) {
  test(`the place where a picture was made does not leave the device: ${name}`, async () => {
    await withPage({}, async ({ page, server, go }) => {
      await go("p/p_f6shellll?tab=now");
      await page.waitForSelector(".attach input");
      const bytes = make(await draw(page, `image/${name.split(".")[1].replace("jpg", "jpeg")}`));
      assert.ok(bytes.includes(PLACE));
      // Whatever a file is called: its bytes say what it is.
      await page.locator(".attach input").setInputFiles({ name, mimeType: "application/octet-stream", buffer: bytes });
      await page.waitForFunction(() => document.querySelector(".composer textarea").value !== "");
      const sent = server.calls.find((call) => call.path.endsWith("/files"));
      assert.equal(sent.query.name, name);
      assert.ok(sent.body.length > 0 && !sent.body.includes(PLACE));
    });
  });
}

test("a picture or a film that the browser cannot draw is sent as it is only if a person says so", async () => {
  const world = makeWorld();
  await withPage({ world }, async ({ page, server, go }) => {
    await go("p/p_f6shellll?tab=now");
    await page.waitForSelector(".attach input");
    const film = { name: "IMG_1.HEIC", mimeType: "image/heic", buffer: Buffer.from(`\0\0\0\x18ftypheic\0\0\0\0${PLACE}`, "latin1") };
    const sent = () => server.calls.filter((call) => call.path.endsWith("/files"));
    await page.locator(".attach input").setInputFiles(film);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.locator(".receipt.error", { hasText: "Nothing was sent." }).waitFor();
    assert.equal(sent().length, 0);
    await page.locator(".attach input").setInputFiles(film);
    await page.getByRole("button", { name: "Send as it is" }).click();
    await until(page, () => sent().length === 1);
    assert.equal(sent()[0].query.name, "IMG_1.HEIC");
    await page.locator(".attach input").setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("plain") });
    await until(page, () => sent().length === 2);
    assert.equal(sent()[1].body.toString(), "plain");
  });
});

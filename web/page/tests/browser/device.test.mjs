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

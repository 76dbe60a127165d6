// Measures how soon a page is live again, for `cargo xtask bench`: `live.mjs URL CODE PROCESS ROUNDS`. Prints milliseconds
// from the return to the page until it shows what the server says, as JSON: after sleep that left every connection open
// and dead, after a time without a network, and back from the browser's memory. It reaches the server through a relay.

import { launch, openPage } from "./chromium.mjs";
import { ABSENCES } from "./gestures.mjs";
import { startRelay } from "./quarterdeck.mjs";

const [url, code, process_, rounds] = process.argv.slice(2);
const relay = await startRelay(url);
const browser = await launch();
const page = await openPage(browser);

/** What a page goes through; the last step is the return. */
const RETURNS = {
  sleep: async () => {
    relay.freeze();
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  },
  offline: () => ABSENCES["was without a network"]({ page, server: relay }),
  back: () => ABSENCES["was left and is back from the browser's memory"]({ page }),
};

/** Notes when the page was seen again, and the first moment afterwards at which both sockets are open and answer. */
const watch = () => {
  window.returnedAt = window.liveAt = undefined;
  window.opened ??= [];
  const seen = () => {
    window.returnedAt ??= performance.now();
  };
  for (const name of ["online", "pageshow"]) addEventListener(name, seen);
  document.addEventListener("visibilitychange", seen);
};

/** Runs in every page before its own code: says when each socket has its first message after the return. */
await page.addInitScript(() => {
  const Plain = window.WebSocket;
  window.WebSocket = class extends Plain {
    constructor(address, protocols) {
      super(address, protocols);
      const kind = address.includes("/ws/events") ? "events" : "view";
      this.addEventListener("message", () => {
        if (window.returnedAt !== undefined) (window.first ??= {})[kind] ??= performance.now();
      });
    }
  };
});

async function times(returns) {
  const all = [];
  for (let round = 0; round < Number(rounds); round++) {
    await page.goto(`${relay.url}p/${process_}?tab=screen`);
    await page.waitForSelector(".xterm-rows span");
    await page.waitForSelector(".connection.open", { state: "attached" });
    await page.evaluate(watch);
    await page.evaluate(() => {
      window.first = undefined;
    });
    await returns();
    await page.waitForFunction(() => window.first?.events && window.first.view && document.querySelector(".connection.open"));
    all.push(await page.evaluate(() => Math.max(window.first.events, window.first.view) - window.returnedAt));
  }
  return all;
}

try {
  await page.goto(`${relay.url}#c=${code}`);
  await page.waitForSelector("#main .line");
  const [sleep, offline, back] = [await times(RETURNS.sleep), await times(RETURNS.offline), await times(RETURNS.back)];
  console.log(JSON.stringify({ sleep, offline, back }));
} finally {
  await browser.close();
  relay.stop();
}

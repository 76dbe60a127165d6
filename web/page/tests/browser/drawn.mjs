// Measures when the page has drawn what a person looks for, for `cargo xtask bench`: `drawn.mjs URL CODE PROCESS ROUNDS`.
// Prints milliseconds after the beginning of the navigation, as JSON: the deck, a process's screen, and the deck on a slow
// device (a quarter of the speed, 100 ms to the server).

import { launch, openPage } from "./chromium.mjs";

const [url, code, process_, rounds] = process.argv.slice(2);
const browser = await launch();
const page = await openPage(browser);

/** Notes the time of the first frame that has an element like this. */
await page.addInitScript(() => {
  const look = () => {
    const wanted = location.pathname.includes("/p/") ? ".xterm-rows span" : "#main .line .name";
    if (document.querySelector(wanted)) window.drawnAt = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
});

async function times(path, count) {
  const all = [];
  for (let round = 0; round < count; round++) {
    await page.goto(url + path);
    await page.waitForFunction(() => window.drawnAt !== undefined);
    all.push(await page.evaluate(() => window.drawnAt));
  }
  return all;
}

try {
  await page.goto(`${url}#c=${code}`);
  await page.waitForSelector("#main .line");
  const deck = await times("", Number(rounds));
  const screen = await times(`p/${process_}?tab=screen`, Number(rounds));
  const debug = await page.context().newCDPSession(page);
  await debug.send("Emulation.setCPUThrottlingRate", { rate: 4 });
  await debug.send("Network.emulateNetworkConditions", { offline: false, latency: 100, downloadThroughput: -1, uploadThroughput: -1 });
  const slow = await times("", Math.max(2, Math.ceil(Number(rounds) / 4)));
  console.log(JSON.stringify({ deck, screen, slow }));
} finally {
  await browser.close();
}

// What happens to a page: it is left alone, pasted into, stroked with a finger.

/** What a page may go through while nobody looks at it; each leaves dead connections behind. */
export const ABSENCES = {
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

/** Pastes a text into the terminal. */
export const pasteText = (page, text) => page.evaluate((words) => {
  const data = new DataTransfer();
  data.setData("text/plain", words);
  document.querySelector(".xterm-helper-textarea").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}, text);

/** Moves one finger over an element, by steps in pixels. */
export async function stroke(page, selector, steps) {
  const { x, y, width, height } = await page.locator(selector).boundingBox();
  const debug = await page.context().newCDPSession(page);
  let place = { x: x + width / 2, y: y + height / 2 };
  await debug.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [place] });
  for (const step of steps) {
    place = { ...place, y: place.y + step };
    await debug.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [place] });
  }
  // A finger that rests before it leaves gives the wheel no momentum.
  await page.waitForTimeout(150);
  await debug.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
}

// Web Push: the subscription of this browser as the browser itself knows it, a test with its outcome, and when a pushed
// notification was shown last.

import { call, get, post } from "./api.ts";
import { setLastNotified } from "./preferences.ts";
import { invalidate, state } from "./store.ts";
import { text } from "./strings.ts";

/** The browser has a subscription; unknown until it was asked. */
let isSubscribed: boolean | undefined;

export const canPush = (): boolean => state.model.me?.features?.includes("push") === true && "PushManager" in window && "serviceWorker" in navigator;

/** Returns whether this browser is subscribed; the first call asks it. */
export function isPushOn(): boolean {
  if (isSubscribed === undefined && canPush()) {
    isSubscribed = false;
    void readSubscription();
  }
  return isSubscribed === true;
}

async function readSubscription(): Promise<void> {
  const worker = await navigator.serviceWorker.ready;
  isSubscribed = (await worker.pushManager.getSubscription().catch(() => null)) !== null;
  await readShown();
  invalidate();
}

export async function subscribePush(): Promise<void> {
  const worker = await navigator.serviceWorker.ready;
  const { key } = await get<{ key: string }>("push/key");
  const subscription = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  try {
    await post("push/subscriptions", subscription.toJSON());
    isSubscribed = true;
  } catch (error) {
    // A subscription that the server does not know would look switched on and bring nothing.
    await subscription.unsubscribe();
    throw error;
  }
}

export async function unsubscribePush(): Promise<void> {
  const worker = await navigator.serviceWorker.ready;
  const subscription = await worker.pushManager.getSubscription();
  if (subscription) {
    await subscription.unsubscribe();
    isSubscribed = false;
    await call("push/subscriptions", { method: "DELETE", body: { endpoint: subscription.endpoint } });
  }
  isSubscribed = false;
}

/** Asks the server for a pushed notification; returns what its push service said. */
export async function testPush(): Promise<{ message: string; isError: boolean }> {
  const { outcomes } = await post<{ outcomes: string[] }>("push/test");
  if (outcomes.length === 0) return { message: text.pushUnknown, isError: true };
  const refused = outcomes.find((outcome) => outcome !== "accepted");
  return refused === undefined ? { message: text.pushAccepted, isError: false } : { message: text.pushRefused(refused), isError: true };
}

/** The service worker notes when it has shown a notification: perhaps no page was open. */
async function readShown(): Promise<void> {
  const noted = await self.caches?.match("notified").catch(() => undefined);
  const at = Number(await noted?.text());
  if (at > 0) setLastNotified(at);
}

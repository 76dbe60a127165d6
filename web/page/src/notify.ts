// Tells the person that something needs them: tab title and badge, notifications while a page lives, Web Push.

import { errorText } from "./api.ts";
import { address } from "./base.ts";
import { announce } from "./announce.ts";
import { go } from "./navigate.ts";
import { lastNotified, setLastNotified, wantsNotifications } from "./preferences.ts";
import { paths } from "./router.ts";
import { isPushOn, testPush } from "./push.ts";
import { invalidate, note } from "./store.ts";
import { text } from "./strings.ts";
import type { InboxItem } from "./types.ts";

/** An item that is answered within this time is not worth an interruption. */
const DELAY_MS = 5000;

const waiting = new Map<number, ReturnType<typeof setTimeout>>();
/** How to take back each notification that is shown. */
const shown = new Map<number, Promise<() => void>>();
let known: Set<number> | undefined;

/** Compares the inbox with what was announced; call it after every change. */
export function noticeInbox(inbox: readonly InboxItem[]): void {
  const present = new Set(inbox.map((item) => item.item));
  // What was open before the page knew anything is in the inbox, not news.
  const isFirst = known === undefined;
  for (const item of inbox) if (!known?.has(item.item) && !isFirst) open(item);
  for (const item of known ?? []) if (!present.has(item)) withdraw(item);
  if (isFirst) void withdrawOld(present);
  known = present;
  setBadge(present.size);
}

function setBadge(count: number): void {
  const badge = navigator as Navigator & { setAppBadge?: (count: number) => Promise<void>; clearAppBadge?: () => Promise<void> };
  void (count > 0 ? badge.setAppBadge?.(count) : badge.clearAppBadge?.())?.catch(() => undefined);
}

function open(item: InboxItem): void {
  announce(text.announceNeeds(item.name, item.title));
  waiting.set(item.item, setTimeout(() => {
    waiting.delete(item.item);
    if (isWatched() || !canNotify()) return;
    show(item);
  }, DELAY_MS));
}

function withdraw(item: number): void {
  clearTimeout(waiting.get(item));
  waiting.delete(item);
  void shown.get(item)?.then((close) => close());
  shown.delete(item);
}

const tagOf = (item: number): string => `qd-${item}`;

/** Takes back what an earlier page has shown through the service worker and is answered now. */
async function withdrawOld(present: ReadonlySet<number>): Promise<void> {
  const worker = await navigator.serviceWorker?.getRegistration().catch(() => undefined);
  const tags = new Set([...present].map(tagOf));
  for (const old of (await worker?.getNotifications()) ?? []) if (/^qd-\d+$/.test(old.tag) && !tags.has(old.tag)) old.close();
}

/** A person looks at this page now. */
const isWatched = (): boolean => !document.hidden && document.hasFocus();

const canNotify = (): boolean => wantsNotifications() && "Notification" in window && Notification.permission === "granted";

function show(item: InboxItem): void {
  try {
    const notification = new Notification(item.name, { body: item.title, tag: tagOf(item.item), icon: address("icon-192.png") });
    notification.onshow = shownNow;
    notification.onclick = () => {
      window.focus();
      go(paths.item(item.item));
      notification.close();
    };
    shown.set(item.item, Promise.resolve(() => notification.close()));
  } catch {
    // Some phones allow notifications only from a service worker.
    if (navigator.serviceWorker) shown.set(item.item, showByWorker(item));
  }
}

const shownNow = (): void => setLastNotified(Date.now());

async function showByWorker(item: InboxItem): Promise<() => void> {
  const worker = await navigator.serviceWorker.ready;
  const tag = tagOf(item.item);
  await worker.showNotification(item.name, { body: item.title, tag, icon: address("icon-192.png"), data: { item: item.item } });
  shownNow();
  return () => void worker.getNotifications({ tag }).then((all) => all.forEach((one) => one.close()));
}

/** Asks the browser for permission; returns whether it was given. */
export async function askPermission(): Promise<boolean> {
  if (!("Notification" in window)) return false;
  return (await Notification.requestPermission()) === "granted";
}

/** Shows a notification, by Web Push where this browser has it; says what became of it. */
export async function showTest(): Promise<void> {
  try {
    if (isPushOn()) {
      const { message, isError } = await testPush();
      return note(message, isError);
    }
    const worker = navigator.serviceWorker?.controller ? await navigator.serviceWorker.ready : undefined;
    if (worker) await worker.showNotification(text.notifyTestTitle, { tag: "qd-test" });
    else await new Promise((resolve, reject) => Object.assign(new Notification(text.notifyTestTitle, { tag: "qd-test" }), { onshow: resolve, onerror: () => reject(new Error(text.notifyFailed)) }));
    setLastNotified(Date.now());
    invalidate();
  } catch (error) {
    note(errorText(error), true);
  }
}

interface ScriptPolicy {
  createScriptURL: (url: string) => string;
}

/** Our policy demands a trusted address for scripts; this is the only one that we make. */
function workerAddress(): string {
  const url = address("sw.js");
  const types = (window as { trustedTypes?: { createPolicy: (name: string, rules: ScriptPolicy) => ScriptPolicy } }).trustedTypes;
  return types ? types.createPolicy("qd-worker", { createScriptURL: () => url }).createScriptURL(url) : url;
}

/** The service worker only shows pushed notifications; it stores no files. */
export function registerWorker(): void {
  if (!("serviceWorker" in navigator) || !window.isSecureContext) return;
  void navigator.serviceWorker.register(workerAddress(), { scope: new URL(document.baseURI).pathname }).catch(() => undefined);
  navigator.serviceWorker.addEventListener("message", (event: MessageEvent<{ open?: number; notified?: number }>) => {
    if (typeof event.data?.open === "number") go(paths.item(event.data.open));
    if (typeof event.data?.notified !== "number") return;
    setLastNotified(Math.max(event.data.notified, lastNotified() ?? 0));
    invalidate();
  });
}

// The service worker: shows pushed notifications and opens their card. It answers no requests and keeps no files, only the
// time at which it has shown a notification last.

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => event.waitUntil(receive(read(event))));

function read(event) {
  try {
    return event.data.json();
  } catch {
    // Not showing anything would end the subscription after a while.
    return {};
  }
}

async function receive(data) {
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const tag = `qd-${data.item ?? "test"}`;
  // A person who looks at the page has seen it there; a test is always shown.
  const isSeen = data.item !== undefined && pages.some((page) => page.visibilityState === "visible" && page.focused);
  const isTakenBack = data.closed === true || isSeen;
  await self.registration.showNotification(data.name ?? "Quarterdeck", {
    body: data.closed ? "Answered" : data.title ?? data.kind ?? "",
    tag,
    icon: "icon-192.png",
    data: { item: data.item },
    silent: isTakenBack,
  });
  // A browser ends subscriptions whose pushes show nothing: what need not be seen is shown without a sound and taken back.
  if (isTakenBack) {
    for (const shown of await self.registration.getNotifications({ tag })) shown.close();
    return;
  }
  await noteTime(pages);
}

async function noteTime(pages) {
  const notified = Date.now();
  for (const page of pages) page.postMessage({ notified });
  const cache = await self.caches.open("qd").catch(() => undefined);
  await cache?.put("notified", new Response(String(notified)));
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.item));
});

async function open(item) {
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const page = pages[0];
  const path = item === undefined ? "inbox" : `inbox?item=${Number(item)}`;
  if (!page) return self.clients.openWindow(new URL(path, self.registration.scope).href);
  await page.focus();
  if (item !== undefined) page.postMessage({ open: Number(item) });
}

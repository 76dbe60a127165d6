// The service worker: shows pushed notifications and opens their card. It keeps no files and answers no requests.

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
  const data = event.data ? event.data.json() : {};
  event.waitUntil(show(data));
});

async function show(data) {
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const tag = `qd-${data.item ?? "test"}`;
  if (data.closed) {
    for (const old of await self.registration.getNotifications({ tag })) old.close();
    return;
  }
  // A person who looks at the page has seen it there.
  if (pages.some((page) => page.visibilityState === "visible" && page.focused) && data.item !== undefined) return;
  await self.registration.showNotification(data.name ?? "Quarterdeck", {
    body: data.title ?? data.kind ?? "",
    tag,
    icon: "icon-192.png",
    data: { item: data.item },
  });
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

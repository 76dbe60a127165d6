// Moves between views without loading the page again.

import { address, basePath } from "./base.ts";
import { parseRoute } from "./router.ts";
import { state, update } from "./store.ts";

/** Reads the address bar into the state. */
export function readAddress(): void {
  const path = location.pathname.startsWith(basePath) ? location.pathname.slice(basePath.length) : "";
  update({ route: parseRoute(path, location.search) });
}

export function go(path: string, isReplaced = false): void {
  const target = address(path);
  if (target === location.href) return;
  if (isReplaced) history.replaceState(null, "", target);
  else history.pushState(null, "", target);
  const before = state.route.view;
  readAddress();
  if (state.route.view !== before) {
    document.getElementById("main")?.scrollTo(0, 0);
    scrollTo(0, 0);
  }
}

/** Follows links of our own inside the page; everything else is the browser's. */
export function watchLinks(): void {
  addEventListener("popstate", readAddress);
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const anchor = event.target instanceof Element ? event.target.closest("a") : null;
    if (!anchor || anchor.target || anchor.origin !== location.origin || !anchor.pathname.startsWith(basePath)) return;
    event.preventDefault();
    // What went wrong belongs to the view that is left.
    update({ notes: state.notes.filter((note) => !note.isError) });
    go(anchor.href);
  });
}

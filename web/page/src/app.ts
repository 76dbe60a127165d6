// The frame around the views: top bar, rail, tab bar, notes.

import { html, nothing, svg, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import { linkedTask } from "./model.ts";
import { openPalette } from "./parts/palette.ts";
import { isDark, isNarrow, setTheme } from "./preferences.ts";
import { paths, type Route } from "./router.ts";
import { dismiss, state } from "./store.ts";
import { text } from "./strings.ts";
import { deck, rail } from "./views/deck.ts";
import { inbox, item } from "./views/inbox.ts";
import { pair } from "./views/pair.ts";

type Lazy = typeof import("./lazy.ts");
let lazy: Lazy | undefined;
let isAsked = false;

/** Loads the views that the first screen does not need. */
export function loadLazy(done: (views: Lazy) => void): void {
  if (isAsked) return;
  isAsked = true;
  void import("./lazy.ts").then((views) => {
    lazy = views;
    done(views);
  }, () => {
    isAsked = false;
  });
}

export function app(): TemplateResult {
  if (state.login !== undefined || state.route.view === "pair") return html`${pair()}${notes()}`;
  const { view } = state.route;
  const hasRail = !isNarrow() && view !== "deck" && view !== "wall";
  // A process has the whole phone: its own head, the composer and the keys.
  const isAlone = isNarrow() && view === "process";
  return html`<a class="skip" href="#main" @click=${skip}>${text.skip}</a>
    ${isAlone ? nothing : topBar()}
    ${banner()}
    <div class="body ${hasRail ? "railed" : ""} view-${view}">
      ${hasRail ? rail() : nothing}
      <main id="main" tabindex="-1" data-region>${content(state.route)}</main>
    </div>
    ${isNarrow() && !isAlone ? tabBar() : nothing}
    ${notes()}`;
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function content(route: Route): TemplateResult {
  switch (route.view) {
    case "deck": return deck();
    case "wall": return lazy?.wall() ?? loading();
    case "inbox": return inbox();
    case "item": return item(route.item, lazy?.onScreen);
    case "process": return lazy?.process(route.id, route.tab) ?? loading();
    case "tasks": return lazy?.tasks() ?? loading();
    case "task": return lazy?.task(route.name, route.tab) ?? loading();
    case "pads": return lazy?.pads(route.name, route.project) ?? loading();
    case "settings": return lazy?.settings() ?? loading();
    default: return html`<div class="page"><div class="empty"><p class="lead">${text.unknownPage}</p><p><a href=${paths.deck}>${text.go(text.deck)}</a></p></div></div>`;
  }
}

const loading = (): TemplateResult => html`<div class="page"><p class="note">${text.loading}</p></div>`;

function current(...views: Route["view"][]): "page" | typeof nothing {
  return views.includes(state.route.view) ? "page" : nothing;
}

function needs(): TemplateResult | typeof nothing {
  const count = state.model.inbox.length;
  return count > 0 ? html`<span class="badge">${count}</span>` : nothing;
}

function topBar(): TemplateResult {
  return html`<header class="top" data-region>
    <a class="brand" href=${paths.deck}><img src="icon.svg" alt="" width="24" height="24"><span>${text.product}</span></a>
    ${state.model.me?.workspace ? html`<span class="workspace">${state.model.me.workspace}</span>` : nothing}
    <button class="find" @click=${openPalette}><span>${text.findOrDo}</span><kbd aria-hidden="true">Ctrl K</kbd><svg class="icon" aria-hidden="true" viewBox="0 0 24 24" width="20" height="20"><circle cx="10.5" cy="10.5" r="6"></circle><path d="M15 15l5 5"></path></svg></button>
    <span class="space"></span>
    ${connection()}
    <nav class="top-links" aria-label=${text.views}>${places().map((place) => html`<a href=${place.path} aria-current=${place.here}>${place.label}${place.extra ?? nothing}</a>`)}</nav>
    <button class="quiet square theme" aria-label=${text.theme} title=${text.theme} @click=${() => setTheme(isDark() ? "light" : "dark")}>${isDark() ? SUN : MOON}</button>
  </header>`;
}

const icon = (shape: TemplateResult): TemplateResult => html`<svg class="icon" aria-hidden="true" viewBox="0 0 24 24" width="20" height="20">${shape}</svg>`;
const MOON = icon(svg`<path d="M20 14.5A8 8 0 0 1 9.5 4a8 8 0 1 0 10.5 10.5z"></path>`);
const SUN = icon(svg`<circle cx="12" cy="12" r="4"></circle><path d="M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6l1.4 1.4M17 17l1.4 1.4M5.6 18.4L7 17M17 7l1.4-1.4"></path>`);

function connection(): TemplateResult {
  const label = state.link === "open" ? (state.roundTrip === undefined ? "" : text.roundTrip(state.roundTrip)) : state.link === "lost" ? text.offline : text.connecting;
  return html`<span class="connection ${state.link}" title=${text.roundTripTitle}><span class="dot" aria-hidden="true"></span><span class="label">${state.link === "open" ? label : nothing}</span><span class="hidden">${label}</span></span>`;
}

function banner(): TemplateResult | typeof nothing {
  if (state.link === "lost") return html`<p class="banner" role="status">${text.offline}</p>`;
  if (!state.model.isDaemonUp) return html`<p class="banner" role="status">${text.daemonGone}</p>`;
  return nothing;
}

interface Place {
  path: string;
  icon: string;
  label: string;
  here: "page" | typeof nothing;
  extra?: TemplateResult | typeof nothing;
}

/** Where a person can go from everywhere; a link shows its target alone. */
function places(): Place[] {
  const deck: Place = { path: paths.deck, icon: "☰", label: text.deck, here: current("deck", "wall", ...(isNarrow() ? ["process" as const] : [])) };
  const settings: Place = { path: paths.settings, icon: "⚙\u{FE0E}", label: text.settings, here: current("settings") };
  const task = linkedTask(state.model);
  if (task !== undefined) return [{ path: paths.task(task), icon: "⎇", label: text.task, here: current("task") }, deck, settings];
  if (state.model.me?.target !== undefined) return [deck, settings];
  return [
    deck,
    { path: paths.inbox, icon: "◆", label: text.inbox, here: current("inbox", "item"), extra: needs() },
    { path: paths.tasks, icon: "⎇", label: text.tasks, here: current("tasks", "task") },
    { path: paths.pads(), icon: "▤", label: text.pads, here: current("pads") },
    settings,
  ];
}

function tabBar(): TemplateResult {
  return html`<nav class="tabs" aria-label=${text.views} data-region>${places().map((place) => html`<a href=${place.path} aria-current=${place.here}><span class="icon" aria-hidden="true">${place.icon}</span><span>${place.label}</span>${place.extra ?? nothing}</a>`)}</nav>`;
}

function notes(): TemplateResult {
  return html`<div class="notes" role="status" aria-live="polite">${repeat(state.notes, (entry) => entry.id, (entry) => html`<p class=${entry.isError ? "error" : ""} @click=${() => dismiss(entry)}>${entry.text}</p>`)}</div>`;
}

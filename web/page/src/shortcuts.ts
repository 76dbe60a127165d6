// The keyboard outside of terminals and text fields.

import { answerByNumber } from "./parts/card.ts";
import { openHelp } from "./parts/help.ts";
import { openPalette } from "./parts/palette.ts";
import { go } from "./navigate.ts";
import { paths } from "./router.ts";
import { state } from "./store.ts";
import type { InboxItem } from "./types.ts";

const GO: Record<string, string> = { d: paths.deck, w: paths.wall, i: paths.inbox, t: paths.tasks, p: paths.pads(), s: paths.settings };
const SECOND_KEY_MS = 1200;

let goUntil = 0;

export function watchKeyboard(): void {
  document.addEventListener("keydown", onKey);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || state.login !== undefined) return;
  if (event.key === "k" && event.ctrlKey && !event.altKey && !event.shiftKey && !event.metaKey) {
    event.preventDefault();
    return openPalette();
  }
  if (event.key === "F6") {
    event.preventDefault();
    return nextRegion(event.shiftKey ? -1 : 1);
  }
  if (event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  if (plainKey(event)) event.preventDefault();
}

/** Returns true if the key did something. */
function plainKey(event: KeyboardEvent): boolean {
  const { key } = event;
  if (goUntil > Date.now()) {
    goUntil = 0;
    const path = GO[key];
    if (path !== undefined) go(path);
    return path !== undefined;
  }
  if (key === "g") {
    goUntil = Date.now() + SECOND_KEY_MS;
    return true;
  }
  if (key === "j" || key === "k") return moveFocus(key === "j" ? 1 : -1);
  if (key === "n") return nextThatNeedsMe();
  if (key === "c") return commentHere();
  if (key === "?") {
    openHelp();
    return true;
  }
  const item = /^[1-9]$/.test(key) ? shownItem() : undefined;
  return item !== undefined && answerByNumber(item, Number(key));
}

/** The item that number keys answer: the one in focus, else the only one that is shown. */
function shownItem(): InboxItem | undefined {
  const cards = [...document.querySelectorAll<HTMLElement>(".card[data-item]")];
  const focused = document.activeElement?.closest<HTMLElement>(".card[data-item]");
  const card = focused ?? (cards.length === 1 ? cards[0] : undefined);
  const number = Number(card?.dataset["item"]);
  return state.model.inbox.find((item) => item.item === number);
}

function moveFocus(step: number): boolean {
  const focusables = [...document.querySelectorAll<HTMLElement>("#main [data-list] .line, #main .card, #main .dl .num:not(span)")];
  const lines = focusables.length > 0 ? focusables : [...document.querySelectorAll<HTMLElement>("[data-list] .line")];
  if (lines.length === 0) return false;
  const current = lines.findIndex((line) => line === document.activeElement || line.contains(document.activeElement));
  const next = lines[current < 0 ? (step > 0 ? 0 : lines.length - 1) : Math.max(0, Math.min(lines.length - 1, current + step))];
  if (next && next.tabIndex < 0) next.tabIndex = -1;
  if (next?.classList.contains("card")) next.setAttribute("tabindex", "-1");
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return true;
}

function nextThatNeedsMe(): boolean {
  const { inbox } = state.model;
  if (inbox.length === 0) return false;
  const current = state.route.view === "item" ? inbox.findIndex((item) => state.route.view === "item" && item.item === state.route.item) : -1;
  go(paths.item(inbox[(current + 1) % inbox.length]!.item));
  return true;
}

function commentHere(): boolean {
  const line = document.activeElement?.closest(".dl")?.querySelector<HTMLElement>("button.num");
  line?.click();
  return line !== null && line !== undefined;
}

/** Moves the focus to the next part of the page, out of a terminal too. */
function nextRegion(step: number): void {
  const regions = [...document.querySelectorAll<HTMLElement>("[data-region]")].filter((region) => region.offsetParent !== null);
  if (regions.length === 0) return;
  // Regions may stand inside one another: the innermost one counts.
  const current = regions.findLastIndex((region) => region.contains(document.activeElement));
  const region = regions[(current + step + regions.length) % regions.length]!;
  const inside = [...region.querySelectorAll<HTMLElement>(".xterm-helper-textarea, a[href], button, textarea, [tabindex]")];
  (inside.find((element) => element.getClientRects().length > 0) ?? region).focus();
}

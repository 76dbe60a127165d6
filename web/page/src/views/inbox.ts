// The inbox: one card for each thing that needs a person, oldest first.

import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import { deckRows } from "../model.ts";
import { answers, card } from "../parts/card.ts";
import { empty } from "../parts/glyph.ts";
import { paths } from "../router.ts";
import { state } from "../store.ts";
import { text } from "../strings.ts";
import type { ProcessView } from "../types.ts";

export function inbox(): TemplateResult {
  const { inbox: items, isLoaded } = state.model;
  const working = deckRows(state.model).get("working")?.length ?? 0;
  return html`<div class="page inbox" data-region aria-label=${text.inbox}>
    <header class="head"><h1>${text.inbox}</h1>${items.length > 0 ? html`<p class="summary"><span class="count">${items.length}</span></p>` : nothing}</header>
    ${!isLoaded ? html`<p class="note">${text.loading}</p>` : items.length === 0 ? empty(text.inboxZero, text.inboxZeroNext(working)) : nothing}
    <div class="cards">${repeat(items, (item) => item.item, (item) => card(item, { hasName: true, hasLink: true }))}</div>
  </div>`;
}

/** The rows below a single card: what its process shows, so that nothing is approved unseen. */
const CARD_ROWS = 16;

/** One item; `onScreen` draws its process's screen and comes with the views that load later. */
export function item(number: number, onScreen?: (process: ProcessView, rows: number) => TemplateResult): TemplateResult {
  const found = state.model.inbox.find((other) => other.item === number);
  const answered = answers.get(number);
  const process = found && state.model.processes.get(found.id);
  return html`<div class="page inbox" data-region aria-label=${text.inbox}>
    <header class="head"><a class="back" href=${paths.inbox} aria-label=${text.back}>‹</a><h1>${found?.name ?? answered?.item.name ?? text.inbox}</h1></header>
    ${found ? html`<div class="cards">${card(found, { hasName: true, hasLink: true })}${process && onScreen ? onScreen(process, CARD_ROWS) : nothing}</div>` : gone(answered)}
  </div>`;
}

function gone(answered: { item: { id: string; title: string }; choice: string } | undefined): TemplateResult {
  if (!state.model.isLoaded) return html`<p class="note">${text.loading}</p>`;
  if (!answered) return empty(text.itemGone, text.itemGoneNext);
  return empty(answered.item.title, html`${text.answered(answered.choice)} · <a href=${paths.process(answered.item.id, "screen")}>${text.seeScreen} ›</a>`);
}

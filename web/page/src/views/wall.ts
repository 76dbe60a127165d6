// The wall: the deck in tiles, each with a small live picture of its screen.

import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import { deckRows, type Row, sinceOf } from "../model.ts";
import { mount } from "../mount.ts";
import { age, context, empty, glyph } from "../parts/glyph.ts";
import { liveRows } from "../parts/live.ts";
import { paths } from "../router.ts";
import { state } from "../store.ts";
import { text } from "../strings.ts";
import { newButton } from "./deck.ts";

const TILE_EVERY_MS = 2000;

export function wall(): TemplateResult {
  const deck = deckRows(state.model);
  const rows = [...deck.values()].flat();
  const count = (section: "needs" | "working"): number => deck.get(section)?.length ?? 0;
  return html`<div class="page wall">
    <header class="head"><h1>${text.wall}</h1><p class="summary">${text.summary(count("needs"), count("working"), rows.length)}</p><span class="space"></span>
      ${newButton()}
      <nav class="switch" aria-label=${text.views}><a href=${paths.deck}>${text.list}</a><a href=${paths.wall} aria-current="page">${text.wall}</a></nav></header>
    ${state.model.isLoaded && rows.length === 0 ? empty(text.noProcesses, text.noProcessesNext, text.noProcessesCommand) : nothing}
    <ul class="tiles" data-list>${repeat(rows, (row) => row.process.id, tile)}</ul>
  </div>`;
}

function tile({ process, item }: Row): TemplateResult {
  return html`<li class="tile ${item ? "needs" : ""}"><a class="line" href=${paths.process(process.id)}>
    <span class="tile-head">${glyph(process)}<span class="name">${process.name}</span><span class="kind">${process.agent?.manifest ?? nothing}</span>
      ${context(process)}${age(sinceOf(process, item))}</span>
    ${item ? html`<span class="tile-item">${item.title}</span>` : nothing}
    <span class="tile-screen" aria-hidden="true"><span class="rows tiny" ${mount(`tile ${process.id} ${process.run}`, (element) => liveRows(element, process.id, { every: TILE_EVERY_MS, isPicture: true }).stop)}></span></span>
  </a></li>`;
}

// Small pieces that many views show: state glyphs, ages, markdown, empty states, commands to copy.

import { html, nothing, type TemplateResult } from "lit-html";
import { shortAge } from "../format.ts";
import { contextPercent, lookOf } from "../model.ts";
import { note, state } from "../store.ts";
import { LOOK_GLYPHS, LOOK_WORDS, text } from "../strings.ts";
import type { ProcessView } from "../types.ts";

/** The state as glyph and colour; the word is beside it or read aloud. */
export function glyph(process: ProcessView, hasWord = false): TemplateResult {
  const look = state.model.inbox.some((item) => item.id === process.id) ? "blocked" : lookOf(process);
  const word = wordOf(process);
  return html`<span class="glyph ${look}" aria-hidden=${hasWord ? "true" : nothing} title=${word}
    >${LOOK_GLYPHS[look]}</span>${hasWord ? html`<span class="word ${look}">${word}</span>` : html`<span class="hidden">${word}</span>`}`;
}

export function wordOf(process: ProcessView): string {
  if (process.status === "failed" || process.status === "parked" || process.status === "stopping") return process.status;
  const look = lookOf(process);
  if (process.status === "exited") return LOOK_WORDS.exited;
  if (process.kind === "agent") return process.agent?.state ?? process.state ?? LOOK_WORDS[look];
  if (process.kind === "terminal") return LOOK_WORDS.server;
  return process.ready === false ? LOOK_WORDS.starting : LOOK_WORDS[look];
}

export const age = (at: number): TemplateResult => html`<time class="age">${shortAge(state.now - at)}</time>`;

export function context(process: ProcessView): TemplateResult | typeof nothing {
  const percent = contextPercent(process);
  if (percent === undefined) return nothing;
  return html`<span class="context ${percent >= 80 ? "high" : ""}" title=${text.context(percent)}>${text.contextShort(percent)}</span>`;
}

export function empty(title: string, next: unknown, command?: string): TemplateResult {
  return html`<div class="empty"><p class="lead">${title}</p><p>${next}</p>${command ? commandLine(command) : nothing}</div>`;
}

export function commandLine(command: string): TemplateResult {
  return html`<p class="command"><code>${command}</code><button type="button" class="quiet" @click=${() => copy(command)}>${text.copy}</button></p>`;
}

export function copy(value: string): void {
  const done = navigator.clipboard?.writeText(value) ?? Promise.reject(new Error(text.network));
  done.then(() => note(text.copied), () => fallbackCopy(value));
}

/** Over plain HTTP browsers have no clipboard object; a selected field still copies. */
function fallbackCopy(value: string): void {
  const field = document.createElement("textarea");
  field.value = value;
  field.className = "hidden";
  // A modal dialog lets nothing outside of it be selected.
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
  note(text.copied);
}

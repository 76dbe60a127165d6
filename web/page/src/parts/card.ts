// The card of one inbox item: the whole question, its answers, and what the daemon says became of the answer.

import { html, nothing, type TemplateResult } from "lit-html";
import { ApiError, errorText, post } from "../api.ts";
import { shortAge } from "../format.ts";
import { canType } from "../model.ts";
import { paths } from "../router.ts";
import { invalidate, note, state } from "../store.ts";
import { ITEM_KINDS, text } from "../strings.ts";
import type { DialogOption, InboxItem } from "../types.ts";
import { age } from "./glyph.ts";

interface Answering {
  choice: string;
  status: "sending" | "failed";
  error?: string;
}

const answering = new Map<number, Answering>();
/** Items that this page answered: shown until the person goes elsewhere. */
export const answers = new Map<number, { item: InboxItem; choice: string }>();

/** Sends an answer; the item leaves the inbox when the daemon says so, not when the button is pressed. */
export async function answer(item: InboxItem, choice: string, label: string): Promise<void> {
  if (answering.get(item.item)?.status === "sending") return;
  answering.set(item.item, { choice: label, status: "sending" });
  invalidate();
  try {
    await post(`inbox/${item.item}/answer`, { choice });
    answering.delete(item.item);
    answers.set(item.item, { item, choice: label });
    note(text.answered(label));
  } catch (error) {
    const isStale = error instanceof ApiError && (error.status === 409 || error.status === 404);
    answering.set(item.item, { choice: label, status: "failed", error: isStale ? `${errorText(error)}. ${text.stale}` : errorText(error) });
  }
  invalidate();
}

/** The word that `answer` takes: the option's number, or its first name. */
const choiceOf = (option: DialogOption, index: number): string => option.names[0] ?? String(index + 1);

const labelOf = (item: InboxItem, name: string): string => item.options.find((option) => option.names.includes(name))?.label ?? name;

/** Answers with the option of this number, counted from 1; returns false when there is none. */
export function answerByNumber(item: InboxItem, number: number): boolean {
  const option = item.options[number - 1];
  if (!option || !canType(state.model)) return false;
  void answer(item, choiceOf(option, number - 1), option.label);
  return true;
}

export function card(item: InboxItem, options: { hasName?: boolean; hasLink?: boolean } = {}): TemplateResult {
  const process = state.model.processes.get(item.id);
  const status = answering.get(item.item);
  return html`<article class="card" data-item=${item.item} aria-label=${item.title}>
    <header>
      <h2><span class="glyph blocked" aria-hidden="true">◆</span>${item.title}</h2>
      <span class="meta">${options.hasName ? html`<a href=${paths.process(item.id)}>${item.name}</a> · ` : nothing}${process?.agent ? html`${process.agent.manifest} · ` : nothing}${ITEM_KINDS[item.kind]} · ${age(item.at)}</span>
    </header>
    ${item.body ? html`<pre class="body" tabindex="0">${item.body}</pre>` : nothing}
    ${process ? html`<p class="where">${text.inDirectory(process.cwd)}${options.hasLink ? html` · <a href=${paths.process(item.id, "screen")}>${text.seeScreen} ›</a>` : nothing}</p>` : nothing}
    ${item.expires ? html`<p class="expiry">${text.expires(shortAge(item.expires.at - state.now), labelOf(item, item.expires.answer))}</p>` : nothing}
    ${buttons(item, status)}
    ${status?.status === "failed" ? html`<p class="error" role="alert">${status.error}</p>` : nothing}
  </article>`;
}

function buttons(item: InboxItem, status: Answering | undefined): TemplateResult {
  if (!canType(state.model)) return html`<p class="note">${text.mayNotAnswer}</p>`;
  if (status?.status === "sending") return html`<p class="note" role="status">${text.answering} ${status.choice}</p>`;
  if (item.kind === "question" && item.options.length === 0) return freeText(item);
  if (item.options.length === 0 && (item.kind === "failure" || item.kind === "attention")) {
    return html`<div class="answers"><button @click=${() => answer(item, "dismiss", text.dismiss)}>${text.dismiss}</button></div>`;
  }
  if (item.options.length === 0) return html`<p class="note">${text.noOptions}</p>`;
  return html`<div class="answers">${item.options.map((option, index) => html`<button
    class=${index === 0 ? "primary" : ""}
    @click=${() => answer(item, choiceOf(option, index), option.label)}><kbd aria-hidden="true">${index + 1}</kbd><span>${option.label}</span></button>`)}</div>`;
}

function freeText(item: InboxItem): TemplateResult {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const value = String(new FormData(event.target as HTMLFormElement).get("answer") ?? "").trim();
    if (value) void answer(item, value, value);
  };
  return html`<form class="answers" @submit=${submit}><textarea name="answer" rows="2" aria-label=${text.yourAnswer} placeholder=${text.yourAnswer}></textarea><button class="primary">${text.answer}</button></form>`;
}

// One comment on lines of a diff: as it is shown, and as it is written.

import { html, nothing, type TemplateResult } from "lit-html";
import { ref } from "lit-html/directives/ref.js";
import { canType } from "../model.ts";
import { state } from "../store.ts";
import { text } from "../strings.ts";
import type { ReviewComment, ReviewSide } from "../types.ts";

/** A comment that is being written. */
export interface Draft {
  file: string;
  side: ReviewSide;
  first: number;
  last: number;
  text?: string;
  /** The comment that this one takes the place of. */
  replaces?: number;
}

/** Returns true if a line is one of those that the draft is about. */
export function isChosen(draft: Draft, line: Draft): boolean {
  return draft.file === line.file && draft.side === line.side && draft.first <= line.first && line.last <= draft.last;
}

export interface CommentActs {
  resolve: () => void;
  remove: () => void;
  edit: () => void;
}

export function commentBox(comment: ReviewComment, acts: CommentActs): TemplateResult {
  const parts = [
    text.author(comment.author), text.commentStatus[comment.status],
    ...(comment.first < comment.last ? [text.lines(comment.first, comment.last)] : []),
    ...(comment.is_stale ? [text.staleComment] : []),
  ];
  return html`<div class="comment ${comment.status}"><p>${comment.text}</p>
    <p class="meta">${parts.join(" · ")}
      ${canType(state.model) ? html`<span class="space"></span>
        ${comment.status === "draft" ? html`<button class="quiet" @click=${acts.edit}>${text.edit}</button>` : nothing}
        ${comment.status === "sent" ? html`<button class="quiet" @click=${acts.resolve}>${text.resolve}</button>` : nothing}
        <button class="quiet" aria-label=${text.removeComment} @click=${acts.remove}>✕</button>` : nothing}</p></div>`;
}

export interface EditorActs {
  save: (text: string) => void;
  cancel: () => void;
  /** Lets the comment begin a line earlier, if that line is shown. */
  extend: (() => void) | undefined;
}

export function commentEditor(draft: Draft, acts: EditorActs): TemplateResult {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const value = String(new FormData(event.target as HTMLFormElement).get("text") ?? "").trim();
    if (value !== "") acts.save(value);
  };
  const keydown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") acts.cancel();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) (event.currentTarget as HTMLFormElement).requestSubmit();
  };
  const label = draft.first < draft.last ? text.lines(draft.first, draft.last) : text.line(draft.last);
  return html`<form class="comment editor" @submit=${submit} @keydown=${keydown}>
    <p class="meta">${label}<span class="space"></span>${acts.extend ? html`<button type="button" class="quiet" @click=${acts.extend}>${text.lineAbove}</button>` : nothing}</p>
    <textarea name="text" rows="3" aria-label=${text.commentOn(draft.last)} placeholder=${text.writeComment} .defaultValue=${draft.text ?? ""} ${ref(focusOnce)}></textarea>
    <p class="buttons"><button type="button" @click=${acts.cancel}>${text.cancel}</button><button class="primary">${draft.replaces === undefined ? text.addComment : text.save}</button></p></form>`;
}

function focusOnce(element: Element | undefined): void {
  if (!(element instanceof HTMLElement) || element.dataset["focused"]) return;
  element.dataset["focused"] = "yes";
  queueMicrotask(() => element.focus());
}

// The changes of a task: files, lines, comments on lines, and one message with all of them to the agent.

import { html, nothing, type TemplateResult } from "lit-html";
import { ref } from "lit-html/directives/ref.js";
import { errorText, get, post, taskPath } from "../api.ts";
import { type DiffFile, type DiffLine, parseDiff } from "../diff.ts";
import { canType } from "../model.ts";
import { empty } from "../parts/glyph.ts";
import { Resource } from "../resource.ts";
import { invalidate, note, state } from "../store.ts";
import { text } from "../strings.ts";
import type { ReviewComment, ReviewSide, TaskDiff, TaskReview, TaskView } from "../types.ts";

interface Parsed {
  diff: TaskDiff;
  files: DiffFile[];
}

const diffs = new Resource<Parsed>(async (key) => {
  const diff = await get<TaskDiff>(taskPath(key, "diff"));
  return { diff, files: parseDiff(diff.text ?? "") };
});
const reviews = new Resource<TaskReview>((key) => get<TaskReview>(taskPath(key, "review")));

interface Place {
  file: string;
  side: ReviewSide;
  line: number;
}

let writing: Place | undefined;
/** Lines beyond this are shown only on demand: a generated file would freeze a phone. */
const MANY_LINES = 1500;
const unfolded = new Set<string>();

export function forgetChanges(): void {
  diffs.forget();
  reviews.forget();
}

export function refreshReview(): void {
  void reviews.load();
}

/** The message with the comments that were sent last. */
let sentMail: { task: string; mail: number } | undefined;

/** The button that sends all drafts, for the head of the task; after that what became of the message. */
export function sendReview(task: TaskView): TemplateResult | typeof nothing {
  const drafts = reviews.use(task.name)?.comments.filter((comment) => comment.status === "draft").length ?? 0;
  const receipt = sentMail?.task === task.name ? state.model.receipts.get(sentMail.mail) : undefined;
  if (drafts === 0) return receipt ? html`<span class="receipt" role="status">${text.receipt(receipt)}</span>` : nothing;
  return html`<button class="primary" @click=${() => act(task, { send: {} })}>${text.sendComments(drafts, task.agent ?? text.theAgent)}</button>`;
}

async function act(task: TaskView, body: object): Promise<boolean> {
  try {
    const review = await post<TaskReview>(taskPath(task.name, "review"), body);
    reviews.set(review);
    if ("send" in body && review.mail !== undefined) {
      sentMail = { task: task.name, mail: review.mail };
      note(text.reviewSent);
    }
    return true;
  } catch (error) {
    note(errorText(error), true);
    return false;
  }
}

export function changes(task: TaskView): TemplateResult {
  const parsed = diffs.use(task.name);
  const review = reviews.use(task.name);
  if (diffs.error) return html`<p class="error" role="alert">${diffs.error}</p>`;
  if (!parsed) return html`<p class="note">${text.loading}</p>`;
  if (parsed.files.length === 0) return empty(text.noChanges, text.noChangesNext(task.worktree?.base ?? parsed.diff.base));
  const comments = review?.comments ?? [];
  return html`<div class="changes">
    <nav class="files" aria-label=${text.files}><h2>${text.files}</h2><ul>${parsed.files.map((file, index) => html`<li><a href="#file-${index}" @click=${(event: Event) => jump(event, index)}>
      <span class="mark ${file.change}" title=${file.change}>${{ added: "A", removed: "D", renamed: "R", changed: "M" }[file.change]}</span><span class="path">${file.path}</span>
      <span class="counts"><span class="plus">+${file.added}</span> <span class="minus">−${file.removed}</span></span></a></li>`)}</ul>
      ${canType(state.model) ? html`<p class="note">${text.commentHint}</p>` : nothing}</nav>
    <div class="diffs">
      ${parsed.diff.is_truncated ? html`<p class="note">${text.truncated}</p>` : nothing}
      ${parsed.files.map((file, index) => fileDiff(task, file, index, comments.filter((comment) => comment.file === file.path)))}
    </div></div>`;
}

function jump(event: Event, index: number): void {
  event.preventDefault();
  document.getElementById(`file-${index}`)?.scrollIntoView();
}

function fileDiff(task: TaskView, file: DiffFile, index: number, comments: ReviewComment[]): TemplateResult {
  const isFolded = file.lines.length > MANY_LINES && !unfolded.has(file.path);
  const lines = isFolded ? file.lines.slice(0, MANY_LINES) : file.lines;
  const unfold = (): void => {
    unfolded.add(file.path);
    invalidate();
  };
  return html`<section class="file" id="file-${index}" aria-label=${file.path}>
    <h3>${file.original ? `${file.original} → ` : nothing}${file.path} ${comments.length > 0 ? html`<span class="count">${text.comments(comments.length)}</span>` : nothing}</h3>
    ${file.isBinary ? html`<p class="note">${text.binary}</p>` : nothing}
    <div class="diff-scroll" tabindex="0" role="region" aria-label=${file.path}><div class="diff">${lines.map((line) => diffLine(task, file, line, comments))}</div></div>
    ${isFolded ? html`<button class="quiet" @click=${unfold}>${text.more} (${file.lines.length - MANY_LINES})</button>` : nothing}
  </section>`;
}

function diffLine(task: TaskView, file: DiffFile, line: DiffLine, comments: ReviewComment[]): TemplateResult {
  if (line.kind === "hunk" || line.kind === "note") return html`<div class="dl ${line.kind}"><span class="num"></span><span class="code">${line.text}</span></div>`;
  const side: ReviewSide = line.kind === "removed" ? "old" : "new";
  const number = (side === "old" ? line.old : line.new) ?? 0;
  const here = comments.filter((comment) => comment.side === side && comment.last === number);
  const isWriting = writing?.file === file.path && writing.side === side && writing.line === number;
  const begin = (): void => {
    writing = isWriting ? undefined : { file: file.path, side, line: number };
    invalidate();
  };
  const sign = { added: "+", removed: "−", context: " " }[line.kind];
  const num = canType(state.model)
    ? html`<button class="num" aria-label=${text.commentOn(number)} @click=${begin}>${number}</button>`
    : html`<span class="num">${number}</span>`;
  return html`<div class="dl ${line.kind}">${num}<span class="sign" aria-hidden="true">${sign}</span><span class="code">${line.text}</span></div>
    ${here.map((comment) => commentBox(task, comment))}${isWriting ? editor(task, { file: file.path, side, line: number }) : nothing}`;
}

function commentBox(task: TaskView, comment: ReviewComment): TemplateResult {
  const status = { draft: text.draft, sent: text.sent, resolved: text.resolved }[comment.status];
  return html`<div class="comment ${comment.status}"><p>${comment.text}</p>
    <p class="meta">${text.author(comment.author)} · ${status}${comment.is_stale ? ` · ${text.staleComment}` : ""}
      ${canType(state.model) ? html`<span class="space"></span>
        ${comment.status === "sent" ? html`<button class="quiet" @click=${() => act(task, { resolve: { number: comment.number } })}>${text.resolve}</button>` : nothing}
        <button class="quiet" aria-label=${text.removeComment} @click=${() => act(task, { remove: { number: comment.number } })}>✕</button>` : nothing}</p></div>`;
}

function editor(task: TaskView, place: Place): TemplateResult {
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const value = String(new FormData(event.target as HTMLFormElement).get("text") ?? "").trim();
    if (value === "") return;
    const add = { file: place.file, side: place.side, first: place.line, last: place.line, text: value };
    if (await act(task, { add })) writing = undefined;
    invalidate();
  };
  const cancel = (): void => {
    writing = undefined;
    invalidate();
  };
  const focus = (element: Element | undefined): void => {
    if (element instanceof HTMLElement && !element.dataset["focused"]) {
      element.dataset["focused"] = "yes";
      queueMicrotask(() => element.focus());
    }
  };
  return html`<form class="comment editor" @submit=${submit} @keydown=${(event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === "Escape") cancel();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) (event.currentTarget as HTMLFormElement).requestSubmit();
  }}>
    <textarea name="text" rows="3" aria-label=${text.commentOn(place.line)} placeholder=${text.writeComment} ${ref(focus)}></textarea>
    <p class="buttons"><button type="button" @click=${cancel}>${text.cancel}</button><button class="primary">${text.addComment}</button></p></form>`;
}

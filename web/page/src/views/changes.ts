// The changes of a task: files and lines compared with a base, and the comments on them.

import { html, nothing, type TemplateResult } from "lit-html";
import { errorText, get, post, taskPath } from "../api.ts";
import { type DiffFile, type DiffLine, parseDiff } from "../diff.ts";
import { canType } from "../model.ts";
import { ask } from "../parts/dialog.ts";
import { empty } from "../parts/glyph.ts";
import { isNarrow, isTouch } from "../preferences.ts";
import { Resource } from "../resource.ts";
import { invalidate, note, state } from "../store.ts";
import { text } from "../strings.ts";
import type { ReviewComment, ReviewSide, TaskDiff, TaskReview, TaskView } from "../types.ts";
import { commentBox, commentEditor, type Draft, isChosen } from "./comments.ts";

interface Parsed {
  diff: TaskDiff;
  files: (DiffFile & { isUntracked: boolean })[];
}

const diffs = new Resource<Parsed>(async (key) => {
  const [chosen, last] = [bases.get(key), lastCommits.get(key)];
  const [diff, since] = await Promise.all([
    get<TaskDiff>(taskPath(key, "diff"), { base: chosen === LAST_COMMIT ? last : chosen }),
    get<TaskDiff>(taskPath(key, "diff"), { base: last, stat: true }).catch(() => undefined),
  ]);
  const files = parseDiff(diff.text ?? "");
  return { diff, files: files.map((file) => ({ ...file, isUntracked: isUntracked(file, since) })) };
});
const reviews = new Resource<TaskReview>((key) => get<TaskReview>(taskPath(key, "review")));

const LAST_COMMIT = "HEAD";
/** What names each task's last commit: the branch of its worktree, because HEAD may be another checkout's. */
const lastCommits = new Map<string, string>();

/** A new file that no commit has: all of its lines are new since the last one as well. */
function isUntracked(file: DiffFile, since: TaskDiff | undefined): boolean {
  const now = file.change === "added" ? since?.files.find((other) => other.path === file.path) : undefined;
  return now !== undefined && (now.added ?? 0) === file.added && (now.removed ?? 0) === 0;
}

/** What each task is compared with, when a person has chosen something else than its base. */
const bases = new Map<string, string>();
let writing: Draft | undefined;
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
  const label = text.sendComments(drafts, task.agent ?? text.theAgent);
  return html`<button class="primary" aria-label=${label} @click=${() => act(task, { send: {} })}>${isNarrow() ? text.sendCount(drafts) : label}</button>`;
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
  const base = bases.get(task.name) ?? "";
  const { git } = task;
  lastCommits.set(task.name, task.worktree?.branch ?? LAST_COMMIT);
  // While another comparison is on its way, the one before it is shown.
  const parsed = diffs.use(task.name, `${base} ${git?.commit} ${git?.added} ${git?.removed} ${git?.untracked}`);
  const comments = reviews.use(task.name)?.comments ?? [];
  if (diffs.error) return html`${basePicker(task)}<p class="error" role="alert">${diffs.error}</p>`;
  if (!parsed) return html`<p class="note">${text.loading}</p>`;
  if (parsed.files.length === 0) return html`${basePicker(task)}${empty(text.noChanges, text.noChangesNext(base || (task.worktree?.base ?? parsed.diff.base)))}`;
  const of = (file: DiffFile): ReviewComment[] => comments.filter((comment) => comment.file === file.path && (base === "" || comment.side === "new"));
  return html`<div class="changes">
    <nav class="files" aria-label=${text.files}>${basePicker(task)}
      ${canType(state.model) ? html`<p class="note">${isTouch() ? text.commentHintTouch : text.commentHint}</p>` : nothing}
      <h2>${text.files}</h2><ul>${parsed.files.map((file, index) => fileEntry(file, index, of(file).length))}</ul></nav>
    <div class="diffs">
      ${parsed.diff.is_truncated ? html`<p class="note">${text.truncated}</p>` : nothing}
      ${parsed.files.map((file, index) => fileDiff(task, file, index, of(file)))}
    </div></div>`;
}

/** Chooses what the task is compared with. */
function basePicker(task: TaskView): TemplateResult {
  const own = task.worktree?.base ?? text.defaultBase;
  const chosen = bases.get(task.name) ?? "";
  const isOther = chosen !== "" && chosen !== LAST_COMMIT;
  const choose = async (event: Event): Promise<void> => {
    const select = event.target as HTMLSelectElement;
    const base = select.value === OTHER_BASE ? await askBase() : select.value;
    if (base === undefined) select.value = chosen;
    else if (base === "") bases.delete(task.name);
    else bases.set(task.name, base);
    invalidate();
  };
  return html`<label class="base">${text.comparedWith}<select @change=${choose}>
    <option value="" ?selected=${chosen === ""}>${own}</option>
    <option value=${LAST_COMMIT} ?selected=${chosen === LAST_COMMIT}>${text.lastCommit}</option>
    ${isOther ? html`<option value=${chosen} selected>${chosen}</option>` : nothing}
    <option value=${OTHER_BASE}>${text.otherBase}</option></select></label>`;
}

const OTHER_BASE = " other";

async function askBase(): Promise<string | undefined> {
  const form = await ask({
    title: text.comparedWith, confirm: text.compare,
    body: html`<label>${text.baseLabel}<input name="base" required pattern="\\S+" autocomplete="off" spellcheck="false" autocapitalize="off"></label>`,
  });
  return form ? String(form.get("base")).trim() || undefined : undefined;
}

const MARKS = { added: "A", removed: "D", renamed: "R", changed: "M", untracked: "?" } as const;

function fileEntry(file: Parsed["files"][number], index: number, comments: number): TemplateResult {
  const change = file.isUntracked ? "untracked" : file.change;
  const jump = (event: Event): void => {
    event.preventDefault();
    document.getElementById(`file-${index}`)?.scrollIntoView();
  };
  return html`<li><a href="#file-${index}" @click=${jump}>
    <span class="mark ${change}" title=${text.fileChanges[change]}>${MARKS[change]}</span>
    <span class="path"><bdi>${file.path}</bdi></span>
    ${comments > 0 ? html`<span class="bubble" title=${text.comments(comments)}>${comments}<span class="hidden"> ${text.comments(comments).replace(/^\d+ /, "")}</span></span>` : nothing}
    <span class="counts"><span class="plus">+${file.added}</span> <span class="minus">−${file.removed}</span></span></a></li>`;
}

/** What became of a file's comments, such as "1 draft · 2 sent". */
function commentCounts(comments: ReviewComment[]): string {
  const count = (status: ReviewComment["status"]): number => comments.filter((comment) => comment.status === status).length;
  return (["draft", "sent", "resolved"] as const).filter((status) => count(status) > 0).map((status) => text.commentCount(count(status), status)).join(" · ");
}

function fileDiff(task: TaskView, file: DiffFile, index: number, comments: ReviewComment[]): TemplateResult {
  const isFolded = file.lines.length > MANY_LINES && !unfolded.has(file.path);
  const lines = isFolded ? file.lines.slice(0, MANY_LINES) : file.lines;
  const unfold = (): void => {
    unfolded.add(file.path);
    invalidate();
  };
  return html`<section class="file" id="file-${index}" aria-label=${file.path}>
    <h3>${file.original ? `${file.original} → ` : nothing}${file.path} <span class="count">${commentCounts(comments)}</span></h3>
    ${file.isBinary ? html`<p class="note">${text.binary}</p>` : nothing}
    <div class="diff-scroll" tabindex="0" role="region" aria-label=${file.path}><div class="diff">${lines.map((line) => diffLine(task, file, line, comments))}</div></div>
    ${isFolded ? html`<button class="quiet" @click=${unfold}>${text.more} (${file.lines.length - MANY_LINES})</button>` : nothing}
  </section>`;
}

function diffLine(task: TaskView, file: DiffFile, line: DiffLine, comments: ReviewComment[]): TemplateResult | typeof nothing {
  if (line.kind === "hunk") return hunkLine(line);
  if (line.kind === "note") return html`<div class="dl note"><span class="num"></span><span class="code">${line.text}</span></div>`;
  const side: ReviewSide = line.kind === "removed" ? "old" : "new";
  const number = (side === "old" ? line.old : line.new) ?? 0;
  const here = comments.filter((comment) => comment.side === side && comment.last === number && comment.number !== writing?.replaces);
  const place = { file: file.path, side, first: number, last: number };
  const isOpen = writing !== undefined && isChosen(writing, place);
  const sign = { added: "+", removed: "−", context: " " }[line.kind];
  const mayComment = canType(state.model) && !(side === "old" && bases.has(task.name));
  const num = mayComment
    ? html`<button class="num" aria-label=${text.commentOn(number)} @click=${(event: MouseEvent) => write(place, event.shiftKey)}>${number}</button>`
    : html`<span class="num">${number}</span>`;
  return html`<div class="dl ${line.kind} ${isOpen ? "chosen" : ""}">${num}<span class="sign" aria-hidden="true">${sign}</span><span class="code">${line.text}</span></div>
    ${here.map((comment) => commentBox(comment, { resolve: () => act(task, { resolve: { number: comment.number } }), remove: () => act(task, { remove: { number: comment.number } }), edit: () => edit(comment) }))}
    ${isOpen && writing?.last === number ? commentEditor(writing, { save: (value) => save(task, value), cancel: () => leave(place), extend: canExtend(file, writing) ? extend : undefined }) : nothing}`;
}

/** Lines that did not change and are left out; nothing is left out before a hunk at the beginning. */
function hunkLine(line: DiffLine): TemplateResult | typeof nothing {
  const words = [line.unchanged ? text.unchangedLines(line.unchanged) : "", line.text].filter(Boolean);
  return words.length === 0 ? nothing : html`<div class="dl hunk"><span class="num" aria-hidden="true">⋯</span><span class="code">${words.join(" · ")}</span></div>`;
}

function set(draft: Draft | undefined): void {
  writing = draft;
  invalidate();
}

/** Begins a comment on a line, or with `extends` stretches the open one to it; the same line again closes it. */
function write(place: Draft, extendsOpen: boolean): void {
  const isSame = writing !== undefined && writing.file === place.file && writing.side === place.side;
  if (extendsOpen && writing && isSame) return set({ ...writing, first: Math.min(writing.first, place.first), last: Math.max(writing.last, place.last) });
  set(writing && isSame && writing.last === place.last ? undefined : place);
}

/** The line before the open comment's first one is shown, so the comment can begin there. */
function canExtend(file: DiffFile, draft: Draft): boolean {
  return file.lines.some((line) => line.kind !== "hunk" && (draft.side === "old" ? line.kind === "removed" && line.old : line.new) === draft.first - 1);
}

function extend(): void {
  if (writing) set({ ...writing, first: writing.first - 1 });
}

function edit({ file, side, first, last, number, text: words }: ReviewComment): void {
  set({ file, side, first, last, text: words, replaces: number });
}

/** A draft that is edited is written anew, and then the old one goes. */
async function save(task: TaskView, value: string): Promise<void> {
  if (!writing) return;
  const { file, side, first, last, replaces } = writing;
  const isAdded = await act(task, { add: { file, side, first, last, text: value } });
  if (isAdded && replaces !== undefined) await act(task, { remove: { number: replaces } });
  if (isAdded) leave({ file, side, first, last });
  else invalidate();
}

/** Closes the editor; the keyboard goes back to the line that the comment is on. */
function leave({ file, side, last }: Draft): void {
  set(undefined);
  requestAnimationFrame(() => {
    const lines = document.querySelector(`.file[aria-label="${CSS.escape(file)}"]`)?.querySelectorAll<HTMLElement>(side === "old" ? ".dl.removed" : ".dl:not(.removed)") ?? [];
    [...lines].map((line) => line.querySelector<HTMLElement>("button.num")).find((button) => button?.textContent === String(last))?.focus();
  });
}

// Tasks: the list, and one task with its overview, its changes and its runs.

import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import { errorText, get, post, remove, taskPath } from "../api.ts";
import { clockTime, exitText, shortPath } from "../format.ts";
import { canType, isAdmin } from "../model.ts";
import { go } from "../navigate.ts";
import { ask, explain } from "../parts/dialog.ts";
import { age, empty } from "../parts/glyph.ts";
import { menu } from "../parts/menu.ts";
import { openNew, openNewTask } from "../parts/new.ts";
import { shareLink } from "../parts/share.ts";
import { Resource } from "../resource.ts";
import { paths, type TaskTab } from "../router.ts";
import { note, state } from "../store.ts";
import { LOOK_WORDS, TASK_GLYPHS, text } from "../strings.ts";
import type { TaskLanded, TaskStatus, TaskView } from "../types.ts";
import { changes, forgetChanges, sendReview } from "./changes.ts";
import { deckRow } from "./deck.ts";

const all = new Resource<TaskView[]>(() => get<TaskView[]>("tasks"));
const one = new Resource<TaskView>((key) => get<TaskView>(taskPath(key)));

/** Fetches again after something happened that a task's status depends on. */
export function refreshTasks(): void {
  void all.load();
  void one.load();
}

const taskLook = (status: TaskStatus): string =>
  ({ blocked: "blocked", waiting: "waiting", done: "done", conflict: "error", gone: "error", orphan: "error", working: "working", idle: "idle", merged: "exited", stale: "exited" })[status];

const taskGlyph = (status: TaskStatus, hasWord = false): TemplateResult =>
  html`<span class="glyph ${taskLook(status)}" aria-hidden="true">${TASK_GLYPHS[status]}</span><span class=${hasWord ? `word ${taskLook(status)}` : "hidden"}>${status}</span>`;

export function taskList(): readonly TaskView[] {
  return all.use("all") ?? [];
}

const counts = (git: TaskView["git"]): TemplateResult | typeof nothing =>
  git ? html`<span class="counts"><span class="plus">+${git.added}</span> <span class="minus">−${git.removed}</span></span>` : nothing;

export function tasks(): TemplateResult {
  const list = all.use("all");
  return html`<div class="page tasks" data-region aria-label=${text.tasks}>
    <header class="head"><h1>${text.tasks}</h1><span class="space"></span>
      ${canType(state.model) ? html`<button class="primary" @click=${openNewTask}>${text.newTask}</button>` : nothing}</header>
    ${all.error ? html`<p class="error" role="alert">${all.error}</p>` : nothing}
    ${list === undefined && !all.error ? html`<p class="note">${text.loading}</p>` : nothing}
    ${list?.length === 0 ? empty(text.noTasks, text.noTasksNext, text.noTasksCommand) : nothing}
    <ul class="list ${hasOneProject(list) ? "one-project" : ""}" data-list>${repeat(list ?? [], (task) => task.name, (task) => html`<li><a class="line task-line" href=${paths.task(task.name)}>
      ${taskGlyph(task.status)}<span class="name">${task.name}</span>
      <span class="kind">${task.status}</span>
      <span class="what">${task.prompt ?? task.worktree?.branch ?? ""}</span>
      <span class="task dim">${shortPath(task.project.path, 18)}</span>
      <span class="comments-count">${task.comments > 0 ? text.comments(task.comments) : nothing}</span>
      ${counts(task.git)}${age(task.active_at)}</a></li>`)}</ul>
  </div>`;
}

const hasOneProject = (list: TaskView[] | undefined): boolean => new Set(list?.map((task) => task.project.path)).size <= 1;

export function task(name: string, tab: TaskTab): TemplateResult {
  const found = one.use(name);
  const link = (value: TaskTab, label: string): TemplateResult =>
    html`<a href=${paths.task(name, value)} aria-current=${tab === value ? "page" : nothing}>${label}</a>`;
  return html`<div class="page one-task tab-${tab}" data-region aria-label=${name}>
    <header class="head">${state.model.me?.target === undefined ? html`<a class="back" href=${paths.tasks} aria-label=${text.back}>‹</a>` : nothing}<h1>${name}</h1>
      ${found ? html`<p class="facts">${taskGlyph(found.status, true)} ${counts(found.git)} <span class="kind">${text.base} ${found.worktree?.base ?? "–"}</span></p>` : nothing}
      <span class="space"></span>
      ${found ? actions(found) : nothing}
      <nav class="switch" aria-label=${text.views}>${link("overview", text.overview)}${link("changes", text.changes)}${link("runs", text.runs)}</nav>
    </header>
    ${one.error ? html`<p class="error" role="alert">${one.error}</p>` : nothing}
    ${found ? (tab === "changes" ? changes(found) : tab === "runs" ? runs(found) : overview(found)) : one.error ? nothing : html`<p class="note">${text.loading}</p>`}
  </div>`;
}

function actions(found: TaskView): TemplateResult | typeof nothing {
  if (!canType(state.model)) return nothing;
  return html`${sendReview(found)}
    ${found.worktree && !found.git?.merged ? html`<button @click=${() => land(found)}>${text.land}</button>` : nothing}
    ${menu(html`${isAdmin(state.model) ? html`<button @click=${() => shareLink({ task: found.name })}>${text.shareLink}</button>` : nothing}
      <button class="danger" @click=${() => drop(found)}>${text.drop}</button>`)}`;
}

async function drop(found: TaskView): Promise<void> {
  const form = await ask({
    title: text.dropAsk(found.name), text: text.dropText, confirm: text.dropNow, isDangerous: true,
    body: html`<label class="check"><input type="checkbox" name="branch">${text.dropBranch}</label>`,
  });
  if (!form) return;
  try {
    await remove(taskPath(found.name), undefined, { branch: form.get("branch") !== null });
    note(text.dropped(found.name));
    go(paths.tasks);
    refreshTasks();
  } catch (error) {
    note(errorText(error), true);
  }
}

/** The command that was asked for last: a landing that failed is tried again with it. */
let lastGate = "";

async function land(found: TaskView): Promise<void> {
  if (!isAdmin(state.model)) return explain(text.landAsk(found.name, found.worktree?.base ?? ""), text.landNeedsAdmin, text.adminCommand);
  // The daemon would refuse it, after a person has fetched a code.
  if (openFiles(found.git) > 0) return note(text.landDirty(openFiles(found.git)), true);
  const form = await ask({
    title: text.landAsk(found.name, found.worktree?.base ?? ""), text: text.landText, confirm: text.landNow,
    body: html`<label>${text.landGate}<input name="gate" value=${lastGate} autocomplete="off" spellcheck="false" autocapitalize="off"></label>
      <label class="check"><input type="checkbox" name="merge">${text.landMerge}</label>`,
  });
  if (!form) return;
  try {
    const gate = String(form.get("gate") ?? "").trim();
    lastGate = gate;
    const landed = await post<TaskLanded>(taskPath(found.name, "land"), { merge: form.get("merge") !== null, ...(gate ? { gate } : {}) });
    note(text.landed(landed.into, landed.commit));
    forgetChanges();
    refreshTasks();
  } catch (error) {
    note(errorText(error), true);
  }
}

/** How many files of a task are not committed. */
const openFiles = (git: TaskView["git"]): number => (git ? git.staged + git.unstaged + git.untracked + git.conflicted : 0);

function overview(found: TaskView): TemplateResult {
  const git = found.git;
  const open = openFiles(git);
  return html`<div class="task-overview">
    ${found.failure ? html`<p class="error">${found.failure}</p>` : nothing}
    ${found.prompt ? html`<section class="block"><h2>${text.prompt}</h2><p class="quoted">${found.prompt}</p></section>` : nothing}
    ${found.conflicts?.map((conflict) => html`<section class="block warning"><h2>${text.conflictsWith(conflict.with)}</h2><ul>${conflict.files.map((file) => html`<li><code>${file}</code></li>`)}</ul></section>`) ?? nothing}
    <section class="block"><header class="block-head"><h2>${text.processes}</h2>
      ${canType(state.model) ? html`<button @click=${() => openNew(found.name)}>${text.newProcess}</button>` : nothing}</header>
      ${found.processes.length === 0 ? empty(text.noTaskProcesses, text.noTaskProcessesNext, text.runCommand(found.name)) : nothing}
      <ul class="list" data-list>${found.processes.map(processRow)}</ul></section>
    <dl class="block facts-list">
      <dt>${text.directory}</dt><dd><code>${found.directory}</code></dd>
      ${found.worktree ? html`<dt>${text.branch}</dt><dd><code>${found.worktree.branch}</code>${git ? html` · ${text.aheadBehind(git.ahead, git.behind)}` : nothing}</dd>` : nothing}
      ${open > 0 ? html`<dt>${text.changes}</dt><dd>${text.notCommitted(open)}</dd>` : nothing}
    </dl></div>`;
}

/** A process of the task, as the deck shows it if the page knows it. */
function processRow(entry: TaskView["processes"][number]): TemplateResult {
  const process = state.model.processes.get(entry.id);
  const item = state.model.inbox.find((other) => other.id === entry.id);
  if (process) return deckRow(item ? { process, item, depth: 0 } : { process, depth: 0 });
  return html`<li><a class="line" href=${paths.process(entry.id)}><span class="glyph"></span><span class="name">${entry.name}</span><span class="kind">${entry.kind}</span><span class="what">${entry.state ?? entry.status}</span></a></li>`;
}

function runs(found: TaskView): TemplateResult {
  if (found.runs.length === 0) return empty(text.noRuns, "");
  return html`<ul class="list runs" data-list>${[...found.runs].reverse().map((run) => html`<li><a class="line" href=${paths.process(run.process)}>
    <span class="name">${run.name}</span><span class="kind">${text.runNumber(run.run)}</span>
    <span class="what">${clockTime(run.started_at, state.now)}${run.ended_at ? ` – ${clockTime(run.ended_at, state.now)}` : ""}</span>
    <span>${run.kind === "agent" ? text.turns(run.turns) : nothing}</span><span class="dim">${run.exit ? exitText(run.exit) : run.ended_at ? nothing : LOOK_WORDS.server}</span></a></li>`)}</ul>`;
}

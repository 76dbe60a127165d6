// Pads: a project's notes, shown as prose and written with the revision that was read.

import { html, nothing, type TemplateResult } from "lit-html";
import { ApiError, call, errorText, get } from "../api.ts";
import { shortPath } from "../format.ts";
import { canType, projectsOf } from "../model.ts";
import { mount } from "../mount.ts";
import { go } from "../navigate.ts";
import { ask } from "../parts/dialog.ts";
import { age, empty } from "../parts/glyph.ts";
import { prose } from "../parts/prose.ts";
import { Resource } from "../resource.ts";
import { paths } from "../router.ts";
import { invalidate, note, state } from "../store.ts";
import { text } from "../strings.ts";
import type { PadEntry, PadText } from "../types.ts";

const list = new Resource<PadEntry[]>((key) => get<PadEntry[]>("pads", { project: key || undefined }));
const pad = new Resource<PadText>((key) => {
  const [name, project] = JSON.parse(key) as [string, string];
  return get<PadText>(`pads/${encodeURIComponent(name)}`, { project: project || undefined });
});

interface Editing {
  name: string;
  project: string;
  revision: number;
  content: string;
  /** Somebody wrote this revision meanwhile. */
  conflict?: number;
}

let editing: Editing | undefined;

export function refreshPads(): void {
  void list.load();
  void pad.load();
}

export function padList(): readonly PadEntry[] {
  return list.value ?? [];
}

/** The project of the address, else the first one that is known. */
function projectOf(chosen: string | undefined): string {
  return chosen ?? projectsOf(state.model)[0]?.directory ?? "";
}

export function pads(name: string | undefined, chosen: string | undefined): TemplateResult {
  const project = projectOf(chosen);
  const entries = state.model.isLoaded ? list.use(project) : undefined;
  return html`<div class="page pads ${name ? "one" : ""}" data-region aria-label=${text.pads}>
    <header class="head">${name ? html`<a class="back" href=${paths.pads(undefined, project)} aria-label=${text.back}>‹</a>` : nothing}<h1>${name ?? text.pads}</h1><span class="space"></span>
      ${projectChoice(project)}
      ${canType(state.model) && !name ? html`<button @click=${() => create(project)}>${text.newPad}</button>` : nothing}</header>
    ${list.error ? html`<p class="error" role="alert">${list.error}</p>` : nothing}
    <div class="pads-body">
      <ul class="list pad-list" data-list>${entries?.map((entry) => html`<li><a class="line" href=${paths.pads(entry.name, project)} aria-current=${entry.name === name ? "page" : nothing}>
        <span class="name">${entry.name}</span><span class="what dim">${text.padMeta(entry.revision, entry.author)}</span>${age(entry.at)}</a></li>`)}</ul>
      ${entries?.length === 0 && !name ? empty(text.noPads, text.noPadsNext) : nothing}
      ${name ? onePad(name, project) : nothing}
    </div></div>`;
}

function projectChoice(project: string): TemplateResult | typeof nothing {
  const projects = projectsOf(state.model);
  if (projects.length < 2) return nothing;
  const choose = (event: Event): void => go(paths.pads(undefined, (event.target as HTMLSelectElement).value));
  return html`<select aria-label=${text.project} @change=${choose}>${projects.map((entry) => html`<option value=${entry.directory} ?selected=${entry.directory === project}>${shortPath(entry.directory)}</option>`)}</select>`;
}

async function create(project: string): Promise<void> {
  const form = await ask({ title: text.newPad, confirm: text.newPad, body: html`<label>${text.padName}<input name="name" required autocomplete="off" spellcheck="false" autocapitalize="off"></label>` });
  const name = String(form?.get("name") ?? "").trim();
  if (name === "") return;
  editing = { name, project, revision: 0, content: "" };
  go(paths.pads(name, project));
}

function onePad(name: string, project: string): TemplateResult {
  if (editing && editing.name === name && editing.project === project) return editor(editing);
  const found = pad.use(JSON.stringify([name, project]));
  if (!found) return html`<article class="pad">${pad.error ? html`<p class="error" role="alert">${pad.error}</p>` : html`<p class="note">${text.loading}</p>`}</article>`;
  const edit = (): void => {
    editing = { name, project, revision: found.revision, content: found.content };
    invalidate();
  };
  return html`<article class="pad"><p class="meta"><span>${text.padMeta(found.revision, found.author)}</span><span class="space"></span>
    ${canType(state.model) ? html`<button @click=${edit}>${text.edit}</button><button class="quiet danger" @click=${() => deletePad(name, project, found.revision)}>${text.deletePad}</button>` : nothing}</p>
    ${found.content.trim() === "" ? html`<p class="note">${text.emptyPad}</p>` : prose(found.content)}</article>`;
}

function editor(mine: Editing): TemplateResult {
  const done = (): void => {
    editing = undefined;
    pad.forget();
    invalidate();
  };
  return html`<form class="pad editor" @submit=${(event: SubmitEvent) => save(event, mine)}>
    ${mine.conflict === undefined ? nothing : html`<p class="error" role="alert">${text.padConflict(mine.conflict)}
      <button type="button" @click=${done}>${text.reload}</button><button type="button" @click=${() => write(mine, mine.conflict ?? 0)}>${text.overwrite}</button></p>`}
    <textarea aria-label=${mine.name} spellcheck="true" ${mount(`pad ${mine.name}`, (element) => {
      const field = element as HTMLTextAreaElement;
      field.value = mine.content;
      field.focus();
      field.oninput = () => {
        mine.content = field.value;
      };
    })}></textarea>
    <p class="buttons"><button type="button" @click=${done}>${text.cancel}</button><button class="primary">${text.save}</button></p></form>`;
}

function save(event: SubmitEvent, mine: Editing): void {
  event.preventDefault();
  void write(mine, mine.revision);
}

async function write(mine: Editing, revision: number): Promise<void> {
  try {
    await call(`pads/${encodeURIComponent(mine.name)}`, {
      method: "PUT", body: { content: mine.content, expected_revision: revision }, query: { project: mine.project || undefined },
    });
    editing = undefined;
    pad.forget();
    void list.load();
    note(text.saved);
  } catch (error) {
    if (error instanceof ApiError && error.status === 409) mine.conflict = error.failure.revision ?? revision + 1;
    else note(errorText(error), true);
  }
  invalidate();
}

async function deletePad(name: string, project: string, revision: number): Promise<void> {
  if (!(await ask({ title: text.deletePadAsk(name), text: text.deletePadText, confirm: text.deletePad, isDangerous: true }))) return;
  try {
    await call(`pads/${encodeURIComponent(name)}`, { method: "DELETE", query: { project: project || undefined, expected_revision: revision } });
    void list.load();
    go(paths.pads(undefined, project));
  } catch (error) {
    note(errorText(error), true);
  }
}


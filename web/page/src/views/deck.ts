// The deck: every process in its section, as rows; the rail shows the same list beside other views.

import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import { commandText, exitText, shortPath } from "../format.ts";
import { canType, deckRows, type Row, type Section, sinceOf } from "../model.ts";
import { paths } from "../router.ts";
import { state } from "../store.ts";
import { SECTION_TITLES, text } from "../strings.ts";
import { age, context, empty, glyph, wordOf } from "../parts/glyph.ts";
import type { ProcessView } from "../types.ts";
import { openNew } from "../parts/new.ts";

export function deck(): TemplateResult {
  const { model } = state;
  const rows = deckRows(model);
  const count = (section: Section): number => rows.get(section)?.length ?? 0;
  return html`<div class="page deck">
    <header class="head">
      <h1>${text.deck}</h1>
      <p class="summary">${model.isLoaded ? text.summary(count("needs"), count("working"), model.processes.size) : text.loading}</p>
      <span class="space"></span>
      ${newButton()}
      <nav class="switch" aria-label=${text.views}><a href=${paths.deck} aria-current="page">${text.list}</a><a href=${paths.wall}>${text.wall}</a></nav>
    </header>
    ${model.isLoaded && model.processes.size === 0 ? empty(text.noProcesses, text.noProcessesNext, text.noProcessesCommand) : nothing}
    ${[...rows].map(([section, members]) => html`<section aria-labelledby="s-${section}" class="group ${section}">
      <h2 id="s-${section}">${SECTION_TITLES[section]} <span class="count">${members.length}</span></h2>
      <ul class="list" data-list>${repeat(members, (row) => row.process.id, deckRow)}</ul>
    </section>`)}
  </div>`;
}

export function newButton(): TemplateResult | typeof nothing {
  return canType(state.model) ? html`<button class="primary" @click=${() => openNew()}>${text.newProcess}</button>` : nothing;
}

export function deckRow({ process, item, depth }: Row): TemplateResult {
  return html`<li class="depth-${Math.min(depth, 4)}"><a class="line" href=${paths.process(process.id)}>
    ${glyph(process)}
    <span class="name">${process.name}</span>
    <span class="kind">${process.agent?.manifest ?? process.argv[0]?.split("/").at(-1) ?? process.kind}</span>
    <span class="what">${whatOf(process, item)}</span>
    <span class="task">${placeOf(process)}</span>
    <span class="percent">${context(process)}</span>
    ${age(sinceOf(process, item))}
  </a></li>`;
}

/** Where a process works: its task, unless it is called like that, or its directory. */
function placeOf({ task, name, cwd }: ProcessView): string {
  return task ? (task === name ? "" : task) : shortPath(cwd, 24);
}

/** The question in one line, with the beginning of what it is about: a title may be no more than a tool's name. */
function questionOf({ title, body }: { title: string; body?: string }): string {
  const first = body?.split("\n").find((line) => line.trim() !== "")?.trim();
  return first ? `${title}${/[.?!:]$/.test(title) ? "" : ":"} ${first}` : title;
}

/** One line about what goes on: the question, the failure, the title, the word. */
export function whatOf({ failure, status, exit, title, agent, ...rest }: ProcessView, item?: { title: string; body?: string }): string {
  if (item) return questionOf(item);
  if (failure) return failure;
  if (status === "exited" && exit) return exitText(exit);
  const message = agent?.evidence?.message;
  if (message && agent?.state !== "idle") return message;
  if (rest.unseen?.what === "turn") return text.turnFinished;
  if (title && title !== rest.name) return title;
  if (rest.kind !== "agent" && status === "running" && rest.ready !== false) return commandText(rest.argv);
  return wordOf({ failure, status, exit, title, agent, ...rest });
}

export function rail(): TemplateResult {
  const rows = deckRows(state.model);
  const current = state.route.view === "process" ? state.route.id : undefined;
  return html`<nav class="rail" data-region aria-label=${text.processes}>
    ${[...rows].map(([section, members]) => html`<section class="group ${section}">
      <h2>${SECTION_TITLES[section]}</h2>
      <ul data-list>${repeat(members, (row) => row.process.id, ({ process, item, depth }) => html`<li class="depth-${Math.min(depth, 4)}">
        <a class="line" href=${paths.process(process.id)} aria-current=${process.id === current ? "page" : nothing}>
          ${glyph(process)}<span class="name">${process.name}</span>${section === "working" || section === "idle" ? context(process) : nothing}${section === "needs" || section === "done" ? age(sinceOf(process, item)) : nothing}
        </a></li>`)}</ul>
    </section>`)}
    <div class="rail-foot">${canType(state.model) ? html`<button class="quiet" @click=${() => openNew()}>+ ${text.newProcess}</button>` : nothing}</div>
  </nav>`;
}

// One process: Now (state, question, last result, live rows), Screen, Log.

import { html, nothing, type TemplateResult } from "lit-html";
import { errorText, get, post, processPath, remove } from "../api.ts";
import { clockTime, exitText } from "../format.ts";
import { canOpenTask, canType, isAdmin, lookOf, sinceOf } from "../model.ts";
import { mount } from "../mount.ts";
import { go } from "../navigate.ts";
import { card } from "../parts/card.ts";
import { composer } from "../parts/composer.ts";
import { ask, openDialog } from "../parts/dialog.ts";
import { age, context, empty, glyph } from "../parts/glyph.ts";
import { menu } from "../parts/menu.ts";
import { prose } from "../parts/prose.ts";
import { afterKey, keybar } from "../parts/keybar.ts";
import { shareLink } from "../parts/share.ts";
import { liveRows } from "../parts/live.ts";
import { screen } from "../parts/screen.ts";
import { isNarrow, isTouch } from "../preferences.ts";
import { Resource } from "../resource.ts";
import { paths, type ProcessTab } from "../router.ts";
import { note, state } from "../store.ts";
import { text } from "../strings.ts";
import type { Explanation, Listening, ProcessView, Turn } from "../types.ts";
import { log } from "./log.ts";

const LIVE_ROWS = 8;

/** The newest turn that is over; the server has no content for an agent without one. */
const result = new Resource<Turn | undefined>((key) => get<Turn | undefined>(processPath(key, "result")));
const listening = new Resource<Listening>((key) => get<Listening>(processPath(key.split(" ")[0]!, "ports")));

/** A phone begins with what matters, a desktop with the screen. */
export const defaultTab = (): ProcessTab => (isNarrow() || isTouch() ? "now" : "screen");

/** Nothing runs that could read what is typed. */
const hasEnded = (process: ProcessView): boolean => ["exited", "failed", "parked"].includes(process.status);

export function process(id: string, chosen: ProcessTab | undefined): TemplateResult {
  const found = state.model.processes.get(id);
  if (!found) return html`<div class="page">${state.model.isLoaded ? empty(text.processGone, html`${text.processGoneNext} <a href=${paths.deck}>${text.go(text.deck)}</a>`) : html`<p class="note">${text.loading}</p>`}</div>`;
  const tab = chosen ?? defaultTab();
  return html`<div class="page process tab-${tab}">
    ${header(found, tab)}
    ${tab === "now" ? now(found) : tab === "log" ? log(found) : screenTab(found)}
  </div>`;
}

function header(process: ProcessView, tab: ProcessTab): TemplateResult {
  const item = state.model.inbox.find((other) => other.id === process.id);
  const link = (name: ProcessTab, label: string): TemplateResult =>
    html`<a href=${paths.process(process.id, name)} aria-current=${tab === name ? "page" : nothing}>${label}</a>`;
  return html`<header class="head">
    <a class="back" href=${paths.deck} aria-label=${text.back}>‹</a>
    <h1>${process.name}</h1>
    <p class="facts">${glyph(process, true)} ${age(sinceOf(process, item))}
      ${process.agent ? html`<span class="kind">${process.agent.manifest}</span>` : nothing}
      ${context(process)}
      ${process.task && canOpenTask(state.model, process.task) ? html`<a class="task" href=${paths.task(process.task)}>${process.task}</a>` : nothing}
      ${process.agent ? html`<button class="quiet why" @click=${() => explain(process)}>${text.why}</button>` : nothing}</p>
    <span class="space"></span>
    ${actions(process)}
    <nav class="switch" aria-label=${text.views}>${link("now", text.now)}${link("screen", text.screen)}${link("log", text.log)}</nav>
  </header>`;
}

function actions(process: ProcessView): TemplateResult | typeof nothing {
  if (!canType(state.model)) return nothing;
  const isOver = hasEnded(process);
  const busy = process.agent && ["working", "thinking"].includes(process.agent.state);
  return menu(html`
    ${process.agent ? html`<button @click=${() => explain(process)}>${text.why}</button>` : nothing}
    ${busy ? html`<button @click=${() => run(process, "interrupt")}>${text.interrupt}</button>` : nothing}
    ${isOver && process.kind === "agent" ? html`<button @click=${() => run(process, "resume")}>${text.resume}</button>` : nothing}
    <button @click=${() => run(process, "restart")}>${text.restart}</button>
    <button @click=${() => rename(process)}>${text.rename}</button>
    ${isAdmin(state.model) ? html`<button @click=${() => shareLink({ process: process.id })}>${text.shareLink}</button>` : nothing}
    ${isOver ? nothing : html`<button class="danger" @click=${() => kill(process)}>${text.kill}</button>`}
    <button class="danger" @click=${() => close(process)}>${text.remove}</button>`);
}

async function run(process: ProcessView, verb: string, body: object = {}): Promise<void> {
  try {
    await post(processPath(process.id, verb), body);
  } catch (error) {
    note(errorText(error), true);
  }
}

async function kill(process: ProcessView): Promise<void> {
  if (await ask({ title: text.killAsk(process.name), text: text.killText, confirm: text.kill, isDangerous: true })) void run(process, "kill");
}

async function close(process: ProcessView): Promise<void> {
  if (!(await ask({ title: text.removeAsk(process.name), text: text.removeText, confirm: text.remove, isDangerous: true }))) return;
  try {
    await remove(processPath(process.id));
    go(paths.deck);
  } catch (error) {
    note(errorText(error), true);
  }
}

async function rename(process: ProcessView): Promise<void> {
  const form = await ask({
    title: text.rename, confirm: text.rename,
    body: html`<label>${text.newName}<input name="name" required .value=${process.name} autocomplete="off" spellcheck="false" autocapitalize="off"></label>`,
  });
  if (form) void run(process, "rename", { name: String(form.get("name")) });
}

async function explain(process: ProcessView): Promise<void> {
  try {
    const why = await get<Explanation>(processPath(process.id, "explain"));
    const dialog = openDialog("ask explain");
    dialog.draw(html`<h2>${text.whyTitle(process.name)}</h2><p>${why.why}</p>
      <h3>${text.evidence}</h3>
      <ul class="evidence">${why.opinions.map((opinion) => html`<li class=${opinion.counts ? "" : "dim"}>
        <strong>${opinion.source}</strong> ${opinion.state ?? "–"} <span class="dim">${opinion.rule} · ${age(opinion.at)} · ${opinion.counts ? text.counts : text.doesNotCount}</span>
        ${opinion.message ? html`<br>${opinion.message}` : nothing}</li>`)}</ul>
      <div class="buttons"><button class="primary" @click=${dialog.close}>${text.close}</button></div>`);
  } catch (error) {
    note(errorText(error), true);
  }
}

function ending(process: ProcessView): TemplateResult | typeof nothing {
  if (process.failure) return html`<p class="error">${process.failure}</p>`;
  if (process.status !== "exited" || !process.exit) return nothing;
  return html`<p class="ending ${lookOf(process)}">${text.ended(exitText(process.exit))}
    ${canType(state.model) ? html`<button class="quiet" @click=${() => run(process, process.kind === "agent" ? "resume" : "restart")}>${process.kind === "agent" ? text.resume : text.restart}</button>` : nothing}</p>`;
}

function items(process: ProcessView): TemplateResult[] {
  return state.model.inbox.filter((item) => item.id === process.id).map((item) => card(item));
}

function now(process: ProcessView): TemplateResult {
  return html`<div class="now-scroll" data-region aria-label=${text.now}>
    ${ending(process)}
    ${items(process)}
    ${process.agent ? lastSaid(process) : nothing}
    ${onScreen(process, LIVE_ROWS)}
    ${facts(process)}
  </div>
  ${hasEnded(process) ? nothing : canType(state.model) ? html`<div class="typing">${composer(process)}${isTouch() || isNarrow() ? keybar(process) : nothing}</div>` : html`<p class="note typing">${text.mayWatch}</p>`}`;
}

/** The last rows of a process's screen, renewed while they are seen. */
export function onScreen(process: ProcessView, rows: number): TemplateResult {
  return html`<section class="block"><h2><a href=${paths.process(process.id, "screen")}>${text.liveRows} ›</a></h2>
    <div class="rows live" tabindex="0" role="region" aria-label=${text.textLabel(process.name)} ${mount(`live ${process.id}`, (element) => {
      const live = liveRows(element, process.id, { rows, every: 1000 });
      afterKey.run = live.renew;
      return live.stop;
    })}></div></section>`;
}

function lastSaid(process: ProcessView): TemplateResult {
  const { turn: newest, state: doing } = process.agent ?? { turn: 0, state: "" };
  // What an agent said is asked for again whenever a turn may have ended.
  const turn = newest > 0 ? result.use(process.id, `${newest} ${doing} ${state.model.endedTurns.get(process.id) ?? 0}`) : undefined;
  if (!turn?.text) return html`<section class="block"><p class="note">${newest > 0 && result.isLoading ? text.loading : text.saidNothing}</p></section>`;
  return html`<section class="block said"><h2>${text.lastSaid(clockTime(turn.ended_at ?? turn.began_at, state.now))}</h2>${prose(turn.text)}</section>`;
}

function facts(process: ProcessView): TemplateResult {
  const ports = process.status === "running" && process.kind !== "agent" ? listening.use(`${process.id} ${process.run}`) : undefined;
  return html`<dl class="block facts-list">
    ${ports?.ports.length ? html`<dt>${text.ports}</dt><dd>${ports.ports.map((port) => `:${port.port}`).join(" ")}</dd>` : nothing}
    <dt>${text.command}</dt><dd><code>${process.argv.join(" ")}</code></dd>
    <dt>${text.directory}</dt><dd><code>${process.cwd}</code></dd>
    <dt>${text.size(process.size.cols, process.size.rows)}</dt><dd>${text.viewers(process.viewers)} · ${text.runNumber(process.run)} · ${text.owner(process.owner)}</dd>
  </dl>`;
}

function screenTab(process: ProcessView): TemplateResult {
  const cards = items(process);
  return html`${ending(process)}
    ${screen(process)}
    ${cards.length > 0 ? html`<div class="screen-cards">${cards}</div>` : nothing}
    ${canType(state.model) && !hasEnded(process) && (isTouch() || isNarrow()) ? html`<div class="typing">${composer(process)}${keybar(process)}</div>` : nothing}`;
}

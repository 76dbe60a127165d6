// The palette: finds processes, tasks, pads and views, and does what the page can do.

import { html, nothing } from "lit-html";
import { canType } from "../model.ts";
import { go } from "../navigate.ts";
import { isDark, setTheme } from "../preferences.ts";
import { paths } from "../router.ts";
import { rank } from "../search.ts";
import { state } from "../store.ts";
import { text } from "../strings.ts";
import { openDialog } from "./dialog.ts";
import { glyph } from "./glyph.ts";
import { openHelp } from "./help.ts";
import { openNew, openNewTask } from "./new.ts";
import type { ProcessView } from "../types.ts";

interface Entry {
  label: string;
  kind: string;
  process?: ProcessView;
  run: () => void;
}

const LIMIT = 12;
/** Entries of views that load lazily. */
export const extra: { entries: () => { label: string; kind: string; path: string }[] } = { entries: () => [] };

function entries(): Entry[] {
  const isLink = state.model.me?.target !== undefined;
  const views: [string, string][] = [[text.deck, paths.deck], [text.wall, paths.wall], ...(isLink ? [] : [[text.inbox, paths.inbox], [text.tasks, paths.tasks], [text.pads, paths.pads()]] as [string, string][]), [text.settings, paths.settings]];
  const needs = state.model.inbox.map((item): Entry => ({ label: `${item.name}: ${item.title}`, kind: text.inbox, run: () => go(paths.item(item.item)) }));
  const processes = [...state.model.processes.values()].map((process): Entry => ({ label: process.name, kind: process.agent?.manifest ?? text.kindProcess, process, run: () => go(paths.process(process.id)) }));
  const others = extra.entries().map((entry): Entry => ({ label: entry.label, kind: entry.kind, run: () => go(entry.path) }));
  const actions: Entry[] = [
    ...(canType(state.model) ? [{ label: text.newTitle, kind: text.kindAction, run: () => openNew() }, { label: text.newTask, kind: text.kindAction, run: openNewTask }] : []),
    { label: text.theme, kind: text.kindAction, run: () => setTheme(isDark() ? "light" : "dark") },
    { label: text.helpTitle, kind: text.kindAction, run: openHelp },
  ];
  return [...needs, ...processes, ...others, ...views.map(([label, path]): Entry => ({ label: text.go(label), kind: text.kindView, run: () => go(path) })), ...actions];
}

function found(query: string): Entry[] {
  const ranked = entries().map((entry, order) => ({ entry, order, rank: rank(query, `${entry.label} ${entry.kind}`) }));
  return ranked.filter((one) => one.rank !== undefined)
    .sort((a, b) => (query === "" ? 0 : a.rank! - b.rank!) || a.order - b.order)
    .slice(0, LIMIT).map((one) => one.entry);
}

export function openPalette(): void {
  if (document.querySelector("dialog.palette")) return;
  let query = "";
  let chosen = 0;
  const dialog = openDialog("palette");
  const run = (entry: Entry | undefined): void => {
    dialog.close();
    entry?.run();
  };
  const keydown = (event: KeyboardEvent): void => {
    const list = found(query);
    if (event.key === "ArrowDown" || (event.ctrlKey && event.key === "n")) chosen = Math.min(list.length - 1, chosen + 1);
    else if (event.key === "ArrowUp" || (event.ctrlKey && event.key === "p")) chosen = Math.max(0, chosen - 1);
    else if (event.key === "Enter") return run(list[chosen]);
    else return;
    event.preventDefault();
    draw();
  };
  const draw = (): void => {
    const list = found(query);
    chosen = Math.max(0, Math.min(chosen, list.length - 1));
    dialog.draw(html`<input type="search" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant=${list.length > 0 ? `entry-${chosen}` : nothing}
        aria-label=${text.paletteLabel} placeholder=${text.findOrDo} autocomplete="off" spellcheck="false" autocapitalize="off"
        @keydown=${keydown} @input=${(event: InputEvent) => {
          query = (event.target as HTMLInputElement).value;
          chosen = 0;
          draw();
        }}>
      <ul id="palette-list" role="listbox" aria-label=${text.paletteLabel}>${list.map((entry, index) => html`<li id="entry-${index}" role="option" aria-selected=${String(index === chosen)} @click=${() => run(entry)}>
        ${entry.process ? glyph(entry.process) : html`<span class="glyph" aria-hidden="true">›</span>`}<span class="name">${entry.label}</span><span class="kind">${entry.kind}</span></li>`)}
      ${list.length === 0 ? html`<li class="note">${text.paletteEmpty}</li>` : nothing}</ul>`);
  };
  draw();
}

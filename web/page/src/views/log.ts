// The log of a process as text that cannot move: the lines above the screen in pages by line id, then the screen, and a search.

import { html, nothing, type TemplateResult } from "lit-html";
import { errorText, get, processPath } from "../api.ts";
import { mount } from "../mount.ts";
import { fontSize, isNarrow, onAppearance } from "../preferences.ts";
import { SCREEN_BYTES } from "../parts/live.ts";
import { rowElement, withoutEmptyEnd } from "../rows.ts";
import { invalidate } from "../store.ts";
import { text } from "../strings.ts";
import type { ProcessView, ScreenText, SearchMatch, StyledRow } from "../types.ts";

const PAGE_BYTES = 128 * 1024;
const RENEW_MS = 2000;

interface Search {
  pattern: string;
  matches?: SearchMatch[];
  error?: string;
}

let search: Search | undefined;
let current: LogPages | undefined;

export function log(process: ProcessView): TemplateResult {
  return html`<section class="log" data-region aria-label=${text.log}>
    <form class="log-search" role="search" @submit=${(event: SubmitEvent) => find(event, process)}>
      <input type="search" name="pattern" placeholder=${text.searchLog} aria-label=${text.searchLog} autocomplete="off" spellcheck="false" autocapitalize="off">
      <button>${text.search}</button>
      <button type="button" class="quiet" aria-label=${text.toEnd} title=${text.toEnd} @click=${() => current?.toEnd()}>${isNarrow() ? "↓" : text.toEnd}</button>
    </form>
    ${search ? results(search) : nothing}
    <div class="log-scroll" tabindex="0" role="region" aria-label=${text.textLabel(process.name)} ${mount(`log ${process.id} ${process.run}`, (element) => {
      search = undefined;
      const pages = new LogPages(element, process.id);
      current = pages;
      return () => pages.stop();
    })}></div>
  </section>`;
}

async function find(event: SubmitEvent, process: ProcessView): Promise<void> {
  event.preventDefault();
  const pattern = String(new FormData(event.target as HTMLFormElement).get("pattern") ?? "");
  if (pattern === "") {
    search = undefined;
    return invalidate();
  }
  search = { pattern };
  invalidate();
  try {
    const found = await get<{ matches: SearchMatch[] } | SearchMatch[]>(processPath(process.id, "search"), { pattern, limit: 200 });
    search = { pattern, matches: Array.isArray(found) ? found : found.matches };
  } catch (error) {
    search = { pattern, error: errorText(error) };
  }
  invalidate();
}

function results(found: Search): TemplateResult {
  if (found.error) return html`<p class="error" role="alert">${found.error}</p>`;
  if (!found.matches) return html`<p class="note">${text.loading}</p>`;
  return html`<div class="matches"><p class="note" role="status">${found.matches.length === 0 ? text.noMatches : text.matches(found.matches.length)}</p>
    <ul>${found.matches.map((match) => html`<li><button class="quiet" @click=${() => current?.show(match.line)}>${match.text}</button></li>`)}</ul></div>`;
}

/** The pages of one log in one element. */
class LogPages {
  private readonly top = document.createElement("p");
  private readonly history = document.createElement("div");
  private readonly screen = document.createElement("div");
  private first: number | undefined;
  private next: number | undefined;
  /** The line at the top of the screen; the history ends before it. */
  private screenLine: number | undefined;
  private isLoading = false;
  private isStopped = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly stopAppearance: () => void;
  private readonly onScroll = (): void => {
    if (this.element.scrollTop < 400) void this.earlier();
  };

  constructor(private readonly element: HTMLElement, private readonly process: string) {
    this.top.className = "note";
    this.history.className = "rows";
    this.screen.className = "rows on-screen";
    element.append(this.top, this.history, this.screen);
    const applyFont = (): void => element.style.setProperty("--rows-size", `${fontSize()}px`);
    applyFont();
    this.stopAppearance = onAppearance(applyFont);
    element.addEventListener("scroll", this.onScroll, { passive: true });
    void this.begin();
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
    this.stopAppearance();
    this.element.removeEventListener("scroll", this.onScroll);
    this.element.replaceChildren();
  }

  toEnd(): void {
    this.element.scrollTop = this.element.scrollHeight;
  }

  /** Shows a line, with the pages between it and the first one that is here. */
  async show(line: number): Promise<void> {
    while (this.first !== undefined && line < this.first && !this.isStopped) {
      const before = this.first;
      await this.earlier();
      if (this.first === before) break;
    }
    const row = this.history.querySelector(`[data-line="${line}"]`) ?? this.screen.children[line - (this.screenLine ?? 0)] ?? this.screen;
    row.scrollIntoView({ block: "center" });
    row.classList.add("found");
    setTimeout(() => row.classList.remove("found"), 2000);
  }

  private page(since?: number, until?: number): Promise<ScreenText> {
    return get<ScreenText>(processPath(this.process, "history"), { styles: true, since, until, limit: PAGE_BYTES });
  }

  private async begin(): Promise<void> {
    try {
      const screen = await this.readScreen();
      const page = await this.page(undefined, screen.first_line);
      if (this.isStopped) return;
      this.insert(page, false);
      this.next ??= screen.first_line ?? page.offset;
      this.showScreen(screen);
      this.toEnd();
      this.timer = setTimeout(() => void this.renew(), RENEW_MS);
    } catch (error) {
      this.top.textContent = errorText(error);
    }
  }

  private readScreen(): Promise<ScreenText> {
    return get<ScreenText>(processPath(this.process, "screen"), { styles: true, limit: SCREEN_BYTES });
  }

  private showScreen(screen: ScreenText): void {
    this.screenLine = screen.first_line;
    this.dropShown(screen.first_line ?? Infinity);
    this.screen.replaceChildren(...withoutEmptyEnd(screen.rows ?? []).map(rowElement));
  }

  /** Removes lines that are on the screen again, as after a resize. */
  private dropShown(line: number): void {
    for (let last = this.history.lastElementChild; last && Number((last as HTMLElement).dataset["line"]) >= line; last = this.history.lastElementChild) {
      last.remove();
      this.next = line;
    }
  }

  /** Adds what came since; the reader's place does not move unless it is the end. */
  private async renew(): Promise<void> {
    if (this.isStopped) return;
    if (!document.hidden) {
      const isAtEnd = this.element.scrollHeight - this.element.scrollTop - this.element.clientHeight < 40;
      try {
        const screen = await this.readScreen();
        const hasMore = screen.first_line === undefined || screen.first_line > (this.next ?? 0);
        const page = hasMore ? await this.page(this.next, screen.first_line) : undefined;
        if (this.isStopped) return;
        if (page?.rows?.length) this.insert(page, true);
        this.showScreen(screen);
        if (isAtEnd) this.toEnd();
      } catch {
        // The next attempt follows; the page says elsewhere that the connection is away.
      }
    }
    this.timer = setTimeout(() => void this.renew(), RENEW_MS);
  }

  private async earlier(): Promise<void> {
    if (this.isLoading || this.first === undefined || this.first === 0 || this.isStopped) return;
    this.isLoading = true;
    try {
      const page = await this.page(undefined, this.first);
      if (this.isStopped) return;
      const before = this.element.scrollHeight - this.element.scrollTop;
      const first = this.first;
      this.insert(page, false);
      if (this.first === first) this.first = 0;
      this.element.scrollTop = this.element.scrollHeight - before;
    } catch (error) {
      this.top.textContent = errorText(error);
    } finally {
      this.isLoading = false;
    }
  }

  private insert(page: ScreenText, isNewer: boolean): void {
    const rows = page.rows ?? [];
    const elements = rows.map(numbered);
    if (isNewer) this.history.append(...elements);
    else this.history.prepend(...elements);
    const [begin, end] = [rows[0], rows.at(-1)];
    if (begin && !isNewer) this.first = begin.line;
    if (end) this.next = Math.max(this.next ?? 0, end.line + 1);
    if (!isNewer) this.top.textContent = this.topText(page);
  }

  private topText(page: ScreenText): string {
    if (this.first === undefined) return text.emptyLog;
    if (page.missed > 0 && !page.truncated) return text.lost(page.missed);
    return this.first === 0 ? text.beginning : text.earlier;
  }
}

function numbered(row: StyledRow): HTMLElement {
  const element = rowElement(row);
  element.dataset["line"] = String(row.line);
  return element;
}

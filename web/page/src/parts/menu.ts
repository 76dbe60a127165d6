// A menu of further actions behind three dots.

import { html, type TemplateResult } from "lit-html";
import { text } from "../strings.ts";

export function menu(entries: unknown): TemplateResult {
  return html`<details class="menu" @toggle=${closeOnClickOutside} @keydown=${closeOnEscape}><summary aria-label=${text.actions}>⋯</summary><div class="menu-list" @click=${{ handleEvent: close, capture: true }}>${entries}</div></details>`;
}

/** Closes the menu before the entry acts: the keyboard goes back to where it was opened, and a dialog gives it back there, too. */
function close(event: Event): void {
  const opened = (event.currentTarget as HTMLElement).closest("details");
  opened?.removeAttribute("open");
  opened?.querySelector("summary")?.focus();
}

function closeOnEscape(event: KeyboardEvent): void {
  if (event.key !== "Escape" || !(event.currentTarget as HTMLDetailsElement).open) return;
  event.stopPropagation();
  close(event);
}

function closeOnClickOutside(event: Event): void {
  const opened = event.target as HTMLDetailsElement;
  if (!opened.open) return;
  place(opened);
  const outside = (click: Event): void => {
    if (opened.contains(click.target as Node)) return;
    opened.open = false;
    document.removeEventListener("click", outside, true);
  };
  document.addEventListener("click", outside, true);
}

/** The list opens to the left, unless it would leave the main part of the page. */
function place(opened: HTMLDetailsElement): void {
  const list = opened.querySelector<HTMLElement>(".menu-list")!;
  const edge = opened.closest("main")?.getBoundingClientRect().left ?? 0;
  list.classList.toggle("to-right", opened.getBoundingClientRect().right - list.offsetWidth < edge);
}

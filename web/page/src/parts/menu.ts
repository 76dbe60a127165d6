// A menu of further actions behind three dots.

import { html, type TemplateResult } from "lit-html";
import { text } from "../strings.ts";

export function menu(entries: unknown): TemplateResult {
  return html`<details class="menu" @toggle=${closeOnClickOutside}><summary aria-label=${text.actions}>⋯</summary><div class="menu-list" @click=${close}>${entries}</div></details>`;
}

function close(event: Event): void {
  (event.currentTarget as HTMLElement).closest("details")?.removeAttribute("open");
}

function closeOnClickOutside(event: Event): void {
  const opened = event.target as HTMLDetailsElement;
  if (!opened.open) return;
  const outside = (click: Event): void => {
    if (opened.contains(click.target as Node)) return;
    opened.open = false;
    document.removeEventListener("click", outside, true);
  };
  document.addEventListener("click", outside, true);
}

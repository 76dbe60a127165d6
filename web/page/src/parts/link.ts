// Links that programs and agents made: the whole target is shown before it opens.

import { html } from "lit-html";
import { safeTarget } from "../markdown.ts";
import { text } from "../strings.ts";
import { openDialog } from "./dialog.ts";

/** Shows where a link leads and opens it when a person says so. */
export function askLink(target: string): void {
  const href = safeTarget(target);
  if (!href) return;
  const dialog = openDialog("ask");
  dialog.draw(html`<h2>${text.openLink}</h2><p>${text.openLinkText}</p><pre class="body" tabindex="0">${href}</pre>
    <div class="buttons"><button @click=${dialog.close}>${text.cancel}</button>
    <a class="button primary" href=${href} target="_blank" rel="noopener noreferrer" @click=${dialog.close}>${text.open}</a></div>`);
}

/** Asks when an anchor is clicked, with whichever button or key, instead of following it. */
export function askFirst(event: Event): void {
  event.preventDefault();
  event.stopPropagation();
  askLink((event.currentTarget as HTMLAnchorElement).href);
}

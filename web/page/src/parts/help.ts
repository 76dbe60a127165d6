// The list of keys.

import { html } from "lit-html";
import { text } from "../strings.ts";
import { openDialog } from "./dialog.ts";

export function openHelp(): void {
  const dialog = openDialog("ask help");
  dialog.draw(html`<h2>${text.helpTitle}</h2>
    <dl class="keys">${text.help.map(([keys, action]) => html`<dt>${keys.split("  ").map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${action}</dd>`)}</dl>
    <div class="buttons"><button class="primary" @click=${dialog.close}>${text.close}</button></div>`);
}

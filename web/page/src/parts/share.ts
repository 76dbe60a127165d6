// Makes a view-only link to a process.

import { html } from "lit-html";
import { errorText, post } from "../api.ts";
import { note } from "../store.ts";
import { text } from "../strings.ts";
import { ask, openDialog } from "./dialog.ts";
import { commandLine } from "./glyph.ts";

export async function shareLink(process: string): Promise<void> {
  const form = await ask({
    title: text.shareLink, confirm: text.makeLink,
    body: html`<label>${text.linkHours}<input name="hours" type="number" min="1" max="168" .value=${"24"} required></label>`,
  });
  if (!form) return;
  try {
    const link = await post<{ secret: string }>("links", { process, minutes: Number(form.get("hours")) * 60 });
    const dialog = openDialog("ask");
    dialog.draw(html`<h2>${text.shareLink}</h2><p>${text.linkMade}</p>${commandLine(`${document.baseURI}#l=${link.secret}`)}
      <div class="buttons"><button class="primary" @click=${dialog.close}>${text.close}</button></div>`);
  } catch (error) {
    note(errorText(error), true);
  }
}

// Gives access to others: a view-only link to a process or a task, and a token for a program. The server shows each secret once.

import { html, nothing, type TemplateResult } from "lit-html";
import { errorText, get, post } from "../api.ts";
import { state } from "../store.ts";
import { text } from "../strings.ts";
import type { Role, TaskView } from "../types.ts";
import { openDialog } from "./dialog.ts";
import { commandLine } from "./glyph.ts";

/** What a dialog asks for, and what it shows afterwards. */
interface Mint {
  title: string;
  note?: string;
  confirm: string;
  fields: () => TemplateResult;
  call: (form: FormData) => Promise<{ secret: string }>;
  made: (secret: string) => TemplateResult;
  /** Called when something was made. */
  done: () => void;
}

/** Opens the dialog; returns what draws it again. */
function openMint(mint: Mint): () => void {
  let secret: string | undefined;
  let error = "";
  const dialog = openDialog("ask");
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    error = "";
    try {
      ({ secret } = await mint.call(form));
      mint.done();
    } catch (failure) {
      error = errorText(failure);
    }
    draw();
  };
  const asked = (): TemplateResult => html`<form method="dialog" @submit=${submit} aria-label=${mint.title}>
    <h2>${mint.title}</h2>
    ${mint.note ? html`<p>${mint.note}</p>` : nothing}
    ${mint.fields()}
    ${error ? html`<p class="error" role="alert">${error}</p>` : nothing}
    <div class="buttons"><button type="button" @click=${dialog.close}>${text.cancel}</button><button class="primary">${mint.confirm}</button></div>
  </form>`;
  const draw = (): void => dialog.draw(secret === undefined ? asked() : html`<h2>${mint.title}</h2>${mint.made(secret)}
    <div class="buttons"><button class="primary" @click=${dialog.close}>${text.close}</button></div>`);
  draw();
  return draw;
}

const hoursField = (): TemplateResult => html`<label>${text.linkHours}<input name="hours" type="number" min="1" max="168" .defaultValue=${"24"} required></label>`;

type LinkTarget = { process: string } | { task: string };

const makeLink = (target: LinkTarget, form: FormData): Promise<{ secret: string }> => post("links", { ...target, minutes: Number(form.get("hours")) * 60 });

const linkMade = (secret: string): TemplateResult => html`<p>${text.linkMade}</p>${commandLine(`${document.baseURI}#l=${secret}`)}`;

/** Makes a link to what is shown. */
export function shareLink(target: LinkTarget): void {
  openMint({
    title: text.shareLink, confirm: text.makeLink, note: "task" in target ? text.linkShowsTask : text.linkShowsProcess,
    fields: hoursField, call: (form) => makeLink(target, form), made: linkMade, done: () => undefined,
  });
}

/** Makes a link to a process or a task that is chosen. */
export function newLink(done: () => void): void {
  let tasks: string[] = [];
  const processes = [...state.model.processes.values()];
  const draw = openMint({
    title: text.newLink, confirm: text.makeLink, note: text.linkShowsOne, done, made: linkMade,
    fields: () => html`<label>${text.linkTo}<select name="target" required>
      ${processes.map((process) => html`<option value="process ${process.id}">${process.name}</option>`)}
      ${tasks.map((task) => html`<option value="task ${task}">${text.taskLink(task)}</option>`)}
    </select></label>${hoursField()}`,
    call: (form) => {
      const [kind = "", name = ""] = String(form.get("target")).split(" ");
      return makeLink(kind === "task" ? { task: name } : { process: name }, form);
    },
  });
  void get<TaskView[]>("tasks").then((all) => {
    tasks = all.map((task) => task.name);
    draw();
  }, () => undefined);
}

/** Makes a token for a program. */
export function newToken(done: () => void): void {
  const roles: Role[] = ["view", "type", "admin"];
  openMint({
    title: text.newToken, confirm: text.makeToken, note: text.tokenNote, done,
    fields: () => html`<label>${text.tokenName}<input name="name" required maxlength="64" placeholder=${text.tokenNamePlaceholder} autocomplete="off" spellcheck="false" autocapitalize="off"></label>
      <label>${text.tokenRole}<select name="role">${roles.map((role) => html`<option value=${role}>${text.roleChoices[role]}</option>`)}</select></label>
      <label>${text.tokenDays}<input name="days" type="number" min="1" max="3650" .defaultValue=${"90"} placeholder=${text.tokenForEver}></label>`,
    call: (form) => {
      const days = Number(form.get("days"));
      return post("tokens", { name: String(form.get("name")).trim(), role: form.get("role"), ...(days > 0 ? { minutes: days * 24 * 60 } : {}) });
    },
    made: (secret) => html`<p>${text.tokenMade}</p>${commandLine(secret)}<p class="dim">${text.tokenUse}</p>${commandLine(text.tokenCommand(document.baseURI))}`,
  });
}

// The dialog that starts a process: an installed agent, a shell or a command.

import { html, nothing } from "lit-html";
import { errorText, get, post } from "../api.ts";
import { projectsOf } from "../model.ts";
import { go } from "../navigate.ts";
import { paths } from "../router.ts";
import { note, state } from "../store.ts";
import { text } from "../strings.ts";
import type { AgentOffer } from "../types.ts";
import { openDialog } from "./dialog.ts";

/** Opens the dialog. */
export function openNew(): void {
  let agents: AgentOffer[] = [];
  let kind = "terminal";
  let error = "";
  const dialog = openDialog("ask new");
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    try {
      const spawned = await post<{ id: string; warning?: string }>("processes", request(kind, new FormData(event.target as HTMLFormElement)));
      if (spawned.warning) note(spawned.warning);
      dialog.close();
      go(paths.process(spawned.id));
    } catch (failure) {
      error = errorText(failure);
      draw();
    }
  };
  const choose = (event: Event): void => {
    kind = (event.target as HTMLSelectElement).value;
    draw();
  };
  const draw = (): void => dialog.draw(html`<form method="dialog" @submit=${submit} aria-label=${text.newTitle}>
    <h2>${text.newTitle}</h2>
    <label>${text.kindLabel}<select name="kind" @change=${choose}>
      ${agents.map((agent) => html`<option value="agent ${agent.name}" ?disabled=${!agent.program}>${text.agentKind(agent.name)}${agent.program ? "" : ` (${text.notInstalled})`}</option>`)}
      <option value="terminal" ?selected=${kind === "terminal"}>${text.kinds.terminal}</option>
      <option value="command">${text.kinds.command}</option>
    </select></label>
    ${kind === "command" ? html`<label>${text.commandLabel}<input name="command" required autocomplete="off" spellcheck="false" autocapitalize="off"></label>` : nothing}
    ${kind.startsWith("agent ") ? html`<label>${text.promptLabel}<textarea name="prompt" rows="3"></textarea></label>` : nothing}
    <label>${text.directoryLabel}<input name="cwd" list="directories" placeholder=${text.directoryPlaceholder} autocomplete="off" spellcheck="false" autocapitalize="off"></label>
    <datalist id="directories">${projectsOf(state.model).map((project) => html`<option value=${project.directory}></option>`)}</datalist>
    <label>${text.nameLabel}<input name="name" placeholder=${text.namePlaceholder} autocomplete="off" spellcheck="false" autocapitalize="off"></label>
    ${error ? html`<p class="error" role="alert">${error}</p>` : nothing}
    <div class="buttons"><button type="button" @click=${dialog.close}>${text.cancel}</button><button class="primary">${text.start}</button></div>
  </form>`);
  draw();
  void get<AgentOffer[]>("agents").then((offers) => {
    agents = offers;
    draw();
  }, () => undefined);
}

function request(kind: string, form: FormData): object {
  const field = (name: string): string | undefined => String(form.get(name) ?? "").trim() || undefined;
  const shared = { name: field("name"), cwd: field("cwd"), size: { cols: 120, rows: 36 } };
  if (kind === "terminal") return { ...shared, kind: "terminal" };
  if (kind === "command") return { ...shared, kind: "command", argv: ["/bin/sh", "-c", field("command")] };
  return { ...shared, kind: "agent", argv: [kind.slice("agent ".length)], agent: { prompt: field("prompt") } };
}

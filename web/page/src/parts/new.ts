// The dialogs that start a process (an installed agent, a shell or a command) and make a task.

import { html, nothing, type TemplateResult } from "lit-html";
import { errorText, get, post } from "../api.ts";
import { projectsOf } from "../model.ts";
import { go } from "../navigate.ts";
import { lastAgent, setLastAgent } from "../preferences.ts";
import { paths } from "../router.ts";
import { note, state } from "../store.ts";
import { text } from "../strings.ts";
import type { AgentOffer, TaskView } from "../types.ts";
import { type Opened, openDialog } from "./dialog.ts";

/** Opens the dialog for a process; with a task it starts in that. */
export function openNew(task?: string): void {
  let agents: AgentOffer[] = [];
  let kind = "terminal";
  let error = "";
  const dialog = openDialog("ask new");
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    try {
      const spawned = await post<{ id: string; warning?: string; shortfalls?: string[] }>("processes", { ...request(kind, new FormData(event.target as HTMLFormElement)), ...(task ? { task } : {}) });
      const lacks = [spawned.warning, ...(spawned.shortfalls ?? [])].filter((sentence) => sentence);
      if (lacks.length > 0) note(lacks.join(" "));
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
    ${task ? nothing : directoryField("cwd", text.directoryLabel, text.directoryPlaceholder, directories())}
    <label>${text.nameLabel}<input name="name" placeholder=${text.namePlaceholder} autocomplete="off" spellcheck="false" autocapitalize="off"></label>
    ${formEnd(dialog, error, text.start)}
  </form>`);
  draw();
  fetchAgents((offers) => {
    agents = offers;
    draw();
  });
}

/** Fetches the agents; a form without them is still of use. */
function fetchAgents(show: (offers: AgentOffer[]) => void): void {
  void get<AgentOffer[]>("agents").then(show, () => undefined);
}

/** The end of a form: what went wrong, and its two buttons. */
const formEnd = (dialog: Opened, error: string, confirm: string): TemplateResult => html`${error ? html`<p class="error" role="alert">${error}</p>` : nothing}
  <div class="buttons"><button type="button" @click=${dialog.close}>${text.cancel}</button><button class="primary">${confirm}</button></div>`;

const directories = (): string[] => projectsOf(state.model).map((project) => project.directory);

const directoryField = (name: string, label: string, placeholder: string, known: readonly string[], isRequired = false): TemplateResult => html`<label>${label}<input name=${name} list="directories" placeholder=${placeholder} ?required=${isRequired} autocomplete="off" spellcheck="false" autocapitalize="off"></label>
  <datalist id="directories">${known.map((directory) => html`<option value=${directory}></option>`)}</datalist>`;

/** Opens the dialog for a task; an agent that is chosen begins to work in it. */
export function openNewTask(): void {
  let agents: AgentOffer[] = [];
  let agent = "";
  let known = directories();
  let error = "";
  const dialog = openDialog("ask new");
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    const field = (name: string): string | undefined => String(form.get(name) ?? "").trim() || undefined;
    const name = field("name") ?? "";
    try {
      await post("tasks", { name, directory: field("directory") ?? known[0] ?? "", worktree: form.get("worktree") !== null, agent: agent || undefined, prompt: field("prompt") });
      note(text.taskMade(name));
      dialog.close();
      go(paths.task(name));
      if (agent) await post("processes", { ...request(`agent ${agent}`, form), name: undefined, task: name });
    } catch (failure) {
      error = errorText(failure);
      if (dialog.element.open) draw();
      else note(error, true);
    }
  };
  const choose = (event: Event): void => {
    agent = (event.target as HTMLSelectElement).value;
    setLastAgent(agent);
    draw();
  };
  const draw = (): void => dialog.draw(html`<form method="dialog" @submit=${submit} aria-label=${text.newTask}>
    <h2>${text.newTask}</h2>
    <label>${text.taskName}<input name="name" required autocomplete="off" spellcheck="false" autocapitalize="off"></label>
    ${directoryField("directory", text.taskDirectory, known[0] ?? text.repositoryPlaceholder, known, known.length === 0)}
    <label class="check"><input type="checkbox" name="worktree" checked>${text.taskWorktree}</label>
    <label>${text.taskAgent}<select name="agent" @change=${choose}><option value="">${text.noAgent}</option>
      ${agents.map((offer) => html`<option value=${offer.name} ?selected=${offer.name === agent}>${offer.name}</option>`)}</select></label>
    ${agent ? html`<label>${text.promptLabel}<textarea name="prompt" rows="3"></textarea></label>` : nothing}
    ${formEnd(dialog, error, text.makeTask)}
  </form>`);
  draw();
  fetchAgents((offers) => {
    agents = offers.filter((offer) => offer.program);
    agent = (agents.find((offer) => offer.name === lastAgent()) ?? agents[0])?.name ?? "";
    draw();
  });
  void get<TaskView[]>("tasks").then((tasks) => {
    known = [...new Set([...known, ...tasks.map((task) => task.project.path)])];
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

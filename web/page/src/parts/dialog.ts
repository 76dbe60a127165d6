// Modal questions in the browser's own dialog element, which keeps the focus inside and gives it back.

import { html, nothing, render, type TemplateResult } from "lit-html";
import { errorText, post } from "../api.ts";
import { state } from "../store.ts";
import { text } from "../strings.ts";
import { commandLine } from "./glyph.ts";

export interface Opened {
  element: HTMLDialogElement;
  close: () => void;
  draw: (content: TemplateResult) => void;
}

/** Opens a dialog and calls `closed` when it is gone, however that happened. */
export function openDialog(name: string, closed: () => void = () => undefined): Opened {
  const element = document.createElement("dialog");
  element.className = name;
  document.body.append(element);
  const close = (): void => {
    if (element.open) element.close();
  };
  element.addEventListener("close", () => {
    element.remove();
    closed();
  });
  element.addEventListener("click", (event) => {
    if (event.target === element) close();
  });
  element.addEventListener("keydown", (event) => event.stopPropagation());
  return {
    element,
    close,
    draw: (content) => {
      // An answer may come after the person has gone on.
      if (!element.isConnected) return;
      render(content, element);
      if (!element.open) element.showModal();
    },
  };
}

export interface Question {
  title: string;
  text?: string;
  confirm: string;
  isDangerous?: boolean;
  body?: TemplateResult;
}

/** Says why something is not possible here, and the command that makes it so. */
export function explain(title: string, why: string, command: string): void {
  const dialog = openDialog("ask");
  dialog.draw(html`<h2>${title}</h2><p>${why}</p>${commandLine(command)}
    <div class="buttons"><button class="primary" @click=${dialog.close}>${text.close}</button></div>`);
}

/** Asks; resolves to the form's fields, or undefined when the person cancelled. */
export function ask(question: Question): Promise<FormData | undefined> {
  return new Promise((resolve) => {
    let answer: FormData | undefined;
    const dialog = openDialog("ask", () => resolve(answer));
    const submit = (event: SubmitEvent): void => {
      event.preventDefault();
      answer = new FormData(event.target as HTMLFormElement);
      dialog.close();
    };
    dialog.draw(html`<form method="dialog" @submit=${submit} aria-label=${question.title}>
      <h2>${question.title}</h2>
      ${question.text ? html`<p>${question.text}</p>` : nothing}
      ${question.body ?? nothing}
      <div class="buttons">
        <button type="button" @click=${dialog.close}>${text.cancel}</button>
        <button type="submit" class=${question.isDangerous ? "danger" : "primary"}>${question.confirm}</button>
      </div>
    </form>`);
  });
}

let steppingUp: Promise<boolean> | undefined;

/** Asks for a passphrase or a code from the machine; two calls at once share one question. */
export function stepUp(): Promise<boolean> {
  steppingUp ??= askStepUp().finally(() => {
    steppingUp = undefined;
  });
  return steppingUp;
}

function askStepUp(): Promise<boolean> {
  return new Promise((resolve) => {
    let isDone = false;
    let error = "";
    const dialog = openDialog("ask", () => resolve(isDone));
    const submit = async (event: SubmitEvent): Promise<void> => {
      event.preventDefault();
      const form = new FormData(event.target as HTMLFormElement);
      const proof = (name: string): Record<string, string> => (form.get(name) ? { [name]: String(form.get(name)) } : {});
      try {
        await post("step-up", { ...proof("code"), ...proof("passphrase") });
        isDone = true;
        dialog.close();
      } catch (failure) {
        error = errorText(failure);
        draw();
      }
    };
    const draw = (): void => dialog.draw(html`<form method="dialog" @submit=${submit} aria-label=${text.stepUpTitle}>
      <h2>${text.stepUpTitle}</h2>
      ${state.model.me?.features?.includes("passphrase") ? html`<label>${text.passphrase}<input name="passphrase" type="password" autocomplete="current-password"></label>` : nothing}
      <p>${state.model.me?.features?.includes("passphrase") ? text.stepUpOr : text.stepUpText}</p>${commandLine(text.stepUpCommand)}
      <label>${text.code}<input name="code" class="pair-code" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false"></label>
      ${error ? html`<p class="error" role="alert">${error}</p>` : nothing}
      <div class="buttons"><button type="button" @click=${dialog.close}>${text.cancel}</button><button class="primary">${text.confirm}</button></div>
    </form>`);
    draw();
  });
}

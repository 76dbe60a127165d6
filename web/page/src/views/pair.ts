// Pairs this browser: by the code in the address, or by a code that a person types.

import { html, nothing, type TemplateResult } from "lit-html";
import { ApiError, errorText, post } from "../api.ts";
import { commandLine } from "../parts/glyph.ts";
import { invalidate, state, update } from "../store.ts";
import { text } from "../strings.ts";
import type { Me } from "../types.ts";

let error = "";
let isBusy = false;
/** Begins the session after a login. */
let begin: (answered: Me) => Promise<void> = () => Promise.resolve();

export function setBegin(next: typeof begin): void {
  begin = next;
}

/** Reads a secret from the fragment and clears it, so that it is in no history. */
export function takeFragment(): { code?: string; link?: string } {
  const fields = new URLSearchParams(location.hash.slice(1));
  const code = fields.get("c") ?? undefined;
  const link = fields.get("l") ?? undefined;
  if (code || link) history.replaceState(null, "", location.pathname + location.search);
  return { ...(code ? { code } : {}), ...(link ? { link } : {}) };
}

/** Logs in; returns whether it worked. */
export async function logIn(body: { code?: string; link?: string; name?: string }): Promise<boolean> {
  isBusy = true;
  invalidate();
  try {
    const me = await post<Me>("login", body.code ? { ...body, name: body.name || deviceLabel(navigator.userAgent) } : body);
    error = "";
    update({ login: undefined, model: { ...state.model, me } });
    await begin(me);
    return true;
  } catch (failure) {
    const isRefused = failure instanceof ApiError && failure.status !== 0 && failure.status < 500;
    if (body.link && isRefused) update({ login: text.linkExpired });
    else error = errorText(failure);
    return false;
  } finally {
    isBusy = false;
    invalidate();
  }
}

export function deviceLabel(agent: string): string {
  const system = [["iPhone", "iPhone"], ["iPad", "iPad"], ["Android", "Android"], ["Mac OS", "Mac"], ["Windows", "Windows"], ["Linux", "Linux"]]
    .find(([sign]) => agent.includes(sign!))?.[1] ?? "";
  const browser = [["Edg/", "Edge"], ["Firefox/", "Firefox"], ["Chrome/", "Chrome"], ["Safari/", "Safari"]].find(([sign]) => agent.includes(sign!))?.[1] ?? "";
  return text.browserOn(browser, system);
}

export function pair(): TemplateResult {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    const code = String(form.get("code") ?? "").toUpperCase().replace(/[^0-9A-Z]/g, "");
    void logIn({ code, name: String(form.get("name") ?? "").trim() });
  };
  return html`<main class="pair" id="main" tabindex="-1"><form @submit=${submit} aria-label=${text.pairTitle}>
    <p class="brand"><img src="icon.svg" alt="" width="40" height="40">${text.product}</p>
    <h1>${text.pairTitle}</h1>
    ${state.login ? html`<p class="notice" role="alert">${state.login}</p>` : nothing}
    <p>${text.pairText}</p>${commandLine(text.pairCommand)}
    <label>${text.code}<input name="code" class="pair-code" required autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" inputmode="text" placeholder=${text.codeExample} maxlength="12"></label>
    <label>${text.deviceName}<input name="name" required maxlength="60" autocomplete="off" .defaultValue=${deviceLabel(navigator.userAgent)}></label>
    ${error ? html`<p class="error" role="alert">${error}</p>` : nothing}
    <button class="primary" ?disabled=${isBusy}>${isBusy ? text.pairing : text.pair}</button>
    ${window.isSecureContext ? nothing : html`<p class="note">${text.plainHttp}</p>`}
  </form></main>`;
}

// Settings of this device, paired devices, links, and the way out.

import { html, nothing, type TemplateResult } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { errorText, get, post, remove } from "../api.ts";
import { clockTime, shortAge } from "../format.ts";
import { isAdmin } from "../model.ts";
import { askPermission, showTest } from "../notify.ts";
import { canPush, isPushOn, subscribePush, unsubscribePush } from "../push.ts";
import { ask } from "../parts/dialog.ts";
import { commandLine } from "../parts/glyph.ts";
import { openHelp } from "../parts/help.ts";
import { newLink, newToken } from "../parts/share.ts";
import {
  FONT_LARGEST, FONT_SMALLEST, fontSize, lastNotified, setFontSize, setTheme, setWantsNotifications, type ThemeChoice, themeChoice, wantsNotifications,
} from "../preferences.ts";
import { Resource } from "../resource.ts";
import { invalidate, note, state, update } from "../store.ts";
import { text } from "../strings.ts";
import type { AccessRecord } from "../types.ts";

/** Devices, tokens and links. */
const access = new Resource<AccessRecord[]>(() => get<AccessRecord[]>("devices"));

/** The browser's offer to install the page, kept until a person asks for it. */
let installer: (Event & { prompt: () => Promise<unknown> }) | undefined;
addEventListener("beforeinstallprompt", (event) => {
  event.preventDefault();
  installer = event as typeof installer;
  invalidate();
});

export function settings(): TemplateResult {
  return html`<div class="page settings" data-region aria-label=${text.settings}>
    <header class="head"><h1>${text.settings}</h1></header>
    ${appearance()}${notifications()}
    ${isAdmin(state.model) ? html`${deviceList()}${linkList()}` : nothing}
    ${session()}
  </div>`;
}

function appearance(): TemplateResult {
  const themes: ThemeChoice[] = ["auto", "light", "dark"];
  return html`<section class="block"><h2>${text.appearance}</h2>
    <div class="setting"><label for="theme">${text.themeLabel}</label><select id="theme" @change=${(event: Event) => setTheme((event.target as HTMLSelectElement).value as ThemeChoice)}>
      ${themes.map((name) => html`<option value=${name} ?selected=${themeChoice() === name}>${text.themes[name]}</option>`)}</select></div>
    <div class="setting"><span>${text.textSize}</span><span class="stepper"><button aria-label=${text.textSmaller} ?disabled=${fontSize() <= FONT_SMALLEST} @click=${() => setFontSize(fontSize() - 1)}>−</button>
      <output>${text.pixels(fontSize())}</output><button aria-label=${text.textLarger} ?disabled=${fontSize() >= FONT_LARGEST} @click=${() => setFontSize(fontSize() + 1)}>+</button></span></div>
    <div class="setting"><span>${text.keyboard}</span><button @click=${openHelp}>${text.showKeys}</button></div>
    ${installer ? html`<div class="setting"><span>${text.install}</span><button @click=${() => installer?.prompt()}>${text.install}</button></div>` : nothing}
  </section>`;
}

function notifications(): TemplateResult {
  const isMissing = !("Notification" in window) || !window.isSecureContext;
  const isDenied = !isMissing && Notification.permission === "denied";
  const last = lastNotified();
  return html`<section class="block"><h2>${text.notifications}</h2>
    <div class="setting"><label for="notify">${text.notifyNeeds}</label><input id="notify" type="checkbox" class="toggle" .checked=${live(wantsNotifications())} ?disabled=${isMissing || isDenied} @change=${toggleNotify}></div>
    ${canPush() ? html`<div class="setting"><label for="push">${text.notifyPush}</label><input id="push" type="checkbox" class="toggle" .checked=${live(isPushOn())} ?disabled=${!wantsNotifications()} @change=${togglePush}></div>` : nothing}
    <div class="setting"><span class="dim">${last ? text.notifyLast(clockTime(last, state.now)) : text.notifyNever}</span><button ?disabled=${!wantsNotifications()} @click=${() => showTest()}>${text.notifyTest}</button></div>
    ${isMissing ? html`<p class="note">${text.notifyMissing}</p>` : isDenied ? html`<p class="note">${text.notifyDenied}</p>` : canPush() ? nothing : html`<p class="note">${text.notifyPushMissing}</p>`}
  </section>`;
}

async function toggleNotify(event: Event): Promise<void> {
  const box = event.target as HTMLInputElement;
  const isOn = box.checked && (await askPermission());
  setWantsNotifications(isOn);
  // Pushed ones would come all the same.
  if (!isOn && isPushOn()) await unsubscribePush().catch((error: unknown) => note(errorText(error), true));
  invalidate();
}

async function togglePush(event: Event): Promise<void> {
  const box = event.target as HTMLInputElement;
  try {
    await (box.checked ? subscribePush() : unsubscribePush());
  } catch (error) {
    note(errorText(error), true);
  }
  invalidate();
}

function deviceList(): TemplateResult {
  const list = (access.use("all") ?? []).filter((record) => record.kind !== "link");
  const me = state.model.me?.id;
  return html`<section class="block"><h2>${text.devices} <span class="count">${list.length}</span></h2>
    ${access.error ? html`<p class="error">${access.error}</p>` : nothing}
    ${list.map((record) => html`<div class="setting"><span><strong>${record.label}</strong> <span class="dim">${aboutRecord(record, me)}</span></span>
      ${record.id === me ? nothing : html`<button class="danger quiet" @click=${() => revoke(record)}>${text.revoke}</button>`}</div>`)}
    <div class="setting"><span class="dim">${text.newTokenRow}</span><button @click=${() => newToken(() => void access.load())}>${text.newToken}…</button></div>
    <p class="note">${text.pairAnother}</p>${commandLine(text.pairCommand)}</section>`;
}

/** What a row says about a device or a token beside its name. */
function aboutRecord(record: AccessRecord, me: string | undefined): string {
  const parts = [text.recordKinds[record.kind], text.roles[record.role]];
  if (record.workspace !== undefined) parts.push(text.recordWorkspace(record.workspace));
  // A device stays for as long as it is used.
  if (record.kind === "token" && record.expires) parts.push(text.recordUntil(clockTime(record.expires, state.now)));
  if (record.id === me) parts.push(text.thisDevice);
  else if (record.seen) parts.push(text.seen(shortAge(state.now - record.seen)));
  return parts.join(" · ");
}

async function revoke(record: AccessRecord): Promise<void> {
  const title = record.kind === "link" ? text.revokeLinkAsk(targetName(record)) : text.revokeAsk(record.label);
  if (!(await ask({ title, text: text.revokeTexts[record.kind], confirm: text.revoke, isDangerous: true }))) return;
  await remove(`devices/${encodeURIComponent(record.id)}`).then(() => access.load(), (error: unknown) => note(errorText(error), true));
}

function targetName(record: AccessRecord): string {
  const shown = record.target ?? record.label;
  return typeof shown === "string" ? (state.model.processes.get(shown)?.name ?? shown) : text.taskLink(shown.task);
}

function linkList(): TemplateResult {
  const list = (access.use("all") ?? []).filter((record) => record.kind === "link");
  return html`<section class="block"><h2>${text.links} <span class="count">${list.length}</span></h2>
    ${list.length === 0 ? html`<p class="note">${text.noLinks}</p>` : nothing}
    ${list.map((record) => html`<div class="setting"><span><strong>${targetName(record)}</strong> <span class="dim">${record.expires ? text.linkUntil(clockTime(record.expires, state.now)) : nothing}</span></span>
      <button class="danger quiet" @click=${() => revoke(record)}>${text.revoke}</button></div>`)}
    <div class="setting"><span class="dim">${text.newLinkRow}</span><button @click=${() => newLink(() => void access.load())}>${text.newLink}…</button></div></section>`;
}

function session(): TemplateResult {
  const me = state.model.me;
  const logOut = async (): Promise<void> => {
    await post("logout").catch(() => undefined);
    update({ login: text.signedOut });
  };
  return html`<section class="block"><h2>${text.session}</h2>
    ${me ? html`<p class="dim">${text.signedInAs(me.label, text.roles[me.role], me.workspace)}</p>` : nothing}
    <div class="setting"><span class="dim">${me?.version ? text.version(me.version) : nothing}</span><button @click=${logOut}>${text.logOut}</button></div></section>`;
}

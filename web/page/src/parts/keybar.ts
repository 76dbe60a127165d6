// The keys that a phone's keyboard lacks. Every press gets a receipt; arrows repeat while they are held.

import { html, nothing, type TemplateResult } from "lit-html";
import { errorText, post, processPath } from "../api.ts";
import { type BarKey, FIRST_ROW, inputOf, pressBarKey, SECOND_ROW } from "../keys.ts";
import { invalidate, note, state } from "../store.ts";
import { SPOKEN_KEYS, text } from "../strings.ts";
import type { ProcessView } from "../types.ts";

const REPEAT_AFTER_MS = 400;
const REPEAT_EVERY_MS = 90;

/** Ctrl stays on for one key. */
export const ctrl = { isOn: false };

/** Called after a key was written, so that a view can show the effect soon. */
export const afterKey = { run: (_process: string): void => undefined };

let last: Promise<unknown> = Promise.resolve();

/** Sends one key after the ones before it. */
export function press(process: string, name: string): Promise<void> {
  const pressed = pressBarKey(name, ctrl.isOn);
  ctrl.isOn = pressed.isCtrlOn;
  invalidate();
  if (pressed.send === undefined) return Promise.resolve();
  const input = inputOf(pressed.send);
  const next = last.then(() => post(processPath(process, "input"), { input }));
  last = next.catch(() => undefined);
  return next.then(() => afterKey.run(process), (error: unknown) => note(errorText(error), true));
}

export function keybar(process: ProcessView): TemplateResult {
  const isOff = state.link !== "open" || process.status !== "running";
  return html`<div class="keybar" role="toolbar" aria-label=${text.keyBar} title=${state.link === "open" ? nothing : text.keysDisabled}>
    ${[...FIRST_ROW, ...SECOND_ROW].map((key) => button(process.id, key, isOff))}
  </div>`;
}

function button(process: string, key: BarKey, isOff: boolean): TemplateResult {
  const isCtrl = key.name === "ctrl";
  return html`<button type="button" aria-pressed=${isCtrl ? String(ctrl.isOn) : nothing} ?disabled=${isOff}
    @pointerdown=${key.repeats ? (event: PointerEvent) => hold(event, process, key.name) : nothing}
    @click=${() => {
      if (!hasRepeated) void press(process, key.name);
      hasRepeated = false;
    }}
    @mousedown=${(event: MouseEvent) => event.preventDefault()}><span aria-hidden="true">${key.label}</span><span class="hidden">${SPOKEN_KEYS[key.name] ?? key.label}</span></button>`;
}

/** A key that repeated while it was held is not sent once more when the finger leaves it. */
let hasRepeated = false;

/** Repeats only after a pause, so that a swipe along the bar presses nothing. */
function hold(event: PointerEvent, process: string, name: string): void {
  const target = event.currentTarget as HTMLElement;
  hasRepeated = false;
  let timer = setTimeout(function again() {
    hasRepeated = true;
    void press(process, name);
    timer = setTimeout(again, REPEAT_EVERY_MS);
  }, REPEAT_AFTER_MS);
  const ends = ["pointerup", "pointercancel", "pointerleave"];
  const stop = (): void => {
    clearTimeout(timer);
    for (const kind of ends) target.removeEventListener(kind, stop);
  };
  for (const kind of ends) target.addEventListener(kind, stop);
}

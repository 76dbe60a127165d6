// A real text field for messages and lines, with a draft per process, a file to attach and a receipt. Code never
// writes into the field while a person types in it: keyboards of phones would repeat or reorder words.

import { html, nothing, type TemplateResult } from "lit-html";
import { errorText, post, processPath } from "../api.ts";
import { withCtrl } from "../keys.ts";
import { mount } from "../mount.ts";
import { draft, isTouch, setDraft } from "../preferences.ts";
import { invalidate, state } from "../store.ts";
import { text } from "../strings.ts";
import type { ProcessView, Receipt } from "../types.ts";
import { canUpload, pastedFile, upload } from "../upload.ts";
import { ctrl, press } from "./keybar.ts";

const HISTORY_LIMIT = 50;

interface Sent {
  status: string;
  mail?: number;
  isError?: boolean;
}

const sent = new Map<string, Sent>();
const earlier = new Map<string, string[]>();
const fields = new Map<string, HTMLTextAreaElement>();

export function focusComposer(process: string): void {
  fields.get(process)?.focus();
}

export function composer(process: ProcessView): TemplateResult {
  const label = process.kind === "agent" ? text.tellAgent(process.agent?.manifest ?? process.name) : text.typeInto(process.name);
  const isEnded = process.status === "exited" || process.status === "failed";
  const status = statusOf(process.id);
  return html`<form class="composer" @submit=${(event: SubmitEvent) => submit(event, process)}>
    <div class="field">
      <textarea rows="1" placeholder=${label} aria-label=${label} enterkeyhint=${isTouch() ? "enter" : "send"} autocomplete="off"
        ?disabled=${isEnded}
        ${mount(`composer ${process.id}`, (element) => setUp(element as HTMLTextAreaElement, process.id))}></textarea>
      ${canUpload() ? html`<label class="attach" title=${text.attachFile}><input type="file" class="hidden" aria-label=${text.attachFile} ?disabled=${isEnded}
        @change=${(event: Event) => attachChosen(event, process.id)}><span aria-hidden="true">+</span></label>` : nothing}
    </div>
    <button class="primary" ?disabled=${isEnded}>${text.send}</button>
    ${status ? html`<p class="receipt ${status.isError ? "error" : ""}" role="status">${status.status}</p>` : nothing}
  </form>`;
}

function statusOf(process: string): Sent | undefined {
  const entry = sent.get(process);
  const receipt = entry?.mail === undefined ? undefined : state.model.receipts.get(entry.mail);
  return receipt ? { status: text.receipt(receipt), isError: isBad(receipt) } : entry;
}

const isBad = (receipt: Receipt): boolean => ["refused", "unknown", "expired"].includes(receipt.status);

function setUp(field: HTMLTextAreaElement, process: string): () => void {
  field.value = draft(process);
  fields.set(process, field);
  const grow = (): void => {
    field.style.height = "auto";
    field.style.height = `${Math.min(field.scrollHeight, 160)}px`;
  };
  const input = (): void => {
    setDraft(process, field.value);
    grow();
  };
  const keydown = (event: KeyboardEvent): void => onKey(event, field, process);
  const before = (event: InputEvent): void => {
    // Ctrl of the key bar turns the next letter into a key.
    const key = ctrl.isOn && event.data?.length === 1 && !event.isComposing ? withCtrl(event.data) : undefined;
    if (!key) return;
    event.preventDefault();
    void press(process, event.data ?? "");
  };
  const paste = (event: ClipboardEvent): void => {
    const file = pastedFile(event);
    if (file) void attach(file, process);
  };
  field.addEventListener("paste", paste);
  field.addEventListener("input", input);
  field.addEventListener("keydown", keydown);
  field.addEventListener("beforeinput", before);
  grow();
  return () => {
    fields.delete(process);
    field.removeEventListener("paste", paste);
    field.removeEventListener("input", input);
    field.removeEventListener("keydown", keydown);
    field.removeEventListener("beforeinput", before);
  };
}

function onKey(event: KeyboardEvent, field: HTMLTextAreaElement, process: string): void {
  if (event.key === "Escape") return field.blur();
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing && !isTouch()) {
    event.preventDefault();
    field.form?.requestSubmit();
  }
  if (event.key === "ArrowUp" && field.value === "") {
    const last = earlier.get(process)?.at(-1);
    if (last !== undefined) {
      event.preventDefault();
      field.value = last;
    }
  }
}

async function submit(event: SubmitEvent, process: ProcessView): Promise<void> {
  event.preventDefault();
  const field = fields.get(process.id);
  if (!field) return;
  // The keyboard finishes what it composes or dictates before the text is read, and has nothing to say again afterwards.
  const hasKeyboard = isTouch() && document.activeElement === field;
  if (hasKeyboard) field.blur();
  const value = field.value;
  if (value.trim() === "") return;
  show(process.id, { status: text.sending });
  try {
    if (process.kind === "agent") await tell(process.id, value);
    else await typeLine(process.id, value);
  } catch (error) {
    // The text stays in the field: it was not delivered.
    return show(process.id, { status: errorText(error), isError: true });
  }
  earlier.set(process.id, [...(earlier.get(process.id) ?? []), value].slice(-HISTORY_LIMIT));
  if (field.value === value) field.value = "";
  field.style.height = "auto";
  setDraft(process.id, field.value);
  if (hasKeyboard && document.activeElement === document.body) field.focus();
}

async function tell(process: string, value: string): Promise<void> {
  const key = crypto.getRandomValues(new Uint32Array(3)).join("-");
  const receipt = await post<Receipt>(processPath(process, "tell"), { text: value, key, wait_ms: 0 });
  show(process, { status: text.receipt(receipt), mail: receipt.mail, isError: isBad(receipt) });
}

async function typeLine(process: string, value: string): Promise<void> {
  await post(processPath(process, "input"), { input: { paste: value }, submit: true });
  show(process, { status: text.typed(new TextEncoder().encode(value).length) });
}

function show(process: string, entry: Sent): void {
  sent.set(process, entry);
  invalidate();
}

function attachChosen(event: Event, process: string): void {
  const input = event.target as HTMLInputElement;
  const file = input.files?.[0];
  input.value = "";
  if (file) void attach(file, process);
}

/** Stages a file and puts its path into the text; nothing is sent by itself. */
async function attach(file: File, process: string): Promise<void> {
  const field = fields.get(process);
  if (!field) return;
  show(process, { status: text.sending });
  try {
    const path = await upload(file, process);
    if (document.activeElement === field) field.blur();
    field.setRangeText(`${field.value === "" || field.value.endsWith(" ") ? "" : " "}${path} `, field.value.length, field.value.length, "end");
    setDraft(process, field.value);
    show(process, { status: text.attached(path) });
  } catch (error) {
    show(process, { status: errorText(error), isError: true });
  }
}



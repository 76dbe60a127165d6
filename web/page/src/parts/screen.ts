// The live screen of a process: a terminal for mouse and keyboard, or text for touch and screen readers.

import { html, nothing, type TemplateResult } from "lit-html";
import { errorText } from "../api.ts";
import { bytesText } from "../format.ts";
import { canType } from "../model.ts";
import { mount } from "../mount.ts";
import { go } from "../navigate.ts";
import { fontSize, isDark, isNarrow, isTouch, onAppearance, prefersText, setFontSize, setPrefersText } from "../preferences.ts";
import { paths } from "../router.ts";
import { invalidate, note, state, update } from "../store.ts";
import { text } from "../strings.ts";
import type { LiveScreen, ParsedScreen } from "../terminal.ts";
import type { ProcessView, Size } from "../types.ts";
import { pastedFile, upload } from "../upload.ts";
import { Viewer, type ViewerEvents } from "../viewer.ts";
import { watchPinch, watchWheel } from "../touch.ts";
import { copy } from "./glyph.ts";
import { askLink } from "./link.ts";
import { liveRows } from "./live.ts";
import { TextScreen } from "./textscreen.ts";

interface View {
  status: "loading" | "live" | "lost" | "ended";
  reason?: string;
  size?: Size;
  isReadOnly: boolean;
  /** The server lends the size. */
  mayLease: boolean;
  /** This view has given the process its size. */
  hasLease: boolean;
  /** Text that the child offers for the clipboard. */
  offer?: string | undefined;
  /** How far a large paste is. */
  paste?: string | undefined;
  /** Bytes of output that this view did not show. */
  skipped?: number;
  viewer?: Viewer;
  live?: LiveScreen;
  refit?: () => void;
  /** The size that would fill the stage. */
  fitting?: () => Size;
}

let view: View | undefined;
let attempt = 0;
/** The text view shows all columns, however small. */
let isFitted = false;

/** A lease ends when the page was hidden for this long. */
const HIDDEN_LEASE_MS = 30_000;
/** A screen that no longer changes is still asked for now and then: a run may be started again elsewhere. */
const LAST_EVERY_MS = 10_000;
/** A paste of more than this shows its progress. */
const LARGE_PASTE = 64 * 1024;

export function screen(process: ProcessView): TemplateResult {
  if (isOver(process)) return lastScreen(process);
  const isText = prefersText();
  const kind = isText ? "text" : "terminal";
  return html`<section class="screen ${kind}" data-region aria-label=${text.screen}>
    ${view?.offer === undefined ? nothing : offer(process, view.offer)}
    ${statusLine()}
    <div class="stage" ${mount(`${kind} ${process.id} ${attempt}`, (element) => (isText ? showText(element, process) : showTerminal(element, process)))}></div>
    ${footer(process, isText)}
  </section>`;
}

const isOver = (process: ProcessView): boolean => ["exited", "failed", "parked"].includes(process.status);

/** What was on the screen when the run ended; there is nothing to attach to. */
function lastScreen(process: ProcessView): TemplateResult {
  return html`<section class="screen text" data-region aria-label=${text.screen}>
    <div class="stage"><div class="rows" tabindex="0" role="region" aria-label=${text.textLabel(process.name)}
      ${mount(`last ${process.id} ${process.run}`, (element) => liveRows(element, process.id, { every: LAST_EVERY_MS }).stop)}></div></div>
  </section>`;
}

function statusLine(): TemplateResult | typeof nothing {
  if (!view || view.status === "live") {
    if (!view?.paste) return nothing;
    return html`<p class="stage-status" role="status">${view.paste} <button class="quiet" @click=${() => view?.viewer?.cancelInput()}>${text.pasteStop}</button></p>`;
  }
  const again = html`<button class="quiet" @click=${attachAgain}>${text.attachAgain}</button>`;
  const message = { loading: text.attaching, lost: text.reattaching, ended: text.screenEnded(view.reason ?? "") }[view.status];
  return html`<p class="stage-status" role="status">${message} ${view.status === "ended" ? again : nothing}</p>`;
}

function attachAgain(): void {
  attempt++;
  invalidate();
}

function offer(process: ProcessView, value: string): TemplateResult {
  const take = (): void => {
    copy(value);
    dismiss();
  };
  const dismiss = (): void => change({ offer: undefined });
  return html`<p class="chip" role="status"><button class="quiet" @click=${take}>${text.clipboardOffer(process.name, bytesText(new TextEncoder().encode(value).length))}</button>
    <button class="quiet" aria-label=${text.close} @click=${dismiss}>✕</button></p>`;
}

function footer(process: ProcessView, isText: boolean): TemplateResult {
  const size = view?.size ?? process.size;
  const mayType = canType(state.model) && !view?.isReadOnly;
  return html`<footer class="stage-foot">
    <span class="size">${text.size(size.cols, size.rows)}</span>
    <span class="wide" title=${text.ownerHint(process.owner)}>${text.owner(process.owner)}</span>
    ${view?.skipped ? html`<span class="wide">${text.skipped(bytesText(view.skipped))}</span>` : nothing}
    ${mayType ? nothing : html`<span>${text.readOnly}</span>`}
    <span class="space"></span>
    ${isText ? html`<button class="quiet" aria-pressed=${String(isFitted)} @click=${toggleFit}>${text.fitWidth}</button>` : nothing}
    <button class="quiet square" @click=${() => setFontSize(fontSize() - 1)}><span aria-hidden="true">A−</span><span class="hidden">${text.textSmaller}</span></button>
    <button class="quiet square" @click=${() => setFontSize(fontSize() + 1)}><span aria-hidden="true">A+</span><span class="hidden">${text.textLarger}</span></button>
    ${mayType && view?.mayLease ? leaseButton(view.hasLease) : nothing}
    <a class="button quiet wide" href=${paths.process(process.id, "log")}>${text.history}</a>
    <button class="quiet" @click=${() => setPrefersText(!isText)}>${isText ? text.asTerminal : text.asText}</button>
  </footer>`;
}

function leaseButton(isHeld: boolean): TemplateResult {
  const label = isHeld ? text.fitEnd : text.fitHere;
  return html`<button class="quiet" title=${text.fitHint} aria-label=${label} aria-pressed=${String(isHeld)} @click=${toggleLease}>${isHeld && isNarrow() ? text.fitEndShort : label}</button>`;
}

function toggleFit(): void {
  isFitted = !isFitted;
  view?.refit?.();
  invalidate();
}

function change(part: Partial<View>): void {
  if (!view) return;
  Object.assign(view, part);
  invalidate();
}

/** Asks for the lease or gives it back; the server's word changes what is shown. */
function toggleLease(): void {
  if (view?.hasLease) endLease();
  else if (view?.fitting) view.viewer?.ownSize(view.fitting());
}

function endLease(): void {
  if (!view?.hasLease) return;
  view.viewer?.ownSize();
}

/** Focuses the terminal, if one is shown. */
export function focusScreen(): boolean {
  view?.live?.focus();
  return view?.live !== undefined;
}

/** What both ways of showing a screen do with the connection's events. */
function viewerEvents(mine: View): ViewerEvents {
  const set = (part: Partial<View>): void => {
    Object.assign(mine, part);
    if (view === mine) invalidate();
  };
  return {
    attached: (size, may) => {
      set({ status: "live", size, isReadOnly: !may.type, mayLease: may.lease });
      mine.refit?.();
    },
    resized: (size) => {
      set({ size });
      mine.refit?.();
    },
    // The server ends a lease with the connection.
    lost: (isFinal) => set(isFinal ? { status: "ended", reason: "", hasLease: false } : { status: "lost", hasLease: false }),
    gap: (bytes) => set({ skipped: (mine.skipped ?? 0) + bytes }),
    lease: (isHeld) => set({ hasLease: isHeld }),
    end: (reason) => (reason === "restarted" ? attachAgain() : set({ status: "ended", reason })),
    error: (failure) => note(failure.message, true),
    progress: (written, all) => {
      if (mine.paste || all > LARGE_PASTE) set({ paste: written < all ? text.pasteProgress(bytesText(written), bytesText(all)) : undefined });
    },
    dropped: (bytes) => {
      set({ paste: undefined });
      note(text.notWritten(bytesText(bytes)), true);
    },
    roundTrip: (milliseconds) => update({ roundTrip: milliseconds }),
  };
}

function begin(): View {
  view = { status: "loading", isReadOnly: false, mayLease: false, hasLease: false };
  invalidate();
  return view;
}

const mode = (): "type" | "view" => (canType(state.model) ? "type" : "view");

function showTerminal(element: HTMLElement, process: ProcessView): () => void {
  const mine = begin();
  let stop: (() => void) | undefined;
  let isGone = false;
  void Promise.all([import("../terminal.ts"), loadFont()]).then(([{ LiveScreen: Live }]) => {
    if (isGone) return;
    const live = new Live(element, process.size, isDark(), fontSize(), text.terminalLabel(process.name), {
      input: (bytes) => {
        if (mine.viewer && !mine.viewer.type(bytes)) note(text.keysDisabled, true);
      },
      clipboard: (value) => change({ offer: value }),
      openLink: askLink,
      history: () => go(paths.process(process.id, "log")),
      leave: () => {
        live.blur();
        document.querySelector<HTMLElement>("[data-region] a, [data-region] button")?.focus();
      },
    });
    mine.live = live;
    mine.fitting = () => live.fitting();
    const viewer = new Viewer(process.id, mode(), live, viewerEvents(mine));
    mine.viewer = viewer;
    if (!isTouch()) live.focus();
    const stopFiles = watchFiles(element, process.id, live);
    const stopView = watch(element, live, viewer);
    stop = () => {
      stopFiles();
      stopView();
    };
  });
  return () => {
    isGone = true;
    stop?.();
    if (view === mine) view = undefined;
  };
}

/** Stages a file that is pasted into the terminal and types its path; a person sends it. */
function watchFiles(element: HTMLElement, process: string, live: LiveScreen): () => void {
  const paste = (event: ClipboardEvent): void => {
    const file = canType(state.model) ? pastedFile(event) : undefined;
    if (!file) return;
    note(text.sending);
    upload(file, process).then((path) => {
      note(text.attached(path));
      live.paste(`${path} `);
    }, (error: unknown) => note(errorText(error), true));
  };
  element.addEventListener("paste", paste, { capture: true });
  return () => element.removeEventListener("paste", paste, { capture: true });
}

/** Gives the size back when the page was hidden for long. */
function watchHidden(): () => void {
  let hidden: ReturnType<typeof setTimeout> | undefined;
  const visibility = (): void => {
    clearTimeout(hidden);
    if (document.hidden) hidden = setTimeout(endLease, HIDDEN_LEASE_MS);
  };
  document.addEventListener("visibilitychange", visibility);
  return () => {
    clearTimeout(hidden);
    document.removeEventListener("visibilitychange", visibility);
  };
}

function watch(stage: HTMLElement, live: LiveScreen, viewer: Viewer): () => void {
  const stopAppearance = onAppearance(() => {
    live.setTheme(isDark());
    live.setFont(fontSize());
  });
  const stopHidden = watchHidden();
  // The cursor is where a program works: it stays visible when a card makes the stage smaller.
  const sizes = new ResizeObserver(() => live.showCursor());
  sizes.observe(stage);
  const first = setTimeout(() => live.showCursor(), 300);
  return () => {
    clearTimeout(first);
    sizes.disconnect();
    stopHidden();
    stopAppearance();
    viewer.close();
    live.close();
  };
}

function showText(element: HTMLElement, process: ProcessView): () => void {
  const mine = begin();
  const stage = new TextScreen(element, text.textLabel(process.name));
  const applyFont = (): void => stage.setFont(isFitted ? stage.fontFor((mine.size ?? process.size).cols) : fontSize());
  applyFont();
  mine.refit = applyFont;
  mine.fitting = () => stage.fitting();
  let parsed: ParsedScreen | undefined;
  const stops = [
    watchHidden(),
    watchPinch(element),
    watchWheel(element, {
      isWanted: () => parsed?.takesWheel === true && !mine.isReadOnly,
      rowHeight: () => stage.rowHeight,
      turn: (rows) => mine.viewer?.type(new TextEncoder().encode(parsed?.wheel(rows) ?? "")),
    }),
    onAppearance(() => {
      isFitted = false;
      applyFont();
    }),
  ];
  let isGone = false;
  void import("../terminal.ts").then(({ ParsedScreen: Parsed }) => {
    if (isGone) return;
    parsed = new Parsed(process.size, (rows) => stage.show(rows), (value) => change({ offer: value }));
    mine.viewer = new Viewer(process.id, mode(), parsed, { ...viewerEvents(mine), gap: (bytes) => stage.skip(bytes) });
  });
  return () => {
    isGone = true;
    for (const stop of stops) stop();
    mine.viewer?.close();
    parsed?.close();
    stage.close();
    if (view === mine) view = undefined;
  };
}

/** The terminal measures its cells once, so the font must be there before. */
async function loadFont(): Promise<void> {
  await Promise.race([document.fonts.load(`${fontSize()}px "Quarterdeck Mono"`), new Promise((resolve) => setTimeout(resolve, 1500))]);
}

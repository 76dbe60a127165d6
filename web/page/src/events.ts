// Keeps the model equal to what the daemon knows: by the events socket, or by asking where a link allows no events.

import { get } from "./api.ts";
import { CALM, type Hedge, hedged, HURRIED } from "./hedge.ts";
import { applyMessage, differences, type Model, withProcesses } from "./model.ts";
import { go } from "./navigate.ts";
import { noticeInbox } from "./notify.ts";
import { paths } from "./router.ts";
import { Socket } from "./socket.ts";
import { note, state, update } from "./store.ts";
import { text } from "./strings.ts";
import type { DoorEvent, EventsMessage, InboxItem, ProcessView } from "./types.ts";

/** The close codes of the server: the device was revoked; the daemon is gone. */
const REVOKED = 4403;
const DAEMON_GONE = 4503;
const ASK_EVERY_MS = 2000;

let socket: Socket | undefined;
let asking: ReturnType<typeof setTimeout> | undefined;
/** Ends the questions that are under way. */
let asked: AbortController | undefined;
/** A page may be seen again after any of these; the second one bubbles up from the document. */
const WAKE_EVENTS = ["online", "visibilitychange", "pageshow"];
/** Called with each event after the model has it. */
let listener: (what: DoorEvent) => void = () => undefined;

export function onEvent(next: (what: DoorEvent) => void): void {
  listener = next;
}

export function beginEvents(): void {
  endEvents();
  if (state.model.me?.target !== undefined) {
    WAKE_EVENTS.forEach((name) => addEventListener(name, wake));
    return void ask(CALM);
  }
  socket = new Socket(() => "ws/events", { for: "events" }, {
    open: () => update({ link: "open" }),
    message: (data) => typeof data === "string" && receive(data),
    lost: lose,
    roundTrip: (milliseconds) => update({ roundTrip: milliseconds }),
  });
}

export function endEvents(): void {
  clearTimeout(asking);
  asked?.abort();
  WAKE_EVENTS.forEach((name) => removeEventListener(name, wake));
  socket?.close();
  socket = undefined;
}

function lose(code: number): void {
  if (code === REVOKED) return update({ link: "lost", login: text.revoked });
  const isDaemonUp = code === DAEMON_GONE ? false : state.model.isDaemonUp;
  update({ link: code === DAEMON_GONE ? "open" : "lost", roundTrip: undefined, model: { ...state.model, isDaemonUp } });
}

/** A link gets no events: it asks, and at once when the page is seen again. */
async function ask(hedge: Hedge): Promise<void> {
  clearTimeout(asking);
  asked?.abort();
  const own = new AbortController();
  asked = own;
  const began = performance.now();
  try {
    const processes = await hedged((signal) => get<ProcessView[]>("processes", undefined, signal), hedge, own.signal);
    const roundTrip = Math.round(performance.now() - began);
    const before = state.model;
    const inbox = await hedged((signal) => get<InboxItem[]>("inbox", undefined, signal), hedge, own.signal);
    const model = { ...withProcesses(before, processes), inbox };
    update({ link: "open", roundTrip, model });
    differences(before, model).forEach(listener);
  } catch {
    if (own.signal.aborted) return;
    update({ link: "lost" });
  }
  asking = setTimeout(() => void ask(CALM), ASK_EVERY_MS);
}

function wake(): void {
  if (!document.hidden) void ask(HURRIED);
}

function receive(data: string): void {
  let message: EventsMessage;
  try {
    message = JSON.parse(data) as EventsMessage;
  } catch {
    return;
  }
  const before = state.model;
  const model = applyMessage(before, message);
  update({ model });
  if (message.type === "snapshot") return void fetchInbox();
  if (message.type !== "event") return;
  const { what } = message;
  if (what.item_opened || what.item_closed) itemEvents++;
  if (hasInbox && model.inbox !== before.inbox) noticeInbox(model.inbox);
  if (what.resync) void fetchAll();
  if (what.selected && !document.hidden) select(what.selected, model);
  listener(what);
}

/** A person's choice is followed. What a process asks for is only told: the next keys would go there. */
function select({ id, by }: NonNullable<DoorEvent["selected"]>, { processes }: Model): void {
  if (by === undefined) return go(paths.process(id));
  const name = (process: string): string => processes.get(process)?.name ?? process;
  note(text.asksToLook(name(by), name(id)));
}

let itemEvents = 0;
/** The whole inbox was fetched: only then is an item that is not in it news, or over. */
let hasInbox = false;

/** Fetches the inbox until no event came between the question and its answer. */
async function fetchInbox(): Promise<void> {
  for (let attempt = 0; attempt < 5; attempt++) {
    const before = itemEvents;
    const inbox = await get<InboxItem[]>("inbox").catch(() => undefined);
    if (inbox && (before === itemEvents || attempt === 4)) {
      update({ model: { ...state.model, inbox } });
      hasInbox = true;
      return noticeInbox(inbox);
    }
  }
}

async function fetchAll(): Promise<void> {
  const processes = await get<ProcessView[]>("processes").catch(() => undefined);
  if (processes) update({ model: withProcesses(state.model, processes) });
  await fetchInbox();
}

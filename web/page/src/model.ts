// What the page knows of the daemon, and how messages change it. Pure: no browser, no clock.

import type { DoorEvent, EventsMessage, InboxItem, Me, ProcessView, Receipt } from "./types.ts";

export interface Model {
  me?: Me;
  /** False until the processes are known. */
  isLoaded: boolean;
  /** The daemon answers the server. */
  isDaemonUp: boolean;
  revision: number;
  processes: ReadonlyMap<string, ProcessView>;
  inbox: readonly InboxItem[];
  receipts: ReadonlyMap<number, Receipt>;
  /** The newest turn of each agent whose end was announced. */
  endedTurns: ReadonlyMap<string, number>;
}

export function emptyModel(): Model {
  return { isLoaded: false, isDaemonUp: true, revision: 0, processes: new Map(), inbox: [], receipts: new Map(), endedTurns: new Map() };
}

/** Returns the model after a message of the events socket. */
export function applyMessage(model: Model, message: EventsMessage): Model {
  switch (message.type) {
    case "snapshot":
      return { ...withProcesses(model, message.processes), revision: message.revision };
    case "event":
      // The door repeats nothing, but a snapshot may already contain what an older event says.
      return message.revision <= model.revision ? model : applyEvent({ ...model, revision: message.revision }, message.what);
    default:
      return model;
  }
}

/** Returns the model with all processes replaced. */
export function withProcesses(model: Model, processes: readonly ProcessView[]): Model {
  return { ...model, isLoaded: true, isDaemonUp: true, processes: new Map(processes.map((process) => [process.id, process])) };
}

function applyEvent(model: Model, what: DoorEvent): Model {
  if (what.changed) return { ...model, processes: new Map(model.processes).set(what.changed.id, what.changed) };
  if (what.removed) return withoutProcess(model, what.removed.id);
  if (what.item_opened) return { ...model, inbox: withItem(model.inbox, what.item_opened) };
  if (what.item_closed) {
    const closed = what.item_closed.item;
    return { ...model, inbox: model.inbox.filter((item) => item.item !== closed) };
  }
  if (what.mail) return { ...model, receipts: new Map(model.receipts).set(what.mail.mail, what.mail) };
  if (what.turn_ended) return { ...model, endedTurns: new Map(model.endedTurns).set(what.turn_ended.id, what.turn_ended.turn) };
  return model;
}

function withoutProcess(model: Model, id: string): Model {
  const processes = new Map(model.processes);
  processes.delete(id);
  return { ...model, processes, inbox: model.inbox.filter((item) => item.id !== id) };
}

function withItem(inbox: readonly InboxItem[], item: InboxItem): InboxItem[] {
  return [...inbox.filter((other) => other.item !== item.item), item].sort((a, b) => a.at - b.at || a.item - b.item);
}

export type Section = "needs" | "working" | "done" | "idle" | "servers" | "ended";

/** The order in which the deck shows its sections. */
export const SECTIONS: readonly Section[] = ["needs", "working", "done", "idle", "servers", "ended"];

/** What a process looks like in one word; each has a glyph and a colour. */
export type Look = "blocked" | "working" | "waiting" | "idle" | "error" | "server" | "exited" | "starting";

export function lookOf(process: ProcessView): Look {
  if (process.status === "failed" || process.status === "parked") return "error";
  if (process.status === "exited") return process.exit?.code || process.exit?.signal ? "error" : "exited";
  if (process.status === "starting") return "starting";
  if (process.kind === "command") return "server";
  if (process.kind === "terminal") return "idle";
  const state = process.agent?.state ?? process.state;
  if (state === "thinking") return "working";
  return state ?? "starting";
}

export function sectionOf(process: ProcessView, hasItem: boolean): Section {
  const look = lookOf(process);
  if (hasItem || look === "blocked") return "needs";
  if (look === "error" && (process.status !== "exited" || process.unseen)) return "needs";
  if (look === "exited" || look === "error") return "ended";
  if (look === "working" || look === "waiting" || (look === "starting" && process.kind === "agent")) return "working";
  if (process.unseen) return "done";
  return look === "server" || process.kind === "command" ? "servers" : "idle";
}

export interface Row {
  process: ProcessView;
  item?: InboxItem;
  /** How deep it stands below another row of its section. */
  depth: number;
}

/** Returns the deck: every process in its section, children below their parent where both are in one section. */
export function deckRows(model: Model): Map<Section, Row[]> {
  const items = new Map<string, InboxItem>();
  for (const item of model.inbox) if (!items.has(item.id)) items.set(item.id, item);
  const sections = new Map<Section, ProcessView[]>();
  for (const process of model.processes.values()) {
    const section = sectionOf(process, items.has(process.id));
    sections.set(section, [...(sections.get(section) ?? []), process]);
  }
  const deck = new Map<Section, Row[]>();
  for (const section of SECTIONS) {
    const members = sections.get(section);
    if (members) deck.set(section, nested(members, items, section));
  }
  return deck;
}

function nested(members: ProcessView[], items: Map<string, InboxItem>, section: Section): Row[] {
  const ids = new Set(members.map((process) => process.id));
  const order = (a: ProcessView, b: ProcessView): number =>
    section === "needs"
      ? (items.get(a.id)?.at ?? a.active_at) - (items.get(b.id)?.at ?? b.active_at)
      : a.name.localeCompare(b.name, "en", { numeric: true });
  const rows: Row[] = [];
  const visited = new Set<string>();
  const add = (process: ProcessView, depth: number): void => {
    if (visited.has(process.id)) return;
    visited.add(process.id);
    const item = items.get(process.id);
    rows.push(item ? { process, item, depth } : { process, depth });
    members.filter((child) => child.parent === process.id).sort(order).forEach((child) => add(child, depth + 1));
  };
  const isRoot = (process: ProcessView): boolean => !process.parent || !ids.has(process.parent);
  members.filter(isRoot).sort(order).forEach((process) => add(process, 0));
  members.sort(order).forEach((process) => add(process, 0));
  return rows;
}

/** How full an agent's context is, in per cent. */
export function contextPercent(process: ProcessView): number | undefined {
  const context = process.agent?.context;
  if (!context?.window) return undefined;
  return Math.min(100, Math.round((context.used * 100) / context.window));
}

/** Since when the process is what it is, in milliseconds since the epoch. */
export function sinceOf(process: ProcessView, item?: InboxItem): number {
  if (item) return item.at;
  return process.unseen?.since ?? process.agent?.since ?? (process.status === "exited" ? process.active_at : process.started_at);
}

export function canType(model: Model): boolean {
  return model.me !== undefined && model.me.role !== "view";
}

/** The task that a link shows. */
export function linkedTask(model: Model): string | undefined {
  const target = model.me?.target;
  return typeof target === "object" ? target.task : undefined;
}

/** The page may show this task: a link shows one at most. */
export function canOpenTask(model: Model, name: string): boolean {
  return model.me?.target === undefined || linkedTask(model) === name;
}

/** Returns the events that would have told of these differences: a link asks, and gets no events. */
export function differences(before: Model, after: Model): DoorEvent[] {
  const events: DoorEvent[] = [];
  for (const process of after.processes.values()) {
    const known = before.processes.get(process.id);
    if (JSON.stringify(known) === JSON.stringify(process)) continue;
    const turn = process.agent?.turn;
    const hasEnded = turn !== undefined && (known?.agent?.turn !== turn || known.agent.state !== process.agent?.state);
    events.push(hasEnded ? { turn_ended: { id: process.id, turn } } : { changed: process });
  }
  for (const id of before.processes.keys()) if (!after.processes.has(id)) events.push({ removed: { id } });
  return events;
}

export function isAdmin(model: Model): boolean {
  return model.me?.role === "admin";
}

/** The projects of all processes: their key and a directory in each. */
export function projectsOf(model: Model): { key: string; directory: string }[] {
  const projects = new Map<string, string>();
  for (const process of model.processes.values()) {
    if (!process.project) continue;
    const known = projects.get(process.project);
    if (known === undefined || process.cwd.length < known.length) projects.set(process.project, process.cwd);
  }
  return [...projects].map(([key, directory]) => ({ key, directory })).sort((a, b) => a.directory.localeCompare(b.directory));
}

// How events change what the page knows, and where each process stands on the deck.

import assert from "node:assert/strict";
import { test } from "node:test";
import { applyMessage, canOpenTask, contextPercent, deckRows, differences, emptyModel, linkedTask, lookOf, type Model, projectsOf, sectionOf } from "../../src/model.ts";
import type { DoorEvent, InboxItem, ProcessView } from "../../src/types.ts";

function process(id: string, more: Partial<ProcessView> = {}): ProcessView {
  return {
    id, name: id, kind: "agent", status: "running", pid: 1, run: 1, state: "idle", parent: null, task: null, workspace: "local", owner: "user",
    size: { cols: 80, rows: 24 }, viewers: 0, argv: [id], cwd: `/src/${id}`, started_at: 0, active_at: 0, ...more,
  };
}

const item = (number: number, id: string, at = number): InboxItem => ({ item: number, id, name: id, kind: "question", title: "?", options: [], at });
const snapshot = (...processes: ProcessView[]): Model => applyMessage(emptyModel(), { type: "snapshot", revision: 10, processes });
const event = (model: Model, revision: number, what: DoorEvent): Model => applyMessage(model, { type: "event", revision, what });

test("a snapshot replaces everything and an event that it already contains changes nothing", () => {
  const model = snapshot(process("a"), process("b"));
  assert.deepEqual([...model.processes.keys()], ["a", "b"]);
  assert.equal(event(model, 10, { removed: { id: "a" } }), model);
  assert.deepEqual([...event(model, 11, { removed: { id: "a" } }).processes.keys()], ["b"]);
});

test("an item opens once, closes by its number, and leaves with its process", () => {
  let model = event(snapshot(process("a"), process("b")), 11, { item_opened: item(2, "b") });
  model = event(model, 12, { item_opened: item(1, "a") });
  model = event(model, 13, { item_opened: { ...item(2, "b"), title: "changed" } });
  assert.deepEqual(model.inbox.map((one) => [one.item, one.title]), [[1, "?"], [2, "changed"]]);
  assert.deepEqual(event(model, 14, { item_closed: { item: 1 } }).inbox.map((one) => one.item), [2]);
  assert.deepEqual(event(model, 14, { removed: { id: "b" } }).inbox.map((one) => one.item), [1]);
});

test("a receipt is known by its message", () => {
  const model = event(snapshot(), 11, { mail: { mail: 4, to: "a", status: "submitted", turn: 7 } });
  assert.equal(model.receipts.get(4)?.turn, 7);
});

test("what an unknown event says is ignored", () => {
  const model = snapshot(process("a"));
  assert.deepEqual(event(model, 11, { timer: {} }), { ...model, revision: 11 });
});

test("what a link asks for again is told like events", () => {
  const agent = (turn: number): Partial<ProcessView> => ({ agent: { manifest: "x", state: "idle", since: 0, turn } as ProcessView["agent"] & object });
  const before = snapshot(process("a"), process("b", agent(1)), process("c"), process("d"));
  const after = snapshot(process("a"), process("b", agent(2)), process("c", { title: "new" }));
  assert.deepEqual(differences(before, before), []);
  assert.deepEqual(differences(before, after).map((what) => Object.keys(what)[0]), ["turn_ended", "changed", "removed"]);
});

test("a link opens its own task and no other", () => {
  const me = (target?: string | { task: string; created_at: number }): Model => ({ ...emptyModel(), me: { id: "l", kind: "link", label: "l", role: "view", ...(target === undefined ? {} : { target }) } });
  assert.equal(linkedTask(me({ task: "fix", created_at: 1 })), "fix");
  assert.deepEqual([me(), me("p_1"), me({ task: "fix", created_at: 1 })].map((model) => [canOpenTask(model, "fix"), canOpenTask(model, "other")]), [[true, true], [false, false], [true, false]]);
});

test("each process has one look", () => {
  const looks: [Partial<ProcessView>, string][] = [
    [{ state: "blocked" }, "blocked"], [{ state: "thinking" }, "working"], [{ state: "waiting" }, "waiting"], [{ state: null }, "starting"],
    [{ kind: "command", state: null }, "server"], [{ kind: "terminal", state: null }, "idle"], [{ status: "failed" }, "error"],
    [{ status: "exited", exit: { code: 0, reason: "exited" } }, "exited"], [{ status: "exited", exit: { signal: 9, reason: "signalled" } }, "error"],
  ];
  for (const [more, look] of looks) assert.equal(lookOf(process("a", more)), look, JSON.stringify(more));
});

test("what needs a person comes first, oldest question first, children below their parent", () => {
  let model = snapshot(
    process("z-parent", { state: "working" }), process("a-child", { state: "working", parent: "z-parent" }), process("done", { unseen: { what: "turn", turn: 1, since: 5 } }),
    process("late"), process("early"), process("web", { kind: "command", state: null }), process("old", { status: "exited", exit: { code: 0, reason: "exited" } }),
  );
  model = { ...model, inbox: [item(1, "early", 100), item(2, "late", 200)] };
  const deck = [...deckRows(model)].map(([section, rows]) => [section, ...rows.map((row) => `${" ".repeat(row.depth)}${row.process.name}`)]);
  assert.deepEqual(deck, [["needs", "early", "late"], ["working", "z-parent", " a-child"], ["done", "done"], ["servers", "web"], ["ended", "old"]]);
});

test("a failure that was seen no longer asks for attention", () => {
  const failed = process("a", { kind: "command", status: "exited", exit: { code: 1, reason: "exited" } });
  assert.equal(sectionOf(failed, false), "ended");
  assert.equal(sectionOf({ ...failed, unseen: { what: "exit", since: 1 } }, false), "needs");
});

test("processes that name each other as parents are still shown once", () => {
  const model = snapshot(process("a", { parent: "b" }), process("b", { parent: "a" }));
  const names = [...deckRows(model).values()].flat().map((row) => row.process.name);
  assert.deepEqual(names.sort(), ["a", "b"]);
});

test("a context without a known window has no percentage", () => {
  const agent = { manifest: "m", state: "idle" as const, since: 0, turn: 1, mail: 0 };
  assert.equal(contextPercent(process("a", { agent: { ...agent, context: { used: 60_000, window: 200_000 } } })), 30);
  assert.equal(contextPercent(process("a", { agent: { ...agent, context: { used: 300, window: 200 } } })), 100);
  assert.equal(contextPercent(process("a", { agent: { ...agent, context: { used: 1, window: null } } })), undefined);
});

test("each project is listed once, by its shortest directory", () => {
  const model = snapshot(process("a", { project: "k", cwd: "/src/x/deep" }), process("b", { project: "k", cwd: "/src/x" }), process("c"));
  assert.deepEqual(projectsOf(model), [{ key: "k", directory: "/src/x" }]);
});

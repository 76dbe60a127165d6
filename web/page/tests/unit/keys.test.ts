// What the key bar and the keyboard send.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FIRST_ROW, inputOf, isPageKey, pressBarKey, SECOND_ROW, withCtrl } from "../../src/keys.ts";
import { SPOKEN_KEYS } from "../../src/strings.ts";

test("ctrl stays on for exactly one key", () => {
  assert.deepEqual(pressBarKey("ctrl", false), { isCtrlOn: true });
  assert.deepEqual(pressBarKey("ctrl", true), { isCtrlOn: false });
  assert.deepEqual(pressBarKey("c", true), { send: "ctrl-c", isCtrlOn: false });
  assert.deepEqual(pressBarKey("up", true), { send: "ctrl-up", isCtrlOn: false });
  assert.deepEqual(pressBarKey("up", false), { send: "up", isCtrlOn: false });
});

test("ctrl never doubles, and keys without such a form stay what they are", () => {
  assert.equal(withCtrl("ctrl-c"), undefined);
  assert.equal(withCtrl("é"), undefined);
  assert.equal(withCtrl(" "), "ctrl-space");
  assert.equal(withCtrl("R"), "ctrl-r");
  assert.deepEqual(pressBarKey("ctrl-c", true), { send: "ctrl-c", isCtrlOn: false });
});

test("a character goes as text and everything else by its name", () => {
  assert.deepEqual(inputOf("|"), { text: "|" });
  assert.deepEqual(inputOf("escape"), { keys: ["escape"] });
});

test("w28 every key of the bar has words for a screen reader", () => {
  for (const key of [...FIRST_ROW, ...SECOND_ROW]) assert.match(SPOKEN_KEYS[key.name] ?? "", /^[A-Z][a-z]/, key.name);
});

test("a terminal keeps every key but three", () => {
  const chord = (key: string, held: string): boolean =>
    isPageKey({ key, ctrlKey: held.includes("c"), altKey: held.includes("a"), metaKey: held.includes("m"), shiftKey: held.includes("s") });
  assert.ok(chord("k", "c") && chord("\\", "c") && chord("F6", ""));
  for (const [key, held] of [["k", ""], ["k", "cs"], ["k", "ca"], ["c", "c"], ["d", "c"], ["\\", ""], ["F5", ""], ["Escape", ""], ["k", "m"]] as const) {
    assert.ok(!chord(key, held), `${held} ${key}`);
  }
});

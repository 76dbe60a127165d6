// What a screen reader hears: the newest text, at most once a second.

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { announce } from "../../src/announce.ts";

test("w28 a screen reader hears at most one announcement a second, and the newest wins", () => {
  const heard: string[] = [];
  const region = { set textContent(value: string) { heard.push(value); } };
  Object.assign(globalThis, { document: { getElementById: () => region } });
  mock.timers.enable({ apis: ["setTimeout"] });
  for (const word of ["first", "second"]) announce(word);
  mock.timers.tick(0);
  assert.deepEqual(heard, ["second"]);
  for (const word of ["third", "fourth", "fifth"]) announce(word);
  mock.timers.tick(999);
  assert.deepEqual(heard, ["second"]);
  mock.timers.tick(1);
  assert.deepEqual(heard, ["second", "fifth"]);
  mock.timers.tick(5000);
  assert.deepEqual(heard, ["second", "fifth"], "nothing is said twice");
  mock.timers.reset();
});

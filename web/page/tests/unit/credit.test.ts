// When parsed output is acknowledged, and how long the page waits before it connects again.

import assert from "node:assert/strict";
import { test } from "node:test";
import { backoff, LONGEST_MS } from "../../src/backoff.ts";
import { ACK_EVERY, Credit } from "../../src/credit.ts";

test("w17 everything parsed is acknowledged at once, a flood every 64 KiB", () => {
  const credit = new Credit(0);
  credit.receive(10);
  assert.equal(credit.parse(10), 10);
  assert.equal(credit.parse(10), undefined, "nothing is acknowledged twice");
  credit.receive(ACK_EVERY * 4);
  assert.equal(credit.parse(ACK_EVERY), undefined);
  assert.equal(credit.parse(ACK_EVERY + 10), ACK_EVERY + 10);
  assert.equal(credit.parse(ACK_EVERY * 4), ACK_EVERY * 4);
});

test("w16 a new connection continues at what is parsed, not at what has arrived", () => {
  const credit = new Credit(0);
  credit.receive(5000);
  credit.parse(3000);
  assert.equal(credit.position, 3000);
  credit.restart(9000);
  assert.equal(credit.position, 9000);
});

test("w18 the pause doubles from a fifth of a second to five seconds", () => {
  assert.deepEqual([0, 1, 2, 5, 60].map((attempt) => backoff(attempt, 1)), [200, 400, 800, LONGEST_MS, LONGEST_MS]);
  assert.equal(backoff(0, 0), 100);
});

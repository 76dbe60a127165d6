// The binary frames: what is encoded is decoded again, and nothing else is.

import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeFrame, encodeFrame, HEADER_BYTES, INPUT_CHUNK, inputFrames } from "../../src/frames.ts";

const bytes = (...values: number[]): Uint8Array => new Uint8Array(values);

test("w16 a frame has the layout that the server writes", () => {
  const frame = encodeFrame({ kind: "output", flags: 0, stream: 0, offset: 7, end: 0x0506_0708, bytes: bytes(97, 98) });
  assert.deepEqual([...frame], [1, 1, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 8, 7, 6, 5, 0, 0, 0, 0, 97, 98]);
});

test("w16 every kind survives the way there and back", () => {
  for (const kind of ["output", "repaint", "input"] as const) {
    const frame = { kind, flags: 3, stream: 9, offset: 2 ** 40, end: 2 ** 40 + 5, bytes: bytes(0, 255, 27) };
    assert.deepEqual(decodeFrame(encodeFrame(frame).buffer), frame);
  }
});

test("w14 what is no frame is refused with a reason", () => {
  const good = encodeFrame({ kind: "output", flags: 0, stream: 0, offset: 5, end: 9, bytes: bytes() });
  const broken = (change: (frame: Uint8Array) => void): unknown => {
    const copy = good.slice();
    change(copy);
    return decodeFrame(copy.buffer);
  };
  assert.match(String(decodeFrame(good.slice(0, HEADER_BYTES - 1).buffer)), /no whole header/);
  assert.match(String(broken((frame) => frame.fill(2, 0, 1))), /version 2/);
  assert.match(String(broken((frame) => frame.fill(9, 1, 2))), /kind 9/);
  assert.match(String(broken((frame) => frame.fill(0, 16, 24))), /ends at 0, before it begins at 5/);
  assert.match(String(broken((frame) => frame.fill(255, 8, 16))), /too large/);
});

test("w20 a large paste is cut into frames that continue one another", () => {
  const paste = new Uint8Array(INPUT_CHUNK * 2 + 10).map((_value, index) => index % 251);
  const frames = inputFrames(paste, 1, 100).map((frame) => decodeFrame(frame.buffer));
  assert.equal(frames.length, 3);
  let at = 100;
  const joined: number[] = [];
  for (const frame of frames) {
    assert.ok(typeof frame !== "string");
    assert.equal(frame.offset, at);
    assert.equal(frame.end - frame.offset, frame.bytes.length);
    at = frame.end;
    joined.push(...frame.bytes);
  }
  assert.deepEqual(new Uint8Array(joined), paste);
});

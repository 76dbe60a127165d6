// What the wheel types, and which files may say where they were made.

import assert from "node:assert/strict";
import { test } from "node:test";
import { nameFor, pictureOf } from "../../src/pictures.ts";
import { type WheelModes, wheelInput } from "../../src/wheel.ts";

const SHELL: WheelModes = { isTracking: false, isSgr: false, isAlternate: false, isApplicationCursor: false };
const CELL = { col: 50, row: 15 };

test("a wheel types what the program asked for, and nothing into a shell", () => {
  assert.equal(wheelInput(3, SHELL, CELL), "");
  assert.equal(wheelInput(-2, { ...SHELL, isAlternate: true }, CELL), "\x1b[A\x1b[A");
  assert.equal(wheelInput(1, { ...SHELL, isAlternate: true, isApplicationCursor: true }, CELL), "\x1bOB");
  assert.equal(wheelInput(1, { ...SHELL, isTracking: true, isSgr: true }, CELL), "\x1b[<65;50;15M");
  assert.equal(wheelInput(-1, { ...SHELL, isTracking: true }, CELL), "\x1b[M`R/");
  assert.equal(wheelInput(1000, { ...SHELL, isAlternate: true }, CELL).length, 60 * 3);
});

test("pictures and films are known by their bytes", () => {
  const of = (text: string): string | undefined => pictureOf(Uint8Array.from(text, (character) => character.charCodeAt(0)));
  assert.equal(of("\xff\xd8\xff\xe0xxxxxxxx"), "image/jpeg");
  assert.equal(of("\x89PNG\r\n\x1a\nxxxx"), "image/png");
  assert.equal(of("RIFFxxxxWEBP"), "image/webp");
  for (const other of ["\0\0\0\x18ftypheic", "\0\0\0\x18ftypmp42", "II*\0xxxxxxxx", "MM\0*xxxxxxxx"]) assert.equal(of(other), "other", other);
  for (const none of ["", "GIF89axxxxxx", "RIFFxxxxWAVE", "hello world!"]) assert.equal(of(none), undefined, none);
});

test("a picture that became another kind is called so", () => {
  assert.equal(nameFor("a.HEIC", "image/jpeg"), "a.jpg");
  assert.equal(nameFor("a.b.JPEG", "image/jpeg"), "a.b.JPEG");
  assert.equal(nameFor("photo", "image/png"), "photo.png");
  assert.equal(nameFor("notes.txt", ""), "notes.txt");
});

// Fingers on a screen: two change the size of its text, one turns the wheel of a program that scrolls by itself.

import { fontSize, setFontSize } from "./preferences.ts";

/** Watches an element for pinches; returns how to stop. */
export function watchPinch(element: HTMLElement): () => void {
  let begin: { distance: number; size: number } | undefined;
  const distance = (event: TouchEvent): number => {
    const [one, two] = [event.touches[0], event.touches[1]];
    return one && two ? Math.hypot(one.clientX - two.clientX, one.clientY - two.clientY) : 0;
  };
  const start = (event: TouchEvent): void => {
    begin = event.touches.length === 2 ? { distance: distance(event), size: fontSize() } : undefined;
  };
  const move = (event: TouchEvent): void => {
    if (!begin || event.touches.length !== 2) return;
    event.preventDefault();
    const size = Math.round((begin.size * distance(event)) / begin.distance);
    if (size !== fontSize()) setFontSize(size);
  };
  element.addEventListener("touchstart", start, { passive: true });
  element.addEventListener("touchmove", move, { passive: false });
  return () => {
    element.removeEventListener("touchstart", start);
    element.removeEventListener("touchmove", move);
  };
}

export interface WheelOptions {
  /** The program takes a wheel now: it has the whole screen, or it follows the mouse. */
  isWanted: () => boolean;
  /** So many pixels are one turn. */
  rowHeight: () => number;
  /** Turns the wheel by rows: upwards if negative. */
  turn: (rows: number) => void;
}

/** A finger that leaves faster than this, in pixels per millisecond, lets the wheel run on. */
const RUNS_ON = 0.3;
/** What is left of the speed after 16 ms. */
const FRICTION = 0.95;
const STANDS_STILL = 0.05;

/**
 * Turns a program's wheel with one finger, where the text itself cannot be moved any further in that direction; returns
 * how to stop. The wheel runs on after a quick stroke, and a touch stops it.
 */
export function watchWheel(element: HTMLElement, options: WheelOptions): () => void {
  let last: { y: number; at: number } | undefined;
  let isTurning = false;
  let speed = 0;
  let rest = 0;
  let frame = 0;
  const push = (pixels: number): void => {
    rest += pixels;
    const rows = Math.trunc(rest / options.rowHeight());
    if (rows === 0) return;
    rest -= rows * options.rowHeight();
    options.turn(rows);
  };
  const start = (event: TouchEvent): void => {
    cancelAnimationFrame(frame);
    isTurning = false;
    speed = rest = 0;
    const touch = event.touches.length === 1 ? event.touches[0] : undefined;
    last = touch && options.isWanted() ? { y: touch.clientY, at: event.timeStamp } : undefined;
  };
  const move = (event: TouchEvent): void => {
    const touch = event.touches[0];
    if (!last || !touch || event.touches.length !== 1) return;
    const pixels = last.y - touch.clientY;
    isTurning ||= event.cancelable && pixels !== 0 && isAtEdge(element, pixels);
    if (isTurning) {
      event.preventDefault();
      speed = pixels / Math.max(1, event.timeStamp - last.at);
      push(pixels);
    }
    last = { y: touch.clientY, at: event.timeStamp };
  };
  const end = (event: TouchEvent): void => {
    if (!isTurning || Math.abs(speed) < RUNS_ON || !last || event.timeStamp - last.at > 100) return;
    let at = performance.now();
    const run = (now: number): void => {
      push(speed * (now - at));
      speed *= FRICTION ** ((now - at) / 16);
      at = now;
      if (Math.abs(speed) > STANDS_STILL && options.isWanted()) frame = requestAnimationFrame(run);
    };
    frame = requestAnimationFrame(run);
  };
  element.addEventListener("touchstart", start, { passive: true });
  element.addEventListener("touchmove", move, { passive: false });
  element.addEventListener("touchend", end, { passive: true });
  return () => {
    cancelAnimationFrame(frame);
    element.removeEventListener("touchstart", start);
    element.removeEventListener("touchmove", move);
    element.removeEventListener("touchend", end);
  };
}

/** The element cannot scroll any further downwards, or upwards if `pixels` is negative. */
function isAtEdge({ scrollTop, scrollHeight, clientHeight }: HTMLElement, pixels: number): boolean {
  return pixels > 0 ? scrollTop + clientHeight >= scrollHeight - 1 : scrollTop <= 0;
}

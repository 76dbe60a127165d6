// The page's state in one object, and drawing at most once per frame after it changed.

import { emptyModel, type Model } from "./model.ts";
import type { Route } from "./router.ts";
import { parseRoute } from "./router.ts";

export type Link = "connecting" | "open" | "lost";

export interface Note {
  id: number;
  text: string;
  isError: boolean;
}

export interface State {
  model: Model;
  route: Route;
  link: Link;
  /** Round trip to the server in milliseconds. */
  roundTrip?: number;
  /** The page needs a login: why. */
  login?: string;
  notes: Note[];
  /** Now, renewed every second while ages are shown. */
  now: number;
}

export const state: State = {
  model: emptyModel(),
  route: parseRoute("", ""),
  link: "connecting",
  notes: [],
  now: Date.now(),
};

let draw: () => void = () => undefined;
let isScheduled = false;

export function setDraw(next: () => void): void {
  draw = next;
}

/** Draws before the next frame. */
export function invalidate(): void {
  if (isScheduled) return;
  isScheduled = true;
  const run = (): void => {
    if (!isScheduled) return;
    isScheduled = false;
    draw();
  };
  // A hidden page gets no frames, but its title must change all the same.
  if (document.hidden) setTimeout(run, 50);
  else requestAnimationFrame(run);
}

export function update(change: Partial<State>): void {
  Object.assign(state, change);
  invalidate();
}

let noteNumber = 0;

/** Shows a note for a while; it never takes the keyboard. */
export function note(message: string, isError = false): void {
  const entry: Note = { id: ++noteNumber, text: message, isError };
  // The same words again replace those that are shown.
  const others = state.notes.filter((other) => other.text !== message);
  update({ notes: [...others.slice(-2), entry] });
  setTimeout(() => dismiss(entry), isError ? 8000 : 3500);
}

/** Takes a note away; a person taps it, or its time is over. */
export function dismiss(entry: Note): void {
  if (state.notes.includes(entry)) update({ notes: state.notes.filter((other) => other !== entry) });
}

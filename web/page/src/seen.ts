// Marks what a person looks at as seen, on every device.

import { post, processPath } from "./api.ts";
import { canType } from "./model.ts";
import { state } from "./store.ts";
import type { ProcessView } from "./types.ts";

let last = "";

/** Tells the daemon once for each end of a turn or run that the page shows. */
export function markSeen(process: ProcessView): void {
  const key = process.unseen ? `${process.id} ${process.unseen.since}` : "";
  if (!process.unseen || key === last || document.hidden || !canType(state.model)) return;
  last = key;
  void post(processPath(process.id, "see"), process.unseen.turn === undefined ? {} : { turn: process.unseen.turn }).catch(() => undefined);
}

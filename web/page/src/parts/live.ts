// A picture of a screen that is renewed while it is visible: for tiles and for the rows under "Now".

import { get, processPath } from "../api.ts";
import { patchRows, withoutEmptyEnd } from "../rows.ts";
import type { ScreenText, StyledRow } from "../types.ts";

/** Enough for every screen with all its colours. */
export const SCREEN_BYTES = 1_048_576;

export interface LiveOptions {
  /** Show at most this many last rows. */
  rows?: number;
  /** Choose the size of the text so that all columns fit. */
  isFitted?: boolean;
  every: number;
}

/** Renews the rows of a process in an element until it is stopped; nothing is fetched while it is out of sight. */
export function liveRows(element: HTMLElement, process: string, options: LiveOptions): { stop: () => void; renew: () => void } {
  let shown: StyledRow[] = [];
  let version: number | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isVisible = false;
  let isStopped = false;
  let isBusy = false;
  const renew = async (): Promise<void> => {
    clearTimeout(timer);
    if (isStopped || isBusy) return;
    if (isVisible && !document.hidden) {
      isBusy = true;
      const screen = await get<ScreenText>(processPath(process, "screen"), { styles: true, limit: SCREEN_BYTES }).catch(() => undefined);
      isBusy = false;
      if (screen && screen.version !== version) {
        version = screen.version;
        const used = withoutEmptyEnd(screen.rows ?? []);
        const next = options.rows ? used.slice(-options.rows) : used;
        if (options.isFitted) fit(element, screen.size.cols);
        patchRows(element, shown, next);
        shown = next;
        element.classList.add("filled");
      }
    }
    if (!isStopped) timer = setTimeout(() => void renew(), options.every);
  };
  const observer = new IntersectionObserver((entries) => {
    isVisible = entries.some((entry) => entry.isIntersecting);
    if (isVisible) void renew();
  });
  observer.observe(element);
  return {
    renew: () => void renew(),
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
      observer.disconnect();
    },
  };
}

const SMALLEST_PX = 4;
const LARGEST_PX = 11;

/** A character of the screen's font is 0.6 of its size wide. */
export function fit(element: HTMLElement, cols: number): void {
  const width = (element.parentElement?.clientWidth ?? 0) - 16;
  const size = Math.max(SMALLEST_PX, Math.min(LARGEST_PX, width / cols / 0.6));
  element.style.fontSize = `${Math.floor(size * 10) / 10}px`;
}

// A picture of a screen that is renewed while it is visible: for tiles and for the rows under "Now".

import { get, processPath } from "../api.ts";
import { patchRows, withoutEmptyEnd, withoutLinks } from "../rows.ts";
import { isNarrow } from "../preferences.ts";
import type { ScreenText, StyledRow } from "../types.ts";
import { CHARACTER_WIDTH } from "./textscreen.ts";

/** Enough for every screen with all its colours. */
export const SCREEN_BYTES = 1_048_576;

export interface LiveOptions {
  /** Show at most this many last rows. */
  rows?: number;
  /** A small picture: its text is as large as the place allows, and its links are plain text. */
  isPicture?: boolean;
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
        const shownRows = options.isPicture ? withoutLinks(used) : used;
        const next = options.rows ? shownRows.slice(-options.rows) : shownRows;
        if (options.isPicture) fit(element, Math.max(...used.map(columns)));
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

/** All pictures of a width have the same size of text, so that they can be compared: so many columns fill one. */
const PICTURE_COLS = 80;
/** Smaller text cannot be read; what does not fit then fades out at the right, where lines end. */
const SMALLEST_PX = 8;
const SMALLEST_NARROW_PX = 9;
const LARGEST_PX = 12;

/** Chooses the size of the text for the width of the element's parent. */
function fit(element: HTMLElement, cols: number): void {
  const width = (element.parentElement?.clientWidth ?? 0) - 16;
  const smallest = isNarrow() ? SMALLEST_NARROW_PX : SMALLEST_PX;
  const size = Math.max(smallest, Math.min(LARGEST_PX, Math.floor((width / PICTURE_COLS / CHARACTER_WIDTH) * 10) / 10));
  element.style.fontSize = `${size}px`;
  element.classList.toggle("cut", cols * size * CHARACTER_WIDTH > width + 1);
}

/** How many columns a row uses. */
const columns = (row: StyledRow): number => row.runs.reduce((sum, run) => sum + [...run.text].length * (run.width ?? 1), 0);

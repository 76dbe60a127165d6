// Two fingers change the size of a screen's text.

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

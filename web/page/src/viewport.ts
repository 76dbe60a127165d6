// Keeps the layout inside the visible part of the window when a phone shows its keyboard. No terminal is resized.

export function watchViewport(): void {
  const viewport = window.visualViewport;
  if (!viewport) return;
  const apply = (): void => {
    const root = document.documentElement;
    // While a person zooms, the visible part says nothing about the keyboard.
    if (viewport.scale > 1.01) return;
    root.style.setProperty("--visible-height", `${Math.round(viewport.height)}px`);
    root.classList.toggle("keyboard-up", window.innerHeight - viewport.height > 120);
    if (viewport.offsetTop > 0) window.scrollTo(0, 0);
  };
  viewport.addEventListener("resize", apply);
  viewport.addEventListener("scroll", apply);
  apply();
}

// Reads changes to screen readers politely: at most one announcement a second, the newest text wins.

let region: HTMLElement | null = null;
let waiting: string | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

export function announce(message: string): void {
  waiting = message;
  timer ??= setTimeout(flush, 0);
}

function flush(): void {
  region ??= document.getElementById("announcements");
  if (region && waiting !== undefined) region.textContent = waiting;
  waiting = undefined;
  timer = setTimeout(() => {
    timer = undefined;
    if (waiting !== undefined) flush();
  }, 1000);
}

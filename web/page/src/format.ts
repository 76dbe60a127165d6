// Turns numbers into the few characters that a row has room for.

/** Returns a duration as `9s`, `2m`, `3h`, `5d`. */
export function shortAge(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/** Returns the time of day as `14:02`, with the date when it is another day. */
export function clockTime(at: number, now: number): string {
  const date = new Date(at);
  const two = (number: number): string => String(number).padStart(2, "0");
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
  const isToday = new Date(now).toDateString() === date.toDateString();
  return isToday ? time : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}

/** Returns a directory with the middle left out: the end is what tells directories apart. */
export function shortPath(path: string, length = 44): string {
  if (path.length <= length) return path;
  const parts = path.split("/");
  let tail = parts.pop() ?? "";
  while (parts.length > 1 && tail.length + (parts.at(-1)?.length ?? 0) + 3 <= length) tail = `${parts.pop()}/${tail}`;
  return `…/${tail}`;
}

export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(bytes < 10_240 ? 1 : 0)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** Returns the exit as a shell shows it. */
export function exitText(exit: { code?: number; signal?: number; reason: string }): string {
  if (exit.code !== undefined) return `exit ${exit.code}`;
  if (exit.signal !== undefined) return `signal ${exit.signal}`;
  return exit.reason;
}

/** Returns a command as a person would type it: of a line for the shell, the line. */
export function commandText(argv: readonly string[]): string {
  const [program = "", flag, line] = argv;
  if (/^(.*\/)?(ba|z|da|)sh$/.test(program) && flag === "-c" && line !== undefined) return line;
  return [program.split("/").at(-1) ?? program, ...argv.slice(1)].join(" ");
}

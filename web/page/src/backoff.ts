// How long to wait before the next attempt to connect: 0.2 s, doubled up to 5 s, with jitter.

export const FIRST_MS = 200;
export const LONGEST_MS = 5000;

/** Returns the pause before attempt number `attempt` (from 0); `random` is between 0 and 1. */
export function backoff(attempt: number, random: number): number {
  const whole = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt, 20));
  return Math.round(whole * (0.5 + random / 2));
}

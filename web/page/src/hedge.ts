// One request made several times over, for when kept-alive connections may be dead: the first answer counts.

import { ApiError } from "./api.ts";

export interface Hedge {
  /** The first request begins after this time. */
  firstMs: number;
  /** While there is no answer, another one begins after each of these. */
  everyMs: number;
  /** How many requests there are at most. */
  count: number;
  /** A request is given up after this time, which also ends the connection that it waits for. */
  lifeMs: number;
  /** The last request has more time: a slow network is slow, not dead. */
  lastLifeMs: number;
}

/** A server must answer within this time. */
export const ANSWER_MS = 9000;

/** A request that is made once. */
export const CALM: Hedge = { firstMs: 0, everyMs: 0, count: 1, lifeMs: ANSWER_MS, lastLifeMs: ANSWER_MS };

/**
 * After sleep the connections that the browser keeps for calls are dead as well, and each of them costs one request. With
 * these times four dead ones and a dead socket are replaced within two seconds.
 */
export const HURRIED: Hedge = { firstMs: 0, everyMs: 250, count: 5, lifeMs: 500, lastLifeMs: ANSWER_MS };

/** Makes the request until one is answered. An error that the server sent is an answer; the rest are tried again. */
export function hedged<T>(request: (signal: AbortSignal) => Promise<T>, hedge: Hedge, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const open = new Set<AbortController>();
    let begun = 0;
    let next: ReturnType<typeof setTimeout> | undefined;
    const end = (finish: () => void): void => {
      clearTimeout(next);
      signal.removeEventListener("abort", cancel);
      finish();
      for (const other of open) other.abort();
    };
    const cancel = (): void => end(() => reject(new DOMException("given up", "AbortError")));
    const begin = async (): Promise<void> => {
      const isLast = ++begun === hedge.count;
      if (!isLast) next = setTimeout(() => void begin(), hedge.everyMs);
      const own = new AbortController();
      open.add(own);
      const life = setTimeout(() => own.abort(), isLast ? hedge.lastLifeMs : hedge.lifeMs);
      try {
        const value = await request(own.signal);
        end(() => resolve(value));
      } catch (error) {
        const isAnswer = error instanceof ApiError && error.status !== 0;
        open.delete(own);
        if (isAnswer || (open.size === 0 && begun === hedge.count)) end(() => reject(error));
      } finally {
        clearTimeout(life);
        open.delete(own);
      }
    };
    signal.addEventListener("abort", cancel);
    next = setTimeout(() => void begin(), hedge.firstMs);
  });
}

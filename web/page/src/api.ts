// Calls of the HTTP API: one function, errors as the door's failures, and step-up when the server asks for it.

import { address } from "./base.ts";
import { text } from "./strings.ts";
import type { Failure } from "./types.ts";

export class ApiError extends Error {
  constructor(readonly status: number, readonly failure: Failure) {
    super(failure.message);
  }
}

export interface Call {
  method?: "GET" | "POST" | "PUT" | "DELETE";
  body?: unknown;
  bytes?: Blob;
  query?: Record<string, string | number | boolean | undefined>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

interface Handlers {
  /** The login is no longer good. */
  signedOut: () => void;
  /** Asks for a code; resolves to true when the call may be tried again. */
  stepUp: () => Promise<boolean>;
}

let handlers: Handlers = { signedOut: () => undefined, stepUp: () => Promise.resolve(false) };

export function setHandlers(next: Handlers): void {
  handlers = next;
}

/** Calls the API and returns the answer; `undefined` for an empty one. */
export async function call<T>(path: string, options: Call = {}): Promise<T> {
  const response = await send(path, options);
  if (response.ok) return (response.status === 204 ? undefined : await response.json()) as T;
  const failure = await failureOf(response);
  if (response.status === 403 && failure.hint?.includes("step-up")) {
    if (await handlers.stepUp()) return call(path, options);
    throw new ApiError(403, { code: failure.code, message: text.notConfirmed });
  }
  if (response.status === 401 && path !== "login" && path !== "step-up") handlers.signedOut();
  throw new ApiError(response.status, failure);
}

async function send(path: string, options: Call): Promise<Response> {
  const url = new URL(address(`api/v1/${path}`));
  for (const [name, value] of Object.entries(options.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  const headers: Record<string, string> = { "X-Qd": "1", ...options.headers };
  const init: RequestInit = { method: options.method ?? "GET", headers, credentials: "same-origin", cache: "no-store" };
  if (options.signal) init.signal = options.signal;
  if (options.bytes) init.body = options.bytes;
  else if (options.body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(options.body);
  }
  try {
    return await fetch(url, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, { code: "network", message: text.network });
  }
}

async function failureOf(response: Response): Promise<Failure> {
  const unreadable: Failure = { code: "internal", message: `${response.status} ${response.statusText}` };
  try {
    const body: unknown = await response.json();
    const failure = (body as { error?: Failure }).error ?? (body as Failure);
    return typeof failure.message === "string" ? failure : unreadable;
  } catch {
    return unreadable;
  }
}

export const get = <T>(path: string, query?: Call["query"], signal?: AbortSignal): Promise<T> =>
  call<T>(path, { ...(query ? { query } : {}), ...(signal ? { signal } : {}) });
export const post = <T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> =>
  call<T>(path, { method: "POST", body, ...(signal ? { signal } : {}) });
export const remove = <T>(path: string, query?: Call["query"], body?: unknown): Promise<T> =>
  call<T>(path, { method: "DELETE", ...(query ? { query } : {}), ...(body === undefined ? {} : { body }) });

/** Returns the path of a process's call. */
export const processPath = (id: string, verb = ""): string => `processes/${encodeURIComponent(id)}${verb && `/${verb}`}`;
export const taskPath = (name: string, verb = ""): string => `tasks/${encodeURIComponent(name)}${verb && `/${verb}`}`;

/** Returns one sentence about an error, with the next step. */
export function errorText(error: unknown): string {
  if (error instanceof ApiError) {
    return error.failure.hint ? `${error.failure.message} (${error.failure.hint})` : error.failure.message;
  }
  return error instanceof Error ? error.message : String(error);
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof ApiError && error.failure.code === code;
}

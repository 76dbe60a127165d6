// A WebSocket that stays: a new ticket for each attempt, back-off with jitter, and a test of life after sleep.

import { ApiError, post } from "./api.ts";
import { backoff } from "./backoff.ts";
import { socketAddress } from "./base.ts";

export type Ticket = { for: "events" } | { for: "view"; process: string; mode: "type" | "view" };

export interface Events {
  /** Connected: the first frames may be sent. */
  open: () => void;
  message: (data: string | ArrayBuffer) => void;
  /** The connection is lost and is tried again, unless `isFinal`. */
  lost: (code: number, isFinal: boolean) => void;
  roundTrip?: (milliseconds: number) => void;
}

const PING_EVERY_MS = 20_000;
/** A socket that is in use must answer within this time. */
const ANSWER_MS = 9000;
/** A socket that was asleep must answer within this time. */
const WAKE_MS = 1500;
/** There is no such process. */
const NOT_THERE = 4404;
/** Close codes after which another attempt would end alike: refused, revoked, not there. */
const FINAL_CODES = new Set([4000, 4403, NOT_THERE]);

export class Socket {
  private socket: WebSocket | undefined;
  private attempt = 0;
  private isClosed = false;
  private isAsking = false;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private pulse: ReturnType<typeof setTimeout> | undefined;
  private pings = 0;
  private sentAt = 0;
  private readonly wake = (): void => this.checkLife();
  /** A page with an open socket is not kept for the way back. */
  private readonly rest = (): void => this.lose(true);

  constructor(private readonly path: () => string, private readonly ticket: Ticket, private readonly events: Events) {
    addEventListener("online", this.wake);
    addEventListener("pageshow", this.wake);
    addEventListener("pagehide", this.rest);
    document.addEventListener("visibilitychange", this.wake);
    void this.connect();
  }

  get isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** Sends if the connection is open; nothing is kept for later. */
  send(data: string | Uint8Array<ArrayBuffer>): boolean {
    if (!this.isOpen) return false;
    this.socket?.send(data);
    return true;
  }

  close(): void {
    this.isClosed = true;
    removeEventListener("online", this.wake);
    removeEventListener("pageshow", this.wake);
    removeEventListener("pagehide", this.rest);
    document.removeEventListener("visibilitychange", this.wake);
    clearTimeout(this.retry);
    this.drop();
  }

  private async connect(): Promise<void> {
    if (this.isAsking || this.isClosed) return;
    this.isAsking = true;
    // After sleep the connections that the browser keeps for calls are dead as well: the first attempt gives up early.
    const answer = await post<{ ticket: string }>("tickets", this.ticket, AbortSignal.timeout(this.attempt === 0 ? WAKE_MS : ANSWER_MS)).catch((error: unknown) => error);
    this.isAsking = false;
    if (this.isClosed) return;
    if (!isTicket(answer)) return this.again(answer instanceof ApiError && answer.status === 404 ? NOT_THERE : 0);
    const ticket = answer.ticket;
    const socket = new WebSocket(socketAddress(this.path()), ["qd.1", `qd.ticket.${ticket}`]);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      this.attempt = 0;
      this.events.open();
      this.ping();
    };
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => this.receive(event.data);
    socket.onclose = (event) => {
      if (this.socket === socket) this.again(event.code);
    };
  }

  private receive(data: string | ArrayBuffer): void {
    if (typeof data === "string") {
      if (data.length < 80 && data.includes('"type":"pong"')) return this.answered();
    }
    this.events.message(data);
  }

  private ping(): void {
    clearTimeout(this.pulse);
    this.sentAt = performance.now();
    this.send(JSON.stringify({ type: "ping", id: ++this.pings }));
    this.pulse = setTimeout(() => this.lose(), ANSWER_MS);
  }

  private answered(): void {
    this.events.roundTrip?.(Math.round(performance.now() - this.sentAt));
    clearTimeout(this.pulse);
    this.pulse = setTimeout(() => this.ping(), PING_EVERY_MS);
  }

  /** After sleep a socket may say that it is open although it is dead. */
  private checkLife(): void {
    if (this.isClosed || document.hidden) return;
    if (!this.isOpen) {
      clearTimeout(this.retry);
      if (this.socket?.readyState !== WebSocket.CONNECTING) void this.connect();
      return;
    }
    this.ping();
    clearTimeout(this.pulse);
    this.pulse = setTimeout(() => this.lose(), WAKE_MS);
  }

  /** Gives a socket up; one that rests waits until the page is shown again. */
  private lose(isResting = false): void {
    this.drop();
    this.again(0);
    if (isResting) clearTimeout(this.retry);
  }

  private drop(): void {
    clearTimeout(this.pulse);
    const socket = this.socket;
    this.socket = undefined;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  private again(code: number): void {
    this.drop();
    if (this.isClosed) return;
    const isFinal = FINAL_CODES.has(code);
    this.events.lost(code, isFinal);
    if (isFinal) return this.close();
    clearTimeout(this.retry);
    this.retry = setTimeout(() => void this.connect(), backoff(this.attempt++, Math.random()));
  }
}

function isTicket(answer: unknown): answer is { ticket: string } {
  return typeof (answer as { ticket?: unknown } | null)?.ticket === "string";
}

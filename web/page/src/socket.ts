// A WebSocket that stays: a new ticket for each attempt, back-off with jitter, and a test of life after sleep.

import { ApiError, post } from "./api.ts";
import { backoff } from "./backoff.ts";
import { socketAddress } from "./base.ts";
import { ANSWER_MS, CALM, type Hedge, hedged, HURRIED } from "./hedge.ts";

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
/** A socket that was asleep must answer within this time. */
const WAKE_MS = 600;
/** The first connection after sleep must be there within this time; the later ones have more. */
const WAKE_CONNECT_MS = 1000;

/** A socket that still says that it is open gets this time to answer before a ticket for another one is asked for. */
const DOUBTING: Hedge = { ...HURRIED, firstMs: 150 };

/** There is no such process. */
const NOT_THERE = 4404;
/** Close codes after which another attempt would end alike: refused, revoked, not there. */
const FINAL_CODES = new Set([4000, 4403, NOT_THERE]);

export class Socket {
  private socket: WebSocket | undefined;
  private attempt = 0;
  private isClosed = false;
  /** Ends the request for a ticket that is under way. */
  private asking: AbortController | undefined;
  /** A ticket for the case that the open socket turns out to be dead. */
  private reserve: string | undefined;
  /** By the clock on the wall, which goes on while the device sleeps: when the attempt that is under way began. */
  private beganAt = 0;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private pulse: ReturnType<typeof setTimeout> | undefined;
  private pings = 0;
  private sentAt = 0;
  private readonly wake = (): void => this.checkLife();
  /** A page with an open socket is not kept for the way back. */
  private readonly rest = (): void => {
    clearTimeout(this.retry);
    this.stopAsking();
    this.drop();
    this.events.lost(0, false);
  };

  constructor(private readonly path: () => string, private readonly ticket: Ticket, private readonly events: Events) {
    addEventListener("online", this.wake);
    addEventListener("pageshow", this.wake);
    addEventListener("pagehide", this.rest);
    document.addEventListener("visibilitychange", this.wake);
    void this.connect(CALM);
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
    this.stopAsking();
    this.drop();
  }

  private async connect(hedge: Hedge): Promise<void> {
    if (this.isClosed) return;
    clearTimeout(this.retry);
    const asking = this.stopAsking();
    this.asking = asking;
    this.beganAt = Date.now();
    const answer = await hedged((signal) => post<unknown>("tickets", this.ticket, signal), hedge, asking.signal).catch((error: unknown) => error);
    if (this.asking !== asking) return;
    this.asking = undefined;
    // The open socket has not answered yet: it has a little time left.
    if (this.isOpen) this.reserve = isTicket(answer) ? answer.ticket : undefined;
    else if (isTicket(answer)) this.dial(answer.ticket, hedge === CALM ? ANSWER_MS : WAKE_CONNECT_MS);
    else this.again(answer instanceof ApiError && answer.status === 404 ? NOT_THERE : 0);
  }

  private dial(ticket: string, limit: number): void {
    this.beganAt = Date.now();
    const socket = new WebSocket(socketAddress(this.path()), ["qd.1", `qd.ticket.${ticket}`]);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    clearTimeout(this.pulse);
    this.pulse = setTimeout(() => this.again(0), limit);
    socket.onopen = () => {
      this.attempt = 0;
      this.events.open();
      this.ping(ANSWER_MS);
    };
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => this.receive(event.data);
    socket.onclose = (event) => {
      if (this.socket === socket) this.again(event.code);
    };
  }

  /** Ends what was asked for; returns the handle for the next request. */
  private stopAsking(): AbortController {
    this.asking?.abort();
    this.asking = undefined;
    this.reserve = undefined;
    return new AbortController();
  }

  private receive(data: string | ArrayBuffer): void {
    if (typeof data === "string") {
      if (data.length < 80 && data.includes('"type":"pong"')) return this.answered();
    }
    this.events.message(data);
  }

  private ping(limit: number): void {
    clearTimeout(this.pulse);
    this.sentAt = performance.now();
    this.send(JSON.stringify({ type: "ping", id: ++this.pings }));
    this.pulse = setTimeout(() => this.again(0), limit);
  }

  private answered(): void {
    this.events.roundTrip?.(Math.round(performance.now() - this.sentAt));
    this.stopAsking();
    clearTimeout(this.pulse);
    this.pulse = setTimeout(() => this.ping(ANSWER_MS), PING_EVERY_MS);
  }

  /** After sleep a socket may say that it is open although it is dead, and an attempt from before is dead as well. */
  private checkLife(): void {
    if (this.isClosed || document.hidden) return;
    // Several of these events come at once.
    const isUnderWay = (this.asking !== undefined || this.reserve !== undefined || this.socket?.readyState === WebSocket.CONNECTING) && Date.now() - this.beganAt < WAKE_MS;
    if (isUnderWay) return;
    if (this.isOpen) this.ping(WAKE_MS);
    else this.drop();
    void this.connect(this.isOpen ? DOUBTING : HURRIED);
  }

  private drop(): void {
    clearTimeout(this.pulse);
    const socket = this.socket;
    this.socket = undefined;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  /** Gives the socket up and connects again: at once where a ticket is here or on its way, else after a pause. */
  private again(code: number): void {
    this.drop();
    if (this.isClosed) return;
    const isFinal = FINAL_CODES.has(code);
    const reserve = this.reserve;
    this.reserve = undefined;
    this.events.lost(code, isFinal);
    if (isFinal) return this.close();
    if (reserve !== undefined) return this.dial(reserve, WAKE_CONNECT_MS);
    if (this.asking) return;
    // The first attempt after a loss hurries: what killed the socket may have killed the other connections, too.
    const hedge = this.attempt === 0 ? HURRIED : CALM;
    clearTimeout(this.retry);
    this.retry = setTimeout(() => void this.connect(hedge), backoff(this.attempt++, Math.random()));
  }
}

function isTicket(answer: unknown): answer is { ticket: string } {
  return typeof (answer as { ticket?: unknown } | null)?.ticket === "string";
}

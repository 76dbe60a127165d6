// One attached view of a process: frames into an emulator, credit back, input out, exact continuation after a loss.

import { Credit } from "./credit.ts";
import { decodeFrame, HEADER_BYTES, inputFrames } from "./frames.ts";
import { Socket } from "./socket.ts";
import type { Exit, Failure, Size, ViewMessage } from "./types.ts";

/** What shows the bytes: xterm.js today. */
export interface Emulator {
  write(bytes: Uint8Array, parsed: () => void): void;
  resize(size: Size): void;
}

export interface ViewerEvents {
  attached?: (size: Size, may: { type: boolean; lease: boolean }) => void;
  resized?: (size: Size) => void;
  lost?: (isFinal: boolean) => void;
  gap?: (bytes: number) => void;
  exit?: (exit: Exit) => void;
  end?: (reason: string) => void;
  /** The process has this viewer's size, or no longer. */
  lease?: (isHeld: boolean) => void;
  error?: (failure: Failure) => void;
  /** How much of the input that was given to `type` is written. */
  progress?: (written: number, all: number) => void;
  roundTrip?: (milliseconds: number) => void;
}

/** So much input may wait in the browser before the next frame is cut. */
const UNSENT_LIMIT = 128 * 1024;
const UNSENT_PAUSE_MS = 20;

export class Viewer {
  private readonly socket: Socket;
  private readonly credit = new Credit(0);
  private run: number | undefined;
  private hasContent = false;
  private isAttached = false;
  private isEnded = false;
  private isFlushing = false;
  private queue: Uint8Array<ArrayBuffer>[] = [];
  /** Bytes of input that were given, and that have left the browser, since the queue was last empty. */
  private given = 0;
  private left = 0;

  constructor(process: string, mode: "type" | "view", private readonly emulator: Emulator, private readonly events: ViewerEvents) {
    this.socket = new Socket(() => this.path(process), { for: "view", process, mode }, {
      open: () => undefined,
      message: (data) => (typeof data === "string" ? this.control(data) : this.frame(data)),
      lost: (_code, isFinal) => this.lose(isFinal),
      ...(events.roundTrip ? { roundTrip: events.roundTrip } : {}),
    });
  }

  get isLive(): boolean {
    return this.isAttached && !this.isEnded;
  }

  /** Sends bytes as input; returns false when the connection is away: nothing is kept for later. */
  type(bytes: Uint8Array): boolean {
    if (!this.isLive) return false;
    this.queue.push(...inputFrames(bytes, 0, 0));
    this.given += bytes.length;
    void this.flush();
    return true;
  }

  /** Gives the process the size of this viewer, or with no size gives the old one back. */
  ownSize(size?: Size): void {
    this.tell(size ? { type: "own_size", size } : { type: "own_size" });
  }

  close(): void {
    this.socket.close();
  }

  private tell(message: object): void {
    this.socket.send(JSON.stringify(message));
  }

  /** A new connection continues where this one has parsed to. */
  private path(process: string): string {
    const place = this.hasContent && this.run !== undefined ? `?run=${this.run}&from=${this.credit.position}` : "";
    return `ws/view/${encodeURIComponent(process)}${place}`;
  }

  private lose(isFinal: boolean): void {
    this.isAttached = false;
    this.queue = [];
    this.given = this.left = 0;
    if (!this.isEnded) this.events.lost?.(isFinal);
  }

  /** Sends frames as fast as the network takes them, so that a large paste shows how far it is. */
  private async flush(): Promise<void> {
    if (this.isFlushing) return;
    this.isFlushing = true;
    for (let frame = this.queue.shift(); frame; frame = this.queue.shift()) {
      while (this.socket.unsent > UNSENT_LIMIT) await new Promise((resolve) => setTimeout(resolve, UNSENT_PAUSE_MS));
      if (!this.socket.send(frame)) break;
      this.left += frame.length - HEADER_BYTES;
      if (this.given > UNSENT_LIMIT) this.events.progress?.(this.left, this.given);
    }
    this.isFlushing = false;
    this.given = this.left = 0;
  }

  private control(data: string): void {
    let message: ViewMessage;
    try {
      message = JSON.parse(data) as ViewMessage;
    } catch {
      return;
    }
    switch (message.type) {
      case "attached": return this.attach(message);
      case "resized":
        this.emulator.resize(message);
        return this.events.resized?.({ cols: message.cols, rows: message.rows });
      case "gap":
        this.credit.restart(message.to);
        return this.events.gap?.(message.to - message.from);
      case "exit": return this.events.exit?.(message.exit);
      case "end":
        this.isEnded = true;
        this.socket.close();
        return this.events.end?.(message.reason);
      case "lease": return this.events.lease?.(message.held);
      case "error": return this.events.error?.(message.error);
    }
  }

  private attach(message: Extract<ViewMessage, { type: "attached" }>): void {
    if (message.run !== this.run) this.hasContent = false;
    this.run = message.run;
    this.isAttached = true;
    this.isEnded = false;
    this.emulator.resize(message);
    this.events.attached?.({ cols: message.cols, rows: message.rows }, { type: message.types, lease: message.lease === true });
  }

  private frame(buffer: ArrayBuffer): void {
    const frame = decodeFrame(buffer);
    if (typeof frame === "string") return this.events.error?.({ code: "protocol", message: frame });
    if (frame.kind === "input") return;
    if (frame.kind === "repaint") this.credit.restart(frame.offset);
    this.hasContent = true;
    this.credit.receive(frame.end);
    this.emulator.write(frame.bytes, () => {
      const offset = this.credit.parse(frame.end);
      if (offset !== undefined) this.tell({ type: "credit", offset });
    });
  }
}

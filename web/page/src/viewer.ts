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
  /** How much is written of the input that was given to `type` since everything was written last. */
  progress?: (written: number, all: number) => void;
  /** So much of the input was not written when the connection or the process ended. */
  dropped?: (bytes: number) => void;
  roundTrip?: (milliseconds: number) => void;
}

/** So much input may be on its way; the rest waits here, where it can still be taken back. */
const INPUT_WINDOW = 128 * 1024;
/** What ends a paste for a program that asked for marked pastes. */
const PASTE_END = new TextEncoder().encode("\x1b[201~");

export class Viewer {
  private readonly socket: Socket;
  private readonly credit = new Credit(0);
  private run: number | undefined;
  private hasContent = false;
  private isAttached = false;
  private isEnded = false;
  private mayType = false;
  /** Input that is not sent yet. */
  private queue: Uint8Array<ArrayBuffer>[] = [];
  /** Bytes of input since this view attached: given to `type`, sent, and written by the server's word. */
  private given = 0;
  private sent = 0;
  private written = 0;
  /** Where the input that is under way began. */
  private begun = 0;

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
    if (!this.mayType) return true;
    if (this.written >= this.given) this.begun = this.given;
    this.given += bytes.length;
    this.queue.push(...inputFrames(bytes, 0, 0));
    this.pump();
    return true;
  }

  /** Takes back the input that is not sent yet; a marked paste still ends. */
  cancelInput(): void {
    const isMarked = PASTE_END.every((byte, index) => this.queue.at(-1)?.at(index - PASTE_END.length) === byte);
    this.given = this.sent;
    this.queue = [];
    if (isMarked) this.type(PASTE_END);
    this.events.progress?.(this.written - this.begun, this.given - this.begun);
  }

  /** Gives the process the size of this viewer, or with no size gives the old one back. */
  ownSize(size?: Size): void {
    this.tell(size ? { type: "own_size", size } : { type: "own_size" });
  }

  /** Ends the view; the server still types what it has got. */
  close(): void {
    const unsent = this.given - this.sent;
    this.socket.close();
    if (unsent > 0) this.events.dropped?.(unsent);
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
    this.dropInput();
    if (!this.isEnded) this.events.lost?.(isFinal);
  }

  /** Forgets what was not written: keys that come late might answer another question. */
  private dropInput(): void {
    const bytes = this.given - this.written;
    this.queue = [];
    this.given = this.sent = this.written = this.begun = 0;
    if (bytes > 0) this.events.dropped?.(bytes);
  }

  /** Sends input while the server keeps up with it. */
  private pump(): void {
    while (this.sent - this.written < INPUT_WINDOW) {
      const frame = this.queue.shift();
      if (!frame || !this.socket.send(frame)) return;
      this.sent += frame.length - HEADER_BYTES;
    }
  }

  private confirm(bytes: number): void {
    this.written = Math.max(this.written, bytes);
    this.pump();
    this.events.progress?.(this.written - this.begun, this.given - this.begun);
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
        this.dropInput();
        this.socket.close();
        return this.events.end?.(message.reason);
      case "typed": return this.confirm(message.bytes);
      case "lease": return this.events.lease?.(message.held);
      case "error": return this.events.error?.(message.error);
    }
  }

  private attach(message: Extract<ViewMessage, { type: "attached" }>): void {
    if (message.run !== this.run) this.hasContent = false;
    this.run = message.run;
    this.isAttached = true;
    this.isEnded = false;
    this.mayType = message.types;
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

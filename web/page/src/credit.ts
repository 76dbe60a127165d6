// Decides when the page acknowledges parsed output: every 64 KiB, and when everything received is parsed.

export const ACK_EVERY = 64 * 1024;

export class Credit {
  private received: number;
  private parsed: number;
  private acked: number;

  constructor(offset: number) {
    this.received = this.parsed = this.acked = offset;
  }

  /** The offset up to which everything is parsed: where a new connection continues. */
  get position(): number {
    return this.parsed;
  }

  /** Begins anew at `offset`, after a repaint or a gap. */
  restart(offset: number): void {
    this.received = this.parsed = this.acked = offset;
  }

  receive(end: number): void {
    this.received = Math.max(this.received, end);
  }

  /** Records that everything before `end` is parsed; returns the offset to acknowledge, if it is time. */
  parse(end: number): number | undefined {
    this.parsed = Math.max(this.parsed, end);
    const isDue = this.parsed - this.acked >= ACK_EVERY || this.parsed >= this.received;
    if (!isDue || this.parsed === this.acked) return undefined;
    this.acked = this.parsed;
    return this.acked;
  }
}

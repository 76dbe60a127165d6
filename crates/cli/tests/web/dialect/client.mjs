// A plain client of the terminal.* dialect with nothing but Node's own modules. It dials, authenticates in its first frame
// and closes as the panel of a web page does.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { request } from "node:http";

export const setup = JSON.parse(process.argv[2]);
const { host, token, workspace } = setup;
export const taskPath = (name, cols, rows, other = workspace) => `/ws/issues/${name}/terminal?workspace_id=${other}&cols=${cols}&rows=${rows}`;
const DEADLINE_MS = 60_000;

export class Socket {
  frames = [];
  waiting = [];
  buffer = Buffer.alloc(0);

  static dial(path, secret = token) {
    return new Promise((resolve, reject) => {
      const [hostname, port] = host.split(":");
      const key = randomBytes(16).toString("base64");
      const headers = { Host: host, Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key };
      // A panel is a page: its browser sends where it comes from, and the cookies of the host.
      if (setup.origin) Object.assign(headers, { Origin: setup.origin, Cookie: setup.cookie });
      const dialing = request({ hostname, port, path, headers });
      dialing.on("response", (response) => reject(new Error(`${path}: ${response.statusCode}`)));
      dialing.on("error", reject);
      dialing.on("upgrade", (response, stream, head) => {
        const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
        assert.equal(response.headers["sec-websocket-accept"], accept);
        const socket = new Socket(stream);
        socket.receive(head);
        if (secret !== null) socket.send({ type: "auth", payload: { token: secret } });
        resolve(socket);
      });
      dialing.end();
    });
  }

  constructor(stream) {
    this.stream = stream;
    stream.on("data", (chunk) => this.receive(chunk));
    stream.on("close", () => this.deliver(undefined));
    stream.on("error", () => undefined);
  }

  receive(chunk) {
    this.buffer = Buffer.concat([this.buffer, chunk]);
    for (;;) {
      if (this.buffer.length < 2) return;
      let [length, start] = [this.buffer[1] & 127, 2];
      if (length === 126) [length, start] = [this.buffer.length < 4 ? Infinity : this.buffer.readUInt16BE(2), 4];
      else if (length === 127) [length, start] = [this.buffer.length < 10 ? Infinity : Number(this.buffer.readBigUInt64BE(2)), 10];
      if (this.buffer.length < start + length) return;
      const [kind, payload] = [this.buffer[0] & 15, this.buffer.subarray(start, start + length)];
      this.buffer = this.buffer.subarray(start + length);
      if (kind === 1) this.deliver(JSON.parse(payload.toString()));
      else if (kind === 8) this.deliver(undefined);
      else if (kind === 9) this.write(10, payload);
    }
  }

  deliver(frame) {
    const next = this.waiting.shift();
    if (next) next(frame);
    else this.frames.push(frame);
  }

  /** Resolves to the next frame; to undefined once the server has closed. */
  next() {
    if (this.frames.length > 0) return Promise.resolve(this.frames.shift());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("no frame came")), DEADLINE_MS);
      this.waiting.push((frame) => {
        clearTimeout(timer);
        resolve(frame);
      });
    });
  }

  async until(kind) {
    for (;;) {
      const frame = await this.next();
      assert.ok(frame, `closed before ${kind}`);
      if (frame.type === kind) return frame.payload;
      assert.ok(frame.type !== "terminal.error" || kind === "terminal.error", JSON.stringify(frame));
    }
  }

  send(value) {
    this.write(1, Buffer.from(JSON.stringify(value)));
  }

  write(kind, payload) {
    const mask = randomBytes(4);
    const head = payload.length < 126 ? Buffer.from([0x80 | kind, 0x80 | payload.length]) : Buffer.alloc(payload.length < 65536 ? 4 : 10);
    if (payload.length >= 126) {
      head[0] = 0x80 | kind;
      head[1] = 0x80 | (payload.length < 65536 ? 126 : 127);
      if (payload.length < 65536) head.writeUInt16BE(payload.length, 2);
      else head.writeBigUInt64BE(BigInt(payload.length), 2);
    }
    const masked = Buffer.from(payload);
    for (let index = 0; index < masked.length; index++) masked[index] ^= mask[index % 4];
    this.stream.write(Buffer.concat([head, mask, masked]));
  }

  close() {
    this.stream.destroy();
  }
}

/** One session, with everything that it has printed. */
export class Terminal {
  printed = Buffer.alloc(0);
  end = 0;
  exit = undefined;
  /** A client that reads nothing for long may find that the log has lost bytes. */
  maySkip = false;

  static async open(by, { in: inTask = setup.task, cols = 0, rows = 0 } = {}) {
    const terminal = new Terminal();
    if (by === "open") {
      terminal.socket = await Socket.dial("/ws/terminal");
      await terminal.socket.until("auth_ack");
      terminal.socket.send({ type: "terminal.open", payload: { request_id: "r1", task_id: inTask, workspace_id: workspace, user_id: "u1", cols, rows } });
    } else {
      terminal.socket = await Socket.dial(taskPath(inTask, cols, rows));
      await terminal.socket.until("auth_ack");
    }
    const opened = await terminal.socket.until("terminal.opened");
    assert.ok(opened.shell && opened.work_dir, JSON.stringify(opened));
    terminal.id = opened.session_id;
    return terminal;
  }

  type(text) {
    this.socket.send({ type: "terminal.data", payload: { session_id: this.id, data_b64: Buffer.from(text).toString("base64") } });
  }

  /** Reads one frame; output must go on where it was. */
  async read() {
    const frame = await this.socket.next();
    assert.ok(frame, "closed");
    if (frame.type === "terminal.data") {
      assert.equal(this.exit, undefined, "output after the exit");
      const piece = Buffer.from(frame.payload.data_b64, "base64");
      const isNext = frame.payload.offset === this.end || (this.maySkip && frame.payload.offset > this.end);
      assert.ok(isNext, `a frame begins at ${frame.payload.offset}, the one before it ended at ${this.end}`);
      this.printed = Buffer.concat([this.printed, piece]);
      this.end = frame.payload.end;
    } else if (frame.type === "terminal.exit") this.exit = frame.payload;
    return frame;
  }

  async waitFor(pattern) {
    for (;;) {
      const found = this.printed.toString("latin1").match(pattern);
      if (found) return found;
      const frame = await this.read().catch((error) => assert.fail(`${error.message} while ${pattern} was awaited after ${JSON.stringify(this.printed.toString("latin1").slice(-2000))}`));
      assert.notEqual(frame.type, "terminal.error", JSON.stringify(frame));
      assert.equal(this.exit, undefined, `it ended before ${pattern}: ${this.printed}`);
    }
  }

  async waitExit() {
    while (this.exit === undefined) await this.read();
    return this.exit;
  }

  resize(cols, rows) {
    this.socket.send({ type: "terminal.resize", payload: { session_id: this.id, cols, rows } });
  }

  /** Attaches again where it was, over a new socket. */
  async attach() {
    this.socket = await Socket.dial("/ws/terminal");
    await this.socket.until("auth_ack");
    this.socket.send({ type: "terminal.attach", payload: { session_id: this.id, from_offset: this.end } });
  }

  async close(reason) {
    this.socket.send({ type: "terminal.close", payload: { session_id: this.id, reason } });
    while ((await this.read()).type !== "terminal.close");
    // One token has a bounded number of sockets.
    this.socket.close();
  }
}

/** Runs a verb at the machine; returns what it printed. */
export const qd = (...words) => execFileSync(setup.qd, words, { encoding: "utf8" });

/** Waits for something that nothing announces. */
export async function eventually(what, isSo) {
  for (const end = Date.now() + DEADLINE_MS; !isSo();) {
    assert.ok(Date.now() < end, what);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Returns the processes of this machine of which a file or link below /proc is like this. */
export function scan(entry, isIt) {
  const read = (path) => (entry === "cwd" ? readlinkSync(path) : readFileSync(path, "utf8"));
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && isIt(read(`/proc/${pid}/${entry}`));
    } catch {
      return false;
    }
  });
}

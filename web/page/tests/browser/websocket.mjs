// The server's side of a WebSocket, as much as the page's tests need.

import { createHash } from "node:crypto";

const MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** Answers the upgrade; returns how to send and close. `receive` gets texts and buffers. */
export function accept(request, socket, receive, closed = () => undefined) {
  const key = createHash("sha1").update(request.headers["sec-websocket-key"] + MAGIC).digest("base64");
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\nSec-WebSocket-Protocol: qd.1\r\n\r\n`);
  let rest = Buffer.alloc(0);
  const parts = [];
  let isText = false;
  socket.on("data", (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (let frame = read(rest); frame; frame = read(rest)) {
      rest = rest.subarray(frame.length);
      if (frame.opcode === 8) socket.end();
      if (frame.opcode > 2) continue;
      // A browser may send a long message in several frames.
      parts.push(frame.bytes);
      if (frame.opcode > 0) isText = frame.opcode === 1;
      if (!frame.isLast) continue;
      const message = Buffer.concat(parts.splice(0));
      receive(isText ? message.toString() : message);
    }
  });
  socket.on("close", closed);
  socket.on("error", () => socket.destroy());
  const send = (data) => socket.writable && socket.write(frameOf(typeof data === "string" ? 1 : 2, Buffer.from(data)));
  const close = (code) => {
    const bytes = Buffer.alloc(2);
    bytes.writeUInt16BE(code);
    socket.end(frameOf(8, bytes));
  };
  return { send, close, json: (value) => send(JSON.stringify(value)) };
}

function frameOf(opcode, bytes) {
  const head = Buffer.alloc(bytes.length < 126 ? 2 : bytes.length < 65536 ? 4 : 10);
  head[0] = 0x80 | opcode;
  if (bytes.length < 126) head[1] = bytes.length;
  else if (bytes.length < 65536) {
    head[1] = 126;
    head.writeUInt16BE(bytes.length, 2);
  } else {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(bytes.length), 2);
  }
  return Buffer.concat([head, bytes]);
}

/** Returns the first frame of a client, unmasked, or undefined while it is not whole. */
function read(buffer) {
  if (buffer.length < 2) return undefined;
  let length = buffer[1] & 0x7f;
  let at = 2;
  if (length === 126) [length, at] = [buffer.length < 4 ? Infinity : buffer.readUInt16BE(2), 4];
  else if (length === 127) [length, at] = [buffer.length < 10 ? Infinity : Number(buffer.readBigUInt64BE(2)), 10];
  if (buffer.length < at + 4 + length) return undefined;
  const mask = buffer.subarray(at, at + 4);
  const bytes = Buffer.from(buffer.subarray(at + 4, at + 4 + length));
  for (let index = 0; index < bytes.length; index++) bytes[index] ^= mask[index % 4];
  return { opcode: buffer[0] & 0x0f, isLast: (buffer[0] & 0x80) !== 0, bytes, length: at + 4 + length };
}

// The binary frames of a view socket: 24 bytes of header, little-endian, then the bytes.

export const HEADER_BYTES = 24;
export const FRAME_VERSION = 1;
/** One input frame has at most this many bytes. */
export const INPUT_CHUNK = 64 * 1024;

export type FrameKind = "output" | "repaint" | "input";

export interface Frame {
  kind: FrameKind;
  flags: number;
  stream: number;
  /** First offset of the span. */
  offset: number;
  /** One past the last offset of the span; the bytes may be fewer. */
  end: number;
  bytes: Uint8Array;
}

const KINDS: readonly FrameKind[] = ["output", "repaint", "input"];

/** Returns the frame as bytes. */
export function encodeFrame(frame: Frame): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(HEADER_BYTES + frame.bytes.length);
  const view = new DataView(out.buffer);
  view.setUint8(0, FRAME_VERSION);
  view.setUint8(1, KINDS.indexOf(frame.kind) + 1);
  view.setUint16(2, frame.flags, true);
  view.setUint32(4, frame.stream, true);
  view.setBigUint64(8, BigInt(frame.offset), true);
  view.setBigUint64(16, BigInt(frame.end), true);
  out.set(frame.bytes, HEADER_BYTES);
  return out;
}

/** Returns the frame, or the reason why the bytes are none. */
export function decodeFrame(buffer: ArrayBuffer): Frame | string {
  if (buffer.byteLength < HEADER_BYTES) return `a frame of ${buffer.byteLength} bytes has no whole header`;
  const view = new DataView(buffer);
  const version = view.getUint8(0);
  if (version !== FRAME_VERSION) return `frame version ${version} is not ${FRAME_VERSION}`;
  const kind = KINDS[view.getUint8(1) - 1];
  if (!kind) return `frame kind ${view.getUint8(1)} is unknown`;
  const offset = Number(view.getBigUint64(8, true));
  const end = Number(view.getBigUint64(16, true));
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(end)) return "an offset is too large";
  if (end < offset) return `the span ends at ${end}, before it begins at ${offset}`;
  const bytes = new Uint8Array(buffer, HEADER_BYTES);
  return { kind, flags: view.getUint16(2, true), stream: view.getUint32(4, true), offset, end, bytes };
}

/** Cuts input into frames that continue at `offset`. */
export function inputFrames(bytes: Uint8Array, stream: number, offset: number): Uint8Array<ArrayBuffer>[] {
  const frames: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < bytes.length; at += INPUT_CHUNK) {
    const part = bytes.subarray(at, at + INPUT_CHUNK);
    const first = offset + at;
    frames.push(encodeFrame({ kind: "input", flags: 0, stream, offset: first, end: first + part.length, bytes: part }));
  }
  return frames;
}

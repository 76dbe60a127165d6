// Files for a process: stored on the machine, where the process can read them by their path.

import { call, processPath } from "./api.ts";
import { ask } from "./parts/dialog.ts";
import { HEAD_BYTES, nameFor, type Picture, pictureOf } from "./pictures.ts";
import { state } from "./store.ts";
import { text } from "./strings.ts";

const LARGEST_FILE = 20 * 1024 * 1024;
/** Of photos that are drawn anew. */
const QUALITY = 0.92;

/** The server stores files. */
export const canUpload = (): boolean => state.model.me?.features?.includes("files") === true;

/** Stores a file and returns its path on the machine. */
export async function upload(file: File, process: string): Promise<string> {
  if (file.size > LARGEST_FILE) throw new Error(text.tooLarge);
  const bytes = await withoutLocation(file);
  const { path } = await call<{ path: string }>(processPath(process, "files"), {
    method: "POST", bytes, query: { name: nameFor(file.name, bytes === file ? "" : bytes.type) }, headers: { "Content-Type": "application/octet-stream" },
  });
  return path;
}

/** Returns the file of a paste that has one and no text, and keeps the browser from pasting it. */
export function pastedFile(event: ClipboardEvent): File | undefined {
  const file = event.clipboardData?.files[0];
  if (!file || !canUpload() || event.clipboardData?.getData("text/plain")) return undefined;
  event.preventDefault();
  event.stopPropagation();
  return file;
}

/** Draws a photo anew, which drops the place where it was made; a person decides about what cannot be drawn. */
async function withoutLocation(file: File): Promise<Blob> {
  const picture = pictureOf(new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer()));
  if (!picture) return file;
  const drawn = await drawAnew(file, picture).catch(() => undefined);
  if (drawn) return drawn;
  if (await ask({ title: text.locationAsk(file.name), text: text.locationText, confirm: text.locationSend })) return file;
  throw new Error(text.notSent);
}

/** A browser that cannot write the same kind writes PNG. */
async function drawAnew(file: File, picture: Picture): Promise<Blob> {
  const bitmap = await createImageBitmap(file);
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0);
  bitmap.close();
  return canvas.convertToBlob({ type: picture === "other" ? "image/jpeg" : picture, quality: QUALITY });
}

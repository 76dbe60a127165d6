// Files for a process: stored on the machine, where the process can read them by their path.

import { call, processPath } from "./api.ts";
import { state } from "./store.ts";
import { text } from "./strings.ts";

const LARGEST_FILE = 20 * 1024 * 1024;

/** The server stores files. */
export const canUpload = (): boolean => state.model.me?.features?.includes("files") === true;

/** Stores a file and returns its path on the machine. */
export async function upload(file: File, process: string): Promise<string> {
  if (file.size > LARGEST_FILE) throw new Error(text.tooLarge);
  const bytes = await withoutLocation(file);
  const { path } = await call<{ path: string }>(processPath(process, "files"), {
    method: "POST", bytes, query: { name: file.name }, headers: { "Content-Type": "application/octet-stream" },
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

/** Draws a photo anew: that drops the place where it was made. */
async function withoutLocation(file: File): Promise<Blob> {
  if (file.type !== "image/jpeg") return file;
  const picture = await createImageBitmap(file).catch(() => undefined);
  if (!picture) return file;
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  canvas.getContext("2d")?.drawImage(picture, 0, 0);
  return canvas.convertToBlob({ type: "image/jpeg", quality: 0.92 });
}

// Which files may say where they were made: phones write the place into photos and films.

/** A file's kind by its first bytes: a name or a type may say anything. */
export type Picture = "image/jpeg" | "image/png" | "image/webp" | "other";

/** So many bytes tell the kind. */
export const HEAD_BYTES = 12;

const word = (head: Uint8Array, from: number): string => String.fromCharCode(...head.subarray(from, from + 4));

/** Returns what a file is if it may say where it was made, else undefined. "other" has many forms: HEIC, AVIF, TIFF, raw photos, films. */
export function pictureOf(head: Uint8Array): Picture | undefined {
  if (word(head, 0).startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (word(head, 0) === "\x89PNG") return "image/png";
  if (word(head, 0) === "RIFF" && word(head, 8) === "WEBP") return "image/webp";
  const isOther = word(head, 4) === "ftyp" || ["II*\0", "MM\0*"].includes(word(head, 0));
  return isOther ? "other" : undefined;
}

const ENDINGS: Record<string, string> = { "image/jpeg": "jpg", "image/png": "png", "image/webp": "webp" };

/** Returns a file's name with the ending of what it has become. */
export function nameFor(name: string, type: string): string {
  const ending = ENDINGS[type];
  const isFitting = ending === undefined || new RegExp(`\\.(${ending === "jpg" ? "jpe?g" : ending})$`, "i").test(name);
  return isFitting ? name : `${name.replace(/\.[^.]*$/, "")}.${ending}`;
}

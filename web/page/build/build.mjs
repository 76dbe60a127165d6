// Builds the page: Vite's files, compressed forms beside them, and a file that names the sources.
// `node build/build.mjs [DIRECTORY]`; without one it writes web/dist.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";

export const page = resolve(dirname(fileURLToPath(import.meta.url)), "..");
export const dist = resolve(page, "../dist");
/** The server's list of these files. */
export const list = resolve(page, "../../crates/web/src/page/files.rs");

/** Smaller files are not worth another one beside them. */
const WORTH_BYTES = 500;
const COMPRESSIBLE = /\.(js|css|svg|txt|webmanifest)$/;

/** Everything that decides about the built bytes. */
const SOURCES = ["build", "index.html", "package.json", "package-lock.json", "public", "src", "tsconfig.json", "vite.config.mjs"];

/** Returns the files below a directory or the file itself, sorted, relative to `root`. */
export function files(root, path = "") {
  const full = join(root, path);
  if (!statSync(full).isDirectory()) return [path];
  return readdirSync(full).sort().flatMap((name) => files(root, join(path, name)));
}

/** Returns the hash over names and contents of all sources. */
export function sourceHash() {
  const hash = createHash("sha256");
  for (const path of SOURCES.flatMap((name) => files(page, name))) {
    const bytes = readFileSync(join(page, path));
    hash.update(`${path}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest("hex");
}

function compress(directory) {
  for (const path of files(directory)) {
    if (!COMPRESSIBLE.test(path)) continue;
    const full = join(directory, path);
    const bytes = readFileSync(full);
    if (bytes.length < WORTH_BYTES) continue;
    writeFileSync(`${full}.gz`, gzipSync(bytes, { level: 9 }));
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    writeFileSync(`${full}.br`, brotliCompressSync(bytes, { params }));
  }
}

/** Returns the list of files as the server's source has it. */
export function fileList(directory) {
  const all = files(directory).filter((path) => path !== "SOURCE");
  const bytes = (path) => `include_bytes!("../../../../web/dist/${path}")`;
  const row = (path) => {
    const form = (end) => (all.includes(path + end) ? `Some(${bytes(path + end)})` : "None");
    return `    PageFile {\n        path: "${path}",\n        bytes: ${bytes(path)},\n        gzip: ${form(".gz")},\n        brotli: ${form(".br")},\n    },\n`;
  };
  const rows = all.filter((path) => !/\.(gz|br)$/.test(path)).map(row).join("");
  return `//! The files of the page, one row each. The build of the page writes this list.\n\nuse super::PageFile;\n\n#[rustfmt::skip]\npub(super) const FILES: &[PageFile] = &[\n${rows}];\n`;
}

/** What the built files contain of others. */
const OTHERS = ["node_modules/lit-html/LICENSE", "node_modules/@xterm/xterm/LICENSE", "node_modules/@xterm/addon-unicode-graphemes/LICENSE", "src/font/OFL.txt"];

function licenses() {
  const title = (path) => path.replace(/^node_modules\/|^src\//, "").replace(/\/[^/]*$/, "");
  return OTHERS.map((path) => `== ${title(path)}\n\n${readFileSync(join(page, path), "utf8").trim()}\n`).join("\n");
}

/** Builds into a directory. */
export async function buildPage(directory) {
  await build({ root: page, configFile: join(page, "vite.config.mjs"), logLevel: "warn", build: { outDir: directory } });
  writeFileSync(join(directory, "licenses.txt"), licenses());
  compress(directory);
  writeFileSync(join(directory, "SOURCE"), `${sourceHash()}\nzlib ${process.versions.zlib} brotli ${process.versions.brotli}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const directory = resolve(process.argv[2] ?? dist);
  await buildPage(directory);
  if (directory === dist) writeFileSync(list, fileList(directory));
  console.log(`page: ${files(directory).length} files in ${relative(process.cwd(), directory)}`);
}

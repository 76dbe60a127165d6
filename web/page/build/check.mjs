// Checks that the committed files are what the sources give, and that they are as small as promised.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { buildPage, dist, fileList, files, list } from "./build.mjs";

/** Kilobytes (1,000 bytes) after gzip. */
const FIRST_LOAD_KB = 40;
const TERMINAL_KB = 125;
const ALL_KB = 230;
const FONT_KB = 60;

const size = (bytes) => gzipSync(bytes, { level: 9 }).length / 1000;

/** Other versions of the compressors may write other bytes for the same content. */
function sameContent(name, ours, theirs) {
  if (name === "SOURCE") return String(ours).split("\n")[0] === String(theirs).split("\n")[0];
  if (name.endsWith(".gz")) return gunzipSync(ours).equals(gunzipSync(theirs));
  if (name.endsWith(".br")) return brotliDecompressSync(ours).equals(brotliDecompressSync(theirs));
  return false;
}

function compare(built) {
  const [ours, theirs] = [files(dist), files(built)];
  const faults = ours.filter((name) => !theirs.includes(name)).map((name) => `${name} is committed but not built`);
  faults.push(...theirs.filter((name) => !ours.includes(name)).map((name) => `${name} is built but not committed`));
  const isSameCompressor = readFileSync(join(dist, "SOURCE"), "utf8").split("\n")[1] === readFileSync(join(built, "SOURCE"), "utf8").split("\n")[1];
  for (const name of ours.filter((other) => theirs.includes(other))) {
    const [mine, yours] = [readFileSync(join(dist, name)), readFileSync(join(built, name))];
    if (!mine.equals(yours) && (isSameCompressor || !sameContent(name, mine, yours))) faults.push(`${name} differs`);
  }
  if (readFileSync(list, "utf8") !== fileList(dist)) faults.push("crates/web/src/page/files.rs does not list these files");
  return faults;
}

function sizes() {
  const all = files(dist).filter((name) => !/\.(gz|br)$|^SOURCE$/.test(name));
  const sum = (pattern) => all.filter((name) => pattern.test(name)).reduce((total, name) => total + size(readFileSync(join(dist, name))), 0);
  const limits = [
    ["first load", sum(/^index\.html$|assets\/index-/), FIRST_LOAD_KB],
    ["terminal", sum(/assets\/(terminal|xterm)-/), TERMINAL_KB],
    ["font", sum(/\.woff2$/), FONT_KB],
    ["everything", sum(/^index\.html$|assets\/|sw\.js|webmanifest/), ALL_KB],
  ];
  for (const [name, kilobytes, limit] of limits) console.log(`page: ${name} ${kilobytes.toFixed(1)} of ${limit} kB`);
  return limits.filter(([, kilobytes, limit]) => kilobytes > limit).map(([name, kilobytes, limit]) => `${name}: ${kilobytes.toFixed(1)} kB is more than ${limit} kB`);
}

const built = mkdtempSync(join(tmpdir(), "qd-page-"));
let faults;
try {
  await buildPage(built);
  faults = [...compare(built), ...sizes()];
} finally {
  rmSync(built, { recursive: true, force: true });
}
for (const fault of faults) console.error(`page: ${fault}`);
if (faults.length > 0) {
  console.error("page: run `cargo xtask page` and commit what it changes");
  process.exitCode = 1;
} else console.log("page: web/dist is what web/page builds");

// Runs the tests of the pure parts: Vite turns them into JavaScript, Node runs them.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";
import { page } from "./build.mjs";

const tests = join(page, "tests/unit");
const names = readdirSync(tests).filter((name) => name.endsWith(".test.ts"));
const outDir = mkdtempSync(join(tmpdir(), "qd-page-tests-"));
try {
  await build({
    root: page,
    configFile: false,
    publicDir: false,
    logLevel: "warn",
    build: { ssr: true, outDir, emptyOutDir: true, minify: false, rollupOptions: { input: names.map((name) => join(tests, name)), output: { entryFileNames: "[name].mjs" } } },
  });
  const built = readdirSync(outDir).filter((name) => name.endsWith(".test.mjs")).map((name) => join(outDir, name));
  const ran = spawnSync(process.execPath, ["--test", ...built], { stdio: "inherit" });
  process.exitCode = ran.status ?? 1;
} finally {
  rmSync(outDir, { recursive: true, force: true });
}

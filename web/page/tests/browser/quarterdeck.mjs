// A private Quarterdeck for a test: its own directories, its own daemon, its own `qd web`.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Starts `qd web`; `program` is the `qd` to test. */
export async function startQuarterdeck(program, webArguments = []) {
  const home = mkdtempSync(join(tmpdir(), "qd-page-"));
  const env = { ...process.env, QD_RUNTIME_DIR: join(home, "run"), QD_DATA_DIR: join(home, "data"), QD_CONFIG_DIR: join(home, "config") };
  const runIn = (cwd, words, more = {}) => execFileSync(program, words, { env: { ...env, ...more }, cwd, encoding: "utf8" });
  const run = (words, more) => runIn(home, words, more);
  const qd = (...words) => run(words);
  const server = spawn(program, ["web", "--json", "--bind", "127.0.0.1:0", ...webArguments], { env, cwd: home, stdio: ["ignore", "pipe", "inherit"] });
  const { url, code } = await firstJson(server.stdout);
  return {
    url, code, home, qd, run, runIn,
    json: (verb, ...words) => JSON.parse(qd(verb, "--json", ...words)),
    stop: () => {
      server.kill("SIGTERM");
      qd("shutdown", "--kill");
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function firstJson(stream) {
  return new Promise((resolve, reject) => {
    let text = "";
    stream.on("data", (chunk) => {
      text += chunk;
      try {
        resolve(JSON.parse(text));
      } catch {
        // More follows.
      }
    });
    stream.on("end", () => reject(new Error(`qd web ended after: ${text}`)));
  });
}

/** A relay in front of a server whose connections can be cut; names in requests are the server's own. */
export async function startRelay(url) {
  const real = new URL(url);
  const open = new Set();
  const relay = createServer((near) => {
    const far = createConnection(Number(real.port), real.hostname);
    const here = `127.0.0.1:${relay.address().port}`;
    near.on("data", (chunk) => {
      const isHead = /^(GET|POST|PUT|DELETE) /.test(chunk.subarray(0, 8).toString("latin1"));
      far.write(isHead ? Buffer.from(chunk.toString("latin1").replaceAll(here, real.host), "latin1") : chunk);
    });
    far.pipe(near);
    for (const [one, other] of [[near, far], [far, near]]) {
      open.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise((resolve) => relay.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${relay.address().port}${real.pathname}`,
    cut: () => open.forEach((socket) => socket.destroy()),
    stop: () => {
      open.forEach((socket) => socket.destroy());
      relay.close();
    },
  };
}

// A private Quarterdeck for a test: its own directories, its own daemon, its own `qd web`. Both log everything, and when the
// test is over, no file below its directories may have a secret that was issued or shown.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Starts `qd web`; `program` is the `qd` to test. */
export async function startQuarterdeck(program, webArguments = []) {
  const home = mkdtempSync(join(tmpdir(), "qd-page-"));
  const env = { ...process.env, QD_RUNTIME_DIR: join(home, "run"), QD_DATA_DIR: join(home, "data"), QD_CONFIG_DIR: join(home, "config"), QD_LOG: "trace" };
  const runIn = (cwd, words, more = {}, input = undefined) => execFileSync(program, words, { env: { ...env, ...more }, cwd, encoding: "utf8", ...(input === undefined ? {} : { input }) });
  const run = (words, more, input) => runIn(home, words, more, input);
  const qd = (...words) => run(words);
  const secrets = new Set();
  const log = join(home, "web.log");
  const server = spawn(program, ["web", "--json", ...(webArguments.includes("--bind") ? [] : ["--bind", "127.0.0.1:0"]), ...webArguments], { env, cwd: home, stdio: ["ignore", "pipe", openSync(log, "w")] });
  const { url, code } = await firstJson(server.stdout).catch((error) => Promise.reject(new Error(`${error.message}${readFileSync(log, "utf8")}`)));
  secrets.add(code);
  return {
    url, code, home, qd, run, runIn,
    /** No file may have this text. */
    hide: (secret) => secrets.add(secret),
    json: (verb, ...words) => {
      const told = JSON.parse(qd(verb, "--json", ...words));
      if (["pair", "access"].includes(verb)) for (const secret of [told.code, told.secret]) if (secret) secrets.add(secret);
      return told;
    },
    stop: () => {
      server.kill("SIGTERM");
      qd("shutdown", "--kill");
      const found = leaks(home, secrets);
      const said = readFileSync(log, "utf8");
      rmSync(home, { recursive: true, force: true });
      if (found.length > 0) throw new Error(`these files have secrets: ${found.join(", ")}`);
      if (!said.includes("TRACE")) throw new Error("the server did not log everything");
    },
  };
}

/** Returns the files below a directory that have one of the texts. */
function leaks(directory, secrets) {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map((entry) => join(entry.parentPath ?? entry.path, entry.name)).filter((path) => {
    const text = readFileSync(path, "latin1");
    return [...secrets].some((secret) => text.includes(secret));
  });
}

/** The secrets in the head of a request: a cookie, a token, a ticket. */
const secretsIn = (head) => [...head.matchAll(/(?:cookie: [^=\r\n]+=|bearer |qd\.ticket\.)([\w-]{16,})/gi)].map(([, secret]) => secret);

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

/** A relay in front of a server whose connections can be cut; names in requests are the server's own. It tells the secrets it sees. */
export async function startRelay(url, hide = () => undefined) {
  const real = new URL(url);
  const open = new Set();
  const relay = createServer((near) => {
    const far = createConnection(Number(real.port), real.hostname);
    const here = `127.0.0.1:${relay.address().port}`;
    near.on("data", (chunk) => {
      const isHead = /^(GET|POST|PUT|DELETE) /.test(chunk.subarray(0, 8).toString("latin1"));
      if (isHead) secretsIn(chunk.toString("latin1")).forEach(hide);
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
    /** Leaves the open connections open, and lets nothing through them any more, as sleep does. */
    freeze: () => open.forEach((socket) => {
      socket.unpipe();
      socket.removeAllListeners("data");
      socket.pause();
    }),
    stop: () => {
      open.forEach((socket) => socket.destroy());
      relay.close();
    },
  };
}

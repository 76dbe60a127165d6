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
    attach: (id, size) => attachDesk(program, env, home, id, size),
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

/** A terminal of its own for a program: of this size, with its output on stdout and its keys from stdin. */
const TERMINAL = `
import fcntl, os, pty, select, struct, sys, termios
cols, rows = int(sys.argv[1]), int(sys.argv[2])
child, master = pty.fork()
if child == 0:
    sys.stdin.readline()
    os.execv(sys.argv[3], sys.argv[3:])
fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
os.write(master, b"\\n")
while True:
    ready, _, _ = select.select([master, 0], [], [])
    if 0 in ready:
        keys = os.read(0, 4096)
        if not keys: break
        os.write(master, keys)
    if master in ready:
        try: os.write(1, os.read(master, 65536))
        except OSError: break
`;

/** Attaches to a process at a desk: a terminal of this size. */
function attachDesk(program, env, cwd, id, { cols, rows }) {
  const desk = spawn("python3", ["-c", TERMINAL, String(cols), String(rows), program, "attach", id], { env: { ...env, TERM: "xterm-256color" }, cwd, stdio: ["pipe", "pipe", "inherit"] });
  let screen = "";
  desk.stdout.on("data", (bytes) => {
    screen += bytes;
  });
  return { type: (keys) => desk.stdin.write(keys), shows: (words) => screen.includes(words), leave: () => desk.kill("SIGKILL") };
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

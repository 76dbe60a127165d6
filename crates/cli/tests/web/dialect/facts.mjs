// What the terminal.* dialect guarantees, tried by a plain client: `facts.mjs SETUP FACT…`. Each fact is tried on both paths
// and prints its name; the first assertion that fails ends the program.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually, qd, scan, setup, Socket, taskPath, Terminal } from "./client.mjs";

const { task, workspace, directory, session } = setup;
const PATHS = ["open", "path"];
/** Shells that end at the same time. */
const AT_ONCE = 10;
const open = (by, more) => Terminal.open(by, more);
const count = (bytes, words) => bytes.toString("latin1").split(words).length - 1;
const read = (name) => readFileSync(join(directory, name), "utf8").trim();

async function dialled() {
  const socket = await Socket.dial("/ws/terminal");
  await socket.until("auth_ack");
  return socket;
}

/** Returns the error for a terminal that cannot be opened. */
async function refused(by, name, other) {
  const socket = by === "path" ? await Socket.dial(taskPath(name, 80, 24, other)) : await dialled();
  if (by === "path") await socket.until("auth_ack");
  else socket.send({ type: "terminal.open", payload: { request_id: "r9", task_id: name, workspace_id: other, cols: 80, rows: 24 } });
  const error = await socket.until("terminal.error");
  assert.ok(by === "path" || error.request_id === "r9", JSON.stringify(error));
  socket.close();
  return error;
}

const facts = {
  async authentication(by) {
    const path = by === "open" ? "/ws/terminal" : taskPath(task, 80, 24);
    const wrong = await Socket.dial(path, "0".repeat(64));
    assert.ok("error" in (await wrong.next()));
    assert.equal(await wrong.next(), undefined, "it was not closed");
    const silent = await Socket.dial(path, null);
    silent.send({ type: "terminal.open", payload: {} });
    assert.ok("error" in (await silent.next()));
  },

  /** T3, T4, T11: what is refused says why, and starts nothing. */
  async errors(by) {
    const before = qd("ps", "--json");
    assert.equal((await refused(by, task, "other")).code, "workspace_mismatch");
    assert.equal((await refused(by, "ghost", workspace)).code, "task_not_found");
    const gone = await refused(by, setup.gone, workspace);
    assert.ok(gone.code === "spawn_failed" && gone.message.includes("directory"), JSON.stringify(gone));
    assert.equal(qd("ps", "--json"), before, "something was started");
    const socket = await dialled();
    for (const [type, more] of [["terminal.data", { data_b64: "eA==" }], ["terminal.resize", { cols: 80, rows: 24 }], ["terminal.attach", {}]]) {
      socket.send({ type, payload: { session_id: "p_00000000", ...more } });
      assert.equal((await socket.until("terminal.error")).code, "session_not_found", type);
    }
    socket.send({ type: "nonsense" });
    assert.equal((await socket.until("terminal.error")).code, "internal");
    socket.close();
  },

  /** T11: a shell that cannot be started says why, and leaves nothing behind. */
  async unstartable(by) {
    const error = await refused(by, task, workspace);
    assert.deepEqual([error.code, error.cause], ["spawn_failed", setup.cause], JSON.stringify(error));
    assert.ok(error.message.includes(setup.shell), error.message);
    assert.deepEqual(JSON.parse(qd("ps", "--json")), []);
  },

  /** T1, T2: the task's directory, identity, earlier vendor session and size; each dimension has its own default and its own bounds. */
  async sizes(by) {
    for (const [cols, rows, size] of [[90, 33, "33 90"], [0, 0, "24 80"], [90, 0, "24 90"], [0, 33, "33 80"], [1, 1, "1 2"], [5000, 5000, "1000 1000"]]) {
      const terminal = await open(by, { cols, rows });
      terminal.type("stty size > size; echo $QD_TASK_ID $QD_WORKSPACE_ID $QD_PROCESS_ID $QD_SESSION_ID > names; pwd > place; exit\n");
      await terminal.waitExit();
      assert.equal(read("size"), size);
      assert.deepEqual(read("names").split(" "), [task, workspace, terminal.id, session]);
      assert.equal(read("place"), directory);
      terminal.socket.close();
    }
  },

  /** T6: a new size reaches the program once, an equal one never, and a storm ends with its last size. */
  async resizing(by) {
    const terminal = await open(by, { cols: 100, rows: 30 });
    // A shell of its own, whose process group is the terminal's; the echo of the line must not look like its output.
    terminal.type(`export W=win R=rea; sh -c "trap 'echo \\\${W}ch \\$(stty size) =' WINCH; echo \\\${R}dy; while :; do sleep 0.05; done"\n`);
    await terminal.waitFor(/ready\r\n/);
    for (let number = 0; number < 50; number++) terminal.resize(100, 30);
    terminal.resize(132, 50);
    await terminal.waitFor(/winch 50 132 =/);
    assert.equal(count(terminal.printed, "winch"), 1, terminal.printed.toString());
    for (let number = 0; number < 200; number++) terminal.resize(60 + (number % 2), 40);
    terminal.resize(77, 33);
    await terminal.waitFor(/winch 33 77 =/);
    assert.ok(count(terminal.printed, "winch") < 150);
    await terminal.close("done");
  },

  /** T5: what is typed arrives once and in order, what is printed arrives unchanged. */
  async exact_bytes(by) {
    const terminal = await open(by);
    terminal.type("exec env PS1= sh\n");
    terminal.type("stty -echo; echo re''ady\n");
    await terminal.waitFor(/ready\r\n/);
    const text = Array.from({ length: 500 }, (_unused, number) => `${String(number).padStart(4, "0")} äöü\n`).join("");
    terminal.type("echo g''o; head -n 500 | sha256sum\n");
    await terminal.waitFor(/go\r\n/);
    terminal.type(text);
    assert.equal((await terminal.waitFor(/([0-9a-f]{64})/))[1], createHash("sha256").update(text).digest("hex"));
    terminal.printed = Buffer.alloc(0);
    terminal.type("seq 1 100000; echo al''l\n");
    await terminal.waitFor(/all\r\n/);
    const numbers = terminal.printed.toString("latin1").match(/^\d+(?=\r)/gm);
    assert.equal(numbers.length, 100_000);
    numbers.forEach((number, index) => assert.equal(number, String(index + 1)));
    await terminal.close("done");
  },

  /** T7, H5, H6: the exit with its reason, then the close; then nothing of the session is left, not even what tried to stay. */
  async closing(by) {
    const terminal = await open(by);
    const mark = `9${process.pid}${by === "open" ? 1 : 2}`;
    const sleep = `sleep ${mark}`;
    terminal.type(`set +m; setsid ${sleep} & nohup ${sleep} >/dev/null 2>&1 & (${sleep} &); sh -c 'trap "" HUP TERM; ${sleep}; true' & sh -c 'kill -STOP $$; ${sleep}' & echo sp''awned\n`);
    await terminal.waitFor(/spawned\r\n/);
    const alive = () => scan("cmdline", (line) => line.includes(mark));
    await eventually("six of them run", () => alive().length === 6);
    await terminal.close("done");
    assert.equal(terminal.exit.reason, "closed");
    assert.deepEqual(alive(), []);
    assert.ok(!qd("ps", "--json").includes(terminal.id));
    const late = await dialled();
    late.send({ type: "terminal.data", payload: { session_id: terminal.id, data_b64: "eA==" } });
    assert.equal((await late.until("terminal.error")).code, "session_not_found");
    late.send({ type: "terminal.attach", payload: { session_id: terminal.id } });
    assert.equal((await late.next()).type, "terminal.exit", "the exit is kept for those who come late");
    late.close();
  },

  /** H1, H2, H3, H4: the code or the signal, after the last byte; a job that keeps the terminal open keeps no exit back. */
  async ends(by) {
    const end = async (number) => {
      const terminal = await open(by);
      terminal.type(`echo la''st-${number}; exit ${number % 256}\n`);
      const { exit_code, reason } = await terminal.waitExit();
      assert.deepEqual([exit_code, reason], [number % 256, "exited"]);
      assert.ok(terminal.printed.includes(`last-${number}\r\n`), terminal.printed.toString());
      terminal.socket.close();
    };
    for (let first = 0; first < setup.rounds; first += AT_ONCE) {
      const count = Math.min(AT_ONCE, setup.rounds - first);
      await Promise.all(Array.from({ length: count }, (_unused, index) => end(first + index)));
    }
    for (const number of [6, 9, 10, 11, 15]) {
      const killed = await open(by);
      killed.type(`exec sh -c 'echo la''st-words; kill -${number} $$'\n`);
      const { exit_code, reason } = await killed.waitExit();
      assert.deepEqual([exit_code, reason], [128 + number, "signalled"]);
      assert.ok(killed.printed.includes("last-words\r\n"), killed.printed.toString());
      killed.socket.close();
    }
    const job = await open(by);
    job.type("trap '' HUP; sleep 1000 & echo jo''b-$!-; exit 4\n");
    assert.equal((await job.waitExit()).exit_code, 4);
    // A shell that ended by itself leaves its job running: its exit has not waited for it.
    process.kill(Number(job.printed.toString().match(/job-(\d+)-/)[1]), "SIGKILL");
    job.socket.close();
  },

  /** A lost socket and three reasons of a close detach; every other reason ends. */
  async detaching(by) {
    for (const reason of ["panel_unmount", "client_detach", "browser_disconnect", undefined]) {
      const terminal = await open(by);
      terminal.type("echo be''fore\n");
      await terminal.waitFor(/before\r\n/);
      if (reason === undefined) terminal.socket.close();
      else await terminal.close(reason);
      await terminal.attach();
      terminal.printed = Buffer.alloc(0);
      terminal.type("echo af''ter\n");
      await terminal.waitFor(/after\r\n/);
      assert.ok(!terminal.printed.includes("before\r\n"), "what was seen came twice");
      await terminal.close("user_closed");
      assert.ok(terminal.exit, "a close with another reason ends it");
    }
  },

  /** H1, H3: a client that was cut off before the shell printed its last bytes and ended gets these bytes, then the exit. */
  async late(by) {
    const terminal = await open(by);
    const go = join(directory, `late-node-${by}`);
    terminal.type(`echo shell-$$-; until test -e ${go}; do sleep 0.05; done; echo ta''il; exit 7\n`);
    const [, shell] = await terminal.waitFor(/shell-(\d+)-/);
    terminal.socket.close();
    writeFileSync(go, "");
    await eventually("the shell has ended", () => !existsSync(`/proc/${shell}`));
    await terminal.attach();
    const exit = await terminal.waitExit();
    assert.deepEqual([exit.exit_code, exit.reason], [7, "exited"]);
    assert.ok(terminal.printed.includes("tail\r\n"), terminal.printed.toString());
    // When its entry is gone, the exit is still there for its client.
    await eventually("its entry is gone", () => !qd("ps", "--json").includes(terminal.id));
    await terminal.attach();
    assert.equal((await terminal.socket.until("terminal.exit")).exit_code, 7);
    terminal.socket.close();
  },

  /** T10, H8: what reads nothing holds up neither its close nor another terminal, program and client alike. */
  async full_buffers(by) {
    const stuck = await open(by);
    stuck.type("stty raw -echo; echo re''ady; exec sleep 1000\n");
    await stuck.waitFor(/ready/);
    // More than everything between can hold.
    for (let piece = 0; piece < 160; piece++) stuck.type("x".repeat(16_384));
    let frame;
    do frame = await stuck.read(); while (frame.type !== "terminal.error");
    assert.match(frame.payload.message, /\d+ of \d+/);
    const unread = await open(by);
    unread.maySkip = true;
    unread.type("yes 'a line that nobody reads'\n");
    await unread.waitFor(/nobody reads\r\na/);
    unread.socket.stream.pause();
    const other = await open(by);
    other.type("echo st''ill\n");
    await other.waitFor(/still\r\n/);
    const closed = unread.close("done");
    unread.socket.stream.resume();
    await closed;
    await stuck.close("done");
    assert.ok(unread.exit && stuck.exit, "a close ends both");
    await other.close("done");
  },

  /** H9: a terminal's own variables, and none of the daemon's or of the server's. */
  async environment(by) {
    const terminal = await open(by);
    terminal.type("env > variables; exit\n");
    await terminal.waitExit();
    const variables = Object.fromEntries(read("variables").split("\n").map((line) => line.split(/=(.*)/s)));
    assert.deepEqual([variables.TERM, variables.COLORTERM], ["xterm-256color", "truecolor"]);
    assert.match(variables.LC_ALL || variables.LC_CTYPE || variables.LANG || "", /utf-?8/i);
    // Where a toolchain lies is a path that every terminal may have.
    const isForeign = (name) => (name.startsWith("CARGO") && name !== "CARGO_HOME") || name === "SERVER_ONLY";
    assert.deepEqual(Object.keys(variables).filter(isForeign), []);
    terminal.socket.close();
  },

  /** P3: the daemon answers a program's questions, and no client sees them. */
  async queries(by) {
    const terminal = await open(by);
    terminal.type("stty -echo; PS1=; printf 'as''k\\033[c\\033[6n\\033[>c\\033]11;?\\033\\\\d''one\\n'; read -r answer; exit\n");
    await terminal.waitFor(/done/);
    terminal.type("\n");
    await terminal.waitExit();
    const shown = terminal.printed.subarray(terminal.printed.lastIndexOf("ask"));
    for (const query of ["\x1b[c", "\x1b[6n", "\x1b]11;?"]) assert.ok(!shown.includes(query), shown.toString());
    terminal.socket.close();
  },

  /** H10: without a client and without a daemon the program runs on, and nothing that it printed is lost. */
  async survival(by) {
    const terminal = await open(by);
    const [go, out] = ["go-", "out-"].map((name) => join(directory, name + by));
    terminal.type(`echo be''gun; until test -e ${go}; do sleep 0.05; done; seq 1 2000; echo fin''ished; touch ${out}\n`);
    await terminal.waitFor(/begun\r\n/);
    process.kill(JSON.parse(qd("status", "--json")).pid, "SIGKILL");
    assert.equal((await terminal.socket.until("terminal.error")).code, "internal", "the client learns that the daemon is gone");
    terminal.socket.close();
    writeFileSync(go, "");
    await eventually("the program has finished", () => existsSync(out));
    await terminal.attach();
    await terminal.waitFor(/finished\r\n/);
    assert.deepEqual(terminal.printed.toString("latin1").match(/^\d+(?=\r)/gm), Array.from({ length: 2000 }, (_unused, index) => String(index + 1)));
    await terminal.close("done");
  },

  /** T8: terminals without input, output and viewers end, all in one grace; one that is watched does not. */
  async idling(by) {
    const watched = await open(by);
    const left = [await open(by), await open(by), await open(by), await open(by)];
    for (const terminal of [watched, ...left]) {
      // What ignores a hang-up and a request to end takes the whole grace.
      terminal.type(`exec sh -c "trap '' HUP TERM; echo he''re; while read -r word; do echo \\$word; done; sleep 1000"\n`);
      await terminal.waitFor(/here\r\n/);
    }
    for (const terminal of left) await terminal.close("client_detach");
    const status = () => Object.fromEntries(JSON.parse(qd("ps", "--json")).map((view) => [view.id, view.status]));
    await eventually("all are ending at once", () => {
      const now = status();
      return left.every(({ id }) => now[id] === "stopping");
    });
    await eventually("all have ended", () => {
      const now = status();
      return left.every(({ id }) => !(id in now));
    });
    watched.type("still\n");
    await watched.waitFor(/still\r\n/);
    await watched.close("done");
    assert.equal(watched.exit.reason, "closed");
  },

  /** T9, T15: a shutdown ends every terminal, those that are being opened too, and refuses later ones. */
  async shutdown(by) {
    if (by === "path") return; // The daemon is gone, and stays so.
    const terminals = [];
    for (const way of [...PATHS, ...PATHS]) terminals.push(await open(way));
    const opening = [];
    for (let number = 0; number < 4; number++) opening.push(await Socket.dial(taskPath(task, 80, 24)));
    const callers = [1, 2, 3].map(() => spawn(setup.qd, ["shutdown", "--kill"], { stdio: "ignore" }));
    const codes = callers.map((caller) => once(caller, "exit").then(([code]) => code));
    // Whoever comes back first finds that everything is over.
    await Promise.race(codes);
    assert.deepEqual(scan("cwd", (place) => place === directory), [], "a child is left");
    assert.deepEqual(await Promise.all(codes), [0, 0, 0]);
    for (const terminal of terminals) assert.ok(["shutdown", "closed", "signalled"].includes((await terminal.waitExit()).reason), JSON.stringify(terminal.exit));
    for (const socket of opening) {
      let frame;
      do frame = await socket.next(); while (frame && !["terminal.exit", "terminal.error", "terminal.close"].includes(frame.type));
    }
    for (const way of PATHS) assert.equal((await refused(way, task, workspace)).code, "internal");
  },
};

for (const name of process.argv.slice(3)) {
  for (const by of PATHS) await facts[name](by);
  console.log(name);
}
process.exit(0);

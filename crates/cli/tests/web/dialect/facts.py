"""What the terminal.* dialect guarantees, tried by a plain client: `facts.py SETUP FACT…`. Each fact is tried on both paths and
prints its name; an assertion that fails ends the program with a traceback."""
import hashlib, json, os, re, signal, subprocess, sys

from client import SETUP, TASK_PATH, WORKSPACE, Socket, Terminal, eventually, qd, scan

TASK, DIRECTORY = SETUP["task"], SETUP["directory"]
PATHS = ["open", "path"]
# Shells that end at the same time.
AT_ONCE = 10


def dialled():
    socket = Socket("/ws/terminal")
    socket.until("auth_ack")
    return socket


def refused(by, task, workspace):
    """Returns the error for a terminal that cannot be opened."""
    if by == "path":
        socket = Socket(TASK_PATH % (task, workspace, 80, 24))
        socket.until("auth_ack")
    else:
        socket = dialled()
        request = {"request_id": "r9", "task_id": task, "workspace_id": workspace, "cols": 80, "rows": 24}
        socket.send({"type": "terminal.open", "payload": request})
    error = socket.until("terminal.error")
    assert by == "path" or error["request_id"] == "r9", error
    socket.close()
    return error


def authentication(by):
    path = "/ws/terminal" if by == "open" else TASK_PATH % (TASK, WORKSPACE, 80, 24)
    wrong = Socket(path, token="0" * 64)
    assert "error" in wrong.next()
    assert wrong.ended() is None, "it was not closed"
    silent = Socket(path, token=None)
    silent.send({"type": "terminal.open", "payload": {}})
    assert "error" in silent.next()


def errors(by):
    """T3, T4, T11: what is refused says why, and starts nothing."""
    before = qd("ps", "--json")
    assert refused(by, TASK, "other")["code"] == "workspace_mismatch"
    assert refused(by, "ghost", WORKSPACE)["code"] == "task_not_found"
    gone = refused(by, SETUP["gone"], WORKSPACE)
    assert gone["code"] == "spawn_failed" and "directory" in gone["message"], gone
    assert qd("ps", "--json") == before, "something was started"
    socket = dialled()
    for kind, more in [("terminal.data", {"data_b64": "eA=="}), ("terminal.resize", {"cols": 80, "rows": 24}), ("terminal.attach", {})]:
        socket.send({"type": kind, "payload": {"session_id": "p_00000000", **more}})
        assert socket.until("terminal.error")["code"] == "session_not_found", kind
    socket.send({"type": "nonsense"})
    assert socket.until("terminal.error")["code"] == "internal"
    socket.close()


def unstartable(by):
    """T11: a shell that cannot be started says why, and leaves nothing behind."""
    error = refused(by, TASK, WORKSPACE)
    assert (error["code"], error.get("cause")) == ("spawn_failed", SETUP["cause"]), error
    assert SETUP["shell"] in error["message"], error
    assert json.loads(qd("ps", "--json")) == []


def sizes(by):
    """T1, T2: the task's directory, identity, earlier vendor session and size; each dimension has its own default and its own bounds."""
    for cols, rows, size in [(90, 33, "33 90"), (0, 0, "24 80"), (90, 0, "24 90"), (0, 33, "33 80"), (1, 1, "1 2"), (5000, 5000, "1000 1000")]:
        terminal = Terminal(by, cols=cols, rows=rows)
        terminal.type("stty size > size; echo $QD_TASK_ID $QD_WORKSPACE_ID $QD_PROCESS_ID $QD_SESSION_ID > names; pwd > place; exit\n")
        terminal.wait_exit()
        read = lambda name: open(os.path.join(DIRECTORY, name)).read().strip()
        assert read("size") == size, (read("size"), size)
        assert read("names").split() == [TASK, WORKSPACE, terminal.id, SETUP["session"]], read("names")
        assert read("place") == DIRECTORY, read("place")
        terminal.socket.close()


def resizing(by):
    """T6: a new size reaches the program once, an equal one never, and a storm ends with its last size."""
    terminal = Terminal(by, cols=100, rows=30)
    # A shell of its own, whose process group is the terminal's; the echo of the line must not look like its output.
    terminal.type("""export W=win R=rea; sh -c "trap 'echo \\${W}ch \\$(stty size) =' WINCH; echo \\${R}dy; while :; do sleep 0.05; done"\n""")
    terminal.wait_for(rb"ready\r\n")
    for _ in range(50):
        terminal.resize(100, 30)
    terminal.resize(132, 50)
    terminal.wait_for(rb"winch 50 132 =")
    assert terminal.printed.count(b"winch") == 1, terminal.printed
    for number in range(200):
        terminal.resize(60 + number % 2, 40)
    terminal.resize(77, 33)
    terminal.wait_for(rb"winch 33 77 =")
    assert terminal.printed.count(b"winch") < 150, terminal.printed.count(b"winch")
    terminal.close("done")


def exact_bytes(by):
    """T5: what is typed arrives once and in order, what is printed arrives unchanged."""
    terminal = Terminal(by)
    terminal.type("exec env PS1= sh\n")
    terminal.type("stty -echo; echo re''ady\n")
    terminal.wait_for(rb"ready\r\n")
    text = "".join("%04d äöü\n" % number for number in range(500))
    terminal.type("echo g''o; head -n 500 | sha256sum\n")
    terminal.wait_for(rb"go\r\n")
    terminal.type(text)
    assert terminal.wait_for(rb"([0-9a-f]{64})")[1].decode() == hashlib.sha256(text.encode()).hexdigest()
    before = len(terminal.printed)
    terminal.type("seq 1 100000; echo al''l\n")
    terminal.wait_for(rb"all\r\n")
    numbers = re.findall(rb"(?m)^(\d+)\r", terminal.printed[before:])
    assert numbers == [b"%d" % number for number in range(1, 100001)], len(numbers)
    terminal.close("done")


def closing(by):
    """T7, H5, H6: the exit with its reason, then the close; then nothing of the session is left, not even what tried to stay."""
    terminal = Terminal(by)
    mark = "9%d%s" % (os.getpid(), "1" if by == "open" else "2")
    sleep = "sleep %s" % mark
    terminal.type("set +m; setsid %s & nohup %s >/dev/null 2>&1 & (%s &); sh -c 'trap \"\" HUP TERM; %s; true' & sh -c 'kill -STOP $$; %s' & echo sp''awned\n" % ((sleep,) * 5))
    terminal.wait_for(rb"spawned\r\n")
    alive = lambda: scan("cmdline", lambda line: mark in line)
    eventually("six of them run", lambda: len(alive()) == 6)
    terminal.close("done")
    assert terminal.exit["reason"] == "closed", terminal.exit
    assert alive() == []
    assert terminal.id not in qd("ps", "--json")
    late = dialled()
    late.send({"type": "terminal.data", "payload": {"session_id": terminal.id, "data_b64": "eA=="}})
    assert late.until("terminal.error")["code"] == "session_not_found"
    late.send({"type": "terminal.attach", "payload": {"session_id": terminal.id}})
    assert late.next()["type"] == "terminal.exit", "the exit is kept for those who come late"
    late.close()


def ends(by):
    """H1, H2, H3, H4: the code or the signal, after the last byte; a job that keeps the terminal open keeps no exit back."""
    for first in range(0, SETUP["rounds"], AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, SETUP["rounds"]))
        terminals = [(number, Terminal(by)) for number in numbers]
        for number, terminal in terminals:
            terminal.type("echo la''st-%d; exit %d\n" % (number, number % 256))
        for number, terminal in terminals:
            assert (terminal.wait_exit()["exit_code"], terminal.exit["reason"]) == (number % 256, "exited"), terminal.exit
            assert b"last-%d\r\n" % number in terminal.printed, terminal.printed
            terminal.socket.close()
    for number in (6, 9, 10, 11, 15):
        killed = Terminal(by)
        killed.type("exec sh -c 'echo la''st-words; kill -%d $$'\n" % number)
        assert (killed.wait_exit()["exit_code"], killed.exit["reason"]) == (128 + number, "signalled"), killed.exit
        assert b"last-words\r\n" in killed.printed, killed.printed
        killed.socket.close()
    job = Terminal(by)
    job.type("trap '' HUP; sleep 1000 & echo jo''b-$!-; exit 4\n")
    assert job.wait_exit()["exit_code"] == 4, job.exit
    # A shell that ended by itself leaves its job running: its exit has not waited for it.
    os.kill(int(re.search(rb"job-(\d+)-", job.printed)[1]), signal.SIGKILL)
    job.socket.close()


def detaching(by):
    """A lost socket and three reasons of a close detach; every other reason ends."""
    for reason in ["panel_unmount", "client_detach", "browser_disconnect", None]:
        terminal = Terminal(by)
        terminal.type("echo be''fore\n")
        terminal.wait_for(rb"before\r\n")
        if reason is None:
            terminal.socket.close()
        else:
            terminal.close(reason)
        terminal.attach()
        terminal.printed = b""
        terminal.type("echo af''ter\n")
        terminal.wait_for(rb"after\r\n")
        assert b"before\r\n" not in terminal.printed, "what was seen came twice"
        terminal.close("user_closed")
        assert terminal.exit is not None, "a close with another reason ends it"


def late(by):
    """H1, H3: a client that was cut off before the shell printed its last bytes and ended gets these bytes, then the exit."""
    terminal = Terminal(by)
    go = os.path.join(DIRECTORY, "late-" + by)
    terminal.type("echo shell-$$-; until test -e %s; do sleep 0.05; done; echo ta''il; exit 7\n" % go)
    shell = terminal.wait_for(rb"shell-(\d+)-")[1].decode()
    terminal.socket.close()
    open(go, "w").close()
    eventually("the shell has ended", lambda: not os.path.exists("/proc/" + shell))
    terminal.attach()
    assert (terminal.wait_exit()["exit_code"], terminal.exit["reason"]) == (7, "exited"), terminal.exit
    assert b"tail\r\n" in terminal.printed, terminal.printed
    # When its entry is gone, the exit is still there for its client.
    eventually("its entry is gone", lambda: terminal.id not in qd("ps", "--json"))
    terminal.attach()
    assert terminal.socket.until("terminal.exit")["exit_code"] == 7
    terminal.socket.close()


def full_buffers(by):
    """T10, H8: what reads nothing holds up neither its close nor another terminal, program and client alike."""
    stuck = Terminal(by)
    stuck.type("stty raw -echo; echo re''ady; exec sleep 1000\n")
    stuck.wait_for(rb"ready")
    for _ in range(160):
        stuck.type("x" * 16384)
    frame = {}
    while frame.get("type") != "terminal.error":
        frame = stuck.read()
    assert re.search(r"\d+ of \d+", frame["payload"]["message"]), frame
    unread = Terminal(by)
    unread.may_skip = True
    unread.type("yes 'a line that nobody reads'\n")
    unread.wait_for(rb"nobody reads\r\na")
    other = Terminal(by)
    other.type("echo st''ill\n")
    other.wait_for(rb"still\r\n")
    unread.close("done")
    stuck.close("done")
    assert unread.exit is not None and stuck.exit is not None, "a close ends both"
    other.close("done")


def environment(by):
    """H9: a terminal's own variables, and none of the daemon's or of the server's."""
    terminal = Terminal(by)
    terminal.type("env > variables; exit\n")
    terminal.wait_exit()
    lines = open(os.path.join(DIRECTORY, "variables")).read().splitlines()
    variables = dict(line.split("=", 1) for line in lines if "=" in line)
    assert (variables["TERM"], variables["COLORTERM"]) == ("xterm-256color", "truecolor"), variables
    locale = variables.get("LC_ALL") or variables.get("LC_CTYPE") or variables.get("LANG", "")
    assert "utf-8" in locale.lower() or "utf8" in locale.lower(), locale
    # Where a toolchain lies is a path that every terminal may have.
    own = ["CARGO_HOME"]
    foreign = [name for name in variables if name.startswith("CARGO") and name not in own or name == "SERVER_ONLY"]
    assert foreign == [], foreign
    terminal.socket.close()


def queries(by):
    """P3: the daemon answers a program's questions, and no client sees them."""
    terminal = Terminal(by)
    terminal.type("stty -echo; PS1=; printf 'as''k\\033[c\\033[6n\\033[>c\\033]11;?\\033\\\\d''one\\n'; read -r answer; exit\n")
    terminal.wait_for(rb"done")
    terminal.type("\n")
    terminal.wait_exit()
    shown = terminal.printed[terminal.printed.rindex(b"ask"):]
    assert b"\x1b[c" not in shown and b"\x1b[6n" not in shown and b"\x1b]11;?" not in shown, shown
    terminal.socket.close()


def survival(by):
    """H10: without a client and without a daemon the program runs on, and nothing that it printed is lost."""
    terminal = Terminal(by)
    go, out = [os.path.join(DIRECTORY, name + by) for name in ("go-", "out-")]
    terminal.type("echo be''gun; until test -e %s; do sleep 0.05; done; seq 1 2000; echo fin''ished; touch %s\n" % (go, out))
    terminal.wait_for(rb"begun\r\n")
    os.kill(json.loads(qd("status", "--json"))["pid"], signal.SIGKILL)
    assert terminal.socket.until("terminal.error")["code"] == "internal", "the client learns that the daemon is gone"
    terminal.socket.close()
    open(go, "w").close()
    eventually("the program has finished", lambda: os.path.exists(out))
    terminal.attach()
    terminal.wait_for(rb"finished\r\n")
    numbers = re.findall(rb"(?m)^(\d+)\r", terminal.printed)
    assert numbers == [b"%d" % number for number in range(1, 2001)], len(numbers)
    terminal.close("done")


def idling(by):
    """T8: terminals without input, output and viewers end, all in one grace; one that is watched does not."""
    watched, left = Terminal(by), [Terminal(by) for _ in range(4)]
    for terminal in (watched, *left):
        # What ignores a hang-up and a request to end takes the whole grace.
        terminal.type("exec sh -c \"trap '' HUP TERM; echo he''re; while read -r word; do echo \\$word; done; sleep 1000\"\n")
        terminal.wait_for(rb"here\r\n")
    for terminal in left:
        terminal.close("client_detach")
    status = lambda: {view["id"]: view["status"] for view in json.loads(qd("ps", "--json"))}
    eventually("all are ending at once", lambda: [status().get(one.id) for one in left] == ["stopping"] * len(left))
    eventually("all have ended", lambda: not any(one.id in status() for one in left))
    watched.type("still\n")
    watched.wait_for(rb"still\r\n")
    watched.close("done")
    assert watched.exit["reason"] == "closed", watched.exit


def shutdown(by):
    """T9, T15: a shutdown ends every terminal, those that are being opened too, and refuses later ones."""
    if by == "path":
        return  # The daemon is gone, and stays so.
    terminals = [Terminal(way) for way in PATHS for _ in range(2)]
    opening = [Socket(TASK_PATH % (TASK, WORKSPACE, 80, 24)) for _ in range(4)]
    callers = [subprocess.Popen([SETUP["qd"], "shutdown", "--kill"], stdout=subprocess.DEVNULL) for _ in range(3)]
    # Whoever comes back first finds that everything is over.
    eventually("a caller is back", lambda: any(caller.poll() is not None for caller in callers))
    assert scan("cwd", lambda directory: directory == DIRECTORY) == [], "a child is left"
    assert [caller.wait(60) for caller in callers] == [0, 0, 0]
    for terminal in terminals:
        assert terminal.wait_exit()["reason"] in ("shutdown", "closed", "signalled"), terminal.exit
    for socket in opening:
        frame = {}
        while frame is not None and frame.get("type") not in ("terminal.exit", "terminal.error", "terminal.close"):
            frame = socket.ended()
    for way in PATHS:
        assert refused(way, TASK, WORKSPACE)["code"] == "internal"


for name in sys.argv[2:]:
    for by in PATHS:
        globals()[name](by)
    print(name)

"""A plain client of the terminal.* dialect, with nothing but the standard library.

It dials, authenticates in its first frame and closes as existing clients do. Each fact prints one line; an assertion that
fails ends it with a traceback.
"""
import base64, hashlib, json, os, re, socket, struct, sys

HOST, TOKEN, WORKSPACE = sys.argv[1], sys.argv[2], sys.argv[3]
ROUNDS, TASK, DIRECTORY = int(sys.argv[4]), sys.argv[5], sys.argv[6]
TASK_PATH = "/ws/issues/%s/terminal?workspace_id=%s&cols=%d&rows=%d"


class Socket:
    def __init__(self, path, token=TOKEN):
        host, port = HOST.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=60)
        self.buffer = b""
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((
            "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n" % (path, HOST, key)).encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.exactly(1)
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        assert b" 101 " in head and accept in head, head
        if token is not None:
            self.send({"type": "auth", "payload": {"token": token}})

    def exactly(self, count):
        while len(self.buffer) < count:
            piece = self.socket.recv(65536)
            if not piece:
                raise EOFError
            self.buffer += piece
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def send(self, value):
        payload, mask = json.dumps(value).encode(), os.urandom(4)
        head = bytes([0x81])
        if len(payload) < 126:
            head += bytes([0x80 | len(payload)])
        elif len(payload) < 65536:
            head += bytes([0x80 | 126]) + struct.pack(">H", len(payload))
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", len(payload))
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        self.socket.sendall(head + mask + masked)

    def next(self):
        while True:
            first, second = self.exactly(2)
            length = second & 127
            if length == 126:
                length = struct.unpack(">H", self.exactly(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", self.exactly(8))[0]
            payload, kind = self.exactly(length), first & 15
            if kind == 1:
                return json.loads(payload)
            if kind == 8:
                raise EOFError
            if kind == 9:
                self.socket.sendall(bytes([0x8A, 0x80]) + os.urandom(4))

    def until(self, kind):
        while True:
            frame = self.next()
            if frame.get("type") == kind:
                return frame.get("payload")
            assert frame.get("type") != "terminal.error" or kind == "terminal.error", frame

    def close(self):
        self.socket.close()


class Terminal:
    """One session, with everything that it has printed."""

    def __init__(self, opened_by, task="", cols=0, rows=0):
        if opened_by == "open":
            self.socket = Socket("/ws/terminal")
            self.socket.until("auth_ack")
            request = {"request_id": "r1", "task_id": task, "workspace_id": WORKSPACE, "cols": cols, "rows": rows}
            self.socket.send({"type": "terminal.open", "payload": request})
        else:
            self.socket = Socket(TASK_PATH % (task, WORKSPACE, cols, rows))
            self.socket.until("auth_ack")
        opened = self.socket.until("terminal.opened")
        assert opened["shell"] and opened["work_dir"], opened
        self.id, self.printed, self.end, self.exit = opened["session_id"], b"", 0, None

    def type(self, text):
        data = base64.b64encode(text.encode()).decode()
        self.socket.send({"type": "terminal.data", "payload": {"session_id": self.id, "data_b64": data}})

    def read(self):
        """Takes one frame; output must go on exactly where it was."""
        frame = self.socket.next()
        payload = frame.get("payload", {})
        if frame["type"] == "terminal.data":
            assert self.exit is None, "output after the exit"
            piece = base64.b64decode(payload["data_b64"])
            assert payload["offset"] >= self.end, (payload["offset"], self.end)
            self.printed, self.end = self.printed + piece, payload["offset"] + len(piece)
        elif frame["type"] == "terminal.exit":
            self.exit = payload
        return frame

    def wait_for(self, pattern):
        while not re.search(pattern, self.printed):
            frame = self.read()
            assert frame["type"] != "terminal.error", frame
        return re.search(pattern, self.printed)

    def wait_exit(self):
        while self.exit is None:
            self.read()
        return self.exit

    def resize(self, cols, rows):
        self.socket.send({"type": "terminal.resize", "payload": {"session_id": self.id, "cols": cols, "rows": rows}})

    def close(self, reason):
        self.socket.send({"type": "terminal.close", "payload": {"session_id": self.id, "reason": reason}})
        while self.read()["type"] != "terminal.close":
            pass


def check_authentication():
    refused = Socket("/ws/terminal", token="0" * 64)
    assert "error" in refused.next()
    try:
        refused.next()
        raise AssertionError("it was not closed")
    except EOFError:
        pass
    silent = Socket("/ws/terminal", token=None)
    silent.send({"type": "terminal.open", "payload": {}})
    assert "error" in silent.next()
    print("authentication")


def check_errors():
    socket = Socket("/ws/terminal")
    socket.until("auth_ack")
    for task, workspace, code in [("ghost", WORKSPACE, "task_not_found"), (TASK, "other", "workspace_mismatch")]:
        request = {"request_id": "r9", "task_id": task, "workspace_id": workspace, "cols": 80, "rows": 24}
        socket.send({"type": "terminal.open", "payload": request})
        error = socket.until("terminal.error")
        assert (error["code"], error["request_id"]) == (code, "r9"), error
    socket.send({"type": "terminal.data", "payload": {"session_id": "p_00000000", "data_b64": "eA=="}})
    assert socket.until("terminal.error")["code"] == "session_not_found"
    socket.send({"type": "terminal.attach", "payload": {"session_id": "p_00000000"}})
    assert socket.until("terminal.error")["code"] == "session_not_found"
    socket.send({"type": "nonsense"})
    assert socket.until("terminal.error")["code"] == "internal"
    implicit = Socket(TASK_PATH % ("ghost", WORKSPACE, 80, 24))
    implicit.until("auth_ack")
    assert implicit.until("terminal.error")["code"] == "task_not_found"
    print("errors")


def check_sizes():
    usual = Terminal("open")
    usual.type("stty size\n")
    usual.wait_for(rb"24 80\r")
    usual.resize(132, 50)
    usual.type("stty size\n")
    usual.wait_for(rb"50 132\r")
    usual.close("done")
    given = Terminal("open", cols=100, rows=30)
    given.type("stty size\n")
    given.wait_for(rb"30 100\r")
    given.close("done")
    print("sizes")


def check_tasks():
    for opened_by in ["open", "path"]:
        for cols, rows, size in [(90, 33, b"33 90"), (0, 0, b"24 80")]:
            terminal = Terminal(opened_by, task=TASK, cols=cols, rows=rows)
            terminal.type("stty size; p''wd\n")
            terminal.wait_for(size + rb"\r\n" + re.escape(DIRECTORY.encode()) + rb"\r\n")
            terminal.type("echo la''st; exit 5\n")
            assert terminal.wait_exit()["exit_code"] == 5 and b"last\r\n" in terminal.printed
    print("tasks")


def check_bytes():
    terminal = Terminal("open")
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
    print("bytes")


def check_ends():
    for round in range(ROUNDS):
        code = round % 200
        terminal = Terminal("open")
        terminal.type("echo la''st-%d; exit %d\n" % (round, code))
        assert terminal.wait_exit()["exit_code"] == code, terminal.exit
        assert b"last-%d\r\n" % round in terminal.printed, terminal.printed
    killed = Terminal("open")
    killed.type("kill -9 $$\n")
    assert killed.wait_exit()["exit_code"] == 137, killed.exit
    print("ends")


def check_detaching():
    for reason in ["panel_unmount", "client_detach", "browser_disconnect", None]:
        terminal = Terminal("open")
        terminal.type("echo be''fore\n")
        terminal.wait_for(rb"before\r\n")
        if reason is None:
            terminal.socket.close()
        else:
            terminal.close(reason)
        again = Socket("/ws/terminal")
        again.until("auth_ack")
        again.send({"type": "terminal.attach", "payload": {"session_id": terminal.id, "from_offset": terminal.end}})
        terminal.socket, terminal.printed = again, b""
        terminal.type("echo af''ter\n")
        terminal.wait_for(rb"after\r\n")
        assert b"before\r\n" not in terminal.printed, "what was seen came twice"
        terminal.close("user_closed")
        assert terminal.exit is not None, "a close with another reason ends it"
        late = Socket("/ws/terminal")
        late.until("auth_ack")
        late.send({"type": "terminal.attach", "payload": {"session_id": terminal.id}})
        frame = late.next()
        assert frame["type"] == "terminal.exit", frame
    print("detaching")


def check_queries():
    terminal = Terminal("open")
    terminal.type("stty -echo; PS1=; printf 'as''k\\033[c\\033[6n\\033[>c\\033]11;?\\033\\\\d''one\\n'; sleep 1; exit\n")
    terminal.wait_exit()
    shown = terminal.printed[terminal.printed.rindex(b"ask"):]
    assert b"\x1b[c" not in shown and b"\x1b[6n" not in shown and b"\x1b]11;?" not in shown, shown
    print("queries")


CHECKS = [
    check_authentication, check_errors, check_sizes, check_tasks, check_bytes, check_ends, check_detaching, check_queries,
]
for check in CHECKS:
    check()

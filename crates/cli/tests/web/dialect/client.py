"""A plain client of the terminal.* dialect, with nothing but the standard library. It dials, authenticates in its first
frame and closes as existing clients do."""
import base64, hashlib, json, os, re, socket, struct, subprocess, sys, time

SETUP = json.loads(sys.argv[1])
HOST, TOKEN, WORKSPACE = SETUP["host"], SETUP["token"], SETUP["workspace"]
TASK_PATH = "/ws/issues/%s/terminal?workspace_id=%s&cols=%d&rows=%d"
DEADLINE = 60


class Socket:
    def __init__(self, path, token=TOKEN):
        host, port = HOST.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=DEADLINE)
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
        end = time.monotonic() + DEADLINE
        while True:
            # The server's pings keep the socket awake.
            assert time.monotonic() < end, "no frame came"
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

    def ended(self):
        """Waits for the close of the server."""
        try:
            return self.next()
        except EOFError:
            return None

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

    def __init__(self, opened_by, task=None, cols=0, rows=0):
        task = SETUP["task"] if task is None else task
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
        # A client that reads nothing for long may find that the log has lost bytes.
        self.may_skip = False

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
            is_next = payload["offset"] == self.end or self.may_skip and payload["offset"] > self.end
            assert is_next, (payload["offset"], self.end)
            self.printed, self.end = self.printed + piece, payload["end"]
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

    def send_close(self, reason):
        self.socket.send({"type": "terminal.close", "payload": {"session_id": self.id, "reason": reason}})

    def attach(self):
        """Attaches again where it was, over a new socket."""
        self.socket = Socket("/ws/terminal")
        self.socket.until("auth_ack")
        self.socket.send({"type": "terminal.attach", "payload": {"session_id": self.id, "from_offset": self.end}})

    def close(self, reason):
        self.send_close(reason)
        while self.read()["type"] != "terminal.close":
            pass
        # One token has a bounded number of sockets.
        self.socket.close()


def qd(*words):
    """Runs a verb at the machine; returns what it printed."""
    done = subprocess.run([SETUP["qd"], *words], capture_output=True)
    assert done.returncode == 0, done
    return done.stdout.decode()


def eventually(what, is_so):
    """Waits for something that nothing announces."""
    end = time.monotonic() + DEADLINE
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def scan(entry, is_it):
    """Returns the processes of this machine of which a file or link below /proc is like this."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        path = "/proc/%s/%s" % (pid, entry)
        try:
            content = os.readlink(path) if entry == "cwd" else open(path, "rb").read().decode(errors="replace")
        except OSError:
            continue
        if is_it(content):
            found.append(pid)
    return found

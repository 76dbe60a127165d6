"""Makes the pictures of this directory from the real program, in some five minutes: python3 make.py PATH_OF_QD [pair]

With `pair` it makes the picture of `qd pair` alone.
The agents are `demo_agent.py`. Needs tmux, git and Pillow. Starts a private daemon and a tmux server of its own, and ends
both.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from glob import glob

from PIL import Image, ImageDraw, ImageFont

# Seconds before a second and a third state of things.
AGEING = int(os.environ.get("AGEING", "65"))
HERE = os.path.dirname(os.path.abspath(__file__))
COLS, ROWS = 110, 34
CELL = (9, 18)
# The ground and the text of the terminal that the deck is shown in.
DARK, LIGHT = ((22, 24, 33), (205, 209, 220)), ((250, 250, 247), (40, 42, 54))
BLACK = ((0, 0, 0), (255, 255, 255))
BASIC = [
    (0, 0, 0), (205, 49, 49), (13, 188, 121), (229, 229, 16), (36, 114, 200), (188, 63, 188), (17, 168, 205),
    (229, 229, 229), (102, 102, 102), (241, 76, 76), (35, 209, 139), (245, 245, 67), (59, 142, 234),
    (214, 112, 214), (41, 184, 219), (255, 255, 255),
]


BASIC_ON_LIGHT = [
    (0, 0, 0), (205, 49, 49), (16, 124, 16), (148, 112, 0), (4, 81, 165), (188, 5, 188), (5, 120, 150),
    (85, 85, 85), (102, 102, 102), (205, 49, 49), (20, 140, 60), (150, 120, 0), (4, 81, 165),
    (188, 5, 188), (5, 120, 150), (165, 165, 165),
]


def indexed(number, basic):
    if number < 16:
        return basic[number]
    if number >= 232:
        return (8 + (number - 232) * 10,) * 3
    steps, number = [0, 95, 135, 175, 215, 255], number - 16
    return steps[number // 36], steps[number // 6 % 6], steps[number % 6]


class Pen:
    """The looks of the next character; tmux carries them from line to line."""

    def __init__(self, ground):
        self.ground, self.basic = ground, BASIC_ON_LIGHT if ground is LIGHT else BASIC
        self.reset()

    def reset(self):
        (self.bg, self.fg), self.bold, self.dim, self.inverse, self.underline = self.ground, False, False, False, False

    def apply(self, numbers):
        numbers = list(numbers)
        while numbers:
            number = numbers.pop(0)
            if number == 0:
                self.reset()
            elif number in (1, 2, 4, 7):
                setattr(self, {1: "bold", 2: "dim", 4: "underline", 7: "inverse"}[number], True)
            elif number == 24:
                self.underline = False
            elif number in (38, 48):
                kind = numbers.pop(0)
                color = indexed(numbers.pop(0), self.basic) if kind == 5 else tuple(numbers.pop(0) for _ in range(3))
                setattr(self, "fg" if number == 38 else "bg", color)
            elif number in (39, 49):
                setattr(self, "fg" if number == 39 else "bg", self.ground[1 if number == 39 else 0])
            elif 30 <= number <= 37 or 90 <= number <= 97:
                self.fg = self.basic[number % 10 + (8 if number >= 90 else 0)]
            elif 40 <= number <= 47 or 100 <= number <= 107:
                self.bg = self.basic[number % 10 + (8 if number >= 100 else 0)]

    def colors(self):
        fg, bg = (self.bg, self.fg) if self.inverse else (self.fg, self.bg)
        return (tuple((one + other) // 2 for one, other in zip(fg, self.ground[0])) if self.dim else fg), bg


# An agent that is known by its screen alone.
MANIFEST = r"""argv = ["PROGRAM"]
version_argv = ["PROGRAM", "--version"]
inherit = ["DEMO_HOME", "DEMO_QD"]

[session]
choose = ["--session-id", "{session}"]
resume = ["--resume={session}"]

[session.flags]
"--session-id" = "one"
"--resume" = "optional"

[context]
default = 200000

[transcript]
root = { env = "DEMO_HOME", below_home = ".demo" }
path = "{session}.jsonl"

[[transcript.line]]
id = "prompt"
when = { "/type" = "prompt" }
prompt = true

[[transcript.line]]
id = "answer"
when = { "/type" = "answer" }
used = ["/used"]

[deliver]
interrupt = ["esc"]
confirm = ["screen"]

[composer]
region = 'bottom(3)'
prompt = '^>(?: (?<text>.*))?$'
folds = ['^\[Pasted text\]$']

[[rule]]
id = 'working'
region = 'bottom(4)'
pattern = '^\* Working'
verdict = 'working'

[[rule]]
id = 'ready'
region = 'bottom(3)'
pattern = '^>'
verdict = 'idle'

[[dialog]]
id = 'ask'
kind = 'permission'
region = 'bottom(12)'
anchors = ['^Run this command\?', '^  1\. ']
title = '^(?<title>Run this command\?)$'
body = '^  \$ (?<body>.*)$'
options = { style = 'lines', line = '^  (?<number>[0-9])\. (?<label>.+)$', press = 'digit' }
names = { allow = '^Yes$', always = 'again', deny = '^No' }
"""

FIRST = "fn check(token: &str) -> bool {\n    token == SECRET\n}\n\nfn issue() -> Token {\n    Token::new()\n}\n"
SECOND = (
    "fn check(&self, token: &str) -> bool {\n    let given = hash(token);\n    given == self.secret\n}\n\n"
    "fn issue() -> Token {\n    Token::expiring(WEEK)\n}\n"
)


class Stage:
    def __init__(self, qd, root):
        self.qd, self.root, self.size, self.ground = qd, root, (COLS, ROWS), DARK
        self.project = os.path.join(root, "home", "ana", "acme")
        # The person's home, so that paths are short and the same everywhere.
        home = os.path.dirname(self.project)
        self.env = dict(os.environ, HOME=home, TERM="xterm-256color", COLORTERM="truecolor", PS1="$ ", SHELL="/bin/sh")
        self.env.update(DEMO_HOME=os.path.join(home, ".demo"), DEMO_QD=qd)
        for name in ("runtime", "data", "config"):
            path = os.path.join(root, name)
            os.makedirs(path, mode=0o700)
            self.env[f"QD_{name.upper()}_DIR"] = path
        os.makedirs(os.path.join(root, "config", "agents"), mode=0o700)
        program = os.path.join(home, "bin", "demo-agent")
        os.makedirs(os.path.dirname(program))
        shutil.copy(os.path.join(HERE, "demo_agent.py"), program)
        with open(os.path.join(root, "config", "agents", "demo.toml"), "w", encoding="utf-8") as file:
            file.write(MANIFEST.replace("PROGRAM", program))
        os.makedirs(os.path.join(self.project, "src"))
        self.write(self.project, "src/auth.rs", FIRST)
        self.write(self.project, ".quarterdeck.toml", PRESETS)
        for words in (["init", "--quiet", "--initial-branch=main"], ["add", "--all"], ["commit", "--quiet", "-m", "first"]):
            self.git(self.project, *words)
        self.write(os.path.join(root, "config"), "tui.toml", 'theme = "dark"\n' + COMMAND)
        # Worktrees lie below the person's home: paths in pictures are the same everywhere.
        self.write(os.path.join(root, "config"), "config.toml", f"[tasks]\nroot = '{home}/wt'\n")

    def write(self, directory, name, text):
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            file.write(text)

    def verb(self, *words):
        done = subprocess.run([self.qd, *words], env=self.env, cwd=self.project, capture_output=True, text=True)
        if done.returncode:
            print(" ".join(words), done.stderr.strip(), file=sys.stderr)
        return done.stdout

    def agent(self, name, *words):
        self.verb("spawn", "--kind", "agent", "--name", name, *words, "demo")
        self.verb("wait", name, "--state", "idle")

    def work_on(self, task):
        """The words for an agent in the worktree of a task."""
        return "--task", task, "--cwd", self.directory(task)

    def directory(self, task):
        tasks = json.loads(self.verb("--json", "tasks"))
        return next(one["directory"] for one in tasks if one["name"] == task)

    def git(self, directory, *words):
        own = ["-c", "user.name=Ana", "-c", "user.email=ana@example.com"]
        subprocess.run(["git", *own, *words], cwd=directory, check=True, capture_output=True)

    def task(self, name, *change):
        """A task, perhaps with a file and its text."""
        self.verb("new", name, "--worktree", "--agent", "demo")
        if change:
            self.change(name, *change)

    def change(self, task, file, text):
        directory = self.directory(task)
        self.write(directory, file, text)
        self.git(directory, "add", "--all")
        self.git(directory, "commit", "--quiet", "-m", file)

    def tmux(self, *words):
        command = ["tmux", "-L", f"qd-screens-{os.getpid()}", "-f", "/dev/null", *words]
        return subprocess.run(command, env=self.env, cwd=self.project, capture_output=True, text=True).stdout

    def keys(self, *keys):
        for key in keys:
            self.tmux("send-keys", "-t", "s", key)
            time.sleep(0.4)

    def resize(self, cols, rows):
        self.size = cols, rows
        self.tmux("resize-window", "-t", "s", "-x", str(cols), "-y", str(rows))
        time.sleep(1)

    def save(self, name):
        time.sleep(0.6)
        with open(os.path.join(HERE, f"{name}.txt"), "w", encoding="utf-8") as file:
            file.write(self.tmux("capture-pane", "-p", "-t", "s"))
        where = self.tmux("display-message", "-p", "-t", "s", "#{cursor_x} #{cursor_y} #{cursor_flag}").split()
        cursor = (int(where[0]), int(where[1])) if where[2] == "1" else None
        captured = self.tmux("capture-pane", "-N", "-e", "-p", "-t", "s")
        draw(captured, os.path.join(HERE, f"{name}.png"), self.size, self.ground, cursor)

    def settings(self, *lines):
        """Other settings, which the deck takes over at once."""
        self.write(os.path.join(self.root, "config"), "tui.toml", "\n".join(lines) + COMMAND)
        time.sleep(1)
        self.keys("C-\\", ".")


# Which sides of its cell a line glyph reaches: left, right, up, down.
LINES = {
    "─": "lr", "│": "ud", "├": "rud", "┤": "lud", "┬": "lrd", "┴": "lru", "┼": "lrud",
    "╭": "rd", "╮": "ld", "╰": "ru", "╯": "lu", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu",
}


# The upper and the lower end of a block, in halves of its cell.
BLOCKS = {"█": (0, 2), "▀": (0, 1), "▄": (1, 2)}


def line_glyph(canvas, place, glyph, color):
    """Draws lines and blocks from edge to edge, as terminals do; fonts leave gaps between rows."""
    left, top = place
    right, bottom = left + CELL[0], top + CELL[1]
    if glyph in BLOCKS:
        upper, lower = (top + half * CELL[1] // 2 for half in BLOCKS[glyph])
        canvas.rectangle([(left, upper), (right - 1, lower - 1)], fill=color)
        return True
    if glyph not in LINES:
        return False
    middle = (left + CELL[0] // 2, top + CELL[1] // 2)
    ends = {"l": (left, middle[1]), "r": (right, middle[1]), "u": (middle[0], top), "d": (middle[0], bottom)}
    for side in LINES[glyph]:
        canvas.line([middle, ends[side]], fill=color)
    return True


def draw(captured, path, size, ground, cursor):
    cols, rows = size
    fonts = glob("/usr/share/fonts/**/DejaVuSansMono.ttf", recursive=True)
    font = ImageFont.truetype(fonts[0], 14)
    image = Image.new("RGB", (cols * CELL[0], rows * CELL[1]), ground[0])
    canvas, pen = ImageDraw.Draw(image), Pen(ground)
    for row, line in enumerate(captured.split("\n")[:rows]):
        col = 0
        for piece in re.finditer(r"\x1b\[([0-9;:]*)m|\x1b\][^\x1b]*\x1b\\|(.)", line):
            if piece.group(1) is not None:
                pen.apply(int(number or 0) for number in re.split("[;:]", piece.group(1)))
            elif piece.group(2) is not None:
                fg, bg = pen.colors()
                if (col, row) == cursor:
                    fg, bg = ground
                place = (col * CELL[0], row * CELL[1])
                canvas.rectangle([place, (place[0] + CELL[0], place[1] + CELL[1])], fill=bg)
                if pen.underline:
                    base = place[1] + CELL[1] - 2
                    canvas.line([(place[0], base), (place[0] + CELL[0] - 1, base)], fill=fg)
                if not line_glyph(canvas, place, piece.group(2), fg):
                    canvas.text(place, piece.group(2), fill=fg, font=font)
                    if pen.bold:
                        canvas.text((place[0] + 1, place[1]), piece.group(2), fill=fg, font=font)
                col += 1
    # A palette of few colours would turn the green of one word into grey.
    image.save(path, optimize=True)


PRESETS = """[preset.dev]
shell = "npm run dev"

[preset.test]
shell = "echo 212 passed"
"""

INIT = """include = [".env", ".envrc"]
commands = ["npm ci"]
"""

COMMAND = """
[[command]]
name = "git log"
argv = ["sh", "-c", "git log --graph --decorate --color=always --stat -5; printf '\\n(end)'; read -r line"]
key = "y"
where = "popup"
"""


# A server that listens, and says what such servers say.
SERVER = """import http.server, sys
print("\\n  dev server ready in 312 ms\\n\\n  > Local:  http://localhost:5173/\\n\\nGET / 200\\nGET /app.js 200", flush=True)
http.server.HTTPServer(("127.0.0.1", 5173), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


def people(stage):
    """Tasks, agents that lead and are led, commands, a pad and a timer."""
    stage.verb("trust", "agent", "demo")
    stage.task("fix-login", "src/auth.rs", SECOND)
    stage.task("api-v2", "src/api.rs", "".join(f"pub fn route_{n}() {{}}\n" for n in range(61)))
    stage.task("bump-deps")
    # An agent that has worked on it before: its session can be continued.
    stage.agent("bumper", *stage.work_on("bump-deps"), "--prompt", "Bring the dependencies up to date.")
    stage.verb("tell", "bumper", "And the lock file.")
    stage.verb("close", "bumper")
    stage.agent("fix-login", *stage.work_on("fix-login"))
    stage.agent("api-v2", *stage.work_on("api-v2"))
    stage.agent("lead")
    stage.verb("tell", "fix-login", "Limit the logins.", "--timeout", "3")
    stage.verb("tell", "api-v2", "Move the routes to v2.")
    stage.verb("tell", "lead", "Prepare the release.", "--timeout", "3")
    # A conflict is told to agents that wait for something to do: nobody does now.
    stage.change("bump-deps", "src/auth.rs", FIRST.replace("SECRET", "VAULT"))
    stage.verb("spawn", "--name", "web", "--", "python3", "-c", SERVER)
    stage.verb("spawn", "--name", "worker", "--", "sh", "-c", "echo 'starting worker 3'; echo 'panic: no DATABASE_URL'; exit 1")
    stage.verb("spawn", "--name", "build", "--", "sh", "-c", "seq -f 'compiled %g of 400' 400; cat")
    stage.verb("restart", "build")
    stage.verb("timers", "set", "--for", "lead", "--label", "ci-check", "--after", "600", "Look at the build.")
    stage.verb("pads", "write", "plan", PLAN)
    stage.verb("grant", "lead", "read", "web")


PLAN = """# Release

- limit the logins (fix-login)
- move the routes to version 2 (api-v2)
- write the guide

## Afterwards

Tell the customers that the routes of version 1 go in March.
"""


QUESTIONS = """# Questions

- How many tries before an account is locked, and for how long?
"""


def play(stage):
    stage.tmux("new-session", "-d", "-s", "s", "-x", str(COLS), "-y", str(ROWS), stage.qd)
    time.sleep(3)
    stage.save("welcome")
    people(stage)
    stage.write(stage.project, ".worktree-init.toml", INIT)
    stage.keys("4", "fix-login", "Enter")
    stage.keys("C-\\", "v", "web", "Enter", "C-\\", "s", "shell", "Enter")
    time.sleep(2)
    stage.keys("git log --oneline --all --decorate", "Enter")
    # So that ages are not all alike.
    time.sleep(AGEING)
    stage.verb("tell", "api-v2", "Now the tests of version 2.")
    time.sleep(AGEING + 12)
    stage.keys("C-\\", "h", "C-\\", ".")
    stage.save("deck")
    views(stage)
    stage.keys("C-\\", "y")
    stage.save("popup")
    stage.keys("Enter", "C-\\", "p", "Enter")
    stage.save("pad")
    stage.keys("Escape", "Escape", "C-\\", "g", "build", "Enter", "C-\\", "[", "k", "k", "V", "k", "k", "k")
    stage.save("history")
    stage.keys("q", "C-\\", "/", "380 of")
    stage.save("search")
    stage.keys("Escape", "q", "C-\\", "Space", "runs have printed", "Enter")
    stage.save("runs")
    stage.keys("Escape", "C-\\", "Tab")
    stage.save("rail")
    # Below the pad is the timer, above it are the tasks, the shell and the commands.
    stage.keys("j", "Enter")
    stage.save("timer")
    stage.keys("Escape", "C-\\", "Tab", *["k"] * 9, ".")
    stage.save("row-menu")
    stage.keys("Escape", "Escape")
    others(stage)
    stage.keys("C-\\", "d")


def views(stage):
    """What one or a few keys open from the deck."""
    prefixed = {"menu": [], "palette": ["Space"], "start": ["c"], "inbox": ["a"], "wall": ["w"], "help": ["?"]}
    more = {
        "agent": ["c", "agent demo", "Enter", "Write a page about the limits.", "Tab"],
        "signal": ["K"],
        "explain": ["e"], "settings": [","], "end": ["X"],
        "new-task": ["C", "Limit logins to five tries a minute"], "tasks": ["t"],
        "messages": ["Space", "messages with", "Enter"], "grants": ["Space", "rights that were", "Enter"],
        "viewers": ["Space", "who looks at it", "Enter"],
    }
    comment = ["t", "d", "]", "j", "j", "j", "c", "Compare in constant time; == leaks timing."]
    tasks = {
        "comment": comment, "review": [*comment, "Enter"], "land": ["t", "L"], "drop": ["t", "x"], "stop": ["t", "s"],
        "forecast": ["t", "f"],
    }
    for name, keys in {**prefixed, **more, **tasks}.items():
        stage.keys("C-\\", *keys)
        stage.save(name)
        stage.keys(*["Escape"] * (3 if name == "comment" else 2 if name in tasks else 1))
        time.sleep(0.4)
    gone(stage)


def gone(stage):
    """Lists of what is there for this picture only."""
    stage.verb("pads", "write", "questions", QUESTIONS)
    stage.keys("C-\\", "p")
    stage.save("pads")
    stage.keys("Escape")
    stage.verb("pads", "rm", "questions")
    # Nothing is prepared in these worktrees: there is no npm here.
    os.remove(os.path.join(stage.project, ".worktree-init.toml"))
    for name in ("rate-limits", "dark-mode"):
        stage.task(name, f"src/{name}.rs", "pub fn draft() {}\n")
        stage.verb("drop", name, "--force", "--branch")
    stage.keys("C-\\", ".", "C-\\", "t", "u")
    stage.save("restore")
    stage.keys("Escape", "Escape")


def others(stage):
    """What is asked in passing, the whole terminal for one program, other looks, and small terminals."""
    stage.keys("C-\\", "v")
    stage.save("split")
    stage.keys("Escape", "C-\\", "g", "lead", "Enter", "C-\\", "m", "Add a chapter about limits.")
    stage.save("message")
    stage.keys("Escape", "C-\\", "1", "C-\\", "Z")
    time.sleep(1)
    stage.save("direct")
    stage.keys("C-\\")
    time.sleep(1)
    stage.keys("C-\\", ",", "j", "j", "j", "j", "j", "j", "Enter", "C-b")
    stage.save("recorder")
    stage.keys("Escape", "Escape", "C-\\", "t", "j", "j", "r")
    stage.save("sessions")
    stage.keys("Escape", "Escape", "C-\\", "1")
    looks(stage)
    stage.keys("C-\\", "g", "web", "Enter")
    stage.verb("tell", "api-v2", "Remove the old routes.", "--timeout", "3")
    stage.save("notice")
    stage.keys("C-\\", ".")
    stage.resize(60, 16)
    stage.save("narrow")
    stage.resize(48, 12)
    stage.save("too-small")
    stage.resize(COLS, ROWS)


def pairing(stage):
    """A code for a phone's camera. The server is behind a proxy that is not there; nobody calls it."""
    words = ["web", "--bind", "127.0.0.1:0", "--behind-proxy", "https://desk.tailnet.ts.net", "--no-open"]
    server = subprocess.Popen([stage.qd, *words], env=stage.env, cwd=stage.project, stdout=subprocess.PIPE, text=True)
    try:
        while "another device" not in server.stdout.readline():
            pass
        stage.size = 76, 23
        stage.tmux("new-session", "-d", "-s", "s", "-x", "76", "-y", "23", f"echo '$ qd pair'; {stage.qd} pair")
        time.sleep(2)
        stage.save("pair")
    finally:
        server.terminate()
        server.wait()


def looks(stage):
    """The deck in every theme, and in ASCII without colours."""
    for theme, ground in (("terminal", DARK), ("high-contrast", BLACK), ("light", LIGHT)):
        stage.ground = ground
        stage.settings(f'theme = "{theme}"')
        stage.save(f"deck-{theme}")
    stage.ground = DARK
    stage.settings('theme = "plain"', 'glyphs = "ascii"')
    stage.save("deck-plain")
    stage.settings('theme = "dark"')


def main():
    with tempfile.TemporaryDirectory() as root:
        stage = Stage(os.path.abspath(sys.argv[1]), root)
        try:
            if sys.argv[2:] != ["pair"]:
                play(stage)
                stage.tmux("kill-server")
            pairing(stage)
        finally:
            stage.tmux("kill-server")
            stage.verb("shutdown", "--kill")


main()

"""Makes the pictures of this directory from the real program: python3 make.py PATH_OF_QD

Needs tmux, git and Pillow. Starts a private daemon and a tmux server of its own, and ends both.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from glob import glob

from PIL import Image, ImageDraw, ImageFont

HERE = os.path.dirname(os.path.abspath(__file__))
COLS, ROWS = 110, 30
CELL = (9, 18)
GROUND, TEXT = (24, 24, 30), (220, 220, 220)
BASIC = [
    (0, 0, 0), (205, 49, 49), (13, 188, 121), (229, 229, 16), (36, 114, 200), (188, 63, 188), (17, 168, 205),
    (229, 229, 229), (102, 102, 102), (241, 76, 76), (35, 209, 139), (245, 245, 67), (59, 142, 234),
    (214, 112, 214), (41, 184, 219), (255, 255, 255),
]


def indexed(number):
    if number < 16:
        return BASIC[number]
    if number >= 232:
        return (8 + (number - 232) * 10,) * 3
    steps, number = [0, 95, 135, 175, 215, 255], number - 16
    return steps[number // 36], steps[number // 6 % 6], steps[number % 6]


class Pen:
    """The looks of the next character; tmux carries them from line to line."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.fg, self.bg, self.bold, self.dim, self.inverse = TEXT, GROUND, False, False, False

    def apply(self, numbers):
        numbers = list(numbers)
        while numbers:
            number = numbers.pop(0)
            if number == 0:
                self.reset()
            elif number in (1, 2, 7):
                setattr(self, {1: "bold", 2: "dim", 7: "inverse"}[number], True)
            elif number in (38, 48):
                kind = numbers.pop(0)
                color = indexed(numbers.pop(0)) if kind == 5 else tuple(numbers.pop(0) for _ in range(3))
                setattr(self, "fg" if number == 38 else "bg", color)
            elif number in (39, 49):
                setattr(self, "fg" if number == 39 else "bg", TEXT if number == 39 else GROUND)
            elif 30 <= number <= 37 or 90 <= number <= 97:
                self.fg = BASIC[number % 10 + (8 if number >= 90 else 0)]
            elif 40 <= number <= 47 or 100 <= number <= 107:
                self.bg = BASIC[number % 10 + (8 if number >= 100 else 0)]

    def colors(self):
        fg, bg = (self.bg, self.fg) if self.inverse else (self.fg, self.bg)
        return (tuple(part // 2 for part in fg) if self.dim else fg), bg


class Stage:
    def __init__(self, qd, root):
        self.qd, self.root = qd, root
        self.project = os.path.join(root, "acme")
        self.env = dict(os.environ, TERM="xterm-256color", COLORTERM="truecolor", PS1="$ ", SHELL="/bin/sh")
        for name in ("runtime", "data", "config"):
            path = os.path.join(root, name)
            os.makedirs(path, mode=0o700)
            self.env[f"QD_{name.upper()}_DIR"] = path
        os.makedirs(self.project)
        with open(os.path.join(self.project, "auth.rs"), "w", encoding="utf-8") as file:
            file.write("fn check(token: &str) -> bool {\n    token == SECRET\n}\n")
        for words in (["init", "--quiet", "--initial-branch=main"], ["add", "--all"], ["commit", "--quiet", "-m", "first"]):
            self.git(self.project, *words)
        with open(os.path.join(root, "config", "tui.toml"), "w", encoding="utf-8") as file:
            file.write('theme = "dark"\n')

    def verb(self, *words):
        subprocess.run([self.qd, *words], env=self.env, cwd=self.project, check=False, capture_output=True)

    def git(self, directory, *words):
        own = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        subprocess.run(["git", *own, *words], cwd=directory, check=True, capture_output=True)

    def task(self):
        """A task with a change and nobody at work."""
        self.verb("new", "fix-login", "--worktree")
        tasks = subprocess.run([self.qd, "--json", "tasks"], env=self.env, cwd=self.project, capture_output=True)
        directory = json.loads(tasks.stdout)[0]["directory"]
        with open(os.path.join(directory, "auth.rs"), "w", encoding="utf-8") as file:
            file.write("fn check(token: &str) -> bool {\n    let given = hash(token);\n    given == self.secret\n}\n")
        self.git(directory, "commit", "--quiet", "--all", "-m", "hash")

    def tmux(self, *words):
        command = ["tmux", "-L", f"qd-screens-{os.getpid()}", "-f", "/dev/null", *words]
        return subprocess.run(command, env=self.env, cwd=self.project, capture_output=True, text=True).stdout

    def keys(self, *keys):
        for key in keys:
            self.tmux("send-keys", "-t", "s", key)
            time.sleep(0.4)

    def save(self, name):
        time.sleep(0.6)
        with open(os.path.join(HERE, f"{name}.txt"), "w", encoding="utf-8") as file:
            file.write(self.tmux("capture-pane", "-p", "-t", "s"))
        draw(self.tmux("capture-pane", "-N", "-e", "-p", "-t", "s"), os.path.join(HERE, f"{name}.png"))


# Which sides of its cell a line glyph reaches: left, right, up, down.
LINES = {
    "─": "lr", "│": "ud", "├": "rud", "┤": "lud", "┬": "lrd", "┴": "lru", "┼": "lrud",
    "╭": "rd", "╮": "ld", "╰": "ru", "╯": "lu",
}


def line_glyph(canvas, place, glyph, color):
    """Draws lines from edge to edge, as terminals do; fonts leave gaps between rows."""
    if glyph not in LINES:
        return False
    left, top = place
    right, bottom = left + CELL[0], top + CELL[1]
    middle = (left + CELL[0] // 2, top + CELL[1] // 2)
    ends = {"l": (left, middle[1]), "r": (right, middle[1]), "u": (middle[0], top), "d": (middle[0], bottom)}
    for side in LINES[glyph]:
        canvas.line([middle, ends[side]], fill=color)
    return True


def draw(captured, path):
    fonts = glob("/usr/share/fonts/**/DejaVuSansMono.ttf", recursive=True)
    font = ImageFont.truetype(fonts[0], 14)
    image = Image.new("RGB", (COLS * CELL[0], ROWS * CELL[1]), GROUND)
    canvas, pen = ImageDraw.Draw(image), Pen()
    for row, line in enumerate(captured.split("\n")[:ROWS]):
        col = 0
        for piece in re.finditer(r"\x1b\[([0-9;:]*)m|\x1b\][^\x1b]*\x1b\\|(.)", line):
            if piece.group(1) is not None:
                pen.apply(int(number or 0) for number in re.split("[;:]", piece.group(1)))
            elif piece.group(2) is not None:
                fg, bg = pen.colors()
                place = (col * CELL[0], row * CELL[1])
                canvas.rectangle([place, (place[0] + CELL[0], place[1] + CELL[1])], fill=bg)
                if not line_glyph(canvas, place, piece.group(2), fg):
                    canvas.text(place, piece.group(2), fill=fg, font=font)
                    if pen.bold:
                        canvas.text((place[0] + 1, place[1]), piece.group(2), fill=fg, font=font)
                col += 1
    image.convert("P", palette=Image.ADAPTIVE, colors=32).save(path, optimize=True)


def play(stage):
    stage.tmux("new-session", "-d", "-s", "s", "-x", str(COLS), "-y", str(ROWS), stage.qd)
    time.sleep(3)
    stage.save("welcome")
    stage.task()
    stage.verb("spawn", "--name", "web", "--", "python3", "-u", "-m", "http.server", "5173")
    stage.verb("spawn", "--name", "worker", "--", "sh", "-c", "echo 'no DATABASE_URL'; exit 1")
    stage.verb("spawn", "--name", "build", "--", "sh", "-c", "seq -f 'compiled %g of 400' 400; cat")
    stage.keys("4", "build", "Enter")
    stage.keys("C-\\", "v", "web", "Enter", "C-\\", "s", "shell", "Enter")
    time.sleep(4)
    stage.keys("C-\\", "h", "C-\\", ".")
    stage.save("deck")
    prefixed = {"menu": [], "palette": ["Space"], "inbox": ["a"], "wall": ["w"], "help": ["?"], "explain": ["e"]}
    more = {"history": ["["], "settings": [","], "new-task": ["C", "Limit logins to 5 a minute"], "tasks": ["t"]}
    for name, keys in {**prefixed, **more, "review": ["t", "d", "j", "j", "j"]}.items():
        stage.keys("C-\\", *keys)
        stage.save(name)
        stage.keys("Escape", "Escape")
        time.sleep(0.4)
    stage.keys("C-\\", "d")


def main():
    with tempfile.TemporaryDirectory() as root:
        stage = Stage(os.path.abspath(sys.argv[1]), root)
        try:
            play(stage)
        finally:
            stage.tmux("kill-server")
            stage.verb("shutdown", "--kill")


main()

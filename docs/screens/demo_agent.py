#!/usr/bin/env python3
"""An agent for pictures: takes a prompt and plays the scene that belongs to it.

Its session is a file below DEMO_HOME, which says how much of its context is used. A lead starts two others with the `qd`
that DEMO_QD names.
"""

import json
import os
import signal
import subprocess
import sys
import termios
import tty

BOLD, DIM, BLUE, GREEN, OFF = "\x1b[1m", "\x1b[2m", "\x1b[38;2;110;190;232m", "\x1b[38;2;126;206;145m", "\x1b[0m"
SCENES = {
    "blocked": [
        f"{BLUE}●{OFF} I read {BOLD}src/auth.rs{OFF}. The token is",
        "  hashed first, and the old build is",
        "  in the way of the release.",
        "",
        f"{BLUE}●{OFF} {BOLD}Update{OFF} src/auth.rs {GREEN}+4{OFF} -3",
        "",
        "  $ rm -rf build && make release",
        "",
        f"{BOLD}Run this command?{OFF}",
        "  1. Yes",
        "  2. Yes, and don't ask again for rm",
        "  3. No, and say why",
    ],
    "done": [
        f"{BLUE}●{OFF} {BOLD}Update{OFF} src/api.rs {GREEN}+61{OFF}",
        f"{BLUE}●{OFF} {BOLD}Run{OFF} cargo test",
        f"  {DIM}212 passed, 0 failed{OFF}",
        "",
        f"{GREEN}●{OFF} All 212 tests pass.",
        "",
        ">",
    ],
    "working": [
        f"{BLUE}●{OFF} {BOLD}Read{OFF} src/api.rs",
        f"{BLUE}●{OFF} {BOLD}Write{OFF} docs/guide.md {GREEN}+38{OFF}",
        "",
        f"* Working {DIM}(esc to interrupt){OFF}",
        ">",
    ],
}
SCENES["lead"] = [
    f"{BLUE}●{OFF} The tests and the guide can be done",
    "  side by side. I started two agents.",
    "",
    f"* Working {DIM}(esc to interrupt){OFF}",
    ">",
]
# Which prompt has which scene; any other is done at once.
SCENE_OF = {
    "Limit the logins.": "blocked",
    "Remove the old routes.": "blocked",
    "Prepare the release.": "lead",
    "Run the tests.": "working",
    "Write the guide.": "working",
}
# Tokens of the context that each scene has used, of 200,000.
USED = {"blocked": 82_000, "done": 126_000, "working": 24_000, "lead": 58_000}
shown = []


def show(lines):
    shown[:] = lines
    sys.stdout.write("\x1b[?2026h\x1b[H\x1b[2J\x1b[3J" + "\r\n".join(lines) + "\x1b[?2026l")
    sys.stdout.flush()


def read_prompt(above):
    """What is typed or pasted up to Enter, shown behind the prompt; a paste of several lines is folded."""
    typed = ""
    while True:
        typed += os.read(0, 4096).decode(errors="replace")
        typed = typed.replace("\x1b[200~", "").replace("\x1b[201~", "")
        if typed.endswith("\r") and "\x1b" not in typed:
            return typed.strip()
        is_long = "\n" in typed or "\r" in typed
        show(above + ["> [Pasted text]" if is_long else f"> {typed}"])


def note(*lines):
    """Appends lines to the file of the session, which its words name."""
    words = " ".join(sys.argv[1:]).replace("=", " ").split()
    for flag in ("--session-id", "--resume"):
        if flag in words:
            os.makedirs(os.environ["DEMO_HOME"], exist_ok=True)
            path = os.path.join(os.environ["DEMO_HOME"], words[words.index(flag) + 1] + ".jsonl")
            with open(path, "a", encoding="utf-8") as file:
                file.write("".join(json.dumps(line) + "\n" for line in lines))


def start_others():
    for name, prompt in (("tests", "Run the tests."), ("guide", "Write the guide.")):
        words = ["spawn", "--kind", "agent", "--name", name, "--prompt", prompt, "demo"]
        subprocess.run([os.environ["DEMO_QD"], *words], capture_output=True, check=False)


def main():
    if "--version" in sys.argv:
        print("demo 1.0.0")
        return
    tty.setraw(0, termios.TCSANOW)
    signal.signal(signal.SIGWINCH, lambda *_: show(list(shown)))
    sys.stdout.write("\x1b[?2004h")
    above = [f"{BOLD}demo agent{OFF} {DIM}1.0{OFF}", ""]
    show(above + [">"])
    while True:
        typed = read_prompt(above)
        prompt = next((known for known in SCENE_OF if known in typed), typed)
        word = SCENE_OF.get(prompt, "done")
        note({"type": "prompt", "text": prompt})
        lines = [f"{DIM}you:{OFF} {prompt}", ""] + SCENES[word]
        above = lines[:-1]
        show(lines)
        note({"type": "answer", "used": USED[word]})
        if word == "lead":
            start_others()


main()

#!/usr/bin/env python3
"""An agent for pictures: takes a prompt and plays the scene that its first word names (blocked, done, working)."""

import os
import signal
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
shown = []


def show(lines):
    shown[:] = lines
    sys.stdout.write("\x1b[?2026h\x1b[H\x1b[2J\x1b[3J" + "\r\n".join(lines) + "\x1b[?2026l")
    sys.stdout.flush()


def read_prompt(above):
    """What is typed or pasted up to Enter, shown behind the prompt."""
    typed = ""
    while True:
        typed += os.read(0, 4096).decode(errors="replace")
        typed = typed.replace("\x1b[200~", "").replace("\x1b[201~", "")
        if typed.endswith("\r"):
            return typed.strip()
        show(above + [f"> {typed}"])


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
        word, _, prompt = read_prompt(above).partition(" ")
        lines = [f"{DIM}you:{OFF} {prompt}", ""] + SCENES.get(word, SCENES["done"])
        above = lines[:-1]
        show(lines)


main()

//! Pastes that try to break out of their brackets, into real shells.

use std::io::Write as _;
use std::process::Stdio;

use proto::request::{Close, Spawn};
use proto::{Kind, Status};
use testkit::{MarkedDaemon, Tail, scaled};

use super::{argv, stage};

/// The sequence with which a program asks for brackets.
const BRACKETS: &[u8] = b"\x1b[?2004h";
/// What ends a bracketed paste, when it is not neutralised.
const BREAKOUT: &str = "\u{1b}[201~";

/// Payloads of each shell, at once; the scale makes more rounds of them.
const PAYLOADS: usize = 10;

fn assert_installed(program: &str) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_installed = std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    assert!(is_installed, "there is no {program}: `cargo xtask setup` installs it");
}

/// A shell and its paste.
struct Shell<'s> {
    words: &'s [&'s str],
    /// Drawn when it is ready for a paste.
    ready: &'s [u8],
    /// Creates `pwned` if it is run.
    deed: &'s str,
}

/// Commands among everything that may end a paste or a line. The first payload is written by hand, the others
/// are random.
fn payload(deed: &str, number: usize) -> String {
    if number == 0 {
        // Ctrl-O accepts a line like Enter, for programs without brackets.
        return format!("{deed}\u{f}{BREAKOUT}\n{deed}\n\r{deed}\r{BREAKOUT}; {deed}\n");
    }
    let mut chance = u64::try_from(number).unwrap().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut below = |bound: usize| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((chance >> 33) % u64::try_from(bound).unwrap()).unwrap()
    };
    let ends =
        [BREAKOUT, "\u{1b}", "[201~", "\u{9b}201~", "\r", "\n", "\r\n", "\u{1b}\\", "\u{7}", "\u{1b}OM"];
    let controls =
        ["\u{3}", "\u{4}", "\u{15}", "\u{1a}", "\u{f}", "\u{8}", "\u{7f}", "\u{202e}", "\u{200b}", "\0"];
    let words = ["a", "'", "\"", "(", ")", ";", "&&", "#", "\\", " "];
    let mut text = String::new();
    for _ in 0..4 {
        for _ in 0..=below(5) {
            let kinds = [&ends, &controls, &words];
            text.push_str(kinds[below(3)][below(10)]);
        }
        text.push_str(ends[below(ends.len())]);
        text.push_str(deed);
    }
    text.push('\n');
    text
}

/// Waits until the shells have read all of it: they show the end, and nothing follows. Nothing is typed after
/// it, because an Enter of ours would run what is in their lines.
fn wait_until_read(stage: &MarkedDaemon, names: &[String]) {
    for name in names {
        stage.wait_pattern(name, "pwned");
    }
    let names = names.iter().map(String::as_str);
    let words: Vec<&str> =
        ["wait", "--all"].into_iter().chain(names).chain(["--silence", "0.7", "--timeout", "30"]).collect();
    stage.json(&words);
}

/// Starts a shell in a directory of its own, which is also its home.
fn start(stage: &MarkedDaemon, name: &str, words: &[&str]) {
    let home = stage.root().join(name);
    std::fs::create_dir(&home).unwrap();
    let home = home.display().to_string();
    let mut spawn = stage.spec(name, argv(words));
    spawn.env.insert("HOME".to_owned(), home.clone());
    stage.spawn_as(Spawn { kind: Kind::Terminal, cwd: Some(home), ..spawn });
}

fn paste_into(stage: &MarkedDaemon, name: &str, ready: &[u8], payload: &str) {
    let mut tail = Tail::live(stage, name);
    tail.until(ready);
    // A log has bytes before the screen does; a read waits until they are drawn, and the mode is on.
    drop(stage.screen(name));
    // A program that asked for no brackets gets lines as if they were typed, so it gets none.
    let is_bracketed = tail.bytes.windows(BRACKETS.len()).any(|window| window == BRACKETS);
    let payload = if is_bracketed { payload.to_owned() } else { payload.replace(['\r', '\n'], "") };
    let mut paste = stage.command(&["paste", name, "-"]);
    let mut paste = paste.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    paste.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    assert!(paste.wait_with_output().unwrap().status.success());
}

fn survives_breakouts(shell: &Shell<'_>) {
    assert_installed(shell.words[0]);
    let stage = stage();
    for round in 0..scaled(1) {
        let numbers = round * PAYLOADS..(round + 1) * PAYLOADS;
        let names: Vec<String> = numbers.clone().map(|number| format!("shell{number}")).collect();
        names.iter().for_each(|name| start(&stage, name, shell.words));
        for (number, name) in numbers.clone().zip(&names) {
            paste_into(&stage, name, shell.ready, &payload(shell.deed, number));
        }
        wait_until_read(&stage, &names);
        for (number, name) in numbers.zip(&names) {
            let is_run = stage.root().join(name).join("pwned").exists();
            assert!(!is_run, "payload {number} was run:\n{}", stage.screen(name));
            assert_eq!(stage.process(name).status, Status::Running);
            stage
                .client()
                .close(Close {
                    target: name.as_str().into(),
                    keep_background: false,
                    stop: proto::Stop::default(),
                })
                .unwrap();
        }
    }
}

#[test]
fn c1_bash_runs_nothing_of_a_paste() {
    let words = &["bash", "--norc", "--noprofile", "-i"];
    survives_breakouts(&Shell { words, ready: BRACKETS, deed: "touch pwned" });
}

#[test]
fn c1_zsh_runs_nothing_of_a_paste() {
    survives_breakouts(&Shell { words: &["zsh", "-f", "-i"], ready: BRACKETS, deed: "touch pwned" });
}

#[test]
fn c1_fish_runs_nothing_of_a_paste() {
    survives_breakouts(&Shell { words: &["fish", "--private", "-i"], ready: BRACKETS, deed: "touch pwned" });
}

#[test]
fn c1_python_runs_nothing_of_a_paste() {
    survives_breakouts(&Shell { words: &["python3", "-q", "-i"], ready: b">>> ", deed: "open('pwned','w')" });
}

#[test]
fn c1_the_same_bytes_as_they_are_would_have_been_run() {
    let stage = stage();
    start(&stage, "shell", &["bash", "--norc", "--noprofile", "-i"]);
    let mut tail = Tail::live(&stage, "shell");
    tail.until(BRACKETS);
    // In two halves: whole, it may be only in the one encoder.
    let opening = concat!("\u{1b}[20", "0~");
    stage.type_text("shell", &format!("{opening}{}", payload("touch pwned", 0)));
    wait_until_read(&stage, &["shell".to_owned()]);
    assert!(stage.root().join("shell/pwned").exists(), "the payload of the other tests is harmless");
}

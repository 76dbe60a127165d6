//! What viewers see: a repaint, then what follows; the same for all; panned where the window has another
//! size.

use std::path::PathBuf;
use std::time::Instant;

use proto::request::{Resize, SizeRequest};
use proto::{Owner, Size};
use testkit::{MarkedDaemon, Tail, child};

use super::window::Window;
use super::{sh, stage};

#[test]
fn a_viewer_is_shown_the_screen_and_then_what_follows_never_a_replay() {
    let stage = stage();
    stage.run(
        "x",
        sh("stty -echo; seq 1 5000; printf '\\033[31mred\\033[0m\\n'; echo ready; while read -r l; do echo \"got:$l\"; done"),
    );
    stage.wait_pattern("x", "ready");
    let mut window = Window::attached(&stage, "ready");
    assert!(window.text().contains("5000") && !window.has_drawn(b"4900"), "history was replayed");
    assert_eq!(window.text(), stage.screen("x").trim_end());
    window.type_keys("one\r");
    window.until_shows("got:one");
    assert_eq!(window.text(), stage.screen("x").trim_end());
}

#[test]
fn two_viewers_see_the_same_and_both_may_type() {
    let stage = stage();
    stage.run("x", child::repeat_lines());
    stage.wait_pattern("x", "ready");
    let mut windows = [Window::attached(&stage, "ready"), Window::attached(&stage, "ready")];
    assert_eq!(stage.process("x").terminal.viewers, 2);
    for (number, typist) in [0, 1, 0].into_iter().enumerate() {
        windows[typist].type_keys(&format!("from {number}\r"));
        for window in &mut windows {
            window.until_shows(&format!("got:from {number}"));
        }
    }
    assert_eq!(windows[0].text(), windows[1].text());
    assert_eq!(stage.process("x").terminal.owner, Owner::User);
}

#[test]
fn a4_the_keys_of_a_read_only_viewer_reach_nobody() {
    let stage = stage();
    stage.run("x", child::repeat_lines());
    let mut tail = Tail::live(&stage, "x");
    tail.until(b"ready");
    let mut watcher = Window::open(&stage, Size { cols: 70, rows: 20 }, &["attach", "x", "--read-only"]);
    watcher.until_shows("ready");
    watcher.type_keys("forbidden\r");
    watcher.resize(Size { cols: 60, rows: 18 });
    // The bell shows that the keys were read and refused.
    let until = Instant::now() + testkit::DEADLINE;
    while !watcher.has_drawn(b"\x07") {
        assert!(watcher.draw(until), "no bell");
    }
    stage.type_text("x", "allowed\n");
    tail.until(b"got:allowed");
    watcher.until_shows("got:allowed");
    assert!(!tail.bytes.windows(9).any(|window| window == b"forbidden"));
    assert_eq!(stage.process("x").terminal.size, Size::DEFAULT);
}

#[test]
fn a4_a_read_only_viewer_is_refused_at_the_writer_not_only_in_its_client() {
    let stage = stage();
    stage.run("x", child::repeat_lines());
    let mut tail = Tail::live(&stage, "x");
    tail.until(b"ready");
    let mut viewer = stage.client();
    let size = SizeRequest { cols: Some(20), rows: Some(5) };
    let request = proto::request::Attach {
        target: "x".into(),
        size,
        read_only: true,
        ..proto::request::Attach::default()
    };
    let stream = viewer.attach(request).unwrap().stream;
    viewer.send_data(stream, 0, b"forbidden\n").unwrap();
    viewer.send(proto::Request::View(proto::request::View::OwnSize(proto::request::Empty {}))).unwrap();
    viewer
        .send(proto::Request::Kill(proto::request::Kill { target: "x".into(), signal: None, grace_ms: None }))
        .unwrap();
    let until = Instant::now() + testkit::DEADLINE;
    let mut refusals = 0;
    while refusals < 2 {
        if let Some(client::Incoming::Answer(answer)) = viewer.receive_before(until).unwrap() {
            assert!(matches!(answer.outcome, proto::Outcome::Error(_)), "{answer:?}");
            refusals += 1;
        }
    }
    stage.type_text("x", "allowed\n");
    tail.until(b"got:allowed");
    assert!(!tail.bytes.windows(9).any(|window| window == b"forbidden"));
    assert_eq!(stage.process("x").terminal.size, Size::DEFAULT);
}

#[test]
fn the_size_owner_is_whoever_types_and_the_other_is_shown_the_part_with_the_cursor() {
    let stage = stage();
    stage.run(
        "x",
        sh("stty -echo; echo ready; while read -r l; do printf '\\033[2J\\033[20;60Hmark:%s' \"$l\"; done"),
    );
    stage.wait_pattern("x", "ready");
    let mut large = Window::attached(&stage, "ready");
    let small_size = Size { cols: 40, rows: 10 };
    let mut small = Window::open(&stage, small_size, &["attach", "x"]);
    small.until_shows("ready");
    assert_eq!(stage.process("x").terminal.size, Size::DEFAULT);
    large.type_keys("one\r");
    large.until_shows("mark:one");
    // Column 60 of row 20 is not within 40x10: the view follows the cursor.
    small.until_shows("mark:one");
    assert_eq!(stage.process("x").terminal.size, Size::DEFAULT);
    small.type_keys("two\r");
    stage.until_view("x", |view| view.terminal.size == small_size);
    large.type_keys("three\r");
    stage.until_view("x", |view| view.terminal.size == Size::DEFAULT);
    large.until_shows("mark:three");
    small.until_shows("mark:three");
    // The owner's window changes: the terminal follows it, and not the others.
    large.resize(Size { cols: 100, rows: 30 });
    stage.until_view("x", |view| view.terminal.size == Size { cols: 100, rows: 30 });
    small.resize(Size { cols: 50, rows: 12 });
    small.until_shows("mark:three");
    assert_eq!(stage.process("x").terminal.size, Size { cols: 100, rows: 30 });
}

#[test]
fn m15_a_sole_viewer_gets_its_size_and_those_who_join_it_change_nothing() {
    let stage = stage();
    stage.run(
        "x",
        sh("stty -echo; echo ready; trap 'echo resized' WINCH; while :; do read -r l && stty size; done"),
    );
    stage.wait_pattern("x", "ready");
    let open = |cols, rows| Window::open(&stage, Size { cols, rows }, &["attach", "x"]);
    let mut first = open(120, 50);
    stage.until_view("x", |view| view.terminal.size == Size { cols: 120, rows: 50 });
    first.until_shows("resized");
    let mut others = [open(30, 8), open(80, 24)];
    for window in &mut others {
        window.until_shows("ready");
    }
    stage.until_view("x", |view| view.terminal.viewers == 3);
    stage.type_text("x", "\n");
    stage.wait_pattern("x", "50 120");
    first.until_shows("50 120");
    assert_eq!(first.text().matches("resized").count(), 1, "{}", first.text());
}

/// A process that tries to attach to `x` with the given flags, and reports how that ended.
fn spy(stage: &MarkedDaemon) {
    let export = |(name, value): &(&str, PathBuf)| format!("export {name}='{}'; ", value.display());
    let exports: String = stage.variables().iter().map(export).collect();
    let qd = env!("CARGO_BIN_EXE_qd");
    let tries = format!("'{qd}' attach x --read-only $flags 2>&1; echo \"code:$? $flags.\"");
    stage.run("spy", sh(&format!("stty -echo; {exports}echo ready; while read -r flags; do {tries}; done")));
    stage.wait_pattern("spy", "ready");
}

#[test]
fn a4_leave_to_read_is_no_leave_to_send_others_away_or_to_decide_about_sizes() {
    let stage = stage();
    stage.run("x", child::repeat_lines());
    stage.wait_pattern("x", "ready");
    spy(&stage);
    stage.json(&["grant", "spy", "read", "x"]);
    let mut person = Window::attached(&stage, "ready");
    for flags in ["--take-over", "--size smallest", "--size fixed --take-over"] {
        stage.type_text("spy", &format!("{flags}\n"));
        stage.wait_pattern("spy", &format!("code:4 {flags}\\."));
    }
    assert_eq!(stage.process("x").terminal.viewers, 1);
    // It may watch.
    stage.type_text("spy", "\n");
    stage.until_view("x", |view| view.terminal.viewers == 2);
    person.type_keys("still mine\r");
    person.until_shows("got:still mine");
}

#[test]
fn the_smallest_of_all_who_may_type_is_the_size() {
    let stage = stage();
    stage.run("x", child::repeat_lines());
    stage.wait_pattern("x", "ready");
    let open = |cols, rows, flags: &[&str]| {
        let mut window = Window::open(&stage, Size { cols, rows }, &[&["attach", "x"], flags].concat());
        window.until_shows("ready");
        window
    };
    let _wide = open(100, 20, &["--size", "smallest"]);
    stage.until_view("x", |view| view.terminal.size == Size { cols: 100, rows: 20 });
    let mut high = open(70, 40, &[]);
    stage.until_view("x", |view| view.terminal.size == Size { cols: 70, rows: 20 });
    let _watcher = open(30, 8, &["--read-only"]);
    stage.until_view("x", |view| view.terminal.viewers == 3);
    assert_eq!(stage.process("x").terminal.size, Size { cols: 70, rows: 20 });
    high.resize(Size { cols: 60, rows: 10 });
    stage.until_view("x", |view| view.terminal.size == Size { cols: 60, rows: 10 });
    assert_eq!(high.detach().code(), Some(0));
    stage.until_view("x", |view| view.terminal.size == Size { cols: 100, rows: 20 });
}

#[test]
fn a_fixed_size_stays_whoever_types() {
    let stage = stage();
    stage.run("x", child::repeat_lines());
    stage.wait_pattern("x", "ready");
    let mut window = Window::open(&stage, Size { cols: 50, rows: 9 }, &["attach", "x", "--size", "fixed"]);
    window.until_shows("ready");
    window.type_keys("one\r");
    window.until_shows("got:one");
    assert_eq!(stage.process("x").terminal.size, Size::DEFAULT);
    stage
        .client()
        .resize(Resize { target: "x".into(), size: SizeRequest { cols: Some(90), rows: None } })
        .unwrap();
    window.type_keys("two\r");
    window.until_shows("got:two");
    assert_eq!(stage.process("x").terminal.size, Size { cols: 90, rows: 24 });
}

#[test]
fn c6_a_clipboard_write_of_a_process_reaches_no_client() {
    let stage = stage();
    stage.run("x", sh("stty -echo; echo ready; read l; printf '\\033]52;c;c2VjcmV0\\007\\033]52;p;c2VjcmV0\\033\\\\'; echo over; read l"));
    stage.wait_pattern("x", "ready");
    let mut windows = [Window::attached(&stage, "ready"), Window::attached(&stage, "ready")];
    let mut composed = Window::open(&stage, Size { cols: 60, rows: 20 }, &["attach", "x", "--read-only"]);
    composed.until_shows("ready");
    stage.type_text("x", "\n");
    for window in windows.iter_mut().chain([&mut composed]) {
        window.until_shows("over");
        assert!(
            !window.has_drawn(b"]52;") && !window.has_drawn(b"c2VjcmV0"),
            "{}",
            window.drawn.escape_ascii()
        );
    }
    // A later viewer does not get it either.
    let late = Window::attached(&stage, "over");
    assert!(!late.has_drawn(b"]52;"));
}

#[test]
fn a_window_of_another_size_rings_tells_and_copies_as_one_of_the_same_size_does() {
    let stage = stage();
    let said = "printf '\\007\\033]9;tell me\\007\\033]52;c;Y29weQ==\\007'; echo over";
    stage.run("x", sh(&format!("stty -echo; echo ready; read l; {said}; read l")));
    stage.wait_pattern("x", "ready");
    let small = Size { cols: 60, rows: 20 };
    let mut windows = [Size::DEFAULT, small].map(|size| {
        let mut window = Window::open(&stage, size, &["attach", "x", "--read-only", "--clipboard"]);
        window.until_shows("ready");
        window.drawn.clear();
        window
    });
    stage.type_text("x", "\n");
    for window in &mut windows {
        window.until_shows("over");
        for said in [&b"\x07"[..], b"\x1b]9;tell me", b"\x1b]52;c;Y29weQ=="] {
            assert!(window.has_drawn(said), "{}: {}", said.escape_ascii(), window.drawn.escape_ascii());
        }
    }
}

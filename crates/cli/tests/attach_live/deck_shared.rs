//! The deck among others: two decks of one project, a link over SSH, the clipboard of programs, and the signals that a storm of
//! sizes makes.

use std::time::{Duration, Instant};

use proto::Size;
use term::Wraps;
use testkit::{MarkedDaemon, scaled};

use super::deck::{SIZE, showing_x};
use super::deck_facts::leave;
use super::window::Window;
use super::{sh, stage};

const QD: &str = env!("CARGO_BIN_EXE_qd");

/// Goes to a process by the palette.
fn go_to(window: &mut Window, name: &str) {
    window.type_keys("\u{1c}g");
    window.until_shows("Go to");
    window.type_keys(&format!("{name}\r"));
    window.until("its pane", |screen| screen.text(Wraps::Keep).contains(&format!("─ {name} ")));
}

#[test]
fn u29_two_decks_of_one_project_differ_and_the_size_is_that_of_who_typed_last() {
    let stage = stage();
    // A mark near the lower right corner, wherever that is.
    let marks = "set -- $(stty size); printf '\\033[2J\\033[%d;%dHmark:%s' $(($1 - 1)) $(($2 - 20)) \"$l\"";
    stage.run("x", sh(&format!("stty -echo; echo ready; while read -r l; do {marks}; done")));
    stage.wait_pattern("x", "ready");
    stage.run("y", sh("echo second; exec cat"));
    let mut small = Window::open(&stage, SIZE, &[]);
    showing_x(&mut small);
    let small_size = Size { cols: 74, rows: 27 };
    stage.until_view("x", |view| view.terminal.size == small_size);
    small.type_keys("one\r");
    small.until_shows("mark:one");
    let mut large = Window::open(&stage, Size { cols: 140, rows: 40 }, &[]);
    large.until_shows("COMMANDS");
    go_to(&mut large, "y");
    go_to(&mut large, "x");
    // Looking takes no size away from who types.
    large.until_shows("74x27 by");
    assert_eq!(stage.process("x").terminal.size, small_size);
    large.type_keys("two\r");
    stage.until_view("x", |view| view.terminal.size == Size { cols: 114, rows: 37 });
    large.type_keys("two again\r");
    large.until_shows("mark:two again");
    // The place of the mark is not within the smaller one: its view follows the cursor.
    small.until_shows("mark:two again");
    small.until_shows("114x37 by");
    let tabs = |window: &Window| window.text().lines().next().unwrap_or_default().to_owned();
    assert!(
        tabs(&large).contains(" y") && !tabs(&small).contains(" y"),
        "{}\n{}",
        tabs(&large),
        tabs(&small)
    );
    small.type_keys("three\r");
    stage.until_view("x", |view| view.terminal.size == small_size);
    small.type_keys("three again\r");
    large.until_shows("mark:three again");
    leave(small);
    large.type_keys("four\r");
    large.until_shows("mark:four");
    leave(large);
    stage.until_view("x", |view| view.terminal.viewers == 0);
}

#[test]
fn u32_over_ssh_a_lone_escape_and_a_cut_arrow_key_reach_the_program_as_they_are() {
    let stage = stage();
    stage.run("x", sh("stty raw -echo; printf 'ready\\r\\n'; exec cat -v"));
    stage.wait_pattern("x", "ready");
    let connection = "SSH_CONNECTION=192.0.2.1 50000 192.0.2.2 22";
    let (mut window, _) = Window::running(&stage, SIZE, "env", &[connection, "SSH_TTY=/dev/pts/1", QD]);
    showing_x(&mut window);
    // Nothing follows it: it is a key of its own once the link had time to bring more.
    window.type_keys("\u{1b}");
    window.until_shows("^[");
    window.type_keys(".");
    window.until_shows("^[.");
    // Cut where a link cuts, without a pause.
    for piece in ["\u{1b}", "[", "A", "\u{1b}O", "P", "end"] {
        window.type_keys(piece);
    }
    window.until_shows("^[[A^[OPend");
    leave(window);
}

#[test]
fn c6_a_clipboard_write_of_a_program_in_the_deck_reaches_no_terminal() {
    let stage = stage();
    let writes = "printf '\\033]52;c;c2VjcmV0\\007\\033]52;p;c2VjcmV0\\033\\\\\\033Ptmux;\\033\\033]52;c;c2VjcmV0\\007\\033\\\\'";
    for name in ["x", "hidden"] {
        stage
            .run(name, sh(&format!("stty -echo; echo ready; while read l; do {writes}; echo over:$l; done")));
        stage.wait_pattern(name, "ready");
    }
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    stage.type_text("hidden", "one\n");
    stage.wait_pattern("hidden", "over:one");
    window.type_keys("two\r");
    window.until_shows("over:two");
    // On the wall, beside others, and when a hidden one is opened later.
    window.type_keys("\u{1c}w");
    window.until_shows("WALL 2/2");
    stage.type_text("hidden", "three\n");
    window.until_shows("over:three");
    window.type_keys("q");
    go_to(&mut window, "hidden");
    window.until_shows("over:three");
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
    for secret in [&b"]52;"[..], b"c2VjcmV0"] {
        assert!(!window.has_drawn(secret), "{}", window.drawn.escape_ascii());
    }
}

#[test]
fn c6_where_the_person_allows_it_the_program_that_has_the_keyboard_writes_the_clipboard_and_no_other() {
    let stage = stage();
    let config = stage.dirs().config;
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("tui.toml"), "clipboard-children = true\n").unwrap();
    for (name, word) in [("x", "c2hvd24="), ("y", "aGlkZGVu")] {
        let write = format!("printf '\\033]52;c;{word}\\007'");
        stage.run(name, sh(&format!("stty -echo; echo ready; while read l; do {write}; echo over:$l; done")));
        stage.wait_pattern(name, "ready");
    }
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    window.type_keys("\u{1c}v");
    window.until_shows("Show at the right");
    window.type_keys("y\r");
    window.until("both panes", |screen| screen.text(Wraps::Keep).contains("─ y "));
    window.type_keys("\u{1c}h");
    // The one beside it writes, and nothing of it comes.
    stage.type_text("y", "one\n");
    window.until_shows("over:one");
    window.type_keys("two\r");
    window.until_shows("over:two");
    window.until_drawn(b"\x1b]52;c;c2hvd24=");
    window.until_shows("x sent 5 bytes to your terminal's clipboard");
    leave(window);
}

/// The moments, in microseconds, at which the program was told of another size.
fn told_at(stage: &MarkedDaemon) -> Vec<u64> {
    let text = std::fs::read_to_string(stage.root().join("told")).unwrap();
    text.lines().map(|line| line.replace(['.', ','], "").parse().unwrap()).collect()
}

#[test]
fn u22_a_storm_of_sizes_signals_a_program_at_most_some_seventy_times_a_second() {
    let stage = stage();
    // A shell whose trap starts no program counts every signal that comes while it waits.
    let script = format!(
        "trap 'echo $EPOCHREALTIME >> \"{0}\"' WINCH; trap 'stty size; exit' USR1; : > \"{0}\"; sleep 1000000 & \
         echo ready; while :; do wait; done",
        stage.root().join("told").display()
    );
    stage.run("x", ["bash", "-c", &script].map(str::to_owned).to_vec());
    stage.wait_pattern("x", "ready");
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    let mut seed = 7_u32;
    let count = scaled(1_500);
    for _ in 0..count {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        window.resize(Size { cols: 70 + (seed >> 8) as u16 % 200, rows: 20 + (seed >> 20) as u16 % 70 });
        window.draw(Instant::now() + Duration::from_millis(2));
    }
    window.resize(Size { cols: 90, rows: 25 });
    stage.until_view("x", |view| view.terminal.size == Size { cols: 64, rows: 22 });
    let told = told_at(&stage);
    let most = told
        .iter()
        .map(|from| told.iter().filter(|at| (*from..from + 1_000_000).contains(*at)).count())
        .max();
    // Some come closer together than they were sent when the machine was busy in between.
    assert!(most.is_some_and(|most| (5..=80).contains(&most)), "{most:?} within a second of {count} sizes");
    leave(window);
}

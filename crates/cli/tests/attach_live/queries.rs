//! Terminal queries: the daemon answers exactly once, with any number of viewers.

use proto::Size;
use testkit::Tail;

use super::window::Window;
use super::{sh, stage};

/// Sends every query and shows every answer in caret notation.
const ASKER: &str = "stty raw -echo; printf ready; head -c 1 >/dev/null; \
                     printf '\\033]10;#fff;#000\\033\\\\\\033]7501;?\\033\\\\\\033[c\\033[>c\\033[5n\\033[6n\\033[?2026$p\\033[>0q\\033]10;?\\033\\\\\\033]11;?\\033\\\\'; \
                     exec cat -v";

/// One answer in caret notation, as a pattern.
const ANSWERS: [(&str, &str); 9] = [
    ("7501", r"\^\[\]7501;[^\^]*(\^G|\^\[\\)"),
    ("DA1", r"\^\[\[\?[0-9;]*c"),
    ("DA2", r"\^\[\[>[0-9;]*c"),
    ("DSR", r"\^\[\[0n"),
    ("CPR", r"\^\[\[[0-9]+;[0-9]+R"),
    ("DECRQM", r"\^\[\[\?2026;[0-9]\$y"),
    ("XTVERSION", r"\^\[P>\|[^\^]*\^\[\\"),
    ("OSC 10", r"\^\[\]10;rgb:[0-9a-f/]*(\^G|\^\[\\)"),
    ("OSC 11", r"\^\[\]11;rgb:[0-9a-f/]*(\^G|\^\[\\)"),
];

fn one_answer_each(viewers: usize) {
    let stage = stage();
    stage.run("x", sh(ASKER));
    let mut tail = Tail::live(&stage, "x");
    tail.until(b"ready");
    // Windows that answer every query that is drawn on them, like a person's terminal; one of another size.
    let mut windows: Vec<_> = (0..viewers)
        .map(|number| {
            let cols = if number == 1 { 70 } else { 80 };
            let mut window = Window::open(&stage, Size { cols, rows: 24 }, &["attach", "x"]);
            window.until_shows("ready");
            window
        })
        .collect();
    stage.type_text("x", "g");
    tail.until(b"]11;rgb:");
    stage.type_text("x", "FIRST");
    tail.until(b"FIRST");
    for window in &mut windows {
        window.until_shows("FIRST");
    }
    // Whatever a window answered was typed before this.
    if let Some(window) = windows.first() {
        window.type_keys("TYPED");
        tail.until(b"TYPED");
    }
    stage.type_text("x", "END");
    let answered = String::from_utf8_lossy(tail.until(b"END")).into_owned();
    // The last question ends with this; what follows was read by the child.
    let answered = answered.split_once("\u{1b}]11;?\u{1b}\\").unwrap().1;
    let mut dirs = Vec::new();
    for (name, pattern) in ANSWERS {
        let found: Vec<_> = regex::Regex::new(pattern).unwrap().find_iter(answered).collect();
        assert_eq!(found.len(), 1, "{name} with {viewers} viewers: {answered}");
        dirs.push(found[0].start());
    }
    assert!(dirs[0] < dirs[1], "the answer to 7501 comes before DA1: {answered}");
    assert!(dirs.is_sorted(), "answers in the order of the questions: {answered}");
    // Nothing else was typed.
    let rest = ANSWERS.iter().fold(answered.to_owned(), |rest, (_, pattern)| {
        regex::Regex::new(pattern).unwrap().replace(&rest, "").into_owned()
    });
    let typed = if viewers == 0 { "FIRSTEND" } else { "FIRSTTYPEDEND" };
    assert_eq!(rest, typed);
}

#[test]
fn p3_a12_every_query_has_one_answer_without_viewers() {
    one_answer_each(0);
}

#[test]
fn p3_a12_every_query_has_one_answer_with_one_viewer() {
    one_answer_each(1);
}

#[test]
fn p3_a12_every_query_has_one_answer_with_five_viewers() {
    one_answer_each(5);
}

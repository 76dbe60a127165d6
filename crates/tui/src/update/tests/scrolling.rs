//! Facts about the lines of a pane while the daemon's pages of them arrive: what is in sight stays where it is.

use proto::styled::{StyledRow, StyledRun};
use proto::{ProcessId, Reply, Request};
use serde_json::json;

use super::mouse::{copied, drag, lines, press, release, two_panes};
use super::typed;
use crate::frame::Rect;
use crate::message::{CallFor, Command, Message};
use crate::model::Model;
use crate::model::deck::Deck;
use crate::model::history::{History, HistoryLine};
use crate::model::overlay::Overlay;
use crate::update::update;

/// A screen after `seq 100`, a clear and one command, with blank rows below.
const SCREEN: &str = "$ echo copy me please\r\ncopy me please\r\n$ ";

fn screen(model: &Model) -> Rect {
    Deck::screen_of(model.places()[1].1)
}

fn shown(model: &Model, text: &str) -> Vec<HistoryLine> {
    lines(text).into_iter().take(usize::from(screen(model).rows)).collect()
}

/// Types keys and turns the mouse over a pane that shows a text, whose program does not ask for it.
fn does(model: &mut Model, keys: &str, text: &str) -> Vec<Command> {
    let mut done = Vec::new();
    for command in typed(model, keys.as_bytes()) {
        let lines = shown(model, text);
        let message = match command {
            Command::Mouse(pane, mouse) | Command::Select(pane, mouse) => {
                Message::UnwantedMouse { pane, mouse, lines, is_alternate: false }
            }
            Command::Lines { pane, search } => Message::Lines { pane, lines, is_alternate: false, search },
            other => {
                done.push(other);
                continue;
            }
        };
        done.extend(update(model, message));
    }
    done
}

/// Lines that the daemon has kept, from this id on, as it sends them.
fn page(first: u64, texts: &[String]) -> Vec<StyledRow> {
    let row = |(line, text): (u64, &String)| StyledRow {
        line,
        runs: vec![StyledRun { text: text.clone(), width: 1, ..StyledRun::default() }],
        ..StyledRow::default()
    };
    (first..).zip(texts).map(row).collect()
}

/// The lines of `seq 100`, and then these.
fn after_a_hundred(text: &str) -> Vec<String> {
    let numbers = (1..=100).map(|number| number.to_string());
    numbers.chain(text.lines().map(|line| line.trim_end().to_owned())).collect()
}

/// Hands over a page; returns what is asked next.
fn answer(model: &mut Model, rows: Vec<StyledRow>) -> Vec<Command> {
    let text = json!({"mode": "history", "text": "", "version": 1, "cursor": {"col": 0, "row": 0, "visible": true},
        "size": {"cols": 46, "rows": 37}, "offset": 0, "missed": 0, "truncated": false, "alternate": false, "title": "",
        "rows": serde_json::to_value(rows).unwrap()});
    let reply = Reply::Text(serde_json::from_value(text).unwrap());
    update(model, Message::Answered(CallFor::History(ProcessId::from_entropy(2)), Ok(reply)))
}

/// How many bytes of older lines are asked for.
fn asked(commands: &[Command]) -> Option<u32> {
    commands.iter().find_map(|command| match command {
        Command::Call(_, request) => match &**request {
            Request::Read(read) => read.limit,
            _ => None,
        },
        _ => None,
    })
}

fn open(model: &Model) -> &History {
    match model.overlays.last() {
        Some(Overlay::History(history)) => history,
        other => panic!("no lines are open: {other:?}"),
    }
}

/// The rows of text that are in sight.
fn in_sight(model: &Model) -> Vec<String> {
    let history = open(model);
    (history.top..history.top + history.rows).map(|line| history.text_of(line)).collect()
}

fn words(lines: &[HistoryLine]) -> Vec<String> {
    let text = |line: &HistoryLine| line.cells.iter().map(|cell| cell.text.as_str()).collect::<String>();
    lines.iter().map(|line| text(line).trim_end().to_owned()).collect()
}

fn wheel(model: &Model, code: u8) -> String {
    let at = screen(model);
    format!("\x1b[<{code};{};{}M", at.col + 4, at.row + 4)
}

#[test]
fn what_is_shown_does_not_move_when_its_lines_arrive() {
    let below = format!("{SCREEN}make\r\none more\r\nand more");
    for kept in [SCREEN, &below] {
        let mut model = two_panes();
        does(&mut model, "\x1c[", SCREEN);
        let before = words(&shown(&model, SCREEN));
        assert_eq!((in_sight(&model), open(&model).cursor.line), (before.clone(), 2));
        answer(&mut model, page(0, &after_a_hundred(kept)));
        assert_eq!(in_sight(&model)[..2], before[..2], "{kept:?}");
        assert_eq!(open(&model).top, 100, "{kept:?}");
        does(&mut model, "kk", SCREEN);
        assert_eq!(copied(&does(&mut model, "y", SCREEN)), Some("$ echo copy me please"), "{kept:?}");
    }
}

#[test]
fn the_bottom_is_the_last_line_with_text() {
    let mut model = two_panes();
    does(&mut model, "\x1c[", SCREEN);
    answer(&mut model, page(0, &after_a_hundred(SCREEN)));
    does(&mut model, "G", SCREEN);
    assert_eq!(open(&model).cursor.line, 102, "the prompt below the output, not a blank row");
    assert_eq!(copied(&does(&mut model, "Vy", SCREEN)), Some("$"));
}

#[test]
fn a_selection_above_blank_rows_copies_what_was_under_the_mouse() {
    let at = |model: &Model, col: u16| [screen(model).col + col, screen(model).row + 1];
    let mut model = two_panes();
    let keys = press(at(&model, 5)) + &drag(at(&model, 8));
    does(&mut model, &keys, SCREEN);
    answer(&mut model, page(0, &after_a_hundred(SCREEN)));
    let keys = drag(at(&model, 13)) + &release(at(&model, 13));
    assert_eq!(copied(&does(&mut model, &keys, SCREEN)), Some("me please"));
    // One motion, and two clicks.
    for (to, expected) in [(10, "me ple"), (5, "me")] {
        let mut model = two_panes();
        let from = at(&model, 5);
        let end = at(&model, to);
        let begin =
            if to == 5 { press(from) + &release(from) + &press(from) } else { press(from) + &drag(end) };
        does(&mut model, &begin, SCREEN);
        answer(&mut model, page(0, &after_a_hundred(SCREEN)));
        assert_eq!(copied(&does(&mut model, &release(end), SCREEN)), Some(expected));
    }
}

#[test]
fn a_page_that_is_smaller_than_the_screen_leaves_the_rows_above_it() {
    let mut model = two_panes();
    does(&mut model, "\x1c[", SCREEN);
    let before = in_sight(&model);
    let kept = after_a_hundred(SCREEN);
    let asked = answer(&mut model, page(101, &kept[101..]));
    assert_eq!((in_sight(&model), open(&model).top), (before.clone(), 0));
    let Some(Command::Call(_, request)) = asked.first() else { panic!("{asked:?}") };
    assert!(matches!(&**request, Request::Read(read) if read.until == Some(100)), "{request:?}");
    answer(&mut model, page(0, &kept[..100]));
    assert_eq!((in_sight(&model), open(&model).top), (before, 100));
}

#[test]
fn a_screen_that_was_drawn_anew_stays_as_it_was_seen() {
    let mut model = two_panes();
    does(&mut model, "\x1c[", SCREEN);
    let before = in_sight(&model);
    answer(&mut model, page(0, &after_a_hundred("other\ntext\nhere")));
    assert_eq!((in_sight(&model), open(&model).top), (before, 100));
}

#[test]
fn the_first_notch_of_the_wheel_scrolls_as_soon_as_there_are_lines_above() {
    let mut model = two_panes();
    let notch = wheel(&model, 64);
    does(&mut model, &notch, SCREEN);
    answer(&mut model, page(0, &after_a_hundred(SCREEN)));
    assert_eq!(open(&model).top, 97);
    does(&mut model, &notch, SCREEN);
    assert_eq!((open(&model).top, in_sight(&model)[0].as_str()), (94, "95"));
}

#[test]
fn the_wheel_begins_nothing_where_there_is_nothing_above() {
    let mut model = two_panes();
    let notch = wheel(&model, 64);
    does(&mut model, &notch, SCREEN);
    answer(&mut model, page(0, &after_a_hundred(SCREEN)[100..]));
    assert!(model.overlays.is_empty(), "{:?}", model.overlays);
}

#[test]
fn the_menu_key_gives_the_keyboard_to_what_the_wheel_has_scrolled_where_it_is() {
    for keys in ["\x1c[", "\x1c/\x1b[27u"] {
        let mut model = two_panes();
        let notch = wheel(&model, 64);
        does(&mut model, &notch, SCREEN);
        answer(&mut model, page(0, &after_a_hundred(SCREEN)));
        let before = in_sight(&model);
        does(&mut model, keys, SCREEN);
        assert_eq!((in_sight(&model), open(&model).is_casual), (before, false), "{keys:?}");
        assert!(does(&mut model, "v", SCREEN).is_empty(), "keys are the lines' own");
    }
}

#[test]
fn after_the_wheel_typing_and_pasting_return_to_the_program_and_q_only_returns() {
    for (keys, typed) in [("x", 1), ("?", 1), ("q", 0), ("\x1b[27u", 0), ("\x1b[200~text\x1b[201~", 3)] {
        let mut model = two_panes();
        let notch = wheel(&model, 64);
        does(&mut model, &notch, SCREEN);
        answer(&mut model, page(0, &after_a_hundred(SCREEN)));
        let done = does(&mut model, keys, SCREEN);
        let count = done.iter().filter(|command| matches!(command, Command::Type(..))).count();
        assert_eq!((count, model.overlays.len()), (typed, 0), "{keys:?}");
    }
}

#[test]
fn the_top_is_the_first_line_that_is_kept_at_once() {
    let mut model = two_panes();
    does(&mut model, "\x1c[", SCREEN);
    let kept: Vec<String> =
        (0..4_000).map(|line| format!("line {line}")).chain(after_a_hundred(SCREEN)).collect();
    answer(&mut model, page(3_000, &kept[3_000..]));
    let done = does(&mut model, "gg", SCREEN);
    assert_eq!((asked(&done), open(&model).top), (Some(1 << 20), 1_100), "all that is above is asked for");
    assert!(asked(&answer(&mut model, page(1_000, &kept[1_000..3_000]))).is_some());
    answer(&mut model, page(0, &kept[..1_000]));
    assert_eq!((open(&model).top, open(&model).cursor.line, in_sight(&model)[0].as_str()), (0, 0, "line 0"));
}

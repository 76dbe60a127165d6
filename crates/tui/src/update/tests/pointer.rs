//! Facts about the mouse between a press and its release: who got the press gets the rest, and nobody else.

use proto::ProcessId;

use super::mouse::{act, copied, drag, press, release, two_panes};
use super::{focused, typed};
use crate::frame::{Point, Rect};
use crate::message::{Command, Message};
use crate::model::Model;
use crate::model::deck::Deck;
use crate::model::history::{History, HistoryLine};
use crate::model::overlay::{Overlay, POPUP};
use crate::model::pointer::PressOwner;
use crate::model::splits::PaneId;
use crate::update::update;

/// A click with a small move in it.
fn click(at: [u16; 2]) -> Vec<String> {
    let moved = [at[0] + 1, at[1]];
    vec![press(at), drag(moved), release(moved)]
}

/// What programs got, and where.
fn to_programs(commands: &[Command]) -> Vec<(PaneId, Point)> {
    commands
        .iter()
        .filter_map(|command| match command {
            Command::Mouse(pane, mouse) => Some((*pane, mouse.at)),
            _ => None,
        })
        .collect()
}

fn screen(model: &Model, pane: usize) -> (PaneId, Rect) {
    let (pane, place) = model.places()[pane];
    (pane, Deck::screen_of(place))
}

/// Carries out what a deck does whose programs do not want the mouse.
fn selecting(model: &mut Model, gestures: &[String], text: &[String]) -> Vec<Command> {
    let mut done = Vec::new();
    for gesture in gestures {
        for command in typed(model, gesture.as_bytes()) {
            match command {
                Command::Mouse(pane, mouse) | Command::Select(pane, mouse) => {
                    let lines = lines(text);
                    let message = Message::UnwantedMouse { pane, mouse, lines, is_alternate: false };
                    done.extend(update(model, message));
                }
                other => done.push(other),
            }
        }
    }
    done
}

fn lines(text: &[String]) -> Vec<HistoryLine> {
    text.iter().flat_map(|text| super::mouse::lines(text).into_iter().take(1)).collect()
}

#[test]
fn u13_nothing_of_the_click_that_focuses_a_pane_reaches_a_program() {
    let mut model = two_panes();
    let (left, screen) = screen(&model, 0);
    let at = [screen.col + 3, screen.row + 3];
    assert_eq!(to_programs(&act(&mut model, &click(at))), [], "the first one focuses");
    assert_eq!(focused(&model).as_deref(), Some("a"));
    let place = Point { col: at[0], row: at[1] };
    let moved = Point { col: at[0] + 1, ..place };
    assert_eq!(to_programs(&act(&mut model, &click(at))), [(left, place), (left, moved), (left, moved)]);
}

#[test]
fn u13_a_release_over_a_pane_whose_press_the_deck_took_reaches_no_program() {
    // A notice, with a program below it.
    let mut model = two_panes();
    model.toast_about("look at b".to_owned(), ProcessId::from_entropy(2));
    let column = model.size.cols - 3;
    let notice = (1..model.size.rows)
        .find(|row| crate::view::toasts::hit(&model, Point { col: column, row: *row }).is_some());
    assert_eq!(to_programs(&act(&mut model, &click([column - 1, notice.unwrap()]))), [], "a notice");
    assert!(model.toasts.is_empty());
    // Entries of the palette, tiles, tasks and rows of the menu open what is then below the mouse.
    let opens: [(&str, &[u8]); 2] = [("the palette", b"\x1cg"), ("the wall", b"\x1cw")];
    for (what, keys) in opens {
        for row in 2..model.size.rows - 2 {
            let mut model = two_panes();
            typed(&mut model, keys);
            assert_eq!(to_programs(&act(&mut model, &click([60, row]))), [], "{what}, row {row}");
        }
    }
    let mut model = two_panes();
    typed(&mut model, b"\x1b[<2;25;3M\x1b[<2;25;3m");
    assert!(matches!(model.overlays.as_slice(), [Overlay::RowMenu(_)]));
    for row in 2..model.size.rows - 2 {
        let mut model = model.clone();
        assert_eq!(to_programs(&act(&mut model, &click([30, row]))), [], "the menu of a row, row {row}");
    }
}

#[test]
fn u13_a_drag_or_a_release_without_a_press_reaches_no_program() {
    let mut model = two_panes();
    let (_, screen) = screen(&model, 1);
    let at = [screen.col + 3, screen.row + 3];
    assert_eq!(to_programs(&act(&mut model, &[drag(at), release(at)])), []);
    // A border that was let go does not come back with the next press.
    let border = model.places()[0].1.right();
    act(&mut model, &[press([border, 9]), press(at)]);
    let before = model.places();
    act(&mut model, &[drag([border + 9, 9]), release([border + 9, 9])]);
    assert_eq!(model.places(), before);
}

#[test]
fn a_program_that_got_the_press_gets_its_drag_and_release_wherever_the_mouse_is() {
    let mut model = two_panes();
    let (right, screen) = screen(&model, 1);
    let at = [screen.col + 3, screen.row + 3];
    // Over the rail, over the tabs, over the status line and over the other pane.
    let (far, bottom) = (screen.right() - 1, screen.bottom() - 1);
    let places = [
        ([4, 9], [screen.col, 9]),
        ([0, 0], [screen.col, screen.row]),
        ([far, model.size.rows - 1], [far, bottom]),
        ([30, 12], [screen.col, 12]),
    ];
    for (mouse, [col, row]) in places {
        let got = to_programs(&act(&mut model, &[press(at), drag(mouse), release(mouse)]));
        let nearest = (right, Point { col, row });
        assert_eq!(got[1..], [nearest, nearest], "{mouse:?}");
        assert_eq!(focused(&model).as_deref(), Some("b"), "nothing else happened");
    }
    // What the keyboard opens meanwhile does not keep the release from it.
    act(&mut model, &[press(at)]);
    typed(&mut model, b"\x1c?");
    assert_eq!(to_programs(&act(&mut model, &[release(at)])).len(), 1);
}

#[test]
fn two_buttons_have_each_their_own_owner() {
    let mut model = two_panes();
    let (right, screen) = screen(&model, 1);
    let (col, row) = (screen.col + 3, screen.row + 3);
    let mut got = |keys: String| to_programs(&typed(&mut model, keys.as_bytes()));
    let at = Point { col, row };
    assert_eq!(got(format!("\x1b[<2;{};{}M", col + 1, row + 1)), [(right, at)]);
    assert_eq!(got("\x1b[<0;3;3M\x1b[<0;3;3m".to_owned()), [], "the left one is pressed in the rail");
    assert_eq!(got(format!("\x1b[<2;{};{}m", col + 1, row + 1)), [(right, at)]);
    assert_eq!(got(format!("\x1b[<2;{};{}m", col + 1, row + 1)), [], "it is up");
}

#[test]
fn the_window_over_the_deck_has_its_own_presses() {
    let mut model = two_panes();
    model.overlays.push(Overlay::Popup(ProcessId::from_entropy(3)));
    let got = to_programs(&act(&mut model, &[press([60, 20]), drag([0, 20]), release([0, 20])]));
    let left = crate::view::popup::screen(&model).col;
    let at = |col| (POPUP, Point { col, row: 20 });
    assert_eq!(got, [at(60), at(left), at(left)]);
}

#[test]
fn a_drag_selects_from_the_very_character_that_was_pressed() {
    let mut model = two_panes();
    let (_, screen) = screen(&model, 1);
    let at = |col: u16| [screen.col + col, screen.row];
    let text = vec!["one two three".to_owned()];
    let done = selecting(&mut model, &[press(at(4)), drag(at(6)), release(at(6))], &text);
    assert_eq!(copied(&done), Some("two"));
    assert!(model.overlays.is_empty());
}

#[test]
fn a_selection_that_is_dragged_out_of_its_pane_is_copied_wherever_the_button_is_released() {
    let text = ["first line", "second line", "third line"].map(str::to_owned);
    let screen = screen(&two_panes(), 1).1;
    let start = [screen.col + 5, screen.row + 1];
    let ends = [
        ([4, screen.row + 1], "second"),
        ([30, screen.row], "first line\nsecond"),
        ([60, 0], "first line\nsecond"),
        ([screen.col + 4, 0], "t line\nsecond"),
    ];
    for (end, expected) in ends {
        let mut model = two_panes();
        let done = selecting(&mut model, &[press(start), drag(end), release(end)], &text);
        assert_eq!(copied(&done), Some(expected), "{end:?}");
        assert!(model.overlays.is_empty(), "{end:?}");
    }
}

/// The second pane scrolled to the middle of sixty lines.
fn scrolled_to_the_middle(model: &mut Model) {
    let (pane, place) = screen(model, 1);
    let text: Vec<String> = (0..60).map(|line| format!("line {line}")).collect();
    let mut history = History::new(pane, ProcessId::from_entropy(2), lines(&text));
    (history.rows, history.top, history.is_complete) = (usize::from(place.rows), 10, true);
    model.overlays.push(Overlay::History(Box::new(history)));
}

#[test]
fn a_drag_beyond_an_edge_scrolls_by_a_line_with_each_report() {
    let mut model = two_panes();
    scrolled_to_the_middle(&mut model);
    let screen = screen(&model, 1).1;
    let start = [screen.col, screen.row + 2];
    let above = [screen.col, 0];
    let mut gestures = vec![press(start)];
    gestures.extend(vec![drag(above); 4]);
    let commands = act(&mut model, &gestures);
    let Some(Overlay::History(history)) = model.overlays.last() else { panic!("{commands:?}") };
    assert_eq!((history.top, history.cursor.line), (6, 6));
    let done = act(&mut model, &[release(above)]);
    assert_eq!(copied(&done), Some("line 6\nline 7\nline 8\nline 9\nline 10\nline 11\nl"));

    scrolled_to_the_middle(&mut model);
    let below = [screen.right() - 1, model.size.rows - 1];
    let last = [screen.col, screen.bottom() - 1];
    act(&mut model, &[press(last), drag(below), drag(below), drag(below)]);
    let Some(Overlay::History(history)) = model.overlays.last() else { panic!("no lines") };
    let bottom = 10 + usize::from(screen.rows) - 1;
    assert_eq!((history.top, history.cursor.line), (13, bottom + 3));
    let done = act(&mut model, &[release(below)]);
    let expected: Vec<String> = (bottom..=bottom + 3).map(|line| format!("line {line}")).collect();
    assert_eq!(copied(&done), Some(expected.join("\n").as_str()));
}

#[test]
fn a_program_that_got_the_press_does_not_begin_a_selection_with_its_drag() {
    let mut model = two_panes();
    let (pane, screen) = screen(&model, 1);
    let (from, to) = ([screen.col + 1, screen.row], [screen.col + 5, screen.row]);
    act(&mut model, &[press(from)]);
    assert_eq!(model.pointer.owner(crate::host::MouseButton::Left), Some(PressOwner::Program(pane)));
    // It asked for clicks only: its drag is nobody's, the release is its own again.
    for command in act(&mut model, &[drag(to)]) {
        let Command::Mouse(pane, mouse) = command else { continue };
        let lines = lines(&["some text".to_owned()]);
        update(&mut model, Message::UnwantedMouse { pane, mouse, lines, is_alternate: false });
    }
    assert!(model.overlays.is_empty());
    assert_eq!(to_programs(&act(&mut model, &[release(to)])).len(), 1);
}

#[test]
fn a_click_that_asks_for_a_link_is_no_programs() {
    let mut model = two_panes();
    let screen = screen(&model, 1).1;
    let at = [screen.col + 3, screen.row + 3];
    act(&mut model, &[press(at)]);
    update(&mut model, Message::Link("https://a.example".to_owned()));
    assert_eq!(to_programs(&act(&mut model, &[drag(at), release(at)])), []);
}

#[test]
fn a_middle_click_closes_a_view_and_leaves_its_processes() {
    let mut model = two_panes();
    let processes = model.crew.processes.len();
    typed(&mut model, b"\x1b[<1;3;1M\x1b[<1;3;1m");
    assert_eq!((model.deck.tabs.len(), model.crew.processes.len()), (0, processes));
}

/// What `y` copies after these keys in the lines of a pane, from the first line on.
fn yanked(lines: Vec<HistoryLine>, keys: &str) -> String {
    let mut model = two_panes();
    let (pane, place) = screen(&model, 1);
    let mut history = History::new(pane, ProcessId::from_entropy(2), lines);
    (history.rows, history.is_complete) = (usize::from(place.rows), true);
    history.cursor = crate::model::history::HistoryPosition::default();
    model.overlays.push(Overlay::History(Box::new(history)));
    let done = typed(&mut model, keys.as_bytes());
    copied(&done).unwrap_or_else(|| panic!("{keys:?}: {done:?}")).to_owned()
}

#[test]
fn a_block_is_copied_over_short_and_wide_lines() {
    let text = ["abcdef", "xy", "", "a漢字def", "uvwxyz"].map(str::to_owned);
    // Columns 1 to 3 of all five lines.
    assert_eq!(yanked(lines(&text), "l\u{16}jjjjlly"), "bcd\ny\n\n漢字\nvwx");
    // The other way round it is the same block.
    assert_eq!(yanked(lines(&text), "jjjjlll\u{16}kkkkhhy"), "bcd\ny\n\n漢字\nvwx");
}

#[test]
fn lines_are_copied_whole_and_characters_from_the_first_to_the_last() {
    let text = ["one two", "three four", "five"].map(str::to_owned);
    assert_eq!(yanked(lines(&text), "llllVjy"), "one two\nthree four");
    assert_eq!(yanked(lines(&text), "llllvjy"), "two\nthree");
    // The same key ends the selection: then it is the line.
    assert_eq!(yanked(lines(&text), "llvjvy"), "three four");
    // A selection by characters that becomes one by lines keeps its beginning.
    assert_eq!(yanked(lines(&text), "llvjVy"), "one two\nthree four");
}

#[test]
fn rows_that_the_terminal_wrapped_are_copied_as_one_line_with_its_blanks_and_in_a_block_as_rows() {
    let mut rows = lines(&["a long ", "line", "end"].map(str::to_owned));
    rows[0].cells.truncate("a long ".len());
    rows[0].is_wrapped = true;
    assert_eq!(yanked(rows.clone(), "llvjjy"), "long line\nend");
    assert_eq!(yanked(rows.clone(), "Vjjy"), "a long line\nend");
    assert_eq!(yanked(rows.clone(), "Vy"), "a long");
    // A block has the rows as they are on the screen.
    assert_eq!(yanked(rows, "\u{16}jllllly"), "a long\nline");
}

//! Facts about the mouse, and about moving panes, as (model, what is done) → (model, what is asked).

use proto::{ProcessId, Size};
use serde_json::json;

use super::{agent, blocked, focused, model, open, process, typed};
use crate::frame::Point;
use crate::host::{Mouse, MouseAct, MouseButton};
use crate::keymap::Action;
use crate::message::{CallFor, Command, EditFor, Message};
use crate::model::Model;
use crate::model::history::HistoryLine;
use crate::model::overlay::Overlay;
use crate::model::splits::Axis;
use crate::update::update;
use crate::view::status::StatusClick;

/// Two panes side by side, the right one focused; the deck begins at column 26.
pub(super) fn two_panes() -> Model {
    let mut model = model(vec![process(1, "a", json!({})), process(2, "b", json!({}))]);
    open(&mut model, 1);
    model.deck.split(ProcessId::from_entropy(2), Axis::Columns);
    model
}

pub(super) fn press(at: [u16; 2]) -> String {
    format!("\x1b[<0;{};{}M", at[0] + 1, at[1] + 1)
}

pub(super) fn drag(at: [u16; 2]) -> String {
    format!("\x1b[<32;{};{}M", at[0] + 1, at[1] + 1)
}

pub(super) fn release(at: [u16; 2]) -> String {
    format!("\x1b[<0;{};{}m", at[0] + 1, at[1] + 1)
}

pub(super) fn act(model: &mut Model, gestures: &[String]) -> Vec<Command> {
    gestures.iter().flat_map(|gesture| typed(model, gesture.as_bytes())).collect()
}

/// A screen with this first line, as the pane would hand it over.
pub(super) fn lines(text: &str) -> Vec<HistoryLine> {
    let mut screen = term::Screen::new(term::GridSize::clamped(46, 37), term::Limits { history_lines: 0 });
    screen.feed(text.as_bytes());
    let rows = (0..37).filter_map(|row| screen.visible_row(row));
    rows.map(|row| HistoryLine { cells: row.cells, is_wrapped: row.is_wrapped, is_prompt: row.is_prompt })
        .collect()
}

/// The mouse in the focused pane, whose program did not ask for it.
fn unwanted(model: &mut Model, act: MouseAct, at: [u16; 2], text: &str) -> Vec<Command> {
    let (pane, _) = model.deck.focused().unwrap();
    let at = Point { col: at[0], row: at[1] };
    if act == MouseAct::Press(MouseButton::Left) {
        let ms = model.now.ms;
        model.pointer.press(at, ms);
    }
    let mouse = Mouse { act, at, shift: false, alt: false, ctrl: false };
    update(model, Message::UnwantedMouse { pane, mouse, lines: lines(text), is_alternate: false })
}

pub(super) fn copied(commands: &[Command]) -> Option<&str> {
    commands.iter().find_map(|command| match command {
        Command::Copy(text) => Some(text.as_str()),
        _ => None,
    })
}

#[test]
fn a_border_between_panes_is_dragged_and_no_program_hears_of_it() {
    let mut model = two_panes();
    let before = model.places()[0].1;
    let border = before.right();
    let commands = act(&mut model, &[press([border, 9]), drag([border + 10, 9]), release([border + 10, 9])]);
    assert_eq!(model.places()[0].1.cols, before.cols + 10);
    assert!(!commands.iter().any(|command| matches!(command, Command::Mouse(..))), "{commands:?}");
    // The button is up: motion drags nothing any more.
    act(&mut model, &[drag([border, 9])]);
    assert_eq!(model.places()[0].1.cols, before.cols + 10);
}

#[test]
fn the_border_of_the_rail_is_dragged_and_its_width_is_kept() {
    let mut model = two_panes();
    let commands = act(&mut model, &[press([25, 9]), drag([33, 9]), release([33, 9])]);
    assert_eq!(model.rail.width, 33);
    assert!(commands.contains(&Command::KeepSetting("rail-width", "33".to_owned())), "{commands:?}");
}

#[test]
fn a_tab_is_dragged_to_another_place() {
    let mut model = two_panes();
    update(&mut model, Message::Happened(proto::event::Event::Changed(Box::new(process(3, "c", json!({}))))));
    open(&mut model, 3);
    act(&mut model, &[press([2, 0]), drag([10, 0]), release([10, 0])]);
    let names: Vec<String> =
        model.deck.tabs.iter().map(|tab| model.name(model.deck.panes[&tab.focus])).collect();
    assert_eq!(names, ["c", "b"]);
    assert_eq!(focused(&model).as_deref(), Some("b"), "it stays the one that is shown");
}

#[test]
fn a_double_click_copies_the_word_and_a_triple_click_the_line() {
    let left = MouseButton::Left;
    for (clicks, expected) in [(2, "src/auth.rs:41"), (3, "see src/auth.rs:41 there")] {
        let mut model = two_panes();
        let screen = model.places()[1].1;
        let at = [screen.col + 6, screen.row + 1];
        let mut commands = Vec::new();
        for _ in 0..clicks {
            commands = unwanted(&mut model, MouseAct::Press(left), at, "see src/auth.rs:41 there");
            commands.extend(unwanted(&mut model, MouseAct::Release(left), at, "see src/auth.rs:41 there"));
        }
        assert_eq!(copied(&commands), Some(expected), "{clicks} clicks");
    }
}

#[test]
fn one_click_copies_nothing_and_opens_nothing() {
    let mut model = two_panes();
    let screen = model.places()[1].1;
    let at = [screen.col + 6, screen.row + 1];
    let mut commands = unwanted(&mut model, MouseAct::Press(MouseButton::Left), at, "some text here");
    commands.extend(unwanted(&mut model, MouseAct::Release(MouseButton::Left), at, "some text here"));
    assert!(commands.is_empty() && model.overlays.is_empty(), "{commands:?}");
}

#[test]
fn the_wheel_goes_through_lists_and_pages_and_stops_at_their_ends() {
    let mut model = two_panes();
    typed(&mut model, b"\x1c?");
    let wheel = |model: &mut Model, code: u16| typed(model, format!("\x1b[<{code};50;10M").as_bytes());
    for _ in 0..500 {
        wheel(&mut model, 65);
    }
    let Some(Overlay::Help(last)) = model.overlays.last() else { panic!("no help") };
    let last = last.top;
    assert!(last > 0 && last < 300, "{last}");
    // One notch back moves at once.
    wheel(&mut model, 64);
    assert!(matches!(model.overlays.last(), Some(Overlay::Help(help)) if help.top == last - 3));
}

#[test]
fn a_hint_of_the_status_line_can_be_clicked() {
    let mut model = model(vec![blocked(1, "fix", 300), process(2, "web", agent("idle", 0))]);
    open(&mut model, 2);
    let row = model.areas().status.row;
    let action_at = |model: &crate::model::Model, col| crate::view::status::hit(model, Point { col, row });
    let wanted = |action| Some(StatusClick::Act(action));
    let help = (0..model.size.cols).find(|col| action_at(&model, *col) == wanted(Action::Help));
    act(&mut model, &[press([help.unwrap(), row])]);
    assert!(matches!(model.overlays.last(), Some(Overlay::Help(_))));
    model.overlays.clear();
    // The counts lead to who needs the person.
    let counts = (0..model.size.cols).find(|col| action_at(&model, *col) == wanted(Action::NextNeed));
    act(&mut model, &[press([counts.unwrap(), row])]);
    assert_eq!(focused(&model).as_deref(), Some("fix"));
}

/// Whether this is what should be open.
type IsOpen = fn(&Overlay) -> bool;

#[test]
fn the_hints_of_every_view_can_be_clicked() {
    let mut model = two_panes();
    super::tasks::listed(&mut model, vec![super::tasks::task("fix", "idle", &[])]);
    // The words of a hint, the keys that open its view, and what is open after the click.
    let clicks: [(&str, &[u8], IsOpen); 5] = [
        ("n new", b"\x1ct", |overlay| matches!(overlay, Overlay::Form(_))),
        ("L land", b"\x1ct", |overlay| matches!(overlay, Overlay::Land(_))),
        ("a answer", b"\x1cw", |overlay| matches!(overlay, Overlay::Inbox(_))),
        ("? help", b"\x1ca", |overlay| matches!(overlay, Overlay::Help(_))),
        ("? help", b"\x1c\t", |overlay| matches!(overlay, Overlay::Help(_))),
    ];
    for (words, keys, is_it) in clicks {
        model.overlays.clear();
        typed(&mut model, keys);
        click_words(&mut model, words);
        assert!(model.overlays.last().is_some_and(is_it), "{words}: {:?}", model.overlays.last());
    }
    click_words(&mut model, "Esc back");
    assert!(model.overlays.is_empty());
}

/// Clicks on words of the status line.
fn click_words(model: &mut Model, words: &str) {
    let mut grid = crate::frame::Grid::new(model.size);
    crate::view::chrome(model, &mut grid);
    let line = grid.to_text().lines().last().unwrap().to_owned();
    let at = line.find(words).unwrap_or_else(|| panic!("no {words} in {line}"));
    let col = u16::try_from(line[..at].chars().count()).unwrap();
    act(model, &[press([col, model.areas().status.row])]);
}

#[test]
fn the_right_button_in_the_rail_opens_the_menu_of_the_row() {
    let mut model = two_panes();
    let row = 2;
    let right = format!("\x1b[<2;5;{}M", row + 1);
    typed(&mut model, right.as_bytes());
    assert!(matches!(model.overlays.as_slice(), [Overlay::RowMenu(_)]) && model.rail.selected.is_some());
    let commands = typed(&mut model, b"xy");
    assert!(matches!(commands.as_slice(), [Command::Call(CallFor::Nothing, _)]), "{commands:?}");
    // By moving and Enter: the second one shows it at the right.
    typed(&mut model, right.as_bytes());
    typed(&mut model, b"j\r");
    assert!(model.overlays.is_empty() && model.places().len() == 3);
    // A click on the first one opens, a click elsewhere closes.
    typed(&mut model, right.as_bytes());
    act(&mut model, &[press([7, 3]), release([7, 3])]);
    assert!(model.overlays.is_empty(), "{:?}", model.overlays);
    typed(&mut model, right.as_bytes());
    act(&mut model, &[press([100, 30]), release([100, 30])]);
    assert!(model.overlays.is_empty(), "{:?}", model.overlays);
}

#[test]
fn a_pane_is_swapped_moved_to_a_tab_and_to_one_of_its_own_by_keys() {
    let mut model = two_panes();
    typed(&mut model, b"\x1cMh\x1b");
    assert_eq!(focused(&model).as_deref(), Some("b"));
    assert_eq!(model.deck.focused().unwrap().0, model.places()[0].0, "it is the left one now");
    typed(&mut model, b"\x1cMn");
    assert_eq!((model.deck.tabs.len(), focused(&model).as_deref()), (2, Some("b")));
    typed(&mut model, b"\x1cM<");
    assert_eq!(model.deck.active, 0);
    typed(&mut model, b"2");
    assert_eq!((model.deck.tabs.len(), model.places().len()), (1, 2));
    // The mode is over: the next key is the program's.
    assert_eq!(super::to_child(&typed(&mut model, b"h")), b"h");
}

#[test]
fn a_link_is_opened_only_after_its_target_was_shown_and_confirmed() {
    let mut model = two_panes();
    let link = "https://example.com/\u{1b}x";
    assert!(update(&mut model, Message::Link(link.to_owned())).is_empty());
    assert!(typed(&mut model, b"n").is_empty() && model.overlays.is_empty());
    update(&mut model, Message::Link(link.to_owned()));
    assert_eq!(typed(&mut model, b"y"), [Command::OpenLink(link.to_owned())]);
    // What is no address of the web can only be copied.
    update(&mut model, Message::Link("file:///etc/passwd".to_owned()));
    assert_eq!(typed(&mut model, b"\r"), [Command::Copy("file:///etc/passwd".to_owned())]);
}

#[test]
fn a_message_is_written_in_the_editor_and_sent_with_all_its_lines() {
    let mut model = model(vec![process(1, "a", agent("idle", 0))]);
    open(&mut model, 1);
    let commands = typed(&mut model, b"\x1cmfirst\x18");
    let [Command::Edit(what, text)] = commands.as_slice() else { panic!("{commands:?}") };
    assert_eq!(text, "first");
    let what = what.clone();
    let empty = update(&mut model, Message::Edited(what.clone(), "\n".to_owned()));
    assert!(empty.is_empty() && matches!(model.overlays.last(), Some(Overlay::Prompt(_))));
    assert!(update(&mut model, Message::Edited(what.clone(), "first\n".to_owned())).is_empty(), "not saved");
    let sent = update(&mut model, Message::Edited(what, "first\nsecond\n".to_owned()));
    assert!(format!("{sent:?}").contains("first\\nsecond"), "{sent:?}");
    assert!(model.overlays.is_empty());
    let read = update(&mut model, Message::Edited(EditFor::Reading, "changed".to_owned()));
    assert!(read.is_empty());
}

#[test]
fn somebody_who_needs_the_person_is_told_to_the_terminal_only_while_it_has_no_focus() {
    let item = |number: u64| {
        let item = json!({"item": number, "id": ProcessId::from_entropy(1).to_string(), "name": "fix",
            "kind": "dialog", "title": format!("run {number}?"), "body": "rm", "at": 300, "options": []});
        Message::Happened(proto::event::Event::ItemOpened(Box::new(serde_json::from_value(item).unwrap())))
    };
    let is_notice =
        |command: &Command| matches!(command, Command::Notify(text) if text.contains("fix needs you"));
    let mut model = model(vec![blocked(1, "fix", 300)]);
    open(&mut model, 1);
    // It is on the screen and looked at.
    assert!(update(&mut model, item(1)).is_empty() && model.toasts.is_empty());
    typed(&mut model, b"\x1b[O");
    assert!(update(&mut model, item(2)).iter().any(is_notice));
    typed(&mut model, b"\x1b[I");
    assert!(!update(&mut model, item(3)).iter().any(is_notice));
}

#[test]
fn u22_the_mouse_at_every_place_of_every_view_is_no_fault() {
    let views: [&[u8]; 9] =
        [b"", b"\x1c ", b"\x1ca", b"\x1c?", b"\x1cw", b"\x1ct", b"\x1cC", b"\x1c\t", b"\x1c,"];
    for keys in views {
        for size in [Size { cols: 61, rows: 17 }, Size { cols: 100, rows: 30 }, Size { cols: 3, rows: 2 }] {
            for code in [0_u16, 2, 32, 64, 65] {
                let mut model = two_panes();
                update(&mut model, Message::Resized(size));
                typed(&mut model, keys);
                for row in (0..size.rows).step_by(3) {
                    for col in (0..size.cols).step_by(7) {
                        typed(&mut model, format!("\x1b[<{code};{};{}M", col + 1, row + 1).as_bytes());
                    }
                }
            }
        }
    }
}

#[test]
fn a_command_of_the_persons_own_runs_where_the_focused_process_is() {
    let mut model = two_panes();
    let text = "[[command]]\nname = 'git'\nargv = ['lazygit']\nkey = 'y'\nwhere = 'right'\n";
    model.looks = crate::config::Config::parse(text, std::path::Path::new("/nonexistent")).unwrap().looks;
    let commands = typed(&mut model, b"\x1cy");
    let [Command::Call(CallFor::Start(_), request)] = commands.as_slice() else { panic!("{commands:?}") };
    let proto::Request::Spawn(spawn) = &**request else { panic!("{request:?}") };
    assert_eq!((spawn.argv.as_slice(), spawn.cwd.as_deref()), (&["lazygit".to_owned()][..], Some("/p")));
}

fn wheel(is_down: bool, at: [u16; 2]) -> String {
    format!("\x1b[<{};{};{}M", if is_down { 65 } else { 64 }, at[0] + 1, at[1] + 1)
}

/// Two panes, of which the focused one was scrolled by a notch of the wheel.
fn scrolled() -> Model {
    let mut model = two_panes();
    let place = model.places()[1].1;
    unwanted(&mut model, MouseAct::WheelUp, [place.col + 3, place.row + 3], "a line");
    assert!(matches!(model.overlays.as_slice(), [Overlay::History(history)] if history.is_casual));
    model
}

#[test]
fn one_notch_of_the_wheel_leaves_other_panes_tabs_and_the_rail_alive() {
    let mut model = scrolled();
    let other = model.places()[0].1;
    let commands = act(&mut model, &[press([other.col + 3, other.row + 3])]);
    assert_eq!((focused(&model).as_deref(), model.overlays.len()), (Some("a"), 0));
    assert!(!commands.iter().any(|command| matches!(command, Command::Mouse(..))), "it only focuses");

    let mut model = scrolled();
    update(&mut model, Message::Happened(proto::event::Event::Changed(Box::new(process(3, "c", json!({}))))));
    open(&mut model, 3);
    model.deck.go_to_tab(0);
    act(&mut model, &[press([10, 0]), release([10, 0])]);
    assert_eq!((focused(&model).as_deref(), model.overlays.len()), (Some("c"), 0), "a tab");

    let mut model = scrolled();
    act(&mut model, &[press([4, 2])]);
    assert_eq!((focused(&model).as_deref(), model.overlays.len()), (Some("a"), 0), "a row of the rail");

    let mut model = scrolled();
    act(&mut model, &[release([4, 2]), drag([4, 2])]);
    assert_eq!(model.overlays.len(), 1, "a selection that is dragged out of its pane goes on");
}

#[test]
fn tabs_and_rail_beside_a_view_are_clicked_and_a_box_keeps_the_mouse() {
    for view in [&b"\x1ct"[..], b"\x1cw"] {
        let mut model = two_panes();
        typed(&mut model, view);
        act(&mut model, &[press([2, 0]), release([2, 0])]);
        assert_eq!((focused(&model).as_deref(), model.overlays.len()), (Some("b"), 0), "{view:?}");
        typed(&mut model, view);
        act(&mut model, &[press([4, 2])]);
        assert_eq!((focused(&model).as_deref(), model.overlays.len()), (Some("a"), 0), "{view:?}");
    }
    let mut model = two_panes();
    typed(&mut model, b"\x1cR");
    act(&mut model, &[press([4, 2])]);
    assert!(
        matches!(model.overlays.as_slice(), [Overlay::Prompt(_)]),
        "what was typed is not lost by a click"
    );
}

#[test]
fn the_wheel_over_the_rail_shows_other_rows_and_leaves_the_keyboard_where_it_is() {
    let all = (1..=60).map(|number| process(number, &format!("p{number}"), json!({})));
    let mut model = model(all.collect());
    open(&mut model, 1);
    let area = model.areas().rail.unwrap();
    act(&mut model, &[wheel(true, [4, 9]), wheel(true, [4, 9])]);
    assert_eq!(crate::view::rail::first_row(&model, area), 6);
    assert!(!model.rail.has_keys);
    act(&mut model, &vec![wheel(false, [4, 9]); 9]);
    assert_eq!(crate::view::rail::first_row(&model, area), 0);
    act(&mut model, &vec![wheel(true, [4, 9]); 99]);
    assert_eq!(
        crate::view::rail::first_row(&model, area),
        61 - usize::from(area.rows),
        "not beyond the last"
    );
}

#[test]
fn a_notice_is_hit_where_it_is_drawn_although_it_leaves_the_row_of_the_cursor_free() {
    let mut model = two_panes();
    update(&mut model, Message::Happened(proto::event::Event::Changed(Box::new(process(3, "c", json!({}))))));
    model.toast_about("look at c".to_owned(), ProcessId::from_entropy(3));
    // The first row of notices is the row of the cursor, so they begin one row below.
    model.pointer.cursor_row = Some(2);
    let column = model.size.cols - 3;
    act(&mut model, &[press([column, 2])]);
    assert_eq!(focused(&model).as_deref(), Some("b"));
    act(&mut model, &[press([column, 3])]);
    assert_eq!(focused(&model).as_deref(), Some("c"));
}

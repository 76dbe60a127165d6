//! The menu after the prefix: the keys that may come next, in groups, above the status line.

use super::{cut, framed, text};
use crate::frame::{Grid, Point, Rect};
use crate::keymap::{Action, Context};
use crate::model::Model;
use crate::theme::Role;

/// Columns of an entry where there is room.
const WIDE: u16 = 26;
/// Columns of the keys, and where entries are narrow.
const KEY: u16 = 7;
const KEY_NARROW: u16 = 4;

/// The groups of the menu. An action that the person has given no key is left out.
const GROUPS: &[(&str, &[(Action, &str)])] = &[
    (
        "GO",
        &[
            (Action::Palette, "find anything"),
            (Action::NextNeed, "next that needs you"),
            (Action::PreviousNeed, "the one before"),
            (Action::Inbox, "inbox"),
            (Action::Processes, "a process"),
            (Action::FocusLeft, "focus a pane"),
            (Action::Rail, "rail"),
            (Action::Tab(1), "tab"),
            (Action::LastTab, "tab before"),
        ],
    ),
    (
        "START",
        &[
            (Action::New, "agent, shell …"),
            (Action::NewTask, "task"),
            (Action::SplitRight, "split right"),
            (Action::SplitDown, "split down"),
        ],
    ),
    (
        "VIEW",
        &[
            (Action::Tasks, "tasks"),
            (Action::Review, "review changes"),
            (Action::Wall, "wall of screens"),
            (Action::Pads, "pads"),
            (Action::Explain, "explain the state"),
            (Action::Copy, "scroll and copy"),
            (Action::Search, "search back"),
            (Action::Settings, "settings"),
            (Action::Help, "help: every key"),
        ],
    ),
    (
        "PANE",
        &[
            (Action::Zoom, "zoom"),
            (Action::Direct, "direct view"),
            (Action::Resize, "resize"),
            (Action::Even, "even out"),
            (Action::Move, "move it"),
            (Action::Paste, "paste"),
            (Action::CloseView, "close the view"),
        ],
    ),
    (
        "PROCESS",
        &[
            (Action::Tell, "message to it"),
            (Action::Interrupt, "interrupt it"),
            (Action::Signal, "send a signal"),
            (Action::SetTimer, "wake it later"),
            (Action::Rename, "rename"),
            (Action::Restart, "start again"),
            (Action::Resume, "resume its session"),
            (Action::CloseProcess, "end it"),
        ],
    ),
    (
        "DECK",
        &[
            (Action::ToggleRail, "hide the rail"),
            (Action::DismissToasts, "dismiss notices"),
            (Action::StartDaemon, "start the daemon"),
            (Action::Leave, "leave; all goes on"),
        ],
    ),
];

/// A row of a column of the menu.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Row {
    Heading(&'static str),
    Entry(String, String),
}

pub(crate) fn draw(model: &Model, grid: &mut Grid) {
    let area = Rect { row: 1, rows: model.size.rows.saturating_sub(2), ..Rect::of(model.size) };
    let room = area.rows.saturating_sub(2);
    let (columns, width) = layout(&groups(model), area.cols.saturating_sub(2), room);
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let rows = u16::try_from(rows).unwrap_or(u16::MAX).min(room);
    let place = Rect { row: area.bottom().saturating_sub(rows + 2), rows: rows + 2, ..area };
    let title = format!("{} then", model.looks.keymap.prefix_text());
    let inside = framed(model, grid, place, &title, "Esc cancels");
    for (at, column) in (0u16..).zip(&columns) {
        let left = inside.col + at * width;
        for (row, content) in (inside.row..inside.bottom()).zip(column) {
            draw_row(model, grid, Rect { col: left, row, cols: width, rows: 1 }, content);
        }
    }
}

fn draw_row(model: &Model, grid: &mut Grid, area: Rect, row: &Row) {
    let point = |col| Point { col, row: area.row };
    match row {
        Row::Heading(word) => {
            grid.text(point(area.col + 1), word, text(model, Role::Heading), area.cols);
        }
        Row::Entry(keys, words) => {
            let is_narrow = area.cols < WIDE;
            let keys = if is_narrow { keys.replace(' ', "").replace("Space", "Spc") } else { keys.clone() };
            let end = grid.text(point(area.col + 1), &keys, text(model, Role::Active), area.cols);
            let start = end.max(area.col + 1 + if is_narrow { KEY_NARROW } else { KEY }) + 1;
            let room = area.right().saturating_sub(start + 1);
            grid.text(point(start), &cut(words, room, model.looks.is_ascii), text(model, Role::Text), room);
        }
    }
}

fn groups(model: &Model) -> Vec<Vec<Row>> {
    let keymap = &model.looks.keymap;
    let key = |action| keymap.key_of(Context::Deck, action);
    let keys = |action: Action| match action {
        Action::FocusLeft => {
            let all = [Action::FocusLeft, Action::FocusDown, Action::FocusUp, Action::FocusRight];
            let all: Vec<String> = all.into_iter().filter_map(key).collect();
            Some(all.join(" ")).filter(|all| !all.is_empty())
        }
        // The nine tabs are one row.
        Action::Tab(_) => key(action).map(|first| format!("{first}-9")),
        action => key(action),
    };
    let group = |(heading, actions): &(&'static str, &'static [(Action, &'static str)])| {
        let entries = actions
            .iter()
            .filter_map(|(action, words)| Some(Row::Entry(keys(*action)?, (*words).to_owned())));
        std::iter::once(Row::Heading(heading)).chain(entries).collect()
    };
    let own = model
        .looks
        .commands
        .iter()
        .zip(0..)
        .filter_map(|(own, number)| Some(Row::Entry(key(Action::OwnCommand(number))?, own.name.clone())));
    let own: Vec<Row> = own.collect();
    let own = (!own.is_empty()).then(|| std::iter::once(Row::Heading("YOURS")).chain(own).collect());
    GROUPS.iter().map(group).chain(own).collect()
}

/// The columns and their width: as few rows as there can be, groups whole where that is possible, and without headings
/// where there is no room for them.
fn layout(groups: &[Vec<Row>], cols: u16, room: u16) -> (Vec<Vec<Row>>, u16) {
    let most = usize::from((cols / WIDE).max(1));
    let longest = groups.iter().map(Vec::len).max().unwrap_or(0);
    for rows in longest..=usize::from(room) {
        let columns = stack(groups, rows);
        if columns.len() <= most {
            return (columns, WIDE.max(cols / u16::try_from(most).unwrap_or(1)).min(cols));
        }
    }
    let is_entry = |row: &&Row| matches!(row, Row::Entry(..));
    let entries: Vec<Row> = groups.iter().flatten().filter(is_entry).cloned().collect();
    let count = entries.len().div_ceil(usize::from(room).max(1)).max(1);
    let rows = entries.len().div_ceil(count).max(1);
    let columns: Vec<Vec<Row>> = entries.chunks(rows).map(<[Row]>::to_vec).collect();
    let width = cols / u16::try_from(columns.len()).unwrap_or(1).max(1);
    (columns, width)
}

/// Groups one below the other, in columns of at most so many rows.
fn stack(groups: &[Vec<Row>], rows: usize) -> Vec<Vec<Row>> {
    let mut columns: Vec<Vec<Row>> = Vec::new();
    for group in groups {
        match columns.last_mut().filter(|column| column.len() + group.len() <= rows) {
            Some(column) => column.extend(group.iter().cloned()),
            None => columns.push(group.clone()),
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keymap::Keymap;

    #[test]
    fn u12_the_menu_has_every_action_that_may_follow_the_prefix() {
        let offered: Vec<Action> =
            GROUPS.iter().flat_map(|(_, rows)| rows.iter().map(|(action, _)| *action)).collect();
        let is_summed_up = |action: &Action| {
            matches!(action, Action::Tab(2..) | Action::FocusDown | Action::FocusUp | Action::FocusRight)
        };
        for (keys, action) in Keymap::default().rows(Context::Deck) {
            assert!(offered.contains(&action) || is_summed_up(&action), "{keys} {action:?}");
        }
    }

    #[test]
    fn u12_no_key_of_the_menu_is_cut_off_at_the_least_size() {
        let rows = |count: usize| {
            (0..count).map(|_| Row::Entry("x".to_owned(), "words".to_owned())).collect::<Vec<_>>()
        };
        let groups: Vec<Vec<Row>> = [9, 4, 8, 7, 5, 4].map(rows).to_vec();
        let (columns, width) = layout(&groups, 58, 12);
        assert_eq!(columns.iter().map(Vec::len).sum::<usize>(), 37);
        assert!(
            columns.iter().all(|column| column.len() <= 12) && usize::from(width) * columns.len() <= 58,
            "{width}"
        );
    }
}

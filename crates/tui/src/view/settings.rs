//! The settings that can be changed here, and the key recorder.

use super::{framed, text, wrap};
use crate::frame::{Grid, Point, Rect, ShownCursor};
use crate::model::Model;
use crate::model::settings::{Recorder, Setting, SettingsView, use_of};
use crate::theme::Role;

const COLUMNS: u16 = 64;

pub(crate) fn draw(model: &Model, view: &SettingsView, grid: &mut Grid) {
    let notes = [
        model.host.words(),
        "Kept in tui.toml in the configuration directory; that file has more, and a change of it is taken over at once."
            .to_owned(),
    ];
    let columns = COLUMNS.min(model.areas().body.cols).saturating_sub(5);
    let notes: Vec<String> = notes.iter().flat_map(|note| wrap(note, columns)).collect();
    let count = Setting::ALL.len() + notes.len();
    let area = model.areas().body.middle(COLUMNS, u16::try_from(count).unwrap_or(u16::MAX) + 5);
    let inside = framed(model, grid, area, "Settings", "j k choose  h l change  Esc back");
    let mut row = inside.row + 1;
    for (at, setting) in Setting::ALL.into_iter().enumerate().take(usize::from(inside.rows)) {
        let line = Rect { row, rows: 1, ..inside };
        let is_key = setting == Setting::Prefix;
        let value = setting.value(model);
        let value = if is_key { format!("{value}  (Enter: press another)") } else { format!("< {value} >") };
        grid.text(Point { col: inside.col + 2, row }, setting.label(), text(model, Role::Text), 12);
        grid.text(
            Point { col: inside.col + 15, row },
            &value,
            text(model, Role::Active),
            inside.cols.saturating_sub(16),
        );
        if at == view.selected {
            let select = text(model, Role::Select);
            grid.restyle(line, |style| *style = select);
            grid.cursor = Some(ShownCursor { at: Point { col: inside.col + 2, row }, form: None });
        }
        row += 1;
    }
    for (row, note) in (row + 1..inside.bottom()).zip(&notes) {
        grid.text(
            Point { col: inside.col + 2, row },
            note,
            text(model, Role::Dim),
            inside.cols.saturating_sub(3),
        );
    }
}

pub(crate) fn recorder(model: &Model, recorder: &Recorder, grid: &mut Grid) {
    let area = model.areas().body.middle(COLUMNS, 8);
    let hints = if recorder.key.is_some() {
        "Enter keep it  any key: that one instead  Esc back"
    } else {
        "Esc back"
    };
    let inside = framed(model, grid, area, "Menu key", hints);
    let lines: Vec<(String, Role)> = match (&recorder.key, &recorder.refusal) {
        (Some(key), _) => {
            let note = use_of(key).map_or_else(
                || "No shell and no agent that is known here uses it.".to_owned(),
                |used| format!("It would no longer reach your programs: {used}."),
            );
            let role = if use_of(key).is_some() { Role::Warn } else { Role::Good };
            vec![(format!("{key}"), Role::Focus), (String::new(), Role::Text), (note, role)]
        }
        (None, Some(refusal)) => vec![(format!("{refusal}; press another."), Role::Warn)],
        (None, None) => vec![(
            "Press the key that shall open the menu: with Control or Alt, or a function key.".to_owned(),
            Role::Text,
        )],
    };
    let lines = lines.iter().flat_map(|(words, role)| {
        wrap(words, inside.cols.saturating_sub(4)).into_iter().map(|line| (line, *role))
    });
    for (row, (words, role)) in (inside.row + 1..inside.bottom()).zip(lines) {
        grid.text(
            Point { col: inside.col + 2, row },
            &words,
            text(model, role),
            inside.cols.saturating_sub(3),
        );
    }
}

//! The inbox: everybody's questions at the left, the selected one with its answers at the right.

use proto::agent::{InboxItem, ItemKind};

use super::{cut, framed, text, text_to, wrap};
use crate::frame::{Grid, Point, Rect};
use crate::model::overlay::InboxView;
use crate::model::{Model, age};
use crate::theme::Role;

/// Columns of the list.
const LIST: u16 = 30;

pub(crate) fn draw(model: &Model, inbox: &InboxView, grid: &mut Grid) {
    let title = format!("Inbox ({})", model.crew.inbox.len());
    let hints = "1-9 answer  Enter answer in words  v see its screen  e explain  Esc back";
    let area = model.areas().deck;
    let inside = framed(model, grid, area.middle(110, area.rows), &title, hints);
    let Some(selected) = inbox.item(&model.crew) else {
        let words = "Nobody asks anything. Questions, permissions and failures of all agents come here.";
        for (row, line) in (inside.row + 1..inside.bottom()).zip(wrap(words, inside.cols.saturating_sub(4))) {
            grid.text(Point { col: inside.col + 2, row }, &line, text(model, Role::Dim), inside.cols);
        }
        return;
    };
    list(model, grid, Rect { cols: LIST.min(inside.cols), ..inside }, selected);
    let right = inside.cols.saturating_sub(LIST + 1);
    for row in inside.row..inside.bottom() {
        super::put(grid, inside.col + LIST, row, super::lines(model)[5], text(model, Role::Border));
    }
    item(model, grid, Rect { col: inside.col + LIST + 2, cols: right.saturating_sub(2), ..inside }, selected);
}

fn list(model: &Model, grid: &mut Grid, area: Rect, selected: &InboxItem) {
    let at = model.crew.inbox.iter().position(|item| item == selected).unwrap_or(0);
    let first = at.saturating_sub(usize::from(area.rows / 2).saturating_sub(1));
    let rows = (area.row..area.bottom().saturating_sub(1)).step_by(2);
    for (row, item) in rows.zip(model.crew.inbox.iter().skip(first)) {
        let since = age(model.now.epoch_ms.saturating_sub(item.at));
        let name = format!("{} {}", glyph(item.kind), item.name);
        grid.text(
            Point { col: area.col + 1, row },
            &name,
            text(model, Role::Text),
            area.cols.saturating_sub(6),
        );
        text_to(grid, area.right().saturating_sub(1), row, &since, text(model, Role::Dim));
        let title = cut(
            &proto::Printable(&item.title).to_string(),
            area.cols.saturating_sub(4),
            model.looks.is_ascii,
        );
        grid.text(
            Point { col: area.col + 3, row: row + 1 },
            &title,
            text(model, Role::Dim),
            area.cols.saturating_sub(4),
        );
        if item == selected {
            let select = text(model, Role::Select);
            grid.restyle(Rect { row, rows: 2, ..area }, |style| *style = select);
        }
    }
}

fn item(model: &Model, grid: &mut Grid, area: Rect, item: &InboxItem) {
    let mut lines: Vec<(String, Role)> = Vec::new();
    let safe = |words: &str| -> String {
        words.lines().map(|line| proto::Printable(line).to_string()).collect::<Vec<_>>().join("\n")
    };
    lines.extend(
        wrap(&format!("{}: {}", item.name, safe(&item.title)), area.cols)
            .into_iter()
            .map(|line| (line, Role::Heading)),
    );
    lines.push((String::new(), Role::Text));
    lines.extend(wrap(&safe(&item.body), area.cols).into_iter().map(|line| (line, Role::Text)));
    lines.push((String::new(), Role::Text));
    for (at, option) in item.options.iter().enumerate() {
        lines.push((format!("  {}  {}", at + 1, proto::Printable(&option.label)), Role::Active));
    }
    if item.options.is_empty() {
        lines.push(("  Enter  answer in your own words".to_owned(), Role::Active));
    }
    if let Some(expiry) = &item.expires {
        let left = age(expiry.at.saturating_sub(model.now.epoch_ms));
        lines.push((String::new(), Role::Text));
        lines.push((format!("answered with {} in {left}", proto::Printable(&expiry.answer)), Role::Warn));
    }
    for (row, (line, role)) in (area.row..area.bottom()).zip(&lines) {
        grid.text(Point { col: area.col, row }, line, text(model, *role), area.cols);
    }
}

fn glyph(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Dialog | ItemKind::Permission => "!",
        ItemKind::Question => "?",
        ItemKind::Failure => "x",
        ItemKind::Trust => "#",
        ItemKind::Attention => "*",
    }
}

//! The review: the files at the left where there is room, the changes with the comments at the right.

use proto::task::{ReviewComment, ReviewStatus};
use term::Underline;

use super::{cut, put, text};
use crate::frame::width::columns;
use crate::frame::{Grid, Point, Rect, ShownCursor};
use crate::model::Model;
use crate::model::overlay::Overlay;
use crate::model::review::{DiffLine, LineKind, Review, ReviewRow};
use crate::theme::Role;

/// Columns of the list of files, and from where on there is one.
const FILES: u16 = 24;
const WIDE: u16 = 80;
/// Columns of a line's sign and number.
const NUMBERS: u16 = 9;

pub(crate) fn draw(model: &Model, review: &Review, grid: &mut Grid) {
    let area = model.areas().deck;
    let drafts = review.drafts();
    let cut_off = if review.is_truncated { "  (only the beginning is shown)" } else { "" };
    let title = format!(
        "REVIEW {}  {}  {}, {drafts} unsent{cut_off}",
        proto::Printable(&review.task),
        counted(review.files.len(), "file"),
        counted(review.comments.len(), "comment"),
    );
    grid.text(Point { col: area.col + 1, row: area.row }, &title, text(model, Role::Heading), area.cols);
    for col in area.col..area.right() {
        put(grid, col, area.row + 1, super::lines(model)[4], text(model, Role::Border));
    }
    let body = area.rows_from(2, u16::MAX);
    let rows = review.rows();
    if rows.is_empty() {
        let words = "No change since the task began.";
        grid.text(Point { col: body.col + 1, row: body.row + 1 }, words, text(model, Role::Dim), body.cols);
        return;
    }
    if area.cols >= WIDE {
        files(model, review, grid, Rect { cols: FILES, ..body });
    }
    let (body, first) = layout(model, review);
    for (screen_row, (at, row)) in (body.row..body.bottom()).zip(rows.iter().enumerate().skip(first)) {
        let line = Rect { row: screen_row, rows: 1, ..body };
        match row {
            ReviewRow::Line(number) => diff_line(model, grid, line, &review.lines[*number], review.left),
            ReviewRow::Comment(number) => comment(model, grid, line, &review.comments[*number]),
        }
        if review.is_selected(at) {
            let select = text(model, Role::Select);
            grid.restyle(line, |style| *style = select);
        }
        if at == review.row {
            grid.cursor = Some(ShownCursor { at: Point { col: body.col, row: screen_row }, form: None });
        }
    }
}

/// A number of things in words.
fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Where the changes are, and the first row of them that is shown.
fn layout(model: &Model, review: &Review) -> (Rect, usize) {
    let area = model.areas().deck;
    let left = if area.cols >= WIDE { FILES + 1 } else { 0 };
    let body = area.rows_from(2, u16::MAX);
    let body = Rect { col: body.col + left, cols: body.cols - left, ..body };
    let height = usize::from(body.rows);
    (body, review.row.saturating_sub(height / 2).min(review.rows().len().saturating_sub(height)))
}

/// The row at a place.
pub(crate) fn hit(model: &Model, at: Point) -> Option<usize> {
    let Some(Overlay::Review(review)) = model.overlays.last() else { return None };
    let (body, first) = layout(model, review);
    let row = first + usize::from(at.row.checked_sub(body.row)?);
    (body.contains(at) && row < review.rows().len()).then_some(row)
}

fn files(model: &Model, review: &Review, grid: &mut Grid, area: Rect) {
    let rows = review.rows();
    let here = (0..=review.row).rev().find_map(|at| match rows.get(at) {
        Some(ReviewRow::Line(line)) => Some(review.lines[*line].file),
        _ => None,
    });
    for (row, (at, file)) in (area.row..area.bottom()).zip(review.files.iter().enumerate()) {
        let count = |kind| review.lines.iter().filter(|line| line.file == at && line.kind == kind).count();
        let note = format!("+{}-{}", count(LineKind::Added), count(LineKind::Removed));
        let start = super::text_to(grid, area.right().saturating_sub(1), row, &note, text(model, Role::Dim));
        let name = file.rsplit('/').next().unwrap_or(file);
        let room = start.saturating_sub(area.col + 2);
        let role = if Some(at) == here { Role::Focus } else { Role::Text };
        let name = cut(&proto::Printable(name).to_string(), room, model.looks.is_ascii);
        grid.text(Point { col: area.col + 1, row }, &name, text(model, role), room);
    }
    for row in area.row..area.bottom() {
        put(grid, area.right(), row, super::lines(model)[5], text(model, Role::Border));
    }
}

fn diff_line(model: &Model, grid: &mut Grid, area: Rect, line: &DiffLine, left: usize) {
    let (sign, role) = match line.kind {
        LineKind::File => (' ', Role::Heading),
        LineKind::Hunk => (' ', Role::Active),
        LineKind::Context => (' ', Role::Text),
        LineKind::Added => ('+', Role::Good),
        LineKind::Removed => ('-', Role::Alert),
        LineKind::Note => (' ', Role::Dim),
    };
    let number = line.new.or(line.old).map_or_else(String::new, |number| number.to_string());
    let words = match line.kind {
        LineKind::File | LineKind::Hunk | LineKind::Note => line.text.clone(),
        _ => {
            let code: String = line.text.replace('\t', "    ").chars().skip(left).collect();
            format!("{sign} {number:>5}  {code}")
        }
    };
    let words = cut(&proto::Printable(&words).to_string(), area.cols, model.looks.is_ascii);
    grid.text(Point { col: area.col, row: area.row }, &words, text(model, role), area.cols);
    if let Some(part) = changed_part(line, left, area) {
        grid.restyle(part, |style| style.underline = Underline::Single);
    }
}

/// Where the changed words of a line are drawn.
fn changed_part(line: &DiffLine, left: usize, area: Rect) -> Option<Rect> {
    let (from, to) = line.changed?;
    let columns = |end: usize| {
        let text = line.text.get(..end)?.replace('\t', "    ");
        let shown: String = text.chars().skip(left).collect();
        Some(columns(&proto::Printable(&shown).to_string()).saturating_add(NUMBERS).min(area.cols))
    };
    let (first, last) = (columns(from)?, columns(to)?);
    Some(Rect { col: area.col + first, cols: last.saturating_sub(first), rows: 1, ..area })
}

fn comment(model: &Model, grid: &mut Grid, area: Rect, comment: &ReviewComment) {
    let status = match comment.status {
        ReviewStatus::Draft => "draft",
        ReviewStatus::Sent => "sent",
        ReviewStatus::Resolved => "resolved",
    };
    let stale = if comment.is_stale { ", its lines have changed since" } else { "" };
    let place = if comment.first == comment.last {
        format!("{}", comment.first)
    } else {
        format!("{}-{}", comment.first, comment.last)
    };
    let words = format!("    > {place} ({status}{stale}) {}", comment.text.replace('\n', " "));
    let role = if comment.is_stale { Role::Alert } else { Role::Warn };
    let words = cut(&proto::Printable(&words).to_string(), area.cols, model.looks.is_ascii);
    grid.text(Point { col: area.col, row: area.row }, &words, text(model, role), area.cols);
}

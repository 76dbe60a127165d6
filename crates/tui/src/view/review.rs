//! The review: the files at the left where there is room, the changes with the comments at the right.

use proto::task::{ReviewComment, ReviewStatus};

use super::{cut, put, text};
use crate::frame::{Grid, Point, Rect, ShownCursor};
use crate::model::Model;
use crate::model::review::{DiffLine, LineKind, Review, ReviewRow};
use crate::theme::Role;

/// Columns of the list of files, and from where on there is one.
const FILES: u16 = 24;
const WIDE: u16 = 80;

pub(crate) fn draw(model: &Model, review: &Review, grid: &mut Grid) {
    let area = model.areas().deck;
    let drafts = review.drafts();
    let cut_off = if review.is_truncated { "  (only the beginning is shown)" } else { "" };
    let title = format!(
        "REVIEW {}  {} files  {} comments, {drafts} unsent{cut_off}",
        proto::Printable(&review.task),
        review.files.len(),
        review.comments.len(),
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
    let left = if area.cols >= WIDE { FILES + 1 } else { 0 };
    let body = if left > 0 {
        files(model, review, grid, Rect { cols: FILES, ..body });
        Rect { col: body.col + left, cols: body.cols - left, ..body }
    } else {
        body
    };
    let height = usize::from(body.rows);
    let first = review.row.saturating_sub(height / 2).min(rows.len().saturating_sub(height));
    for (screen_row, (at, row)) in (body.row..body.bottom()).zip(rows.iter().enumerate().skip(first)) {
        let line = Rect { row: screen_row, rows: 1, ..body };
        match row {
            ReviewRow::Line(number) => diff_line(model, grid, line, &review.lines[*number]),
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

fn diff_line(model: &Model, grid: &mut Grid, area: Rect, line: &DiffLine) {
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
        _ => format!("{sign} {number:>5}  {}", line.text.replace('\t', "    ")),
    };
    let words = cut(&proto::Printable(&words).to_string(), area.cols, model.looks.is_ascii);
    grid.text(Point { col: area.col, row: area.row }, &words, text(model, role), area.cols);
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

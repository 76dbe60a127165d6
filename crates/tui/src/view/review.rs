//! The review: the files at the left where there is room, the changes with the comments at the right, and below them who
//! gets the comments.

use proto::task::{ReviewComment, ReviewStatus};
use term::Underline;

use super::{cut, cut_start, lines, put, text, wrap};
use crate::frame::width::columns;
use crate::frame::{Grid, Point, Rect, ShownCursor};
use crate::model::Model;
use crate::model::diff::{ChangedFile, DiffLine, LineKind};
use crate::model::overlay::Overlay;
use crate::model::review::{Review, ReviewRow};
use crate::theme::Role;

/// From so many columns on there is a list of files.
const WIDE: u16 = 80;
/// Columns of that list.
const FILES: u16 = 26;
/// Columns of that list where there are many.
const FILES_WIDE: u16 = 40;
/// Columns of a line's sign and number.
const NUMBERS: u16 = 9;
/// Columns between the edge and a comment, and columns of the comment that are no text.
const INDENT: u16 = 4;
const COMMENT_FRAME: u16 = 4;

pub(crate) fn draw(model: &Model, review: &Review, grid: &mut Grid) {
    let area = model.areas().deck;
    head(model, review, grid, area);
    if review.rows().is_empty() {
        let words = "No change since the task began.";
        let at = Point { col: area.col + 1, row: area.row + 3 };
        grid.text(at, words, text(model, Role::Dim), area.cols);
        return;
    }
    let body = Body::of(model, review);
    files(model, review, grid, body.files);
    let mut row = body.changes.row;
    for (at, content) in review.rows().iter().enumerate().skip(body.first) {
        let rows = body.heights[at].min(body.changes.bottom().saturating_sub(row));
        if rows == 0 {
            break;
        }
        let place = Rect { row, rows, ..body.changes };
        draw_row(model, review, grid, place, &ShownRow { at, content });
        row += rows;
    }
    receiver(model, review, grid, area);
}

/// The title: what is compared with what, how much of it there is, and what is said about it.
fn head(model: &Model, review: &Review, grid: &mut Grid, area: Rect) {
    let (added, removed) = review.totals();
    let cut_off = if review.is_truncated { "  (only the beginning is shown)" } else { "" };
    let base = if review.base.is_empty() { String::new() } else { format!(" vs {}", review.base) };
    let title = format!(
        "REVIEW {}{}  {} +{added}-{removed}  {}, {} unsent{cut_off}",
        proto::Printable(&review.task),
        proto::Printable(&base),
        counted(review.files.len(), "file"),
        counted(review.comments.len(), "comment"),
        review.drafts(),
    );
    let title = cut(&title, area.cols.saturating_sub(2), model.looks.is_ascii);
    grid.text(Point { col: area.col + 1, row: area.row }, &title, text(model, Role::Heading), area.cols);
    for col in area.col..area.right() {
        put(grid, col, area.row + 1, lines(model)[4], text(model, Role::Border));
    }
}

/// Says who gets the comments, in the last row.
fn receiver(model: &Model, review: &Review, grid: &mut Grid, area: Rect) {
    let words = match model.review_agent(review) {
        Some(agent) => format!("sends to: {agent}, as one message with the lines quoted"),
        None => "sends to: nobody yet; run the task's agent first".to_owned(),
    };
    let at = Point { col: area.col + 1, row: area.bottom().saturating_sub(1) };
    let words = cut(&words, area.cols.saturating_sub(2), model.looks.is_ascii);
    grid.text(at, &words, text(model, Role::Dim), area.cols);
}

/// A number of things in words.
fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Where the parts are, and which rows are shown.
struct Body {
    /// The list of files; without columns where there is no room.
    files: Rect,
    changes: Rect,
    /// How many rows of the screen each row of the review takes.
    heights: Vec<u16>,
    /// The first row of the review that is shown.
    first: usize,
}

impl Body {
    fn of(model: &Model, review: &Review) -> Self {
        let area = model.areas().deck;
        let inner = area.rows_from(2, area.rows.saturating_sub(3));
        let width = match area.cols {
            ..WIDE => 0,
            cols if cols >= 2 * WIDE => FILES_WIDE,
            _ => FILES,
        };
        let left = if width > 0 { width + 1 } else { 0 };
        let changes = Rect { col: inner.col + left, cols: inner.cols - left, ..inner };
        let height = |row: &ReviewRow| match row {
            ReviewRow::Line(_) => 1,
            ReviewRow::Comment(at) => comment_rows(&review.comments[*at], changes.cols),
        };
        let heights: Vec<u16> = review.rows().iter().map(height).collect();
        let first = first_shown(&heights, review.row, changes.rows);
        Self { files: Rect { cols: width, ..inner }, changes, heights, first }
    }
}

/// The first row that is shown: the selected one is whole and about in the middle, and no row is wasted at the end.
fn first_shown(heights: &[u16], selected: usize, rows: u16) -> usize {
    let own = heights.get(selected).copied().unwrap_or(1);
    let fits = |room: u16, before: &[u16]| {
        let mut left = room;
        let fit = before.iter().rev().take_while(|height| {
            let is_room = **height <= left;
            left = left.saturating_sub(**height);
            is_room
        });
        fit.count()
    };
    let above = rows.saturating_sub(own).min(rows / 2);
    let middle = selected - fits(above, heights.get(..selected).unwrap_or_default()).min(selected);
    middle.min(heights.len() - fits(rows, heights))
}

/// The row at a place.
pub(crate) fn hit(model: &Model, at: Point) -> Option<usize> {
    let Some(Overlay::Review(review)) = model.overlays.last() else { return None };
    let body = Body::of(model, review);
    let mut left = at.row.checked_sub(body.changes.row).filter(|_| body.changes.contains(at))?;
    body.heights.iter().enumerate().skip(body.first).find_map(|(row, height)| {
        let is_it = left < *height;
        left = left.saturating_sub(*height);
        is_it.then_some(row)
    })
}

fn files(model: &Model, review: &Review, grid: &mut Grid, area: Rect) {
    if area.cols == 0 {
        return;
    }
    let here = review.file_here();
    let first = (here.unwrap_or(0) + 1).saturating_sub(usize::from(area.rows));
    for (row, (at, file)) in (area.row..area.bottom()).zip(review.files.iter().enumerate().skip(first)) {
        let note = format!("+{}-{}", file.added, file.removed);
        let start = super::text_to(grid, area.right().saturating_sub(1), row, &note, text(model, Role::Dim));
        let role = if Some(at) == here { Role::Focus } else { Role::Text };
        let sign = if Some(at) == here { '>' } else { ' ' };
        let head = format!("{sign}{} {}", file.letter, seen_mark(model, review, file));
        let col = grid.text(Point { col: area.col, row }, &head, text(model, role), area.cols);
        let room = start.saturating_sub(col + 1);
        let path = cut_start(&proto::Printable(&file.path).to_string(), room, model.looks.is_ascii);
        grid.text(Point { col, row }, &path, text(model, role), room);
    }
    for row in area.row..area.bottom() {
        put(grid, area.right(), row, lines(model)[5], text(model, Role::Border));
    }
}

/// The mark of a file that was seen.
fn seen_mark(model: &Model, review: &Review, file: &ChangedFile) -> &'static str {
    if model.is_seen_file(review, file) { "[x] " } else { "" }
}

/// A row of the review, with its number.
struct ShownRow<'r> {
    at: usize,
    content: &'r ReviewRow,
}

fn draw_row(model: &Model, review: &Review, grid: &mut Grid, area: Rect, row: &ShownRow<'_>) {
    let select = text(model, Role::Select);
    let is_selected = review.is_selected(row.at);
    match row.content {
        ReviewRow::Line(number) => {
            let line = &review.lines[*number];
            match (line.kind, review.files.get(line.file)) {
                (LineKind::File, Some(file)) => file_line(model, review, grid, area, file),
                _ => diff_line(model, grid, area, line, review.left),
            }
            // What was added or removed keeps its colours while it is selected: its number alone is marked.
            let is_change = matches!(line.kind, LineKind::Added | LineKind::Removed | LineKind::Context);
            let cols = if is_change { NUMBERS.min(area.cols) } else { area.cols };
            if is_selected {
                grid.restyle(Rect { cols, ..area }, |style| *style = select);
            }
        }
        ReviewRow::Comment(number) => comment(model, grid, area, &review.comments[*number], is_selected),
    }
    if row.at == review.row {
        grid.cursor = Some(ShownCursor { at: Point { col: area.col, row: area.row }, form: None });
    }
}

fn file_line(model: &Model, review: &Review, grid: &mut Grid, area: Rect, file: &ChangedFile) {
    let note = format!("  +{}-{}", file.added, file.removed);
    let head = format!("{} {}", file.letter, seen_mark(model, review, file));
    let room = area.cols.saturating_sub(columns(&note) + columns(&head) + 1);
    let path = cut_start(&proto::Printable(&file.path).to_string(), room, model.looks.is_ascii);
    let at = Point { col: area.col + 1, row: area.row };
    grid.text(at, &format!("{head}{path}{note}"), text(model, Role::Heading), area.cols.saturating_sub(1));
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

/// The words of a comment, whole, in lines that fit into its frame.
fn comment_lines(comment: &ReviewComment, cols: u16) -> Vec<String> {
    let safe = comment.text.lines().map(|line| proto::Printable(line).to_string());
    let words = safe.collect::<Vec<_>>().join("\n");
    wrap(&words, cols.saturating_sub(INDENT + COMMENT_FRAME).max(8))
}

/// Rows of a comment with its frame.
fn comment_rows(comment: &ReviewComment, cols: u16) -> u16 {
    u16::try_from(comment_lines(comment, cols).len()).unwrap_or(u16::MAX).saturating_add(2)
}

fn comment(model: &Model, grid: &mut Grid, area: Rect, comment: &ReviewComment, is_selected: bool) {
    let status = match comment.status {
        ReviewStatus::Draft => "draft",
        ReviewStatus::Sent => "sent",
        ReviewStatus::Resolved => "settled",
    };
    let stale = if comment.is_stale { ", its lines have changed since" } else { "" };
    let place = match comment.first == comment.last {
        true => comment.first.to_string(),
        false => format!("{}-{}", comment.first, comment.last),
    };
    let title = format!("comment on {place} ({status}{stale})");
    let indent = INDENT.min(area.cols);
    let frame = Rect { col: area.col + indent, cols: area.cols - indent, ..area };
    let inside = super::framed(model, grid, frame, &title, "");
    let role = if comment.is_stale { Role::Alert } else { Role::Warn };
    for (row, line) in (inside.row..inside.bottom()).zip(comment_lines(comment, area.cols)) {
        grid.text(Point { col: inside.col + 1, row }, &line, text(model, role), inside.cols);
    }
    if is_selected {
        let select = text(model, Role::Select);
        grid.restyle(Rect { rows: 1, ..frame }, |style| *style = select);
    }
}

//! The inbox: everybody's questions at the left, the selected one with its answers at the right.

use proto::AgentState;
use proto::agent::{InboxItem, ItemKind, Opinion};

use super::{cut, framed, text, text_to, wrap};
use crate::frame::width::columns;
use crate::frame::{Grid, Point, Rect};
use crate::model::overlay::{InboxView, Overlay};
use crate::model::{Model, age};
use crate::theme::Role;

/// Columns of the list where there is room for both beside each other.
const LIST: u16 = 30;
/// With fewer columns the list lies above the question.
const BESIDE: u16 = 64;
/// Rows of the list when it lies above.
const LIST_ROWS: u16 = 4;

/// Fewer rows show no screen.
const PEEK_ROWS: u16 = 5;

/// The parts of the inbox.
struct Parts {
    list: Rect,
    item: Rect,
}

fn place(model: &Model) -> Rect {
    let areas = model.areas();
    let place = areas.deck.middle(110, areas.deck.rows);
    // Beside the rail its line becomes the frame's: two lines would stand next to each other.
    let beside_rail = u16::from(areas.rail.is_some() && place.col == areas.deck.col);
    Rect { col: place.col - beside_rail, cols: place.cols + beside_rail, ..place }
}

fn parts(model: &Model) -> Parts {
    let inside = place(model).inside();
    if inside.cols >= BESIDE {
        let right = inside.cols.saturating_sub(LIST + 1);
        let item = Rect { col: inside.col + LIST + 2, cols: right.saturating_sub(2), ..inside };
        return Parts { list: Rect { cols: LIST, ..inside }, item };
    }
    let count = u16::try_from(model.crew.open_items().count()).unwrap_or(u16::MAX);
    let rows = LIST_ROWS.min(count.saturating_mul(2)).min(inside.rows / 2);
    let item = inside.rows_from(rows + 1, u16::MAX);
    let item = Rect { col: item.col + 1, cols: item.cols.saturating_sub(2), ..item };
    Parts { list: inside.rows_from(0, rows), item }
}

pub(crate) fn draw(model: &Model, inbox: &InboxView, grid: &mut Grid) {
    let later = match model.crew.snoozed.len() {
        0 => String::new(),
        count => format!(", {count} later"),
    };
    let title = format!("Inbox ({}{later})", model.crew.open_items().count());
    let inside = framed(model, grid, place(model), &title, "");
    let Some(selected) = inbox.item(&model.crew) else {
        let words = "Nobody asks anything. Questions, permissions and failures of all agents come here.";
        for (row, line) in (inside.row + 1..inside.bottom()).zip(wrap(words, inside.cols.saturating_sub(4))) {
            grid.text(Point { col: inside.col + 2, row }, &line, text(model, Role::Dim), inside.cols);
        }
        return;
    };
    let parts = parts(model);
    let border = text(model, Role::Border);
    if parts.list.cols < inside.cols {
        let col = parts.list.right();
        (inside.row..inside.bottom())
            .for_each(|row| super::put(grid, col, row, super::lines(model)[5], border));
    } else {
        let row = parts.list.bottom();
        (inside.col..inside.right())
            .for_each(|col| super::put(grid, col, row, super::lines(model)[4], border));
    }
    list(model, grid, parts.list, selected);
    item(model, grid, parts.item, inbox, selected);
}

/// The number of the item at a place of the list.
pub(crate) fn hit(model: &Model, at: Point) -> Option<u64> {
    let Some(Overlay::Inbox(inbox)) = model.overlays.last() else { return None };
    let area = parts(model).list;
    let first = first_item(model, inbox.item(&model.crew)?, area);
    let row = usize::from(at.row.checked_sub(area.row)?) / 2;
    model.crew.open_items().nth(first + row).filter(|_| area.contains(at)).map(|item| item.item)
}

/// The first item in sight: the selected one always is.
fn first_item(model: &Model, selected: &InboxItem, area: Rect) -> usize {
    let at = model.crew.open_items().position(|item| item == selected).unwrap_or(0);
    (at + 1).saturating_sub(usize::from(area.rows / 2).max(1))
}

fn list(model: &Model, grid: &mut Grid, area: Rect, selected: &InboxItem) {
    let first = first_item(model, selected, area);
    let rows = (area.row..area.bottom().saturating_sub(1)).step_by(2);
    for (row, item) in rows.zip(model.crew.open_items().skip(first)) {
        let since = age(model.now.epoch_ms.saturating_sub(item.at));
        let start = text_to(grid, area.right().saturating_sub(1), row, &since, text(model, Role::Dim));
        let kind = item.kind.word();
        let name = format!("{} {}", glyph(item.kind), item.name);
        let room = start.saturating_sub(area.col + 4 + columns(kind));
        let name = cut(&name, room, model.looks.is_ascii);
        let end = grid.text(Point { col: area.col + 1, row }, &name, text(model, Role::Text), room) + 2;
        grid.text(Point { col: end, row }, kind, text(model, Role::Dim), start.saturating_sub(end));
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

/// The lines of the selected item, in the order they are shown.
struct ItemLines {
    /// The question; may be longer than the window.
    question: Vec<(String, Role)>,
    /// The answers, and what it is answered with by itself. Always in sight.
    answers: Vec<(String, Role)>,
}

impl ItemLines {
    fn of(model: &Model, area: Rect, item: &InboxItem) -> Self {
        let columns = area.cols;
        let safe = |words: &str| -> String {
            words.lines().map(|line| proto::Printable(line).to_string()).collect::<Vec<_>>().join("\n")
        };
        let title = wrap(&format!("{}: {}", item.name, safe(&item.title)), columns);
        let mut question: Vec<(String, Role)> = title.into_iter().map(|line| (line, Role::Heading)).collect();
        let about = about(model, item).into_iter().flat_map(|line| wrap(&safe(&line), columns));
        question.extend(about.map(|line| (line, Role::Dim)));
        question.push((String::new(), Role::Text));
        question.extend(wrap(&safe(&item.body), columns).into_iter().map(|line| (line, Role::Text)));
        let mut answers = vec![(String::new(), Role::Text)];
        for (at, option) in item.options.iter().enumerate() {
            let label = proto::Printable(&option.label).to_string();
            for (nth, line) in wrap(&label, columns.saturating_sub(5)).into_iter().enumerate() {
                let number = if nth == 0 { (at + 1).to_string() } else { " ".to_owned() };
                answers.push((format!("  {number}  {line}"), Role::Active));
            }
        }
        if item.options.is_empty() {
            answers.push(("  Enter  answer in your own words".to_owned(), Role::Active));
        }
        if let Some(expiry) = &item.expires {
            let left = age(expiry.at.saturating_sub(model.now.epoch_ms));
            answers.push((String::new(), Role::Text));
            answers
                .push((format!("answered with {} in {left}", proto::Printable(&expiry.answer)), Role::Warn));
        }
        let sentence = wrap("The answer is sent only if this dialog is still shown.", columns);
        // It takes no room from a question that needs it.
        let has_room = question.len() + answers.len() + sentence.len() < usize::from(area.rows);
        if is_dialog(item.kind) && has_room {
            answers.push((String::new(), Role::Text));
            answers.extend(sentence.into_iter().map(|line| (line, Role::Dim)));
        }
        Self { question, answers }
    }

    fn count(&self) -> usize {
        self.question.len() + self.answers.len()
    }

    /// How many lines of the question are in sight; one row says how many are not.
    fn room(&self, rows: u16) -> usize {
        match usize::from(rows) {
            rows if self.count() <= rows => self.question.len(),
            rows => rows.saturating_sub(self.answers.len() + 1).max(1),
        }
    }

    /// The lines in sight, with a line that says how much of the question is not.
    fn in_sight(self, rows: u16, top: usize) -> Vec<(String, Role)> {
        let room = self.room(rows);
        let hidden = self.question.len() - room.min(self.question.len());
        let (above, below) = (top.min(hidden), hidden - top.min(hidden));
        let mut lines: Vec<_> = self.question.into_iter().skip(above).take(room).collect();
        if hidden > 0 {
            let more = format!("{above} more lines above, {below} below: PgUp, PgDn");
            lines.push((more, Role::Warn));
        }
        lines.extend(self.answers);
        lines
    }
}

fn item(model: &Model, grid: &mut Grid, area: Rect, inbox: &InboxView, item: &InboxItem) {
    let lines = ItemLines::of(model, area, item).in_sight(area.rows, inbox.top);
    for (row, (line, role)) in (area.row..area.bottom()).zip(&lines) {
        grid.text(Point { col: area.col, row }, line, text(model, *role), area.cols);
    }
    if let Some(screen) = peek_place(model) {
        let place = Point { col: area.col, row: screen.row - 1 };
        grid.text(place, "its screen now", text(model, Role::Dim), area.cols);
    }
}

/// How many lines of the selected question are in sight, and how many are above them when its end is shown.
pub(crate) fn question_rows(model: &Model) -> [usize; 2] {
    let Some(Overlay::Inbox(inbox)) = model.overlays.last() else { return [0, 0] };
    let Some(selected) = inbox.item(&model.crew) else { return [0, 0] };
    let area = parts(model).item;
    let lines = ItemLines::of(model, area, selected);
    let room = lines.room(area.rows);
    [room, lines.question.len().saturating_sub(room)]
}

/// Where the screen of the selected item's process is shown, below its answers; none where there is no room.
pub(crate) fn peek_place(model: &Model) -> Option<Rect> {
    let Some(Overlay::Inbox(inbox)) = model.overlays.last() else { return None };
    let selected = inbox.item(&model.crew)?;
    let area = parts(model).item;
    let used = u16::try_from(ItemLines::of(model, area, selected).count()).ok()?;
    let screen = area.rows_from(used.saturating_add(2), u16::MAX);
    (screen.rows >= PEEK_ROWS && !model.is_too_small()).then_some(screen)
}

/// Where its process works, and why it counts as blocked.
fn about(model: &Model, item: &InboxItem) -> Vec<String> {
    let Some(process) = model.crew.get(item.id) else { return Vec::new() };
    let mut lines = vec![format!("in {}", model.place.short(&process.program.cwd))];
    let opinion = process.agent.as_ref().and_then(|agent| agent.evidence.as_ref());
    let is_blocked = |opinion: &&Opinion| opinion.evidence.state == Some(AgentState::Blocked);
    if let Some(opinion) = opinion.filter(is_blocked).filter(|_| is_dialog(item.kind)) {
        let since = age(model.now.epoch_ms.saturating_sub(opinion.at));
        let (source, rule) = (opinion.evidence.source, &opinion.evidence.rule);
        lines.push(format!("why blocked: the {source} shows it (rule {rule}, {since})"));
    }
    lines
}

/// An agent's own dialog: its answer is typed.
fn is_dialog(kind: ItemKind) -> bool {
    matches!(kind, ItemKind::Dialog | ItemKind::Permission)
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

//! Help: every key of every context, made from the table of keys.

use super::{cut, dialogs, framed, text};
use crate::frame::{Grid, Point, Rect};
use crate::keymap::{Action, Context};
use crate::model::Model;
use crate::model::overlay::Help;
use crate::theme::Role;

/// Columns of the filter in the title.
const FILTER_COLUMNS: u16 = 18;

/// One row of the list.
struct Row {
    keys: String,
    words: String,
    /// The looks of the keys.
    role: Role,
}

impl Row {
    fn new(keys: impl Into<String>, words: impl Into<String>, role: Role) -> Self {
        Self { keys: keys.into(), words: words.into(), role }
    }

    /// Returns true if a text in small letters stands in it.
    fn has(&self, text: &str) -> bool {
        self.keys.to_lowercase().contains(text) || self.words.to_lowercase().contains(text)
    }
}

/// Every key of every context that the filter leaves.
pub(crate) fn draw(model: &Model, help: &Help, grid: &mut Grid) {
    let rows = rows(model, &help.filter.text());
    let area = place(model);
    let room = usize::from(area.inside().rows);
    let top = help.top.min(rows.len().saturating_sub(room));
    let title = match rows.len() > room {
        true => format!("Keys, rows {} to {} of {}", top + 1, top + room, rows.len()),
        false => "Keys".to_owned(),
    };
    let hints = if help.is_filtering { "Enter done  Esc all keys" } else { "j k scroll  / filter  Esc back" };
    let inside = framed(model, grid, area, &title, hints);
    for (row, shown) in (inside.row..inside.bottom()).zip(rows.iter().skip(top)) {
        grid.text(Point { col: inside.col + 1, row }, &shown.keys, text(model, shown.role), 20);
        let room = inside.cols.saturating_sub(23);
        let words = cut(&shown.words, room, model.looks.is_ascii);
        grid.text(Point { col: inside.col + 22, row }, &words, text(model, Role::Text), room);
    }
    if rows.is_empty() {
        let at = Point { col: inside.col + 1, row: inside.row };
        grid.text(at, "no key has this text", text(model, Role::Dim), inside.cols.saturating_sub(2));
    }
    filter(model, help, area, grid);
}

/// The filter, at the right of the title.
fn filter(model: &Model, help: &Help, area: Rect, grid: &mut Grid) {
    if !help.is_filtering && help.filter.text().is_empty() {
        return;
    }
    let label = " filter: ";
    let col = area.right().saturating_sub(FILTER_COLUMNS + 2);
    let part = Rect { col, row: area.row, cols: FILTER_COLUMNS, rows: 1 };
    let columns = crate::frame::width::columns(label);
    grid.fill(part, text(model, Role::Text));
    grid.text(Point { col: col - columns, row: area.row }, label, text(model, Role::Dim), columns);
    dialogs::line(model, grid, &help.filter, part);
    if !help.is_filtering {
        grid.cursor = None;
    }
}

/// The first row when the last one is in sight.
pub(crate) fn last_top(model: &Model, help: &Help) -> usize {
    let count = rows(model, &help.filter.text()).len();
    count.saturating_sub(usize::from(place(model).inside().rows))
}

/// The first row when the keys of a context are at the top, as far as that goes.
pub(crate) fn top_of(model: &Model, context: Context) -> usize {
    let heading = heading(model, context);
    let row = rows(model, "").iter().position(|row| row.keys == heading).unwrap_or(0);
    row.min(last_top(model, &Help::default()))
}

fn heading(model: &Model, context: Context) -> String {
    match context {
        Context::Deck => format!("AFTER {}", model.looks.keymap.prefix_text()),
        Context::Direct => "WITHOUT A PREFIX".to_owned(),
        other => format!("IN {}", other.word().to_uppercase()),
    }
}

/// As large as all rows need: a filter does not change it.
fn place(model: &Model) -> Rect {
    let height = u16::try_from(rows(model, "").len()).unwrap_or(u16::MAX).saturating_add(2);
    model.areas().body.middle(70, height)
}

/// The rows whose keys or words have a text, below the headings of their contexts.
fn rows(model: &Model, filter: &str) -> Vec<Row> {
    let keymap = &model.looks.keymap;
    let filter = filter.trim().to_lowercase();
    let prefix = keymap.prefix_text();
    let first = [
        Row::new(format!("{prefix} {prefix}"), "send this key to the program", Role::Focus),
        Row::new("any other key", "goes to the program", Role::Focus),
    ];
    let mut rows: Vec<Row> = first.into_iter().filter(|row| row.has(&filter)).collect();
    for context in Context::ALL {
        let keys = keymap.rows(context).into_iter();
        // The nine tabs are one row.
        let keys = keys.filter(|(_, action)| !matches!(action, Action::Tab(2..)));
        let found = keys.map(|(keys, action)| row(model, context, keys, action));
        let found: Vec<Row> = found.filter(|row| row.has(&filter)).collect();
        if found.is_empty() {
            continue;
        }
        rows.extend((!rows.is_empty()).then(|| Row::new("", "", Role::Text)));
        rows.push(Row::new(heading(model, context), "", Role::Heading));
        rows.extend(found);
    }
    rows
}

fn row(model: &Model, context: Context, keys: String, action: Action) -> Row {
    let (keys, words) = match (action, context) {
        (Action::Tab(_), _) => (format!("{keys}-9"), "tab 1 to 9".to_owned()),
        (Action::OwnCommand(at), _) => {
            let own = model.looks.commands.get(usize::from(at));
            (keys, own.map_or_else(|| action.label(), |own| own.name.clone()))
        }
        (Action::Top, Context::Copy) if keys == "g" => ("g g".to_owned(), action.label()),
        (Action::Search, Context::Tasks) => (keys, "filter".to_owned()),
        (Action::Search, Context::Pads) => (keys, "filter this list of keys".to_owned()),
        (action, _) => (keys, action.label()),
    };
    Row::new(keys, words, Role::Active)
}

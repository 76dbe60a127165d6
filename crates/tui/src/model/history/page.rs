//! Pages of older lines from the daemon: as lines with cells, and laid under what the screen shows.

use proto::styled::{CellColor, StyledRow, StyledRun, UnderlineKind};
use term::{Attributes, Cell, CellText, Color, Style, Underline};

use super::HistoryLine;

/// Rows down to the last one with text: blank rows below it are no lines of the history.
pub(super) fn used_rows(lines: &[HistoryLine]) -> usize {
    lines.iter().rposition(|line| !text_of(line).is_empty()).map_or(0, |last| last + 1)
}

/// Lays the newest page under the rows of a screen, which stay as they are seen; the page keeps what is above them. Returns how many
/// lines that is; below zero, how many rows of the screen are above the page.
///
/// The screen is not always the end of the page: blank rows at its bottom are no lines yet, and a program may have printed more
/// meanwhile. Its text says where it is.
pub(super) fn lay_under(page: &mut Vec<HistoryLine>, shown: &mut Vec<HistoryLine>) -> isize {
    let texts: Vec<String> = page.iter().map(text_of).collect();
    let seen: Vec<Seen> = shown.iter().map(Seen::of).collect();
    let at = place_of(&texts, &seen[..used_rows(shown)]);
    for (row, line) in shown.iter_mut().enumerate() {
        let Some(known) = at.checked_add_unsigned(row).and_then(|at| usize::try_from(at).ok()) else {
            continue;
        };
        // The daemon knows which rows go on in the next one, and where prompts are.
        if texts.get(known).is_some_and(|text| seen[row].is(text)) {
            line.clone_from(&page[known]);
        }
    }
    let above = usize::try_from(at).unwrap_or(0);
    let below = at.checked_add_unsigned(shown.len()).and_then(|end| usize::try_from(end).ok()).unwrap_or(0);
    shown.extend(page.iter().skip(below).cloned());
    page.truncate(above);
    at
}

/// The text of a row that was seen.
struct Seen {
    text: String,
    /// The row may have been cut at the edge of a pane that is narrower than its program.
    is_full: bool,
}

impl Seen {
    fn of(line: &HistoryLine) -> Self {
        let is_full = line.cells.last().is_some_and(|cell| !cell.text.as_str().trim().is_empty());
        Self { text: text_of(line), is_full }
    }

    fn is(&self, text: &str) -> bool {
        if self.is_full { text.starts_with(&self.text) } else { text == self.text }
    }
}

/// Where the used rows of a screen are in a page: where most of them are found, and nearest to its end. A screen that was drawn anew
/// since is found nowhere; then it is the end.
fn place_of(page: &[String], used: &[Seen]) -> isize {
    let length = |count: usize| isize::try_from(count).unwrap_or(isize::MAX);
    let end = length(page.len()) - length(used.len());
    let found = |at: isize| {
        let here =
            |row: usize| usize::try_from(at.saturating_add_unsigned(row)).ok().and_then(|at| page.get(at));
        let is_found = |(row, seen): &(usize, &Seen)| here(*row).is_some_and(|text| seen.is(text));
        used.iter().enumerate().filter(is_found).count()
    };
    let places = (1 - length(used.len())).min(end)..=length(page.len());
    let best = places.map(|at| (found(at), at)).max_by_key(|(found, at)| (*found, -(at - end).abs()));
    best.filter(|(found, _)| found * 2 >= used.len()).map_or(end, |(_, at)| at)
}

/// The text of a line without the blanks at its end.
pub(super) fn text_of(line: &HistoryLine) -> String {
    let text: String = line.cells.iter().map(|cell| cell.text.as_str()).collect();
    text.trim_end().to_owned()
}

pub(super) fn line_of(row: &StyledRow) -> HistoryLine {
    let cells = row.runs.iter().flat_map(cells_of).collect();
    HistoryLine { cells, is_wrapped: row.wrapped, is_prompt: row.prompt }
}

fn cells_of(run: &StyledRun) -> Vec<Cell> {
    let style = style_of(run);
    let link = run.link.as_deref().map(std::sync::Arc::from);
    let clusters: Vec<String> = match run.joined {
        true => vec![run.text.clone()],
        false => run.text.chars().map(String::from).collect(),
    };
    let mut cells = Vec::with_capacity(clusters.len());
    for cluster in clusters {
        cells.push(Cell {
            text: CellText::new(&cluster),
            style,
            width: run.width.clamp(1, 2),
            link: link.clone(),
        });
        if run.width == 2 {
            cells.push(Cell { text: CellText::new(""), style, width: 0, link: link.clone() });
        }
    }
    cells
}

fn style_of(run: &StyledRun) -> Style {
    let color = |color: Option<CellColor>| match color {
        None => Color::Default,
        Some(CellColor::Index(index @ 0..=15)) => Color::Basic(index),
        Some(CellColor::Index(index)) => Color::Indexed(index),
        Some(CellColor::Rgb(red, green, blue)) => Color::Rgb(red, green, blue),
    };
    let mut attributes = Attributes::default();
    let switches = [
        (run.bold, Attributes::BOLD),
        (run.dim, Attributes::DIM),
        (run.italic, Attributes::ITALIC),
        (run.blink, Attributes::BLINK),
        (run.reverse, Attributes::INVERSE),
        (run.strike, Attributes::STRIKE),
        (run.overline, Attributes::OVERLINE),
    ];
    switches.iter().filter(|(is_on, _)| *is_on).for_each(|(_, attribute)| attributes.insert(*attribute));
    let underline = match run.underline {
        None => Underline::None,
        Some(UnderlineKind::Single) => Underline::Single,
        Some(UnderlineKind::Double) => Underline::Double,
        Some(UnderlineKind::Curly) => Underline::Curly,
        Some(UnderlineKind::Dotted) => Underline::Dotted,
        Some(UnderlineKind::Dashed) => Underline::Dashed,
    };
    let underline_color = run.underline_color.map(|line| color(Some(line)));
    Style { fg: color(run.fg), bg: color(run.bg), underline, underline_color, attributes }
}

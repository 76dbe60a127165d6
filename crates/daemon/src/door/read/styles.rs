//! Styled rows: turns cells of the screen into runs, and as many rows as fit the limit into a reply.

use proto::reply::Text;
use proto::request::ReadMode;
use proto::styled::{CellColor, StyledRow, StyledRun, UnderlineKind};
use term::{Attributes, Cell, CellRow, Color, LineId, Style, Underline};

use super::pages::{Span, describe, modes};
use crate::screens::ReadableRun;

/// Returns the visible rows from `since` on.
pub(super) fn screen(run: &dyn ReadableRun, caught_up: u64, span: Span) -> Text {
    let (screen, mut reply) = describe(run, ReadMode::Screen);
    reply.modes = Some(modes(&screen.modes()));
    reply.first_line =
        (!reply.alternate).then(|| screen.next_line().0.saturating_sub(reply.size.rows.into()));
    let end = span.until.unwrap_or(u64::MAX).min(reply.size.rows.into());
    let rows = span.since.unwrap_or(0)..end;
    let page = Page::forwards(rows, span.limit, |row| {
        u16::try_from(row).ok().and_then(|row| screen.visible_row(row))
    });
    drop(screen);
    reply.offset = caught_up;
    reply.next_row = page.next.filter(|next| *next < end);
    let has_more = reply.next_row.is_some();
    page.into_reply(&mut reply, has_more);
    reply
}

/// Rows of history from line `since` on, or the newest that fit.
pub(super) fn history(run: &dyn ReadableRun, span: Span) -> Text {
    let (screen, mut reply) = describe(run, ReadMode::History);
    let written = screen.written();
    let within = |id: u64| id.clamp(written.start.0, written.end.0);
    let end = span.until.map_or(written.end.0, within);
    let row = |id: u64| screen.line_row(LineId(id));
    let page = match span.since.map(within) {
        Some(since) => Page::forwards(since.min(end)..end, span.limit, row),
        None => Page::backwards(written.start.0..end, span.limit, row),
    };
    let open = screen.line_being_written(term::Wraps::Keep).0;
    drop(screen);
    reply.missed = span.since.map_or(0, |since| written.start.0.saturating_sub(since));
    let (first, next) = (page.first(), page.next.unwrap_or(end));
    reply.first_line = first.or(Some(next));
    let has_more = match span.since {
        Some(_) => next < end,
        None => first.is_some_and(|first| first > written.start.0),
    };
    // The row being written is read again when there is more of it.
    reply.offset = if next >= written.end.0 { next.min(open) } else { next };
    page.into_reply(&mut reply, has_more);
    reply
}

/// As many rows as fit.
#[derive(Debug, Default)]
struct Page {
    rows: Vec<StyledRow>,
    /// Bytes of them in JSON.
    bytes: usize,
    /// Bytes of links that were left out.
    cut: usize,
    /// The row after the last one that was examined; `None` when there was none.
    next: Option<u64>,
}

impl Page {
    fn forwards(rows: std::ops::Range<u64>, limit: usize, row: impl Fn(u64) -> Option<CellRow>) -> Self {
        let mut page = Self { next: Some(rows.start), ..Self::default() };
        for line in rows {
            let Some(cells) = row(line) else { break };
            if !page.push(line, &cells, limit) {
                break;
            }
            page.next = Some(line + 1);
        }
        page
    }

    fn backwards(rows: std::ops::Range<u64>, limit: usize, row: impl Fn(u64) -> Option<CellRow>) -> Self {
        let mut page = Self { next: Some(rows.end), ..Self::default() };
        for line in rows.rev() {
            let Some(cells) = row(line) else { break };
            if !page.push(line, &cells, limit) {
                break;
            }
        }
        page.rows.reverse();
        page
    }

    /// Adds a row if it fits. The first one always does: without its links, if it is too long.
    fn push(&mut self, line: u64, cells: &CellRow, limit: usize) -> bool {
        let mut row = styled_row(line, cells);
        let mut length = json_length(&row);
        // The brackets of the array take one byte more than its commas.
        if self.bytes + length + 1 > limit {
            if !self.rows.is_empty() {
                return false;
            }
            for run in &mut row.runs {
                self.cut += run.link.take().map_or(0, |link| link.len());
            }
            length = json_length(&row);
        }
        self.bytes += length;
        self.rows.push(row);
        true
    }

    fn first(&self) -> Option<u64> {
        self.rows.first().map(|row| row.line)
    }

    fn into_reply(self, reply: &mut Text, has_more: bool) {
        reply.cut = self.cut as u64;
        reply.truncated = has_more || self.cut > 0;
        reply.rows = Some(self.rows);
    }
}

fn json_length(row: &StyledRow) -> usize {
    serde_json::to_vec(row).map_or(0, |bytes| bytes.len() + 1)
}

/// Returns a row as runs of characters with the same style.
fn styled_row(line: u64, row: &CellRow) -> StyledRow {
    let is_plain =
        |cell: &&Cell| cell.text.as_str() == " " && cell.style == Style::default() && cell.link.is_none();
    let used = row.cells.len() - row.cells.iter().rev().take_while(is_plain).count();
    let mut runs: Vec<StyledRun> = Vec::new();
    let mut before: Option<&Cell> = None;
    for cell in row.cells.iter().take(used).filter(|cell| cell.width > 0) {
        let goes_on = before.is_some_and(|before| is_alike(before, cell));
        match runs.last_mut().filter(|run| goes_on && !run.joined && !is_joined(cell)) {
            Some(run) => run.text.push_str(visible_text(cell)),
            None => runs.push(new_run(cell)),
        }
        before = Some(cell);
    }
    StyledRow { line, wrapped: row.is_wrapped, prompt: row.is_prompt, runs }
}

fn is_alike(one: &Cell, other: &Cell) -> bool {
    one.style == other.style && one.width == other.width && one.link == other.link
}

fn is_joined(cell: &Cell) -> bool {
    cell.text.chars().nth(1).is_some()
}

/// Returns the visible text: text that the child hides is blank.
fn visible_text(cell: &Cell) -> &str {
    match cell.style.attributes.contains(Attributes::HIDDEN) {
        true => " ",
        false => cell.text.as_str(),
    }
}

fn new_run(cell: &Cell) -> StyledRun {
    let style = &cell.style;
    let has = |attribute| style.attributes.contains(attribute);
    StyledRun {
        text: visible_text(cell).to_owned(),
        width: cell.width,
        joined: is_joined(cell) && !has(Attributes::HIDDEN),
        fg: color(style.fg),
        bg: color(style.bg),
        bold: has(Attributes::BOLD),
        dim: has(Attributes::DIM),
        italic: has(Attributes::ITALIC),
        blink: has(Attributes::BLINK) || has(Attributes::FAST_BLINK),
        reverse: has(Attributes::INVERSE),
        strike: has(Attributes::STRIKE),
        overline: has(Attributes::OVERLINE),
        underline: underline(style.underline),
        underline_color: style.underline_color.and_then(color),
        link: cell.link.as_deref().map(str::to_owned),
    }
}

fn color(color: Color) -> Option<CellColor> {
    match color {
        Color::Default => None,
        Color::Basic(index) | Color::Indexed(index) => Some(CellColor::Index(index)),
        Color::Rgb(red, green, blue) => Some(CellColor::Rgb(red, green, blue)),
    }
}

fn underline(underline: Underline) -> Option<UnderlineKind> {
    match underline {
        Underline::None => None,
        Underline::Single => Some(UnderlineKind::Single),
        Underline::Double => Some(UnderlineKind::Double),
        Underline::Curly => Some(UnderlineKind::Curly),
        Underline::Dotted => Some(UnderlineKind::Dotted),
        Underline::Dashed => Some(UnderlineKind::Dashed),
    }
}

#[cfg(test)]
mod tests {
    use term::{GridSize, Limits, Screen};

    use super::*;

    fn drawn(bytes: &str) -> Screen {
        let mut screen = Screen::new(GridSize::clamped(20, 4), Limits::default());
        screen.feed(bytes.as_bytes());
        screen
    }

    fn row(screen: &Screen, row: u16) -> StyledRow {
        styled_row(row.into(), &screen.visible_row(row).unwrap())
    }

    fn run(text: &str) -> StyledRun {
        StyledRun { text: text.to_owned(), width: 1, ..StyledRun::default() }
    }

    #[test]
    fn n2_looks_of_every_kind_are_told_and_equal_ones_are_one_run() {
        let screen = drawn(concat!(
            "ab\x1b[1mcd\x1b[0;38;2;1;2;3;48;5;200me\x1b[0;4:3;58:5:9mf\x1b[0m ",
            "\x1b]8;;https://x.org\x1b\\g\x1b]8;;\x1b\\\x1b[2;3;7;9;53mh\x1b[m"
        ));
        let runs = row(&screen, 0).runs;
        let expected = [
            run("ab"),
            StyledRun { bold: true, ..run("cd") },
            StyledRun { fg: Some(CellColor::Rgb(1, 2, 3)), bg: Some(CellColor::Index(200)), ..run("e") },
            StyledRun {
                underline: Some(UnderlineKind::Curly),
                underline_color: Some(CellColor::Index(9)),
                ..run("f")
            },
            run(" "),
            StyledRun { link: Some("https://x.org".to_owned()), ..run("g") },
            StyledRun { dim: true, italic: true, reverse: true, strike: true, overline: true, ..run("h") },
        ];
        assert_eq!(runs, expected);
    }

    #[test]
    fn n2_wide_and_joined_characters_have_runs_of_their_own_and_hidden_text_is_blank() {
        let screen = drawn("a漢字e\u{301}b\r\n\x1b[8mse\u{301}cret\x1b[m!");
        let runs = row(&screen, 0).runs;
        let wide = StyledRun { width: 2, ..run("漢字") };
        let joined = StyledRun { joined: true, ..run("e\u{301}") };
        assert_eq!(runs, [run("a"), wide, joined, run("b")]);
        let columns: usize = runs
            .iter()
            .map(|run| usize::from(run.width) * if run.joined { 1 } else { run.text.chars().count() })
            .sum();
        assert_eq!(columns, 7);
        let hidden: String = row(&screen, 1).runs.into_iter().map(|run| run.text).collect();
        assert_eq!(hidden, "      !");
    }

    #[test]
    fn n2_a_page_keeps_its_limit_gives_one_row_always_and_goes_on_where_it_ended() {
        let lines: String = (0..50).map(|n| format!("\x1b[3{}mline {n}\x1b[m\r\n", n % 8)).collect();
        let screen = drawn(&lines);
        let row = |id| screen.line_row(LineId(id));
        let (mut at, mut all, mut pages) = (0, Vec::new(), 0);
        while at < 50 {
            let page = Page::forwards(at..50, 200, row);
            assert!(page.bytes <= 200 && !page.rows.is_empty(), "{page:?}");
            at = page.next.unwrap();
            all.extend(page.rows);
            pages += 1;
        }
        assert!(pages > 5, "{pages}");
        assert!(all.iter().map(|row| row.line).eq(0..50));
        let newest = Page::backwards(0..50, 200, row);
        assert_eq!(newest.rows.last().map(|row| row.line), Some(49));
        assert!(newest.bytes <= 200);
        assert_eq!(Page::forwards(0..50, 1, row).rows.len(), 1);
    }

    #[test]
    fn n2_links_too_long_for_a_page_are_left_out_and_counted() {
        let link = format!("https://x.org/{}", "y".repeat(500));
        let screen = drawn(&format!("\x1b]8;;{link}\x1b\\text\x1b]8;;\x1b\\"));
        let page = Page::forwards(0..1, 100, |row| screen.visible_row(u16::try_from(row).unwrap()));
        assert_eq!((page.cut, page.rows[0].runs.clone()), (link.len(), vec![run("text")]));
    }
}

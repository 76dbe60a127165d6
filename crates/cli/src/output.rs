//! Standard output: tables, colours, JSON. A child's or a user's text passes through [`Printable`], so that a
//! title cannot control the terminal of the person who lists it.

use std::io::{self, IsTerminal, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use client::attach::Terminal;
use proto::Printable;
use proto::printable::visible_json;
use serde::Serialize;

use crate::errors::CliError;

/// How a cell is drawn on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Bold,
    Dim,
    Green,
    Yellow,
    Red,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "\x1b[1m",
            Self::Dim => "\x1b[2m",
            Self::Green => "\x1b[32m",
            Self::Yellow => "\x1b[33m",
            Self::Red => "\x1b[31m",
        }
    }
}

/// Standard output and its abilities.
pub(crate) struct Output {
    out: Box<dyn Write>,
    is_terminal: bool,
    has_colour: bool,
    /// Columns of the terminal.
    width: Option<usize>,
}

impl Output {
    /// This process's standard output.
    pub(crate) fn standard() -> Self {
        let is_terminal = io::stdout().is_terminal();
        let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let size = Terminal::size_of(rustix::stdio::stdout()).filter(|_| is_terminal);
        let width = size.map(|size| usize::from(size.cols));
        let has_colour = is_terminal && !is_refused;
        Self { out: Box::new(io::stdout().lock()), is_terminal, has_colour, width }
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Prints one line of our own words; quoted text is made safe.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), CliError> {
        self.bytes(format!("{}\n", Printable(text)).as_bytes())
    }

    /// Prints text of a child, line by line: exact for programs, made safe for a terminal.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), CliError> {
        let ending = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        if !self.is_terminal {
            return self.bytes(format!("{text}{ending}").as_bytes());
        }
        let safe: Vec<_> = text.split('\n').map(|line| Printable(line).to_text()).collect();
        self.bytes(format!("{}{ending}", safe.join("\n")).as_bytes())
    }

    /// Bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.out.write_all(bytes).and_then(|()| self.out.flush()).map_err(CliError::output)
    }

    /// Prints one JSON value on one line. It is safe to draw: nothing in it controls a terminal.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), CliError> {
        let text = serde_json::to_string(value).map_err(|error| CliError::output(error.into()))?;
        self.bytes(format!("{}\n", visible_json(&text)).as_bytes())
    }

    /// A table with aligned columns.
    pub(crate) fn table(&mut self, table: &Table) -> Result<(), CliError> {
        let text = table.draw(self.has_colour, usize::MAX);
        self.bytes(text.as_bytes())
    }

    /// A table as text that is drawn later, in lines of at most this width.
    pub(crate) fn drawn_table(&self, table: &Table, width: usize) -> String {
        table.draw(self.has_colour, width)
    }

    /// A table whose lines end at the terminal's width; whole when there is no terminal.
    pub(crate) fn clipped_table(&mut self, table: &Table) -> Result<(), CliError> {
        let text = table.draw(self.has_colour, self.width.unwrap_or(usize::MAX));
        self.bytes(text.as_bytes())
    }
}

/// An output that tests can read.
#[cfg(test)]
pub(crate) mod memory {
    use super::{Output, io};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    pub(crate) struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Memory {
        pub(crate) fn output(&self) -> Output {
            Output { out: Box::new(self.clone()), is_terminal: false, has_colour: false, width: None }
        }

        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl io::Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}

/// A column that is wider than this may be made narrower before columns are left out.
const ENOUGH: usize = 20;
/// A column is not made narrower than this to save the columns behind it.
const LEAST: usize = 6;

/// Rows of cells under a header.
pub(crate) struct Table {
    header: Vec<&'static str>,
    rows: Vec<Vec<(String, Style)>>,
    /// Columns that a narrow terminal does not show, the first to go first.
    dispensable: &'static [&'static str],
}

impl Table {
    pub(crate) fn new(header: &[&'static str]) -> Self {
        Self { header: header.to_vec(), rows: Vec::new(), dispensable: &[] }
    }

    /// Names the columns that a narrow terminal does not show, the first to go first.
    pub(crate) fn dispensable(mut self, columns: &'static [&'static str]) -> Self {
        self.dispensable = columns;
        self
    }

    /// Adds a row; its cells are made printable.
    pub(crate) fn row(&mut self, cells: Vec<(String, Style)>) {
        let safe = cells.into_iter().map(|(text, style)| (Printable(&text).to_string(), style));
        self.rows.push(safe.collect());
    }

    /// Draws it, no line wider than `most`. Dispensable columns go first, then the widest columns become narrower; an
    /// ellipsis marks a cut.
    pub(crate) fn draw(&self, has_colour: bool, most: usize) -> String {
        let header: Vec<_> = self.header.iter().map(|name| ((*name).to_owned(), Style::Bold)).collect();
        let all: Vec<_> = std::iter::once(&header).chain(&self.rows).collect();
        let width = |column: usize| {
            all.iter()
                .filter_map(|row| row.get(column))
                .map(|(text, _)| text.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let shown = self.fitted(&widths, most);
        let mut text = String::new();
        for row in all {
            let mut left = most;
            let mut line = Vec::new();
            for (column, width) in &shown {
                let Some((text, style)) = row.get(*column) else { continue };
                line.push(cell(&clip(text, left.min(*width)), *style, (*width).min(left), has_colour));
                left = left.saturating_sub(width + 2);
            }
            text.push_str(line.join("  ").trim_end());
            text.push('\n');
        }
        text
    }

    /// Returns which columns are shown and how wide each is.
    fn fitted(&self, widths: &[usize], most: usize) -> Vec<(usize, usize)> {
        let mut shown: Vec<(usize, usize)> = widths.iter().copied().enumerate().collect();
        let total = |shown: &[(usize, usize)], widest: usize| -> usize {
            shown.iter().map(|(_, width)| (*width).min(widest)).sum::<usize>()
                + 2 * shown.len().saturating_sub(1)
        };
        for name in self.dispensable {
            if total(&shown, ENOUGH) <= most {
                break;
            }
            shown.retain(|(column, _)| self.header.get(*column) != Some(name));
        }
        while total(&shown, usize::MAX) > most {
            match shown.iter_mut().max_by_key(|(_, width)| *width) {
                Some((_, width)) if *width > LEAST => *width -= 1,
                _ => break,
            }
        }
        shown
    }
}

/// As much of a text as fits.
fn clip(text: &str, room: usize) -> std::borrow::Cow<'_, str> {
    if text.chars().count() <= room {
        return text.into();
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    if room == 0 { kept.into() } else { format!("{kept}…").into() }
}

fn cell(text: &str, style: Style, width: usize, has_colour: bool) -> String {
    let padding = " ".repeat(width.saturating_sub(text.chars().count()));
    if has_colour && style != Style::Plain {
        format!("{}{text}\x1b[0m{padding}", style.code())
    } else {
        format!("{text}{padding}")
    }
}

/// The wall clock, in milliseconds since the epoch.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A time span in its two largest units.
pub(crate) fn span(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{minutes}m{:02}s", seconds % 60),
        3600..86_400 => format!("{hours}h{minutes:02}m"),
        _ => format!("{days}d{hours:02}h"),
    }
}

/// A time span in milliseconds as [`span`] writes it; a short one has tenths of a second where it needs them.
pub(crate) fn span_ms(ms: u64) -> String {
    match ms {
        0..60_000 if !ms.is_multiple_of(1000) => format!("{:.1}s", ms as f64 / 1000.0),
        _ => span(ms / 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(&["NAME", "STATUS", "COMMAND"]);
        let plain = |text: &str| (text.to_owned(), Style::Plain);
        table.row(vec![plain("build"), ("running".to_owned(), Style::Green), plain("cargo build")]);
        table.row(vec![plain("x"), plain("exited"), plain("evil\u{1b}]0;t\u{7}")]);
        table
    }

    #[test]
    fn columns_are_aligned_and_controls_made_visible() {
        let expected =
            "NAME   STATUS   COMMAND\nbuild  running  cargo build\nx      exited   evil\\u{1b}]0;t\\u{7}\n";
        assert_eq!(sample().draw(false, usize::MAX), expected);
    }

    #[test]
    fn m15_a_narrow_terminal_loses_dispensable_columns_first_and_then_the_ends_of_wide_ones() {
        let table = sample().dispensable(&["STATUS"]);
        assert_eq!(table.draw(false, 35), sample().draw(false, usize::MAX));
        assert_eq!(
            table.draw(false, 26),
            "NAME   COMMAND\nbuild  cargo build\nx      evil\\u{1b}]0;t\\u{7}\n"
        );
        assert_eq!(table.draw(false, 15), "NAME   COMMAND\nbuild  cargo b…\nx      evil\\u{…\n");
    }

    #[test]
    fn m15_a_line_is_clipped_to_the_terminals_width() {
        let expected = "NAME   STATUS  COM…\nbuild  runni…  car…\nx      exited  evi…\n";
        assert_eq!(sample().draw(false, 19), expected);
        for width in 0..40 {
            let drawn = sample().draw(false, width);
            assert!(drawn.lines().all(|line| line.chars().count() <= width), "{width}: {drawn}");
        }
    }

    #[test]
    fn colour_changes_no_column() {
        let coloured = sample().draw(true, usize::MAX);
        assert!(coloured.contains("\x1b[32mrunning\x1b[0m  cargo"), "{coloured:?}");
    }

    #[test]
    fn c7_no_control_of_a_child_is_drawn_by_a_line_or_by_json() {
        let hostile = "\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}31m\u{7f}\u{85}\u{202e}evil\u{2066}\u{200b}\u{feff}\r";
        let memory = memory::Memory::default();
        let mut out = memory.output();
        out.line(&format!("title {hostile}")).unwrap();
        out.json(&serde_json::json!({ "title": hostile, hostile: 1 })).unwrap();
        let drawn = memory.text();
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines.len(), 2, "{drawn:?}");
        for line in &lines {
            assert_eq!(Printable(line).to_text(), *line, "{line:?}");
        }
        let value: serde_json::Value = serde_json::from_str(lines[1]).unwrap();
        assert_eq!(
            (value["title"].as_str(), &value[hostile]),
            (Some(hostile), &1.into()),
            "JSON means the same"
        );
    }

    #[test]
    fn spans_use_two_units() {
        let spans = [(5, "5s"), (65, "1m05s"), (3700, "1h01m"), (90_000, "1d01h")];
        for (seconds, text) in spans {
            assert_eq!(span(seconds), text);
        }
        assert_eq!([500, 3_000, 90_500].map(span_ms), ["0.5s", "3s", "1m30s"]);
    }
}

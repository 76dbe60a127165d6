//! A conformance case: bytes, and what the screen must show afterwards. Runs a case and describes what the
//! screen showed.

use std::fmt;

use term::{Attributes, Cell, Color, GridSize, Limits, Screen, Style, Underline};

/// Columns and rows of a case that names no size.
const USUAL: (u16, u16) = (10, 5);

/// One case. Rows and columns count from one, as the standards count them.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    size: (u16, u16),
    input: &'static [u8],
    /// A new size after the input, and the input that follows it.
    then: Option<((u16, u16), &'static [u8])>,
    rows: &'static str,
    cursor: (u16, u16),
    waits: bool,
    says: &'static str,
    looks: &'static [(u16, u16, &'static str)],
}

/// Returns a case: input, the rows it leaves with `|` between them and without trailing blanks, and row and
/// column of the cursor.
pub(crate) const fn case(
    name: &'static str,
    input: &'static str,
    rows: &'static str,
    cursor: (u16, u16),
) -> Case {
    raw(name, input.as_bytes(), rows, cursor)
}

/// Returns a case whose input is not text.
pub(crate) const fn raw(
    name: &'static str,
    input: &'static [u8],
    rows: &'static str,
    cursor: (u16, u16),
) -> Case {
    Case { name, size: USUAL, input, then: None, rows, cursor, waits: false, says: "", looks: &[] }
}

/// Returns a query on a fresh screen of 80×24 and its answer.
pub(crate) const fn query(name: &'static str, input: &'static str, says: &'static str) -> Case {
    case(name, input, "", (1, 1)).on(80, 24).says(says)
}

/// Returns one character after a sequence, and how it looks.
pub(crate) const fn look(
    name: &'static str,
    input: &'static str,
    looks: &'static [(u16, u16, &'static str)],
) -> Case {
    case(name, input, "x", (1, 2)).looks(looks)
}

impl Case {
    /// Sets the columns and rows of the screen.
    pub(crate) const fn on(mut self, cols: u16, rows: u16) -> Case {
        self.size = (cols, rows);
        self
    }

    /// Expects the cursor to wait in the last column: the next character wraps first.
    pub(crate) const fn waits(mut self) -> Case {
        self.waits = true;
        self
    }

    /// Expects these answers from the screen.
    pub(crate) const fn says(mut self, says: &'static str) -> Case {
        self.says = says;
        self
    }

    /// Expects these styles at row and column.
    pub(crate) const fn looks(mut self, looks: &'static [(u16, u16, &'static str)]) -> Case {
        self.looks = looks;
        self
    }

    /// Then resizes the screen and feeds this input.
    pub(crate) const fn then(mut self, cols: u16, rows: u16, input: &'static str) -> Case {
        self.then = Some(((cols, rows), input.as_bytes()));
        self
    }

    /// Returns what the screen must show.
    pub(crate) fn expected(&self) -> Seen {
        Seen {
            rows: self.rows.to_owned(),
            cursor: self.cursor,
            waits: self.waits,
            says: self.says.to_owned(),
            looks: self.looks.iter().map(|(row, col, look)| format!("{row};{col} {look}")).collect(),
        }
    }

    /// Returns what the screen shows when the input comes in pieces of `piece` bytes.
    pub(crate) fn seen(&self, piece: usize) -> Seen {
        let size = |(cols, rows): (u16, u16)| GridSize::clamped(cols.into(), rows.into());
        let mut screen = Screen::new(size(self.size), Limits { history_lines: 20 });
        self.input.chunks(piece).for_each(|bytes| screen.feed(bytes));
        if let Some((new, input)) = self.then {
            screen.resize(size(new));
            input.chunks(piece).for_each(|bytes| screen.feed(bytes));
        }
        Seen::of(&mut screen, self.looks)
    }
}

/// What a screen shows and answers.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    rows: String,
    cursor: (u16, u16),
    waits: bool,
    says: String,
    looks: Vec<String>,
}

impl Seen {
    fn of(screen: &mut Screen, looks: &[(u16, u16, &str)]) -> Seen {
        let text = |row: u16| {
            let row: String = screen.row_cells(row).iter().map(|cell| cell.text.as_str()).collect();
            row.trim_end().to_owned()
        };
        let rows: Vec<String> = (0..screen.size().rows).map(text).collect();
        let look = |&(row, col, _): &(u16, u16, &str)| {
            let cells = screen.row_cells(row - 1);
            format!("{row};{col} {}", cells.get(usize::from(col - 1)).map_or_else(String::new, words))
        };
        let looks = looks.iter().map(look).collect();
        let cursor = screen.cursor();
        Seen {
            rows: rows.join("|").trim_end_matches('|').to_owned(),
            cursor: (cursor.row + 1, cursor.col + 1),
            waits: cursor.wrap_pending,
            says: String::from_utf8_lossy(&screen.take_replies()).into_owned(),
            looks,
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (row, col) = self.cursor;
        write!(formatter, "{} @{row};{col}", self.rows)?;
        if self.waits {
            write!(formatter, " waits")?;
        }
        if !self.says.is_empty() {
            write!(formatter, " says {}", self.says.escape_debug())?;
        }
        self.looks.iter().try_for_each(|look| write!(formatter, " [{look}]"))
    }
}

/// Returns the style of a cell in words; `plain` for the default.
fn words(cell: &Cell) -> String {
    const SWITCHES: [(Attributes, &str); 8] = [
        (Attributes::BOLD, "bold"),
        (Attributes::DIM, "dim"),
        (Attributes::ITALIC, "italic"),
        (Attributes::BLINK, "blink"),
        (Attributes::FAST_BLINK, "fast"),
        (Attributes::INVERSE, "inverse"),
        (Attributes::HIDDEN, "hidden"),
        (Attributes::STRIKE, "strike"),
    ];
    let Style { fg, bg, underline, underline_color, attributes } = cell.style;
    let mut words: Vec<String> = SWITCHES
        .iter()
        .filter(|(switch, _)| attributes.contains(*switch))
        .map(|(_, word)| (*word).to_owned())
        .collect();
    words.extend(match underline {
        Underline::None => None,
        Underline::Single => Some("single".to_owned()),
        Underline::Double => Some("double".to_owned()),
        Underline::Curly => Some("curly".to_owned()),
        Underline::Dotted => Some("dotted".to_owned()),
        Underline::Dashed => Some("dashed".to_owned()),
    });
    let colors = [("fg", fg), ("bg", bg), ("line", underline_color.unwrap_or_default())];
    words.extend(colors.iter().filter_map(|(place, color)| match color {
        Color::Default => None,
        // Both forms mean the same colour.
        Color::Basic(index) | Color::Indexed(index) => Some(format!("{place}={index}")),
        Color::Rgb(red, green, blue) => Some(format!("{place}={red}/{green}/{blue}")),
    }));
    if words.is_empty() { "plain".to_owned() } else { words.join(" ") }
}

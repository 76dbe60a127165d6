//! The content of one grid cell in this crate's own types: text, colours, attributes, link. `pen` writes
//! styles as escape sequences; `engine` converts cells from the emulator.

use std::ops::Deref;
use std::sync::Arc;

/// The longest cluster that a cell holds: a base character and eight marks of four bytes each.
const CELL_TEXT_MAX: usize = 36;

/// A colour as the child asked for it; no palette is applied here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Color {
    /// The terminal's own foreground or background.
    #[default]
    Default,
    /// One of the sixteen classic colours (SGR 30-37, 90-97 and their backgrounds).
    Basic(u8),
    /// An index of the 256-colour palette.
    Indexed(u8),
    /// A true colour.
    Rgb(u8, u8, u8),
}

/// The line under a character.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Underline {
    /// No line.
    #[default]
    None,
    /// One line.
    Single,
    /// Two lines.
    Double,
    /// A wave.
    Curly,
    /// Dots.
    Dotted,
    /// Dashes.
    Dashed,
}

/// The on/off attributes of a style, as a bit set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attributes(u16);

impl Attributes {
    /// SGR 1.
    pub const BOLD: Attributes = Attributes(1);
    /// SGR 2.
    pub const DIM: Attributes = Attributes(1 << 1);
    /// SGR 3.
    pub const ITALIC: Attributes = Attributes(1 << 2);
    /// SGR 5.
    pub const BLINK: Attributes = Attributes(1 << 3);
    /// SGR 6.
    pub const FAST_BLINK: Attributes = Attributes(1 << 4);
    /// SGR 7.
    pub const INVERSE: Attributes = Attributes(1 << 5);
    /// SGR 8: hidden text. [`crate::Screen::text`] leaves it out.
    pub const HIDDEN: Attributes = Attributes(1 << 6);
    /// SGR 9.
    pub const STRIKE: Attributes = Attributes(1 << 7);
    /// SGR 53.
    pub const OVERLINE: Attributes = Attributes(1 << 8);

    /// Returns true if every attribute of `other` is on.
    pub fn contains(self, other: Attributes) -> bool {
        self.0 & other.0 == other.0
    }

    /// Turns the attributes of `other` on.
    pub fn insert(&mut self, other: Attributes) {
        self.0 |= other.0;
    }

    pub(crate) fn bits(self) -> u16 {
        self.0
    }

    pub(crate) fn from_bits(bits: u16) -> Attributes {
        Attributes(bits)
    }
}

/// How a cell looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Style {
    /// Colour of the character.
    pub fg: Color,
    /// Colour behind it.
    pub bg: Color,
    /// Kind of underline.
    pub underline: Underline,
    /// Colour of the underline, when it differs from the character's.
    pub underline_color: Option<Color>,
    /// The on/off attributes.
    pub attributes: Attributes,
}

/// The text of one cell: a grapheme cluster, stored inline because a cell is bounded to nine characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CellText {
    length: u8,
    bytes: [u8; CELL_TEXT_MAX],
}

impl CellText {
    pub(crate) const EMPTY: CellText = CellText { length: 0, bytes: [0; CELL_TEXT_MAX] };

    /// The cluster of a cell that a face draws by itself; what does not fit is dropped.
    #[must_use]
    pub fn new(cluster: &str) -> CellText {
        let mut text = CellText::EMPTY;
        cluster.chars().for_each(|character| text.push(character));
        text
    }

    /// Appends a character; one that does not fit is dropped.
    pub(crate) fn push(&mut self, character: char) {
        let start = usize::from(self.length);
        let end = start + character.len_utf8();
        if end <= CELL_TEXT_MAX {
            character.encode_utf8(&mut self.bytes[start..end]);
            self.length = end as u8;
        }
    }

    /// Returns the cluster as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl Deref for CellText {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl std::fmt::Debug for CellText {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_str().fmt(formatter)
    }
}

/// One row of styled cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellRow {
    /// One per column.
    pub cells: Vec<Cell>,
    /// True if the text continues in the next row.
    pub is_wrapped: bool,
    /// True if a shell's prompt begins in it (OSC 133).
    pub is_prompt: bool,
}

/// One styled cell, for a face that draws screens itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The cluster; a single space when the cell is blank, empty in the second half of a wide character.
    pub text: CellText,
    /// Its style.
    pub style: Style,
    /// 1 or 2; 0 for the second half of a wide character.
    pub width: u8,
    /// The http or https target of an OSC 8 link.
    pub link: Option<Arc<str>>,
}

impl Cell {
    /// A cell that shows nothing but its style.
    #[must_use]
    pub fn blank(style: Style) -> Cell {
        Cell { text: CellText::new(" "), style, width: 1, link: None }
    }
}

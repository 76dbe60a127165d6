//! Executes the sequences that make up most of a repaint without the emulator's parser: colours and
//! attributes (SGR), cursor position (CUP), erase in line (EL). It handles only their ordinary forms. The
//! parser gets everything else, so that the two never disagree about a rare form.
//!
//! Coloured output is mostly such sequences with a word between them. Parsing them would cost more than
//! everything else together.

use rio_vt::ansi::LineClearMode;
use rio_vt::config::colors::{AnsiColor, ColorRgb, NamedColor};
use rio_vt::crosswords::attr::Attr;
use rio_vt::crosswords::pos::{Column, Line};
use rio_vt::performer::handler::Handler;

use super::convert::BASIC;
use crate::scan::{MOST, Numbers};

/// Applies a sequence with this final byte. Returns false, with nothing applied, when it is not an ordinary
/// one.
#[inline(always)]
pub(super) fn apply(last: u8, numbers: &Numbers, terminal: &mut impl Handler) -> bool {
    match (last, numbers.all()) {
        (b'm', numbers) => attributes(terminal, numbers),
        (b'H', [row]) => place(terminal, *row, 1),
        (b'H', [row, col]) => place(terminal, *row, *col),
        (b'K', [0]) => erase(terminal, LineClearMode::Right),
        (b'K', [1]) => erase(terminal, LineClearMode::Left),
        (b'K', [2]) => erase(terminal, LineClearMode::All),
        _ => false,
    }
}

/// Places the cursor. Rows and columns count from one; zero means one too.
fn place(terminal: &mut impl Handler, row: u16, col: u16) -> bool {
    let (row, col) = (row.max(1) - 1, col.max(1) - 1);
    terminal.goto(Line(row.into()), Column(col.into()));
    true
}

fn erase(terminal: &mut impl Handler, mode: LineClearMode) -> bool {
    terminal.clear_line(mode);
    true
}

/// Applies all attributes, or none when one of them is not ordinary.
#[inline]
fn attributes(terminal: &mut impl Handler, numbers: &[u16]) -> bool {
    match next_attribute(numbers) {
        // Most sequences set a single attribute.
        Some((attribute, [])) => {
            terminal.terminal_attribute(attribute);
            true
        }
        Some((first, rest)) => several_attributes(terminal, first, rest),
        None => false,
    }
}

/// Reads all attributes, then applies them.
fn several_attributes(terminal: &mut impl Handler, first: Attr, mut rest: &[u16]) -> bool {
    let mut read = [const { None }; MOST];
    let mut places = read.iter_mut();
    while !rest.is_empty() {
        let (Some((attribute, after)), Some(place)) = (next_attribute(rest), places.next()) else {
            return false;
        };
        (*place, rest) = (Some(attribute), after);
    }
    terminal.terminal_attribute(first);
    read.into_iter()
        .map_while(|attribute| attribute)
        .for_each(|attribute| terminal.terminal_attribute(attribute));
    true
}

/// Returns the first attribute and the parameters after it.
#[inline(always)]
fn next_attribute(numbers: &[u16]) -> Option<(Attr, &[u16])> {
    match numbers {
        [38, rest @ ..] => color(rest).map(|(color, rest)| (Attr::Foreground(color), rest)),
        [48, rest @ ..] => color(rest).map(|(color, rest)| (Attr::Background(color), rest)),
        [number, rest @ ..] => simple(*number).map(|attribute| (attribute, rest)),
        [] => None,
    }
}

#[inline(always)]
fn simple(number: u16) -> Option<Attr> {
    // The first eight are the ordinary colours, the other eight the bright ones.
    let named = |from: usize, first: u16| AnsiColor::Named(BASIC[from + usize::from(number - first)]);
    Some(match number {
        0 => Attr::Reset,
        1 => Attr::Bold,
        2 => Attr::Dim,
        3 => Attr::Italic,
        4 => Attr::Underline,
        7 => Attr::Reverse,
        9 => Attr::Strike,
        22 => Attr::CancelBoldDim,
        23 => Attr::CancelItalic,
        24 => Attr::CancelUnderline,
        27 => Attr::CancelReverse,
        29 => Attr::CancelStrike,
        30..=37 => Attr::Foreground(named(0, 30)),
        39 => Attr::Foreground(AnsiColor::Named(NamedColor::Foreground)),
        40..=47 => Attr::Background(named(0, 40)),
        49 => Attr::Background(AnsiColor::Named(NamedColor::Background)),
        90..=97 => Attr::Foreground(named(8, 90)),
        100..=107 => Attr::Background(named(8, 100)),
        _ => return None,
    })
}

/// Returns the colour after 38 or 48 and the parameters after it.
fn color(numbers: &[u16]) -> Option<(AnsiColor, &[u16])> {
    let byte = |number: &u16| u8::try_from(*number).ok();
    match numbers {
        [5, index, rest @ ..] => Some((AnsiColor::Indexed(byte(index)?), rest)),
        [2, r, g, b, rest @ ..] => {
            Some((AnsiColor::Spec(ColorRgb { r: byte(r)?, g: byte(g)?, b: byte(b)? }), rest))
        }
        _ => None,
    }
}

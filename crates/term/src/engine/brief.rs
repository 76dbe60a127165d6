//! The sequences that make up most of a repaint, read without the foreign parser: colours and attributes (SGR), cursor
//! placement (CUP), erasing in a line (EL). Knows their ordinary forms; anything else is left to that parser, so that
//! the two can never disagree about a rare one.
//!
//! Coloured output is mostly such sequences with a word between them. Going through the parser costs more for them
//! than everything else together.

use rio_vt::ansi::LineClearMode;
use rio_vt::config::colors::{AnsiColor, ColorRgb, NamedColor};
use rio_vt::crosswords::attr::Attr;
use rio_vt::crosswords::pos::{Column, Line};
use rio_vt::performer::handler::Handler;

use super::convert::BASIC;

/// Most parameters of a sequence that is read here.
const MOST: usize = 16;

/// Applies a whole sequence, from ESC to its final byte. `false`, with nothing applied, when it is not an ordinary one.
pub(super) fn apply(sequence: &[u8], terminal: &mut impl Handler) -> bool {
    let [_, b'[', parameters @ .., last] = sequence else { return false };
    let Some(numbers) = Numbers::read(parameters) else { return false };
    match (last, numbers.all()) {
        (b'm', numbers) => {
            walk(numbers, |_| {}) && walk(numbers, |attribute| terminal.terminal_attribute(attribute))
        }
        (b'H', [row]) => place(terminal, *row, 1),
        (b'H', [row, col]) => place(terminal, *row, *col),
        (b'K', [0]) => erase(terminal, LineClearMode::Right),
        (b'K', [1]) => erase(terminal, LineClearMode::Left),
        (b'K', [2]) => erase(terminal, LineClearMode::All),
        _ => false,
    }
}

/// Rows and columns count from one; zero means one too.
fn place(terminal: &mut impl Handler, row: u16, col: u16) -> bool {
    let (row, col) = (row.max(1) - 1, col.max(1) - 1);
    terminal.goto(Line(row.into()), Column(col.into()));
    true
}

fn erase(terminal: &mut impl Handler, mode: LineClearMode) -> bool {
    terminal.clear_line(mode);
    true
}

struct Numbers {
    values: [u16; MOST],
    count: usize,
}

impl Numbers {
    fn read(parameters: &[u8]) -> Option<Numbers> {
        let mut numbers = Numbers { values: [0; MOST], count: 1 };
        for &byte in parameters {
            let value = &mut numbers.values[numbers.count - 1];
            match byte {
                b'0'..=b'9' if *value < 1000 => *value = *value * 10 + u16::from(byte - b'0'),
                b';' if numbers.count < MOST => numbers.count += 1,
                _ => return None,
            }
        }
        Some(numbers)
    }

    fn all(&self) -> &[u16] {
        &self.values[..self.count]
    }
}

/// Goes through the parameters; `false` at the first that is not ordinary.
fn walk(mut numbers: &[u16], mut apply: impl FnMut(Attr)) -> bool {
    while let [number, rest @ ..] = numbers {
        numbers = rest;
        let attribute = match number {
            38 | 48 => match color(rest) {
                Some((color, after)) => {
                    numbers = after;
                    if *number == 38 { Attr::Foreground(color) } else { Attr::Background(color) }
                }
                None => return false,
            },
            _ => match simple(*number) {
                Some(attribute) => attribute,
                None => return false,
            },
        };
        apply(attribute);
    }
    true
}

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

/// The colour after 38 or 48, and what follows it.
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

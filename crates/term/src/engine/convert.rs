//! Converts styles and colours to and from the emulator's types.

use rio_vt::config::colors::{AnsiColor, ColorRgb, NamedColor};
use rio_vt::crosswords::style::{Style as ForeignStyle, StyleFlags, UnderlineKind};

use super::overline::OVERLINE;
use crate::cell::{Attributes, Color, Style, Underline};

const FLAGS: [(StyleFlags, Attributes); 9] = [
    (StyleFlags::BOLD, Attributes::BOLD),
    (StyleFlags::DIM, Attributes::DIM),
    (StyleFlags::ITALIC, Attributes::ITALIC),
    (StyleFlags::SLOW_BLINK, Attributes::BLINK),
    (StyleFlags::RAPID_BLINK, Attributes::FAST_BLINK),
    (StyleFlags::INVERSE, Attributes::INVERSE),
    (StyleFlags::HIDDEN, Attributes::HIDDEN),
    (StyleFlags::STRIKEOUT, Attributes::STRIKE),
    (OVERLINE, Attributes::OVERLINE),
];

/// The sixteen named colours, in the order of their numbers.
pub(super) const BASIC: [NamedColor; 16] = [
    NamedColor::Black,
    NamedColor::Red,
    NamedColor::Green,
    NamedColor::Yellow,
    NamedColor::Blue,
    NamedColor::Magenta,
    NamedColor::Cyan,
    NamedColor::White,
    NamedColor::LightBlack,
    NamedColor::LightRed,
    NamedColor::LightGreen,
    NamedColor::LightYellow,
    NamedColor::LightBlue,
    NamedColor::LightMagenta,
    NamedColor::LightCyan,
    NamedColor::LightWhite,
];

pub(super) fn style(foreign: &ForeignStyle) -> Style {
    let mut attributes = Attributes::default();
    for (flag, attribute) in FLAGS {
        if foreign.flags.contains(flag) {
            attributes.insert(attribute);
        }
    }
    Style {
        fg: color(foreign.fg),
        bg: color(foreign.bg),
        underline: match foreign.flags.underline_kind() {
            None => Underline::None,
            Some(UnderlineKind::Single) => Underline::Single,
            Some(UnderlineKind::Double) => Underline::Double,
            Some(UnderlineKind::Curly) => Underline::Curly,
            Some(UnderlineKind::Dotted) => Underline::Dotted,
            Some(UnderlineKind::Dashed) => Underline::Dashed,
        },
        underline_color: foreign.underline_color.map(color),
        attributes,
    }
}

pub(super) fn foreign_style(style: &Style) -> ForeignStyle {
    let mut flags = StyleFlags::empty();
    for (flag, attribute) in FLAGS {
        flags.set(flag, style.attributes.contains(attribute));
    }
    flags.set_underline(match style.underline {
        Underline::None => None,
        Underline::Single => Some(UnderlineKind::Single),
        Underline::Double => Some(UnderlineKind::Double),
        Underline::Curly => Some(UnderlineKind::Curly),
        Underline::Dotted => Some(UnderlineKind::Dotted),
        Underline::Dashed => Some(UnderlineKind::Dashed),
    });
    ForeignStyle {
        fg: foreign_color(style.fg, NamedColor::Foreground),
        bg: foreign_color(style.bg, NamedColor::Background),
        underline_color: style.underline_color.map(|color| foreign_color(color, NamedColor::Foreground)),
        flags,
    }
}

fn color(foreign: AnsiColor) -> Color {
    match foreign {
        AnsiColor::Named(named) => match u8::try_from(named as u16) {
            Ok(index @ 0..=15) => Color::Basic(index),
            _ => Color::Default,
        },
        AnsiColor::Indexed(index) => Color::Indexed(index),
        AnsiColor::Spec(ColorRgb { r, g, b }) => Color::Rgb(r, g, b),
    }
}

fn foreign_color(color: Color, default: NamedColor) -> AnsiColor {
    match color {
        Color::Default => AnsiColor::Named(default),
        Color::Basic(index) => AnsiColor::Named(BASIC[usize::from(index & 15)]),
        Color::Indexed(index) => AnsiColor::Indexed(index),
        Color::Rgb(r, g, b) => AnsiColor::Spec(ColorRgb { r, g, b }),
    }
}

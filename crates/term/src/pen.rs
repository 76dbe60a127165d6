//! Writes styles as SGR sequences.

use std::io::Write;

use crate::cell::{Attributes, Color, Style, Underline};

const SWITCHES: [(Attributes, u8); 9] = [
    (Attributes::BOLD, 1),
    (Attributes::DIM, 2),
    (Attributes::ITALIC, 3),
    (Attributes::BLINK, 5),
    (Attributes::FAST_BLINK, 6),
    (Attributes::INVERSE, 7),
    (Attributes::HIDDEN, 8),
    (Attributes::STRIKE, 9),
    (Attributes::OVERLINE, 53),
];

/// Appends the sequence that turns any pen into this one.
pub fn write_style(out: &mut Vec<u8>, style: &Style) {
    out.extend_from_slice(b"\x1b[");
    write_parameters(out, style);
    out.push(b'm');
}

/// Appends the parameters between introducer and final byte.
fn write_parameters(out: &mut Vec<u8>, style: &Style) {
    write_switches(out, style);
    write_color(out, style.fg, 30);
    write_color(out, style.bg, 40);
    if let Some(color) = style.underline_color {
        write_underline_color(out, color);
    }
}

/// Appends the parameters as a report (DECRQSS) writes them, with colons inside a colour.
pub(crate) fn write_report(out: &mut Vec<u8>, style: &Style) {
    write_switches(out, style);
    for (color, base) in [(style.fg, 30), (style.bg, 40)] {
        match color {
            Color::Indexed(index) => put(out, format_args!(";{}:5:{index}", base + 8)),
            Color::Rgb(red, green, blue) => put(out, format_args!(";{}:2::{red}:{green}:{blue}", base + 8)),
            Color::Default | Color::Basic(_) => write_color(out, color, base),
        }
    }
    if let Some(color) = style.underline_color {
        write_underline_color(out, color);
    }
}

fn write_switches(out: &mut Vec<u8>, style: &Style) {
    out.push(b'0');
    for (attribute, code) in SWITCHES {
        if style.attributes.contains(attribute) {
            put(out, format_args!(";{code}"));
        }
    }
    let line = match style.underline {
        Underline::None => "",
        Underline::Single => ";4",
        Underline::Double => ";4:2",
        Underline::Curly => ";4:3",
        Underline::Dotted => ";4:4",
        Underline::Dashed => ";4:5",
    };
    out.extend_from_slice(line.as_bytes());
}

fn write_color(out: &mut Vec<u8>, color: Color, base: u8) {
    match color {
        Color::Default => {}
        Color::Basic(index @ 0..=7) => put(out, format_args!(";{}", base + index)),
        Color::Basic(index) => put(out, format_args!(";{}", base + 60 + (index & 7))),
        Color::Indexed(index) => put(out, format_args!(";{};5;{index}", base + 8)),
        Color::Rgb(red, green, blue) => put(out, format_args!(";{};2;{red};{green};{blue}", base + 8)),
    }
}

fn write_underline_color(out: &mut Vec<u8>, color: Color) {
    match color {
        Color::Default => {}
        Color::Basic(index) | Color::Indexed(index) => put(out, format_args!(";58:5:{index}")),
        Color::Rgb(red, green, blue) => put(out, format_args!(";58:2::{red}:{green}:{blue}")),
    }
}

/// Formats into a vector, which cannot fail.
pub(crate) fn put(out: &mut Vec<u8>, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("writing to a vector cannot fail");
}

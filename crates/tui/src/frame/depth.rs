//! Colours for terminals that have fewer of them than the program behind the screen thinks.

use term::{Color, Style};

/// How many colours the person's terminal has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ColorDepth {
    /// Red, green and blue of eight bits each.
    #[default]
    True,
    /// The palette of 256.
    Indexed,
    /// The classic sixteen.
    Basic,
    /// None: bold, reverse and underline remain.
    None,
}

impl ColorDepth {
    /// What the environment says about the terminal.
    pub(crate) fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let term = variable("TERM").unwrap_or_default();
        let is_true = variable("COLORTERM").is_some_and(|value| value == "truecolor" || value == "24bit");
        match () {
            () if variable("NO_COLOR").is_some_and(|value| !value.is_empty()) || term == "dumb" => Self::None,
            () if is_true
                || term.contains("direct")
                || term.contains("kitty")
                || term.contains("ghostty") =>
            {
                Self::True
            }
            () if term.contains("256color") => Self::Indexed,
            () => Self::Basic,
        }
    }

    /// The style in the colours that there are.
    pub(crate) fn fit(self, style: Style) -> Style {
        let underline_color = match self {
            Self::Basic | Self::None => None,
            Self::True | Self::Indexed => style.underline_color.map(|color| self.fit_color(color)),
        };
        Style { fg: self.fit_color(style.fg), bg: self.fit_color(style.bg), underline_color, ..style }
    }

    fn fit_color(self, color: Color) -> Color {
        match (self, color) {
            (Self::None, _) => Color::Default,
            (Self::Indexed, Color::Rgb(red, green, blue)) => {
                Color::Indexed(nearest_indexed([red, green, blue]))
            }
            (Self::Basic, Color::Rgb(red, green, blue)) => Color::Basic(nearest_basic([red, green, blue])),
            (Self::Basic, Color::Indexed(index)) => basic_of(index),
            (Self::True | Self::Indexed | Self::Basic, other) => other,
        }
    }
}

/// The six steps of the palette's colour cube.
const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

fn nearest_indexed(color: [u8; 3]) -> u8 {
    let step = |value: u8| {
        let distance = |at: &usize| STEPS[*at].abs_diff(value);
        (0..STEPS.len()).min_by_key(distance).unwrap_or(0)
    };
    let cube = color.map(step);
    let gray = (u16::from(color[0]) + u16::from(color[1]) + u16::from(color[2])) / 3;
    let gray_at = (gray.saturating_sub(3) / 10).min(23);
    let gray_value = u8::try_from(8 + gray_at * 10).unwrap_or(u8::MAX);
    let cube_color = cube.map(|at| STEPS[at]);
    let index = if distance(color, [gray_value; 3]) < distance(color, cube_color) {
        232 + usize::from(gray_at)
    } else {
        16 + 36 * cube[0] + 6 * cube[1] + cube[2]
    };
    u8::try_from(index).unwrap_or(7)
}

fn nearest_basic(color: [u8; 3]) -> u8 {
    let brightest = color.into_iter().max().unwrap_or(0);
    if brightest < 64 {
        return 0;
    }
    let bit = |place: usize| u8::from(color[place] > brightest / 2) << place;
    let hue = bit(0) | bit(1) | bit(2);
    if brightest > 192 { 8 + hue } else { hue }
}

fn basic_of(index: u8) -> Color {
    match index {
        0..=15 => Color::Basic(index),
        232..=255 => Color::Basic(if index < 244 { 8 } else { 7 }),
        _ => {
            let cube = index - 16;
            let color = [cube / 36, cube / 6 % 6, cube % 6].map(|at| STEPS[usize::from(at)]);
            Color::Basic(nearest_basic(color))
        }
    }
}

fn distance(one: [u8; 3], other: [u8; 3]) -> u32 {
    one.iter().zip(other).map(|(one, other)| u32::from(one.abs_diff(other)).pow(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_become_the_nearest_that_there_is() {
        assert_eq!(ColorDepth::Indexed.fit_color(Color::Rgb(255, 0, 0)), Color::Indexed(196));
        assert_eq!(ColorDepth::Indexed.fit_color(Color::Rgb(128, 128, 128)), Color::Indexed(244));
        assert_eq!(ColorDepth::Basic.fit_color(Color::Rgb(255, 40, 40)), Color::Basic(9));
        assert_eq!(ColorDepth::Basic.fit_color(Color::Indexed(196)), Color::Basic(9));
        assert_eq!(ColorDepth::None.fit_color(Color::Basic(3)), Color::Default);
    }

    #[test]
    fn the_environment_says_how_many_colours_there_are() {
        let depth = |pairs: &[(&str, &str)]| {
            ColorDepth::of_environment(|name| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(depth(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]), ColorDepth::True);
        assert_eq!(depth(&[("TERM", "screen-256color")]), ColorDepth::Indexed);
        assert_eq!(depth(&[("TERM", "xterm")]), ColorDepth::Basic);
        assert_eq!(depth(&[("TERM", "xterm-kitty"), ("NO_COLOR", "1")]), ColorDepth::None);
    }
}

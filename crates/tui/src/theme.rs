//! Looks: what every role of the chrome is drawn with, and the glyph of every mark. `own` reads a person's own theme.
//!
//! No mark and no role depends on colour alone: marks have shapes of their own, and without colours roles differ by bold,
//! reverse, dim or underline.

mod own;

use std::str::FromStr;
use std::sync::Arc;

use term::{Attributes, Color, Style};

use crate::frame::ColorDepth;
use crate::frame::encode::style;
use crate::model::host::HostFacts;
pub use own::DIRECTORY;
pub(crate) use own::{OwnTheme, own_names};

/// What a piece of chrome is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Text,
    Dim,
    Heading,
    Alert,
    Warn,
    Good,
    Active,
    Select,
    Border,
    Focus,
    Bar,
}

impl Role {
    /// In the order of their numbers.
    pub(crate) const ALL: [Self; 11] = [
        Self::Text,
        Self::Dim,
        Self::Heading,
        Self::Alert,
        Self::Warn,
        Self::Good,
        Self::Active,
        Self::Select,
        Self::Border,
        Self::Focus,
        Self::Bar,
    ];

    /// Its name in the file of a theme.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Dim => "dim",
            Self::Heading => "heading",
            Self::Alert => "alert",
            Self::Warn => "warn",
            Self::Good => "good",
            Self::Active => "active",
            Self::Select => "select",
            Self::Border => "border",
            Self::Focus => "focus",
            Self::Bar => "bar",
        }
    }
}

/// A set of looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Theme {
    /// The terminal's own sixteen colours.
    #[default]
    Terminal,
    Dark,
    Light,
    HighContrast,
    /// No colours at all.
    Plain,
    /// Dark or light, as the terminal's ground is.
    Auto,
    /// The person's own, from a file.
    Own(Arc<OwnTheme>),
}

impl Theme {
    /// Those that are built in.
    pub(crate) const ALL: [Self; 6] =
        [Self::Terminal, Self::Auto, Self::Dark, Self::Light, Self::HighContrast, Self::Plain];

    pub(crate) fn word(&self) -> &str {
        match self {
            Self::Terminal => "terminal",
            Self::Dark => "dark",
            Self::Light => "light",
            Self::HighContrast => "high-contrast",
            Self::Plain => "plain",
            Self::Auto => "auto",
            Self::Own(own) => &own.name,
        }
    }

    /// The theme for a terminal: without colours the plain one, and for `auto` the one for its ground.
    pub(crate) fn fit(&self, host: &HostFacts) -> Self {
        match self {
            _ if host.colors == ColorDepth::None => Self::Plain,
            Self::Auto if host.is_light == Some(true) => Self::Light,
            Self::Auto => Self::Dark,
            other => other.clone(),
        }
    }

    /// The looks of a role on a bar. Where a bar is the reverse of everything else, only what is loud has a ground of its own.
    pub(crate) fn style_on_bar(&self, role: Role) -> Style {
        let style = self.style(role);
        let base = if let Self::Own(own) = self { &own.base } else { self };
        match base {
            Self::HighContrast | Self::Plain if matches!(role, Role::Alert | Role::Select) => style,
            Self::HighContrast | Self::Plain => self.style(Role::Bar),
            _ => Style { bg: self.style(Role::Bar).bg, ..style },
        }
    }

    /// The looks of a role.
    pub(crate) fn style(&self, role: Role) -> Style {
        let [fg, bg] = match self {
            Self::Own(own) => return own.style(role),
            Self::Terminal => terminal_colors(role),
            Self::Dark | Self::Auto => dark_colors(role),
            Self::Light => light_colors(role),
            Self::HighContrast => contrast_colors(role),
            Self::Plain => [Color::Default; 2],
        };
        style(fg, bg, switches(role, *self == Self::Plain))
    }
}

impl FromStr for Theme {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|theme| theme.word() == text);
        found.ok_or_else(|| {
            let words = Self::ALL.iter().map(Self::word).collect::<Vec<_>>().join(", ");
            format!("a theme is one of {words}, not {}", proto::Printable(text))
        })
    }
}

/// Bold and the like. Those that stand for a colour are only there without colours.
fn switches(role: Role, is_plain: bool) -> &'static [Attributes] {
    const BOLD: &[Attributes] = &[Attributes::BOLD];
    const LOUD: &[Attributes] = &[Attributes::BOLD, Attributes::INVERSE];
    const REVERSED: &[Attributes] = &[Attributes::INVERSE];
    const DIM: &[Attributes] = &[Attributes::DIM];
    match role {
        Role::Alert | Role::Select if is_plain => LOUD,
        Role::Bar if is_plain => REVERSED,
        Role::Dim | Role::Border if is_plain => DIM,
        Role::Alert | Role::Heading | Role::Good | Role::Focus | Role::Select => BOLD,
        Role::Text | Role::Dim | Role::Warn | Role::Active | Role::Border | Role::Bar => &[],
    }
}

fn terminal_colors(role: Role) -> [Color; 2] {
    let none = Color::Default;
    match role {
        Role::Text | Role::Heading => [none, none],
        Role::Dim | Role::Border => [Color::Basic(8), none],
        Role::Alert => [Color::Basic(9), none],
        Role::Warn => [Color::Basic(3), none],
        Role::Good => [Color::Basic(2), none],
        Role::Active | Role::Focus => [Color::Basic(6), none],
        Role::Select => [Color::Basic(0), Color::Basic(6)],
        Role::Bar => [none, Color::Basic(0)],
    }
}

fn dark_colors(role: Role) -> [Color; 2] {
    let ground = Color::Rgb(22, 24, 33);
    match role {
        Role::Text => [Color::Rgb(205, 209, 220), ground],
        Role::Heading => [Color::Rgb(148, 156, 187), ground],
        Role::Dim => [Color::Rgb(108, 114, 140), ground],
        Role::Border => [Color::Rgb(66, 71, 95), ground],
        Role::Alert => [Color::Rgb(243, 109, 125), ground],
        Role::Warn => [Color::Rgb(229, 192, 123), ground],
        Role::Good => [Color::Rgb(126, 206, 145), ground],
        Role::Active | Role::Focus => [Color::Rgb(110, 190, 232), ground],
        Role::Select => [Color::Rgb(240, 243, 252), Color::Rgb(54, 78, 120)],
        Role::Bar => [Color::Rgb(190, 196, 214), Color::Rgb(36, 40, 56)],
    }
}

fn light_colors(role: Role) -> [Color; 2] {
    let ground = Color::Rgb(247, 248, 252);
    match role {
        Role::Text => [Color::Rgb(40, 44, 60), ground],
        Role::Heading => [Color::Rgb(84, 92, 120), ground],
        Role::Dim => [Color::Rgb(120, 126, 148), ground],
        Role::Border => [Color::Rgb(184, 190, 208), ground],
        Role::Alert => [Color::Rgb(190, 24, 52), ground],
        Role::Warn => [Color::Rgb(150, 96, 0), ground],
        Role::Good => [Color::Rgb(20, 118, 52), ground],
        Role::Active | Role::Focus => [Color::Rgb(0, 98, 160), ground],
        Role::Select => [Color::Rgb(255, 255, 255), Color::Rgb(24, 92, 168)],
        Role::Bar => [Color::Rgb(48, 54, 76), Color::Rgb(222, 227, 238)],
    }
}

fn contrast_colors(role: Role) -> [Color; 2] {
    match role {
        Role::Text | Role::Heading | Role::Dim | Role::Border => [Color::Basic(15), Color::Basic(0)],
        Role::Alert => [Color::Basic(15), Color::Basic(1)],
        Role::Warn => [Color::Basic(11), Color::Basic(0)],
        Role::Good => [Color::Basic(10), Color::Basic(0)],
        Role::Active | Role::Focus => [Color::Basic(14), Color::Basic(0)],
        Role::Select => [Color::Basic(0), Color::Basic(11)],
        Role::Bar => [Color::Basic(0), Color::Basic(15)],
    }
}

/// What a process is at, as one glance tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Mark {
    Blocked,
    Failed,
    Unseen,
    Quota,
    Waiting,
    Working,
    Thinking,
    Starting,
    Idle,
    Exited,
}

impl Mark {
    /// Its glyph: one cell wide everywhere, and different in shape from every other.
    pub(crate) fn glyph(self, is_ascii: bool) -> &'static str {
        match (self, is_ascii) {
            (Self::Blocked, _) => "!",
            (Self::Failed, false) => "✗",
            (Self::Failed, true) => "x",
            (Self::Unseen, false) => "✓",
            (Self::Unseen, true) => "+",
            (Self::Working, false) => "▸",
            (Self::Working, true) => ">",
            (Self::Thinking, false) => "◦",
            (Self::Thinking, true) => "o",
            (Self::Waiting, _) => "~",
            (Self::Quota, _) => "%",
            (Self::Idle, _) => "-",
            (Self::Starting, _) => ".",
            (Self::Exited, _) => "_",
        }
    }

    pub(crate) fn role(self) -> Role {
        match self {
            Self::Blocked | Self::Failed => Role::Alert,
            Self::Unseen => Role::Good,
            Self::Working | Self::Thinking => Role::Active,
            Self::Waiting | Self::Quota => Role::Warn,
            Self::Idle | Self::Starting | Self::Exited => Role::Dim,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::Unseen => "done",
            Self::Quota => "quota",
            Self::Waiting => "waiting",
            Self::Working => "working",
            Self::Thinking => "thinking",
            Self::Starting => "starting",
            Self::Idle => "idle",
            Self::Exited => "exited",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u24_every_mark_and_every_role_differs_without_colour() {
        const MARKS: [Mark; 10] = [
            Mark::Blocked,
            Mark::Failed,
            Mark::Unseen,
            Mark::Quota,
            Mark::Waiting,
            Mark::Working,
            Mark::Thinking,
            Mark::Starting,
            Mark::Idle,
            Mark::Exited,
        ];
        for is_ascii in [false, true] {
            let mut glyphs = MARKS.map(|mark| mark.glyph(is_ascii)).to_vec();
            glyphs.sort_unstable();
            glyphs.dedup();
            assert_eq!(glyphs.len(), MARKS.len());
        }
        let plain = |role| Theme::Plain.style(role);
        assert_ne!(plain(Role::Select), plain(Role::Text));
        assert_ne!(plain(Role::Focus), plain(Role::Border));
        assert_ne!(plain(Role::Alert), plain(Role::Good));
    }

    #[test]
    fn u24_a_terminal_without_colours_gets_the_plain_theme_and_auto_follows_the_ground() {
        let host = |colors, is_light| HostFacts { colors, is_light, ..HostFacts::default() };
        for theme in Theme::ALL {
            assert_eq!(theme.fit(&host(ColorDepth::None, None)), Theme::Plain);
        }
        assert_eq!(Theme::Auto.fit(&host(ColorDepth::True, Some(true))), Theme::Light);
        assert_eq!(Theme::Auto.fit(&host(ColorDepth::True, Some(false))), Theme::Dark);
        assert_eq!(Theme::Light.fit(&host(ColorDepth::True, Some(false))), Theme::Light);
    }

    #[test]
    fn u24_no_role_has_the_colour_of_the_ground_it_is_drawn_on() {
        const ROLES: [Role; 8] = [
            Role::Text,
            Role::Dim,
            Role::Heading,
            Role::Alert,
            Role::Warn,
            Role::Good,
            Role::Active,
            Role::Focus,
        ];
        for theme in Theme::ALL.into_iter().filter(|theme| *theme != Theme::Plain) {
            for role in ROLES {
                for style in [theme.style(role), theme.style_on_bar(role)] {
                    assert!(style.fg != style.bg || style.fg == Color::Default, "{theme:?} {role:?}");
                }
            }
        }
    }

    #[test]
    fn u24_a_bar_that_is_the_reverse_of_the_rest_has_no_patches() {
        let ground = |style: Style| (style.bg, style.attributes.contains(Attributes::INVERSE));
        for theme in [Theme::HighContrast, Theme::Plain] {
            for role in Role::ALL.into_iter().filter(|role| !matches!(role, Role::Alert | Role::Select)) {
                assert_eq!(
                    ground(theme.style_on_bar(role)),
                    ground(theme.style(Role::Bar)),
                    "{theme:?} {role:?}"
                );
            }
        }
    }

    #[test]
    fn u24_marks_are_one_column_in_every_locale() {
        use unicode_width::UnicodeWidthStr;
        for mark in [Mark::Failed, Mark::Unseen, Mark::Working, Mark::Thinking] {
            assert_eq!((mark.glyph(false).width(), mark.glyph(false).width_cjk()), (1, 1), "{mark:?}");
        }
    }
}

//! The settings that can be changed in the deck itself.

use super::Model;
use crate::keymap::KeyName;
use crate::theme::Theme;

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Theme,
    Glyphs,
    Mouse,
    RailWidth,
    ReviewContext,
    ClipboardChildren,
    Prefix,
}

/// Widths of the rail that are offered.
const RAIL_WIDTHS: [u16; 5] = [18, 22, 25, 30, 40];
/// Numbers of lines around a change that are offered.
const REVIEW_CONTEXTS: [u16; 6] = [1, 3, 5, 10, 25, 100];

impl Setting {
    pub(crate) const ALL: [Self; 7] = [
        Self::Theme,
        Self::Glyphs,
        Self::Mouse,
        Self::RailWidth,
        Self::ReviewContext,
        Self::ClipboardChildren,
        Self::Prefix,
    ];

    /// Its name in the file.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Theme => "theme",
            Self::Glyphs => "glyphs",
            Self::Mouse => "mouse",
            Self::RailWidth => "rail-width",
            Self::ReviewContext => "review-context",
            Self::ClipboardChildren => "clipboard-children",
            Self::Prefix => "prefix",
        }
    }

    /// What it is, for a person.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Theme => "Theme",
            Self::Glyphs => "Marks",
            Self::Mouse => "Mouse",
            Self::RailWidth => "Rail",
            Self::ReviewContext => "Review",
            Self::ClipboardChildren => "Clipboard",
            Self::Prefix => "Menu key",
        }
    }

    /// Its value now, in a word for a person.
    pub(crate) fn value(self, model: &Model) -> String {
        match self {
            Self::Theme => model.looks.theme.word().to_owned(),
            Self::Glyphs => if model.looks.is_ascii { "ascii" } else { "unicode" }.to_owned(),
            Self::Mouse => if model.looks.has_mouse { "on" } else { "off" }.to_owned(),
            Self::RailWidth => model.rail.width.to_string(),
            Self::ReviewContext => match model.looks.review_context {
                1 => "1 line around a change".to_owned(),
                lines => format!("{lines} lines around a change"),
            },
            Self::ClipboardChildren => match model.looks.clipboard.has_children {
                true => "you, and the program that has the keyboard",
                false => "you alone",
            }
            .to_owned(),
            Self::Prefix => model.looks.keymap.prefix_text(),
        }
    }

    /// The value so many places further, as the file writes it; none for a key, which is recorded.
    pub(crate) fn step(self, model: &Model, by: isize) -> Option<String> {
        let turn = |count: usize, at: usize| (at + count).saturating_add_signed(by) % count;
        Some(match self {
            Self::Theme => {
                let built_in = Theme::ALL.iter().map(|theme| theme.word().to_owned());
                let own = model.looks.own_themes.iter().filter(|name| !name.contains('\'')).cloned();
                let words: Vec<String> = built_in.chain(own).collect();
                let at = words.iter().position(|word| word == model.looks.theme.word()).unwrap_or(0);
                quoted(&words[turn(words.len(), at)])
            }
            Self::Glyphs => quoted(if model.looks.is_ascii { "unicode" } else { "ascii" }),
            Self::Mouse => (!model.looks.has_mouse).to_string(),
            Self::RailWidth => {
                let at = RAIL_WIDTHS.iter().position(|width| *width >= model.rail.width).unwrap_or(0);
                RAIL_WIDTHS[turn(RAIL_WIDTHS.len(), at)].to_string()
            }
            Self::ReviewContext => {
                let own = model.looks.review_context;
                let at = REVIEW_CONTEXTS.iter().position(|lines| *lines >= own).unwrap_or(0);
                REVIEW_CONTEXTS[turn(REVIEW_CONTEXTS.len(), at)].to_string()
            }
            Self::ClipboardChildren => (!model.looks.clipboard.has_children).to_string(),
            Self::Prefix => return None,
        })
    }
}

/// A text as a value of the file. No setting here holds a single quote.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{text}'")
}

/// The open settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SettingsView {
    pub(crate) selected: usize,
}

/// The key recorder: the next key may become the prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recorder {
    pub(crate) key: Option<KeyName>,
    /// Why the key that was pressed last cannot be it.
    pub(crate) refusal: Option<String>,
}

impl Recorder {
    /// Notes a key; one that programs need is refused.
    pub(crate) fn record(&mut self, key: KeyName) {
        match refusal(&key) {
            Some(refusal) => (self.key, self.refusal) = (None, Some(refusal)),
            None => (self.key, self.refusal) = (Some(key), None),
        }
    }
}

fn refusal(key: &KeyName) -> Option<String> {
    let text = key.to_string();
    match text.as_str() {
        _ if key.is_plain() => Some(format!("{text} alone would be lost to your programs")),
        "Ctrl-C" | "Ctrl-D" | "Ctrl-M" | "Ctrl-I" | "Ctrl-[" | "Ctrl-J" | "Ctrl-H" => {
            Some(format!("{text} is needed in every terminal"))
        }
        "Ctrl-'" | "Alt-'" => Some(format!("{text} cannot be written to the settings")),
        _ => None,
    }
}

/// What is lost when a key acts without the prefix; none where no program that is known misses it.
pub(crate) fn loss_of(key: &KeyName) -> Option<String> {
    refusal(key).or(use_of(key).map(str::to_owned))
}

/// What programs do with a key, where many do something.
pub(crate) fn use_of(key: &KeyName) -> Option<&'static str> {
    Some(match key.to_string().as_str() {
        "Ctrl-A" | "Ctrl-E" => "shells and agents go to the start or end of the line with it",
        "Ctrl-B" => "agents and tmux use it",
        "Ctrl-G" | "Ctrl-O" | "Ctrl-T" | "Ctrl-X" => "agents use it",
        "Ctrl-K" | "Ctrl-U" | "Ctrl-W" | "Ctrl-Y" => "shells and agents delete text or bring it back with it",
        "Ctrl-L" | "Ctrl-N" | "Ctrl-P" | "Ctrl-R" | "Ctrl-F" => "shells and agents use it",
        "Ctrl-Q" | "Ctrl-S" => "terminals stop and go on with it",
        "Ctrl-V" | "Ctrl-Z" => "shells and editors use it",
        text if text.starts_with("Alt-") => "shells and agents move by words with Alt",
        _ => return None,
    })
}

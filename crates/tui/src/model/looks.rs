//! How the deck looks and what it listens to, as the settings have it.

use super::palette::Placement;
use crate::keymap::Keymap;
use crate::theme::Theme;

/// How the deck looks and what it listens to, as the person wants it.
#[derive(Clone, Debug)]
pub(crate) struct Looks {
    pub(crate) theme: Theme,
    /// The names of the themes that the person has files of.
    pub(crate) own_themes: Vec<String>,
    pub(crate) is_ascii: bool,
    /// Frames have square corners.
    pub(crate) is_square: bool,
    /// Panes show the titles that their programs set.
    pub(crate) has_titles: bool,
    /// The status line names keys.
    pub(crate) has_hints: bool,
    pub(crate) has_mouse: bool,
    pub(crate) start: StartView,
    /// Tiles of a new wall.
    pub(crate) wall_tiles: usize,
    /// Milliseconds between two drawings of a tile.
    pub(crate) wall_pace_ms: u32,
    /// Unchanged lines around each change of a review.
    pub(crate) review_context: u16,
    pub(crate) keymap: Keymap,
    pub(crate) clipboard: Clipboard,
    /// What opens a link; empty: the desktop's own way.
    pub(crate) opener: Vec<String>,
    pub(crate) notices: Notices,
    pub(crate) commands: Vec<OwnCommand>,
}

impl Default for Looks {
    fn default() -> Self {
        Self {
            theme: Theme::default(),
            own_themes: Vec::new(),
            is_ascii: false,
            is_square: false,
            has_titles: true,
            has_hints: true,
            has_mouse: true,
            start: StartView::default(),
            wall_tiles: 9,
            wall_pace_ms: 100,
            review_context: 3,
            keymap: Keymap::default(),
            clipboard: Clipboard { terminal: true, command: Vec::new(), has_children: false },
            opener: Vec::new(),
            notices: Notices::default(),
            commands: Vec::new(),
        }
    }
}

/// What the deck opens with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StartView {
    #[default]
    Deck,
    Tasks,
    Wall,
    Inbox,
}

impl StartView {
    /// Every one with its word in the settings.
    pub(crate) const ALL: [(&'static str, Self); 4] =
        [("deck", Self::Deck), ("tasks", Self::Tasks), ("wall", Self::Wall), ("inbox", Self::Inbox)];
}

/// A command of the person's own, from the settings. Its words may have placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnCommand {
    pub(crate) name: String,
    pub(crate) argv: Vec<String>,
    pub(crate) placement: Placement,
}

/// What the person's terminal is asked to do when somebody needs the person, who looks elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Notices {
    /// Show a notice.
    #[default]
    Terminal,
    /// Ring.
    Bell,
    Off,
}

/// Where copies go, besides the deck's own register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clipboard {
    /// To the terminal, by its sequence.
    pub(crate) terminal: bool,
    /// To this command's standard input; empty: to none.
    pub(crate) command: Vec<String>,
    /// The program that has the keyboard may copy, too.
    pub(crate) has_children: bool,
}

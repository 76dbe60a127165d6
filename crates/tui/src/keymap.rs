//! Which key does what, by context: one table from which keys, menu, hints and help are made.
//!
//! | file | owns |
//! |---|---|
//! | `keys` | keys as people write them |
//! | `defaults` | the table as it is shipped |

pub(crate) mod defaults;
pub(crate) mod keys;

use term::Key;

pub(crate) use keys::KeyName;

/// Where keys are pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Context {
    /// After the prefix.
    Deck,
    /// In the rail.
    Rail,
    Inbox,
    Wall,
    Copy,
    Pads,
    Settings,
    Tasks,
    Review,
    /// In a list to choose from; other keys are typed into its line.
    Palette,
    /// Without the prefix, while a program has the keyboard. Nothing is bound there as it is shipped.
    Direct,
}

impl Context {
    pub(crate) const ALL: [Self; 11] = [
        Self::Deck,
        Self::Direct,
        Self::Rail,
        Self::Tasks,
        Self::Review,
        Self::Inbox,
        Self::Wall,
        Self::Copy,
        Self::Palette,
        Self::Pads,
        Self::Settings,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Deck => "deck",
            Self::Rail => "rail",
            Self::Inbox => "inbox",
            Self::Wall => "wall",
            Self::Copy => "copy",
            Self::Pads => "pads",
            Self::Settings => "settings",
            Self::Tasks => "tasks",
            Self::Review => "review",
            Self::Palette => "palette",
            Self::Direct => "direct",
        }
    }
}

/// Everything a key can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    SendPrefix,
    Palette,
    Processes,
    NextNeed,
    PreviousNeed,
    Inbox,
    FocusLeft,
    FocusDown,
    FocusUp,
    FocusRight,
    Rail,
    Tab(u8),
    LastTab,
    New,
    SplitRight,
    SplitDown,
    Zoom,
    Direct,
    Resize,
    Even,
    Move,
    CloseView,
    CloseProcess,
    Restart,
    Copy,
    Search,
    Paste,
    Wall,
    Pads,
    Explain,
    Tell,
    Rename,
    ToggleRail,
    DismissToasts,
    Settings,
    Help,
    StartDaemon,
    Leave,
    Down,
    Up,
    PageDown,
    PageUp,
    Top,
    Bottom,
    LineStart,
    LineEnd,
    WordForward,
    WordBack,
    WordEnd,
    LongWordForward,
    LongWordBack,
    LongWordEnd,
    ParagraphForward,
    ParagraphBack,
    PromptForward,
    PromptBack,
    OpenLink,
    SearchForward,
    SearchAgain,
    SearchBack,
    SelectText,
    SelectLines,
    SelectBlock,
    Yank,
    Accept,
    Cancel,
    Delete,
    Edit,
    More,
    Fewer,
    Answer,
    Snooze,
    Tasks,
    NewTask,
    Review,
    Land,
    RunTask,
    StopTask,
    DropTask,
    Restore,
    Comment,
    Send,
    NextHunk,
    PreviousHunk,
    NextFile,
    PreviousFile,
    SeenFile,
    Interrupt,
    Signal,
    SetTimer,
    Viewers,
    EarlierRuns,
    Grant,
    Grants,
    Record,
    Messages,
    Prune,
    CollectTasks,
    Append,
    /// An agent that is over goes on in its session.
    Resume,
    ResumeAll,
    SetSize,
    PresetsUp,
    PresetsDown,
    /// The earlier revisions of a scratchpad.
    Revisions,
    /// Every key goes to the selected tile until the prefix.
    TypeHere,
    /// What can be done to the selected row.
    RowMenu,
    Resolve,
    /// What the changes are compared with.
    ReviewBase,
    Refresh,
    Forecast,
    Sort,
    NextSection,
    ScrollLeft,
    ScrollRight,
    /// A command of the person's own, by its place in the settings.
    OwnCommand(u8),
}

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) context: Context,
    pub(crate) key: KeyName,
    pub(crate) action: Action,
}

/// The table, with what the person changed.
#[derive(Clone, Debug)]
pub(crate) struct Keymap {
    pub(crate) prefix: Vec<KeyName>,
    pub(crate) bindings: Vec<Binding>,
}

impl Default for Keymap {
    fn default() -> Self {
        defaults::keymap()
    }
}

impl Keymap {
    pub(crate) fn is_prefix(&self, key: &Key) -> bool {
        self.prefix.iter().any(|prefix| prefix.matches(key))
    }

    pub(crate) fn action(&self, context: Context, key: &Key) -> Option<Action> {
        let found =
            self.bindings.iter().find(|binding| binding.context == context && binding.key.matches(key));
        found.map(|binding| binding.action)
    }

    /// The first key of an action.
    pub(crate) fn first_key(&self, context: Context, action: Action) -> Option<&KeyName> {
        let is_it = |binding: &&Binding| binding.context == context && binding.action == action;
        self.bindings.iter().find(is_it).map(|binding| &binding.key)
    }

    /// The first key of an action, as it is written in hints.
    pub(crate) fn key_of(&self, context: Context, action: Action) -> Option<String> {
        self.first_key(context, action).map(ToString::to_string)
    }

    /// The prefix as it is written in hints.
    pub(crate) fn prefix_text(&self) -> String {
        self.prefix.first().map_or_else(String::new, ToString::to_string)
    }

    /// Every action of a context with its keys, in the order of the table.
    pub(crate) fn rows(&self, context: Context) -> Vec<(String, Action)> {
        let mut rows: Vec<(String, Action)> = Vec::new();
        for binding in self.bindings.iter().filter(|binding| binding.context == context) {
            match rows.iter_mut().find(|(_, action)| *action == binding.action) {
                Some((keys, _)) => *keys = format!("{keys} {}", binding.key),
                None => rows.push((binding.key.to_string(), binding.action)),
            }
        }
        rows
    }

    /// Gives an action other keys in a context. A key that another action has there goes to this one.
    pub(crate) fn rebind(&mut self, context: Context, action: Action, keys: Vec<KeyName>) {
        let is_free = |binding: &Binding| {
            binding.context != context || (binding.action != action && !keys.contains(&binding.key))
        };
        self.bindings.retain(is_free);
        self.bindings.extend(keys.into_iter().map(|key| Binding { context, key, action }));
    }
}

impl Action {
    /// The action with this name in the settings.
    pub(crate) fn named(name: &str) -> Option<Self> {
        defaults::names().find(|(_, word, _)| *word == name).map(|(action, _, _)| action)
    }

    /// What it does, for menu and help.
    pub(crate) fn label(self) -> String {
        match self {
            Self::Tab(number) => format!("tab {number}"),
            Self::OwnCommand(number) => format!("command {} of your settings", number + 1),
            other => {
                let label =
                    defaults::names().find(|(action, _, _)| *action == other).map(|(_, _, label)| label);
                label.unwrap_or_default().to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_has_two_actions_in_one_context() {
        let keymap = Keymap::default();
        for (at, binding) in keymap.bindings.iter().enumerate() {
            let same = |other: &&Binding| other.context == binding.context && other.key == binding.key;
            assert_eq!(keymap.bindings[at + 1..].iter().find(same), None, "{binding:?}");
        }
    }

    #[test]
    fn u12_every_action_in_the_table_has_a_label_for_menu_and_help() {
        for binding in Keymap::default().bindings {
            assert!(!binding.action.label().is_empty(), "{binding:?}");
        }
    }

    #[test]
    fn a_rebound_key_displaces_the_default() {
        let mut keymap = Keymap::default();
        keymap.rebind(Context::Deck, Action::Wall, vec!["n".parse().unwrap()]);
        assert_eq!(keymap.key_of(Context::Deck, Action::Wall).as_deref(), Some("n"));
        assert_eq!(keymap.key_of(Context::Deck, Action::NextNeed), None);
    }
}

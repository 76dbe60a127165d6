//! The manifest's tables about its program's screen: rules, dialogs, the composer, background work, chrome.
//! `rows`, `dialog` and `composer` apply them.

use std::collections::BTreeMap;

use proto::agent::{AgentState, BlockedKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pattern::Pattern;
use super::region::Region;
use crate::deliver::KindWord;

/// `[[rule]]`: a pattern that shows a state.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleSpec {
    /// Its name; a file merged over this one replaces the rule of the same name.
    pub id: String,
    /// Where to look.
    pub region: Region,
    /// The pattern that must be there.
    pub pattern: Pattern,
    /// The pattern that must not be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not: Option<Pattern>,
    /// The state that it shows.
    pub verdict: RuleState,
    /// What a blocked agent needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<KindWord>")]
    pub kind: Option<BlockedKind>,
    /// The capture of the pattern that becomes the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// It counts only while the composer is not on the screen.
    #[serde(default)]
    pub without_composer: bool,
    /// Of two rules that match, the one with the higher number counts; 0 when left out.
    #[serde(default)]
    pub priority: i32,
    /// How long it counts; left out: until the screen shows something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_ms: Option<u64>,
}

/// The state that a rule shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleState {
    /// The program runs and accepts no prompts yet.
    Starting,
    /// A turn is under way.
    Working,
    /// A turn is under way and the model thinks.
    Thinking,
    /// A person must answer.
    Blocked,
    /// The turn is over, and the agent waits for something of its own.
    Waiting,
    /// It accepts a prompt.
    Idle,
    /// The last turn failed.
    Error,
    /// The screen cannot be judged: the previous state stays.
    Hold,
}

impl RuleState {
    /// Returns the state; `None` keeps the previous one.
    #[must_use]
    pub fn state(self) -> Option<AgentState> {
        match self {
            Self::Starting => Some(AgentState::Starting),
            Self::Working => Some(AgentState::Working),
            Self::Thinking => Some(AgentState::Thinking),
            Self::Blocked => Some(AgentState::Blocked),
            Self::Waiting => Some(AgentState::Waiting),
            Self::Idle => Some(AgentState::Idle),
            Self::Error => Some(AgentState::Error),
            Self::Hold => None,
        }
    }

    /// Returns true if a title that distinguishes only work and rest must not override it.
    pub(crate) fn is_beyond_titles(self) -> bool {
        match self {
            Self::Blocked | Self::Hold | Self::Error | Self::Waiting => true,
            Self::Starting | Self::Working | Self::Thinking | Self::Idle => false,
        }
    }

    /// Ranks states. Of two rules with the same priority that match at once, the one with the higher rank
    /// counts: blocked beats working beats idle. A screen that cannot be judged still shows that a person
    /// must answer.
    pub(crate) fn rank(self) -> u8 {
        match self {
            Self::Blocked => 7,
            Self::Hold => 6,
            Self::Thinking => 5,
            Self::Working => 4,
            Self::Error => 3,
            Self::Waiting => 2,
            Self::Idle => 1,
            Self::Starting => 0,
        }
    }
}

/// `[[dialog]]`: something on the screen that must be answered, and how.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DialogSpec {
    /// Its name; a file merged over this one replaces the dialog of the same name.
    pub id: String,
    /// What the agent needs.
    #[schemars(with = "KindWord")]
    pub kind: BlockedKind,
    /// Where a live dialog is; what has scrolled above it is transcript.
    pub region: Region,
    /// All of these must be there.
    pub anchors: Vec<Pattern>,
    /// This must not be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not: Option<Pattern>,
    /// Its first row, the lowest above the options that matches; left out: the region's first row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<Pattern>,
    /// The question: the capture `title`, or the whole match.
    pub title: Pattern,
    /// The details: the capture `body`, or the whole match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Pattern>,
    /// Rows of the body without content: tips, rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<Pattern>,
    /// What the program shows in place of a part that it hides: the inbox then says that the text is not whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hides: Option<Pattern>,
    /// How its options are read.
    pub options: OptionsSpec,
    /// The names of options (`allow`, `always`, `deny`, `yes`, `no`), each with a pattern for the option's
    /// label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, Pattern>,
    /// Options that it always has, even where the screen is too small to show them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<FixedOption>,
    /// How many rows with text may follow the last option; a dialog with more below it is a quotation.
    #[serde(default = "rows_below")]
    pub below: u16,
    /// The composer stays below this dialog. Without this, a dialog with a composer below it is a quotation.
    #[serde(default)]
    pub keeps_composer: bool,
    /// Of two dialogs that match, the one with the higher number counts; 0 when left out.
    #[serde(default)]
    pub priority: i32,
}

fn rows_below() -> u16 {
    2
}

/// How the options of a dialog are read from the screen and chosen with keys.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "style")]
pub enum OptionsSpec {
    /// One row each.
    Lines {
        /// A row with an option: captures `label`, and `number`, `key` or `pointer` as `press` needs them.
        line: Pattern,
        /// How one is chosen.
        press: Press,
        /// Keys to press afterwards.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        then: Vec<String>,
        /// Rows below an option describe it; otherwise they are the rest of its label.
        #[serde(default)]
        described: bool,
        /// With `press = "move"`: the labels of all options in their order, of which a small screen shows a part.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        all: Vec<String>,
    },
    /// All in one row, chosen with left and right; the current one is highlighted.
    Row {
        /// One option: the capture `label`, or the whole match.
        label: Pattern,
        /// The row with the options.
        row: Pattern,
    },
    /// Always the same.
    Fixed {
        /// Each of them.
        list: Vec<FixedOption>,
    },
}

/// How an option in a row of its own is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Press {
    /// By its number, which chooses at once.
    Digit,
    /// By the key that its row names.
    Key,
    /// By moving the pointer with up and down, then enter.
    Move,
}

/// An option of a dialog whose options are always the same.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixedOption {
    /// What it says.
    pub label: String,
    /// The words that `answer` accepts for it.
    #[serde(default)]
    pub names: Vec<String>,
    /// The keys that choose it; `{text}` stands for the answer's own text.
    pub keys: Vec<String>,
}

/// `[composer]`: where prompts are written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComposerSpec {
    /// Where to look.
    pub region: Region,
    /// The composer; the capture `text` is its content. The lowest match counts.
    pub prompt: Pattern,
    /// Marks a match as something else that looks like a composer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not: Option<Pattern>,
    /// Removed from the text before it is judged: frames at the side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Pattern>,
    /// Texts that an empty composer shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placeholders: Vec<Pattern>,
    /// It is empty only while it shows one of these texts: one without any text is unknown. For programs of which not every
    /// view is known.
    #[serde(default)]
    pub needs_placeholder: bool,
    /// An empty composer shows a faint text.
    #[serde(default)]
    pub faint_is_empty: bool,
    /// The composer in the program's shell mode, where Enter runs a command. Quarterdeck never types into it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<Pattern>,
    /// The program takes a prompt that begins with this as a shell command, so no message may begin so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell_prefix: Option<String>,
    /// What the composer shows instead of a long paste; matched against its whole text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folds: Vec<Pattern>,
    /// The program draws it before it accepts prompts: it counts only once the program asked for bracketed
    /// pastes.
    #[serde(default)]
    pub needs_paste_mode: bool,
}

impl ComposerSpec {
    /// Returns true if Enter would run this draft as a command. Where the shell mode has a pattern, the pattern decides;
    /// elsewhere the draft itself is all that shows it.
    pub(crate) fn is_command(&self, draft: &str) -> bool {
        self.shell.is_none() && self.shell_prefix.as_deref().is_some_and(|prefix| draft.starts_with(prefix))
    }
}

/// `[[background]]`: something that still runs although no turn is under way.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundSpec {
    /// Its name; a file merged over this one replaces it.
    pub id: String,
    /// Where to look.
    pub region: Region,
    /// What shows it; the capture `count` is the number, without it one.
    pub pattern: Pattern,
}

/// `[trim]`: the parts of a screen that are not worth reading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trim {
    /// Rows that are dropped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Pattern>,
    /// Blocks of rows that are dropped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Pattern>,
}

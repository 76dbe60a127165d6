//! The manifest: everything known about one vendor's program.
//!
//! There are no guessed defaults: what a manifest does not describe is not done. Types whose text has a
//! grammar (templates, patterns) check it when they are read, so that a fault has its line.

use std::collections::{BTreeMap, BTreeSet};

use proto::agent::AgentState;
use proto::request::PermissionMode;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context_window::ContextSpec;
use crate::deliver::{Channel, Deliver, ReadySpec};
use crate::detect::{BackgroundSpec, ComposerSpec, DetectError, DialogSpec, RuleSpec, Trim, spec_faults};
use crate::hook::Hooks;
use crate::inject::Mcp;
use crate::quota::QuotaSpec;
use crate::server::ServerSpec;
use crate::session::SessionSpec;
use crate::state_file::StateFileSpec;
use crate::template::Template;
use crate::transcript::TranscriptSpec;
use crate::version::{Tried, Version, VersionSpec};

/// A vendor's program, as data.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Its name; also the name of its file.
    #[serde(default)]
    pub name: String,
    /// The program and the words that it is always started with; empty: the user's words are the program.
    #[serde(default)]
    pub argv: Vec<String>,
    /// The command that prints its version.
    #[serde(default)]
    pub version_argv: Vec<String>,
    /// Which versions it was tried with.
    #[serde(default)]
    pub tried: Tried,
    /// What ranges of versions do differently. Every entry that covers the installed version is merged over
    /// the rest.
    #[serde(default)]
    pub version: Vec<VersionSpec>,
    /// Variables it is started with.
    #[serde(default)]
    pub env: BTreeMap<String, Template>,
    /// Variables it must not inherit.
    #[serde(default)]
    pub unset: Vec<String>,
    /// Variables that it gets from the user's environment: where its settings are, who pays. No other process
    /// gets them.
    #[serde(default)]
    pub inherit: Vec<String>,
    /// It is not offered.
    #[serde(default)]
    pub disabled: bool,
    /// How it is configured to start our server.
    #[serde(default)]
    pub mcp: Option<Mcp>,
    /// How its lifecycle events reach us, and what each means.
    #[serde(default)]
    pub hooks: Option<Hooks>,
    /// How its session is chosen or found out.
    #[serde(default)]
    pub session: SessionSpec,
    /// How we know that it accepts prompts.
    #[serde(default)]
    pub ready: ReadySpec,
    /// How a prompt reaches it.
    #[serde(default)]
    pub deliver: Deliver,
    /// What a spawn may choose: the model and the permission mode.
    #[serde(default)]
    pub choices: Choices,
    /// What the screen and the title show about the state.
    #[serde(default)]
    pub rule: Vec<RuleSpec>,
    /// The dialogs of its screen and their answers.
    #[serde(default)]
    pub dialog: Vec<DialogSpec>,
    /// Where prompts are written.
    #[serde(default)]
    pub composer: Option<ComposerSpec>,
    /// What still runs although no turn is under way.
    #[serde(default)]
    pub background: Vec<BackgroundSpec>,
    /// The parts of the screen that are not worth reading.
    #[serde(default)]
    pub trim: Trim,
    /// The context windows of its models.
    #[serde(default)]
    pub context: Option<ContextSpec>,
    /// The file in which it records its sessions.
    #[serde(default)]
    pub transcript: Option<TranscriptSpec>,
    /// The file in which it keeps its own state.
    #[serde(default)]
    pub state_file: Option<StateFileSpec>,
    /// The server it carries.
    #[serde(default)]
    pub server: Option<ServerSpec>,
    /// The messages with which it refuses turns for now.
    #[serde(default)]
    pub quota: Vec<QuotaSpec>,
}

/// The options of a spawn, in the vendor's words.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Choices {
    /// The words that choose a model, with `{text}` for it; empty: it accepts none.
    #[serde(default)]
    pub model: Vec<Template>,
    /// The words for each mode it has: `plan`, `ask`, `edit` and `auto`.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<String>>")]
    pub modes: BTreeMap<PermissionMode, Vec<String>>,
}

impl Manifest {
    /// Returns true if its hooks can deliver a message at the end of a turn.
    #[must_use]
    pub fn delivers_at_turn_end(&self) -> bool {
        self.hooks.as_ref().is_some_and(|hooks| hooks.answer.go_on.is_some())
    }

    /// Returns true if its launch differs between versions, or a version may be too old for it.
    #[must_use]
    pub fn depends_on_version(&self) -> bool {
        !self.version.is_empty() || self.tried.oldest.is_some()
    }

    /// Returns the manifest for a launch whose directory others than root may write to: without the files
    /// that the program would not read there. `None` when the program reads all of them.
    #[must_use]
    pub fn without_root_only(&self) -> Option<Self> {
        let (mcp, hooks) = (
            self.mcp.as_ref().filter(|mcp| !mcp.only_as_root),
            self.hooks.as_ref().filter(|hooks| !hooks.only_as_root),
        );
        if mcp.is_some() == self.mcp.is_some() && hooks.is_some() == self.hooks.is_some() {
            return None;
        }
        Some(Self { mcp: mcp.cloned(), hooks: hooks.cloned(), ..self.clone() })
    }

    /// Returns the warnings for a person whose program is older than any tested version, or lacks something.
    #[must_use]
    pub fn version_warnings(&self, version: Version) -> Vec<String> {
        let name = &self.name;
        let too_old = self.tried.oldest.filter(|oldest| version < *oldest).map(|oldest| {
            format!(
                "{name} {version} is not supported: {oldest} is the oldest version that was tried. It may end at \
                 once, and its state may be wrong. Update it"
            )
        });
        let covering = self.version.iter().filter(|spec| spec.covers(version));
        let lacks = covering.flat_map(|spec| &spec.lacks).map(|lack| format!("{name} {version}: {lack}"));
        too_old.into_iter().chain(lacks).collect()
    }

    /// Returns what works with it, one word each, as lists show it.
    #[must_use]
    pub fn abilities(&self) -> Vec<&'static str> {
        let abilities = [
            ("mcp", self.mcp.is_some()),
            ("hooks", self.hooks.is_some()),
            ("resume", !self.session.resume.is_empty()),
            ("native_delivery", self.deliver.channel != Channel::None || self.delivers_at_turn_end()),
            ("context", self.transcript.is_some() || self.server.is_some()),
            ("quota", !self.quota.is_empty()),
            ("dialogs", !self.dialog.is_empty()),
        ];
        abilities.into_iter().filter_map(|(word, works)| works.then_some(word)).collect()
    }

    /// Returns the contradictions in it.
    pub(crate) fn contradictions(&self) -> Vec<Contradiction> {
        let mut found = self.lonely_channels();
        if let Some(hooks) = &self.hooks {
            let lonely = hooks
                .event
                .iter()
                .filter(|event| event.kind.is_some() && event.state != Some(AgentState::Blocked));
            found.extend(
                lonely.map(|event| Contradiction::of_entry(&event.id, "it has a kind but is not blocked")),
            );
            found.extend(repeated(hooks.event.iter().map(|event| event.id.as_str())));
        }
        found.extend(repeated(self.version.iter().map(|version| version.id.as_str())));
        found.extend(repeated(self.rule.iter().map(|rule| rule.id.as_str())));
        found.extend(repeated(self.dialog.iter().map(|dialog| dialog.id.as_str())));
        found.extend(
            spec_faults(self)
                .iter()
                .map(|fault| Contradiction::of_entry(detect_id(fault), &fault.to_string())),
        );
        found
    }

    fn lonely_channels(&self) -> Vec<Contradiction> {
        match self.deliver.channel {
            Channel::Command if self.deliver.command.is_empty() => {
                vec![Contradiction::of_table("deliver", "the channel `command` needs `command`, its words")]
            }
            Channel::Server if self.server.is_none() => {
                vec![Contradiction::of_table("deliver", "the channel `server` needs the table `server`")]
            }
            Channel::None | Channel::Server | Channel::Command => Vec::new(),
        }
    }
}

/// Two things in a manifest that do not go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contradiction {
    /// Where to report it: the key of a table, or the `id` of an entry.
    pub(crate) place: KeyPlace,
    /// Why they contradict each other.
    pub(crate) reason: String,
}

/// Where to report a contradiction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    /// At a table of this key.
    Table(&'static str),
    /// At the entry of this `id`.
    Entry(String),
}

impl Contradiction {
    fn of_table(table: &'static str, reason: &str) -> Self {
        Self { place: KeyPlace::Table(table), reason: reason.to_owned() }
    }

    fn of_entry(id: &str, reason: &str) -> Self {
        Self { place: KeyPlace::Entry(id.to_owned()), reason: format!("{id}: {reason}") }
    }
}

fn repeated<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<Contradiction> {
    let mut seen = BTreeSet::new();
    ids.filter(|id| !seen.insert(*id))
        .map(|id| Contradiction::of_entry(id, "this id is there twice"))
        .collect()
}

fn detect_id(fault: &DetectError) -> &str {
    match fault {
        DetectError::MissingCapture { id, .. }
        | DetectError::Unseen { id, .. }
        | DetectError::Key { id, .. } => id,
    }
}

#[cfg(test)]
mod tests {
    use crate::Catalogue;

    #[test]
    fn abilities_are_what_the_manifest_has() {
        let catalogue = Catalogue::built_in();
        let of = |name: &str| catalogue.get(name).unwrap().abilities();
        for name in ["claude", "codex", "gemini"] {
            assert!(
                of(name).starts_with(&["mcp", "hooks", "resume", "native_delivery"]),
                "{name}: {:?}",
                of(name)
            );
        }
        assert!(of("opencode").contains(&"native_delivery"));
        assert!(!of("generic").contains(&"mcp") && !of("generic").contains(&"resume"));
    }

    #[test]
    fn only_vendors_whose_hooks_can_answer_say_so() {
        let catalogue = Catalogue::built_in();
        let answers = |name: &str| {
            let hooks = catalogue.get(name).unwrap().hooks.as_ref();
            hooks.is_some_and(|hooks| hooks.answer.allow.is_some() && hooks.answer.deny.is_some())
        };
        assert!(answers("claude") && answers("codex"));
        assert!(!answers("gemini") && !answers("opencode"));
    }
}

//! One manifest: everything that is known of one vendor's program.
//!
//! Owns its shape. Refuses defaults that guess: what a manifest does not say is not done. Types whose text has a grammar
//! (templates, patterns) check it while they are read, so that a fault has its line.

use std::collections::BTreeMap;

use proto::agent::AgentState;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::deliver::{Channel, Deliver, Ready};
use crate::hook::Hooks;
use crate::inject::Mcp;
use crate::session::Session;
use crate::detect::{BackgroundSpec, ComposerSpec, DialogSpec, RuleSpec, Trim};
use crate::template::Template;

/// A vendor's program, as data.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// What it is called; the name of its file.
    #[serde(default)]
    pub name: String,
    /// The program and the words it is always started with; empty: the user's words are the program.
    #[serde(default)]
    pub argv: Vec<String>,
    /// What prints its version.
    #[serde(default)]
    pub version_argv: Vec<String>,
    /// Variables it is started with.
    #[serde(default)]
    pub env: BTreeMap<String, Template>,
    /// Variables it must not inherit.
    #[serde(default)]
    pub unset: Vec<String>,
    /// It is not offered.
    #[serde(default)]
    pub disabled: bool,
    /// How it is told of our server.
    #[serde(default)]
    pub mcp: Option<Mcp>,
    /// How its lifecycle events reach us, and what each means.
    #[serde(default)]
    pub hooks: Option<Hooks>,
    /// How its session is chosen or learnt.
    #[serde(default)]
    pub session: Session,
    /// What says that it takes prompts.
    #[serde(default)]
    pub ready: Ready,
    /// How a prompt reaches it.
    #[serde(default)]
    pub deliver: Deliver,
    /// What the screen and the title say about the state.
    #[serde(default)]
    pub rule: Vec<RuleSpec>,
    /// What must be answered on the screen, and how.
    #[serde(default)]
    pub dialog: Vec<DialogSpec>,
    /// Where prompts are written.
    #[serde(default)]
    pub composer: Option<ComposerSpec>,
    /// What runs on although no turn is under way.
    #[serde(default)]
    pub background: Vec<BackgroundSpec>,
    /// What of the screen is not worth reading.
    #[serde(default)]
    pub trim: Trim,
}

impl Manifest {
    /// Whether its hooks can hand a message over at the end of a turn.
    #[must_use]
    pub fn hands_over_at_turn_end(&self) -> bool {
        self.hooks.as_ref().is_some_and(|hooks| hooks.answer.go_on.is_some())
    }

    /// Whether its hooks can answer a request for leave to use a tool.
    #[must_use]
    pub fn answers_permissions(&self) -> bool {
        self.hooks.as_ref().is_some_and(|hooks| hooks.answer.allow.is_some() && hooks.answer.deny.is_some())
    }

    /// What in it does not go together, each with the table it concerns.
    pub(crate) fn contradictions(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        if self.deliver.channel == Channel::Command && self.deliver.command.is_empty() {
            found.push(("deliver", "the channel `command` needs `command`, its words".to_owned()));
        }
        if let Some(hooks) = &self.hooks {
            let lonely = hooks.event.iter().filter(|event| event.kind.is_some() && event.state != Some(AgentState::Blocked));
            let told = lonely.map(|event| ("hooks", format!("event {:?} has a kind but is not blocked", event.id)));
            found.extend(told);
        }
        found
    }
}

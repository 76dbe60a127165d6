//! What was asked of a process: everything a restart keeps.

use std::collections::BTreeMap;

use proto::process::Ready;
use proto::project::Project;
use proto::request::SizePolicy;
use proto::rights::Budget;
use proto::{Kind, ProcessId, Stop};
use serde::{Deserialize, Serialize};

/// What was asked of a process. Part of its document: new fields need a default, so that older documents still read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// Its kind.
    pub kind: Kind,
    /// Who spawned it.
    #[serde(default)]
    pub parent: Option<ProcessId>,
    /// The task it works for.
    #[serde(default)]
    pub task: Option<String>,
    /// Its access scope.
    pub workspace: String,
    /// What it runs.
    pub argv: Vec<String>,
    /// Where.
    pub cwd: String,
    /// With which environment.
    #[serde(flatten)]
    pub environment: Environment,
    /// Whose size the terminal has.
    #[serde(default)]
    pub policy: SizePolicy,
    /// Start it again when it fails.
    #[serde(default)]
    pub auto_restart: bool,
    /// End it when unused for this long.
    #[serde(default)]
    pub idle_timeout_ms: Option<u64>,
    /// The project it works in.
    #[serde(default)]
    pub project: Project,
    /// The preset it was started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The key it was spawned with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Start it again when its holder is gone.
    #[serde(default)]
    pub restore: bool,
    /// A caller inside it has the rights of the person who opened it, unless something stands against it.
    #[serde(default)]
    pub acts_for_person: bool,
    /// How it reports that it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
    /// What the tree below it may use up, as a person set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// How it is asked to end, when the caller who ends it does not say.
    #[serde(default)]
    pub stop: Stop,
}

impl Spec {
    /// The spec as the database keeps it. An environment has secrets: it is stored only for what is restored after a
    /// reboot.
    pub(crate) fn stored(&self) -> Self {
        let mut stored = self.clone();
        if !self.restore {
            stored.environment.env = BTreeMap::new();
            stored.environment.env_hex = BTreeMap::new();
        }
        stored
    }
}

/// The environment that the runs of a process are started with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The variables. In the database only for what is restored; the holder always has them. Empty: they are not known.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The variables that are not text: name and value in hexadecimal digits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env_hex: BTreeMap<String, String>,
    /// Names of the variables that were declared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared: Vec<String>,
    /// The session of the task it works for.
    #[serde(skip)]
    pub(crate) session: Option<String>,
    /// What it has in place of its own environment, which is lost.
    #[serde(skip)]
    pub(crate) stand_in: Option<StandIn>,
}

/// What a process has in place of an environment that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StandIn {
    /// The allow-listed part of the daemon's.
    Daemons,
    /// That of the person who had it started again.
    Persons,
}

//! What is made durable of an entry, in a form that outlives this build.
//!
//! Owns the document. Refuses secrets: the inherited environment of a person's terminal is never written down.

use std::collections::BTreeMap;

use proto::request::SizePolicy;
use proto::{Exit, Kind, Name, Owner, ProcessId, RunNumber, Size, Status};
use serde::{Deserialize, Serialize};

/// One change to what is durable.
#[derive(Clone, Debug)]
pub enum Record {
    /// The entry is like this now.
    Put(Box<ProcessRecord>),
    /// The entry is gone.
    Remove(ProcessId),
}

/// One entry. New fields need a default, so that older documents still read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// Its id.
    pub id: ProcessId,
    /// Its name.
    pub name: Name,
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
    /// Who types.
    #[serde(default)]
    pub owner: Owner,
    /// What it runs.
    pub argv: Vec<String>,
    /// Where.
    pub cwd: String,
    /// The environment to start it with again; empty for terminals, which are not started again.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Its terminal's size.
    pub size: Size,
    /// Whose size that is.
    #[serde(default)]
    pub policy: SizePolicy,
    /// Where it is in its life.
    pub status: Status,
    /// Which run.
    pub run: RunNumber,
    /// The mark the run's processes carry in their environment.
    #[serde(default)]
    pub run_token: String,
    /// Whether a holder should exist for the run.
    #[serde(default)]
    pub has_holder: bool,
    /// The child's pid.
    #[serde(default)]
    pub pid: Option<i32>,
    /// How the run ended.
    #[serde(default)]
    pub exit: Option<Exit>,
    /// Why it could not be started.
    #[serde(default)]
    pub failure: Option<String>,
    /// When the run started, wall time.
    #[serde(default)]
    pub started_at: u64,
    /// Start it again when it fails.
    #[serde(default)]
    pub auto_restart: bool,
    /// End it when unused for this long.
    #[serde(default)]
    pub idle_timeout_ms: Option<u64>,
}

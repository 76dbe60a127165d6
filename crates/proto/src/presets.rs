//! What clients see of presets: the stored commands of a project.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Stop;
use crate::process::Ready;
use crate::project::Project;

/// What a preset runs, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresetCommand {
    /// What it runs; a line of shell is `["/bin/sh", "-c", line]`.
    pub argv: Vec<String>,
    /// The variables it declares.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// It restarts when it fails.
    #[serde(default)]
    pub auto_restart: bool,
    /// It restarts after a reboot of the machine.
    #[serde(default)]
    pub restore: bool,
    /// How it shows that it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
    /// How it is asked to end.
    #[serde(default)]
    pub stop: Stop,
    /// Presets that `qd up` waits for before it starts this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

/// One preset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresetView {
    /// Its name.
    pub name: String,
    /// The file that defines it.
    pub origin: String,
    /// What it runs, and how.
    #[serde(flatten)]
    pub command: PresetCommand,
    /// The directory it runs in.
    pub cwd: String,
    /// True if agents may start it without approval.
    pub trusted: bool,
}

/// A project's presets, and the faults of their files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresetList {
    /// The project.
    pub project: Project,
    /// The presets by name.
    pub presets: Vec<PresetView>,
    /// The faults, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

//! Who calls: a paired device, a token or a link, each with a role and perhaps a workspace or one target.

use client::RemotePerson;
use proto::limit::check_label;
use proto::{Limit, Role};
use serde::{Deserialize, Serialize};

use crate::problem::Problem;

/// How a caller proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdentityKind {
    /// A paired browser, by its cookie.
    Device,
    /// A script or a program, by its bearer token.
    Token,
    /// Somebody with a link to one process or one task, who may only watch.
    Link,
}

impl IdentityKind {
    /// Its name on the wire.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Token => "token",
            Self::Link => "link",
        }
    }
}

/// The one thing that a link shows. In the file and in answers it is a process's id, or an object with a task's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LinkTarget {
    /// The process with this id.
    Process(String),
    /// A task, with its processes.
    Task {
        /// Its name.
        task: String,
        /// When it was created, in milliseconds since the epoch: a later task may have the same name.
        created_at: u64,
    },
}

/// What an identity may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The role.
    pub role: Role,
    /// The workspace; without one, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// What a link shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<LinkTarget>,
}

impl Default for Scope {
    /// To watch, everywhere.
    fn default() -> Self {
        Self { role: Role::View, workspace: None, target: None }
    }
}

impl Scope {
    /// What a connection to the daemon may do at most for a caller with this scope. The daemon enforces it; that a link
    /// shows one process or one task is the server's own rule.
    #[must_use]
    pub fn limit(&self) -> Limit {
        Limit { workspace: self.workspace.clone(), role: self.role }
    }
}

/// A caller that was recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AccessIdentity {
    /// Its id: `d_`, `t_` or `l_` and eight characters.
    pub id: String,
    /// What it is.
    pub kind: IdentityKind,
    /// Its name for people.
    pub label: String,
    /// What it may do.
    #[serde(flatten)]
    pub scope: Scope,
}

impl AccessIdentity {
    /// Returns whom a connection to the daemon is for.
    #[must_use]
    pub fn person(&self) -> RemotePerson {
        // A label from before labels were checked is replaced by the id.
        let label = if check_label(&self.label).is_ok() { &self.label } else { &self.id };
        RemotePerson { label: label.clone(), limit: self.scope.limit() }
    }

    /// Checks that the role is enough. The daemon checks it again; here it is refused before anything is asked.
    pub(crate) fn check_role(&self, needed: Role) -> Result<(), Problem> {
        if self.scope.role >= needed || !checks_roles() {
            return Ok(());
        }
        let (needed, own) = (needed.word(), self.scope.role.word());
        Err(Problem::denied(format!("this needs the role {needed}; {} has {own}", self.label)))
    }
}

/// Returns false if a test has switched the server's own checks of roles off, to see that the daemon refuses by itself. A
/// release build has no such switch.
#[cfg(debug_assertions)]
pub(crate) fn checks_roles() -> bool {
    std::env::var_os("QD_TEST_UNCHECKED_ROLES").is_none()
}

/// Returns true: the server checks roles.
#[cfg(not(debug_assertions))]
pub(crate) fn checks_roles() -> bool {
    true
}

//! Who calls: a paired device, a token or a link, each with a role and perhaps a workspace or one target.

use serde::{Deserialize, Serialize};

/// What a caller may do at most. Each role includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessRole {
    /// Look at lists, screens, logs and events.
    #[default]
    View,
    /// Type, start, end, send messages and answer.
    Type,
    /// Mint and revoke, grant, trust.
    Admin,
}

impl AccessRole {
    /// Its name on the wire.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Type => "type",
            Self::Admin => "admin",
        }
    }
}

impl std::str::FromStr for AccessRole {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "view" => Ok(Self::View),
            "type" => Ok(Self::Type),
            "admin" => Ok(Self::Admin),
            other => Err(format!("a role is view, type or admin, not {}", proto::Printable(other))),
        }
    }
}

/// How a caller proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdentityKind {
    /// A paired browser, by its cookie.
    Device,
    /// A script or a program, by its bearer token.
    Token,
    /// Somebody with a link to one process, who may only watch.
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

/// What an identity may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The role.
    pub role: AccessRole,
    /// The workspace; without one, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The one process that a link shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
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
    /// Returns true if it may know of this process.
    #[must_use]
    pub fn covers(&self, process: &str) -> bool {
        self.scope.target.as_deref().is_none_or(|only| only == process)
    }
}

//! The limit of a connection: one workspace, and a role. `hello` sets it, and a later `hello` can only tighten it.

use serde::{Deserialize, Serialize};

use crate::{ErrorCode, Failure, Printable};

/// Longest label of a remote person, in characters.
const MAX_LABEL: usize = 64;
/// Longest name of a workspace, in characters.
const MAX_WORKSPACE: usize = 64;

/// What a connection may do at most. Each role includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Look at lists, screens, logs and events.
    View,
    /// Type, start, end, send messages and answer.
    Type,
    /// Grant, trust, read the audit log, mint and revoke, end the daemon.
    #[default]
    Admin,
}

impl Role {
    /// Every role, the least first.
    pub const ALL: [Self; 3] = [Self::View, Self::Type, Self::Admin];

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

impl std::str::FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|role| role.word() == text);
        found.ok_or_else(|| format!("a role is view, type or admin, not {}", Printable(text)))
    }
}

/// What a connection may do at most, and in which workspace. The default limits nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// Only the processes of this workspace exist for the connection; without it, those of all workspaces do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The role.
    #[serde(default)]
    pub role: Role,
}

impl Limit {
    /// Returns true if it limits nothing.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.workspace.is_none() && self.role == Role::Admin
    }

    /// Returns true if the connection may know of this workspace.
    #[must_use]
    pub fn covers(&self, workspace: &str) -> bool {
        self.workspace.as_deref().is_none_or(|only| only == workspace)
    }

    /// Returns the limit that both allow.
    ///
    /// # Errors
    ///
    /// They name different workspaces, or a name that no workspace can have.
    pub fn tightened(&self, by: &Self) -> Result<Self, Failure> {
        let workspace = match (&self.workspace, &by.workspace) {
            (Some(own), Some(other)) if own != other => {
                let message = format!("this connection is limited to workspace {}", Printable(own));
                return Err(Failure::new(ErrorCode::WorkspaceMismatch, message)
                    .hint("open another connection for another workspace"));
            }
            (own, other) => own.as_ref().or(other.as_ref()),
        };
        if let Some(name) = workspace {
            check_workspace("limit.workspace", name)?;
        }
        Ok(Self { workspace: workspace.cloned(), role: self.role.min(by.role) })
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.role.word())?;
        match &self.workspace {
            Some(workspace) => write!(f, " in {}", Printable(workspace)),
            None => Ok(()),
        }
    }
}

/// Checks whether a workspace can have this name.
///
/// # Errors
///
/// It is empty, too long or not printable.
pub fn check_workspace(field: &str, name: &str) -> Result<(), Failure> {
    if is_printable(name, MAX_WORKSPACE) && !name.contains('"') {
        return Ok(());
    }
    Err(Failure::invalid(field, format!("between 1 and {MAX_WORKSPACE} printable characters, no quotes")))
}

/// Checks the label by which a remote person appears in the audit log.
///
/// # Errors
///
/// It is empty, too long or not printable.
pub fn check_label(label: &str) -> Result<(), Failure> {
    if is_printable(label, MAX_LABEL) && !label.contains('"') {
        return Ok(());
    }
    Err(Failure::invalid("label", format!("between 1 and {MAX_LABEL} printable characters, no quotes")))
}

fn is_printable(text: &str, most: usize) -> bool {
    let count = text.chars().count();
    (1..=most).contains(&count) && text.trim() == text && Printable(text).to_string() == text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Vec<Limit> {
        let workspaces = [None, Some("local".to_owned()), Some("other".to_owned())];
        let of =
            |workspace: Option<String>| Role::ALL.map(|role| Limit { workspace: workspace.clone(), role });
        workspaces.into_iter().flat_map(of).collect()
    }

    fn allows(limit: &Limit, role: Role, workspace: &str) -> bool {
        role <= limit.role && limit.covers(workspace)
    }

    #[test]
    fn n5_a_limit_is_only_ever_tightened() {
        for (own, by) in limits().iter().flat_map(|own| limits().into_iter().map(move |by| (own.clone(), by)))
        {
            for role in Role::ALL {
                for workspace in ["local", "other", "third"] {
                    let both = allows(&own, role, workspace) && allows(&by, role, workspace);
                    match own.tightened(&by) {
                        Ok(limit) => assert_eq!(allows(&limit, role, workspace), both, "{own} by {by}"),
                        Err(failure) => {
                            assert_eq!(failure.code, ErrorCode::WorkspaceMismatch);
                            assert!(!both, "{own} by {by}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn n5_a_label_and_a_workspace_are_short_and_printable() {
        for bad in ["", " ", "a\nb", "\u{1b}[31m", "a\u{202e}b", "say \"hi\"", &"x".repeat(65)] {
            assert!(check_label(bad).is_err(), "{bad:?}");
        }
        assert!(check_label("Ana's phone").is_ok());
        let named = |workspace: &str| Limit { workspace: Some(workspace.to_owned()), role: Role::View };
        assert!(Limit::default().tightened(&named("a\nb")).is_err());
        assert!(Limit::default().tightened(&named("")).is_err());
        assert!(Limit::default().tightened(&named("local")).is_ok());
    }
}

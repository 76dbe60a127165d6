//! Workspaces: the access scopes that there are. Tasks and processes name theirs, and a connection can be limited to one.

use proto::limit::check_workspace;
use proto::{ErrorCode, Failure, Printable};
use serde::{Deserialize, Serialize};

use crate::undo::UndoMap;

/// The workspace of everything that names none. It is always there.
pub const LOCAL_WORKSPACE: &str = "local";
/// Most workspaces.
const MAX_WORKSPACES: usize = 200;

/// What is kept of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceRecord {
    /// Its name.
    pub name: String,
    /// When it was made, in milliseconds since the epoch.
    pub created_at: u64,
}

/// Every workspace but `local`, by name.
#[derive(Debug, Default)]
pub(crate) struct Workspaces {
    pub(crate) made: UndoMap<String, WorkspaceRecord>,
}

impl Workspaces {
    /// Those that an earlier daemon recorded, and those that its tasks and processes name: a daemon from before there
    /// was a list took any name.
    pub(crate) fn restore(saved: Vec<WorkspaceRecord>, used: impl Iterator<Item = String>) -> Self {
        let used = used.filter(|name| name != LOCAL_WORKSPACE);
        let used = used.map(|name| (name.clone(), WorkspaceRecord { name, created_at: 0 }));
        let saved = saved.into_iter().map(|record| (record.name.clone(), record));
        Self { made: used.chain(saved).collect() }
    }

    /// A process that no record knew of names this one.
    pub(crate) fn note_used(&mut self, name: &str) {
        if self.check_known(name).is_err() {
            self.made.insert(name.to_owned(), WorkspaceRecord { name: name.to_owned(), created_at: 0 });
        }
    }

    /// The names of all of them.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(LOCAL_WORKSPACE).chain(self.made.keys().map(String::as_str))
    }

    /// Checks that there is one of this name.
    pub(crate) fn check_known(&self, name: &str) -> Result<(), Failure> {
        if self.names().any(|known| known == name) {
            return Ok(());
        }
        let shown: String = name.chars().take(64).collect();
        let message = format!("there is no workspace \"{}\"", Printable(&shown));
        Err(Failure::new(ErrorCode::WorkspaceMismatch, message)
            .hint("`qd workspace list` shows them, `qd workspace new` makes one"))
    }

    /// Checks that a new one may have this name.
    pub(crate) fn check_free(&self, field: &str, name: &str) -> Result<(), Failure> {
        check_workspace(field, name)?;
        if self.check_known(name).is_ok() {
            let message = format!("there is a workspace \"{}\" already", Printable(name));
            return Err(Failure::new(ErrorCode::Conflict, message).hint("choose another name"));
        }
        Ok(())
    }

    /// Checks that there is room for one more.
    pub(crate) fn check_room(&self) -> Result<(), Failure> {
        if self.made.len() < MAX_WORKSPACES {
            return Ok(());
        }
        let message = format!("there are {MAX_WORKSPACES} workspaces already, which is the limit");
        Err(Failure::new(ErrorCode::Limit, message).hint("remove some: qd workspace remove NAME"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t3_a_workspace_is_known_once_it_was_made_or_used_and_local_always() {
        let saved = vec![WorkspaceRecord { name: "phone".to_owned(), created_at: 7 }];
        let used = ["local", "old", "phone"].map(str::to_owned);
        let workspaces = Workspaces::restore(saved, used.into_iter());
        assert_eq!(workspaces.names().collect::<Vec<_>>(), ["local", "old", "phone"]);
        assert_eq!(workspaces.made["phone"].created_at, 7, "what was recorded wins");
        assert!(workspaces.check_known("old").is_ok());
        let failure = workspaces.check_known("phoen").unwrap_err();
        assert_eq!(failure.code, ErrorCode::WorkspaceMismatch);
        assert_eq!(workspaces.check_free("name", "phone").unwrap_err().code, ErrorCode::Conflict);
        assert_eq!(workspaces.check_free("name", "local").unwrap_err().code, ErrorCode::Conflict);
        for bad in ["", " ", "a\nb", "say \"hi\"", &"x".repeat(65)] {
            assert_eq!(
                workspaces.check_free("name", bad).unwrap_err().code,
                ErrorCode::InvalidArgs,
                "{bad:?}"
            );
        }
    }
}

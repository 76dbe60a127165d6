//! Stashes, by the branch that they were made on.

use crate::error::Result;
use crate::repository::Repository;

/// One stash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stash {
    /// The branch that was checked out; none if `HEAD` was detached.
    pub branch: Option<String>,
    /// What the person wrote, or the subject of the commit below it.
    pub subject: String,
}

impl Repository {
    /// Returns all stashes, newest first.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn stashes(&self) -> Result<Vec<Stash>> {
        if self.references("refs/stash")?.is_empty() {
            return Ok(Vec::new());
        }
        let call = self.read("log").args(["--walk-reflogs", "--format=%gs"]).names(["refs/stash", "--"]);
        Ok(call.text()?.lines().map(parse_stash).collect())
    }
}

/// Parses `WIP on main: 1a2b3c4 subject` or `On main: words`.
fn parse_stash(line: &str) -> Stash {
    let rest = line.strip_prefix("WIP on ").or_else(|| line.strip_prefix("On "));
    match rest.and_then(|rest| rest.split_once(": ")) {
        Some((branch, subject)) => {
            let branch = Some(branch.to_owned()).filter(|branch| branch != "(no branch)");
            Stash { branch, subject: subject.to_owned() }
        }
        None => Stash { branch: None, subject: line.to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f6_a_stash_belongs_to_the_branch_it_was_made_on() {
        let branch = |line| parse_stash(line).branch;
        assert_eq!(branch("WIP on a/b: 1a2b3c4 on: it"), Some("a/b".to_owned()));
        assert_eq!(branch("On main: words: more"), Some("main".to_owned()));
        assert_eq!(branch("On (no branch): words"), None);
        assert_eq!(branch("made by another tool"), None);
    }
}

//! Fetches from a remote, only when a person asks for it, with a time limit and progress.

use std::time::Duration;

use crate::error::{GitError, Result};
use crate::name::BranchName;
use crate::repository::Repository;

/// One line of git's own progress, such as `Receiving objects:  42% (21/50)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchProgress {
    /// The whole line.
    pub text: String,
    /// The share that is done, if the line has one.
    pub percent: Option<u8>,
}

impl Repository {
    /// Returns the names of the remotes.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn remotes(&self) -> Result<Vec<String>> {
        Ok(self.read("remote").text()?.lines().map(str::to_owned).collect())
    }

    /// Fetches one branch of a remote, or all of them. The remote must be one of the repository's own: an address is not
    /// accepted, because some kinds of address run a program.
    ///
    /// # Errors
    /// [`GitError::BadName`] for an unknown remote, [`GitError::TimedOut`], or what git says.
    pub fn fetch(
        &self,
        remote: &str,
        branch: Option<&BranchName>,
        timeout: Duration,
        progress: &mut dyn FnMut(FetchProgress),
    ) -> Result<()> {
        if !self.remotes()?.iter().any(|known| known == remote) {
            let reason = "the repository has no remote of this name";
            return Err(GitError::BadName { name: remote.to_owned(), reason });
        }
        let refspec = branch.map(|name| format!("+refs/heads/{name}:refs/remotes/{remote}/{name}"));
        let call =
            self.write("fetch").args(["--progress", "--no-recurse-submodules", "--no-write-fetch-head"]);
        let call = call.names([remote].into_iter().chain(refspec.as_deref())).timeout(timeout);
        let mut lines = ProgressLines::default();
        call.run_with_progress(&mut |bytes| lines.push(bytes, progress))
    }
}

/// Cuts git's progress into lines; each ends with a carriage return or a line feed.
#[derive(Default)]
struct ProgressLines {
    rest: Vec<u8>,
}

impl ProgressLines {
    /// A line that is longer than this is no progress.
    const LONGEST: usize = 1024;

    fn push(&mut self, bytes: &[u8], progress: &mut dyn FnMut(FetchProgress)) {
        for byte in bytes {
            if matches!(byte, b'\r' | b'\n') {
                let text = String::from_utf8_lossy(&self.rest).trim().to_owned();
                self.rest.clear();
                if !text.is_empty() {
                    progress(FetchProgress { percent: percent(&text), text });
                }
            } else if self.rest.len() < Self::LONGEST {
                self.rest.push(*byte);
            }
        }
    }
}

fn percent(text: &str) -> Option<u8> {
    let (before, _) = text.split_once('%')?;
    before.rsplit([' ', ':']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f5_progress_is_cut_into_lines_wherever_the_bytes_are_cut() {
        let printed = b"remote: Counting objects:   5% (1/20)\rremote: Counting objects: 100% (20/20), done.\nFrom x\n\n";
        for cut in 1..printed.len() {
            let mut lines = ProgressLines::default();
            let mut seen = Vec::new();
            printed.chunks(cut).for_each(|piece| lines.push(piece, &mut |line| seen.push(line.percent)));
            assert_eq!(seen, [Some(5), Some(100), None], "{cut}");
        }
    }
}

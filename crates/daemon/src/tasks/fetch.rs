//! Fetching from a remote before a task begins. It runs in the process of the person who asks for it, who has the keys and
//! the agent that a remote may want; the daemon never fetches.

use std::path::Path;
use std::time::Duration;

use proto::{ErrorCode, Failure};
use worktree::{BranchName, Git, Repository};

use super::failure;

/// How long a fetch may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(120);

/// Fetches the branch that a task begins from, as `remote/branch`, or everything of the usual remote. `progress` gets each
/// line of git's own progress.
///
/// # Errors
/// The directory is in no repository, the repository has no remote, or git failed or took too long.
pub fn fetch(directory: &Path, start: Option<&str>, progress: &mut dyn FnMut(&str)) -> Result<(), Failure> {
    // The repository's settings name programs that git runs (an ssh command, helpers): whoever wrote them must not count
    // as the person who fetches.
    let git = Git::find_prepared(holder::run_mark::put_on_program).map_err(|error| failure(&error))?;
    let repository = Repository::open(&git, directory).map_err(|error| failure(&error))?;
    let remotes = repository.remotes().map_err(|error| failure(&error))?;
    let named = start.and_then(|start| named_branch(&remotes, start));
    let (remote, branch) = match named {
        Some((remote, branch)) => (remote, Some(branch)),
        None => (usual_remote(&remotes)?, None),
    };
    let fetched =
        repository.fetch(remote, branch.as_ref(), FETCH_TIMEOUT, &mut |line| progress(line.text.as_str()));
    fetched.map_err(|error| failure(&error).hint("check the remote, or leave --fetch out"))
}

/// The remote and the branch of `remote/branch`; a remote's name may have a slash of its own.
fn named_branch<'a>(remotes: &'a [String], start: &str) -> Option<(&'a str, BranchName)> {
    remotes.iter().find_map(|remote| {
        let branch = start.strip_prefix(remote.as_str())?.strip_prefix('/')?;
        Some((remote.as_str(), BranchName::parse(branch).ok()?))
    })
}

fn usual_remote(remotes: &[String]) -> Result<&str, Failure> {
    let origin = remotes.iter().find(|remote| *remote == "origin");
    match (origin, remotes) {
        (Some(origin), _) => Ok(origin),
        (None, [only]) => Ok(only),
        (None, []) => Err(Failure::new(ErrorCode::InvalidArgs, "the repository has no remote to fetch from")
            .hint("leave --fetch out")),
        (None, _) => {
            let message = format!("the repository has several remotes: {}", remotes.join(", "));
            Err(Failure::new(ErrorCode::InvalidArgs, message).hint("name one: --start REMOTE/BRANCH"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f5_a_fetch_is_for_the_remote_that_is_named_or_for_the_usual_one() {
        let remotes = ["origin", "team/a"].map(str::to_owned);
        let found =
            |start: &str| named_branch(&remotes, start).map(|(remote, name)| (remote, name.to_string()));
        assert_eq!(found("origin/fix/x"), Some(("origin", "fix/x".to_owned())));
        assert_eq!(found("team/a/b"), Some(("team/a", "b".to_owned())));
        assert_eq!(found("main"), None);
        assert_eq!(found("origin/--x"), None);
        assert_eq!(usual_remote(&remotes).unwrap(), "origin");
        assert_eq!(usual_remote(&remotes[1..]).unwrap(), "team/a");
        assert!(usual_remote(&[]).unwrap_err().message.contains("no remote"));
        assert!(usual_remote(&["a".to_owned(), "b".to_owned()]).unwrap_err().message.contains("a, b"));
    }
}

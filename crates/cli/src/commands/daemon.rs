//! `qd daemon`: becomes the daemon. It leaves the terminal's session, and cleans up after a private daemon.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use proto::{Dirs, ErrorCode, Failure};

use crate::context::{Context, dirs, own_executable};
use crate::errors::CliError;

/// Run the daemon; other commands start it by themselves
#[derive(Debug, Args)]
pub(crate) struct DaemonArgs {
    /// Stay in this terminal's session
    #[arg(long)]
    foreground: bool,
}

impl DaemonArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        // Closed before we open our own: otherwise a lock or a pipe of the starter would be held as long as
        // we live.
        holder::close_inherited().map_err(CliError::io("inherited files cannot be closed"))?;
        if !self.foreground {
            // This fails only for the leader of a group, which a shell has made of us: then we stay in its
            // session.
            rustix::process::setsid().ok();
        }
        let ephemeral = context.is_ephemeral();
        let dirs = if ephemeral { dirs_without_database(dirs()?) } else { dirs()? };
        let options = daemon::DaemonOptions { dirs: dirs.clone(), ephemeral, exe: own_executable()? };
        let ended = daemon::run(options);
        if ephemeral {
            remove_private(&dirs);
        }
        ended.map_err(|error| CliError::Own(Failure::new(ErrorCode::Internal, error.to_string())))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the directories of a daemon whose database is in memory. A person may have typed the flag with the
/// usual directories: then it keeps everything in the runtime directory, away from the database's own daemon
/// and its processes.
fn dirs_without_database(dirs: Dirs) -> Dirs {
    if private_root(&dirs).is_some() {
        return dirs;
    }
    Dirs { data: dirs.runtime.join("ephemeral"), ..dirs }
}

/// Removes everything of a private daemon, also when its starter is gone. Only a directory that
/// [`client::DaemonAddress::private`] made is removed: a person may have typed the flag with other
/// directories.
fn remove_private(dirs: &Dirs) {
    if let Some(root) = private_root(dirs) {
        drop(std::fs::remove_dir_all(root));
    }
}

fn private_root(dirs: &Dirs) -> Option<&Path> {
    let root = dirs.runtime.parent()?;
    let digits = root.file_name()?.to_str()?.strip_prefix("qd-")?;
    let is_ours = digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    (is_ours && *dirs == Dirs::below(root)).then_some(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_directory_made_for_a_private_daemon_is_ever_removed() {
        let made = Path::new("/t/qd-0123456789abcdef");
        assert_eq!(private_root(&Dirs::below(made)), Some(made));
        for other in ["/home/me", "/t/qd-x", "/t/qd-0123456789abcdeg", "/"] {
            assert_eq!(private_root(&Dirs::below(Path::new(other))), None, "{other}");
        }
        let mut mixed = Dirs::below(made);
        mixed.data = "/home/me/data".into();
        assert_eq!(private_root(&mixed), None);
    }
}

//! `qd daemon`: becomes the daemon. Owns leaving the terminal's session and cleaning up after a private one; refuses
//! everything the daemon does.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use proto::{Dirs, ErrorCode, Failure};

use crate::context::{Context, own_executable, places};
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
        // Before there is one of our own: a lock or a pipe of whoever started us would be held for as long as we live.
        holder::close_inherited().map_err(CliError::io("inherited files cannot be closed"))?;
        if !self.foreground {
            // Fails only for the leader of a group, which a shell made of us: then there is a session to stay in.
            rustix::process::setsid().ok();
        }
        let ephemeral = context.is_ephemeral();
        let places = if ephemeral { places_without_database(places()?) } else { places()? };
        let options = daemon::DaemonOptions { places: places.clone(), ephemeral, exe: own_executable()? };
        let ended = daemon::run(options);
        if ephemeral {
            remove_private(&places);
        }
        ended.map_err(|error| CliError::Own(Failure::new(ErrorCode::Internal, error.to_string())))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The places of a daemon whose database is in memory. A person may have typed the flag with the usual places: then it
/// keeps everything in the runtime directory, away from the database's own daemon and its processes.
fn places_without_database(places: Dirs) -> Dirs {
    if private_root(&places).is_some() {
        return places;
    }
    Dirs { data: places.runtime.join("ephemeral"), ..places }
}

/// A private daemon leaves nothing behind, also when whoever started it is gone. Only a directory that
/// [`client::DaemonAddress::private`] made is removed: the flag may also have been typed by a person with other places.
fn remove_private(places: &Dirs) {
    if let Some(root) = private_root(places) {
        drop(std::fs::remove_dir_all(root));
    }
}

fn private_root(places: &Dirs) -> Option<&Path> {
    let root = places.runtime.parent()?;
    let digits = root.file_name()?.to_str()?.strip_prefix("qd-")?;
    let is_ours = digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    (is_ours && *places == Dirs::below(root)).then_some(root)
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

//! What every verb needs: the daemon's address, the output and the global flags.

use std::path::PathBuf;

use client::{Connection, DaemonAddress};
use daemon::Settings;
use proto::Dirs;
use proto::inherited_variables::{Variables, is_inheritable};
use proto::request::Offer;

use crate::errors::CliError;
use crate::output::Output;

/// The context of one command.
pub(crate) struct Context {
    pub(crate) json: bool,
    /// Print nothing about what was done; errors are printed all the same.
    pub(crate) quiet: bool,
    pub(crate) out: Output,
    ephemeral: bool,
    address: Option<DaemonAddress>,
}

impl Context {
    pub(crate) fn new(json: bool, quiet: bool, ephemeral: bool) -> Self {
        Self { json, quiet, out: Output::standard(), ephemeral, address: None }
    }

    /// Returns true if everything ends with this command.
    pub(crate) fn is_ephemeral(&self) -> bool {
        self.ephemeral
    }

    /// Returns the daemon's address, made at its first use: verbs that need no daemon need no home either.
    pub(crate) fn address(&mut self) -> Result<&mut DaemonAddress, CliError> {
        let address = match self.address.take() {
            Some(address) => address,
            None if self.ephemeral => DaemonAddress::private(&own_executable()?, &std::env::temp_dir())?,
            None => DaemonAddress::new(dirs()?, own_executable()?),
        };
        Ok(self.address.insert(address))
    }

    /// Returns a connection; starts a daemon when none listens.
    pub(crate) fn connect(&mut self) -> Result<Connection, CliError> {
        Ok(self.address()?.connect()?)
    }

    /// Prints what was done, unless the user wants only errors.
    pub(crate) fn confirm<T: serde::Serialize>(
        &mut self,
        value: &T,
        tell: impl FnOnce(&T, &mut Output) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        if self.quiet { Ok(()) } else { self.print(value, tell) }
    }

    /// Prints one line of progress, unless the user wants only errors.
    pub(crate) fn print_status(&mut self, words: &str) -> Result<(), CliError> {
        if self.quiet { Ok(()) } else { self.out.line(words) }
    }

    /// Prints `value` as JSON, or calls `tell` to print it for people.
    pub(crate) fn print<T: serde::Serialize>(
        &mut self,
        value: &T,
        tell: impl FnOnce(&T, &mut Output) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        if self.json { self.out.json(value) } else { tell(value, &mut self.out) }
    }
}

/// Returns Quarterdeck's directories, by this process's environment.
pub(crate) fn dirs() -> Result<Dirs, CliError> {
    Dirs::find(|name| std::env::var(name).ok()).map_err(|error| CliError::usage(error.to_string()))
}

/// Returns the user's settings. A broken file is an error: a person who set other detach keys must not find
/// out when they are needed. Without a home there are none.
pub(crate) fn settings() -> Result<Settings, CliError> {
    let Ok(dirs) = dirs() else { return Ok(Settings::default()) };
    let (settings, problem) = Settings::read(&dirs);
    problem.map_or(Ok(settings), |problem| {
        Err(CliError::usage(problem).hinted("correct the file; docs/cli.md lists every setting"))
    })
}

/// Returns this shell's search path, with which a person's programs are found.
pub(crate) fn own_path() -> Option<String> {
    std::env::var("PATH").ok()
}

/// Returns the caller's environment, for a process whose own is lost.
pub(crate) fn own_offer() -> Offer {
    Variables::of(std::env::vars_os(), is_inheritable).into()
}

/// Returns this program, also after an upgrade replaced it on disk.
pub(crate) fn own_executable() -> Result<PathBuf, CliError> {
    let found = std::env::current_exe().map_err(CliError::io("this program cannot be found"))?;
    let text = found.to_string_lossy();
    Ok(text.strip_suffix(" (deleted)").map_or_else(|| found.clone(), PathBuf::from))
}

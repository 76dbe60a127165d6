//! Which project a verb means: `--project` or its default. The daemon finds the project's root.

use std::io;

use clap::Args;
use client::Connection;
use proto::Printable;

use crate::errors::CliError;

/// A variable of every run's environment.
const RUN_MARK: &str = "QD_RUN_TOKEN";

/// The flag of every verb about a project.
#[derive(Debug, Default, Args)]
pub(crate) struct ProjectArgs {
    /// A directory of the project [default: this one; inside a process, the directory of that process]
    #[arg(long, global = true, value_name = "DIR")]
    project: Option<String>,
}

impl ProjectArgs {
    /// Returns true if one was named.
    pub(crate) fn is_named(&self) -> bool {
        self.project.is_some()
    }

    /// Returns the directory to send; `None` lets the daemon use the calling process's own.
    pub(crate) fn directory(&self, connection: &mut Connection) -> Result<Option<String>, CliError> {
        match &self.project {
            None if is_inside(connection)? => Ok(None),
            named => absolute(named.clone(), "--project").map(Some),
        }
    }
}

/// Returns true if the daemon identifies this command as one of its processes. It is asked only where that is
/// possible.
fn is_inside(connection: &mut Connection) -> Result<bool, CliError> {
    Ok(std::env::var_os(RUN_MARK).is_some() && connection.who_am_i()?.process.is_some())
}

/// The daemon has another working directory, so a relative path, or none, is resolved here.
pub(crate) fn absolute(wanted: Option<String>, flag: &str) -> Result<String, CliError> {
    let here = || std::env::current_dir().map_err(CliError::io("the current directory is gone"));
    let path = match wanted {
        Some(wanted) if wanted.is_empty() => {
            return Err(CliError::usage(format!("{flag}: name a directory")));
        }
        Some(wanted) if wanted.starts_with('/') => return Ok(wanted),
        Some(wanted) => here()?.join(wanted),
        None => here()?,
    };
    path.into_os_string().into_string().map_err(|path| {
        CliError::usage(format!("{} is not UTF-8: choose another {flag}", Printable(&path.to_string_lossy())))
    })
}

/// Like [`absolute`], for a directory in which something is to start now.
pub(crate) fn existing(wanted: Option<String>, flag: &str) -> Result<String, CliError> {
    let path = absolute(wanted, flag)?;
    // A directory that may not be looked at is left to the daemon, whose error says so.
    match std::fs::metadata(&path) {
        Ok(found) if !found.is_dir() => {
            Err(CliError::usage(format!("{flag}: {} is not a directory", Printable(&path))))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(CliError::usage(format!("{flag}: there is no directory {}", Printable(&path))))
        }
        _ => Ok(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_directory_means_this_one_and_an_empty_one_means_nothing() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(absolute(Some("/a".into()), "--cwd").unwrap(), "/a");
        assert_eq!(absolute(Some("b".into()), "--cwd").unwrap(), here.join("b").to_str().unwrap());
        assert_eq!(absolute(None, "--cwd").unwrap(), here.to_str().unwrap());
        assert!(absolute(Some(String::new()), "--cwd").unwrap_err().to_string().starts_with("--cwd"));
    }

    #[test]
    fn a_directory_to_start_in_is_there_or_the_flag_is_named() {
        assert_eq!(existing(Some("/usr".into()), "--cwd").unwrap(), "/usr");
        for bad in ["/no/such/directory", "no-such-directory", "Cargo.toml"] {
            let error = existing(Some(bad.into()), "--cwd").unwrap_err().to_string();
            assert!(error.starts_with("--cwd: ") && error.contains(bad), "{error}");
        }
    }
}

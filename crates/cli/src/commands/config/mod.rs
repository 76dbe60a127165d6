//! `qd config`: where the settings are, whether they are in order, and their JSON Schemas.

mod check;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use proto::{ErrorCode, Failure, Printable};
use serde::Serialize;

use crate::context::{Context, places};
use crate::errors::CliError;

/// The name of the file that prepares new worktrees.
const INIT_FILE: &str = ".worktree-init.toml";

/// Check the settings, print where they are, or their JSON Schemas
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    verb: ConfigVerb,
}

#[derive(Debug, Subcommand)]
enum ConfigVerb {
    /// Check files of settings: every fault with its line, and the nearest key for one that is not known
    Check {
        /// The file; otherwise config.toml, tui.toml and the .worktree-init.toml of this repository
        file: Option<PathBuf>,
    },
    /// Print the JSON Schema of a file of settings
    Schema {
        /// Which file
        file: SettingsFile,
    },
    /// Print where the files of settings are
    Path,
}

/// A file of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SettingsFile {
    /// config.toml
    Config,
    /// tui.toml
    Tui,
    /// .worktree-init.toml
    WorktreeInit,
}

impl SettingsFile {
    const ALL: [Self; 3] = [Self::Config, Self::Tui, Self::WorktreeInit];

    fn name(self) -> &'static str {
        match self {
            Self::Config => "config.toml",
            Self::Tui => "tui.toml",
            Self::WorktreeInit => INIT_FILE,
        }
    }

    fn schema(self) -> &'static str {
        match self {
            Self::Config => include_str!("config.schema.json"),
            Self::Tui => include_str!("tui.schema.json"),
            Self::WorktreeInit => include_str!("worktree-init.schema.json"),
        }
    }

    /// What the part that uses the file finds wrong with it, beyond its shape.
    fn meaning(self, text: &str) -> Result<(), String> {
        match self {
            Self::Config => daemon::check_settings(text),
            Self::Tui => tui::check_settings(text),
            Self::WorktreeInit => daemon::check_init_file(text),
        }
    }

    /// Every fault of a text.
    fn faults(self, text: &str) -> Vec<Fault> {
        let found = check::check(self.schema(), text);
        match self.meaning(text) {
            Err(message) if found.is_empty() => vec![Fault { line: None, message }],
            _ => found,
        }
    }
}

/// Something that is wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Fault {
    /// Its line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    message: String,
}

/// A file that was checked.
#[derive(Debug, Serialize)]
struct Checked {
    path: String,
    faults: Vec<Fault>,
}

/// A file and where it is.
#[derive(Debug, Serialize)]
struct FilePath {
    name: &'static str,
    path: String,
    exists: bool,
}

impl ConfigArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        match self.verb {
            ConfigVerb::Check { file } => check_files(context, file),
            ConfigVerb::Schema { file } => {
                context.out.bytes(file.schema().as_bytes())?;
                Ok(ExitCode::SUCCESS)
            }
            ConfigVerb::Path => {
                context.print(&files()?, |files, out| {
                    let absent = |file: &FilePath| if file.exists { "" } else { " (not there)" };
                    files.iter().try_for_each(|file| out.line(&format!("{}{}", file.path, absent(file))))
                })?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

fn check_files(context: &mut Context, file: Option<PathBuf>) -> Result<ExitCode, CliError> {
    let paths = match file {
        Some(file) => vec![file],
        None => files()?.into_iter().filter(|file| file.exists).map(|file| file.path.into()).collect(),
    };
    let checked = paths.iter().map(|path| check_file(path)).collect::<Result<Vec<Checked>, CliError>>()?;
    context.print(&checked, |checked, out| {
        checked.iter().try_for_each(|file| {
            let path = Printable(&file.path).to_string();
            if file.faults.is_empty() {
                return out.line(&format!("{path}: in order"));
            }
            file.faults.iter().try_for_each(|fault| match fault.line {
                Some(line) => out.line(&format!("{path}:{line}: {}", fault.message)),
                None => out.line(&format!("{path}: {}", fault.message)),
            })
        })
    })?;
    let count: usize = checked.iter().map(|file| file.faults.len()).sum();
    match count {
        0 => Ok(ExitCode::SUCCESS),
        _ => {
            let words = format!("{count} {} in the settings", if count == 1 { "fault" } else { "faults" });
            Err(CliError::Own(
                Failure::new(ErrorCode::InvalidArgs, words).hint("qd config schema prints what there may be"),
            ))
        }
    }
}

fn check_file(path: &Path) -> Result<Checked, CliError> {
    let shown = path.display().to_string();
    let is_it = |kind: &SettingsFile| path.file_name().is_some_and(|name| name == kind.name());
    let Some(kind) = SettingsFile::ALL.into_iter().find(is_it) else {
        let names = SettingsFile::ALL.map(SettingsFile::name).join(", ");
        return Err(CliError::usage(format!("{} is none of {names}", Printable(&shown))));
    };
    let text = std::fs::read_to_string(path).map_err(CliError::io(shown.clone()))?;
    Ok(Checked { path: shown, faults: kind.faults(&text) })
}

fn files() -> Result<Vec<FilePath>, CliError> {
    let places = places()?;
    let here = std::env::current_dir().map_err(CliError::io("this directory"))?;
    let top = here.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(&here);
    Ok(SettingsFile::ALL
        .into_iter()
        .map(|file| {
            let directory = if file == SettingsFile::WorktreeInit { top } else { &places.config };
            let path = directory.join(file.name());
            FilePath { name: file.name(), exists: path.is_file(), path: path.to_string_lossy().into_owned() }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: [(SettingsFile, &str); 3] = [
        (
            SettingsFile::Config,
            "terminals = 'own'\nhistory = 5\n[notify]\ncommand = ['a']\ndesktop = true\nterminal = false\n\
             [spawn]\nenv_drop = ['A*']\n[attach]\ndetach_keys = 'ctrl-q'\nclipboard = true\n",
        ),
        (
            SettingsFile::Tui,
            "theme = 'dark'\nglyphs = 'ascii'\nmouse = false\nrail-width = 20\nprefix = ['ctrl-a']\n\
             [keys.deck]\nwall = 'n'\n",
        ),
        (SettingsFile::WorktreeInit, "include = ['.env']\ncommands = ['make', ['cargo', 'fetch']]\n"),
    ];

    #[test]
    fn k10_every_key_of_a_schema_is_one_that_its_reader_knows() {
        for (file, text) in FULL {
            assert_eq!(file.faults(text), [], "{}", file.name());
            let schema: serde_json::Value = serde_json::from_str(file.schema()).unwrap();
            for key in schema["properties"].as_object().unwrap().keys() {
                assert!(text.contains(key.as_str()), "{} has no sample of {key}", file.name());
            }
        }
    }

    #[test]
    fn k10_an_unknown_key_is_named_with_its_line_and_the_nearest_key() {
        for (file, text, line, words) in [
            (SettingsFile::Config, "\nterminal = 'own'\n", 2, "did you mean `terminals`?"),
            (SettingsFile::Config, "[notify]\ncomand = []\n", 2, "did you mean `command`?"),
            (SettingsFile::Config, "[spwan]\nenv_drop = []\n", 1, "did you mean `spawn`?"),
            (SettingsFile::Tui, "mouse = true\nrail_width = 20\n", 2, "did you mean `rail-width`?"),
            (SettingsFile::WorktreeInit, "includes = []\n", 1, "did you mean `include`?"),
            (SettingsFile::WorktreeInit, "zzz = 1\n", 1, "the keys are"),
        ] {
            let faults = file.faults(text);
            assert_eq!(faults.len(), 1, "{text}: {faults:?}");
            assert!(faults[0].line == Some(line) && faults[0].message.contains(words), "{faults:?}");
        }
    }

    #[test]
    fn k10_what_a_schema_cannot_say_its_reader_does() {
        let faults = SettingsFile::Tui.faults("[keys.deck]\nfly = 'x'\n");
        assert!(faults.len() == 1 && faults[0].message.contains("no action fly"), "{faults:?}");
        let faults = SettingsFile::WorktreeInit.faults("commands = ['']\n");
        assert_eq!(faults.len(), 1, "{faults:?}");
    }
}

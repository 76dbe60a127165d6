//! `qd config`: where the settings are, whether they are in order, and their JSON Schemas.

mod check;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use proto::{ErrorCode, Failure, Printable};
use serde::Serialize;
use tui::THEMES;

use crate::context::{Context, dirs};
use crate::errors::CliError;

/// The name of the file that prepares new worktrees.
const INIT_FILE: &str = ".worktree-init.toml";
/// The name of the file with a project's presets and rules; `docs/presets.md` has its keys.
const PROJECT_FILE: &str = ".quarterdeck.toml";

/// Check the settings files, print their paths, or print their JSON Schemas
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    verb: ConfigVerb,
}

#[derive(Debug, Subcommand)]
enum ConfigVerb {
    /// Check settings files: print every fault with its line, and for an unknown key the nearest known one
    Check {
        /// The file [default: config.toml, tui.toml, themes/*.toml and this repository's .worktree-init.toml and
        /// .quarterdeck.toml]
        file: Option<PathBuf>,
    },
    /// Print the JSON Schema of a settings file
    Schema {
        /// Which file
        file: SettingsFile,
    },
    /// Print the paths of the settings files
    Path,
}

/// A file of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SettingsFile {
    /// config.toml
    Config,
    /// tui.toml
    Tui,
    /// themes/NAME.toml
    Theme,
    /// .worktree-init.toml
    WorktreeInit,
}

impl SettingsFile {
    /// Those with one name.
    const NAMED: [Self; 3] = [Self::Config, Self::Tui, Self::WorktreeInit];

    /// What kind of file a path leads to.
    fn of(path: &Path) -> Option<Self> {
        let is_theme = path.extension().is_some_and(|extension| extension == "toml")
            && path.parent().and_then(Path::file_name).is_some_and(|directory| directory == THEMES);
        let is_it = |kind: &Self| path.file_name().is_some_and(|name| name == kind.name());
        if is_theme { Some(Self::Theme) } else { Self::NAMED.into_iter().find(is_it) }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Config => "config.toml",
            Self::Tui => "tui.toml",
            Self::Theme => "themes/*.toml",
            Self::WorktreeInit => INIT_FILE,
        }
    }

    fn schema(self) -> &'static str {
        match self {
            Self::Config => include_str!("config.schema.json"),
            Self::Tui => include_str!("tui.schema.json"),
            Self::Theme => include_str!("theme.schema.json"),
            Self::WorktreeInit => include_str!("worktree-init.schema.json"),
        }
    }

    /// What the part that uses the file finds wrong with it, beyond its shape.
    fn meaning(self, text: &str, path: &Path) -> Result<(), String> {
        match self {
            Self::Config => daemon::check_settings(text),
            Self::Tui => tui::check_settings(text, path.parent().unwrap_or(path)),
            Self::Theme => tui::check_theme(text, &path.file_stem().unwrap_or_default().to_string_lossy()),
            Self::WorktreeInit => daemon::check_init_file(text),
        }
    }

    /// Settings that are valid and may still surprise.
    fn warnings(self, text: &str, path: &Path) -> Vec<String> {
        match self {
            Self::Tui => tui::settings_warnings(text, path.parent().unwrap_or(path)),
            Self::Config | Self::Theme | Self::WorktreeInit => Vec::new(),
        }
    }

    /// Every fault of a file's text.
    fn faults(self, text: &str, path: &Path) -> Vec<Fault> {
        let found = check::check(self.schema(), text);
        match self.meaning(text, path) {
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
    /// Settings that are valid and may still surprise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
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
            file.warnings.iter().try_for_each(|words| out.line(&format!("{path}: warning: {words}")))?;
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
                Failure::new(ErrorCode::InvalidArgs, words)
                    .hint("qd config schema FILE prints every key that is allowed: FILE is config, tui or worktree-init"),
            ))
        }
    }
}

fn check_file(path: &Path) -> Result<Checked, CliError> {
    let shown = path.display().to_string();
    if path.file_name().is_some_and(|name| name == PROJECT_FILE) {
        let faults = daemon::check_presets(path, &crate::context::dirs()?.config).into_iter();
        let faults = faults.map(|(line, message)| Fault { line, message }).collect();
        return Ok(Checked { path: shown, faults, warnings: Vec::new() });
    }
    let Some(kind) = SettingsFile::of(path) else {
        let names = SettingsFile::NAMED.map(SettingsFile::name).join(", ");
        let words = format!(
            "{} is not a settings file: known are {names}, {THEMES}/NAME.toml, {PROJECT_FILE}",
            Printable(&shown)
        );
        return Err(CliError::usage(words));
    };
    let (faults, warnings) = match client::read_plain_file(path) {
        Ok(text) => (kind.faults(&text, path), kind.warnings(&text, path)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(CliError::io(shown)(error)),
        Err(error) => (vec![Fault { line: None, message: error.to_string() }], Vec::new()),
    };
    Ok(Checked { path: shown, faults, warnings })
}

/// Returns what is wrong with the deck's settings in this directory; nothing when there are none.
pub(super) fn tui_fault(directory: &Path) -> Option<String> {
    let checked = check_file(&directory.join(SettingsFile::Tui.name())).ok()?;
    let fault = checked.faults.into_iter().next()?;
    let line = fault.line.map(|line| format!(":{line}")).unwrap_or_default();
    Some(format!("{}{line}: {}", checked.path, fault.message))
}

fn files() -> Result<Vec<FilePath>, CliError> {
    let dirs = dirs()?;
    let here = std::env::current_dir().map_err(CliError::io("this directory"))?;
    let top = here.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(&here);
    let found = |name: &'static str, directory: &Path| {
        let path = directory.join(name);
        FilePath { name, exists: path.symlink_metadata().is_ok(), path: path.to_string_lossy().into_owned() }
    };
    let own = SettingsFile::NAMED.into_iter().map(|file| {
        let directory = if file == SettingsFile::WorktreeInit { top } else { &dirs.config };
        found(file.name(), directory)
    });
    let themes = themes(&dirs.config).into_iter().map(|path| FilePath {
        name: SettingsFile::Theme.name(),
        exists: true,
        path: path.to_string_lossy().into_owned(),
    });
    Ok(own.chain([found(PROJECT_FILE, top)]).chain(themes).collect())
}

/// The files of the person's own themes.
fn themes(config: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(config.join(THEMES)).into_iter().flatten().flatten();
    let is_theme = |path: &PathBuf| SettingsFile::of(path) == Some(SettingsFile::Theme);
    let mut paths: Vec<PathBuf> = files.map(|file| file.path()).filter(is_theme).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: [(SettingsFile, &str); 4] = [
        (
            SettingsFile::Config,
            "terminals = 'own'\nhistory = 5\n[notify]\ncommand = ['a']\ndesktop = true\nterminal = false\n\
             [spawn]\nenv_drop = ['A*']\n[attach]\ndetach_keys = 'ctrl-q'\nclipboard = true\n\
             [tasks]\nroot = '~/w'\nagent = 'a'\n[projects]\nroots = ['/src']\ndepth = 3\nignore = ['.*']\n",
        ),
        (
            SettingsFile::Tui,
            "theme = 'dark'\nglyphs = 'ascii'\nmouse = false\nrail-width = 20\nprefix = ['ctrl-a']\n\
             clipboard = 'off'\nclipboard-command = ['c']\nopen-command = ['o']\nnotices = 'bell'\n\
             start = 'tasks'\nborders = 'square'\ntitles = false\nhints = false\nwall-tiles = 4\nwall-pace = 200\n\
             review-context = 5\nclipboard-children = true\n\
             [keys.deck]\nwall = 'n'\n[[command]]\nname = 'git'\nargv = ['lazygit']\nkey = 'y'\nwhere = 'popup'\n",
        ),
        (
            SettingsFile::Theme,
            "base = 'dark'\nground = '#101018'\ntext = 'white'\ndim = '245'\nheading = 'bold'\nalert = 'bold red'\n\
             warn = 'yellow'\ngood = 'green'\nactive = 'cyan'\nselect = 'black on cyan'\nborder = '#404858'\n\
             focus = 'bold cyan'\nbar = 'white on #202838'\n",
        ),
        (SettingsFile::WorktreeInit, "include = ['.env']\ncommands = ['make', ['cargo', 'fetch']]\n"),
    ];

    /// The faults of a text at a place where nothing else is.
    fn faults(file: SettingsFile, text: &str) -> Vec<Fault> {
        file.faults(text, Path::new("/nonexistent/themes/mine.toml"))
    }

    #[test]
    fn k10_every_key_of_a_schema_is_one_that_its_reader_knows() {
        for (file, text) in FULL {
            assert_eq!(faults(file, text), [], "{}", file.name());
            let schema: serde_json::Value = serde_json::from_str(file.schema()).unwrap();
            let mut open = vec![&schema];
            while let Some(shape) = open.pop() {
                for (key, inside) in shape["properties"].as_object().into_iter().flatten() {
                    assert!(text.contains(key.as_str()), "{} has no sample of {key}", file.name());
                    open.extend([inside, &inside["items"]]);
                }
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
            (
                SettingsFile::Tui,
                "[[command]]\nname = 'x'\nargv = ['x']\nkeys = 'y'\n",
                4,
                "did you mean `key`?",
            ),
            (SettingsFile::Theme, "alarm = 'red'\n", 1, "did you mean `alert`?"),
            (SettingsFile::Theme, "text = 7\n", 1, "must be a text"),
            (SettingsFile::WorktreeInit, "includes = []\n", 1, "did you mean `include`?"),
            (SettingsFile::WorktreeInit, "zzz = 1\n", 1, "the keys are"),
        ] {
            let faults = faults(file, text);
            assert_eq!(faults.len(), 1, "{text}: {faults:?}");
            assert!(faults[0].line == Some(line) && faults[0].message.contains(words), "{faults:?}");
        }
    }

    #[test]
    fn k10_what_a_schema_cannot_say_its_reader_does() {
        for (file, text, words) in [
            (SettingsFile::Tui, "[keys.deck]\nfly = 'x'\n", "no action fly"),
            (SettingsFile::Tui, "theme = 'lake'\n", "themes/lake.toml"),
            (SettingsFile::Tui, "[[command]]\nname = 'x'\n", "argv"),
            (SettingsFile::Theme, "alert = 'pink'\n", "pink is no colour"),
            (SettingsFile::WorktreeInit, "commands = ['']\n", ""),
        ] {
            let found = faults(file, text);
            assert!(found.len() == 1 && found[0].message.contains(words), "{text}: {found:?}");
        }
        let shadowed = SettingsFile::Theme.faults("", Path::new("/c/themes/dark.toml"));
        assert!(shadowed[0].message.contains("built in"), "{shadowed:?}");
    }
}

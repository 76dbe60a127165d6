//! The user's settings from `config.toml`, read again each time they are needed.
//!
//! The daemon and the command line read the same file by the same rules. An unknown key makes the whole file
//! count as the defaults, with a warning that names the line.

use std::path::PathBuf;

use proto::{Dirs, Printable};
use serde::Deserialize;

use crate::notify::NotifyConfig;
use crate::presets::read_text;
use crate::toml_fault;

/// The most lines of history of a screen.
const MAX_HISTORY: usize = 1_000_000;
/// The default number of lines of history.
const DEFAULT_HISTORY: usize = 10_000;

/// Everything that `config.toml` may contain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How the user is notified.
    pub(crate) notify: NotifyConfig,
    /// What new processes inherit.
    pub spawn: SpawnSettings,
    /// Which rights a terminal has that a person opened.
    pub terminals: Terminals,
    /// Lines of history that each screen keeps; new runs and the next daemon use it.
    history: History,
    /// How this user attaches.
    pub attach: AttachSettings,
    /// Where worktrees are made, and which agent works on tasks.
    pub tasks: TaskSettings,
    /// Where repositories are looked for.
    pub projects: ProjectSettings,
}

/// The table `[tasks]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaskSettings {
    /// The directory that worktrees are made in.
    pub root: Option<UserPath>,
    /// The agent of a task that names none.
    pub agent: Option<String>,
}

/// The table `[projects]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectSettings {
    /// The directories below which repositories are looked for; the home directory when there is none.
    pub roots: Vec<UserPath>,
    /// How many levels below a root a repository may lie.
    pub depth: Option<u8>,
    /// Names of directories that are not searched; `*` at the end of one stands for any further characters.
    pub ignore: Option<Vec<String>>,
}

/// A path that a person wrote: absolute, or below the home directory with `~/`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct UserPath(String);

impl TryFrom<String> for UserPath {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.starts_with('/') || text.starts_with("~/") || text == "~" {
            return Ok(Self(text));
        }
        Err(format!("a path begins with / or ~/, and {} does not", Printable(&text)))
    }
}

impl UserPath {
    /// Returns the whole path.
    pub fn resolve(&self) -> PathBuf {
        let home = || std::env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
        match self.0.strip_prefix('~') {
            Some(below) => home().join(below.trim_start_matches('/')),
            None => PathBuf::from(&self.0),
        }
    }
}

/// The table `[spawn]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpawnSettings {
    /// Variables that no process inherits from the person who spawns it; `*` at the end of a name stands for
    /// any further characters.
    pub env_drop: Vec<String>,
}

impl SpawnSettings {
    /// Reads the table from a file that has a fault. One elsewhere lets no variable through; if the table itself
    /// cannot be read, the list is unknown, so no variable is passed on.
    fn read_alone(text: &str) -> Option<Self> {
        if !text.contains("env_drop") && !text.contains("spawn") {
            return Some(Self::default());
        }
        let mut tables: toml::Table = toml::from_str(text).ok()?;
        tables.remove("spawn")?.try_into().ok()
    }

    /// Returns true if the user wants this variable left out.
    pub fn drops(&self, name: &str) -> bool {
        self.env_drop.iter().any(|listed| match listed.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == listed,
        })
    }
}

/// Which rights a terminal has that a person opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Terminals {
    /// The person's.
    #[default]
    Person,
    /// Its own, as a command has.
    Own,
}

/// A number of lines between 0 and a million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u64")]
struct History(usize);

impl Default for History {
    fn default() -> Self {
        Self(DEFAULT_HISTORY)
    }
}

impl TryFrom<u64> for History {
    type Error = String;

    fn try_from(lines: u64) -> Result<Self, String> {
        let lines = usize::try_from(lines).ok().filter(|lines| *lines <= MAX_HISTORY);
        lines.map(Self).ok_or_else(|| format!("history is a number of lines up to {MAX_HISTORY}"))
    }
}

/// The table `[attach]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AttachSettings {
    /// The keys that detach, as `--detach-keys` accepts them.
    pub detach_keys: Option<String>,
    /// Processes may write this terminal's clipboard, as with `--clipboard`.
    pub clipboard: bool,
}

impl Settings {
    /// Reads the user's file. Returns the defaults and a sentence about the problem where it cannot be used.
    pub fn read(dirs: &Dirs) -> (Self, Option<String>) {
        let path = file(dirs);
        let broken = |why: String| (Self::default(), Some(format!("{} {why}", path.display())));
        match read_text(&path) {
            Ok(None) => (Self::default(), None),
            Ok(Some(text)) => match toml::from_str(&text) {
                Ok(settings) => (settings, None),
                Err(error) => broken(format!("cannot be read: {}", in_words(&text, &error))),
            },
            Err(why) => broken(why),
        }
    }

    /// Returns which variables no process inherits, and the problem of the file, if it has one.
    ///
    /// # Errors
    /// The problem, if it is not known because of that which variables these are.
    pub(crate) fn read_spawn(dirs: &Dirs) -> Result<(SpawnSettings, Option<String>), String> {
        let (settings, problem) = Self::read(dirs);
        let Some(problem) = problem else { return Ok((settings.spawn, None)) };
        let path = file(dirs);
        let alone = match read_text(&path) {
            Ok(text) => SpawnSettings::read_alone(&text.unwrap_or_default()),
            // A pipe or a directory has no list in it.
            Err(_) if path.metadata().is_ok_and(|found| !found.is_file()) => Some(SpawnSettings::default()),
            Err(_) => None,
        };
        alone.map(|spawn| (spawn, Some(problem.clone()))).ok_or(problem)
    }

    /// Lines of history that a screen keeps.
    pub fn history(&self) -> usize {
        self.history.0
    }
}

/// Returns what is wrong with the text of a `config.toml`.
///
/// # Errors
/// The problem, with its line.
pub fn check_settings(text: &str) -> Result<(), String> {
    toml::from_str::<Settings>(text).map(drop).map_err(|error| in_words(text, &error))
}

/// Returns what is wrong with the text of a `.worktree-init.toml`.
///
/// # Errors
/// The problem, with its line.
pub fn check_init_file(text: &str) -> Result<(), String> {
    let fault = |(line, message): (usize, String)| format!("line {line}: {}", toml_fault::in_words(&message));
    worktree::InitFile::parse(text).map(drop).map_err(fault)
}

/// Returns true if a terminal that a person opens acts for that person. A broken file grants no additional
/// rights.
pub(crate) fn terminals_act_for_people(dirs: &Dirs) -> bool {
    let (settings, problem) = Settings::read(dirs);
    problem.is_none() && settings.terminals == Terminals::Person
}

/// Returns the problem and its line.
fn in_words(text: &str, error: &toml::de::Error) -> String {
    let why = Printable(&toml_fault::in_words(error.message())).to_string();
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => format!("line {}: {why}", before.matches('\n').count() + 1),
        None => why,
    }
}

/// Returns where the user's settings are.
pub(crate) fn file(dirs: &Dirs) -> PathBuf {
    dirs.config.join("config.toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Settings, Option<String>) {
        let root = tempfile::tempdir().unwrap();
        let dirs = Dirs::below(root.path());
        std::fs::create_dir_all(&dirs.config).unwrap();
        std::fs::write(file(&dirs), text).unwrap();
        Settings::read(&dirs)
    }

    #[test]
    fn m15_every_setting_is_read_and_what_is_missing_is_the_default() {
        let text = "terminals = 'own'\nhistory = 500\n[spawn]\nenv_drop = ['AWS_*', 'X']\n\
                    [attach]\ndetach_keys = 'ctrl-q'\nclipboard = true\n[notify]\ndesktop = false\n\
                    [tasks]\nroot = '/w'\nagent = 'a'\n[projects]\nroots = ['/src', '~/x']\ndepth = 3\nignore = ['.*']\n";
        let (all, problem) = read(text);
        assert_eq!(problem, None);
        assert_eq!((all.terminals, all.history()), (Terminals::Own, 500));
        assert_eq!(all.attach, AttachSettings { detach_keys: Some("ctrl-q".into()), clipboard: true });
        assert_eq!(all.tasks.root.as_ref().map(UserPath::resolve), Some(PathBuf::from("/w")));
        assert!(all.projects.roots[1].resolve().is_absolute() && all.projects.depth == Some(3));
        let dropped = ["AWS_KEY", "X", "XY", "PATH"].map(|name| all.spawn.drops(name));
        assert_eq!(dropped, [true, true, false, false]);
        let (none, problem) = read("");
        assert_eq!((none, problem), (Settings::default(), None));
        assert_eq!(
            (Settings::default().terminals, Settings::default().history()),
            (Terminals::Person, 10_000)
        );
    }

    #[test]
    fn m15_a_key_that_nobody_knows_is_told_with_its_line_and_the_file_means_the_defaults() {
        for (text, line, word) in [
            ("[notify]\ncomand = []\n", "line 2", "comand"),
            ("\n\nterminal = 'own'\n", "line 3", "terminal"),
            ("[spawn]\n\nenvdrop = []\n", "line 3", "envdrop"),
            ("[attach]\nkeys = ''\n", "line 2", "keys"),
            ("terminals = 'mine'\n", "line 1", "mine"),
            ("history = 2000000\n", "line 1", "1000000"),
            ("[tasks]\nroot = 'here'\n", "line 2", "begins with / or ~/"),
            ("[attach\n", "line 1", ""),
        ] {
            let (settings, problem) = read(text);
            let problem = problem.unwrap();
            assert_eq!(settings, Settings::default(), "{text}");
            assert!(problem.contains(line) && problem.contains(word), "{problem}");
        }
    }

    #[test]
    fn m15_a_fault_elsewhere_lets_no_variable_through_and_one_in_its_own_table_is_an_error() {
        let dropped = |text: &str| {
            let root = tempfile::tempdir().unwrap();
            let dirs = Dirs::below(root.path());
            std::fs::create_dir_all(&dirs.config).unwrap();
            std::fs::write(file(&dirs), text).unwrap();
            let read = Settings::read_spawn(&dirs);
            read.map(|(spawn, problem)| (spawn.drops("SECRET"), problem.is_some()))
        };
        let listed = "[spawn]\nenv_drop = ['SECRET']\n";
        assert_eq!(dropped(listed), Ok((true, false)));
        assert_eq!(dropped(&format!("histry = 5\n{listed}")), Ok((true, true)));
        assert_eq!(dropped(&format!("{listed}[attach]\nkeys = ''\n")), Ok((true, true)));
        assert_eq!(dropped("histry = 5\n"), Ok((false, true)));
        for unknown in [
            "[spwan]\nenv_drop = ['SECRET']\n",
            "[spawn]\nenvdrop = []\n",
            "[spawn\n",
            "env_drop = ['SECRET']\n",
        ] {
            assert!(dropped(unknown).unwrap_err().contains("line "), "{unknown}");
        }
    }

    #[test]
    fn m15_a_pipe_in_the_place_of_the_file_holds_nobody_up() {
        let root = tempfile::tempdir().unwrap();
        let dirs = Dirs::below(root.path());
        std::fs::create_dir_all(&dirs.config).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, file(&dirs), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let (settings, problem) = Settings::read(&dirs);
        assert_eq!(settings, Settings::default());
        assert!(problem.unwrap().contains("not a plain file"));
    }
}

//! What the repository's `.worktree-init.toml` does in a new worktree, for the form of a new task. The deck only shows it:
//! the daemon reads the file again, and decides.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use toml::Value;

const FILE: &str = ".worktree-init.toml";
/// More than this is no such file.
const MAX_BYTES: u64 = 64 << 10; // 64 KiB

/// What happens in a new worktree before its agent starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Preparation {
    /// Patterns of files that are copied.
    pub(crate) copies: Vec<String>,
    /// Commands that run.
    pub(crate) commands: Vec<String>,
}

impl Preparation {
    /// Reads the file of a checkout; nothing when there is none or it does not read.
    pub(crate) fn read(checkout: &Path) -> Self {
        // The file may come from a stranger's commit: neither a link nor a pipe is opened.
        let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(checkout.join(FILE)).ok();
        let mut text = String::new();
        let read = file.and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text).ok());
        read.map_or_else(Self::default, |_| Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let table: toml::Table = text.parse().unwrap_or_default();
        let list = |key: &str| table.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let copies = list("include").iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let commands = list("commands").iter().filter_map(words).collect();
        Self { copies, commands }
    }
}

/// A command as people write it: a line, or words.
fn words(command: &Value) -> Option<String> {
    let words = |list: &Vec<Value>| list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ");
    command.as_str().map(str::to_owned).or(command.as_array().map(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_repository_says_what_is_copied_and_what_runs() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Preparation::read(directory.path()), Preparation::default());
        let text = "include = ['.env', '.envrc']\ncommands = ['npm ci', ['cargo', 'fetch']]\n";
        std::fs::write(directory.path().join(FILE), text).unwrap();
        let read = Preparation::read(directory.path());
        assert_eq!(read.copies, [".env", ".envrc"]);
        assert_eq!(read.commands, ["npm ci", "cargo fetch"]);
        std::fs::write(directory.path().join(FILE), "commands = 3").unwrap();
        assert_eq!(Preparation::read(directory.path()), Preparation::default());
    }
}

//! `.worktree-init.toml`: which files of the main checkout a new worktree gets, and which commands prepare
//! it. This file parses and checks it; [`copy_included`](crate::copy_included) copies the files, and the
//! caller runs the commands.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use serde::{Deserialize, Serialize};
use toml::Value;

use crate::error::{GitError, Result};

/// Its name, at the top of a checkout.
pub const INIT_FILE: &str = ".worktree-init.toml";

const KEYS: &[&str] = &["include", "commands"];
const MAX_BYTES: u64 = 64 << 10; // 64 KiB

/// The content of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitFile {
    /// Patterns as in `.gitignore`; untracked files of the main checkout that match are copied.
    pub include: Vec<String>,
    /// Run one after the other inside the new worktree.
    pub commands: Vec<InitCommand>,
}

/// One command: a line for the shell or a list of words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum InitCommand {
    /// A line for `sh -c`.
    Line(String),
    /// A program and its arguments, without a shell.
    Words(Vec<String>),
}

/// A fault in the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", .path.display())]
pub struct InitFileError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what would be right.
    pub message: String,
}

impl InitFile {
    /// Reads the file at the top of a checkout; a missing file is empty.
    ///
    /// # Errors
    /// [`GitError::InitFile`] with the line of the first fault, [`GitError::Io`] if it is no plain file.
    pub fn read(checkout: &Path) -> Result<Self> {
        let path = checkout.join(INIT_FILE);
        // Neither a link nor a pipe: the file may come from a stranger's commit.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match open(&path, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(rustix::io::Errno::NOENT) => return Ok(Self::default()),
            Err(error) => return Err(GitError::io(&path, error)),
        };
        let is_plain = file.metadata().map_err(|error| GitError::io(&path, error))?.is_file();
        let mut text = String::new();
        let read = if is_plain { file.take(MAX_BYTES + 1).read_to_string(&mut text) } else { Ok(0) };
        read.map_err(|error| GitError::io(&path, error))?;
        if !is_plain || text.len() as u64 > MAX_BYTES {
            let message = "the file must be a plain file of at most 64 KiB".to_owned();
            return Err(InitFileError { path, line: 1, message }.into());
        }
        Ok(Self::parse(&text).map_err(|(line, message)| InitFileError { path, line, message })?)
    }

    /// Reads the text of the file.
    ///
    /// # Errors
    /// The line, from 1, and what is wrong there.
    pub fn parse(text: &str) -> std::result::Result<Self, (usize, String)> {
        let line_at = |offset: usize| text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1;
        let fault = |error: &toml::de::Error| {
            (line_at(error.span().map_or(0, |span| span.start)), error.message().to_owned())
        };
        let table: toml::Table = text.parse().map_err(|error| fault(&error))?;
        let mut file = Self::default();
        for (key, value) in table {
            let at = || line_of_key(text, &key);
            match key.as_str() {
                "include" => {
                    file.include = strings(value).ok_or_else(|| (at(), list_of("include", "patterns")))?
                }
                "commands" => file.commands = commands(value).ok_or_else(|| (at(), command_rule()))?,
                _ => return Err((at(), unknown(&key))),
            }
        }
        Ok(file)
    }
}

fn list_of(key: &str, what: &str) -> String {
    format!("`{key}` is a list of {what}: {key} = [\"…\"]")
}

fn command_rule() -> String {
    "`commands` is a list of lines or of lists of words: commands = [\"make\", [\"cargo\", \"fetch\"]]"
        .to_owned()
}

/// Says it as the reader of TOML does, so that whoever shows it treats all unknown keys alike.
fn unknown(key: &str) -> String {
    format!("unknown field `{key}`, expected `{}`", KEYS.join("` or `"))
}

/// Returns the line on which a key of the top table is written.
fn line_of_key(text: &str, key: &str) -> usize {
    let is_key = |line: &str| {
        let rest = line.trim_start().trim_start_matches(['[', '"', '\'']);
        rest.strip_prefix(key).is_some_and(|after| after.starts_with([' ', '=', '.', ']', '"', '\'', '\t']))
    };
    text.lines().position(is_key).map_or(1, |index| index + 1)
}

fn strings(value: Value) -> Option<Vec<String>> {
    let Value::Array(list) = value else { return None };
    list.into_iter().map(|one| one.as_str().filter(|text| !text.contains('\0')).map(str::to_owned)).collect()
}

fn commands(value: Value) -> Option<Vec<InitCommand>> {
    let Value::Array(list) = value else { return None };
    list.into_iter()
        .map(|one| match one {
            Value::String(line) if !line.trim().is_empty() => Some(InitCommand::Line(line)),
            Value::Array(_) => strings(one).filter(|words| !words.is_empty()).map(InitCommand::Words),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f5_an_unknown_key_is_named_with_its_line_and_the_keys_that_there_are() {
        let fault = InitFile::parse("include = []\n\n# more\nincudle = [\".env\"]\n").unwrap_err();
        assert_eq!(fault, (4, "unknown field `incudle`, expected `include` or `commands`".to_owned()));
        let fault = InitFile::parse("[ports]\nfrom = 1\n").unwrap_err();
        assert_eq!(fault, (1, "unknown field `ports`, expected `include` or `commands`".to_owned()));
        assert_eq!(InitFile::parse("include = 3\n").unwrap_err().0, 1);
        assert_eq!(InitFile::parse("include = []\ncommands = [3]\n").unwrap_err().0, 2);
        assert_eq!(InitFile::parse("include = []\ncommands = [\n").unwrap_err().0, 2);
    }

    #[test]
    fn f5_lines_and_words_are_commands() {
        let file = InitFile::parse("include = ['.env*']\ncommands = ['make x', ['cargo', 'fetch']]").unwrap();
        let words = InitCommand::Words(vec!["cargo".to_owned(), "fetch".to_owned()]);
        assert_eq!(file.commands, [InitCommand::Line("make x".to_owned()), words]);
        assert_eq!(file.include, [".env*"]);
        assert_eq!(InitFile::parse("").unwrap(), InitFile::default());
    }
}

//! Parses `git status --porcelain=v2 --branch -z`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::oid::Oid;

/// One version of a file: its mode as git writes it, and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersion {
    /// `100644`, `100755`, `120000` (link), `160000` (submodule); `0` for nothing.
    pub mode: u32,
    /// The content; null for nothing.
    pub oid: Oid,
}

/// A file that differs somewhere between commit, index and checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// What differs between commit and index: `.` nothing, else one of `MTADRC`.
    pub staged: u8,
    /// What differs between index and checkout: `.` nothing, else one of `MTADRC`.
    pub unstaged: u8,
    /// True for a submodule.
    pub is_submodule: bool,
    /// What the index holds.
    pub index: FileVersion,
    /// The path from the top of the checkout.
    pub path: PathBuf,
    /// The path in the commit, for a file that was renamed or copied in the index.
    pub original: Option<PathBuf>,
}

/// One entry of a status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusEntry {
    /// A tracked file with changes.
    Changed(ChangedFile),
    /// A conflict, with the versions of the base, of us and of them.
    Unmerged {
        /// The three stages of the index.
        stages: [FileVersion; 3],
        /// The path from the top of the checkout.
        path: PathBuf,
    },
    /// A file, or a directory with a slash at its end, that git does not know.
    Untracked(PathBuf),
    /// The same for what `.gitignore` names.
    Ignored(PathBuf),
}

/// All that git printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Porcelain {
    /// The commit; none before the first one.
    pub head: Option<Oid>,
    /// The branch; none if `HEAD` is detached.
    pub branch: Option<String>,
    /// The entries in git's order.
    pub entries: Vec<StatusEntry>,
}

impl Porcelain {
    /// Reads everything; none if a record cannot be read.
    #[must_use]
    pub fn parse(printed: &[u8]) -> Option<Self> {
        let mut status = Self::default();
        let mut records = printed.split(|byte| *byte == 0);
        while let Some(record) = records.next() {
            match record {
                [] => {}
                [b'#', b' ', header @ ..] => status.header(&String::from_utf8_lossy(header)),
                [b'1', b' ', rest @ ..] => status.entries.push(changed(rest, 7, None)?),
                [b'2', b' ', rest @ ..] => {
                    let original = path(records.next()?);
                    status.entries.push(changed(rest, 8, Some(original))?);
                }
                [b'u', b' ', rest @ ..] => status.entries.push(unmerged(rest)?),
                [b'?', b' ', rest @ ..] => status.entries.push(StatusEntry::Untracked(path(rest))),
                [b'!', b' ', rest @ ..] => status.entries.push(StatusEntry::Ignored(path(rest))),
                _ => return None,
            }
        }
        Some(status)
    }

    fn header(&mut self, header: &str) {
        match header.split_once(' ') {
            Some(("branch.oid", oid)) => self.head = Oid::parse(oid).ok(),
            Some(("branch.head", name)) if name != "(detached)" => self.branch = Some(name.to_owned()),
            _ => {}
        }
    }
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Parses `XY sub mH mI mW hH hI [Xscore] path`, with `fields` words before the path.
fn changed(record: &[u8], fields: usize, original: Option<PathBuf>) -> Option<StatusEntry> {
    let (words, name) = split(record, fields)?;
    let [staged, unstaged] = *words.first()?.as_bytes() else { return None };
    Some(StatusEntry::Changed(ChangedFile {
        staged,
        unstaged,
        is_submodule: words.get(1)?.starts_with('S'),
        index: version(words.get(3)?, words.get(6)?)?,
        path: name,
        original,
    }))
}

/// Parses `XY sub m1 m2 m3 mW h1 h2 h3 path`.
fn unmerged(record: &[u8]) -> Option<StatusEntry> {
    let (words, name) = split(record, 9)?;
    let stage = |index: usize| version(words.get(1 + index)?, words.get(5 + index)?);
    Some(StatusEntry::Unmerged { stages: [stage(1)?, stage(2)?, stage(3)?], path: name })
}

fn version(mode: &str, oid: &str) -> Option<FileVersion> {
    Some(FileVersion { mode: u32::from_str_radix(mode, 8).ok()?, oid: Oid::parse(oid).ok()? })
}

/// Returns the first words of a record, and the path that follows them.
fn split(record: &[u8], fields: usize) -> Option<(Vec<&str>, PathBuf)> {
    let mut parts = record.splitn(fields + 1, |byte| *byte == b' ');
    let words: Option<Vec<&str>> =
        parts.by_ref().take(fields).map(|word| std::str::from_utf8(word).ok()).collect();
    let name = parts.next().filter(|name| !name.is_empty())?;
    Some((words?, path(name)))
}

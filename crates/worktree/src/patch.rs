//! Parses the text of `git diff` into files, hunks and lines with their numbers. Any bytes are safe: what
//! cannot be parsed ends its file.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::quote::c_unquote;

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileChange {
    /// Its content or mode changed.
    #[default]
    Modified,
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// It has another name.
    Renamed,
    /// It was made from another one.
    Copied,
}

/// One file of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileDiff {
    /// Its path before; that of the original if it was renamed or copied.
    pub old_path: PathBuf,
    /// Its path after.
    pub new_path: PathBuf,
    /// What happened to it.
    pub change: FileChange,
    /// Its mode before, if the diff says it.
    pub old_mode: Option<u32>,
    /// Its mode after, if the diff says it.
    pub new_mode: Option<u32>,
    /// How much of a renamed or copied file is the same, in per cent.
    pub similarity: Option<u8>,
    /// True if it is not text; there are no hunks then.
    pub is_binary: bool,
    /// The places that changed.
    pub hunks: Vec<Hunk>,
}

/// One place of a file that changed, with the lines around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// First line before, from 1.
    pub old_start: u32,
    /// First line after, from 1.
    pub new_start: u32,
    /// What git found above the place, usually a function.
    pub heading: Vec<u8>,
    /// Its lines.
    pub lines: Vec<DiffLine>,
}

/// Which side has a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffSide {
    /// Both.
    Context,
    /// Only the new one.
    Added,
    /// Only the old one.
    Removed,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    /// Which side has it.
    pub side: DiffSide,
    /// Its number before, from 1; none for an added line.
    pub old: Option<u32>,
    /// Its number after, from 1; none for a removed line.
    pub new: Option<u32>,
    /// Its text without the line feed.
    pub text: Vec<u8>,
    /// True for the last line of a file that ends without a line feed.
    pub lacks_newline: bool,
}

/// Reads a whole diff.
#[must_use]
pub fn parse_patch(text: &[u8]) -> Vec<FileDiff> {
    let mut reader = PatchReader::default();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        reader.line(line.strip_suffix(b"\n").unwrap_or(line));
    }
    reader.files
}

#[derive(Default)]
struct PatchReader {
    files: Vec<FileDiff>,
    /// Lines that the current hunk still lacks, before and after.
    owed: (u32, u32),
    /// Numbers of the next lines.
    next: (u32, u32),
}

impl PatchReader {
    fn line(&mut self, line: &[u8]) {
        if self.owed != (0, 0) || line.starts_with(b"\\ ") {
            return self.hunk_line(line);
        }
        if let Some(names) = line.strip_prefix(b"diff --git ") {
            let (old_path, new_path) = header_paths(names);
            self.files.push(FileDiff { old_path, new_path, ..FileDiff::default() });
        } else if let Some((hunk, owed)) = hunk_header(line) {
            if let Some(file) = self.files.last_mut() {
                self.next = (hunk.old_start, hunk.new_start);
                self.owed = owed;
                file.hunks.push(hunk);
            }
        } else if let Some(file) = self.files.last_mut() {
            extended_header(file, line);
        }
    }

    fn hunk_line(&mut self, line: &[u8]) {
        let Some(hunk) = self.files.last_mut().and_then(|file| file.hunks.last_mut()) else { return };
        let side = match line.first() {
            Some(b'+') if self.owed.1 > 0 => DiffSide::Added,
            Some(b'-') if self.owed.0 > 0 => DiffSide::Removed,
            Some(b' ') | None if self.owed.0 > 0 && self.owed.1 > 0 => DiffSide::Context,
            Some(b'\\') => {
                if let Some(last) = hunk.lines.last_mut() {
                    last.lacks_newline = true;
                }
                return;
            }
            _ => return self.owed = (0, 0),
        };
        let (old, new) = (side != DiffSide::Added, side != DiffSide::Removed);
        let text = line.get(1..).unwrap_or_default().to_vec();
        let (old_number, new_number) = (old.then_some(self.next.0), new.then_some(self.next.1));
        hunk.lines.push(DiffLine { side, old: old_number, new: new_number, text, lacks_newline: false });
        self.next.0 = self.next.0.saturating_add(u32::from(old));
        self.next.1 = self.next.1.saturating_add(u32::from(new));
        self.owed.0 -= u32::from(old);
        self.owed.1 -= u32::from(new);
    }
}

/// Parses `@@ -1,2 +3,4 @@ heading`, with the numbers of lines before and after.
fn hunk_header(line: &[u8]) -> Option<(Hunk, (u32, u32))> {
    let rest = line.strip_prefix(b"@@ -")?;
    let end = rest.windows(3).position(|window| window == b" @@")?;
    let (old, new) = std::str::from_utf8(&rest[..end]).ok()?.split_once(" +")?;
    let range = |text: &str| -> Option<(u32, u32)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let ((old_start, old_count), (new_start, new_count)) = (range(old)?, range(new)?);
    let heading = rest[end + 3..].strip_prefix(b" ").unwrap_or(&rest[end + 3..]).to_vec();
    Some((Hunk { old_start, new_start, heading, lines: Vec::new() }, (old_count, new_count)))
}

fn extended_header(file: &mut FileDiff, line: &[u8]) {
    let after = |prefix: &str| line.strip_prefix(prefix.as_bytes());
    let mode = |text: &[u8]| u32::from_str_radix(std::str::from_utf8(text).ok()?.trim(), 8).ok();
    if let Some(text) = after("new file mode ") {
        (file.change, file.new_mode) = (FileChange::Added, mode(text));
    } else if let Some(text) = after("deleted file mode ") {
        (file.change, file.old_mode) = (FileChange::Deleted, mode(text));
    } else if let Some(text) = after("old mode ") {
        file.old_mode = mode(text);
    } else if let Some(text) = after("new mode ") {
        file.new_mode = mode(text);
    } else if let Some(text) = after("similarity index ") {
        let digits = std::str::from_utf8(text).ok().and_then(|text| text.strip_suffix('%'));
        file.similarity = digits.and_then(|digits| digits.parse().ok());
    } else if let Some(name) = after("rename from ") {
        (file.change, file.old_path) = (FileChange::Renamed, path(name));
    } else if let Some(name) = after("copy from ") {
        (file.change, file.old_path) = (FileChange::Copied, path(name));
    } else if let Some(name) = after("rename to ").or_else(|| after("copy to ")) {
        file.new_path = path(name);
    } else if after("Binary files ").is_some() || after("GIT binary patch").is_some() {
        file.is_binary = true;
    }
}

/// Parses a path that may be quoted.
fn path(name: &[u8]) -> PathBuf {
    let bytes = c_unquote(name).map_or_else(|| name.to_vec(), |(bytes, _)| bytes);
    PathBuf::from(OsString::from_vec(bytes))
}

/// Parses `a/old b/new`. Without quotes both are the same path (a renamed file has lines of its own that name
/// it), so the text is cut in the middle.
fn header_paths(names: &[u8]) -> (PathBuf, PathBuf) {
    let without_prefix =
        |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.get(2..).unwrap_or_default().to_vec()));
    if let Some((old, rest)) = c_unquote(names) {
        let rest = rest.strip_prefix(b" ").unwrap_or(rest);
        let new = c_unquote(rest).map_or_else(|| rest.to_vec(), |(new, _)| new);
        return (without_prefix(&old), without_prefix(&new));
    }
    let quoted = names.windows(2).position(|window| window == b" \"");
    if let Some((new, _)) = quoted.and_then(|at| c_unquote(&names[at + 1..])) {
        let old = &names[..quoted.unwrap_or(0)];
        return (without_prefix(old), without_prefix(&new));
    }
    let (old, new) = names.split_at(names.len() / 2);
    (without_prefix(old), without_prefix(new.strip_prefix(b" ").unwrap_or(new)))
}

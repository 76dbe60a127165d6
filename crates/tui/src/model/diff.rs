//! A diff as git writes it, read into files and numbered lines.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use super::changed_words;

/// What a line of a diff is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    File,
    Hunk,
    Context,
    Added,
    Removed,
    /// A line of git about the file.
    Note,
}

/// One line of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiffLine {
    pub(crate) kind: LineKind,
    /// Which file it belongs to.
    pub(crate) file: usize,
    /// Its number before, and after the change.
    pub(crate) old: Option<u32>,
    pub(crate) new: Option<u32>,
    pub(crate) text: String,
    /// The bytes from and to which it differs from the line that it takes the place of.
    pub(crate) changed: Option<(usize, usize)>,
}

impl DiffLine {
    /// A line about a file.
    fn about(kind: LineKind, file: usize, text: &str) -> Self {
        Self { kind, file, old: None, new: None, text: text.to_owned(), changed: None }
    }
}

/// A file of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChangedFile {
    pub(crate) path: String,
    /// What became of it, as git abbreviates it: M, A, D or R.
    pub(crate) letter: char,
    pub(crate) added: usize,
    pub(crate) removed: usize,
    /// Differs when its changes do: what was seen of it before does not count any more.
    pub(crate) fingerprint: u64,
}

impl ChangedFile {
    fn new(path: &str) -> Self {
        Self { path: path.to_owned(), letter: 'M', added: 0, removed: 0, fingerprint: 0 }
    }

    /// Notes what a line of git above the first hunk says about the file.
    fn note(&mut self, line: &str) {
        let letters = [("new file mode ", 'A'), ("deleted file mode ", 'D'), ("rename from ", 'R')];
        let found = letters.iter().find(|(head, _)| line.starts_with(head));
        self.letter = found.map_or(self.letter, |(_, letter)| *letter);
    }
}

/// The files and the lines of a diff as git writes it. Any text gives some lines.
pub(crate) fn read_diff(text: &str) -> (Vec<ChangedFile>, Vec<DiffLine>) {
    let mut files: Vec<ChangedFile> = Vec::new();
    let mut lines = Vec::new();
    // Lines of the hunk that are still to come, and the numbers of the next ones.
    let (mut left, mut at) = ([0_u32; 2], [0_u32; 2]);
    for line in text.lines() {
        let file = files.len().saturating_sub(1);
        let mut push = |kind, old, new, text: &str| {
            lines.push(DiffLine { kind, file, old, new, text: text.to_owned(), changed: None });
        };
        match (line.chars().next(), left) {
            (Some('+'), [_, 1..=u32::MAX]) => {
                push(LineKind::Added, None, Some(at[1]), &line[1..]);
                (left[1], at[1]) = (left[1] - 1, at[1].saturating_add(1));
            }
            (Some('-'), [1..=u32::MAX, _]) => {
                push(LineKind::Removed, Some(at[0]), None, &line[1..]);
                (left[0], at[0]) = (left[0] - 1, at[0].saturating_add(1));
            }
            (Some(' ') | None, [1..=u32::MAX, 1..=u32::MAX]) => {
                push(LineKind::Context, Some(at[0]), Some(at[1]), line.get(1..).unwrap_or_default());
                (left, at) = ([left[0] - 1, left[1] - 1], at.map(|number| number.saturating_add(1)));
            }
            (Some('\\'), _) => push(LineKind::Note, None, None, line),
            _ => match hunk(line) {
                Some(numbers) if !files.is_empty() => {
                    (at, left) = ([numbers[0], numbers[2]], [numbers[1], numbers[3]]);
                    push(LineKind::Hunk, None, None, line);
                }
                _ => {
                    left = [0, 0];
                    head_line(line, &mut files, &mut lines);
                }
            },
        }
    }
    changed_words::mark(&mut lines);
    summarize(&mut files, &lines);
    (files, lines)
}

/// A line outside of hunks.
fn head_line(line: &str, files: &mut Vec<ChangedFile>, lines: &mut Vec<DiffLine>) {
    if let Some(rest) = line.strip_prefix("diff --git ") {
        let path = rest.rsplit_once(" b/").map_or(rest, |(_, path)| path);
        files.push(ChangedFile::new(path.trim_end_matches('"')));
        let file = files.len() - 1;
        lines.push(DiffLine::about(LineKind::File, file, &files[file].path));
        return;
    }
    if let Some(file) = files.last_mut() {
        file.note(line);
    }
    let is_plain = ["index ", "--- ", "+++ "].iter().any(|head| line.starts_with(head));
    if !is_plain && !files.is_empty() && !line.is_empty() {
        let file = files.len() - 1;
        lines.push(DiffLine::about(LineKind::Note, file, line));
    }
}

/// The four numbers of `@@ -first,count +first,count @@`.
fn hunk(line: &str) -> Option<[u32; 4]> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let pair = |range: &str| -> Option<[u32; 2]> {
        let (first, count) = range.split_once(',').unwrap_or((range, "1"));
        Some([first.parse().ok()?, count.parse().ok()?])
    };
    let ([first, count], [new_first, new_count]) = (pair(old)?, pair(new)?);
    Some([first, count, new_first, new_count])
}

/// Counts every file's lines and makes its fingerprint.
fn summarize(files: &mut [ChangedFile], lines: &[DiffLine]) {
    let mut prints: Vec<DefaultHasher> = files.iter().map(|_| DefaultHasher::new()).collect();
    for line in lines {
        let (Some(file), Some(print)) = (files.get_mut(line.file), prints.get_mut(line.file)) else {
            continue;
        };
        file.added += usize::from(line.kind == LineKind::Added);
        file.removed += usize::from(line.kind == LineKind::Removed);
        (line.kind as u8, &line.text).hash(print);
    }
    for (file, print) in files.iter_mut().zip(prints) {
        file.fingerprint = print.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/src/auth.rs b/src/auth.rs\nindex 1..2 100644\n--- a/src/auth.rs\n+++ b/src/auth.rs\n\
        @@ -40,3 +40,4 @@ fn check\n fn check() {\n-    t == SECRET\n+    let a = hash(t);\n+    a == self.secret\n }\n\
        diff --git a/b.txt b/b.txt\nnew file mode 100644\n--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+--- no header\n";

    #[test]
    fn u19_a_diff_gives_its_lines_with_their_numbers_on_both_sides() {
        let (files, lines) = read_diff(DIFF);
        let files: Vec<_> =
            files.iter().map(|file| (file.path.as_str(), file.letter, file.added, file.removed)).collect();
        assert_eq!(files, [("src/auth.rs", 'M', 2, 1), ("b.txt", 'A', 1, 0)]);
        let numbered: Vec<_> = lines.iter().filter(|line| line.old.or(line.new).is_some()).collect();
        let numbers: Vec<_> = numbered.iter().map(|line| (line.old, line.new)).collect();
        let expected = [(40, 40), (41, 0), (0, 41), (0, 42), (42, 43), (0, 1)];
        assert_eq!(
            numbers,
            expected.map(|(old, new)| (Some(old).filter(|old| *old > 0), Some(new).filter(|new| *new > 0)))
        );
        assert_eq!(numbered[5].text, "--- no header");
    }

    #[test]
    fn u19_the_letter_of_a_file_says_what_became_of_it_and_its_fingerprint_follows_its_lines() {
        let renamed =
            "diff --git a/a b/b\nsimilarity index 90%\nrename from a\nrename to b\n@@ -1 +1 @@\n-x\n+y\n";
        let deleted = "diff --git a/c b/c\ndeleted file mode 100644\n@@ -1 +0,0 @@\n-new file mode 1\n";
        let (files, _) = read_diff(&format!("{renamed}{deleted}"));
        assert_eq!(files.iter().map(|file| file.letter).collect::<String>(), "RD");
        let (later, _) = read_diff(&format!("{}{deleted}", renamed.replace("+y", "+z")));
        assert_ne!(files[0].fingerprint, later[0].fingerprint);
        assert_eq!(files[1], later[1]);
    }
}

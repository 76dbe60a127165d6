//! Lines of files that comments are about: quoted when a comment is written, compared at each look.

use std::path::{Component, Path};

use proto::task::{ReviewComment, ReviewSide, ReviewStatus};
use proto::{ErrorCode, Failure, Printable};
use worktree::FileDiff;

/// Largest file that is commented.
const MAX_FILE: u64 = 4 << 20; // 4 MiB

/// A path that leads nowhere but below the task's directory.
pub(crate) fn check_path(file: &str) -> Result<(), Failure> {
    let path = Path::new(file);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if file.is_empty() || !is_plain {
        return Err(Failure::invalid("file", "a path relative to the task's directory, without `..`"));
    }
    Ok(())
}

/// The lines `first..=last` of a file as it is now. Blocks.
pub(crate) fn read(directory: &Path, file: &str, first: u32, last: u32) -> Result<Vec<String>, Failure> {
    let lines = read_all(directory, file)?;
    pick(lines.into_iter(), first, last, &Printable(file).to_string())
}

/// Every line of a file as it is now. Blocks.
fn read_all(directory: &Path, file: &str) -> Result<Vec<String>, Failure> {
    check_path(file)?;
    let shown = Printable(file).to_string();
    let missing = |error: &dyn std::fmt::Display| {
        Failure::new(ErrorCode::NotFound, format!("{shown} cannot be read: {error}"))
            .hint("name a file of the task's directory")
    };
    let top = directory.canonicalize().map_err(|error| missing(&error))?;
    let real = top.join(file).canonicalize().map_err(|error| missing(&error))?;
    if !real.starts_with(&top) {
        return Err(Failure::invalid("file", format!("{shown} leads out of the task's directory")));
    }
    let meta = real.metadata().map_err(|error| missing(&error))?;
    if !meta.is_file() || meta.len() > MAX_FILE {
        return Err(Failure::invalid("file", format!("{shown} is not a file of at most 4 MiB")));
    }
    let bytes = std::fs::read(&real).map_err(|error| missing(&error))?;
    Ok(split(&bytes))
}

/// The lines of a file's content.
pub(crate) fn split(content: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(content).lines().map(str::to_owned).collect()
}

/// The lines `first..=last` of a file as it was, as far as the diff shows them.
pub(crate) fn read_old(
    files: &[FileDiff],
    file: &str,
    first: u32,
    last: u32,
) -> Result<Vec<String>, Failure> {
    check_path(file)?;
    let shown = Printable(file).to_string();
    let changed = files.iter().find(|changed| changed.old_path == Path::new(file));
    let mut found = Vec::new();
    for hunk in changed.into_iter().flat_map(|changed| &changed.hunks) {
        for line in &hunk.lines {
            if line.old.is_some_and(|number| (first..=last).contains(&number)) {
                found.push(String::from_utf8_lossy(&line.text).into_owned());
            }
        }
    }
    let wanted = usize::try_from(last.saturating_sub(first)).unwrap_or(usize::MAX).saturating_add(1);
    if found.len() != wanted {
        let message = format!("the diff does not show lines {first} to {last} of the old {shown}");
        return Err(Failure::new(ErrorCode::NotFound, message).hint("qd diff NAME shows the lines it has"));
    }
    Ok(found)
}

fn pick(
    lines: impl Iterator<Item = String>,
    first: u32,
    last: u32,
    shown: &str,
) -> Result<Vec<String>, Failure> {
    if first == 0 || last < first {
        return Err(Failure::invalid("first", "lines count from 1, and the last is not before the first"));
    }
    let before = usize::try_from(first - 1).unwrap_or(usize::MAX);
    let count = usize::try_from(last - first).unwrap_or(usize::MAX).saturating_add(1);
    let mut seen = 0;
    let found: Vec<String> = lines.inspect(|_| seen += 1).skip(before).take(count).collect();
    if found.len() < count {
        let message = format!("{shown} has no line {last}");
        let hint = match seen {
            1 => "it has 1 line".to_owned(),
            seen => format!("it has {seen} lines"),
        };
        return Err(Failure::new(ErrorCode::NotFound, message).hint(hint));
    }
    Ok(found)
}

/// Marks the comments whose lines are not there any more. Lines that only moved are not stale: if they stand in one other
/// place of the file, the comment has that place. `old` reads the file that the task began from, and none if there is none.
/// Blocks.
pub(crate) fn mark_stale(
    directory: &Path,
    comments: &mut [ReviewComment],
    mut old: impl FnMut(&str) -> Result<Option<Vec<String>>, Failure>,
) {
    for comment in comments.iter_mut() {
        let lines = match comment.side {
            ReviewSide::New => Ok(read_all(directory, &comment.file).ok()),
            ReviewSide::Old if comment.status == ReviewStatus::Resolved => continue,
            ReviewSide::Old => old(&comment.file),
        };
        // What cannot be compared is not called changed.
        let Ok(lines) = lines.inspect_err(|failure| tracing::debug!(%failure, "a comment was not compared"))
        else {
            continue;
        };
        match lines.and_then(|lines| place(&lines, &comment.quoted, comment.first)) {
            Some(first) => {
                comment.last = first + comment.last.saturating_sub(comment.first);
                comment.first = first;
                comment.is_stale = false;
            }
            None => comment.is_stale = true,
        }
    }
}

/// Returns the line at which the quoted ones begin now: the same, or the only other one.
fn place(lines: &[String], quoted: &[String], first: u32) -> Option<u32> {
    let known = usize::try_from(first).ok()?.checked_sub(1)?;
    if quoted.is_empty() || lines.get(known..).is_some_and(|rest| rest.starts_with(quoted)) {
        return Some(first);
    }
    let windows = lines.windows(quoted.len()).enumerate();
    let mut found = windows.filter(|(_, window)| *window == quoted).map(|(at, _)| at);
    let only = found.next()?;
    if found.next().is_some() { None } else { u32::try_from(only + 1).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k4_quoted_lines_come_from_inside_the_task_and_from_nowhere_else() {
        let root = tempfile::tempdir().unwrap();
        let (top, outside) = (root.path().join("task"), root.path().join("secret"));
        std::fs::create_dir(&top).unwrap();
        std::fs::write(&outside, "secret\n").unwrap();
        std::fs::write(top.join("a.rs"), "one\ntwo\nthree").unwrap();
        std::os::unix::fs::symlink(&outside, top.join("link")).unwrap();
        assert_eq!(read(&top, "a.rs", 2, 3).unwrap(), ["two", "three"]);
        for (file, first, last) in [
            ("../secret", 1, 1),
            ("/etc/hostname", 1, 1),
            ("link", 1, 1),
            ("a.rs", 0, 1),
            ("a.rs", 3, 2),
            ("a.rs", 3, 4),
            ("a.rs", 1, u32::MAX),
            ("", 1, 1),
            (".", 1, 1),
            ("nowhere", 1, 1),
        ] {
            assert!(read(&top, file, first, last).is_err(), "{file}:{first}-{last}");
        }
    }

    fn comment(side: ReviewSide, first: u32, quoted: &[&str]) -> ReviewComment {
        ReviewComment {
            number: 1,
            file: "a.rs".to_owned(),
            side,
            first,
            last: first + u32::try_from(quoted.len()).unwrap() - 1,
            quoted: quoted.iter().map(|line| (*line).to_owned()).collect(),
            text: "x".to_owned(),
            author: "human".to_owned(),
            status: ReviewStatus::Sent,
            is_stale: false,
        }
    }

    /// What a comment on lines 2 and 3 is after the file has this text: its place, and whether it is stale.
    fn looked_at(side: ReviewSide, text: &str) -> (u32, u32, bool) {
        let root = tempfile::tempdir().unwrap();
        let mut comments = [comment(side, 2, &["two", "three"])];
        let old = |_: &str| Ok(Some(split(text.as_bytes())));
        if side == ReviewSide::New {
            std::fs::write(root.path().join("a.rs"), text).unwrap();
        }
        mark_stale(root.path(), &mut comments, old);
        (comments[0].first, comments[0].last, comments[0].is_stale)
    }

    #[test]
    fn k4_a_comment_is_stale_when_its_lines_changed_and_not_when_they_moved() {
        for side in [ReviewSide::New, ReviewSide::Old] {
            for (text, expected) in [
                ("one\ntwo\nthree\n", (2, 3, false)),
                ("one\nzwei\nthree\n", (2, 3, true)),
                ("zero\none\ntwo\nthree\n", (3, 4, false)),
                ("two\nthree\n", (1, 2, false)),
                ("two\nthree\none\nnull\ntwo\nthree\n", (2, 3, true)),
                ("two\nthree\ntwo\nthree\n", (2, 3, true)),
                ("one\ntwo\n", (2, 3, true)),
                ("", (2, 3, true)),
            ] {
                assert_eq!(looked_at(side, text), expected, "{side:?} {text:?}");
            }
        }
    }

    #[test]
    fn k4_a_comment_on_a_file_that_is_gone_is_stale_and_one_that_cannot_be_compared_is_not() {
        let root = tempfile::tempdir().unwrap();
        let failure = || Failure::new(ErrorCode::NotFound, "no base");
        let mut gone = [comment(ReviewSide::New, 1, &["one"]), comment(ReviewSide::Old, 1, &["one"])];
        mark_stale(root.path(), &mut gone, |_| Ok(None));
        assert!(gone.iter().all(|comment| comment.is_stale));
        let mut unknown = [comment(ReviewSide::Old, 1, &["one"])];
        mark_stale(root.path(), &mut unknown, |_| Err(failure()));
        assert!(!unknown[0].is_stale);
    }
}

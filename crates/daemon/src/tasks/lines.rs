//! Lines of files that comments are about: quoted when a comment is written, compared at each look.

use std::path::{Component, Path};

use proto::task::{ReviewComment, ReviewSide};
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
    let text = String::from_utf8_lossy(&bytes);
    pick(text.lines().map(str::to_owned), first, last, &shown)
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

/// Marks the comments whose lines are not there any more. Blocks.
pub(crate) fn mark_stale(directory: &Path, comments: &mut [ReviewComment]) {
    for comment in comments.iter_mut().filter(|comment| comment.side == ReviewSide::New) {
        let now = read(directory, &comment.file, comment.first, comment.last);
        comment.is_stale = now.ok().as_ref() != Some(&comment.quoted);
    }
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

    #[test]
    fn k4_a_comment_whose_lines_changed_is_stale() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("a.rs"), "one\ntwo\n").unwrap();
        let mut comments = [ReviewComment {
            number: 1,
            file: "a.rs".to_owned(),
            side: ReviewSide::New,
            first: 2,
            last: 2,
            quoted: vec!["two".to_owned()],
            text: "x".to_owned(),
            author: "human".to_owned(),
            status: proto::task::ReviewStatus::Sent,
            is_stale: false,
        }];
        mark_stale(root.path(), &mut comments);
        assert!(!comments[0].is_stale);
        std::fs::write(root.path().join("a.rs"), "one\nzwei\n").unwrap();
        mark_stale(root.path(), &mut comments);
        assert!(comments[0].is_stale);
    }
}

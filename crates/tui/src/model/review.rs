//! The review of a task: its changes line by line, the comments on them, and what is selected.

use proto::task::{ReviewComment, ReviewSide, ReviewStatus};

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

/// A row of the review: a line of the diff, or a comment below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReviewRow {
    Line(usize),
    Comment(usize),
}

/// An open review.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Review {
    pub(crate) task: String,
    pub(crate) files: Vec<String>,
    pub(crate) lines: Vec<DiffLine>,
    pub(crate) is_truncated: bool,
    pub(crate) comments: Vec<ReviewComment>,
    /// The selected row.
    pub(crate) row: usize,
    /// The other end of a range.
    pub(crate) anchor: Option<usize>,
    /// Columns that long lines are scrolled to the left.
    pub(crate) left: usize,
    /// What is looked for.
    pub(crate) search: String,
}

/// The place that a comment is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommentPlace {
    pub(crate) file: String,
    pub(crate) side: ReviewSide,
    pub(crate) first: u32,
    pub(crate) last: u32,
}

impl Review {
    pub(crate) fn new(task: String, text: &str, is_truncated: bool) -> Self {
        let (files, lines) = read_diff(text);
        Self { task, files, lines, is_truncated, ..Self::default() }
    }

    /// Every row: comments stand below the last line they are about, and those whose line is gone below their file.
    pub(crate) fn rows(&self) -> Vec<ReviewRow> {
        let mut rows = Vec::with_capacity(self.lines.len() + self.comments.len());
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); self.lines.len()];
        for (at, comment) in self.comments.iter().enumerate() {
            if let Some(line) = self.line_of(comment) {
                below[line].push(at);
            }
        }
        for (at, comments) in below.into_iter().enumerate() {
            rows.push(ReviewRow::Line(at));
            rows.extend(comments.into_iter().map(ReviewRow::Comment));
        }
        rows
    }

    fn line_of(&self, comment: &ReviewComment) -> Option<usize> {
        let file = self.files.iter().position(|file| *file == comment.file);
        let number = |line: &DiffLine| match comment.side {
            ReviewSide::New => line.new,
            ReviewSide::Old => line.old,
        };
        let is_it = |line: &DiffLine| Some(line.file) == file && number(line) == Some(comment.last);
        let is_head = |line: &DiffLine| Some(line.file) == file && line.kind == LineKind::File;
        self.lines
            .iter()
            .position(is_it)
            .or_else(|| self.lines.iter().position(is_head))
            .or(Some(0))
            .filter(|line| *line < self.lines.len())
    }

    pub(crate) fn step(&mut self, by: isize) {
        let most = self.rows().len().saturating_sub(1);
        self.row = self.row.saturating_add_signed(by).min(most);
    }

    /// Goes to the next or the previous line of a kind.
    pub(crate) fn jump(&mut self, kinds: &[LineKind], is_back: bool) {
        let rows = self.rows();
        let is_it = |at: &usize| matches!(rows.get(*at), Some(ReviewRow::Line(line)) if kinds.contains(&self.lines[*line].kind));
        let found = match is_back {
            true => (0..self.row).rev().find(is_it),
            false => (self.row + 1..rows.len()).find(is_it),
        };
        self.row = found.unwrap_or(self.row);
    }

    /// Characters of the longest line.
    pub(crate) fn longest(&self) -> usize {
        self.lines.iter().map(|line| line.text.chars().count()).max().unwrap_or(0)
    }

    /// Goes to the next row with the text that is looked for, from the top again after the last; returns false when there is
    /// none.
    pub(crate) fn find(&mut self) -> bool {
        let wanted = self.search.to_lowercase();
        let rows = self.rows();
        let has_it = |at: &usize| match rows.get(*at) {
            Some(ReviewRow::Line(line)) => self.lines[*line].text.to_lowercase().contains(&wanted),
            Some(ReviewRow::Comment(comment)) => {
                self.comments[*comment].text.to_lowercase().contains(&wanted)
            }
            None => false,
        };
        let found = (self.row + 1..rows.len()).chain(0..=self.row).find(has_it);
        let found = found.filter(|_| !wanted.is_empty());
        self.row = found.unwrap_or(self.row);
        found.is_some()
    }

    /// The file of the selected row, and the line in it after the change.
    pub(crate) fn place_in_file(&self) -> Option<(&str, u32)> {
        let rows = self.rows();
        let lines = rows[..=self.row.min(rows.len().checked_sub(1)?)].iter().rev();
        let here = lines.clone().find_map(|row| match row {
            ReviewRow::Line(line) => self.lines.get(*line),
            ReviewRow::Comment(_) => None,
        })?;
        let number = lines.clone().find_map(|row| match row {
            ReviewRow::Line(line) => self.lines.get(*line).filter(|line| line.file == here.file)?.new,
            ReviewRow::Comment(_) => None,
        });
        Some((self.files.get(here.file)?.as_str(), number.unwrap_or(1)))
    }

    /// The comment on the selected row.
    pub(crate) fn comment(&self) -> Option<&ReviewComment> {
        match self.rows().get(self.row) {
            Some(ReviewRow::Comment(at)) => self.comments.get(*at),
            _ => None,
        }
    }

    pub(crate) fn is_selected(&self, row: usize) -> bool {
        let other = self.anchor.unwrap_or(self.row);
        (self.row.min(other)..=self.row.max(other)).contains(&row)
    }

    /// The place that a comment on the selection is about: lines of one file, on the side that they have.
    pub(crate) fn place(&self) -> Option<CommentPlace> {
        let rows = self.rows();
        let chosen = rows.iter().enumerate().filter(|(at, _)| self.is_selected(*at));
        let lines: Vec<&DiffLine> = chosen
            .filter_map(|(_, row)| match row {
                ReviewRow::Line(line) => self.lines.get(*line),
                ReviewRow::Comment(_) => None,
            })
            .collect();
        let file = lines.first()?.file;
        let own = lines.iter().filter(|line| line.file == file);
        let side = if own.clone().any(|line| line.new.is_some()) { ReviewSide::New } else { ReviewSide::Old };
        let numbers: Vec<u32> =
            own.filter_map(|line| if side == ReviewSide::New { line.new } else { line.old }).collect();
        let (first, last) = (*numbers.iter().min()?, *numbers.iter().max()?);
        Some(CommentPlace { file: self.files.get(file)?.clone(), side, first, last })
    }

    pub(crate) fn drafts(&self) -> usize {
        self.comments.iter().filter(|comment| comment.status == ReviewStatus::Draft).count()
    }
}

/// The files and the lines of a diff as git writes it. Any text gives some lines.
pub(crate) fn read_diff(text: &str) -> (Vec<String>, Vec<DiffLine>) {
    let mut files: Vec<String> = Vec::new();
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
    (files, lines)
}

/// A line outside of hunks.
fn head_line(line: &str, files: &mut Vec<String>, lines: &mut Vec<DiffLine>) {
    if let Some(rest) = line.strip_prefix("diff --git ") {
        let path = rest.rsplit_once(" b/").map_or(rest, |(_, path)| path);
        files.push(path.trim_end_matches('"').to_owned());
        let file = files.len() - 1;
        lines.push(DiffLine::about(LineKind::File, file, &files[file]));
        return;
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

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/src/auth.rs b/src/auth.rs\nindex 1..2 100644\n--- a/src/auth.rs\n+++ b/src/auth.rs\n\
        @@ -40,3 +40,4 @@ fn check\n fn check() {\n-    t == SECRET\n+    let a = hash(t);\n+    a == self.secret\n }\n\
        diff --git a/b.txt b/b.txt\nnew file mode 100644\n--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+--- no header\n";

    #[test]
    fn u19_a_diff_gives_its_lines_with_their_numbers_on_both_sides() {
        let (files, lines) = read_diff(DIFF);
        assert_eq!(files, ["src/auth.rs", "b.txt"]);
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
    fn u19_a_comment_is_about_the_selected_lines_and_stands_below_them() {
        let mut review = Review::new("fix".to_owned(), DIFF, false);
        let is_added = |row: &ReviewRow| matches!(row, ReviewRow::Line(line) if review.lines[*line].kind == LineKind::Added);
        let first = review.rows().iter().position(is_added).unwrap();
        (review.row, review.anchor) = (first + 1, Some(first));
        let place = review.place().unwrap();
        assert_eq!(
            (place.file.as_str(), place.side, place.first, place.last),
            ("src/auth.rs", ReviewSide::New, 41, 42)
        );
        let comment: ReviewComment =
            serde_json::from_value(serde_json::json!({"number": 1, "file": "src/auth.rs",
            "first": 41, "last": 42, "quoted": [], "text": "t", "author": "human", "status": "draft"}))
            .unwrap();
        // A comment whose line is gone stands below the name of its file.
        let gone = ReviewComment { number: 2, last: 900, is_stale: true, ..comment.clone() };
        review.comments = vec![comment, gone];
        let rows = review.rows();
        assert_eq!(rows[1], ReviewRow::Comment(1));
        let at = rows.iter().position(|row| *row == ReviewRow::Comment(0)).unwrap();
        assert!(matches!(rows[at - 1], ReviewRow::Line(line) if review.lines[line].new == Some(42)));
        assert_eq!(review.drafts(), 2);
        // A search goes around; the editor is opened at the line after the change.
        review.search = "t == SECRET".to_owned();
        assert!(review.find());
        assert_eq!(review.place_in_file(), Some(("src/auth.rs", 40)));
        review.search = "nowhere".to_owned();
        assert!(!review.find());
    }
}

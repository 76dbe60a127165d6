//! The review of a task: its changes line by line, the comments on them, and what is selected.

use proto::task::{ReviewComment, ReviewSide, ReviewStatus};

use super::Model;
use super::diff::{ChangedFile, DiffLine, LineKind, read_diff};
use super::tasks::running_agent;

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
    /// What the changes are compared with.
    pub(crate) base: String,
    /// The branch or commit that the person compares with; none: where the task began.
    pub(crate) wanted_base: Option<String>,
    pub(crate) files: Vec<ChangedFile>,
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

    /// Lines that were added and removed, of all files.
    pub(crate) fn totals(&self) -> (usize, usize) {
        self.files.iter().fold((0, 0), |(added, removed), file| (added + file.added, removed + file.removed))
    }

    /// The file that the selected row belongs to.
    pub(crate) fn file_here(&self) -> Option<usize> {
        let rows = self.rows();
        let rows = rows.get(..=self.row.min(rows.len().checked_sub(1)?))?;
        rows.iter().rev().find_map(|row| match row {
            ReviewRow::Line(line) => self.lines.get(*line).map(|line| line.file),
            ReviewRow::Comment(_) => None,
        })
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
        let file = self.files.iter().position(|file| file.path == comment.file);
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
        Some((self.files.get(here.file)?.path.as_str(), number.unwrap_or(1)))
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
        let mut own: Vec<&DiffLine> = lines.into_iter().filter(|line| line.file == file).collect();
        if own.iter().all(|line| line.new.or(line.old).is_none()) {
            own = vec![self.change_below(self.row)?];
        }
        let own = own.iter();
        let side = if own.clone().any(|line| line.new.is_some()) { ReviewSide::New } else { ReviewSide::Old };
        let numbers: Vec<u32> =
            own.filter_map(|line| if side == ReviewSide::New { line.new } else { line.old }).collect();
        let (first, last) = (*numbers.iter().min()?, *numbers.iter().max()?);
        Some(CommentPlace { file: self.files.get(file)?.path.clone(), side, first, last })
    }

    /// The first changed line below a row, in the same file: what a comment on the heading of a file or of a change is about.
    fn change_below(&self, row: usize) -> Option<&DiffLine> {
        let rows = self.rows();
        let lines = rows.get(row..)?.iter().filter_map(|row| match row {
            ReviewRow::Line(line) => self.lines.get(*line),
            ReviewRow::Comment(_) => None,
        });
        let mut own =
            lines.clone().take_while(|line| Some(line.file) == lines.clone().next().map(|first| first.file));
        own.find(|line| matches!(line.kind, LineKind::Added | LineKind::Removed))
    }

    pub(crate) fn drafts(&self) -> usize {
        self.comments.iter().filter(|comment| comment.status == ReviewStatus::Draft).count()
    }
}

impl Model {
    /// The name of the agent that gets the comments of a review; none while no agent works on the task.
    pub(crate) fn review_agent(&self, review: &Review) -> Option<String> {
        let task = self.crew.tasks.iter().find(|task| task.name == review.task)?;
        running_agent(task).map(|process| self.name(process))
    }

    /// The person has marked this file as seen, and it has not changed since.
    pub(crate) fn is_seen_file(&self, review: &Review, file: &ChangedFile) -> bool {
        let key = (review.task.clone(), file.path.clone());
        self.crew.seen_files.get(&key) == Some(&file.fingerprint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/src/auth.rs b/src/auth.rs\nindex 1..2 100644\n--- a/src/auth.rs\n+++ b/src/auth.rs\n\
        @@ -40,3 +40,4 @@ fn check\n fn check() {\n-    t == SECRET\n+    let a = hash(t);\n+    a == self.secret\n }\n\
        diff --git a/b.txt b/b.txt\nnew file mode 100644\n--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+--- no header\n";

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
        // On the heading of a file or of a change, the first line that it changes.
        for (row, file, first) in [(0, "src/auth.rs", 41), (2, "src/auth.rs", 41), (9, "b.txt", 1)] {
            (review.row, review.anchor) = (row, None);
            let place = review.place().unwrap();
            assert_eq!((place.file.as_str(), place.first, place.last), (file, first, first), "row {row}");
        }
        // A search goes around; the editor is opened at the line after the change.
        review.search = "t == SECRET".to_owned();
        assert!(review.find());
        assert_eq!(review.place_in_file(), Some(("src/auth.rs", 40)));
        review.search = "nowhere".to_owned();
        assert!(!review.find());
    }
}

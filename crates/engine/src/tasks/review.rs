//! A task's review: comments that are kept as drafts, and the one message that they become.

use proto::task::{ReviewComment, ReviewSide, ReviewStatus};
use proto::{ErrorCode, Failure, Printable};

use super::{TaskRecord, Tasks};

/// Comments that are kept of a task.
const MAX_COMMENTS: usize = 500;
/// Longest comment, in bytes.
const MAX_TEXT: usize = 16 * 1024;
/// Quoted lines of one comment.
const MAX_QUOTED: usize = 200;

impl Tasks {
    /// Keeps a comment as a draft and gives it a number.
    pub(crate) fn add_comment(&mut self, id: u64, mut comment: ReviewComment) -> Result<u32, Failure> {
        if comment.text.trim().is_empty() || comment.text.len() > MAX_TEXT {
            return Err(Failure::invalid("text", format!("between 1 and {MAX_TEXT} bytes")));
        }
        if comment.quoted.len() > MAX_QUOTED {
            return Err(Failure::invalid("last", format!("a comment covers at most {MAX_QUOTED} lines")));
        }
        let Some(task) = self.all.get_mut(&id) else { return Err(super::no_task("")) };
        if task.comments.len() >= MAX_COMMENTS {
            let message = format!("the review has {MAX_COMMENTS} comments already, which is the limit");
            return Err(Failure::new(ErrorCode::Limit, message).hint("remove some: qd review NAME rm N"));
        }
        comment.number = task.comments.iter().map(|comment| comment.number).max().unwrap_or(0) + 1;
        let number = comment.number;
        task.comments.push(comment);
        self.changed.insert(id);
        Ok(number)
    }

    /// Settles a comment, or takes it away.
    pub(crate) fn change_comment(&mut self, id: u64, number: u32, is_removed: bool) -> Result<(), Failure> {
        let Some(task) = self.all.get_mut(&id) else { return Err(super::no_task("")) };
        let Some(index) = task.comments.iter().position(|comment| comment.number == number) else {
            let message = format!("task \"{}\" has no comment {number}", Printable(&task.name));
            return Err(Failure::new(ErrorCode::NotFound, message).hint("qd review NAME list shows them"));
        };
        if is_removed {
            task.comments.remove(index);
        } else if let Some(comment) = task.comments.get_mut(index) {
            comment.status = ReviewStatus::Resolved;
        }
        self.changed.insert(id);
        Ok(())
    }

    /// Marks every draft as sent, with the lines that the message names; returns their numbers.
    pub(crate) fn mark_sent(&mut self, id: u64, seen: &[ReviewComment]) -> Vec<u32> {
        let mut sent = Vec::new();
        if let Some(task) = self.all.get_mut(&id) {
            for comment in task.comments.iter_mut().filter(|comment| comment.status == ReviewStatus::Draft) {
                let now = located(comment, seen);
                (comment.first, comment.last, comment.status) = (now.first, now.last, ReviewStatus::Sent);
                sent.push(comment.number);
            }
            self.changed.insert(id);
        }
        sent
    }

    /// Makes the comments of a review that did not arrive drafts again, so that they can be sent again. Returns the task's
    /// name and how many they are.
    pub(crate) fn mark_unsent(&mut self, id: u64, sent: &[u32]) -> Option<(String, usize)> {
        let task = self.all.get_mut(&id)?;
        let mut count = 0;
        for comment in task.comments.iter_mut() {
            if comment.status == ReviewStatus::Sent && sent.contains(&comment.number) {
                comment.status = ReviewStatus::Draft;
                count += 1;
            }
        }
        self.changed.insert(id);
        Some((task.name.clone(), count))
    }
}

impl TaskRecord {
    /// The message that all drafts become, with the lines where they are seen now; none without drafts.
    pub(crate) fn review_message(&self, seen: &[ReviewComment]) -> Option<String> {
        let drafts = self.comments.iter().filter(|comment| comment.status == ReviewStatus::Draft);
        let drafts: Vec<ReviewComment> = drafts.map(|comment| located(comment, seen)).collect();
        if drafts.is_empty() {
            return None;
        }
        let count = drafts.len();
        let noun = if count == 1 { "comment" } else { "comments" };
        let mut message = format!("Review of your work on {}: {count} {noun}.\n", self.name);
        for comment in drafts {
            message.push('\n');
            message.push_str(&format!("{}. {}", comment.number, lines_of(&comment)));
            message.push('\n');
            comment.quoted.iter().for_each(|line| message.push_str(&format!("    {line}\n")));
            message.push_str(comment.text.trim_end());
            message.push('\n');
        }
        Some(message)
    }
}

/// The comment with the lines where it is seen now; one that was not seen stays as it is.
fn located(comment: &ReviewComment, seen: &[ReviewComment]) -> ReviewComment {
    let is_it = |seen: &&ReviewComment| seen.number == comment.number && seen.quoted == comment.quoted;
    let (first, last, is_stale) = match seen.iter().find(is_it) {
        Some(seen) => (seen.first, seen.last, seen.is_stale),
        None => (comment.first, comment.last, comment.is_stale),
    };
    ReviewComment { first, last, is_stale, ..comment.clone() }
}

/// `src/auth.rs:41-42`, with the side if it is the old one, and whether its lines are others now.
fn lines_of(comment: &ReviewComment) -> String {
    let ReviewComment { file, first, last, .. } = comment;
    let side = if comment.side == ReviewSide::Old { " (before the change)" } else { "" };
    let stale = if comment.is_stale { " (these lines have changed since the comment)" } else { "" };
    let file = Printable(file);
    let lines = if first == last { first.to_string() } else { format!("{first}-{last}") };
    format!("{file}:{lines}{side}{stale}")
}

//! A task's review: comments on lines of its changes.

use serde::{Deserialize, Serialize};

/// Which side of a diff a comment is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewSide {
    /// The lines as they are now.
    #[default]
    New,
    /// The lines as they were.
    Old,
}

/// Where a comment stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewStatus {
    /// It has not been sent.
    Draft,
    /// The task's agent has it.
    Sent,
    /// It is settled.
    Resolved,
}

/// One comment of a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewComment {
    /// Its number within the task.
    pub number: u32,
    /// The file, relative to the task's directory.
    pub file: String,
    /// Which side of the diff.
    #[serde(default)]
    pub side: ReviewSide,
    /// Its first line, from 1.
    pub first: u32,
    /// Its last line.
    pub last: u32,
    /// The lines as they were when it was written.
    pub quoted: Vec<String>,
    /// What it says.
    pub text: String,
    /// Who wrote it.
    pub author: String,
    /// Where it stands.
    pub status: ReviewStatus,
    /// The lines have changed since. Derived at each look.
    #[serde(default)]
    pub is_stale: bool,
}

/// A task's review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskReview {
    /// The task.
    pub name: String,
    /// Its comments, oldest first.
    pub comments: Vec<ReviewComment>,
    /// The message that was just sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mail: Option<crate::agent::MailId>,
}

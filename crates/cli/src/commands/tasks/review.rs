//! `qd review`: comments on a task's changes, sent as one message.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use proto::request::{Empty, ReviewAct, ReviewTask, TaskAct};
use proto::task::{ReviewComment, ReviewSide, ReviewStatus, TaskOutcome};

use super::{ask, target, unexpected};
use crate::commands::send::from_stdin;
use crate::context::Context;
use crate::errors::CliError;

/// Comment on a task's changes and send the comments to its agent as one message
#[derive(Debug, Args)]
pub(crate) struct ReviewArgs {
    /// The task
    name: String,

    #[command(subcommand)]
    verb: Option<ReviewVerb>,
}

#[derive(Debug, Subcommand)]
enum ReviewVerb {
    /// List the comments (the default)
    List,
    /// Add a comment as a draft
    Add {
        /// FILE:LINE or FILE:FIRST-LAST, with the file relative to the task's directory
        place: String,
        /// The comment; - reads it from stdin
        text: String,
        /// The line numbers are those of the file before the change
        #[arg(long)]
        old: bool,
    },
    /// Send every draft to the task's agent, as one message
    Send,
    /// Mark a comment as resolved
    Resolve {
        /// Its number
        number: u32,
    },
    /// Remove a comment
    Rm {
        /// Its number
        number: u32,
    },
}

impl ReviewArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let act = match self.verb.unwrap_or(ReviewVerb::List) {
            ReviewVerb::List => ReviewAct::List(Empty {}),
            ReviewVerb::Add { place, text, old } => {
                let (file, first, last) = read_place(&place)?;
                let side = if old { ReviewSide::Old } else { ReviewSide::New };
                let text = if text == "-" { from_stdin()? } else { text };
                ReviewAct::Add { file, side, first, last, text }
            }
            ReviewVerb::Send => ReviewAct::Send(Empty {}),
            ReviewVerb::Resolve { number } => ReviewAct::Resolve { number },
            ReviewVerb::Rm { number } => ReviewAct::Remove { number },
        };
        let request = ReviewTask { target: target(Some(self.name))?, act };
        let outcome = ask(&mut context.connect()?, TaskAct::Review(request))?;
        let TaskOutcome::Review(review) = outcome else { return Err(unexpected()) };
        context.print(&review, |review, out| {
            if let Some(mail) = review.mail {
                return out.line(&format!("sent as message {mail}"));
            }
            if review.comments.is_empty() {
                return out.line("no comments; qd review NAME add FILE:LINE TEXT makes one");
            }
            review.comments.iter().try_for_each(|comment| {
                out.line(&head(comment))?;
                comment.quoted.iter().try_for_each(|line| out.line(&format!("    {line}")))?;
                out.text(&comment.text)
            })
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// `FILE:LINE` or `FILE:FIRST-LAST`.
fn read_place(place: &str) -> Result<(String, u32, u32), CliError> {
    let usage = || CliError::usage("a place is FILE:LINE or FILE:FIRST-LAST, for example src/auth.rs:41-42");
    let (file, lines) = place.rsplit_once(':').ok_or_else(usage)?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let number = |text: &str| text.parse::<u32>().map_err(|_| usage());
    Ok((file.to_owned(), number(first)?, number(last)?))
}

fn head(comment: &ReviewComment) -> String {
    let ReviewComment { number, file, first, last, .. } = comment;
    let status = match comment.status {
        ReviewStatus::Draft => "draft",
        ReviewStatus::Sent => "sent",
        ReviewStatus::Resolved => "resolved",
    };
    let stale = if comment.is_stale { ", its lines have changed" } else { "" };
    let lines = if first == last { first.to_string() } else { format!("{first}-{last}") };
    format!("{number}. {file}:{lines} ({status}{stale}) by {}", comment.author)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k4_a_place_is_a_file_and_one_or_two_lines() {
        let read = |place| read_place(place).ok();
        assert_eq!(read("src/a.rs:41-42"), Some(("src/a.rs".to_owned(), 41, 42)));
        assert_eq!(read("a:b.rs:7"), Some(("a:b.rs".to_owned(), 7, 7)));
        for bad in ["a.rs", "a.rs:", "a.rs:x", "a.rs:1-", "a.rs:-1"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}

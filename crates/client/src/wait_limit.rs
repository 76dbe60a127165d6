//! How long a daemon may take to answer, by the request. A request that waits by itself (for a child, a
//! person or a time that the caller has given) has no limit: its connection was greeted, which has one.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use proto::Request;
use proto::verbs::AnswerTime;

/// For what the daemon answers by itself: one that takes longer is stopped or stuck.
pub(crate) const GREETING: Duration = Duration::from_secs(5);
/// For becoming a viewer: a person's terminal is raw meanwhile.
const ATTACHING: Duration = Duration::from_secs(10);
/// For what is decided at once: generous, because a busy machine is not a failure.
const DECIDING: Duration = Duration::from_secs(30);
/// For bytes that a daemon does not read.
pub(crate) const TAKING: Duration = Duration::from_secs(30);

/// What may end the wait for an answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WaitLimit<'a> {
    /// When it is over, and the whole length of that time.
    pub(crate) deadline: Option<(Instant, Duration)>,
    /// Becomes readable when the wait is to be cancelled.
    pub(crate) cancel_fd: Option<BorrowedFd<'a>>,
}

impl<'a> WaitLimit<'a> {
    /// Returns the limit of a request.
    pub(crate) fn with(request: &Request) -> Self {
        answer_limit(request).map(Self::of).unwrap_or_default()
    }

    /// Returns a limit of this length from now on.
    pub(crate) fn of(length: Duration) -> Self {
        Self { deadline: Some((Instant::now() + length, length)), cancel_fd: None }
    }

    /// Limits it to this deadline.
    pub(crate) fn until(self, deadline: Instant) -> Self {
        let given = (deadline, deadline.saturating_duration_since(Instant::now()));
        let sooner = self.deadline.map_or(given, |own| own.min(given));
        Self { deadline: Some(sooner), ..self }
    }

    /// Adds a cancel descriptor.
    pub(crate) fn listening(self, cancel_fd: BorrowedFd<'a>) -> Self {
        Self { cancel_fd: Some(cancel_fd), ..self }
    }
}

/// Returns how long the daemon may take to answer; `None` for a request that waits by itself.
pub(crate) fn answer_limit(request: &Request) -> Option<Duration> {
    match request.answer_time() {
        AnswerTime::Greeting => Some(GREETING),
        AnswerTime::Attaching => Some(ATTACHING),
        AnswerTime::Deciding => Some(DECIDING),
        AnswerTime::Unbounded => None,
    }
}

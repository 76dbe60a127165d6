//! Decides how long to wait between attempts to reach a daemon, when to give up, and when to start one. A request is
//! repeated if `proto::repeat` allows it.
//!
//! Everything here is a pure decision: the drivers (`reconnect`, the async `AsyncClient`, the
//! deck's loop) bring the time and the error, and do what is returned.

use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use proto::{ErrorCode, Failure, Repeat, Request};

use crate::ClientError;

/// The first pause between two attempts; each pause is twice the one before, so that a client finds a daemon
/// in at most twice the time that the daemon took.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// How long one attempt may take, the start of a daemon with hundreds of holders included.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(20);

/// When a client starts a daemon because none listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DaemonStart {
    /// Always: this is a new request of a person or a program.
    Always,
    /// When the last daemon died. A daemon that was shut down has removed its socket, and stays down until
    /// the next new request.
    AfterCrash,
    /// Never.
    Never,
}

impl DaemonStart {
    /// Decides from the error of connecting. A socket without a listener was left by a daemon that died.
    #[must_use]
    pub fn is_due(self, error: io::ErrorKind) -> bool {
        match self {
            Self::Always => matches!(error, io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused),
            Self::AfterCrash => error == io::ErrorKind::ConnectionRefused,
            Self::Never => false,
        }
    }

    /// Returns what holds for the attempts after the first.
    #[must_use]
    pub fn again(self) -> Self {
        if self == Self::Always { Self::AfterCrash } else { self }
    }
}

/// How long a client tries to reach the next daemon, by what waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryLimit {
    /// One attempt: nobody needs the result.
    None,
    /// A person in front of a terminal that shows nothing new.
    Person,
    /// A text that may be half typed, or a message whose fate is not known.
    Typing,
    /// One call of a program that has a time limit of its own.
    Call,
    /// A stream or a wait: long enough for an upgrade.
    Stream,
    /// A face that shows that the daemon is away, and can be closed.
    Endless,
}

impl RetryLimit {
    /// Returns its length; `None` is endless.
    #[must_use]
    pub fn length(self) -> Option<Duration> {
        match self {
            Self::None => Some(Duration::ZERO),
            Self::Person => Some(Duration::from_secs(5)),
            Self::Typing => Some(Duration::from_secs(10)),
            Self::Call => Some(Duration::from_secs(15)),
            Self::Stream => Some(Duration::from_secs(60)),
            Self::Endless => None,
        }
    }
}

/// The attempts to reach the next daemon.
#[derive(Clone, Copy, Debug)]
pub struct Attempts {
    give_up: Option<Instant>,
    pause: Duration,
}

impl Attempts {
    /// Begins at `now`.
    #[must_use]
    pub fn new(retry_limit: RetryLimit, now: Instant) -> Self {
        let give_up = retry_limit.length().and_then(|length| now.checked_add(length));
        Self { give_up, pause: FIRST_PAUSE }
    }

    /// Gives up at `deadline` at the latest.
    #[must_use]
    pub fn before(self, deadline: Option<Instant>) -> Self {
        Self { give_up: self.give_up.into_iter().chain(deadline).min(), ..self }
    }

    /// Does not give up before `deadline`, as long as that is within the limit of a stream.
    #[must_use]
    pub fn at_least(self, deadline: Option<Instant>, now: Instant) -> Self {
        let latest = Self::new(RetryLimit::Stream, now).give_up;
        Self { give_up: self.give_up.max(deadline.min(latest)), ..self }
    }

    /// Returns when it gives up.
    #[must_use]
    pub fn give_up(&self) -> Option<Instant> {
        self.give_up
    }

    /// Returns when an attempt that begins at `now` must end.
    #[must_use]
    pub fn attempt_deadline(&self, now: Instant) -> Instant {
        let longest = now + LONGEST_ATTEMPT;
        self.give_up.map_or(longest, |give_up| longest.min(give_up))
    }

    /// Decides after a failed attempt: returns the pause before the next one, or `None` to give up.
    pub fn pause_after(&mut self, error: &ClientError, now: Instant) -> Option<Duration> {
        if is_final(error) { None } else { self.next_pause(now) }
    }

    /// Returns the pause before the next attempt, or `None` when the time is over.
    pub fn next_pause(&mut self, now: Instant) -> Option<Duration> {
        let left = self.give_up.map_or(Duration::MAX, |give_up| give_up.saturating_duration_since(now));
        if left.is_zero() {
            return None;
        }
        let pause = self.pause.min(left);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Some(pause)
    }
}

/// Returns true if another attempt would have the same result.
#[must_use]
pub fn is_final(error: &ClientError) -> bool {
    match error {
        ClientError::Version { .. } => true,
        ClientError::Failed(failure) => failure.code != ErrorCode::ShuttingDown,
        ClientError::Unopened { .. } => error.is_forbidden(),
        ClientError::Unreachable(_)
        | ClientError::ShutDown
        | ClientError::Silent(_)
        | ClientError::Broken(_) => false,
    }
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The daemon answered with an error.
    #[error(transparent)]
    Refused(Failure),
    /// No daemon could be reached; nothing was done.
    #[error("{0}")]
    Unreachable(String),
    /// The daemon went away, or did not answer, during a call that changes something.
    #[error("the daemon went away during the call; the request may or may not have been carried out")]
    UnknownOutcome,
    /// Too many calls at once.
    #[error("too many calls are under way")]
    Busy,
}

/// One call that may need several attempts.
#[derive(Debug)]
pub struct CallAttempts {
    attempts: Attempts,
    start: DaemonStart,
    repeat: Repeat,
    /// True once a request that changes something was sent and not answered.
    is_in_doubt: bool,
}

impl CallAttempts {
    /// Begins a call at `now`; gives the request a key if it takes one.
    pub fn new(request: &mut Request, retry_limit: RetryLimit, start: DaemonStart, now: Instant) -> Self {
        let repeat = request.make_repeatable(&mut fresh_key);
        Self { attempts: Attempts::new(retry_limit, now), start, repeat, is_in_doubt: false }
    }

    /// Returns true if the next attempt may start a daemon.
    #[must_use]
    pub fn start(&self) -> DaemonStart {
        self.start
    }

    /// Decides after a failed attempt: returns the pause before the next one, or why there is no result.
    ///
    /// `was_sent` is true if the daemon may have read the request. A daemon that ends refuses everything, and
    /// one that is full refuses new connections: both pass.
    pub fn pause_after(
        &mut self,
        error: ClientError,
        was_sent: bool,
        now: Instant,
    ) -> Result<Duration, CallError> {
        let is_done_at_most_once = !was_sent || self.repeat != Repeat::Harmful;
        let error = match error {
            ClientError::Failed(failure)
                if !was_sent || (failure.code == ErrorCode::ShuttingDown && is_done_at_most_once) =>
            {
                ClientError::Unreachable(failure.message)
            }
            ClientError::Failed(failure) => return Err(CallError::Refused(failure)),
            _ if !is_done_at_most_once => return Err(CallError::UnknownOutcome),
            error => {
                self.is_in_doubt |= was_sent && self.repeat == Repeat::Keyed;
                error
            }
        };
        self.start = self.start.again();
        match self.attempts.pause_after(&error, now) {
            Some(pause) => Ok(pause),
            None if self.is_in_doubt => Err(CallError::UnknownOutcome),
            None => Err(CallError::Unreachable(error.to_string())),
        }
    }

    /// Returns the error of a call that is given up because the daemon has not answered in time.
    #[must_use]
    pub fn unanswered(&self, was_sent: bool) -> CallError {
        if self.is_in_doubt || (was_sent && self.repeat != Repeat::Harmless) {
            CallError::UnknownOutcome
        } else {
            CallError::Unreachable("the daemon does not answer".to_owned())
        }
    }
}

/// Returns a key that no other request of this user has.
#[must_use]
pub fn fresh_key() -> String {
    let mut random = [0; 16];
    if rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()).is_ok() {
        return format!("key-{:032x}", u128::from_le_bytes(random));
    }
    // Without entropy the process and the time are as unique as needed.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("key-{}-{now}", std::process::id())
}

#[cfg(test)]
mod tests;

//! How the terminals of the dialect ended. A terminal's entry goes a moment after its shell has ended, so a client that comes back
//! later gets its exit from here, or the error that came in place of one.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use axum::extract::ws::Message;
use client::ClientError;
use client::reconnect_policy::{Attempts, RetryLimit};
use proto::request::{Empty, Until, Wait};
use proto::{ErrorCode, Exit, Reply, Request, Target};

use super::session::exit_frame;
use super::wire::DialectError;
use crate::gateway::Shared;
use crate::identity::AccessIdentity;

/// The most ends that are kept; the oldest goes first.
const MOST: usize = 256;

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SessionEnd {
    /// Its shell has exited.
    Exited(Exit),
    /// Its exit is not known, for this reason.
    Lost(DialectError),
}

impl SessionEnd {
    /// Returns the frame about it.
    pub(super) fn frame(&self, session: &str) -> Message {
        match self {
            Self::Exited(exit) => exit_frame(session, *exit),
            Self::Lost(error) => error.frame("", session),
        }
    }
}

#[derive(Debug)]
struct Kept {
    session: String,
    owner: String,
    end: SessionEnd,
}

/// The ends by session.
#[derive(Debug, Default)]
pub(crate) struct Registry(Mutex<VecDeque<Kept>>);

impl Registry {
    /// Returns how a session ended, for the identity that opened it.
    pub(super) fn end_of(&self, owner: &str, session: &str) -> Option<SessionEnd> {
        let ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |kept: &&Kept| kept.session == session && kept.owner == owner;
        ends.iter().find(is_it).map(|kept| kept.end.clone())
    }

    /// Keeps how a session ended. The first end counts, but an exit comes in the place of an error.
    pub(super) fn keep(&self, owner: &str, session: &str, end: SessionEnd) {
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = ends.iter_mut().find(|kept| kept.session == session) {
            if matches!(kept.end, SessionEnd::Lost(_)) && kept.owner == owner {
                kept.end = end;
            }
            return;
        }
        if ends.len() >= MOST {
            ends.pop_front();
        }
        ends.push_back(Kept { session: session.to_owned(), owner: owner.to_owned(), end });
    }
}

/// Waits for the end of a session, whether or not a client is attached, and keeps how it was.
pub(super) fn watch(gateway: Shared, owner: AccessIdentity, session: String) {
    tokio::spawn(async move {
        let end = wait(&gateway, &owner, &session).await;
        gateway.sessions.keep(&owner.id, &session, end);
    });
}

/// Waits for the end of a session. Its terminal survives a daemon, so the next one is asked when this one is gone.
async fn wait(gateway: &Shared, owner: &AccessIdentity, session: &str) -> SessionEnd {
    let mut attempts = Attempts::new(RetryLimit::Stream, Instant::now());
    loop {
        let asked_at = Instant::now();
        let error = match ask_exit(gateway, owner, session).await {
            Ok(Some(exit)) => return SessionEnd::Exited(exit),
            Ok(None) => return lost("the daemon does not know how this terminal ended"),
            Err(ClientError::Failed(failure)) if failure.code == ErrorCode::NotFound => {
                return lost("this terminal ended while no daemon watched it");
            }
            Err(error) => error,
        };
        let now = Instant::now();
        if RetryLimit::Stream.length().is_some_and(|limit| now.duration_since(asked_at) >= limit) {
            // A question that was open for so long had reached a daemon: the search for the next one begins anew.
            attempts = Attempts::new(RetryLimit::Stream, now);
        }
        match attempts.pause_after(&error, now) {
            Some(pause) => tokio::time::sleep(pause).await,
            None => return lost(&format!("this terminal is out of reach: {error}")),
        }
    }
}

fn lost(message: &str) -> SessionEnd {
    SessionEnd::Lost(DialectError::new("internal", message))
}

async fn ask_exit(
    gateway: &Shared,
    owner: &AccessIdentity,
    session: &str,
) -> Result<Option<Exit>, ClientError> {
    let wait = Wait::until(vec![Target(session.to_owned())], Until::Exit(Empty {}));
    match gateway.door.connect(owner).await?.call(Request::Wait(wait)).await? {
        Reply::Waited(waited) => Ok(waited.satisfied.first().and_then(|satisfied| satisfied.exit)),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use proto::ExitReason;

    use super::*;

    fn exited(code: i32) -> SessionEnd {
        SessionEnd::Exited(Exit { code: Some(code), signal: None, reason: ExitReason::Exited })
    }

    #[test]
    fn w22_the_end_of_a_session_is_kept_for_its_owner_and_an_exit_counts_more_than_an_error() {
        let registry = Registry::default();
        registry.keep("t_1", "p_1", lost("out of reach"));
        assert_eq!(registry.end_of("t_1", "p_1"), Some(lost("out of reach")));
        assert_eq!(registry.end_of("t_2", "p_1"), None, "another client's");
        registry.keep("t_2", "p_1", exited(1));
        assert_eq!(registry.end_of("t_2", "p_1"), None);
        registry.keep("t_1", "p_1", exited(7));
        registry.keep("t_1", "p_1", lost("out of reach"));
        assert_eq!(registry.end_of("t_1", "p_1"), Some(exited(7)));
        (0..MOST).for_each(|number| registry.keep("t_1", &number.to_string(), exited(0)));
        assert_eq!(registry.end_of("t_1", "p_1"), None, "the oldest goes first");
    }
}

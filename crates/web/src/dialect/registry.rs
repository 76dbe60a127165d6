//! How the terminals of the dialect ended. A terminal's entry goes when its shell ends, so a client that comes back later
//! gets its exit from here.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use client::ClientError;
use proto::request::{Empty, Until, Wait};
use proto::{Exit, Reply, Request, Target};

use crate::gateway::Shared;
use crate::identity::AccessIdentity;

/// The most ends that are kept; the oldest goes first.
const MOST: usize = 256;

/// The ends by session.
#[derive(Debug, Default)]
pub(crate) struct Registry(Mutex<VecDeque<(String, String, Exit)>>);

impl Registry {
    /// Returns how a session ended, for the identity that opened it.
    pub(super) fn exit_of(&self, owner: &str, session: &str) -> Option<Exit> {
        let ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ends.iter().find(|(known, by, _)| known == session && by == owner).map(|(_, _, exit)| *exit)
    }

    /// Keeps how a session ended; a second time changes nothing.
    pub(super) fn keep(&self, owner: &str, session: &str, exit: Exit) {
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ends.iter().any(|(known, _, _)| known == session) {
            return;
        }
        if ends.len() >= MOST {
            ends.pop_front();
        }
        ends.push_back((session.to_owned(), owner.to_owned(), exit));
    }
}

/// Waits for the end of a session, whether or not a client is attached, and keeps how it was.
pub(super) fn watch(gateway: Shared, owner: AccessIdentity, session: String) {
    tokio::spawn(async move {
        if let Ok(Some(exit)) = wait(&gateway, &owner, &session).await {
            gateway.sessions.keep(&owner.id, &session, exit);
        }
    });
}

async fn wait(gateway: &Shared, owner: &AccessIdentity, session: &str) -> Result<Option<Exit>, ClientError> {
    let wait = Wait::until(vec![Target(session.to_owned())], Until::Exit(Empty {}));
    match gateway.door.ask(owner, Request::Wait(wait)).await? {
        Reply::Waited(waited) => Ok(waited.satisfied.first().and_then(|satisfied| satisfied.exit)),
        _ => Ok(None),
    }
}

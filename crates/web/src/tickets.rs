//! Tickets: one-time keys with which a page opens a WebSocket. A cookie alone opens none, because browsers send it to
//! every port of a host.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::identity::AccessIdentity;
use crate::secrets::{Secret, SecretDigest};

/// How long a ticket can be used.
const LIFE: Duration = Duration::from_secs(30);
/// The most tickets that are open at once.
const MOST: usize = 1024;
/// The most open tickets of one identity.
const MOST_EACH: usize = 64;

/// What a ticket opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TicketFor {
    /// The stream of events.
    Events,
    /// One process's screen; typing too, if it says so.
    View {
        /// Which process.
        process: String,
        /// Whether input is accepted.
        types: bool,
    },
    /// The `terminal.*` dialect.
    Dialect,
}

#[derive(Debug)]
struct Ticket {
    digest: SecretDigest,
    identity: AccessIdentity,
    what: TicketFor,
    until: Instant,
}

/// The tickets that are open.
#[derive(Debug, Default)]
pub(crate) struct Tickets {
    open: Mutex<HashMap<u64, Ticket>>,
    next: std::sync::atomic::AtomicU64,
}

/// Why there is no ticket.
#[derive(Debug)]
pub(crate) enum NoTicket {
    TooMany,
    Random(io::Error),
}

impl Tickets {
    /// Makes a ticket.
    pub(crate) fn issue(&self, identity: &AccessIdentity, what: TicketFor) -> Result<Secret, NoTicket> {
        let secret = Secret::fresh().map_err(NoTicket::Random)?;
        let now = Instant::now();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, ticket| ticket.until > now);
        let own = open.values().filter(|ticket| ticket.identity.id == identity.id).count();
        if open.len() >= MOST || own >= MOST_EACH {
            return Err(NoTicket::TooMany);
        }
        let number = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let ticket = Ticket { digest: secret.digest(), identity: identity.clone(), what, until: now + LIFE };
        tracing::trace!(who = identity.id, number, what = ?ticket.what, "a ticket is issued");
        open.insert(number, ticket);
        Ok(secret)
    }

    /// Takes a ticket that is shown; it cannot be used again, whatever becomes of the request.
    pub(crate) fn redeem(&self, shown: &str) -> Option<(AccessIdentity, TicketFor)> {
        let taken = self.redeem_at(shown, Instant::now());
        tracing::trace!(is_good = taken.is_some(), "a ticket was shown");
        taken
    }

    fn redeem_at(&self, shown: &str, now: Instant) -> Option<(AccessIdentity, TicketFor)> {
        let digest = SecretDigest::of(shown);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let number =
            open.iter().find(|(_, ticket)| ticket.digest.matches(&digest)).map(|(number, _)| *number)?;
        let ticket = open.remove(&number)?;
        (ticket.until > now).then_some((ticket.identity, ticket.what))
    }

    /// Voids the tickets of an identity.
    pub(crate) fn revoke(&self, id: &str) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, ticket| ticket.identity.id != id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{IdentityKind, Scope};

    fn device(id: &str) -> AccessIdentity {
        let (id, label) = (id.to_owned(), "phone".to_owned());
        AccessIdentity { id, kind: IdentityKind::Device, label, scope: Scope::default() }
    }

    #[test]
    fn w3_a_ticket_is_used_once_and_within_its_time() {
        let tickets = Tickets::default();
        let first = tickets.issue(&device("d_1"), TicketFor::Events).unwrap();
        assert_eq!(tickets.redeem(first.expose()), Some((device("d_1"), TicketFor::Events)));
        assert_eq!(tickets.redeem(first.expose()), None, "a second time");
        let old = tickets.issue(&device("d_1"), TicketFor::Events).unwrap();
        assert_eq!(tickets.redeem_at(old.expose(), Instant::now() + LIFE), None, "too late");
        assert_eq!(tickets.redeem("0".repeat(64).as_str()), None, "none of ours");
    }

    #[test]
    fn w8_a_revoked_device_has_no_ticket_left() {
        let tickets = Tickets::default();
        let own = tickets.issue(&device("d_1"), TicketFor::Events).unwrap();
        let other = tickets.issue(&device("d_2"), TicketFor::Events).unwrap();
        tickets.revoke("d_1");
        assert!(tickets.redeem(own.expose()).is_none() && tickets.redeem(other.expose()).is_some());
    }

    #[test]
    fn w14_open_tickets_are_bounded() {
        let tickets = Tickets::default();
        (0..MOST_EACH).for_each(|_| drop(tickets.issue(&device("d_1"), TicketFor::Events).unwrap()));
        assert!(matches!(tickets.issue(&device("d_1"), TicketFor::Events), Err(NoTicket::TooMany)));
        assert!(tickets.issue(&device("d_2"), TicketFor::Events).is_ok());
    }
}

//! What every request of the server shares: the daemon, the names, and everything about who may call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http_server::ServerNames;
use tokio::sync::watch;

use crate::access::AccessFile;
use crate::attachments::Attachments;
use crate::audit::AuditFile;
use crate::cookie::CookieSpec;
use crate::dialect::Registry;
use crate::door::Door;
use crate::guest_sockets::GuestSockets;
use crate::identity::AccessIdentity;
use crate::metrics::Metrics;
use crate::pairing::Pairing;
use crate::passphrase::PassphraseFile;
use crate::tickets::Tickets;
use crate::tools::Tools;

/// WebSockets at once.
const MOST_SOCKETS: usize = 256;
/// WebSockets of one identity.
const MOST_SOCKETS_EACH: usize = 16;
/// How long a confirmation at the machine counts.
const CONFIRMATION: Duration = Duration::from_secs(15 * 60);

/// What the handlers share.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) door: Door,
    pub(crate) names: ServerNames,
    pub(crate) access: AccessFile,
    pub(crate) pairing: Pairing,
    pub(crate) tickets: Tickets,
    pub(crate) cookie: CookieSpec,
    /// The host whose browsers are to come over HTTPS from now on.
    pub(crate) strict_host: Option<String>,
    /// The path below which the server is reached, with a slash at both ends.
    pub(crate) base: String,
    pub(crate) confirmations: Confirmations,
    pub(crate) sockets: SocketLimits,
    /// WebSockets whose caller is not known yet.
    pub(crate) guests: GuestSockets,
    /// Changes whenever the file of identities has changed.
    pub(crate) revocations: watch::Receiver<u64>,
    pub(crate) metrics: Metrics,
    pub(crate) audit: AuditFile,
    pub(crate) sessions: Registry,
    /// A terminal of the dialect without input, output and viewers ends after this many milliseconds.
    pub(crate) terminal_idle_ms: Option<u64>,
    pub(crate) tools: Tools,
    pub(crate) attachments: Attachments,
    pub(crate) passphrase: PassphraseFile,
    #[cfg(feature = "push")]
    pub(crate) push: crate::push::Push,
}

/// The state of the router.
pub(crate) type Shared = Arc<Gateway>;

/// The devices that a person at the machine has confirmed lately.
#[derive(Debug, Default)]
pub(crate) struct Confirmations(Mutex<HashMap<String, Instant>>);

impl Confirmations {
    /// Records a confirmation; returns how long it counts.
    pub(crate) fn confirm(&self, id: &str) -> Duration {
        let now = Instant::now();
        let mut until = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        until.retain(|_, end| *end > now);
        until.insert(id.to_owned(), now + CONFIRMATION);
        CONFIRMATION
    }

    /// Returns true if the device was confirmed lately.
    pub(crate) fn is_confirmed(&self, id: &str) -> bool {
        let until = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        until.get(id).is_some_and(|end| *end > Instant::now())
    }
}

/// Counts open WebSockets.
#[derive(Debug, Default)]
pub(crate) struct SocketLimits(Arc<Mutex<HashMap<String, usize>>>);

/// The right to one WebSocket, given back when dropped.
#[derive(Debug)]
pub(crate) struct SocketPermit {
    counts: Arc<Mutex<HashMap<String, usize>>>,
    id: String,
}

impl SocketLimits {
    /// Returns a permit, unless the identity or the server has too many sockets.
    pub(crate) fn permit(&self, identity: &AccessIdentity) -> Option<SocketPermit> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = counts.get(&identity.id).copied().unwrap_or(0);
        if own >= MOST_SOCKETS_EACH || counts.values().sum::<usize>() >= MOST_SOCKETS {
            return None;
        }
        counts.insert(identity.id.clone(), own + 1);
        Some(SocketPermit { counts: Arc::clone(&self.0), id: identity.id.clone() })
    }

    /// Returns how many are open.
    pub(crate) fn open(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }
}

impl Drop for SocketPermit {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = counts.get_mut(&self.id) {
            *own -= 1;
            if *own == 0 {
                counts.remove(&self.id);
            }
        }
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
    fn w14_sockets_are_counted_by_device_and_in_all() {
        let limits = SocketLimits::default();
        let permits: Vec<_> =
            (0..MOST_SOCKETS_EACH).map(|_| limits.permit(&device("d_1")).unwrap()).collect();
        assert!(limits.permit(&device("d_1")).is_none());
        let other = limits.permit(&device("d_2"));
        assert!(other.is_some());
        drop(permits);
        assert_eq!(limits.open(), 1);
        let others: Vec<_> =
            (0..MOST_SOCKETS).filter_map(|n| limits.permit(&device(&n.to_string()))).collect();
        assert_eq!(others.len(), MOST_SOCKETS - 1);
    }
}

//! Decides when a holder without a daemon checks its own socket.
//!
//! A logout or a person may remove the directory of the sockets, and no event announces that to a holder. The first
//! check comes when the daemon is gone, so that the next daemon finds the socket at once.

use std::time::{Duration, Instant};

/// How often a holder without a daemon checks its socket.
const PERIOD: Duration = Duration::from_secs(1);

/// The checks of one holder.
#[derive(Debug, Default)]
pub(crate) struct SocketCheck {
    next: Option<Instant>,
}

impl SocketCheck {
    /// Returns true if the socket is to be checked now.
    pub(crate) fn is_due(&mut self, has_daemon: bool, now: Instant) -> bool {
        if has_daemon {
            self.next = None;
            return false;
        }
        let is_due = self.next.is_none_or(|next| next <= now);
        if is_due {
            self.next = Some(now + PERIOD);
        }
        is_due
    }

    /// Returns when to check again.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m2_a_holder_checks_its_socket_when_its_daemon_is_gone_and_then_at_intervals() {
        let (mut check, now) = (SocketCheck::default(), Instant::now());
        assert!(!check.is_due(true, now));
        assert_eq!(check.deadline(), None);
        assert!(check.is_due(false, now));
        assert!(!check.is_due(false, now + PERIOD / 2));
        assert!(check.is_due(false, now + PERIOD));
        assert!(!check.is_due(true, now + PERIOD), "a daemon has come");
        assert!(check.is_due(false, now + PERIOD), "and is gone again");
    }
}

//! Counts wrong tokens by address, before the protocol sees a byte.
//!
//! Wrong tokens lock their address out, each time for longer; a connection that has shown the right token before stays
//! allowed.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// The wrong tokens that are answered; the next one locks the address out.
const MOST_WRONG: u32 = 5;
/// The first lock-out; each further wrong token doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest lock-out.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Wrong tokens are forgotten after this time without another.
const MEMORY: Duration = Duration::from_secs(15 * 60);
/// The most addresses that are remembered; the one whose last wrong token is oldest is dropped.
const MOST_PEERS: usize = 256;

#[derive(Debug)]
struct Wrong {
    count: u32,
    last: Instant,
    closed_until: Option<Instant>,
}

/// Wrong tokens by peer.
#[derive(Debug, Default)]
pub(super) struct LockOut {
    peers: HashMap<IpAddr, Wrong>,
}

impl LockOut {
    /// Returns how long this address is still locked out.
    pub(super) fn closed_for(&self, peer: IpAddr, now: Instant) -> Option<Duration> {
        let until = self.peers.get(&peer)?.closed_until?;
        (until > now).then(|| until - now)
    }

    /// Records a wrong token.
    pub(super) fn wrong(&mut self, peer: IpAddr, now: Instant) {
        self.peers.retain(|_, wrong| now.duration_since(wrong.last) < MEMORY);
        if self.peers.len() >= MOST_PEERS
            && !self.peers.contains_key(&peer)
            && let Some(oldest) = self.peers.iter().min_by_key(|(_, wrong)| wrong.last).map(|(peer, _)| *peer)
        {
            self.peers.remove(&oldest);
        }
        let wrong = self.peers.entry(peer).or_insert(Wrong { count: 0, last: now, closed_until: None });
        wrong.count = wrong.count.saturating_add(1);
        wrong.last = now;
        if wrong.count >= MOST_WRONG {
            let doubled = FIRST_PAUSE.saturating_mul(1 << (wrong.count - MOST_WRONG).min(10));
            wrong.closed_until = Some(now + doubled.min(LONGEST_PAUSE));
        }
    }

    /// Records the right token.
    pub(super) fn right(&mut self, peer: IpAddr) {
        self.peers.remove(&peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m4g_a7_five_wrong_tokens_close_the_gate_for_longer_and_longer() {
        let (mut gate, mut now) = (LockOut::default(), Instant::now());
        let (peer, other): (IpAddr, IpAddr) = ("127.0.0.1".parse().unwrap(), "127.0.0.2".parse().unwrap());
        for _ in 1..MOST_WRONG {
            gate.wrong(peer, now);
            assert_eq!(gate.closed_for(peer, now), None);
        }
        let mut last = Duration::ZERO;
        for _ in 0..20 {
            gate.wrong(peer, now);
            let closed = gate.closed_for(peer, now).unwrap();
            assert!(closed > last || closed == LONGEST_PAUSE, "{closed:?}");
            assert_eq!(gate.closed_for(other, now), None);
            now += closed;
            assert_eq!(gate.closed_for(peer, now), None, "it opens again");
            last = closed;
        }
        gate.right(peer);
        gate.wrong(peer, now);
        assert_eq!(gate.closed_for(peer, now), None, "the right one ends it");
        (0..MOST_WRONG).for_each(|_| gate.wrong(other, now));
        now += MEMORY;
        gate.wrong(other, now);
        assert_eq!(gate.closed_for(other, now), None, "what is long ago does not count");
    }

    #[test]
    fn m4g_peers_are_remembered_up_to_a_bound() {
        let (mut gate, now) = (LockOut::default(), Instant::now());
        for number in 0..10_000_u32 {
            gate.wrong(IpAddr::from(number.to_be_bytes()), now);
        }
        assert!(gate.peers.len() <= MOST_PEERS);
    }
}

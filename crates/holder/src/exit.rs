//! Decides when an exit is announced: after the last byte of output. The loop reports events; this file reads
//! nothing.
//!
//! The PTY reports its end (EIO) only when the last slave is closed, and a background job may keep it open
//! for ever. So the leader's end counts once the PTY has been quiet for a while, or has certainly been read
//! beyond what was in it.

use std::time::{Duration, Instant};

use crate::wire::{ExitStatus, RunExit};

/// After this silence no output of the leader can still be in the kernel.
const QUIET: Duration = Duration::from_millis(250);

/// After this time the output of a background job no longer delays the announcement.
const CHATTER_LIMIT: Duration = Duration::from_millis(600);

/// Far more than a PTY can hold: after reading this much since the leader's end, everything before it has
/// been read.
const BEYOND_ANY_BUFFER: u64 = 1 << 20;

/// The leader's end, from unknown to announced.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum ExitWatch {
    /// The leader lives.
    #[default]
    Running,
    /// The leader has been reaped; its output may still be on its way.
    Reaped {
        /// How it ended.
        status: ExitStatus,
        /// When it was reaped.
        at: Instant,
        /// When the last byte came, or `at`.
        last_byte: Instant,
        /// The ring's end when it was reaped.
        from: u64,
        /// True if the PTY has been empty since.
        was_empty: bool,
    },
    /// Announced.
    Announced(RunExit),
}

impl ExitWatch {
    /// Records that the leader has been reaped.
    pub(crate) fn reaped(&mut self, status: ExitStatus, now: Instant, end: u64) {
        if matches!(self, ExitWatch::Running) {
            *self = ExitWatch::Reaped { status, at: now, last_byte: now, from: end, was_empty: false };
        }
    }

    /// Bytes came.
    pub(crate) fn saw_bytes(&mut self, now: Instant) {
        if let ExitWatch::Reaped { last_byte, .. } = self {
            *last_byte = now;
        }
    }

    /// Records that the PTY had nothing to read.
    pub(crate) fn saw_empty(&mut self) {
        if let ExitWatch::Reaped { was_empty, .. } = self {
            *was_empty = true;
        }
    }

    /// Returns the exit at the one moment at which it is to be announced. `at_end`: the PTY is at its end;
    /// `held_back`: a full ring keeps us from reading it.
    pub(crate) fn announce(
        &mut self,
        now: Instant,
        end: u64,
        at_end: bool,
        held_back: bool,
    ) -> Option<RunExit> {
        let ExitWatch::Reaped { status, at, last_byte, from, was_empty } = *self else { return None };
        let quiet = !held_back && was_empty && now >= last_byte + QUIET;
        let read_enough = was_empty || end - from >= BEYOND_ANY_BUFFER;
        let chatter = !held_back && read_enough && now >= at + CHATTER_LIMIT;
        if !(at_end || quiet || chatter) {
            return None;
        }
        let exit = RunExit { status, final_offset: end };
        *self = ExitWatch::Announced(exit);
        Some(exit)
    }

    /// Returns when [`ExitWatch::announce`] must be called again although nothing has happened.
    pub(crate) fn deadline(&self, now: Instant, held_back: bool) -> Option<Instant> {
        match self {
            // A limit that has passed without effect waits for bytes or silence, not for time.
            ExitWatch::Reaped { at, last_byte, .. } if !held_back => {
                let chatter = Some(*at + CHATTER_LIMIT).filter(|limit| *limit > now);
                Some(chatter.map_or(*last_byte + QUIET, |limit| limit.min(*last_byte + QUIET)))
            }
            ExitWatch::Running | ExitWatch::Reaped { .. } | ExitWatch::Announced(_) => None,
        }
    }

    /// Returns true if the leader has ended and its last bytes are awaited.
    pub(crate) fn is_draining(&self) -> bool {
        matches!(self, ExitWatch::Reaped { .. })
    }

    /// Returns true while the leader lives.
    pub(crate) fn is_running(&self) -> bool {
        matches!(self, ExitWatch::Running)
    }

    /// Returns the exit, once announced.
    pub(crate) fn announced(&self) -> Option<RunExit> {
        match self {
            ExitWatch::Announced(exit) => Some(*exit),
            ExitWatch::Running | ExitWatch::Reaped { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: ExitStatus = ExitStatus::Code(3);

    fn reaped_at(now: Instant) -> ExitWatch {
        let mut watch = ExitWatch::default();
        watch.reaped(STATUS, now, 100);
        watch
    }

    #[test]
    fn d6_the_end_of_the_pty_announces_at_once_and_only_once() {
        let now = Instant::now();
        let mut watch = reaped_at(now);
        assert_eq!(
            watch.announce(now, 120, true, false),
            Some(RunExit { status: STATUS, final_offset: 120 })
        );
        assert_eq!(watch.announce(now, 120, true, false), None);
    }

    #[test]
    fn h4_an_open_slave_delays_by_the_quiet_time_only() {
        let now = Instant::now();
        let mut watch = reaped_at(now);
        watch.saw_empty();
        assert_eq!(watch.announce(now, 100, false, false), None);
        assert_eq!(watch.deadline(now, false), Some(now + QUIET));
        assert!(watch.announce(now + QUIET, 100, false, false).is_some());
    }

    #[test]
    fn h4_a_chatty_background_job_cannot_hide_the_exit() {
        let now = Instant::now();
        let mut watch = reaped_at(now);
        let late = now + CHATTER_LIMIT;
        watch.saw_bytes(late);
        assert_eq!(watch.announce(late, 200, false, false), None, "some of it may be the leader's");
        assert!(watch.announce(late, 100 + BEYOND_ANY_BUFFER, false, false).is_some());
    }

    #[test]
    fn d6_a_full_ring_keeps_the_exit_back() {
        let now = Instant::now();
        let mut watch = reaped_at(now);
        watch.saw_empty();
        assert_eq!(watch.announce(now + CHATTER_LIMIT * 4, 100, false, true), None);
        assert_eq!(watch.deadline(now, true), None, "no waiting for a time that changes nothing");
    }
}

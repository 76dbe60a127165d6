//! Decides what happens when the ring is full of bytes that the daemon has not kept: first the child is
//! stopped for a while (nothing is lost), then the oldest bytes are dropped and counted.

use std::time::{Duration, Instant};

use super::RingWriter;

/// Whether the PTY may be read, and since when not.
pub(crate) struct Flow {
    limit: Duration,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is room.
    Open,
    /// Full: the kernel stops the child because its PTY is not read.
    Stalled { until: Instant, kept: u64, resume_at: u64 },
    /// The limit has passed and the daemon has not moved from `kept`: the oldest bytes are dropped.
    Overrun { kept: u64 },
}

impl Flow {
    pub(crate) fn new(limit: Duration) -> Flow {
        Flow { limit, state: State::Open }
    }

    /// Returns true if the PTY may be read now. Nothing is dropped until there is something to read: see
    /// [`Flow::make_room`].
    pub(crate) fn may_read(&mut self, ring: &RingWriter, now: Instant) -> bool {
        match self.state {
            State::Open if ring.room() > 0 => true,
            State::Open => self.stall(ring, now),
            State::Stalled { until, kept, resume_at } => {
                if ring.kept() >= resume_at {
                    return self.open(ring);
                }
                if now < until {
                    return false;
                }
                self.overdue(ring, kept)
            }
            State::Overrun { kept } => {
                if ring.kept() > kept && ring.room() > 0 {
                    return self.open(ring);
                }
                true
            }
        }
    }

    /// Makes room for one read, by dropping the oldest bytes if the limit has passed. Call it when there is
    /// something to read and [`Flow::may_read`] has allowed it.
    pub(crate) fn make_room(&mut self, ring: &mut RingWriter) {
        if matches!(self.state, State::Overrun { .. }) && ring.room() == 0 {
            ring.drop_oldest();
            self.state = State::Overrun { kept: ring.kept() };
        }
    }

    /// Returns when [`Flow::may_read`] must be called again although nothing has happened.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Stalled { until, .. } => Some(until),
            State::Open | State::Overrun { .. } => None,
        }
    }

    /// Returns true while the child is stopped.
    pub(crate) fn is_stalled(&self) -> bool {
        matches!(self.state, State::Stalled { .. })
    }

    fn stall(&mut self, ring: &RingWriter, now: Instant) -> bool {
        // A quarter of the ring must be free before reading continues; otherwise a daemon at its limit would
        // exchange one message per few bytes with us.
        let resume_at = ring.end() - ring.capacity() / 4 * 3;
        let kept = ring.kept();
        self.state = State::Stalled { until: now + self.limit, kept, resume_at };
        ring.ask_resume(resume_at);
        if ring.kept() >= resume_at { self.open(ring) } else { false }
    }

    fn open(&mut self, ring: &RingWriter) -> bool {
        ring.clear_resume();
        self.state = State::Open;
        true
    }

    fn overdue(&mut self, ring: &RingWriter, kept: u64) -> bool {
        if ring.kept() != kept {
            // The daemon lives but is slow: the room that there is may be used, and a new stall gets a new
            // limit.
            return self.open(ring);
        }
        ring.clear_resume();
        self.state = State::Overrun { kept };
        true
    }
}

//! Decides when a run's screen is stored in its holder, so that a daemon that dies loses nothing.
//! `checkpoint_io` writes and sends it.
//!
//! A ring is replayed from the newest checkpoint, so bytes after it may not be overwritten. A checkpoint with
//! history costs milliseconds, one of the screen alone some ten microseconds. During a flood the screen alone
//! is taken every MiB and sent one MiB late: the replay then always covers enough output to refill the
//! history. When the child is quiet, one with history follows.

use std::time::{Duration, Instant};

/// Output between two checkpoints of the screen.
const STEP: u64 = 1 << 20; // 1 MiB
/// The quiet time before one with history is taken.
const QUIET: Duration = Duration::from_secs(1);
/// The output that makes one worthwhile: less is replayed faster than restored.
const WORTH: u64 = 64 << 10; // 64 KiB

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckpointStep {
    /// Nothing.
    Wait,
    /// Take the screen; send the one taken before it.
    Step,
    /// Take everything and send it.
    Full,
}

/// The checkpoints of one run.
pub(crate) struct Checkpoints {
    /// Output up to here is covered by the holder's checkpoint.
    covered: u64,
    /// Output up to here is covered by the newest one taken.
    taken: u64,
    /// Taken and not sent yet.
    waiting: Option<(u64, Vec<u8>)>,
    last_output: Instant,
    /// Output since the last one with history.
    since_full: u64,
}

impl Checkpoints {
    /// Creates a run whose holder has a checkpoint at `covered`.
    pub(crate) fn new(covered: u64, now: Instant) -> Self {
        Self { covered, taken: covered, waiting: None, last_output: now, since_full: 0 }
    }

    /// Records that output up to `seen` was fed.
    pub(crate) fn fed(&mut self, seen: u64, bytes: usize, now: Instant) -> CheckpointStep {
        self.last_output = now;
        self.since_full += bytes as u64;
        if seen - self.taken >= STEP { CheckpointStep::Step } else { CheckpointStep::Wait }
    }

    /// Returns when the quiet will have lasted long enough.
    pub(crate) fn due(&self) -> Option<Instant> {
        (self.since_full >= WORTH).then(|| self.last_output + QUIET)
    }

    /// Returns `Full` if the quiet has lasted long enough.
    pub(crate) fn quiet(&self, now: Instant) -> CheckpointStep {
        if self.due().is_some_and(|due| due <= now) { CheckpointStep::Full } else { CheckpointStep::Wait }
    }

    /// Records a checkpoint of the screen at `seen`; returns the one to send, if any.
    pub(crate) fn stepped(&mut self, seen: u64, blob: Vec<u8>) -> Option<(u64, Vec<u8>)> {
        self.taken = seen;
        let ready = self.waiting.replace((seen, blob));
        self.covered = ready.as_ref().map_or(self.covered, |(offset, _)| *offset);
        ready
    }

    /// Records that a checkpoint of everything at `seen` was sent.
    pub(crate) fn completed(&mut self, seen: u64) {
        self.taken = seen;
        self.covered = seen;
        self.waiting = None;
        self.since_full = 0;
    }

    /// None of everything could be sent: the holder keeps what it has until there is much new output.
    pub(crate) fn put_off(&mut self) {
        self.since_full = 0;
    }

    /// Bytes before this offset may be overwritten.
    pub(crate) fn covered(&self) -> u64 {
        self.covered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_shell_is_never_checkpointed() {
        let now = Instant::now();
        let mut checkpoints = Checkpoints::new(0, now);
        assert_eq!(checkpoints.fed(500, 500, now), CheckpointStep::Wait);
        assert_eq!(checkpoints.due(), None);
    }

    #[test]
    fn a_flood_sends_checkpoints_one_step_late_and_quiet_completes() {
        let now = Instant::now();
        let mut checkpoints = Checkpoints::new(0, now);
        assert_eq!(checkpoints.fed(STEP, STEP as usize, now), CheckpointStep::Step);
        assert_eq!(checkpoints.stepped(STEP, vec![1]), None);
        assert_eq!(checkpoints.covered(), 0);
        assert_eq!(checkpoints.fed(STEP * 2, STEP as usize, now), CheckpointStep::Step);
        assert_eq!(checkpoints.stepped(STEP * 2, vec![2]), Some((STEP, vec![1])));
        assert_eq!(checkpoints.covered(), STEP);
        assert_eq!(checkpoints.quiet(now), CheckpointStep::Wait);
        assert_eq!(checkpoints.quiet(now + QUIET), CheckpointStep::Full);
        checkpoints.put_off();
        assert_eq!(
            (checkpoints.covered(), checkpoints.due()),
            (STEP, None),
            "the replay is as long as before"
        );
        checkpoints.completed(STEP * 2);
        assert_eq!((checkpoints.covered(), checkpoints.due()), (STEP * 2, None));
    }
}

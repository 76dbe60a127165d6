//! Sends a run's checkpoint to its holder, and restores the one of an earlier daemon. Nothing is overwritten
//! that no checkpoint covers. `checkpoint` decides when.

use holder::{Link, ToHolder};
use term::{Depth, Screen};

use super::checkpoint::Checkpoints;
use super::fault::attempt;
use super::handle::ScreenHandle;
use super::log_times::LogTimes;
use crate::failpoint::{self, Failpoint};

/// Begins the data after a screen's checkpoint: a daemon that does not know it still reads the checkpoint,
/// and one that finds none has a checkpoint of an earlier version.
const BESIDE: &[u8; 8] = b"qd:next\0";

/// Begins the times of the log, which are between the checkpoint and the version.
const TIMES: &[u8; 8] = b"qd:time\0";

/// Returns a checkpoint, then the times of the output, then the next version for readers.
fn with_version(mut blob: Vec<u8>, times: &LogTimes, next: u64) -> Vec<u8> {
    let times = times.encode();
    blob.extend_from_slice(&times);
    blob.extend_from_slice(&(times.len() as u64).to_le_bytes());
    blob.extend_from_slice(TIMES);
    blob.extend_from_slice(BESIDE);
    blob.extend_from_slice(&next.to_le_bytes());
    blob
}

/// Splits off the version. The times are still after the checkpoint.
fn split_version(blob: &[u8]) -> (&[u8], Option<u64>) {
    let parts = blob.split_last_chunk::<8>();
    let parts = parts.and_then(|(rest, next)| Some((rest.strip_suffix(BESIDE)?, u64::from_le_bytes(*next))));
    parts.map_or((blob, None), |(picture, next)| (picture, Some(next)))
}

/// Splits off the times; an earlier daemon stored none.
fn split_times(blob: &[u8]) -> (&[u8], LogTimes) {
    let parts = blob.strip_suffix(TIMES).and_then(|rest| {
        let (rest, length) = rest.split_last_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (picture, times) = rest.split_at_checked(rest.len().checked_sub(length)?)?;
        Some((picture, LogTimes::decode(times)?))
    });
    parts.unwrap_or((blob, LogTimes::default()))
}

/// What sending a run's checkpoint needs of it.
pub(super) struct CheckpointSender<'r> {
    pub(super) handle: &'r ScreenHandle,
    pub(super) link: &'r mut Link,
    pub(super) checkpoints: &'r mut Checkpoints,
    /// Output up to here is on the screen.
    pub(super) seen: u64,
}

impl CheckpointSender<'_> {
    /// Sends the holder a checkpoint, and only then lets it overwrite what the checkpoint covers.
    pub(super) fn send_taken(&mut self, checkpoint: Option<(u64, Vec<u8>)>) {
        if let Some((offset, blob)) = checkpoint {
            failpoint::pass(Failpoint::CheckpointTaken);
            let blob = with_version(blob, &self.times_to_keep(), self.handle.versions().next());
            let _gone = self.link.send(&ToHolder::Checkpoint { offset, blob });
        }
        self.let_go_of_covered();
    }

    /// Returns the times of the output that is still kept.
    fn times_to_keep(&self) -> LogTimes {
        let mut times = self.handle.times();
        times.forget_before(self.handle.ring.start());
        times.clone()
    }

    /// Lets the holder overwrite what is covered, once the checkpoint has completely left this process.
    pub(super) fn let_go_of_covered(&mut self) {
        if !self.link.wants_write() {
            let is_stalled = self.handle.ring.keep_from(self.checkpoints.covered());
            if is_stalled {
                let _gone = self.link.send(&ToHolder::Resume);
            }
        }
    }

    /// Stores everything while the child is quiet. When that is too long for a message, the holder keeps what
    /// it has: an earlier checkpoint and the output since then restore more of the history than the present
    /// screen alone.
    pub(super) fn keep_everything(&mut self) {
        if self.send(Depth::Full) {
            self.checkpoints.completed(self.seen);
        } else {
            self.warn_too_long();
            self.checkpoints.put_off();
        }
        self.let_go_of_covered();
    }

    /// Covers everything printed so far, even if history is lost.
    pub(super) fn cover_everything(&mut self) {
        if !self.send(Depth::Full) {
            self.warn_too_long();
            if !self.send(Depth::Screen) {
                // It is released all the same: stopping the child for a checkpoint would be worse.
                tracing::warn!(run = ?self.handle.run, "no checkpoint can be handed over; a new daemon begins with a blank screen");
            }
        }
        self.checkpoints.completed(self.seen);
        self.let_go_of_covered();
    }

    /// Covers everything with the screen alone: what was printed before must not be drawn again.
    pub(super) fn keep_screen(&mut self) {
        self.send(Depth::Screen);
        self.checkpoints.completed(self.seen);
        self.let_go_of_covered();
    }

    fn warn_too_long(&self) {
        let lines = {
            let screen = self.handle.screen();
            screen.next_line().0 - screen.first_line().0
        };
        tracing::warn!(run = ?self.handle.run, lines, "the history is too long to be kept; a new daemon has a part of it");
    }

    /// Sends the holder a checkpoint of now; returns false if it could not be sent. One with a long history
    /// of wide lines is longer than a message may be.
    fn send(&mut self, depth: Depth) -> bool {
        let blob = self.handle.screen().checkpoint(depth);
        let blob = with_version(blob, &self.times_to_keep(), self.handle.versions().next());
        failpoint::pass(Failpoint::CheckpointTaken);
        let is_sent = self.link.send(&ToHolder::Checkpoint { offset: self.seen, blob }).is_ok();
        failpoint::pass(Failpoint::CheckpointSent);
        is_sent
    }
}

/// Restores the screen of an earlier daemon; returns its offset. An unreadable checkpoint is ignored, but the
/// ring still counts.
pub(super) fn restore(handle: &ScreenHandle, checkpoint: Option<(u64, Vec<u8>)>) -> u64 {
    let Some((offset, blob)) = checkpoint else { return 0 };
    let mut from = 0;
    let (picture, next) = split_version(&blob);
    if let Some(next) = next {
        handle.versions().go_on_from(next);
    }
    let (picture, times) = split_times(picture);
    *handle.times() = times;
    let read = || match Screen::restore(picture, handle.limits) {
        Ok(mut restored) => {
            let mut screen = handle.screen();
            restored.resize(screen.size());
            *screen = restored;
            from = offset;
        }
        Err(error) => {
            tracing::warn!(%error, run = ?handle.run, "a checkpoint does not read; the log is replayed instead");
        }
    };
    attempt("restoring a checkpoint", handle.run, read);
    from
}

#[cfg(test)]
mod tests {
    use super::*;
    use term::Limits;

    #[test]
    fn a_picture_with_a_version_is_read_by_everybody_and_one_without_is_read_too() {
        let mut screen = Screen::new(term::GridSize::DEFAULT, Limits::default());
        screen.feed(b"as it was");
        let old = screen.checkpoint(Depth::Full);
        let mut times = LogTimes::default();
        times.record(3, 5_000);
        let new = with_version(old.clone(), &times, 77);
        assert_eq!(split_version(&old), (old.as_slice(), None));
        let (rest, next) = split_version(&new);
        assert_eq!((split_times(rest), next), ((old.as_slice(), times), Some(77)));
        assert_eq!(split_times(&old), (old.as_slice(), LogTimes::default()));
        assert_eq!(split_version(b"short"), (b"short".as_slice(), None));
        for blob in [&old, &new] {
            let restored = Screen::restore(blob, Limits::default()).unwrap();
            assert_eq!(restored.text(term::Wraps::Keep), "as it was");
        }
    }
}

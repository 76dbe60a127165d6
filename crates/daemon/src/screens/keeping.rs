//! A run's picture in its holder's keeping: handed over, and put back by the daemon that adopts it.
//!
//! Owns both directions, and that nothing is overwritten that no picture covers. Refuses deciding when: `checkpoint` does.

use holder::ToHolder;
use term::{Depth, Limits, Screen};

use super::fault::attempt;
use super::handle::ScreenHandle;
use super::run::Run;

impl Run {
    /// Gives the holder a checkpoint, and only then lets it overwrite what the checkpoint covers.
    pub(super) fn hand_over(&mut self, checkpoint: Option<(u64, Vec<u8>)>) {
        if let Some((offset, blob)) = checkpoint {
            let _gone = self.link.send(&ToHolder::Checkpoint { offset, blob });
        }
        self.let_go_of_covered();
    }

    /// What is covered may be overwritten, once the checkpoint has left this process for good.
    pub(super) fn let_go_of_covered(&mut self) {
        if !self.link.wants_write() {
            let is_stalled = self.handle.ring.keep_from(self.checkpoints.covered());
            if is_stalled {
                let _gone = self.link.send(&ToHolder::Resume);
            }
        }
    }

    pub(super) fn full_checkpoint(&mut self) {
        if !self.send_checkpoint(Depth::Full) && !self.send_checkpoint(Depth::Screen) {
            // It is let go all the same: a child that stood still for its picture would be the worse loss.
            tracing::warn!(run = ?self.key(), "no checkpoint can be handed over; a new daemon begins with a blank screen");
        }
        self.checkpoints.completed(self.seen);
        self.let_go_of_covered();
    }

    /// Gives the holder a picture of now; whether it was taken. One with a long history of wide lines is longer than a
    /// message may be.
    fn send_checkpoint(&mut self, depth: Depth) -> bool {
        let blob = self.handle.screen().checkpoint(depth);
        self.link.send(&ToHolder::Checkpoint { offset: self.seen, blob }).is_ok()
    }
}

/// Puts what an earlier daemon left on the screen; the offset it stands for. A checkpoint that does not read is worth
/// nothing, but the ring still is.
pub(super) fn restore(handle: &ScreenHandle, checkpoint: Option<(u64, Vec<u8>)>) -> u64 {
    let Some((offset, blob)) = checkpoint else { return 0 };
    let mut from = 0;
    let read = || match Screen::restore(&blob, Limits::default()) {
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

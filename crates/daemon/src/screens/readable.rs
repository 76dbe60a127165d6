//! A run that can be read: a hosted one, or the kept data of an earlier one. `read` and `follow` use it.

use std::sync::MutexGuard;

use engine::RunKey;
use holder::{ReadOutcome, RingReader};
use term::Screen;
use tokio::sync::watch;

use super::handle::{Progress, ScreenHandle};
use super::log_times::LogTimes;

/// Output by absolute offset.
pub(crate) trait Log: Send + Sync {
    /// Returns the oldest byte there is.
    fn start(&self) -> u64;
    /// Returns the offset after the newest byte.
    fn end(&self) -> u64;
    /// Reads from an offset on.
    fn read(&self, from: u64, buffer: &mut [u8]) -> ReadOutcome;
}

/// What a reader needs of a run.
pub(crate) trait ReadableRun: Send + Sync {
    /// Returns the run.
    fn key(&self) -> RunKey;
    /// Returns its screen.
    fn screen(&self) -> MutexGuard<'_, Screen>;
    /// Returns its output.
    fn log(&self) -> &dyn Log;
    /// Returns when its output came.
    fn times(&self) -> MutexGuard<'_, LogTimes>;
    /// Returns how far it has come.
    fn progress(&self) -> &watch::Sender<Progress>;
    /// Returns the version of this state of its screen, which shows all output before `seen`.
    fn version(&self, screen: &Screen, seen: u64) -> u64;
}

impl Log for RingReader {
    fn start(&self) -> u64 {
        Self::start(self)
    }

    fn end(&self) -> u64 {
        Self::end(self)
    }

    fn read(&self, from: u64, buffer: &mut [u8]) -> ReadOutcome {
        Self::read(self, from, buffer)
    }
}

impl ReadableRun for ScreenHandle {
    fn key(&self) -> RunKey {
        self.run
    }

    fn screen(&self) -> MutexGuard<'_, Screen> {
        Self::screen(self)
    }

    fn log(&self) -> &dyn Log {
        &*self.ring
    }

    fn times(&self) -> MutexGuard<'_, LogTimes> {
        Self::times(self)
    }

    fn progress(&self) -> &watch::Sender<Progress> {
        &self.progress
    }

    fn version(&self, screen: &Screen, seen: u64) -> u64 {
        self.versions().version_at(screen.version(), seen)
    }
}

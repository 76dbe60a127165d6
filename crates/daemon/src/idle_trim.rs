//! Returns memory to the system after a second without work. It uses one alarm, which is not set again until
//! there has been work.

use std::io;

use crate::alarm::Alarm;
use crate::clock;

/// How long the engine task is idle before the daemon trims its memory. Longer than the pauses of a person
/// who looks at a list and then at a screen, shorter than the time until one checks its memory.
const QUIET_MS: u64 = 1_000;

/// The idle time between two stretches of work.
pub(crate) struct IdleTrim {
    alarm: Alarm,
    last_work_ms: u64,
    is_waiting: bool,
}

impl IdleTrim {
    pub(crate) fn new() -> io::Result<Self> {
        // Starting is work as well: parsing, migrating and adopting used code that may never be needed again.
        let mut quiet = Self { alarm: Alarm::new()?, last_work_ms: clock::uptime_ms(), is_waiting: false };
        quiet.wait();
        Ok(quiet)
    }

    /// Records work. Only the first of a stretch sets the alarm: setting it each time would cost a system
    /// call.
    pub(crate) fn worked(&mut self, now_ms: u64) {
        self.last_work_ms = now_ms;
        if !self.is_waiting {
            self.wait();
        }
    }

    /// Returns when the engine task may have been idle long enough; [`IdleTrim::rest`] checks.
    pub(crate) async fn comes(&mut self) {
        self.alarm.rings().await;
    }

    /// Trims the memory if the engine task was really idle, else waits again.
    pub(crate) fn rest(&mut self) {
        if clock::uptime_ms() < self.last_work_ms + QUIET_MS {
            self.wait();
            return;
        }
        self.is_waiting = false;
        // What the next request needs is mapped again from the page cache; most of what the last ones needed
        // is not.
        if let Err(error) = holder::give_back_text() {
            tracing::debug!(%error, "program text could not be given back");
        }
        // A burst of requests leaves free memory between what is kept, in the heap of each thread.
        holder::trim_memory();
    }

    fn wait(&mut self) {
        self.is_waiting = true;
        self.alarm.set(Some(self.last_work_ms + QUIET_MS));
    }
}

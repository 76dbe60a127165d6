//! When nothing has been asked and nothing has happened for a while. Owns one alarm and what is given back then; refuses
//! ticking: after it rang, it stays silent until there has been work again.

use std::io;

use crate::alarm::Alarm;
use crate::clock;

/// How long the engine task rests before the daemon makes itself small. Longer than the pauses of somebody who looks at a list
/// and then at a screen, shorter than a look at how much memory it takes.
const QUIET_MS: u64 = 1_000;

/// The rest between two stretches of work.
pub(crate) struct IdleTrim {
    alarm: Alarm,
    last_work_ms: u64,
    is_waiting: bool,
}

impl IdleTrim {
    pub(crate) fn new() -> io::Result<Self> {
        // Starting is work as well: parsing, migrating and adopting took code that may never be needed again.
        let mut quiet = Self { alarm: Alarm::new()?, last_work_ms: clock::uptime_ms(), is_waiting: false };
        quiet.wait();
        Ok(quiet)
    }

    /// There was work. The alarm is set by the first of a stretch only: setting it for each would cost a system call.
    pub(crate) fn worked(&mut self, now_ms: u64) {
        self.last_work_ms = now_ms;
        if !self.is_waiting {
            self.wait();
        }
    }

    /// Returns when the engine task may have rested long enough; [`IdleTrim::rest`] tells.
    pub(crate) async fn comes(&mut self) {
        self.alarm.rings().await;
    }

    /// Makes the daemon small if it has really rested, else waits on.
    pub(crate) fn rest(&mut self) {
        if clock::uptime_ms() < self.last_work_ms + QUIET_MS {
            self.wait();
            return;
        }
        self.is_waiting = false;
        // What the next request needs is mapped again from the page cache; most of what the last ones needed is not.
        if let Err(error) = holder::give_back_text() {
            tracing::debug!(%error, "program text could not be given back");
        }
    }

    fn wait(&mut self) {
        self.is_waiting = true;
        self.alarm.set(Some(self.last_work_ms + QUIET_MS));
    }
}

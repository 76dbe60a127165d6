//! Wakes the worker for the echo of a key at the same time as the holder, instead of after it. It watches a
//! run's terminal between a key and the next output, but never reads it (the holder is its only reader).
//! Without a key nothing is watched.

use std::time::{Duration, Instant};

use rustix::event::epoll;

use super::run::Run;
use super::worker::{Source, Worker};

/// How long to wait for the holder to read what woke both; after that it wakes us in the usual way.
const BESIDE: Duration = Duration::from_micros(50);
/// Keys that are not watched after the holder was late: on a loaded machine, where the holder waits for a
/// processor, busy-waiting only takes one away.
const REST: u8 = 31;

/// The state of the watch for the echo of a key.
#[derive(Debug, Default)]
pub(crate) struct EchoWatch {
    /// A person has typed and the watch has not begun.
    pub(crate) is_due: bool,
    /// The number of next keys that are not watched.
    resting: u8,
    /// True if the terminal is registered in the worker's epoll.
    is_placed: bool,
}

impl EchoWatch {
    /// Returns true if a key that was just typed is to be watched.
    fn begins(&mut self) -> bool {
        let is_due = std::mem::take(&mut self.is_due);
        let is_rested = self.resting == 0;
        if is_due && !is_rested {
            self.resting -= 1;
        }
        is_due && is_rested
    }

    /// Records whether the holder was in time.
    fn saw(&mut self, is_in_time: bool) {
        self.resting = if is_in_time { 0 } else { REST };
    }
}

impl Worker {
    /// Watches once for the echo of a key that was just typed.
    pub(super) fn watch_echo(&mut self, number: u64) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        if !slot.run.echo.begins() {
            return;
        }
        let master = slot.run.handle.master();
        let data = epoll::EventData::new_u64(Source::Echo(number).token());
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ONESHOT;
        let watched = if slot.run.echo.is_placed {
            epoll::modify(&self.epoll, master, data, flags)
        } else {
            epoll::add(&self.epoll, master, data, flags)
        };
        // Without the watch the holder still wakes us, a little later.
        slot.run.echo.is_placed |= watched.is_ok();
    }

    /// Handles output on a run's terminal.
    pub(super) fn on_echo(&mut self, number: u64) {
        if let Some(slot) = self.slots.get_mut(&number) {
            slot.run.look_beside();
            self.ready.insert(number);
        }
    }

    /// Ends the watch on a terminal that is closed. The holder has the same terminal open, so closing ours
    /// would not.
    pub(super) fn end_echo(&self, run: &Run) {
        if run.echo.is_placed {
            let _gone = epoll::delete(&self.epoll, run.handle.master());
        }
    }
}

impl Run {
    /// Polls the ring until the holder has written the new output. The next check arms the ring again.
    fn look_beside(&mut self) {
        let ring = &self.handle.ring;
        ring.disarm();
        let until = Instant::now() + BESIDE;
        while ring.end() <= self.position.seen() && Instant::now() < until {
            std::hint::spin_loop();
        }
        self.echo.saw(self.handle.ring.end() > self.position.seen());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(echo: &mut EchoWatch) -> bool {
        echo.is_due = true;
        echo.begins()
    }

    #[test]
    fn a_key_is_watched_once_and_nothing_else_is() {
        let mut echo = EchoWatch::default();
        assert!(!echo.begins());
        assert!(key(&mut echo) && !echo.begins());
    }

    #[test]
    fn a_late_holder_is_not_watched_for_a_while_and_then_again() {
        let mut echo = EchoWatch::default();
        assert!(key(&mut echo));
        echo.saw(false);
        assert_eq!((0..REST).filter(|_| key(&mut echo)).count(), 0);
        assert!(key(&mut echo));
        echo.saw(true);
        assert!(key(&mut echo));
    }
}

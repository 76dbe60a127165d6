//! Orders a holder to end its tree, and names what survives.
//!
//! Holders since wire version 2 keep the grace themselves, so that it continues when the daemon dies. For
//! older ones the daemon sends the signal that asks, and the order to kill when the grace is over.

use std::time::{Duration, Instant};

use engine::input::Survivor;
use holder::{SignalTarget, ToHolder, WIRE_WITH_END, descendants, proc_stat};
use rustix::process::Signal;

use super::holder_end::{HolderEnd, name_survivor};

/// The end of one run's tree, as far as the daemon has to time it.
pub(super) struct TreeEnd {
    wire_version: u16,
    /// When an older holder is ordered to kill.
    insist_at: Option<Instant>,
    /// The signal that was sent to the tree, and when its grace is over; `None` before that and after its end.
    asked: Option<(i32, Instant)>,
    /// The end of a holder that does not answer.
    pub(super) holder_end: HolderEnd,
}

impl TreeEnd {
    pub(super) fn new(wire_version: u16) -> Self {
        Self { wire_version, insist_at: None, asked: None, holder_end: HolderEnd::default() }
    }

    /// Returns the orders for the holder so that its tree ends. A second request only changes the grace.
    pub(super) fn ask(&mut self, signal: i32, grace_ms: u32, now: Instant) -> Vec<ToHolder> {
        if self.asked.is_none() {
            self.holder_end.forget_report();
        }
        let over_at = now + Duration::from_millis(grace_ms.into());
        self.asked = Some((signal, self.asked.map_or(over_at, |(_, earlier)| earlier.min(over_at))));
        if self.wire_version >= WIRE_WITH_END {
            return vec![ToHolder::End { signal, grace_ms }];
        }
        if grace_ms == 0 {
            self.insist_at = None;
            return vec![ToHolder::Kill { grace_ms: 0 }];
        }
        let is_first = self.insist_at.is_none();
        let insist_at = now + Duration::from_millis(grace_ms.into());
        self.insist_at = Some(self.insist_at.map_or(insist_at, |at| at.min(insist_at)));
        let to_all = |signal| ToHolder::Signal { signal, to: SignalTarget::Tree };
        if is_first { vec![to_all(signal), to_all(Signal::CONT.as_raw())] } else { Vec::new() }
    }

    /// Returns the orders for a holder whose link another program had for a while: the signal may not have
    /// reached the tree, or the holder may have announced the tree's end to that program.
    pub(super) fn ask_again(&mut self, now: Instant) -> Vec<ToHolder> {
        let Some((signal, over_at)) = self.asked else { return Vec::new() };
        let grace_ms = u32::try_from(over_at.saturating_duration_since(now).as_millis()).unwrap_or(u32::MAX);
        if self.wire_version >= WIRE_WITH_END {
            return vec![ToHolder::End { signal, grace_ms }];
        }
        // Its tree has got the signals; the order to kill comes when the grace is over.
        if self.is_waiting() { Vec::new() } else { vec![ToHolder::Kill { grace_ms: 0 }] }
    }

    /// Records that the tree has gone, or that the rest of it cannot be ended.
    pub(super) fn over(&mut self) {
        self.holder_end.reported();
        self.asked = None;
    }

    /// Returns true if an older holder's tree has got the signal and the order to kill is still to come.
    pub(super) fn is_waiting(&self) -> bool {
        self.insist_at.is_some()
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.insist_at
    }

    /// Returns the order for an older holder when the grace is over, or when nothing of its tree is left.
    pub(super) fn pass(&mut self, now: Instant, is_alone: bool) -> Option<ToHolder> {
        self.insist_at.take_if(|at| *at <= now || is_alone).map(|_| ToHolder::Kill { grace_ms: 0 })
    }
}

/// Returns the processes that live below a holder.
pub(super) fn survivors(holder: i32) -> Vec<Survivor> {
    let living = |pid: &i32| proc_stat::stat(*pid).is_some_and(|stat| stat.state != b'Z');
    descendants::descendants(holder).into_iter().filter(living).map(name_survivor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m3c_an_older_holder_is_asked_by_signals_and_told_to_kill_when_the_grace_is_over() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let mut asking = TreeEnd::new(1);
        let asked = asking.ask(15, 5_000, now);
        let to_all = |signal| ToHolder::Signal { signal, to: SignalTarget::Tree };
        assert_eq!(asked, [to_all(15), to_all(Signal::CONT.as_raw())]);
        assert_eq!(asking.due(), Some(now + 5 * second));
        assert_eq!(asking.pass(now + 4 * second, false), None);
        // A longer grace changes nothing, a shorter one does.
        assert_eq!(asking.ask(15, 9_000, now), []);
        assert_eq!(asking.due(), Some(now + 5 * second));
        assert_eq!(asking.ask(15, 1_000, now), []);
        assert_eq!(asking.pass(now + second, false), Some(ToHolder::Kill { grace_ms: 0 }));
        assert_eq!(asking.due(), None);
    }

    #[test]
    fn m3c_an_older_holder_whose_tree_has_gone_is_not_kept_waiting() {
        let now = Instant::now();
        let mut asking = TreeEnd::new(1);
        assert_eq!(asking.pass(now, true), None);
        asking.ask(1, 60_000, now);
        assert_eq!(asking.pass(now, true), Some(ToHolder::Kill { grace_ms: 0 }));
        assert_eq!(asking.ask(15, 0, now), [ToHolder::Kill { grace_ms: 0 }]);
    }

    #[test]
    fn m4c_a_holder_that_was_taken_away_is_asked_again_for_the_rest_of_the_grace() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let mut asking = TreeEnd::new(WIRE_WITH_END);
        assert_eq!(asking.ask_again(now), []);
        asking.ask(15, 5_000, now);
        assert_eq!(asking.ask_again(now + 2 * second), [ToHolder::End { signal: 15, grace_ms: 3_000 }]);
        asking.ask(15, 1_000, now + 2 * second);
        assert_eq!(asking.ask_again(now + 4 * second), [ToHolder::End { signal: 15, grace_ms: 0 }]);
        asking.over();
        assert_eq!(asking.ask_again(now), []);
        let mut older = TreeEnd::new(1);
        older.ask(15, 5_000, now);
        assert_eq!(older.ask_again(now), [], "the order to kill is still to come");
        assert!(older.pass(now + 5 * second, false).is_some());
        assert_eq!(older.ask_again(now + 6 * second), [ToHolder::Kill { grace_ms: 0 }]);
    }

    #[test]
    fn m3c_a_holder_that_knows_how_keeps_the_grace_itself() {
        let mut asking = TreeEnd::new(WIRE_WITH_END);
        assert_eq!(asking.ask(15, 5_000, Instant::now()), [ToHolder::End { signal: 15, grace_ms: 5_000 }]);
        assert_eq!(asking.due(), None);
    }
}

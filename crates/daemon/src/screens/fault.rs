//! Contains a fault in the run that caused it: its screen is reset, and other runs continue.
//!
//! It handles panics while a run or a viewer is served. Every fault is logged, and the daemon's warnings name
//! a run whose screen was lost until it ends.
//!
//! A run that fails repeatedly pauses between faults, longer each time, and after [`MANY`] faults within
//! [`WINDOW`] its output is not drawn until the window is over. Its log, its input, its exit and the bytes
//! for attached terminals do not need the screen and continue.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use engine::{RunKey, ViewerId};

use super::facts::FactQueue;
use super::run::Run;
use super::viewer::Mode;
use super::worker::Worker;
use crate::warnings::Cause;

/// This many faults within a window are too many.
const MANY: u32 = 8;
/// How long faults are remembered.
const WINDOW: Duration = Duration::from_secs(60);
/// The pause after the first fault; each further one doubles it.
const REST: Duration = Duration::from_millis(10);

/// For which run or viewer work is done.
#[derive(Clone, Copy, Debug)]
pub(super) enum FaultScope {
    Run(u64),
    Viewer(ViewerId),
    Nobody,
}

/// The faults of one run.
#[derive(Default)]
pub(super) struct Faults {
    /// How often its screen was lost.
    resets: u32,
    told: u32,
    /// Faults since the window began.
    recent: u32,
    since: Option<Instant>,
    resting_until: Option<Instant>,
}

impl Faults {
    /// Records that the emulator failed and has reset itself.
    pub(super) fn display_reset(&mut self) {
        self.resets = self.resets.saturating_add(1);
    }

    /// Records that its work failed.
    fn failed(&mut self, now: Instant) {
        if self.since.is_none_or(|since| now.duration_since(since) >= WINDOW) {
            (self.recent, self.since) = (0, Some(now));
        }
        self.recent += 1;
        self.resting_until = Some(now + REST * 2_u32.saturating_pow((self.recent - 1).min(MANY)));
    }

    /// Returns true if its output is not to be drawn.
    pub(super) fn is_blind(&self, now: Instant) -> bool {
        self.recent >= MANY && self.since.is_some_and(|since| now.duration_since(since) < WINDOW)
    }

    /// Stops drawing it, as long as faults are remembered.
    pub(super) fn go_blind(&mut self, now: Instant) {
        (self.recent, self.since) = (MANY, Some(now));
    }

    pub(super) fn is_resting(&self, now: Instant) -> bool {
        self.resting_until.is_some_and(|until| now < until)
    }

    /// Returns true if its output is to wait. A run that is not drawn does not pause: its log continues.
    pub(super) fn is_output_resting(&self, now: Instant) -> bool {
        self.is_resting(now) && !self.is_blind(now)
    }

    /// Returns when something is due: during a pause only checks for output count, and those only if nothing
    /// is drawn.
    pub(super) fn postpone(&self, look: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
        match self.resting_until {
            None => look.into_iter().chain(other).min(),
            Some(rested) if self.recent < MANY => Some(rested),
            Some(rested) => look.into_iter().chain([rested]).min(),
        }
    }

    /// Returns true if a pause has just ended: everything must be checked.
    pub(super) fn take_rest(&mut self, now: Instant) -> bool {
        self.resting_until.take_if(|until| *until <= now).is_some()
    }

    /// Returns how often its screen was lost, if that is new.
    fn take_news(&mut self) -> Option<u32> {
        let is_new = self.resets > self.told;
        self.told = self.resets;
        is_new.then_some(self.resets)
    }
}

/// Runs `act`; returns false if it panicked.
pub(super) fn attempt(what: &str, run: RunKey, act: impl FnOnce()) -> bool {
    let outcome = catch_unwind(AssertUnwindSafe(act));
    if let Err(panic) = &outcome {
        tracing::error!(?run, "{what} failed: {}", reason(&**panic));
    }
    outcome.is_ok()
}

fn reason(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without words")
}

impl Worker {
    /// Runs `act` for a run or a viewer. If it panics, that run's screen is reset, or that viewer is
    /// detached.
    pub(super) fn contained(&mut self, whose: FaultScope, now: Instant, act: impl FnOnce(&mut Self)) {
        let outcome = catch_unwind(AssertUnwindSafe(|| act(self)));
        let Err(panic) = outcome else { return };
        tracing::error!(?whose, "serving failed: {}", reason(&*panic));
        match whose {
            FaultScope::Run(number) => self.start_over(number, now),
            FaultScope::Viewer(id) => self.let_go(id),
            FaultScope::Nobody => {}
        }
    }

    fn start_over(&mut self, number: u64, now: Instant) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        slot.run.faults.failed(now);
        let (run, facts) = (&mut slot.run, &mut self.facts);
        let is_done = attempt("beginning anew", run.key(), || run.start_over(now, facts));
        if !is_done {
            slot.run.faults.go_blind(now);
        }
        for id in &slot.viewers {
            // A terminal that gets live bytes shows more than we know; the others are drawn from what we
            // know.
            if let Some(viewer) = self.viewers.get_mut(id).filter(|viewer| viewer.mode == Mode::Composed) {
                viewer.position.mark_stale();
            }
        }
        self.sync_interest(number);
    }

    /// Adds a warning about a run whose screen was lost.
    pub(super) fn tell_faults(&mut self, number: u64) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        let Some(resets) = slot.run.faults.take_news() else { return };
        let key = slot.run.key();
        let times = if resets == 1 { "once".to_owned() } else { format!("{resets} times") };
        let rest = format!("was reset {times} after a fault of qd; nothing is missing in its log");
        let id = key.process;
        self.warnings.set(Cause::Display(key), format!("the display of {id} {rest}: qd logs {id}"));
    }

    /// Warns about a run whose output another process has damaged.
    pub(super) fn tell_damaged_output(&mut self, number: u64) {
        let Some(slot) = self.slots.get(&number).filter(|slot| slot.run.handle.ring.is_damaged()) else {
            return;
        };
        let (key, id) = (slot.run.key(), slot.run.key().process);
        let what = "another process has written into the memory of its holder; it shows nothing new";
        let text = format!("the output of {id} is damaged: {what}: qd restart {id}");
        self.warnings.set(Cause::DamagedOutput(key), text);
    }
}

impl Run {
    /// Resets to a blank screen of the same size, because the state in the middle of an operation is unknown.
    pub(super) fn start_over(&mut self, now: Instant, facts: &mut FactQueue) {
        self.faults.display_reset();
        let handle = std::sync::Arc::clone(&self.handle);
        let mut screen = handle.screen();
        screen.reset_display(self.size.grid());
        drop(screen.take_facts());
        self.forget_picture(&screen, now, facts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c9_faults_that_follow_each_other_blind_a_run_until_the_window_is_over() {
        let (mut faults, begin) = (Faults::default(), Instant::now());
        let mut now = begin;
        for number in 1..=MANY {
            assert!(!faults.is_blind(now), "{number}");
            faults.failed(now);
            assert!(faults.is_resting(now) && !faults.take_rest(now));
            now = faults.postpone(None, Some(begin)).unwrap();
            assert!(faults.take_rest(now) && !faults.is_resting(now));
            assert_eq!(faults.postpone(None, Some(begin)), Some(begin));
        }
        assert!(faults.is_blind(now) && !faults.is_blind(begin + WINDOW));
        assert!(
            now < begin + Duration::from_secs(5),
            "the child is not kept waiting long: {:?}",
            now - begin
        );
        faults.failed(begin + WINDOW);
        assert!(!faults.is_blind(begin + WINDOW));
    }

    #[test]
    fn c9_a_run_that_is_not_drawn_rests_and_its_output_does_not() {
        let (mut faults, now) = (Faults::default(), Instant::now());
        let look = Some(now);
        (1..MANY).for_each(|_| faults.failed(now));
        assert!(faults.is_output_resting(now) && faults.postpone(look, look) > look);
        faults.failed(now);
        assert!(faults.is_resting(now) && !faults.is_output_resting(now));
        assert_eq!(faults.postpone(look, None), look);
        assert!(faults.postpone(None, look) > look);
    }

    #[test]
    fn c9_faults_far_apart_never_blind_a_run() {
        let (mut faults, mut now) = (Faults::default(), Instant::now());
        for _ in 0..100 {
            faults.failed(now);
            now += WINDOW / 4;
            assert!(!faults.is_blind(now));
        }
    }
}

//! Ending a tree: HUP and CONT, a grace, TERM, then freeze and KILL in rounds until nobody is left. A state machine that
//! the loop advances on every child's end and at its deadlines, so that output is read to the last byte meanwhile and the
//! end comes as soon as the last process has gone. It refuses to sleep.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::tree;

/// Grace of a hang-up or release, which have none of their own.
pub(crate) const DEFAULT_GRACE: Duration = Duration::from_millis(500);

/// Longest grace, so that everything fits into the bound.
const LONGEST_GRACE: Duration = Duration::from_secs(2);

/// Time between TERM and KILL.
const TERM_GRACE: Duration = Duration::from_millis(250);

/// Time between two looks for processes that forked while they were being killed.
const ROUND: Duration = Duration::from_millis(20);

/// After this the survivors (processes stuck in the kernel) are reported instead of waited for. An end takes three seconds
/// at most, and a daemon that hears nothing needs the rest of them to end the tree from outside.
const BOUND: Duration = Duration::from_millis(2_700);

/// Rounds of freezing before killing; each finds the children forked during the one before.
const FREEZE_ROUNDS: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    HungUp,
    Terminated,
    Killed,
}

/// A tree that is being ended.
#[derive(Debug)]
pub(crate) struct Ending {
    stage: Stage,
    next: Instant,
    bound: Instant,
    root: i32,
    over: Option<u32>,
}

/// Where an ending stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Somebody still lives.
    Going,
    /// Over, with this many survivors.
    Over(u32),
}

impl Ending {
    /// Hangs the tree below `root` (this process) up.
    pub(crate) fn begin(root: i32, grace: Duration, now: Instant) -> Ending {
        signal_all(root, &[Signal::HUP, Signal::CONT]);
        let next = now + grace.min(LONGEST_GRACE);
        Ending { stage: Stage::HungUp, next, bound: now + BOUND, root, over: None }
    }

    /// A second request may shorten the grace, never lengthen it.
    pub(crate) fn hurry(&mut self, grace: Duration, now: Instant) {
        if self.stage == Stage::HungUp {
            self.next = self.next.min(now + grace);
        }
    }

    /// When [`Ending::advance`] must be called although nothing has happened; never again once it is over.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.over.is_none().then(|| self.next.min(self.bound))
    }

    /// Does what is due. `childless` says that this process has no children left, which for a subreaper means that
    /// there is no descendant at all.
    pub(crate) fn advance(&mut self, now: Instant, childless: bool) -> Progress {
        if childless {
            self.over = Some(0);
        } else if now >= self.bound {
            self.over = u32::try_from(tree::descendants(self.root).len()).ok();
        }
        match self.over {
            Some(survivors) => return Progress::Over(survivors),
            None if now < self.next => return Progress::Going,
            None => self.next_stage(now),
        }
        Progress::Going
    }

    fn next_stage(&mut self, now: Instant) {
        match self.stage {
            Stage::HungUp => {
                signal_all(self.root, &[Signal::TERM, Signal::CONT]);
                self.stage = Stage::Terminated;
                self.next = now + TERM_GRACE;
            }
            Stage::Terminated | Stage::Killed => {
                kill_all(self.root);
                self.stage = Stage::Killed;
                self.next = now + ROUND;
            }
        }
    }
}

fn signal_all(root: i32, signals: &[Signal]) {
    for pid in tree::descendants(root) {
        for signal in signals {
            tree::signal_descendant(pid, root, *signal);
        }
    }
}

/// Freezes until no new process appears (a stopped process cannot fork), then kills.
pub(crate) fn kill_all(root: i32) {
    let mut frozen = BTreeSet::new();
    for _ in 0..FREEZE_ROUNDS {
        let before = frozen.len();
        for pid in tree::descendants(root) {
            if frozen.insert(pid) {
                tree::signal_descendant(pid, root, Signal::STOP);
            }
        }
        if frozen.len() == before {
            break;
        }
    }
    for pid in frozen {
        tree::signal_descendant(pid, root, Signal::KILL);
    }
}

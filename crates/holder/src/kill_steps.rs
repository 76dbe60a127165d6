//! Ends a process tree: sends the signal that asks, waits for the grace, then freezes and kills in rounds
//! until no process is left. It is a state machine that the loop advances at every child's end and at its
//! deadlines, so that output is read to the last byte meanwhile and the end comes as soon as the last process
//! has gone.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::tree;

/// The grace of a hang-up or release, which have none of their own.
pub(crate) const DEFAULT_GRACE: Duration = Duration::from_millis(500);

/// The longest grace of [`ToHolder::Kill`](crate::ToHolder::Kill); the daemons that send it wait three
/// seconds.
const LONGEST_HANG_UP: Duration = Duration::from_secs(2);

/// Longest grace that [`ToHolder::End`](crate::ToHolder::End) may give.
const LONGEST_GRACE: Duration = Duration::from_secs(600);

/// Time between TERM and KILL of a hang-up.
const TERM_GRACE: Duration = Duration::from_millis(250);

/// The time between two searches for processes that forked while they were being killed.
const ROUND: Duration = Duration::from_millis(20);

/// This long after the first KILL the survivors are reported instead of waited for.
const INSISTING: Duration = Duration::from_millis(2_000);

/// This long after a hang-up began the survivors are reported. The daemons that send one sweep after 2.75
/// seconds.
const HANG_UP_BOUND: Duration = Duration::from_millis(2_700);

/// Rounds of freezing before killing; each finds the children forked during the one before.
const FREEZE_ROUNDS: usize = 16;

/// After this many rounds in which no process could be sent a KILL, the rest belongs to another user and will
/// not end.
const HOPELESS_ROUNDS: u32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Asked,
    Insisting,
}

/// A tree that is being ended.
#[derive(Debug)]
pub(crate) struct Ending {
    stage: Stage,
    /// The signal that asks once more before KILL.
    second_ask: Option<(Signal, Duration)>,
    next: Instant,
    bound: Instant,
    root: i32,
    /// Rounds in a row in which no KILL could be sent.
    hopeless: u32,
    over: Option<u32>,
}

/// The state of an ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// A process still lives.
    Going,
    /// Over, with this many survivors.
    Over(u32),
}

impl Ending {
    /// Asks the tree below `root` (this process) to end, and kills it when the grace is over. Without a grace
    /// it kills at once.
    pub(crate) fn ask(root: i32, signal: Signal, grace: Duration, now: Instant) -> Ending {
        if !grace.is_zero() {
            signal_all(root, &[signal, Signal::CONT]);
        }
        let next = now + grace.min(LONGEST_GRACE);
        Ending::new(root, next, next + INSISTING)
    }

    /// Hangs the tree below `root` up, and asks it again with TERM before killing.
    pub(crate) fn hang_up(root: i32, grace: Duration, now: Instant) -> Ending {
        signal_all(root, &[Signal::HUP, Signal::CONT]);
        let second_ask = Some((Signal::TERM, TERM_GRACE));
        Ending { second_ask, ..Ending::new(root, now + grace.min(LONGEST_HANG_UP), now + HANG_UP_BOUND) }
    }

    fn new(root: i32, next: Instant, bound: Instant) -> Ending {
        Ending { stage: Stage::Asked, second_ask: None, next, bound, root, hopeless: 0, over: None }
    }

    /// Shortens the grace, never lengthens it; a second request without a grace kills at once.
    pub(crate) fn hurry(&mut self, grace: Duration, now: Instant) {
        if self.stage != Stage::Asked {
            return;
        }
        if grace.is_zero() {
            self.second_ask = None;
        }
        if now + grace < self.next {
            self.next = now + grace;
            self.bound = self.bound.min(self.next + INSISTING);
        }
    }

    /// Returns when [`Ending::advance`] must be called although nothing has happened; `None` once it is over.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.over.is_none().then(|| self.next.min(self.bound))
    }

    /// Does what is due. `childless` means that this process has no children left, which for a subreaper
    /// means that there is no descendant at all.
    pub(crate) fn advance(&mut self, now: Instant, childless: bool) -> Progress {
        if childless {
            self.over = Some(0);
        } else if now >= self.bound || self.hopeless >= HOPELESS_ROUNDS {
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
        if let Some((signal, grace)) = self.second_ask.take() {
            signal_all(self.root, &[signal, Signal::CONT]);
            self.next = now + grace;
            return;
        }
        let reached = kill_all(self.root);
        self.hopeless = if reached == 0 { self.hopeless + 1 } else { 0 };
        self.stage = Stage::Insisting;
        self.next = now + ROUND;
    }
}

fn signal_all(root: i32, signals: &[Signal]) {
    for pid in tree::descendants(root) {
        for signal in signals {
            tree::signal_descendant(pid, root, *signal);
        }
    }
}

/// Freezes until no new process appears (a stopped process cannot fork), then kills. Returns to how many
/// processes the signal could be sent.
pub(crate) fn kill_all(root: i32) -> usize {
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
    frozen.into_iter().filter(|pid| tree::signal_descendant(*pid, root, Signal::KILL)).count()
}

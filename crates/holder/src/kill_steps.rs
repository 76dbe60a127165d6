//! Ends a process tree: sends the signal that asks, waits for the grace, then freezes and kills in rounds
//! until no process is left. It is a state machine that the loop advances at every child's end and at its
//! deadlines, so that output is read to the last byte meanwhile and the end comes as soon as the last process
//! has gone.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::{descendants, proc_stat};

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
pub(crate) const ROUND: Duration = Duration::from_millis(20);

/// This long after the last KILL that reached a process the survivors are reported instead of waited for.
const INSISTING: Duration = Duration::from_millis(2_000);

/// After this time of killing the survivors are reported although more can still be killed: they fork faster than
/// they are killed.
const MOST_INSISTING: Duration = Duration::from_secs(20);

/// This long after a hang-up began the survivors are reported. The daemons that send one sweep after 2.75
/// seconds.
const HANG_UP_BOUND: Duration = Duration::from_millis(2_700);

/// Rounds of freezing before killing; each finds the children forked during the one before.
const FREEZE_ROUNDS: u32 = 32;

/// What is stopped after this time is killed, whatever else there is: on a busy machine thousands of processes could
/// fork for longer than their end may take.
const FREEZING: Duration = Duration::from_millis(500);

/// After this many rounds in which no process could be sent a KILL, the rest belongs to another user and will
/// not end.
pub(crate) const HOPELESS_ROUNDS: u32 = 5;

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
    /// When killing began, and when it is given up; `None` before that, and for a hang-up, which has a bound of its own.
    insisting: Option<Instant>,
    is_hang_up: bool,
    root: i32,
    frozen: Frozen,
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
        let ending = Ending::new(root, now + grace.min(LONGEST_HANG_UP), now + HANG_UP_BOUND);
        Ending { second_ask, is_hang_up: true, ..ending }
    }

    fn new(root: i32, next: Instant, bound: Instant) -> Ending {
        let (stage, frozen) = (Stage::Asked, Frozen::default());
        let (insisting, is_hang_up) = (None, false);
        Ending {
            stage,
            second_ask: None,
            next,
            bound,
            insisting,
            is_hang_up,
            root,
            frozen,
            hopeless: 0,
            over: None,
        }
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
        } else if (now >= self.bound && self.frozen.is_empty()) || self.hopeless >= HOPELESS_ROUNDS {
            self.over = u32::try_from(descendants::descendants(self.root).len()).ok();
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
        self.stage = Stage::Insisting;
        self.insisting.get_or_insert(now);
        if self.frozen.freeze(self.root, now) {
            // What has ended is reaped before the next round: otherwise each round would find all of it again.
            self.next = now;
            return;
        }
        let reached = std::mem::take(&mut self.frozen).kill(self.root);
        self.hopeless = if reached == 0 { self.hopeless + 1 } else { 0 };
        self.next = now + ROUND;
        if reached > 0 {
            self.go_on_insisting(now);
        }
    }

    /// Moves the bound: what a KILL has reached is about to go, and what it forked before is found in the next round.
    fn go_on_insisting(&mut self, now: Instant) {
        let latest = self.insisting.map(|began| began + MOST_INSISTING).filter(|_| !self.is_hang_up);
        if let Some(latest) = latest {
            self.bound = self.bound.max((now + INSISTING).min(latest));
        }
    }
}

fn signal_all(root: i32, signals: &[Signal]) {
    for pid in descendants::descendants(root) {
        for signal in signals {
            descendants::signal_descendant(pid, root, *signal);
        }
    }
}

/// The descendants that were stopped, by pid, with their start times: a stopped process cannot fork.
#[derive(Debug, Default)]
struct Frozen {
    stopped: BTreeMap<i32, u64>,
    rounds: u32,
    began: Option<Instant>,
}

impl Frozen {
    /// Stops every descendant that is not stopped yet, each in the moment in which it is found: one that forks
    /// and exits every few milliseconds is another process soon. Returns true if there may be more.
    fn freeze(&mut self, root: i32, now: Instant) -> bool {
        let until = *self.began.get_or_insert(now) + FREEZING;
        let before = self.stopped.len();
        descendants::visit(root, |pid| {
            let alive = proc_stat::stat(pid).filter(|stat| stat.state != b'Z');
            let Some(start_time) = alive.map(|stat| stat.start_time) else { return };
            if self.stopped.insert(pid, start_time) != Some(start_time) {
                descendants::signal_descendant(pid, root, Signal::STOP);
            }
        });
        self.rounds += 1;
        self.stopped.len() > before && self.rounds < FREEZE_ROUNDS && now < until
    }

    /// Returns true if nothing is stopped that was not killed yet.
    fn is_empty(&self) -> bool {
        self.stopped.is_empty()
    }

    /// Kills them; returns to how many the signal could be sent.
    fn kill(self, root: i32) -> usize {
        let pids = self.stopped.into_keys();
        pids.filter(|pid| descendants::signal_descendant(*pid, root, Signal::KILL)).count()
    }
}

/// Freezes until no new process appears, then kills. Returns to how many processes the signal could be sent.
pub(crate) fn kill_all(root: i32) -> usize {
    let mut frozen = Frozen::default();
    while frozen.freeze(root, Instant::now()) {}
    frozen.kill(root)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// A shell with one child, which it reaps.
    fn family() -> (std::process::Child, i32) {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & wait; exec sleep 1000"]).stdin(Stdio::null());
        let shell = command.spawn().unwrap();
        let root = i32::try_from(shell.id()).unwrap();
        while descendants::descendants(root).is_empty() {
            std::thread::yield_now();
        }
        (shell, root)
    }

    #[test]
    fn h5_what_was_stopped_is_killed_before_anything_is_named_as_a_survivor() {
        let (mut shell, root) = family();
        let began = Instant::now();
        let mut ending = Ending::ask(root, Signal::TERM, Duration::ZERO, began);
        assert_eq!(ending.advance(began, false), Progress::Going, "its child is stopped");
        // The machine was so busy that the bound has passed meanwhile.
        let late = began + INSISTING + ROUND;
        assert_eq!(ending.advance(late, false), Progress::Going, "nothing was killed yet");
        while !descendants::descendants(root).is_empty() {
            std::thread::yield_now();
        }
        assert!(ending.bound >= late + INSISTING, "a KILL that reached something moves the bound");
        shell.kill().unwrap();
        shell.wait().unwrap();
    }

    #[test]
    fn h5_killing_does_not_wait_for_a_family_that_never_stops_forking() {
        let (mut shell, root) = family();
        let now = Instant::now();
        let mut frozen = Frozen::default();
        assert!(frozen.freeze(root, now), "there may be more");
        let mut frozen = Frozen { began: Some(now), ..Frozen::default() };
        assert!(!frozen.freeze(root, now + FREEZING), "there may be more, and the time is over");
        assert_eq!(frozen.kill(root), 1);
        shell.kill().unwrap();
        shell.wait().unwrap();
    }
}

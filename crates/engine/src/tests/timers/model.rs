//! A plain model of timers beside the engine, through random scripts with a daemon that dies: both agree at every step,
//! and whatever fires is said exactly once.

use std::collections::{BTreeMap, BTreeSet};

use proto::AgentState;
use proto::request::{TimerChange, TimerWhen};
use proto::timers::{TimerKind, TimerStatus};

use super::super::random_tree::{Crew, Dice, all, any};
use super::super::stage::{next, restart};
use crate::{Effect, Record, RunFact, RunKey};

/// A timer as the model has it.
#[derive(Clone, Debug)]
struct Expected {
    owner: RunKey,
    kind: TimerKind,
    status: TimerStatus,
    /// When it is due, or how much is left while it is paused.
    due: u64,
    /// Whom it watches.
    watches: BTreeMap<RunKey, Seen>,
}

/// One that is watched.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// It was at work when the timer was set, or has been since, or has ended since.
    has_moved: bool,
    /// It was over when the timer was set.
    was_over: bool,
    /// Its state when the timer was set: one that stops before a dialog later has come to rest, also without work.
    state: Option<AgentState>,
}

struct Script {
    crew: Crew,
    dice: Dice,
    owners: Vec<RunKey>,
    children: Vec<RunKey>,
    closed: BTreeSet<RunKey>,
    exited: BTreeSet<RunKey>,
    /// What each child was last told to report.
    reports: BTreeMap<RunKey, AgentState>,
    timers: BTreeMap<u64, Expected>,
    crashes: u64,
}

impl Script {
    fn new(seed: u64) -> Self {
        let mut crew = Crew::new();
        let owners = vec![crew.agent("boss", None), crew.agent("chief", None)];
        let children: Vec<RunKey> =
            (0..4).map(|n| crew.agent(&format!("c{n}"), Some(owners[n % 2]))).collect();
        let reports = children.iter().map(|child| (*child, AgentState::Idle)).collect();
        Self {
            crew,
            dice: Dice(seed),
            owners,
            children,
            closed: BTreeSet::new(),
            exited: BTreeSet::new(),
            reports,
            timers: BTreeMap::new(),
            crashes: 0,
        }
    }

    fn now(&self) -> u64 {
        self.crew.stage.now
    }

    fn rests(&self, child: RunKey) -> bool {
        use AgentState::{Blocked, Error, Exited, Idle, Waiting};
        self.exited.contains(&child)
            || matches!(self.crew.state(child), Some(Idle | Waiting | Blocked | Error | Exited))
    }

    fn works(&self, child: RunKey) -> bool {
        matches!(self.crew.state(child), Some(AgentState::Working | AgentState::Thinking))
    }

    /// What the model expects after an input.
    fn expect(&mut self) {
        let (now, mut timers) = (self.now(), std::mem::take(&mut self.timers));
        let open = |timer: &&mut Expected| matches!(timer.status, TimerStatus::Armed | TimerStatus::Paused);
        for timer in timers.values_mut().filter(open) {
            if !self.owners.contains(&timer.owner) {
                timer.status = TimerStatus::Cancelled;
                continue;
            }
            timer.watches.retain(|child, _| !self.closed.contains(child));
            for (child, seen) in &mut timer.watches {
                let has_ended = self.exited.contains(child) && !seen.was_over;
                let has_stopped = self.crew.state(*child) == Some(AgentState::Blocked)
                    && seen.state != Some(AgentState::Blocked);
                seen.has_moved |= self.works(*child) || has_ended || has_stopped;
            }
            if timer.kind != TimerKind::Delay && timer.watches.is_empty() {
                timer.status = TimerStatus::Cancelled;
            } else if timer.status == TimerStatus::Armed && (timer.due <= now || self.is_satisfied(timer)) {
                timer.status = TimerStatus::Fired;
            }
        }
        self.timers = timers;
    }

    fn is_satisfied(&self, timer: &Expected) -> bool {
        match timer.kind {
            TimerKind::Delay => false,
            TimerKind::IdleAny => {
                timer.watches.iter().any(|(child, seen)| seen.has_moved && self.rests(*child))
            }
            TimerKind::IdleAll => timer.watches.keys().all(|child| self.rests(*child)),
        }
    }

    /// Time passes, alarm by alarm.
    fn pass(&mut self, ms: u64) {
        let end = self.now() + ms;
        while let Some(due) = self.crew.stage.engine.next_deadline().filter(|due| *due <= end) {
            let step = due.saturating_sub(self.now());
            self.crew.pass(step);
            self.expect();
        }
        self.crew.stage.now = end;
    }

    fn set(&mut self) {
        let owner = *self.dice.pick(&self.owners);
        let lasts = 1 + self.dice.roll(20_000);
        let known: Vec<RunKey> = self.children.clone();
        let child = |script: &mut Self| *script.dice.pick(&known);
        let watched: BTreeSet<RunKey> = (0..=self.dice.roll(2)).map(|_| child(self)).collect();
        let runs: Vec<RunKey> = watched.into_iter().collect();
        let (kind, when) = match self.dice.roll(3) {
            0 => (TimerKind::Delay, TimerWhen::After(lasts)),
            1 => (TimerKind::IdleAny, any(&runs, lasts)),
            _ => (TimerKind::IdleAll, all(&runs, lasts)),
        };
        let watches = match kind {
            TimerKind::Delay => BTreeMap::new(),
            TimerKind::IdleAny | TimerKind::IdleAll => {
                let seen = |run: &RunKey| Seen {
                    has_moved: !self.rests(*run),
                    was_over: self.exited.contains(run),
                    state: self.crew.state(*run),
                };
                runs.iter().map(|run| (*run, seen(run))).collect()
            }
        };
        // Not everybody may watch everybody: what is refused is nobody's timer.
        let Ok(view) = self.crew.set(owner, when, "b") else { return };
        let due = self.now() + lasts;
        let expected = Expected { owner, kind, status: TimerStatus::Armed, due, watches };
        self.timers.insert(view.timer, expected);
    }

    fn change(&mut self) {
        let numbers: Vec<u64> = self.timers.keys().copied().collect();
        if numbers.is_empty() {
            return;
        }
        let number = *self.dice.pick(&numbers);
        let now = self.now();
        let change = *self.dice.pick(&[
            TimerChange::Pause,
            TimerChange::Resume,
            TimerChange::Resume,
            TimerChange::Cancel,
        ]);
        let result = self.crew.change(number, change);
        let timer = self.timers.get_mut(&number).unwrap();
        match (timer.status, change) {
            (TimerStatus::Armed, TimerChange::Pause) => {
                (timer.status, timer.due) = (TimerStatus::Paused, timer.due.saturating_sub(now));
            }
            (TimerStatus::Paused, TimerChange::Resume) if result.is_ok() => {
                (timer.status, timer.due) = (TimerStatus::Armed, now + timer.due);
            }
            (TimerStatus::Armed | TimerStatus::Paused, TimerChange::Cancel) => {
                timer.status = TimerStatus::Cancelled;
            }
            _ => {}
        }
    }

    fn step(&mut self) {
        match self.dice.roll(16) {
            0..=3 => self.set(),
            4 | 5 => self.change(),
            6..=9 => {
                let child = *self.dice.pick(&self.children.clone());
                let states =
                    [AgentState::Working, AgentState::Idle, AgentState::Blocked, AgentState::Waiting];
                let state = *self.dice.pick(&states);
                if !self.closed.contains(&child) && !self.exited.contains(&child) {
                    self.reports.insert(child, state);
                    self.crew.report(child, state);
                }
            }
            10 | 11 => {
                let ms = self.dice.roll(6_000);
                self.pass(ms);
            }
            12 => self.crash(),
            13 if self.dice.roll(3) == 0 => self.end_child(),
            14 if self.dice.roll(6) == 0 => self.restart_owner(),
            15 => {
                self.crew.wall_shift += if self.dice.roll(2) == 0 { 3_600_000 } else { -3_600_000 };
                let ms = if self.dice.roll(10) == 0 { 8 * 3_600_000 } else { 500 };
                self.crew.sleep(ms);
            }
            _ => {}
        }
        self.expect();
    }

    fn end_child(&mut self) {
        let child = *self.dice.pick(&self.children.clone());
        if self.closed.contains(&child) || self.exited.contains(&child) {
            return;
        }
        if self.dice.roll(2) == 0 {
            self.exited.insert(child);
            self.crew.exit(child, 0);
        } else {
            self.closed.insert(child);
            self.crew.close(child);
        }
    }

    /// An owner's run is over, and so are its children; the next run goes on in its place.
    fn restart_owner(&mut self) {
        let index = usize::try_from(self.dice.roll(2)).unwrap();
        let old = self.owners[index];
        self.owners[index] = next(old);
        self.crew.ask(restart(old));
        self.expect();
        let below: Vec<RunKey> = (0..4).filter(|n| n % 2 == index).map(|n| self.children[n]).collect();
        self.crew.die(old);
        for child in below {
            self.crew.die(child);
            self.exited.remove(&child);
            self.closed.insert(child);
        }
        self.crew.fact(next(old), RunFact::Started { pid: 3 });
        self.crew.launch(next(old));
        self.crew.report(next(old), AgentState::Idle);
    }

    /// The daemon dies between two decisions; what the children do is seen again.
    fn crash(&mut self) {
        self.crashes += 1;
        self.crew.crash();
        self.expect();
        for (child, state) in self.reports.clone() {
            if !self.closed.contains(&child) && !self.exited.contains(&child) {
                self.crew.report(child, state);
                self.expect();
            }
        }
        for owner in self.owners.clone() {
            self.crew.report(owner, AgentState::Idle);
        }
    }

    fn check(&mut self, seed: u64, step: u64) {
        let views = self.crew.timers();
        let listed: BTreeSet<u64> = views.iter().map(|view| view.timer).collect();
        let is_open = |timer: &Expected| matches!(timer.status, TimerStatus::Armed | TimerStatus::Paused);
        let missing = self.timers.iter().find(|(number, timer)| is_open(timer) && !listed.contains(number));
        assert!(missing.is_none(), "seed {seed}, step {step}: {missing:?} is gone");
        for view in &views {
            let expected = &self.timers[&view.timer];
            assert_eq!(view.status, expected.status, "seed {seed}, step {step}: {view:?}\n{expected:?}");
        }
        let messages = self.crew.system_messages("timer:");
        for (number, expected) in &self.timers {
            let key = format!("timer:{number}");
            let fired = messages
                .iter()
                .filter(|mail| mail.key.as_deref() == Some(&key) && !mail.text.contains("was cancelled"))
                .count();
            let wanted = usize::from(expected.status == TimerStatus::Fired);
            assert_eq!(fired, wanted, "seed {seed}, step {step}: timer {number} {expected:?}");
        }
    }
}

#[test]
fn f7_engine_and_model_agree_on_every_timer_through_a_thousand_random_lives() {
    let (mut fired, mut cancelled, mut crashes) = (0, 0, 0);
    for seed in 0..1_000 {
        let mut script = Script::new(seed);
        for step in 0..40 {
            script.step();
            script.check(seed, step);
        }
        fired += script.timers.values().filter(|timer| timer.status == TimerStatus::Fired).count();
        cancelled += script.timers.values().filter(|timer| timer.status == TimerStatus::Cancelled).count();
        crashes += script.crashes;
    }
    println!("{fired} fired, {cancelled} cancelled, {crashes} crashes");
    assert!(fired > 1_000 && cancelled > 500 && crashes > 500, "{fired} {cancelled} {crashes}");
}

/// A short life with every kind of firing in it; how many effects it had.
fn short_life(crew: &mut Crew) -> Vec<RunKey> {
    let boss = crew.agent("boss", None);
    let one = crew.agent("one", Some(boss));
    crew.report(one, AgentState::Working);
    crew.set(boss, TimerWhen::After(1_000), "delay").unwrap();
    crew.set(boss, any(&[one], 60_000), "any").unwrap();
    crew.set(boss, all(&[one], 60_000), "all").unwrap();
    crew.pass(500);
    crew.change(1, TimerChange::Pause).unwrap();
    crew.change(1, TimerChange::Resume).unwrap();
    crew.pass(1_000);
    crew.report(one, AgentState::Idle);
    crew.pass(3_000);
    vec![boss, one]
}

/// A kill at any point of any decision, also between two records of one: each timer that was set is said once.
#[test]
fn f7_a_daemon_that_dies_after_any_effect_whatsoever_fires_each_timer_once() {
    let mut whole = Crew::new();
    short_life(&mut whole);
    let effects = whole.stage.effects.len();
    let mut between = 0;
    for cut in 1..=effects {
        let mut crew = Crew::new();
        let runs = short_life(&mut crew);
        crew.crash_after(cut);
        let set: BTreeSet<u64> = crew.timers().into_iter().map(|view| view.timer).collect();
        between += crew.timers().iter().filter(|view| view.status == TimerStatus::Armed).count();
        let started = |run: &RunKey| crew.stage.view(run.process).is_some();
        let runs: Vec<RunKey> = runs.into_iter().filter(started).collect();
        for (run, state) in runs.iter().zip([AgentState::Idle, AgentState::Working]) {
            crew.report(*run, state);
        }
        crew.pass(500);
        for run in &runs {
            crew.report(*run, AgentState::Idle);
        }
        for view in crew.timers().into_iter().filter(|view| view.status == TimerStatus::Paused) {
            crew.change(view.timer, TimerChange::Resume).unwrap();
        }
        crew.pass(120_000);
        for timer in set {
            assert_eq!(crew.status(timer), Some(TimerStatus::Fired), "cut {cut}");
            assert_eq!(crew.system_messages(&format!("timer:{timer}")).len(), 1, "cut {cut}, timer {timer}");
        }
        let kept = |effect: &&Effect| matches!(effect, Effect::Record(Record::PutTimer(_)));
        assert!(crew.stage.effects.iter().filter(kept).count() <= 60, "cut {cut}: records without end");
    }
    assert!(between > 20, "no cut fell between arm and fire: {between}");
}

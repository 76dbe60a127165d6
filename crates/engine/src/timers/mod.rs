//! Wake-ups that agents own.
//!
//! Every timer, from its setting to its one firing. Each is checked after every input, so that it cannot miss what it waits
//! for, and ends with the run that set it.

mod rest;

pub(crate) use rest::{agent_rests, exit_words};

use proto::event::Event;
use proto::timers::{TimerKind, TimerStatus, TimerView};
use proto::{AgentState, Name, ProcessId, RunNumber, Status};
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::effect::Effect;
use crate::input::RunKey;
use crate::mail::MailQueue;
use crate::outbox::Signal;
use crate::record::Record;
use crate::undo::UndoMap;
use crate::waits::Waits;

/// Timers that are over, kept per owner for lists and late waits.
const KEPT: usize = 20;

/// One timer as it is made durable. New fields need a default, so that older documents still read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerRecord {
    /// Its number.
    pub timer: u64,
    /// Whom it wakes: the process, and the run that set it.
    pub owner: ProcessId,
    /// That run.
    pub run: RunNumber,
    /// The owner's name when it was set.
    pub owner_name: Name,
    /// What it waits for.
    pub kind: TimerKind,
    /// Where it is.
    pub status: TimerStatus,
    /// Its name.
    #[serde(default)]
    pub label: String,
    /// The text of its message.
    pub body: String,
    /// The key it was set with.
    #[serde(default)]
    pub key: Option<String>,
    /// Whom it watches.
    #[serde(default)]
    pub watches: Vec<Watched>,
    /// When it fires at the latest, on the uptime clock; while paused, how many milliseconds were left.
    pub due_ms: u64,
    /// Why it fired or was cancelled.
    #[serde(default)]
    pub outcome: Option<String>,
    /// How those it watched were when it fired, a line each.
    #[serde(default)]
    pub report: Vec<String>,
}

/// One process that a timer watches, and where it was when the timer was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    /// Which.
    pub id: ProcessId,
    /// Its name then.
    pub name: Name,
    /// Its run then.
    pub run: RunNumber,
    /// Its log's end then.
    #[serde(default)]
    pub log_end: u64,
    /// Its newest turn then.
    #[serde(default)]
    pub turn: u64,
    /// Its state then.
    #[serde(default)]
    pub state: Option<AgentState>,
    /// Its run was over then.
    #[serde(default)]
    pub was_over: bool,
    /// It was at work then, or has been seen at work since.
    #[serde(default)]
    pub has_moved: bool,
    /// How it ended by itself; from then on it rests, even when its entry is gone.
    #[serde(default)]
    pub ended: Option<String>,
}

impl TimerRecord {
    /// The run that owns it.
    pub(crate) fn owner_run(&self) -> RunKey {
        RunKey::new(self.owner, self.run)
    }

    fn is_armed(&self) -> bool {
        self.status == TimerStatus::Armed
    }

    /// The message to its owner, once it has fired.
    pub(crate) fn message(&self) -> String {
        let mut text = self.body.clone();
        let late = self.outcome.as_deref().filter(|outcome| *outcome == MAX_WAIT_PASSED);
        for line in late.into_iter().chain(self.report.iter().map(String::as_str)) {
            text.push('\n');
            text.push_str(line);
        }
        text
    }

    /// What stands in the head of its message.
    fn tag(&self) -> String {
        if self.label.is_empty() { format!("timer:{}", self.timer) } else { format!("timer:{}", self.label) }
    }

    /// The key of its message: a timer speaks once.
    pub(crate) fn mail_key(timer: u64) -> String {
        format!("timer:{timer}")
    }

    /// What is shown of it.
    pub(crate) fn view(&self, now: u64) -> TimerView {
        let remaining_ms = match self.status {
            TimerStatus::Armed => self.due_ms.saturating_sub(now),
            TimerStatus::Paused => self.due_ms,
            TimerStatus::Fired | TimerStatus::Cancelled => 0,
        };
        TimerView {
            timer: self.timer,
            owner: self.owner,
            owner_name: self.owner_name.clone(),
            kind: self.kind,
            status: self.status,
            label: self.label.clone(),
            body: self.body.clone(),
            watches: self.watches.iter().map(|watched| watched.id).collect(),
            remaining_ms,
            outcome: self.outcome.clone(),
        }
    }
}

/// Every timer.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    /// Those that are armed or paused.
    pub(crate) open: UndoMap<u64, TimerRecord>,
    /// The newest of the others.
    pub(crate) over: UndoMap<u64, TimerRecord>,
}

impl Timers {
    pub(crate) fn get(&self, timer: u64) -> Option<&TimerRecord> {
        self.open.get(&timer).or_else(|| self.over.get(&timer))
    }

    /// The armed timers with their owners, once for each process that they watch.
    pub(crate) fn watches(&self) -> impl Iterator<Item = (RunKey, &TimerRecord, ProcessId)> {
        let armed = self.open.values().filter(|timer| timer.is_armed());
        armed
            .flat_map(|timer| timer.watches.iter().map(move |watched| (timer.owner_run(), timer, watched.id)))
    }
}

/// What is to become of a timer.
pub(crate) enum TimerFate {
    Stay,
    Fire(String),
    /// Nothing is left to watch: its owner should know, for it waits.
    Emptied,
}

const MAX_WAIT_PASSED: &str = "max_wait passed";
const OWNER_OVER: &str = "the run that owns it is over";
const EMPTIED: &str = "every process it watched was closed";

impl Timers {
    /// When a timer is next due, on the uptime clock.
    pub(crate) fn timer_deadline(&self, ctx: &Context) -> Option<u64> {
        let now = ctx.out.now.uptime_ms;
        let armed = self.open.values().filter(|timer| timer.is_armed());
        let awake = armed.filter(|timer| self.owner_status(timer, ctx) == Some(Status::Running));
        awake.flat_map(|timer| self.quiet_deadline(timer, now, ctx).into_iter().chain([timer.due_ms])).min()
    }

    /// The status of the run that owns a timer; none: it is over or being ended.
    pub(crate) fn owner_status(&self, timer: &TimerRecord, ctx: &Context) -> Option<Status> {
        let owner = ctx.processes.get(&timer.owner).filter(|owner| owner.key() == timer.owner_run())?;
        (owner.is_live() && owner.run.ending.is_none()).then_some(owner.run.status)
    }

    /// Looks at every timer that is not over.
    pub(crate) fn pass_timer_deadlines(&mut self, mail: &mut MailQueue, waits: &Waits, ctx: &mut Context) {
        let open: Vec<u64> = self.open.keys().copied().collect();
        for timer in open {
            self.look_at_timer(timer, mail, waits, ctx);
        }
    }

    /// Does what is due about a timer.
    pub(crate) fn look_at_timer(
        &mut self,
        number: u64,
        mail: &mut MailQueue,
        waits: &Waits,
        ctx: &mut Context,
    ) {
        let Some(timer) = self.open.get(&number) else { return };
        match self.owner_status(timer, ctx) {
            None => return self.finish_timer(number, TimerStatus::Cancelled, OWNER_OVER.to_owned(), ctx),
            // Not adopted yet, or not yet there: what is due waits for it.
            Some(Status::Starting) => return,
            Some(_) => {}
        }
        self.note_watched(number, ctx);
        match self.judge_timer(number, ctx) {
            TimerFate::Stay => {}
            TimerFate::Fire(outcome) => self.fire(number, outcome, mail, waits, ctx),
            TimerFate::Emptied => self.cancel_emptied(number, mail, ctx),
        }
    }

    pub(crate) fn judge_timer(&self, number: u64, ctx: &Context) -> TimerFate {
        let now = ctx.out.now.uptime_ms;
        let Some(timer) = self.open.get(&number) else { return TimerFate::Stay };
        let is_due = timer.is_armed() && timer.due_ms <= now;
        match timer.kind {
            TimerKind::Delay if is_due => TimerFate::Fire("the time passed".to_owned()),
            TimerKind::Delay => TimerFate::Stay,
            TimerKind::IdleAny | TimerKind::IdleAll if timer.watches.is_empty() => TimerFate::Emptied,
            TimerKind::IdleAny | TimerKind::IdleAll if !timer.is_armed() => TimerFate::Stay,
            TimerKind::IdleAny | TimerKind::IdleAll => match self.come_to_rest(timer, ctx) {
                Some(outcome) => TimerFate::Fire(outcome),
                None if is_due => TimerFate::Fire(MAX_WAIT_PASSED.to_owned()),
                None => TimerFate::Stay,
            },
        }
    }

    /// Sends the message to its owner, exactly once: the record that it fired and the message are one decision, and a message with its
    /// key is not sent again.
    pub(crate) fn fire(
        &mut self,
        number: u64,
        outcome: String,
        mail: &mut MailQueue,
        waits: &Waits,
        ctx: &mut Context,
    ) {
        let Some(timer) = self.open.get(&number) else { return };
        let report = self.rest_report(timer, ctx);
        let Some(timer) = self.open.get_mut(&number) else { return };
        timer.report = report;
        timer.outcome = Some(outcome.clone());
        let (owner, tag, text) = (timer.owner_run(), timer.tag(), timer.message());
        let is_awaited = waits.is_timer_awaited(number);
        if !is_awaited {
            mail.send_system_once(owner, &tag, text, TimerRecord::mail_key(number), ctx);
        }
        self.finish_timer(number, TimerStatus::Fired, outcome, ctx);
    }

    pub(crate) fn cancel_emptied(&mut self, number: u64, mail: &mut MailQueue, ctx: &mut Context) {
        let Some(timer) = self.open.get(&number) else { return };
        let (owner, name) = (timer.owner_run(), timer.tag());
        let text = format!("{name} (timer {number}) was cancelled: {EMPTIED}");
        mail.send_system_once(owner, "system", text, TimerRecord::mail_key(number), ctx);
        self.finish_timer(number, TimerStatus::Cancelled, EMPTIED.to_owned(), ctx);
    }

    /// Ends a timer: records and announces it, and reports it to the waits.
    pub(crate) fn finish_timer(
        &mut self,
        number: u64,
        status: TimerStatus,
        outcome: String,
        ctx: &mut Context,
    ) {
        let Some(mut timer) = self.open.remove(&number) else { return };
        timer.status = status;
        timer.outcome = Some(outcome);
        self.record_timer(&timer, ctx);
        let owner = timer.owner;
        self.over.insert(number, timer);
        ctx.out.signal(Signal::TimerOver { timer: number, owner });
    }

    /// Records a timer and announces the change; its text is for its owner only.
    pub(crate) fn record_timer(&self, timer: &TimerRecord, ctx: &mut Context) {
        ctx.out.push(Effect::Record(Record::PutTimer(Box::new(timer.clone()))));
        let view = TimerView { body: String::new(), ..timer.view(ctx.out.now.uptime_ms) };
        ctx.out.announce(Event::Timer(Box::new(view)));
    }

    pub(crate) fn prune_timers(&mut self, owner: ProcessId, ctx: &mut Context) {
        let of = |timer: &&TimerRecord| timer.owner == owner;
        let known: Vec<u64> = self.over.values().filter(of).map(|timer| timer.timer).collect();
        for timer in known.iter().take(known.len().saturating_sub(KEPT)) {
            self.forget_timer(*timer, ctx);
        }
    }

    pub(crate) fn forget_timer(&mut self, timer: u64, ctx: &mut Context) {
        if self.over.remove(&timer).is_some() {
            ctx.out.push(Effect::Record(Record::RemoveTimer(timer)));
        }
    }

    /// The owner's entry goes, and its timers with it.
    pub(crate) fn forget_timers_of(&mut self, owner: ProcessId, ctx: &mut Context) {
        let open: Vec<u64> =
            self.open.values().filter(|timer| timer.owner == owner).map(|timer| timer.timer).collect();
        for timer in open {
            self.finish_timer(timer, TimerStatus::Cancelled, OWNER_OVER.to_owned(), ctx);
        }
        let over: Vec<u64> =
            self.over.values().filter(|timer| timer.owner == owner).map(|timer| timer.timer).collect();
        for timer in over {
            self.forget_timer(timer, ctx);
        }
    }

    /// The timers an earlier daemon left. What is due waits until its owner's run is adopted.
    pub(crate) fn restore_timers(
        &mut self,
        saved: Vec<TimerRecord>,
        mail: &mut MailQueue,
        ctx: &mut Context,
    ) {
        for timer in saved {
            ctx.out.numbers.counters.next_timer =
                ctx.out.numbers.counters.next_timer.max(timer.timer.saturating_add(1));
            match timer.status {
                TimerStatus::Armed | TimerStatus::Paused => self.open.insert(timer.timer, timer),
                TimerStatus::Fired | TimerStatus::Cancelled => self.over.insert(timer.timer, timer),
            };
        }
        // Messages for a run alone end with it, also when its end was not seen.
        let runs: Vec<RunKey> = ctx.processes.values().map(|process| process.key()).collect();
        for run in runs {
            let is_live = ctx.processes.get(&run.process).is_some_and(|process| process.is_live());
            let over = if is_live { run.run.0.checked_sub(1).map(RunNumber) } else { Some(run.run) };
            if let Some(over) = over {
                mail.refuse_all_to_run(RunKey::new(run.process, over), ctx);
            }
        }
    }
}

#[cfg(test)]
mod tests;

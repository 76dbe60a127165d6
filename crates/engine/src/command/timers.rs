//! `set_timer`, `timers`, `change_timer`: wake-ups.

use proto::crew::{TimerKind, TimerStatus, TimerView};
use proto::request::{ChangeTimer, SetTimer, Target, TimerChange, TimerWhen};
use proto::{ErrorCode, Failure, Kind, Name, Printable, ProcessId, Reply};

use super::CommandResult;
use super::tell::wrong_kind;
use crate::Engine;
use crate::effect::{CommandAnswer, Effect};
use crate::input::{Caller, RunKey};
use crate::mail_format;
use crate::record::Record;
use crate::registry::denied;
use crate::rights::Verb;
use crate::timers::{TimerRecord, Watched};

/// Longest time a timer may take: a week.
const MAX_MS: u64 = 7 * 24 * 3600 * 1000;
/// Most timers of one owner that are not over.
const MAX_OWNED: usize = 100;
/// Most timers of all owners that are not over: each is looked at after every input.
const MAX_OPEN: usize = 2_000;
/// Most processes that one timer watches.
const MAX_WATCHED: usize = 64;
/// Most processes that all timers watch.
const MAX_WATCHED_BY_ALL: usize = 4_096;
/// Longest label, in characters.
const MAX_LABEL: usize = 64;
/// Longest body, in bytes.
const MAX_BODY: usize = 16 << 10;
/// Longest key, in bytes.
const MAX_KEY: usize = 200;
/// Most messages that may wait for an owner: whoever does not listen is not woken more.
const MAX_WAITING: usize = 200;

impl Engine {
    pub(super) fn set_timer(&mut self, caller: Caller, request: SetTimer) -> CommandResult {
        let (owner, owner_name) = self.check_owner(caller, request.owner.as_ref())?;
        check_words(&request)?;
        if let Some(known) = request.key.as_deref().and_then(|key| self.keyed_timer(owner, key)) {
            return self.timer_reply(known);
        }
        self.check_timer_room(owner)?;
        let (kind, lasts_ms, watches) = self.check_when(caller, owner, &request.when)?;
        let number = self.next_timer();
        let timer = TimerRecord {
            timer: number,
            owner: owner.process,
            run: owner.run,
            owner_name,
            kind,
            status: TimerStatus::Armed,
            label: request.label.unwrap_or_default(),
            body: request.body,
            key: request.key,
            watches,
            due_ms: self.now.uptime_ms.saturating_add(lasts_ms),
            outcome: None,
            report: Vec::new(),
        };
        self.record_timer(&timer);
        self.timers.open.insert(number, timer);
        // Those it waits for may all be at rest already.
        self.look_at_timer(number);
        self.timer_reply(number)
    }

    /// The run that a timer wakes: the caller's own, or one that a person names.
    fn check_owner(&self, caller: Caller, named: Option<&Target>) -> Result<(RunKey, Name), Failure> {
        let process = match (caller, named) {
            (Caller::Human | Caller::Via(_), None) => {
                return Err(Failure::invalid("owner", "a person names the agent that is woken"));
            }
            (Caller::Process(run), None) => {
                self.find(caller, &Target(run.process.to_string()), Verb::Drive)?
            }
            (_, Some(named)) => self.find(caller, named, Verb::Drive)?,
            (Caller::Nobody, None) => return Err(denied(caller, "timers")),
        };
        if matches!(caller, Caller::Process(run) if run != process.key()) {
            return Err(denied(caller, "a process sets timers for itself only"));
        }
        if process.spec.kind != Kind::Agent || process.agent.is_none() {
            return Err(wrong_kind(process));
        }
        if !process.is_live() || process.run.ending.is_some() {
            return Err(Failure::new(ErrorCode::NotRunning, format!("{} is not running", process.name)));
        }
        Ok((process.key(), process.name.clone()))
    }

    fn keyed_timer(&self, owner: RunKey, key: &str) -> Option<u64> {
        let is_same = |timer: &&TimerRecord| timer.owner_run() == owner && timer.key.as_deref() == Some(key);
        let all = self.timers.open.values().chain(self.timers.over.values());
        all.filter(is_same).map(|timer| timer.timer).max()
    }

    fn check_timer_room(&self, owner: RunKey) -> Result<(), Failure> {
        let owned = self.timers.open.values().filter(|timer| timer.owner == owner.process).count();
        let message = match () {
            () if owned >= MAX_OWNED => format!("it has {MAX_OWNED} timers already, the most it may have"),
            () if self.timers.open.len() >= MAX_OPEN => {
                format!("there are {MAX_OPEN} timers already, the most there may be")
            }
            () if self.mail.waiting_for(owner.process) >= MAX_WAITING => {
                format!("{MAX_WAITING} messages wait for it already, the most that may")
            }
            () => return Ok(()),
        };
        Err(Failure::new(ErrorCode::Limit, message).hint("cancel some of them"))
    }

    /// What a timer waits for, how long, and whom it watches.
    fn check_when(
        &self,
        caller: Caller,
        owner: RunKey,
        when: &TimerWhen,
    ) -> Result<(TimerKind, u64, Vec<Watched>), Failure> {
        let (kind, watch) = match when {
            TimerWhen::After(ms) => {
                check_duration("after", *ms)?;
                return Ok((TimerKind::Delay, *ms, Vec::new()));
            }
            TimerWhen::IdleAny(watch) => (TimerKind::IdleAny, watch),
            TimerWhen::IdleAll(watch) => (TimerKind::IdleAll, watch),
        };
        check_duration("max_wait", watch.max_wait_ms)?;
        if watch.processes.is_empty() || watch.processes.len() > MAX_WATCHED {
            return Err(Failure::invalid("processes", format!("between 1 and {MAX_WATCHED}")));
        }
        let mut watches: Vec<Watched> = Vec::new();
        for target in &watch.processes {
            let process = self.find(caller, target, Verb::Read)?;
            if watches.iter().all(|watched| watched.id != process.id) {
                watches.push(Watched::new(process, self.now.uptime_ms));
            }
        }
        let watched: usize = self.timers.open.values().map(|timer| timer.watches.len()).sum();
        if watched + watches.len() > MAX_WATCHED_BY_ALL {
            let message = format!("{MAX_WATCHED_BY_ALL} processes are watched already, the most that may be");
            return Err(Failure::new(ErrorCode::Limit, message));
        }
        let ids: Vec<ProcessId> = watches.iter().map(|watched| watched.id).collect();
        self.check_circle(owner.process, &ids)?;
        Ok((kind, watch.max_wait_ms, watches))
    }

    fn next_timer(&mut self) -> u64 {
        let timer = self.counters.next_timer;
        self.counters.next_timer += 1;
        self.effects.push(Effect::Record(Record::Counters(self.counters)));
        timer
    }

    fn timer_reply(&self, number: u64) -> CommandResult {
        let Some(timer) = self.timers.get(number) else { return Err(no_timer(number)) };
        Ok(Some(CommandAnswer::Reply(Reply::Timer(timer.view(self.now.uptime_ms)))))
    }

    /// Those whose owner the caller may read.
    pub(super) fn timers(&mut self, caller: Caller) -> CommandResult {
        if !self.may_at_all(caller, Verb::List) {
            return Err(denied(caller, "timers"));
        }
        let is_seen = |timer: &&TimerRecord| {
            let owner = self.processes.get(&timer.owner);
            owner.is_some_and(|owner| self.may_do(caller, Verb::Read, owner))
        };
        let all = self.timers.open.values().chain(self.timers.over.values()).filter(is_seen);
        let mut views: Vec<TimerView> = all.map(|timer| timer.view(self.now.uptime_ms)).collect();
        views.sort_by_key(|view| view.timer);
        Ok(Some(CommandAnswer::Reply(Reply::Timers(views))))
    }

    pub(super) fn change_timer(&mut self, caller: Caller, request: ChangeTimer) -> CommandResult {
        if !self.may_at_all(caller, Verb::List) {
            return Err(denied(caller, "timers"));
        }
        let Some(timer) = self.timers.get(request.timer) else { return Err(no_timer(request.timer)) };
        self.find(caller, &Target(timer.owner.to_string()), Verb::Drive)?;
        match (timer.status, request.change) {
            (TimerStatus::Armed, TimerChange::Pause) => self.pause_timer(request.timer),
            (TimerStatus::Paused, TimerChange::Resume) => self.resume_timer(request.timer)?,
            (TimerStatus::Armed | TimerStatus::Paused, TimerChange::Cancel) => {
                let by = if caller == Caller::Human { "a person" } else { "a process" };
                self.finish_timer(request.timer, TimerStatus::Cancelled, format!("{by} cancelled it"));
            }
            // What was asked for is so already: the same request twice is no mistake.
            (TimerStatus::Armed, TimerChange::Resume)
            | (TimerStatus::Paused, TimerChange::Pause)
            | (TimerStatus::Cancelled, TimerChange::Cancel) => {}
            (TimerStatus::Fired, _) => return Err(is_over(request.timer, "has fired")),
            (TimerStatus::Cancelled, _) => return Err(is_over(request.timer, "was cancelled")),
        }
        self.timer_reply(request.timer)
    }

    fn pause_timer(&mut self, number: u64) {
        let now = self.now.uptime_ms;
        let Some(timer) = self.timers.open.get_mut(&number) else { return };
        timer.status = TimerStatus::Paused;
        timer.due_ms = timer.due_ms.saturating_sub(now);
        let record = timer.clone();
        self.record_timer(&record);
    }

    /// It waits again; meanwhile others may have begun to wait for its owner.
    fn resume_timer(&mut self, number: u64) -> Result<(), Failure> {
        let now = self.now.uptime_ms;
        let Some(timer) = self.timers.open.get(&number) else { return Err(no_timer(number)) };
        let watched: Vec<ProcessId> = timer.watches.iter().map(|watched| watched.id).collect();
        self.check_circle(timer.owner, &watched)?;
        let Some(timer) = self.timers.open.get_mut(&number) else { return Err(no_timer(number)) };
        timer.status = TimerStatus::Armed;
        timer.due_ms = now.saturating_add(timer.due_ms);
        let record = timer.clone();
        self.record_timer(&record);
        self.look_at_timer(number);
        Ok(())
    }
}

fn check_words(request: &SetTimer) -> Result<(), Failure> {
    if request.body.trim().is_empty() || request.body.len() > MAX_BODY {
        return Err(Failure::invalid("body", format!("between 1 and {MAX_BODY} bytes")));
    }
    if request.key.as_ref().is_some_and(|key| key.is_empty() || key.len() > MAX_KEY) {
        return Err(Failure::invalid("key", format!("between 1 and {MAX_KEY} bytes")));
    }
    let Some(label) = &request.label else { return Ok(()) };
    let is_odd = |c: char| {
        c.is_control() || mail_format::is_hidden(c) || matches!(c, '[' | ']' | '\u{2028}' | '\u{2029}')
    };
    if label.trim().is_empty() || label.chars().count() > MAX_LABEL || label.contains(is_odd) {
        let why = format!("between 1 and {MAX_LABEL} printable characters, no brackets");
        return Err(Failure::invalid("label", format!("\"{}\": {why}", Printable(&quote_label(label)))));
    }
    Ok(())
}

fn quote_label(label: &str) -> String {
    label.chars().take(MAX_LABEL).collect()
}

/// No time at all is a mistake as much as too long a time.
fn check_duration(field: &str, ms: u64) -> Result<(), Failure> {
    if ms == 0 || ms > MAX_MS {
        return Err(Failure::invalid(field, "between 1 ms and a week"));
    }
    Ok(())
}

fn no_timer(number: u64) -> Failure {
    Failure::new(ErrorCode::NotFound, format!("no timer {number}")).hint("`qd timers` lists them")
}

fn is_over(number: u64, how: &str) -> Failure {
    Failure::new(ErrorCode::Conflict, format!("timer {number} {how} already")).hint("set another")
}

//! `set_timer`, `timers`, `change_timer`: wake-ups.

use proto::printable::is_hidden;
use proto::request::Empty;
use proto::request::{ChangeTimer, SetTimer, Target, TimerChange, TimerWhen};
use proto::timers::{TimerKind, TimerStatus, TimerView};
use proto::verb;
use proto::{ErrorCode, Failure, Kind, Name, Printable, ProcessId, Reply, Role};

use super::{Asker, CommandResult, Decide, Needs, Recorded};
use crate::Engine;
use crate::context::Context;
use crate::effect::{CommandAnswer, Effect};
use crate::input::{Caller, RunKey};
use crate::mail::MailQueue;
use crate::outbox::Outbox;
use crate::record::Record;
use crate::rights::Verb;
use crate::rights::grants::Grants;
use crate::rights::registry::{denied, wrong_kind};
use crate::timers::Timers;
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
/// Most messages that may wait for an owner of timers.
const MAX_WAITING: usize = 200;

impl Decide for verb::SetTimer {
    type Order = SetTimer;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::Checked;
    const RECORDED: Recorded = Recorded::Entrusted;

    fn decide(engine: &mut Engine, asker: Asker, request: SetTimer) -> CommandResult {
        let Asker { caller, .. } = asker;
        let (owner, owner_name) =
            engine.timers.check_owner(caller, request.owner.as_ref(), &engine.grants, &engine.ctx)?;
        check_words(&request)?;
        if let Some(known) = request.key.as_deref().and_then(|key| engine.timers.keyed_timer(owner, key)) {
            return engine.timers.timer_reply(known, &engine.ctx);
        }
        engine.timers.check_timer_room(owner, &engine.mail.queue)?;
        let (kind, lasts_ms, watches) =
            engine.timers.check_when(caller, &request.when, &engine.grants, &engine.ctx)?;
        let ids: Vec<ProcessId> = watches.iter().map(|watched| watched.id).collect();
        if !ids.is_empty() {
            engine.waits.check_circle(owner.process, &ids, &engine.timers, &engine.ctx)?;
        }
        let number = engine.ctx.out.next_timer();
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
            due_ms: engine.ctx.out.now.uptime_ms.saturating_add(lasts_ms),
            outcome: None,
            report: Vec::new(),
        };
        engine.timers.record_timer(&timer, &mut engine.ctx);
        engine.timers.open.insert(number, timer);
        // Those it waits for may all be at rest already.
        engine.timers.look_at_timer(number, &mut engine.mail.queue, &engine.waits, &mut engine.ctx);
        engine.timers.timer_reply(number, &engine.ctx)
    }
}

impl Decide for verb::Timers {
    type Order = Empty;
    const ROLE: Role = Role::View;
    const NEEDS: Needs = Needs::AtAll(Verb::List);

    fn decide(engine: &mut Engine, asker: Asker, _: Empty) -> CommandResult {
        engine.timers.timers(asker.caller, &engine.grants, &engine.ctx)
    }
}

impl Decide for verb::ChangeTimer {
    type Order = ChangeTimer;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::AtAll(Verb::List);
    const RECORDED: Recorded = Recorded::Entrusted;

    fn decide(engine: &mut Engine, asker: Asker, request: ChangeTimer) -> CommandResult {
        let Asker { caller, .. } = asker;
        let timer = engine.timers.get(request.timer).filter(|timer| engine.ctx.covers(timer.owner));
        let timer = timer.ok_or_else(|| no_timer(request.timer))?;
        engine.grants.find(caller, &Target(timer.owner.to_string()), Verb::Drive, &engine.ctx)?;
        match (timer.status, request.change) {
            (TimerStatus::Armed, TimerChange::Pause) => {
                engine.timers.pause_timer(request.timer, &mut engine.ctx)
            }
            (TimerStatus::Paused, TimerChange::Resume) => resume_timer(engine, request.timer)?,
            (TimerStatus::Armed | TimerStatus::Paused, TimerChange::Cancel) => {
                let by = if caller == Caller::Person { "a person" } else { "a process" };
                engine.timers.finish_timer(
                    request.timer,
                    TimerStatus::Cancelled,
                    format!("{by} cancelled it"),
                    &mut engine.ctx,
                );
            }
            // What was asked for is so already: the same request twice is no mistake.
            (TimerStatus::Armed, TimerChange::Resume)
            | (TimerStatus::Paused, TimerChange::Pause)
            | (TimerStatus::Cancelled, TimerChange::Cancel) => {}
            (TimerStatus::Fired, _) => return Err(is_over(request.timer, "has fired")),
            (TimerStatus::Cancelled, _) => return Err(is_over(request.timer, "was cancelled")),
        }
        engine.timers.timer_reply(request.timer, &engine.ctx)
    }
}

impl Outbox {
    pub(crate) fn next_timer(&mut self) -> u64 {
        let timer = self.numbers.counters.next_timer;
        self.numbers.counters.next_timer += 1;
        self.push(Effect::Record(Record::Counters(self.numbers.counters)));
        timer
    }
}

impl Timers {
    pub(crate) fn keyed_timer(&self, owner: RunKey, key: &str) -> Option<u64> {
        let is_same = |timer: &&TimerRecord| timer.owner_run() == owner && timer.key.as_deref() == Some(key);
        let all = self.open.values().chain(self.over.values());
        all.filter(is_same).map(|timer| timer.timer).max()
    }

    pub(crate) fn check_timer_room(&self, owner: RunKey, mail: &MailQueue) -> Result<(), Failure> {
        let owned = self.open.values().filter(|timer| timer.owner == owner.process).count();
        let message = match () {
            () if owned >= MAX_OWNED => format!("it has {MAX_OWNED} timers already, which is the limit"),
            () if self.open.len() >= MAX_OPEN => {
                format!("there are {MAX_OPEN} timers already, which is the limit")
            }
            () if mail.waiting_for(owner.process) >= MAX_WAITING => {
                format!("{MAX_WAITING} messages wait for it already, which is the limit")
            }
            () => return Ok(()),
        };
        Err(Failure::new(ErrorCode::Limit, message).hint("cancel some of them"))
    }

    pub(crate) fn pause_timer(&mut self, number: u64, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        let Some(timer) = self.open.get_mut(&number) else { return };
        timer.status = TimerStatus::Paused;
        timer.due_ms = timer.due_ms.saturating_sub(now);
        let record = timer.clone();
        self.record_timer(&record, ctx);
    }
}

impl Timers {
    /// The run that a timer wakes: the caller's own, or one that a person names.
    pub(crate) fn check_owner(
        &self,
        caller: Caller,
        named: Option<&Target>,
        grants: &Grants,
        ctx: &Context,
    ) -> Result<(RunKey, Name), Failure> {
        let process = match (caller, named) {
            (Caller::Person | Caller::Via(_), None) => {
                return Err(Failure::invalid("owner", "name the agent to wake"));
            }
            (Caller::Process(run), None) => {
                grants.find(caller, &Target(run.process.to_string()), Verb::Drive, ctx)?
            }
            (_, Some(named)) => grants.find(caller, named, Verb::Drive, ctx)?,
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

    pub(crate) fn timer_reply(&self, number: u64, ctx: &Context) -> CommandResult {
        let Some(timer) = self.get(number) else { return Err(no_timer(number)) };
        Ok(Some(CommandAnswer::Reply(Reply::Timer(timer.view(ctx.out.now.uptime_ms)))))
    }

    /// Those whose owner the caller may read.
    pub(crate) fn timers(&self, caller: Caller, grants: &Grants, ctx: &Context) -> CommandResult {
        let is_seen = |timer: &&TimerRecord| {
            let owner = ctx.processes.get(&timer.owner);
            owner.is_some_and(|owner| grants.may_do(caller, Verb::Read, owner, ctx))
        };
        let all = self.open.values().chain(self.over.values()).filter(is_seen);
        let mut views: Vec<TimerView> = all.map(|timer| timer.view(ctx.out.now.uptime_ms)).collect();
        views.sort_by_key(|view| view.timer);
        Ok(Some(CommandAnswer::Reply(Reply::Timers(views))))
    }

    /// Checks what a timer waits for; returns its kind, its time and the processes that it watches.
    pub(crate) fn check_when(
        &self,
        caller: Caller,
        when: &TimerWhen,
        grants: &Grants,
        ctx: &Context,
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
            let process = grants.find(caller, target, Verb::Read, ctx)?;
            if watches.iter().all(|watched| watched.id != process.id) {
                watches.push(Watched::new(process, ctx.out.now.uptime_ms));
            }
        }
        let watched: usize = self.open.values().map(|timer| timer.watches.len()).sum();
        if watched + watches.len() > MAX_WATCHED_BY_ALL {
            let message = format!("{MAX_WATCHED_BY_ALL} processes are watched already, which is the limit");
            return Err(Failure::new(ErrorCode::Limit, message));
        }
        Ok((kind, watch.max_wait_ms, watches))
    }
}

/// It waits again; meanwhile others may have begun to wait for its owner.
fn resume_timer(engine: &mut Engine, number: u64) -> Result<(), Failure> {
    let now = engine.ctx.out.now.uptime_ms;
    let Some(timer) = engine.timers.open.get(&number) else { return Err(no_timer(number)) };
    let watched: Vec<ProcessId> = timer.watches.iter().map(|watched| watched.id).collect();
    engine.waits.check_circle(timer.owner, &watched, &engine.timers, &engine.ctx)?;
    let Some(timer) = engine.timers.open.get_mut(&number) else { return Err(no_timer(number)) };
    timer.status = TimerStatus::Armed;
    timer.due_ms = now.saturating_add(timer.due_ms);
    let record = timer.clone();
    engine.timers.record_timer(&record, &mut engine.ctx);
    engine.timers.look_at_timer(number, &mut engine.mail.queue, &engine.waits, &mut engine.ctx);
    Ok(())
}

fn check_words(request: &SetTimer) -> Result<(), Failure> {
    if request.body.trim().is_empty() || request.body.len() > MAX_BODY {
        return Err(Failure::invalid("body", format!("between 1 and {MAX_BODY} bytes")));
    }
    if request.key.as_ref().is_some_and(|key| key.is_empty() || key.len() > MAX_KEY) {
        return Err(Failure::invalid("key", format!("between 1 and {MAX_KEY} bytes")));
    }
    let Some(label) = &request.label else { return Ok(()) };
    let is_odd = |c: char| c.is_control() || is_hidden(c) || matches!(c, '[' | ']');
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

//! `wait`: an answer when something has happened to one or several processes.

use proto::verb;
use std::collections::BTreeMap;

use proto::request::{self, Until};
use proto::{ErrorCode, Failure, ProcessId, Role};

use super::{Asker, CommandResult, Decide, Needs};
use crate::Engine;
use crate::context::Context;
use crate::inbox::Inbox;
use crate::input::{Caller, RunKey};
use crate::process::Process;
use crate::rights::Verb;
use crate::timers::Timers;
use crate::waits::OpenWait;
use crate::waits::Waits;

/// Most processes one wait may name.
const MAX_TARGETS: usize = 256;
/// Most unanswered waits; each pattern is matched against all output of its processes.
const MAX_WAITS: usize = 1024;
/// Most unanswered waits of one process. A person has no bound but the one for all: every wait of theirs is a program they
/// started themselves, and a script may well wait for each of a hundred runs.
const MAX_WAITS_EACH: usize = 32;
/// Most unanswered waits of all processes together; the others are kept for people.
const MAX_WAITS_OF_PROCESSES: usize = 768;
/// Longest pattern; the daemon also bounds what it compiles to.
const MAX_PATTERN: usize = 1024;
/// Longest timeout and longest silence: a week.
const MAX_MS: u64 = 7 * 24 * 3600 * 1000;

/// Most processes of one wait that the audit log names.
const MAX_AUDITED: usize = 8;

impl Decide for verb::Wait {
    type Order = request::Wait;
    const ROLE: Role = Role::View;
    const NEEDS: Needs = Needs::Checked;

    fn about(engine: &Engine, request: &request::Wait) -> Option<String> {
        let named = request.targets.iter().take(MAX_AUDITED);
        let all: Vec<String> = named.map(|target| engine.ctx.audited_name(target)).collect();
        (!all.is_empty()).then(|| all.join(" "))
    }

    fn decide(engine: &mut Engine, asker: Asker, request: request::Wait) -> CommandResult {
        let Asker { caller, ticket, .. } = asker;
        let targets = check_wait(engine, caller, &request)?;
        let now = engine.ctx.out.now.uptime_ms;
        let waiter = match caller {
            Caller::Process(run) => Some(run),
            Caller::Person | Caller::Via(_) | Caller::Nobody => None,
        };
        if let Some(waiter) = waiter {
            engine.waits.check_share(waiter.process)?;
            engine.waits.check_waiter(
                waiter.process,
                &targets,
                &request.until,
                &engine.timers,
                &engine.ctx,
            )?;
        }
        let wait = OpenWait {
            ticket,
            waiter,
            targets,
            satisfied: BTreeMap::new(),
            until: request.until,
            quantifier: request.quantifier,
            deadline: request.timeout_ms.map(|timeout| now.saturating_add(timeout)),
            since: now,
            log_since: request.since,
        };
        let Engine { waits, inbox, mail, timers, ctx, .. } = engine;
        waits.begin(wait, inbox, &mut mail.queue, timers, ctx);
        Ok(None)
    }
}

impl Inbox {
    /// Returns true if the only target is the run that asked this item, or if the item is closed.
    pub(crate) fn is_asked_by(&self, item: u64, targets: &[RunKey], ctx: &Context) -> bool {
        let [run] = targets else { return false };
        let open = self.items.get(&item).map(|item| item.asker() == Some(*run));
        open.unwrap_or(item >= 1 && item < ctx.out.numbers.counters.next_item)
    }
}

impl Waits {
    /// Checks that a process may begin one more wait: it must not use up the waits of others.
    pub(crate) fn check_share(&self, waiter: ProcessId) -> Result<(), Failure> {
        if self.open.values().filter(|wait| wait.waiter.is_some()).count() >= MAX_WAITS_OF_PROCESSES {
            let message =
                format!("all processes together have {MAX_WAITS_OF_PROCESSES} waits, which is the limit");
            return Err(Failure::new(ErrorCode::Limit, message).hint("try again when some have ended"));
        }
        let is_its = |wait: &&OpenWait| wait.waiter.is_some_and(|run| run.process == waiter);
        if self.open.values().filter(is_its).count() < MAX_WAITS_EACH {
            return Ok(());
        }
        let message = format!("this process has {MAX_WAITS_EACH} unanswered waits, which is the limit");
        Err(Failure::new(ErrorCode::Limit, message)
            .hint("name several processes in one wait, or end one of these first"))
    }

    /// Checks that a process may wait for these without closing a circle. It may wait for its own output.
    pub(crate) fn check_waiter(
        &self,
        waiter: ProcessId,
        targets: &[RunKey],
        until: &Until,
        timers: &Timers,
        ctx: &Context,
    ) -> Result<(), Failure> {
        let may_be_own = match until {
            Until::Timer(_) | Until::Item(_) => return Ok(()),
            Until::Pattern(_) | Until::Silence(_) | Until::Ready(_) => true,
            Until::State(_) | Until::Turn(_) | Until::Exit(_) => false,
        };
        let targets = targets.iter().map(|run| run.process);
        let targets: Vec<ProcessId> = targets.filter(|id| !may_be_own || *id != waiter).collect();
        self.check_circle(waiter, &targets, timers, ctx)
    }
}

fn check_wait(engine: &Engine, caller: Caller, request: &request::Wait) -> Result<Vec<RunKey>, Failure> {
    if request.targets.is_empty() || request.targets.len() > MAX_TARGETS {
        return Err(Failure::invalid("targets", format!("between 1 and {MAX_TARGETS} processes")));
    }
    if engine.waits.open.len() >= MAX_WAITS {
        let message = format!("there are {MAX_WAITS} waits already, which is the limit");
        return Err(Failure::new(ErrorCode::Limit, message));
    }
    if request.timeout_ms.is_some_and(|timeout| timeout > MAX_MS) {
        return Err(Failure::invalid("timeout_ms", "at most a week"));
    }
    match &request.until {
        Until::Pattern(pattern) if pattern.len() > MAX_PATTERN => {
            return Err(Failure::invalid("pattern", format!("at most {MAX_PATTERN} bytes")));
        }
        Until::Silence(silence) if *silence > MAX_MS => {
            return Err(Failure::invalid("silence", "at most a week"));
        }
        Until::State(states) if states.is_empty() => {
            return Err(Failure::invalid("state", "it names no state"));
        }
        Until::Turn(0) => return Err(Failure::invalid("turn", "turns are counted from 1")),
        Until::State(_)
        | Until::Turn(_)
        | Until::Pattern(_)
        | Until::Silence(_)
        | Until::Exit(_)
        | Until::Ready(_)
        | Until::Timer(_)
        | Until::Item(_) => {}
    }
    let mut targets: Vec<RunKey> = Vec::new();
    for target in &request.targets {
        let process = engine.grants.find(caller, target, Verb::Read, &engine.ctx)?;
        let needs_agent = matches!(request.until, Until::State(_) | Until::Turn(_));
        if needs_agent && process.agent.is_none() {
            return Err(Failure::invalid("state", "only agents have a state")
                .hint("wait for --pattern, --exit or --silence"));
        }
        if matches!(request.until, Until::Pattern(_)) {
            process.check_reachable()?;
        }
        if matches!(request.until, Until::Ready(_)) && process.spec.ready.is_none() {
            return Err(cannot_tell(process));
        }
        let run = process.key();
        if !targets.contains(&run) {
            targets.push(run);
        }
    }
    let is_its = match &request.until {
        Until::Timer(number) => {
            engine.timers.get(*number).is_some_and(|timer| targets == [timer.owner_run()])
        }
        Until::Item(item) => engine.inbox.is_asked_by(*item, &targets, &engine.ctx),
        _ => true,
    };
    check_own(caller, &targets, &request.until, is_its)?;
    Ok(targets)
}

/// It has no way to say that it is ready.
fn cannot_tell(process: &Process) -> Failure {
    Failure::invalid("ready", format!("{} has no readiness check", process.name))
        .hint("spawn it with ready, or wait for --pattern")
}

/// A timer and an answer are waited for by the run they are meant for, or by a person.
fn check_own(caller: Caller, targets: &[RunKey], until: &Until, is_its: bool) -> Result<(), Failure> {
    let field = match until {
        Until::Timer(_) => "timer",
        Until::Item(_) => "item",
        Until::Pattern(_)
        | Until::State(_)
        | Until::Turn(_)
        | Until::Exit(_)
        | Until::Silence(_)
        | Until::Ready(_) => return Ok(()),
    };
    match caller {
        Caller::Process(run) if targets != [run] => {
            Err(Failure::invalid("targets", format!("a process may wait only for a {field} of its own")))
        }
        _ if !is_its => Err(Failure::new(ErrorCode::NotFound, format!("no such {field} of this run"))),
        Caller::Person | Caller::Via(_) | Caller::Process(_) | Caller::Nobody => Ok(()),
    }
}

//! How a run is ended and how long each step takes by default: a signal that asks, the grace, then KILL. `kill`, `close`, `restart`, the end of a parent, an idle timeout and `shutdown --kill`
//! all go through here.
//!
//! The grace belongs to the signal that asks: it begins when the order goes to the holder. An end that is under way is
//! part of the process's record, so that the next daemon goes on with the rest of the grace.

use proto::event::Event;
use proto::reply::Ended;
use proto::stop::{self, MAX_GRACE_MS};
use proto::{ErrorCode, Exit, ExitReason, Failure, Kind, ProcessId, Reply, Status, Stop};

use crate::Config;
use crate::Engine;
use crate::effect::{CommandAnswer, Effect};
use crate::input::{RunKey, Survivor, Ticket};
use crate::outbox::Outbox;
use crate::process::Processes;
use crate::process::{Ending, NOT_YET, Process, StopSignal, Then};
use crate::rights::audience::Topic;

/// The signals that ask a run to end by default.
const HUP: i32 = 1;
pub(crate) const TERM: i32 = 15;

/// The default grace of a command or an agent: the time between the signal that asks and KILL.
pub(crate) const GRACE_MS: u32 = 5_000;
/// The default grace of a terminal.
pub(crate) const TERMINAL_GRACE_MS: u32 = 1_000;

/// Most survivors that a failure names.
const MOST_NAMED: usize = 8;

/// What is wanted of an end.
#[derive(Debug)]
pub(crate) struct EndRequest {
    /// How the run is asked; what is left out is the process's own.
    pub(crate) stop: Stop,
    /// Why; becomes the exit's reason.
    pub(crate) reason: Option<ExitReason>,
    /// What follows.
    pub(crate) then: Then,
    /// Who waits for it. A second caller who waits for an end skips the grace: the run is killed at once.
    pub(crate) ticket: Option<Ticket>,
}

impl EndRequest {
    pub(crate) fn new(reason: Option<ExitReason>, then: Then) -> Self {
        Self { stop: Stop::default(), reason, then, ticket: None }
    }

    pub(crate) fn stop(self, stop: Stop) -> Self {
        Self { stop, ..self }
    }

    pub(crate) fn ticket(self, ticket: Ticket) -> Self {
        Self { ticket: Some(ticket), ..self }
    }
}

impl Processes {
    /// Asks the tree of a run that is being ended, or gives its holder what is left of the grace.
    pub(crate) fn kill_tree(&mut self, run: RunKey, config: &Config, out: &mut Outbox) {
        let (now, sweep_after) = (out.now.uptime_ms, config.sweep_after_ms);
        let Some(process) = self.get_mut(&run.process) else { return };
        let Some(ending) = &mut process.run.ending else { return };
        // A moment on the clock of an earlier boot means nothing: no grace is longer than the whole of it.
        let latest = now + u64::from(ending.grace_ms);
        let insist_at = ending.insist_at.map_or(latest, |at| at.clamp(now, latest));
        ending.insist_at = Some(insist_at);
        (ending.sweep_at, ending.is_swept) = (insist_at + sweep_after, false);
        let grace_ms = u32::try_from(insist_at - now).unwrap_or(MAX_GRACE_MS);
        out.push(Effect::Kill { run, signal: ending.signal, grace_ms });
        out.mark_durable(run.process);
    }

    /// The signal and the grace that a process is asked to end with.
    pub(crate) fn stop_signal(&self, id: ProcessId, stop: Stop, config: &Config) -> StopSignal {
        let Some(process) = self.get(&id) else {
            return StopSignal { signal: TERM, grace_ms: 0 };
        };
        let stop = stop.or(process.spec.stop);
        let own = match process.spec.kind {
            Kind::Terminal => StopSignal { signal: HUP, grace_ms: config.terminal_grace_ms },
            Kind::Command | Kind::Agent => StopSignal { signal: TERM, grace_ms: config.grace_ms },
        };
        StopSignal {
            signal: stop.signal.unwrap_or(own.signal),
            grace_ms: stop.grace_ms.unwrap_or(own.grace_ms).min(MAX_GRACE_MS),
        }
    }

    /// Asks what an ended child has left in the background to end, with the process's own signal and grace: the holder
    /// keeps the grace and insists, also when it is released meanwhile.
    pub(crate) fn ask_background(&self, run: RunKey, config: &Config, out: &mut Outbox) {
        let StopSignal { signal, grace_ms } = self.stop_signal(run.process, Stop::default(), config);
        if self.get(&run.process).is_some_and(|process| process.run.has_holder) {
            out.push(Effect::Kill { run, signal, grace_ms });
        }
    }
}

impl Outbox {
    pub(crate) fn answer_enders(&mut self, id: ProcessId, exit: Option<Exit>, tickets: Vec<Ticket>) {
        for ticket in tickets {
            self.reply(ticket, Ok(CommandAnswer::Reply(Reply::Ended(Ended { id, exit }))));
        }
    }
}

impl Engine {
    /// Begins, or strengthens, the end of an entry's run.
    pub(crate) fn end(&mut self, id: ProcessId, mut request: EndRequest) {
        let stop_signal = self.ctx.processes.stop_signal(id, request.stop, &self.ctx.config);
        let Some(process) = self.ctx.processes.get_mut(&id) else { return };
        let was_waiting = process.run.restart_at.take().is_some();
        // A terminal without a child has no entry, so for it every end is a removal.
        if process.spec.kind == Kind::Terminal && request.then == Then::Stay {
            request.then = Then::Remove;
        }
        if process.run.ending.is_some() {
            return self.end_sooner(id, request);
        }
        process.run.survivors.clear();
        let (grace_ms, reason) = (request.stop.grace_ms, request.reason);
        let mut ending = Ending::new(reason, request.then, stop_signal);
        ending.tickets.extend(request.ticket);
        ending.asked_grace_ms = grace_ms;
        if process.run.awaits.is_some() {
            // Its holder does not answer: the tree is swept unless the holder answers in time.
            ending.sweep_at =
                self.ctx.out.now.uptime_ms + u64::from(stop_signal.grace_ms) + self.ctx.config.sweep_after_ms;
        }
        process.run.ending = Some(ending);
        let (run, status, has_holder) = (process.key(), process.run.status, process.run.has_holder);
        if was_waiting && request.then != Then::Restart {
            self.ctx.processes.report_no_restart(run, &mut self.ctx.out);
        }
        let Some(process) = self.ctx.processes.get_mut(&id) else { return };
        match status {
            Status::Starting => {} // `started` goes on from here.
            Status::Running | Status::Stopping => {
                process.run.status = Status::Stopping;
                self.ctx.processes.kill_tree(run, &self.ctx.config, &mut self.ctx.out);
            }
            Status::Exited | Status::Failed | Status::Parked if has_holder => {
                self.ctx.processes.kill_tree(run, &self.ctx.config, &mut self.ctx.out)
            }
            Status::Exited | Status::Failed | Status::Parked => self.tree_gone(run),
        }
        self.ctx.out.mark_durable(id);
        self.ctx.processes.forget_survivors_below(id);
        self.end_children(id, grace_ms, reason);
    }

    /// Adds a request to an end that is under way. A grace that was asked for shortens the present one; a second caller
    /// skips it: the run is killed at once.
    fn end_sooner(&mut self, id: ProcessId, request: EndRequest) {
        let (now, sweep_after) = (self.ctx.out.now.uptime_ms, self.ctx.config.sweep_after_ms);
        let Some(process) = self.ctx.processes.get_mut(&id) else { return };
        let (run, status, has_holder) = (process.key(), process.run.status, process.run.has_holder);
        let is_silent = process.run.awaits.is_some();
        let Some(ending) = &mut process.run.ending else { return };
        ending.then = ending.then.max(request.then);
        ending.reason = ending.reason.or(request.reason);
        let is_second_call = request.ticket.is_some() && !std::mem::take(&mut ending.is_restored);
        ending.tickets.extend(request.ticket);
        let grace_ms = if is_second_call { Some(0) } else { request.stop.grace_ms };
        if std::mem::take(&mut ending.keeps_background) && has_holder {
            // This caller wants the whole tree gone: it is asked now.
            (ending.insist_at, ending.is_gone, ending.is_swept) = (None, false, false);
        }
        let is_sooner = match (ending.insist_at, grace_ms) {
            (Some(insist_at), Some(grace_ms)) => now + u64::from(grace_ms) < insist_at,
            (Some(_), None) => false,
            (None, _) => true,
        };
        if let Some(grace_ms) = grace_ms {
            ending.grace_ms = ending.grace_ms.min(grace_ms);
            ending.asked_grace_ms = Some(ending.asked_grace_ms.map_or(grace_ms, |asked| asked.min(grace_ms)));
            ending.insist_at = ending.insist_at.map(|at| at.min(now + u64::from(grace_ms)));
        }
        if is_silent {
            ending.sweep_at = ending.sweep_at.min(now + u64::from(ending.grace_ms) + sweep_after);
        }
        let is_asked = status != Status::Starting && !ending.is_gone && has_holder;
        let (asked_grace_ms, reason) = (ending.asked_grace_ms, ending.reason);
        if is_sooner && is_asked {
            self.ctx.processes.kill_tree(run, &self.ctx.config, &mut self.ctx.out);
        }
        self.ctx.out.mark_durable(id);
        self.end_children(id, asked_grace_ms, reason);
    }

    /// The holder of a run that is being ended was found: the end goes on.
    pub(crate) fn go_on_ending(&mut self, run: RunKey) {
        let now = self.ctx.out.now.uptime_ms;
        let Some(process) = self.ctx.processes.get_mut(&run.process) else { return };
        let is_live = process.is_live();
        let Some(ending) = process.run.ending.as_mut().filter(|ending| ending.keeps_background) else {
            return self.ctx.processes.kill_tree(run, &self.ctx.config, &mut self.ctx.out);
        };
        if !is_live {
            return self.tree_gone(run);
        }
        let latest = now + u64::from(ending.grace_ms);
        ending.sweep_at = ending.insist_at.map_or(latest, |at| at.clamp(now, latest));
        self.ctx.out.push(Effect::EndChild { run, signal: ending.signal });
    }

    /// Asks the child alone to end; what it put in the background stays. It gets no HUP unless the caller names it: a
    /// shell hands that on to its jobs.
    pub(crate) fn end_child_alone(&mut self, id: ProcessId, stop: Stop, ticket: Ticket) {
        let StopSignal { grace_ms, .. } = self.ctx.processes.stop_signal(id, stop, &self.ctx.config);
        let now = self.ctx.out.now.uptime_ms;
        let Some(process) = self.ctx.processes.get_mut(&id) else { return };
        let (run, is_live) = (process.key(), process.is_live());
        let signal = stop.or(process.spec.stop).signal.unwrap_or(TERM);
        process.run.restart_at = None;
        let mut ending = Ending::new(Some(ExitReason::Closed), Then::Remove, StopSignal { signal, grace_ms });
        let insist_at = now + u64::from(grace_ms);
        (ending.insist_at, ending.sweep_at) = (Some(insist_at), insist_at);
        (ending.keeps_background, ending.tickets) = (true, vec![ticket]);
        process.run.ending = Some(ending);
        if !is_live {
            return self.tree_gone(run);
        }
        process.run.status = Status::Stopping;
        self.ctx.out.push(Effect::EndChild { run, signal });
        self.ctx.out.mark_durable(id);
    }

    /// No descendant of the run lives: what was asked for follows.
    pub(crate) fn tree_gone(&mut self, run: RunKey) {
        let Some(process) = self.ctx.processes.get_mut(&run.process) else { return };
        if process.is_live() {
            // The tree went before the exit was logged; `Exited` goes on from here.
            if let Some(ending) = &mut process.run.ending {
                ending.is_gone = true;
            }
            return;
        }
        if self.awaits_family(run) {
            return;
        }
        let survivors = self.ctx.processes.survivors_below(run.process);
        if !survivors.is_empty() {
            return self.end_failed(run, survivors);
        }
        let Some(process) = self.ctx.processes.get_mut(&run.process) else { return };
        let Some(ending) = process.run.ending.take() else { return };
        let (exit, parent) = (process.run.exit, process.spec.parent);
        if ending.then != Then::Restart || self.ctx.ends_all {
            self.waits.see_no_replacement(run, &self.inbox, &mut self.ctx);
        }
        match ending.then {
            Then::Stay => {
                self.ctx.out.mark_durable(run.process);
                self.ctx.out.answer_enders(run.process, exit, ending.tickets);
            }
            Then::Remove => {
                self.ctx.processes.release(run, !ending.keeps_background, "closed", &mut self.ctx.out);
                let audience = self.grants.audience(&Topic::Process(run.process), &self.ctx);
                self.remove(run.process);
                self.ctx.out.answer_enders(run.process, exit, ending.tickets);
                self.ctx.out.announce_to(Event::Done { id: run.process }, audience);
                self.child_gone(parent);
            }
            Then::Restart if self.ctx.ends_all => {
                // Its viewers wait for a run that does not come.
                self.ctx.processes.report_no_restart(run, &mut self.ctx.out);
                self.ctx.out.mark_durable(run.process);
                for ticket in ending.tickets {
                    let failure = Failure::new(ErrorCode::ShuttingDown, "Quarterdeck is shutting down");
                    self.ctx.out.reply(ticket, Err(failure));
                }
            }
            Then::Restart => {
                self.ctx.processes.keep_until_started(run, &mut self.ctx.out);
                self.next_run(run.process, ending.tickets);
            }
        }
    }

    /// Ends the attempt because a descendant survived: the entry stays, and the callers get a failure that names the survivors.
    pub(crate) fn end_failed(&mut self, run: RunKey, survivors: Vec<Survivor>) {
        let Some(process) = self.ctx.processes.get_mut(&run.process) else { return };
        let Some(ending) = process.run.ending.take() else { return };
        if process.is_live() {
            // The child itself is one of them.
            process.run.status = Status::Running;
        }
        let (name, parent) = (process.name.to_string(), process.spec.parent);
        let failure = survived(&name, &survivors);
        process.run.survivors = survivors;
        self.ctx.out.audit_omission(None, "end", run.process.to_string(), &failure);
        self.ctx.out.mark_durable(run.process);
        self.waits.see_no_replacement(run, &self.inbox, &mut self.ctx);
        for ticket in ending.tickets {
            self.ctx.out.reply(ticket, Err(failure.clone()));
        }
        self.child_gone(parent);
    }
}

/// The failure that names what survived.
pub(crate) fn survived(name: &str, survivors: &[Survivor]) -> Failure {
    let named: Vec<String> = survivors.iter().take(MOST_NAMED).map(Survivor::to_string).collect();
    let more = survivors.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let message = format!("{name} was not ended: {}{more} survived {}", named.join(", "), kill_name());
    Failure::new(ErrorCode::Survived, message)
        .hint("end it as the user it belongs to (sudo kill PID), then ask again")
}

fn kill_name() -> String {
    stop::signal_name(9)
}

/// When the tree of an end that has been asked is swept; none: not by itself.
pub(crate) fn sweep_due(ending: &Ending) -> Option<u64> {
    (!ending.is_swept && ending.sweep_at < NOT_YET).then_some(ending.sweep_at)
}

/// Returns true if a process stays although it was ended with the one above it: something of it survived.
pub(crate) fn is_left_over(process: &Process) -> bool {
    process.run.ending.is_none() && !process.run.survivors.is_empty()
}

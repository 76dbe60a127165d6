//! The start of a run, and the way of every fact about a run to the machine that takes it. `exit_order` has what follows an
//! exit, `stopping` an end that was asked for, `adoption` runs of an earlier daemon.

use std::collections::BTreeMap;

use proto::{Failure, ProcessId, Reply, RunNumber, Status};

use crate::Config;
use crate::Engine;
use crate::agent::Agent;
use crate::effect::{CommandAnswer, Effect, FormerRun, StartRun};
use crate::input::{RunFact, RunKey, Ticket};
use crate::outbox::Outbox;
use crate::process::Processes;
use crate::process::environment;
use crate::process::{Process, RunState, Then, Viewer};
use crate::trust::{content_needed, needs_built_in};
use crate::waits::PatternMatch;

impl Processes {
    /// The holder of a run that is over stays until the next run has one: until then only it has the environment, and
    /// a daemon that dies in between would lose it.
    pub(crate) fn keep_until_started(&mut self, run: RunKey, out: &mut Outbox) {
        let Some(process) = self.get_mut(&run.process) else { return };
        let former = FormerRun { run, started_at: process.run.times.started_at, exit: process.run.exit };
        if std::mem::take(&mut process.run.has_holder) {
            process.launch.former_holder = Some(former);
        } else {
            // Its holder is gone; what it has printed may still be here.
            out.push(Effect::Retire(former));
        }
    }

    /// Keeps what the run before has printed, and lets its holder go.
    pub(crate) fn retire_former(&mut self, id: ProcessId, out: &mut Outbox) {
        let former = self.get_mut(&id).and_then(|process| process.launch.former_holder.take());
        out.effects.extend(former.map(Effect::Retire));
    }

    /// Reports to the viewers of a run that waited for a restart how it ended: no other run follows.
    pub(crate) fn report_no_restart(&self, run: RunKey, out: &mut Outbox) {
        let Some(process) = self.get(&run.process) else { return };
        let Some(exit) = process.run.exit.filter(|_| process.run.has_holder) else { return };
        let final_offset = process.run.log_end;
        let report = Effect::ReportExit { run, exit, final_offset, restarts: false, restarts_in_ms: None };
        out.push(report);
    }

    /// Answers the callers that wait for the start of a run.
    pub(crate) fn answer_starters(&mut self, id: ProcessId, out: &mut Outbox) {
        let Some(process) = self.get_mut(&id) else { return };
        let tickets = std::mem::take(&mut process.launch.tickets);
        let spawned = process.spawned();
        for ticket in tickets {
            out.reply(ticket, Ok(CommandAnswer::Reply(Reply::Spawned(spawned.clone()))));
        }
    }

    /// Has the current run's child started, if it is what was allowed.
    pub(crate) fn order_start(&self, id: ProcessId, config: &Config, out: &mut Outbox) {
        let Some(process) = self.get(&id) else { return };
        let person_env = self.person_env(process);
        let start = StartRun {
            run: process.key(),
            argv: process.spec.argv.clone(),
            cwd: process.spec.cwd.clone(),
            env: environment::compose(
                process,
                process.spec.environment.session.as_deref(),
                config.dirs.as_ref(),
            ),
            env_hex: process.spec.environment.env_hex.clone(),
            person_env,
            size: process.size,
            record: process.whole_record(),
            agent: process.agent.as_deref().map(Agent::order),
            content: content_needed(process),
            needs_built_in: needs_built_in(process),
        };
        out.push(Effect::Start(Box::new(start)));
    }

    /// For an agent that a process started: the environment of the topmost process above it, which a person started.
    /// Its manifest names what the vendor's program takes over from there.
    pub(crate) fn person_env(&self, process: &Process) -> BTreeMap<String, String> {
        let topmost = self.topmost_above(process.id).and_then(|topmost| self.get(&topmost));
        topmost.map(|process| process.spec.environment.env.clone()).unwrap_or_default()
    }

    /// The holder is not needed any more.
    pub(crate) fn release(&mut self, run: RunKey, end_tree: bool, reason: &'static str, out: &mut Outbox) {
        let Some(process) = self.get_mut(&run.process).filter(|process| process.run.has_holder) else {
            return;
        };
        process.run.has_holder = false;
        out.push(Effect::Release { run, end_tree, reason });
    }
}

impl Engine {
    /// Takes a fact about a current run; a fact about an older one is stale and ignored.
    pub(crate) fn fact(&mut self, run: RunKey, fact: RunFact) {
        // The text of a turn may be found after the next run began.
        if let RunFact::Result { turn, text, from, end } = fact {
            if let Some(agent) = self.ctx.processes.agent_mut(run.process) {
                agent.result_found(turn, end, &text, from, &mut self.ctx.out);
            }
            return;
        }
        if self.ctx.processes.get(&run.process).is_none_or(|process| process.run.number != run.run) {
            return;
        }
        match fact {
            RunFact::Started { pid } => self.started(run, pid),
            RunFact::StartFailed(failure) => self.start_failed(run, failure),
            RunFact::Untrusted(trust_subject) => self.start_untrusted(run, &trust_subject),
            RunFact::Exited { exit, final_offset } => self.exited(run, Some(exit), final_offset),
            RunFact::TreeGone => self.tree_gone(run),
            RunFact::TreeSurvived(survivors) => self.end_failed(run, survivors),
            RunFact::Lost { final_offset, survivors } => self.lost(run, final_offset, survivors),
            RunFact::Output { end } => self.ctx.processes.output(run, end, &self.ctx.out),
            RunFact::Typed { by, viewer } => self.typed(run, by, viewer),
            RunFact::Title(title) => self.ctx.processes.titled(run, title, &mut self.ctx.out),
            RunFact::ViewerJoined { viewer, size, read_only, mirrors, by, label, pid } => {
                let since = self.ctx.out.now.wall_ms;
                let joined = Viewer { size: size.clamped(), read_only, mirrors, by, label, pid, since };
                self.ctx.processes.viewer_joined(run, viewer, joined, &mut self.ctx.out);
            }
            RunFact::ViewerResized { viewer, size, owns } => {
                self.ctx.processes.viewer_resized(run, viewer, size, owns, &mut self.ctx.out)
            }
            RunFact::ViewerLeft { viewer } => self.ctx.processes.viewer_left(run, viewer, &mut self.ctx.out),
            RunFact::Matched { wait, text, offset } => {
                if !self.waits.ready_matched(run, wait, &text, &self.inbox, &mut self.ctx) {
                    let at = PatternMatch { text, offset };
                    self.waits.matched(wait, run, at, &self.inbox, &mut self.ctx);
                }
            }
            RunFact::Unmatched { wait } => {
                if !self.waits.ready_unmatched(run, wait, &self.inbox, &mut self.ctx) {
                    self.waits.unmatched(wait, run, &self.inbox, &mut self.ctx);
                }
            }
            RunFact::Outrun { wait } => {
                if !self.waits.ready_unmatched(run, wait, &self.inbox, &mut self.ctx) {
                    self.waits.outrun(wait, run, &mut self.ctx);
                }
            }
            RunFact::Launched(launched) => self.agent_launched(run, launched),
            RunFact::Evidence(evidence) => self.agent_evidence(run, *evidence),
            RunFact::Withdrawn(source) => {
                if let Some(agent) = self.ctx.processes.agent_mut(run.process) {
                    agent.withdraw_evidence(source);
                }
                self.reevaluate(run.process);
            }
            RunFact::ScreenSeen(look) => self.agent_screen(run, *look),
            RunFact::Session(session) => {
                if let Some(agent) = self.ctx.processes.agent_mut(run.process) {
                    agent.set_session(session, &mut self.ctx.out);
                }
            }
            RunFact::PromptWritten => self.mail.prompt_written(run.process, &mut self.ctx),
            RunFact::PromptSought { mail, found } => {
                self.mail.prompt_sought(run.process, mail, found, &mut self.ctx)
            }
            RunFact::LastLines(lines) => self.inbox.add_to_failure(run.process, &lines, &mut self.ctx),
            RunFact::Context(context) => {
                if let Some(agent) = self.ctx.processes.agent_mut(run.process) {
                    agent.set_context(context, &mut self.ctx.out);
                }
            }
            RunFact::TypingDone { job, outcome } => self.typing_done(run, job, outcome),
            RunFact::HandedOver { mail, outcome } => {
                self.mail.handed_over(run.process, mail, outcome, &mut self.ctx)
            }
            RunFact::PortOpen => self.waits.port_open(run, &self.inbox, &mut self.ctx),
            RunFact::Result { .. } => {} // Taken above.
        }
    }

    /// Orders the current run's holder to be started.
    pub(crate) fn start_run(&mut self, id: ProcessId, number: RunNumber) {
        let token = format!("{:016x}{:016x}", self.ctx.out.random(), self.ctx.out.random());
        let nonce = format!("{:08x}", self.ctx.out.random() >> 32);
        let now = self.ctx.out.now;
        // Whatever an earlier run or daemon left in the middle belongs to that run.
        self.inbox.clear_failure(id, &mut self.ctx);
        self.mail.run_over(id, &mut self.ctx);
        self.ctx.processes.replace_lost_environment(id, &self.tasks, &self.ctx.config);
        let Some(process) = self.ctx.processes.get_mut(&id) else { return };
        process.run = RunState::new(number, token, now);
        process.seen.ended_at = None;
        if process.spec.auto_restart {
            process.backoff.started(now.uptime_ms);
        }
        if let Some(agent) = process.agent.as_deref_mut() {
            agent.start(RunKey::new(id, number), nonce, now);
        }
        self.ctx.processes.order_start(id, &self.ctx.config, &mut self.ctx.out);
    }

    fn started(&mut self, run: RunKey, pid: i32) {
        self.ctx.processes.retire_former(run.process, &mut self.ctx.out);
        let Some(process) = self.ctx.processes.get_mut(&run.process) else { return };
        if process.run.status != Status::Starting {
            return;
        }
        process.run.pid = Some(pid);
        if process.run.ending.is_some() {
            // Closed, or its parent died, while the holder was starting: the child must not escape.
            process.run.status = Status::Stopping;
            self.ctx.processes.kill_tree(run, &self.ctx.config, &mut self.ctx.out);
        } else {
            process.run.status = Status::Running;
        }
        self.ctx.processes.answer_starters(run.process, &mut self.ctx.out);
        self.ctx.out.mark_durable(run.process);
        self.reevaluate(run.process);
        self.report_replaced_session(run.process);
        self.waits.await_ready(run, &mut self.ctx);
        self.waits.watch_started(run, &mut self.ctx);
    }

    /// A first run that cannot start leaves nothing behind; a later one leaves its entry as `failed`.
    pub(crate) fn start_failed(&mut self, run: RunKey, failure: Failure) {
        self.ctx.processes.retire_former(run.process, &mut self.ctx.out);
        let now = self.ctx.out.now.wall_ms;
        let Some(process) = self.ctx.processes.get_mut(&run.process) else { return };
        process.run.has_holder = false;
        process.run.status = Status::Failed;
        process.seen.ended_at = Some(now);
        process.run.failure = Some(failure.message.clone());
        let (starters, is_first) = (std::mem::take(&mut process.launch.tickets), process.run.number.0 <= 1);
        let (ending, parent) = (process.run.ending.take(), process.spec.parent);
        if let Some(agent) = process.agent.as_deref_mut() {
            agent.refused_session = None;
        }
        for ticket in starters {
            self.ctx.out.reply(ticket, Err(failure.clone()));
        }
        self.agent_over(run);
        self.trust.see_end(run, &mut self.inbox, &mut self.ctx);
        self.waits.see_end(run, &self.inbox, &mut self.ctx);
        if !is_first {
            self.inbox.start_failure_shown(run.process, &failure, &mut self.ctx);
        }
        if is_first || ending.as_ref().is_some_and(|ending| ending.then == Then::Remove) {
            self.remove(run.process);
        } else {
            self.ctx.out.mark_durable(run.process);
        }
        if let Some(ending) = ending {
            self.ctx.out.answer_enders(run.process, None, ending.tickets);
        }
        self.child_gone(parent);
    }

    /// Starts the run after the current one.
    pub(crate) fn next_run(&mut self, id: ProcessId, starters: Vec<Ticket>) {
        let Some(process) = self.ctx.processes.get(&id) else { return };
        let (old, number) = (process.key(), process.run.number.next());
        if process.is_being_replaced() {
            self.waits.move_to(old, RunKey::new(id, number), &mut self.ctx);
        } else {
            self.waits.see_end(old, &self.inbox, &mut self.ctx);
        }
        let Some(process) = self.ctx.processes.get_mut(&id) else { return };
        // A caller that asked before its holder was found waits for this run.
        process.launch.tickets.extend(starters);
        self.start_run(id, number);
        self.ctx.out.mark_durable(id);
    }
}

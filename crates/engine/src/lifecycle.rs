//! What facts and deadlines do to an entry: started, exited, gone, lost, adopted.
//!
//! Owns every change of status after a spawn was accepted. Refuses commands: they live in `command`.

use std::collections::BTreeMap;

use proto::event::Event;
use proto::{Exit, ExitReason, Failure, Kind, ProcessId, Reply, RunNumber, Status};

use crate::Engine;
use crate::agent::Agent;
use crate::backoff::RestartDecision;
use crate::effect::{CommandAnswer, Effect, FormerRun, StartRun};
use crate::environment;
use crate::input::{ChildExit, RunFact, RunKey, Ticket};
use crate::process::{Process, RunState, Then, Viewer};
use crate::record::Record;
use crate::trust::{content_needed, needs_built_in};

impl Engine {
    /// Takes a fact about a current run; a fact about an older one is stale and ignored.
    pub(crate) fn fact(&mut self, run: RunKey, fact: RunFact) {
        // What was said at the end of a turn may be found after the next run began.
        if let RunFact::Result { turn, text, from, end } = fact {
            return self.result_found(run.process, turn, end, &text, from);
        }
        if self.processes.get(&run.process).is_none_or(|process| process.run.number != run.run) {
            return;
        }
        match fact {
            RunFact::Started { pid } => self.started(run, pid),
            RunFact::StartFailed(failure) => self.start_failed(run, failure),
            RunFact::Untrusted(trust_subject) => self.start_untrusted(run, &trust_subject),
            RunFact::Exited { exit, final_offset } => self.exited(run, Some(exit), final_offset),
            RunFact::TreeGone => self.tree_gone(run),
            RunFact::TreeSurvived(survivors) => self.end_failed(run, survivors),
            RunFact::Lost { final_offset } => self.lost(run, final_offset),
            RunFact::Output { end } => self.output(run, end),
            RunFact::Typed { by, viewer } => self.typed(run, by, viewer),
            RunFact::Title(title) => self.titled(run, title),
            RunFact::ViewerJoined { viewer, size, read_only, mirrors, by, pid } => {
                let since = self.now.wall_ms;
                let joined = Viewer { size: size.clamped(), read_only, mirrors, by, pid, since };
                self.viewer_joined(run, viewer, joined);
            }
            RunFact::ViewerResized { viewer, size, owns } => self.viewer_resized(run, viewer, size, owns),
            RunFact::ViewerLeft { viewer } => self.viewer_left(run, viewer),
            RunFact::Matched { wait, text, offset } => {
                if !self.ready_matched(run, wait, &text) {
                    self.matched(wait, run, text, offset);
                }
            }
            RunFact::Unmatched { wait } => {
                if !self.ready_unmatched(run, wait) {
                    self.unmatched(wait, run);
                }
            }
            RunFact::Outrun { wait } => {
                if !self.ready_unmatched(run, wait) {
                    self.outrun(wait, run);
                }
            }
            RunFact::Launched(launched) => self.launched(run, launched),
            RunFact::Evidence(evidence) => self.heard(run, *evidence),
            RunFact::Withdrawn(source) => self.withdrawn(run, source),
            RunFact::Looked(look) => self.looked(run, *look),
            RunFact::Session(session) => self.session_known(run, session),
            RunFact::PromptWritten => self.prompt_written(run.process),
            RunFact::PromptSought { mail, found } => self.prompt_sought(run.process, mail, found),
            RunFact::LastLines(lines) => self.add_to_failure(run.process, &lines),
            RunFact::Context(context) => self.context_known(run, context),
            RunFact::TypingDone { job, outcome } => self.typing_done(run, job, outcome),
            RunFact::HandedOver { mail, outcome } => self.handed_over(run.process, mail, outcome),
            RunFact::PortOpen => self.port_open(run),
            RunFact::Result { .. } => {} // Taken above.
        }
    }

    /// Orders the current run's holder to be started.
    pub(crate) fn start_run(&mut self, id: ProcessId, number: RunNumber) {
        let token = format!("{:016x}{:016x}", self.random(), self.random());
        let nonce = format!("{:08x}", self.random() >> 32);
        let now = self.now;
        // Whatever an earlier run or daemon left in the middle belongs to that run.
        self.clear_failure(id);
        self.delivery_over(id);
        let Some(process) = self.processes.get_mut(&id) else { return };
        if process.spec.environment.env.is_empty() {
            // Holder and daemon are gone, and nobody wrote it down: what every process may have is left.
            let allowed = environment::allowed(&self.config.base_env);
            process.spec.environment.env = environment::with_declared(allowed, BTreeMap::new());
            process.spec.environment.is_daemons = true;
        }
        process.run = RunState::new(number, token, now);
        process.seen.ended_at = None;
        if process.spec.auto_restart {
            process.backoff.started(now.uptime_ms);
        }
        if let Some(agent) = process.agent.as_deref_mut() {
            agent.start(nonce, now);
        }
        self.order_start(id);
    }

    /// Has the current run's child started, if it is what was allowed.
    pub(crate) fn order_start(&mut self, id: ProcessId) {
        let Some(process) = self.processes.get(&id) else { return };
        let person_env = self.person_env(process);
        let start = StartRun {
            run: process.key(),
            argv: process.spec.argv.clone(),
            cwd: process.spec.cwd.clone(),
            env: environment::compose(
                process,
                process.spec.environment.session.as_deref(),
                self.config.places.as_ref(),
            ),
            env_hex: process.spec.environment.env_hex.clone(),
            person_env,
            size: process.size,
            record: process.whole_record(),
            agent: process.agent.as_deref().map(Agent::order),
            content: content_needed(process),
            needs_built_in: needs_built_in(process),
        };
        self.effects.push(Effect::Start(Box::new(start)));
    }

    /// For an agent that a process started: the environment of the topmost process above it, which a person started.
    /// Its manifest names what the vendor's program takes over from there.
    fn person_env(&self, process: &Process) -> BTreeMap<String, String> {
        let parent = process.spec.parent.filter(|_| process.spec.kind == Kind::Agent);
        let mut topmost = parent.and_then(|parent| self.processes.get(&parent));
        while let Some(above) =
            topmost.and_then(|process| process.spec.parent).and_then(|id| self.processes.get(&id))
        {
            topmost = Some(above);
        }
        topmost.map(|process| process.spec.environment.env.clone()).unwrap_or_default()
    }

    fn started(&mut self, run: RunKey, pid: i32) {
        self.retire_former(run.process);
        let Some(process) = self.processes.get_mut(&run.process) else { return };
        if process.run.status != Status::Starting {
            return;
        }
        process.run.pid = Some(pid);
        if process.run.ending.is_some() {
            // Closed, or its parent died, while the holder was starting: the child must not escape.
            process.run.status = Status::Stopping;
            self.kill_tree(run);
        } else {
            process.run.status = Status::Running;
        }
        self.answer_starters(run.process);
        self.mark_durable(run.process);
        self.reevaluate(run.process);
        self.await_ready(run);
        self.watch_started(run);
    }

    /// Tells whoever waits for a run to be there what there is.
    pub(crate) fn answer_starters(&mut self, id: ProcessId) {
        let Some(process) = self.processes.get_mut(&id) else { return };
        let tickets = std::mem::take(&mut process.launch.tickets);
        let spawned = process.spawned();
        for ticket in tickets {
            self.reply(ticket, Ok(CommandAnswer::Reply(Reply::Spawned(spawned.clone()))));
        }
    }

    /// A first run that cannot start leaves nothing behind; a later one leaves its entry as `failed`.
    pub(crate) fn start_failed(&mut self, run: RunKey, failure: Failure) {
        self.retire_former(run.process);
        let now = self.now.wall_ms;
        let Some(process) = self.processes.get_mut(&run.process) else { return };
        process.run.has_holder = false;
        process.run.status = Status::Failed;
        process.seen.ended_at = Some(now);
        process.run.failure = Some(failure.message.clone());
        let (starters, is_first) = (std::mem::take(&mut process.launch.tickets), process.run.number.0 <= 1);
        let (ending, parent) = (process.run.ending.take(), process.spec.parent);
        for ticket in starters {
            self.reply(ticket, Err(failure.clone()));
        }
        self.agent_over(run);
        self.trust_sees_end(run);
        self.waits_see_end(run);
        if !is_first {
            self.start_failure_shown(run.process, &failure);
        }
        if is_first || ending.as_ref().is_some_and(|ending| ending.then == Then::Remove) {
            self.remove(run.process);
        } else {
            self.mark_durable(run.process);
        }
        if let Some(ending) = ending {
            self.answer_enders(run.process, None, ending.tickets);
        }
        self.child_gone(parent);
    }

    pub(crate) fn exited(&mut self, run: RunKey, exit: Option<ChildExit>, final_offset: u64) {
        let now = self.now.wall_ms;
        let Some(process) = self.processes.get_mut(&run.process) else { return };
        if !process.is_live() {
            return;
        }
        let asked = process.run.ending.as_ref().and_then(|ending| ending.reason);
        let grace_ms = process.run.ending.as_ref().and_then(|ending| ending.asked_grace_ms);
        let was_starting = process.run.status == Status::Starting;
        let exit = exit_of(exit, asked);
        process.run.status = Status::Exited;
        process.seen.ended_at = Some(now);
        process.run.exit = Some(exit);
        process.run.log_end = final_offset;
        let is_ending = process.run.ending.is_some();
        // Whoever keeps the background waits for the child alone.
        let is_gone =
            process.run.ending.as_ref().is_some_and(|ending| ending.is_gone || ending.keeps_background);
        let restarts = process.run.ending.as_ref().is_some_and(|ending| ending.then == Then::Restart);
        let now = self.now.uptime_ms;
        let process = self.processes.get(&run.process);
        let restarts_in_ms =
            process.filter(|_| !is_ending).and_then(|process| process.restarts_in(exit, now));
        let restarts = restarts || restarts_in_ms.is_some();
        self.effects.push(Effect::TellExit { run, exit, final_offset, restarts, restarts_in_ms });
        self.announce(Event::Exited { id: run.process, run: run.run, exit, final_offset });
        self.mark_durable(run.process);
        self.answer_starters(run.process);
        self.notice_exit(run);
        self.agent_over(run);
        self.trust_sees_end(run);
        self.ready_over(run);
        self.waits_see_exit(run);
        self.end_children(run.process, grace_ms, asked);
        if is_gone {
            self.tree_gone(run);
        } else if is_ending
            && was_starting
            && self.processes.get(&run.process).is_some_and(|p| p.run.has_holder)
        {
            // Told to end before it was known to run: its tree has not been ended yet.
            self.kill_tree(run);
        } else if !is_ending {
            self.after_natural_exit(run, exit);
        }
    }

    /// What a kind does when nobody asked for the end.
    fn after_natural_exit(&mut self, run: RunKey, exit: Exit) {
        let (now, linger) = (self.now.uptime_ms, self.config.linger_ms);
        let Some(process) = self.processes.get_mut(&run.process) else { return };
        match process.spec.kind {
            Kind::Terminal => {
                process.run.departs_at = Some(now + linger);
                self.announce(Event::Removed { id: run.process });
            }
            Kind::Command if process.spec.auto_restart && exit.code != Some(0) => {
                match process.backoff.failed(now) {
                    RestartDecision::StartAt(at) => process.run.restart_at = Some(at),
                    RestartDecision::Park => {
                        process.run.status = Status::Parked;
                        self.notice_parked(run.process);
                    }
                }
            }
            Kind::Command => {}
            Kind::Agent => self.agent_ended_by_itself(run.process, exit),
        }
    }

    /// Starts the run after the current one.
    pub(crate) fn next_run(&mut self, id: ProcessId, starters: Vec<Ticket>) {
        if let Some(old) = self.processes.get(&id).map(Process::key) {
            self.waits_see_end(old);
        }
        let Some(process) = self.processes.get_mut(&id) else { return };
        let number = process.run.number.next();
        // Whoever asked in the silence after an earlier daemon's end waits for this one.
        process.launch.tickets.extend(starters);
        self.start_run(id, number);
        self.mark_durable(id);
    }

    /// The holder of a run that is over stays until the next run has one: until then nobody else has the environment, and
    /// a daemon that dies in between would lose it.
    pub(crate) fn keep_until_started(&mut self, run: RunKey) {
        let Some(process) = self.processes.get_mut(&run.process) else { return };
        let former = FormerRun { run, started_at: process.run.times.started_at, exit: process.run.exit };
        if std::mem::take(&mut process.run.has_holder) {
            process.launch.former_holder = Some(former);
        } else {
            // Its holder is gone; what it has printed may still be here.
            self.effects.push(Effect::Retire(former));
        }
    }

    /// Keeps what the run before has printed, and lets its holder go.
    fn retire_former(&mut self, id: ProcessId) {
        let former = self.processes.get_mut(&id).and_then(|process| process.launch.former_holder.take());
        self.effects.extend(former.map(Effect::Retire));
    }

    /// Tells the viewers of a run that waited to be started again how it ended: no other run follows.
    pub(crate) fn tell_no_restart(&mut self, run: RunKey) {
        let Some(process) = self.processes.get(&run.process) else { return };
        let Some(exit) = process.run.exit.filter(|_| process.run.has_holder) else { return };
        let final_offset = process.run.log_end;
        let told = Effect::TellExit { run, exit, final_offset, restarts: false, restarts_in_ms: None };
        self.effects.push(told);
    }

    /// The holder is not needed any more.
    pub(crate) fn release(&mut self, run: RunKey, end_tree: bool, reason: &'static str) {
        let Some(process) = self.processes.get_mut(&run.process).filter(|process| process.run.has_holder)
        else {
            return;
        };
        process.run.has_holder = false;
        self.effects.push(Effect::Release { run, end_tree, reason });
    }

    /// Takes the entry off the books.
    pub(crate) fn remove(&mut self, id: ProcessId) {
        let former = self.processes.get_mut(&id).and_then(|process| process.launch.former_holder.take());
        if let Some(FormerRun { run, .. }) = former {
            self.effects.push(Effect::Release { run, end_tree: true, reason: "restarted" });
        }
        if let Some(run) = self.processes.get(&id).map(Process::key) {
            self.waits_see_end(run);
            self.trust_sees_end(run);
        }
        self.trust_sees_removal(id);
        self.drop_grants_of(id);
        self.forget_agent(id);
        let Some(process) = self.processes.remove(&id) else { return };
        self.touched.remove(&id);
        self.shown.remove(&id);
        self.effects.push(Effect::Record(Record::Remove(id)));
        if !process.is_departed() {
            self.announce(Event::Removed { id });
        }
        // What it had spawned stays reachable for people, below nobody.
        let orphans: Vec<ProcessId> = self
            .processes
            .values()
            .filter(|child| child.spec.parent == Some(id))
            .map(|child| child.id)
            .collect();
        for orphan in orphans {
            if let Some(child) = self.processes.get_mut(&orphan) {
                child.spec.parent = process.spec.parent;
                self.mark_durable(orphan);
            }
        }
    }
}

/// The exit of a run: the child's own status, under the reason somebody gave.
pub(crate) fn exit_of(exit: Option<ChildExit>, asked: Option<ExitReason>) -> Exit {
    let (code, signal, own) = match exit {
        Some(ChildExit::Code(code)) => (Some(code), None, ExitReason::Exited),
        Some(ChildExit::Signal(signal)) => (None, Some(signal), ExitReason::Signalled),
        None => (None, None, ExitReason::Lost),
    };
    Exit { code, signal, reason: asked.unwrap_or(own) }
}

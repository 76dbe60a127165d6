//! Who rests, as a timer sees it.
//!
//! A watched process counts as at rest only after it has moved. One that is being ended, restarted or started is not at
//! rest.

use proto::timers::TimerKind;
use proto::{AgentState, Exit, Status};

use super::{TimerRecord, Watched};
use crate::agent::Agent;
use crate::context::Context;
use crate::effect::Effect;
use crate::mail::delivery::Phase;
use crate::process::Process;
use crate::record::Record;
use crate::timers::Timers;

/// A process that is no agent rests when it has printed nothing for this long.
const QUIET_MS: u64 = 3_000;

impl Watched {
    /// A process as it is at this moment.
    pub(crate) fn new(process: &Process, now: u64) -> Self {
        Self {
            id: process.id,
            name: process.name.clone(),
            run: process.run.number,
            log_end: process.run.log_end,
            turn: process.agent.as_deref().map_or(0, |agent| agent.record.turn),
            state: process.agent.as_deref().map(Agent::state),
            was_over: !process.is_live(),
            has_moved: !rests(process, now),
            ended: None,
        }
    }

    /// Returns true if it did something since it is watched, so that a rest is a coming to rest.
    fn has_moved(&self, process: &Process) -> bool {
        if self.has_moved || process.run.number > self.run || (!self.was_over && !process.is_live()) {
            return true;
        }
        let Some(agent) = process.agent.as_deref() else { return process.run.log_end > self.log_end };
        let is_news = Some(agent.state()) != self.state;
        let stops = matches!(agent.state(), AgentState::Blocked | AgentState::Error);
        agent.record.turn > self.turn || is_working(agent) || (is_news && stops)
    }

    /// Returns true if it has come to rest since it is watched.
    fn has_come_to_rest(&self, process: Option<&Process>, now: u64) -> bool {
        self.ended.is_some() || process.is_some_and(|process| self.has_moved(process) && rests(process, now))
    }
}

/// Returns true if a process rests.
fn rests(process: &Process, now: u64) -> bool {
    // What is being ended or waits to be started again has not come to rest.
    if process.run.ending.is_some() || process.run.restart_at.is_some() {
        return false;
    }
    match process.run.status {
        Status::Starting | Status::Stopping => false,
        Status::Exited | Status::Failed | Status::Parked => true,
        Status::Running => process.agent.as_deref().map_or(quiet_at(process) <= now, agent_rests),
    }
}

fn quiet_at(process: &Process) -> u64 {
    process.run.times.last_output.saturating_add(QUIET_MS)
}

pub(crate) fn agent_rests(agent: &Agent) -> bool {
    match agent.state() {
        // A prompt that is on its way, or was just taken, shows in the state a moment later. One that was spawned with
        // instructions is idle before its composer is seen and they can be typed.
        AgentState::Idle | AgentState::Waiting => {
            let awaits_instructions = agent.record.turn == 0 && agent.mail > 0;
            agent.live.progress.phase == Phase::None && agent.running_turn().is_none() && !awaits_instructions
        }
        AgentState::Blocked | AgentState::Error | AgentState::Exited => true,
        AgentState::Starting | AgentState::Working | AgentState::Thinking => false,
    }
}

/// Returns true if an agent is seen at work. A run that is being adopted shows nothing yet.
fn is_working(agent: &Agent) -> bool {
    matches!(agent.state(), AgentState::Working | AgentState::Thinking)
}

/// How a process is, in a few words.
fn state_words(process: &Process, now: u64) -> String {
    if !process.is_live() {
        return match process.run.status {
            Status::Parked => "parked".to_owned(),
            Status::Failed => "it could not be started".to_owned(),
            Status::Starting | Status::Running | Status::Stopping | Status::Exited => {
                process.run.exit.as_ref().map_or_else(|| "exited".to_owned(), exit_words)
            }
        };
    }
    match process.agent.as_deref() {
        Some(agent) => agent.state().word().to_owned(),
        None if rests(process, now) => "quiet".to_owned(),
        None => process.run.status.to_string(),
    }
}

/// How a run ended, in a few words.
pub(crate) fn exit_words(exit: &Exit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "was lost".to_owned(),
    }
}

impl Timers {
    /// Takes note of what those that a timer watches have done: who moved, who ended, who is gone.
    pub(crate) fn note_watched(&mut self, number: u64, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        let Some(timer) = self.open.get_mut(&number) else { return };
        let (before, kind) = (timer.watches.clone(), timer.kind);
        let processes = &ctx.processes;
        timer.watches.retain_mut(|watched| match processes.get(&watched.id) {
            // A natural end is a rest, also when its entry goes; a close is none.
            None => watched.ended.is_some(),
            Some(process) => {
                watched.has_moved = watched.has_moved(process);
                let counts = watched.has_moved || kind == TimerKind::IdleAll;
                let is_over = !process.is_live() && rests(process, now);
                watched.ended = (is_over && counts).then(|| state_words(process, now));
                true
            }
        });
        if timer.watches != before {
            let record = timer.clone();
            ctx.out.push(Effect::Record(Record::PutTimer(Box::new(record))));
        }
    }

    /// Why an idle timer fires, if it does.
    pub(crate) fn come_to_rest(&self, timer: &TimerRecord, ctx: &Context) -> Option<String> {
        let now = ctx.out.now.uptime_ms;
        let process = |watched: &Watched| ctx.processes.get(&watched.id);
        match timer.kind {
            TimerKind::Delay => None,
            TimerKind::IdleAny => {
                let rested =
                    timer.watches.iter().find(|watched| watched.has_come_to_rest(process(watched), now));
                rested.map(|watched| format!("{} came to rest", watched.name))
            }
            TimerKind::IdleAll => {
                let at_rest = |watched: &Watched| {
                    watched.ended.is_some() || process(watched).is_some_and(|process| rests(process, now))
                };
                timer.watches.iter().all(at_rest).then(|| "all are at rest".to_owned())
            }
        }
    }

    /// One line for each process that a timer watches.
    pub(crate) fn rest_report(&self, timer: &TimerRecord, ctx: &Context) -> Vec<String> {
        let now = ctx.out.now.uptime_ms;
        let line = |watched: &Watched| {
            let process = ctx.processes.get(&watched.id);
            let name = process.map_or(&watched.name, |process| &process.name);
            let words = process.map(|process| state_words(process, now)).or_else(|| watched.ended.clone());
            format!("{name}: {}", words.unwrap_or_else(|| "closed".to_owned()))
        };
        timer.watches.iter().map(line).collect()
    }

    /// When a watched process that is no agent will have been quiet for long enough.
    pub(crate) fn quiet_deadline(&self, timer: &TimerRecord, now: u64, ctx: &Context) -> Option<u64> {
        let prints = |process: &&Process| process.agent.is_none() && process.run.status == Status::Running;
        let watched = timer.watches.iter().filter_map(|watched| ctx.processes.get(&watched.id));
        watched.filter(prints).map(quiet_at).filter(|at| *at > now).min()
    }
}

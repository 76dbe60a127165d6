//! What Quarterdeck itself tells an agent about its children: one ended, hit a quota, stands before a dialog.
//!
//! Owns when such a notice is due and when it no longer is. Refuses repeating what the agent has asked to be told
//! anyway, and words of a child that could pass for Quarterdeck's own: they are quoted, in one line.

use proto::agent::{InboxItem, ItemKind};
use proto::crew::TimerKind;
use proto::request::Until;
use proto::{AgentState, ExitReason, Kind, Printable, ProcessId};

use crate::Engine;
use crate::context::Context;
use crate::input::RunKey;
use crate::process::Then;
use crate::timers::Timers;
use crate::timers::exit_words;
use crate::waits::Waits;

/// Longest quotation of a child, in characters.
const MAX_QUOTED: usize = 200;

impl Context {
    /// The agent that leads a process, if it can be told anything.
    pub(crate) fn leader_of(&self, child: ProcessId) -> Option<RunKey> {
        let parent = self.processes.get(&child)?.spec.parent?;
        let leader = self.processes.get(&parent).filter(|leader| leader.agent.is_some())?;
        let hears =
            leader.is_live() && leader.run.ending.is_none() && !self.ends_all && self.shutdown.is_none();
        hears.then(|| leader.key())
    }
}

impl Waits {
    /// Whether a leader waits for something of this kind of a child right now.
    pub(crate) fn waits_for(
        &self,
        leader: RunKey,
        child: ProcessId,
        is_told: impl Fn(&Until) -> bool,
    ) -> bool {
        self.open.values().any(|wait| {
            let open = || wait.targets.iter().filter(|run| wait.is_open_for(run));
            wait.waiter == Some(leader) && is_told(&wait.until) && open().any(|run| run.process == child)
        })
    }

    pub(crate) fn waits_for_any(&self, leader: RunKey, child: ProcessId) -> bool {
        self.waits_for(leader, child, |_| true)
    }
}

impl Timers {
    /// Whether a timer of the leader that is armed watches a child.
    pub(crate) fn is_watched_by(&self, leader: RunKey, child: ProcessId, kinds: &[TimerKind]) -> bool {
        let is_such = |(owner, timer, watched): (RunKey, &crate::TimerRecord, ProcessId)| {
            owner == leader && watched == child && kinds.contains(&timer.kind)
        };
        self.watches().any(is_such)
    }
}

impl Engine {
    /// A run is over; called before those who wait for it are told, because a leader that waits needs no notice.
    pub(crate) fn notice_exit(&mut self, run: RunKey) {
        let Some(process) = self.ctx.processes.get(&run.process).filter(|process| process.key() == run)
        else {
            return;
        };
        let Some(exit) = process.run.exit else { return };
        let is_natural = match &process.run.ending {
            None => true,
            Some(ending) => exit.reason == ExitReason::Lost && ending.then == Then::Stay,
        };
        // A command that is started again has not ended: if it cannot stay up it is parked, and that is told.
        let is_tried_again = process.spec.kind == Kind::Command
            && process.spec.auto_restart
            && exit.code != Some(0)
            && is_natural;
        let Some(leader) = self.ctx.leader_of(run.process).filter(|_| is_natural && !is_tried_again) else {
            return;
        };
        if self.waits.waits_for_any(leader, run.process)
            || self.timers.is_watched_by(leader, run.process, &IDLE)
        {
            return;
        }
        let text = format!("your process {} {}", process.name, exit_words(&exit));
        self.mail.send_system(leader, "system", text, key(run.process, "exit"), &mut self.ctx);
    }

    /// A command crashed too often, or may not be started again.
    pub(crate) fn notice_parked(&mut self, id: ProcessId) {
        let Some(name) = self.ctx.processes.get(&id).map(|process| process.name.clone()) else { return };
        let Some(leader) =
            self.ctx.leader_of(id).filter(|leader| !self.timers.is_watched_by(*leader, id, &IDLE))
        else {
            return;
        };
        let text = format!("your process {name} failed and is not started again by itself");
        self.mail.send_system(leader, "system", text, key(id, "exit"), &mut self.ctx);
    }

    /// The vendor refuses an agent's turns for now.
    pub(crate) fn notice_quota(&mut self, id: ProcessId, words: &str) {
        let Some(name) = self.ctx.processes.get(&id).map(|process| process.name.clone()) else { return };
        let Some(leader) = self.ctx.leader_of(id) else { return };
        let text = format!("the vendor of your agent {name} refuses turns for now{}", quoted(words));
        self.mail.send_system(leader, "system", text, key(id, "quota"), &mut self.ctx);
    }

    /// An agent cannot go on before somebody answers.
    pub(crate) fn notice_blocked(&mut self, item: &InboxItem) {
        let Some(leader) = self.ctx.leader_of(item.id).filter(|_| blocks(item)) else { return };
        let is_told =
            |until: &Until| matches!(until, Until::State(states) if states.contains(&AgentState::Blocked));
        let was_told = self.waits.told.contains(&(leader, item.id));
        if was_told
            || self.waits.waits_for(leader, item.id, is_told)
            || self.timers.is_watched_by(leader, item.id, &[TimerKind::IdleAny])
        {
            return;
        }
        let text = format!(
            "your agent {} waits for an answer, item {}{}",
            item.name,
            item.item,
            quoted(&item.title)
        );
        self.mail.send_system(leader, "system", text, key(item.id, "blocked"), &mut self.ctx);
    }

    /// It was answered before the leader heard of it.
    pub(crate) fn withdraw_blocked(&mut self, item: &InboxItem) {
        let Some(leader) = self.ctx.leader_of(item.id).filter(|_| blocks(item)) else { return };
        let is_another = |other: &crate::inbox::Item| other.view.id == item.id && blocks(&other.view);
        if !self.inbox.items.values().any(is_another) {
            let _its_text =
                self.mail.retract(leader, &key(item.id, "blocked"), "it is answered", &mut self.ctx);
        }
    }
}

const IDLE: [TimerKind; 2] = [TimerKind::IdleAny, TimerKind::IdleAll];

fn blocks(item: &InboxItem) -> bool {
    matches!(item.kind, ItemKind::Dialog | ItemKind::Permission)
}

/// One notice of a kind per child waits at a time.
fn key(child: ProcessId, kind: &str) -> String {
    format!("notice:{child}:{kind}")
}

/// What a child or its vendor says, in one line that cannot be taken for anything else.
fn quoted(words: &str) -> String {
    let words: String = words.trim().chars().take(MAX_QUOTED).collect();
    if words.is_empty() { String::new() } else { format!(": \"{}\"", Printable(&words)) }
}

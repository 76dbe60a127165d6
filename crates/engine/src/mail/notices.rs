//! Notices of Quarterdeck to an agent about its children: one ended, hit a quota, waits at a dialog.
//!
//! An agent that waits for the same thing, or has a timer for it, gets no notice. Words of a child are quoted in one
//! line, so that they cannot pass for Quarterdeck's own.

use proto::agent::{InboxItem, ItemKind};
use proto::request::Until;
use proto::timers::TimerKind;
use proto::{AgentState, ExitReason, Kind, Printable, ProcessId};

use crate::context::Context;
use crate::inbox::Inbox;
use crate::input::RunKey;
use crate::mail::MailQueue;
use crate::process::Then;
use crate::timers::Timers;
use crate::timers::exit_words;
use crate::waits::Waits;

/// Longest quotation of a child, in characters.
const MAX_QUOTED: usize = 200;

impl Waits {
    /// Returns true if a leader waits for something of this kind of a child.
    pub(crate) fn waits_for(
        &self,
        leader: RunKey,
        child: ProcessId,
        is_about: impl Fn(&Until) -> bool,
    ) -> bool {
        self.open.values().any(|wait| {
            let open = || wait.targets.iter().filter(|run| wait.is_open_for(run));
            wait.waiter == Some(leader) && is_about(&wait.until) && open().any(|run| run.process == child)
        })
    }

    pub(crate) fn waits_for_any(&self, leader: RunKey, child: ProcessId) -> bool {
        self.waits_for(leader, child, |_| true)
    }
}

impl Timers {
    /// Returns true if an armed timer of the leader watches a child.
    pub(crate) fn is_watched_by(&self, leader: RunKey, child: ProcessId, kinds: &[TimerKind]) -> bool {
        let is_such = |(owner, timer, watched): (RunKey, &crate::TimerRecord, ProcessId)| {
            owner == leader && watched == child && kinds.contains(&timer.kind)
        };
        self.watches().any(is_such)
    }
}

impl MailQueue {
    /// Reports the end of a run to its leader. It comes before waits are answered: a leader that waits needs no notice.
    pub(crate) fn notice_exit(&mut self, run: RunKey, waits: &Waits, timers: &Timers, ctx: &mut Context) {
        let Some(process) = ctx.processes.get(&run.process).filter(|process| process.key() == run) else {
            return;
        };
        let Some(exit) = process.run.exit else { return };
        let is_natural = match &process.run.ending {
            None => true,
            Some(ending) => exit.reason == ExitReason::Lost && ending.then == Then::Stay,
        };
        // A command that is started again has not ended: if it cannot stay up it is parked, and the leader gets a notice of that.
        let is_tried_again = process.spec.kind == Kind::Command
            && process.spec.auto_restart
            && exit.code != Some(0)
            && is_natural;
        let Some(leader) = leader_of(ctx, run.process).filter(|_| is_natural && !is_tried_again) else {
            return;
        };
        if waits.waits_for_any(leader, run.process) || timers.is_watched_by(leader, run.process, &IDLE) {
            return;
        }
        let text = format!("your process {} {}", process.name, exit_words(&exit));
        self.send_system(leader, "system", text, key(run.process, "exit"), ctx);
    }

    /// Reports that a command crashed too often, or may not be started again.
    pub(crate) fn notice_parked(&mut self, id: ProcessId, timers: &Timers, ctx: &mut Context) {
        let Some(name) = ctx.processes.get(&id).map(|process| process.name.clone()) else { return };
        let Some(leader) = leader_of(ctx, id).filter(|leader| !timers.is_watched_by(*leader, id, &IDLE))
        else {
            return;
        };
        let text = format!("your process {name} failed and is not started again by itself");
        self.send_system(leader, "system", text, key(id, "exit"), ctx);
    }

    /// Reports that the vendor refuses an agent's turns for now.
    pub(crate) fn notice_quota(&mut self, id: ProcessId, words: &str, ctx: &mut Context) {
        let Some(name) = ctx.processes.get(&id).map(|process| process.name.clone()) else { return };
        let Some(leader) = leader_of(ctx, id) else { return };
        let text = format!("the vendor of your agent {name} refuses turns for now{}", quoted(words));
        self.send_system(leader, "system", text, key(id, "quota"), ctx);
    }

    /// Reports that an agent cannot go on before its dialog is answered.
    pub(crate) fn notice_blocked(
        &mut self,
        item: &InboxItem,
        waits: &Waits,
        timers: &Timers,
        ctx: &mut Context,
    ) {
        let Some(leader) = leader_of(ctx, item.id).filter(|_| blocks(item)) else { return };
        let is_about =
            |until: &Until| matches!(until, Until::State(states) if states.contains(&AgentState::Blocked));
        let was_answered = waits.answered.contains(&(leader, item.id));
        if was_answered
            || waits.waits_for(leader, item.id, is_about)
            || timers.is_watched_by(leader, item.id, &[TimerKind::IdleAny])
        {
            return;
        }
        let text = format!(
            "your agent {} waits for an answer, item {}{}",
            item.name,
            item.item,
            quoted(&item.title)
        );
        self.send_system(leader, "system", text, key(item.id, "blocked"), ctx);
    }

    /// Takes that notice back: the dialog was answered before the leader got the notice.
    pub(crate) fn withdraw_blocked(&mut self, item: &InboxItem, inbox: &Inbox, ctx: &mut Context) {
        let Some(leader) = leader_of(ctx, item.id).filter(|_| blocks(item)) else { return };
        let is_another = |other: &crate::inbox::OpenItem| other.view.id == item.id && blocks(&other.view);
        if !inbox.items.values().any(is_another) {
            let _its_text = self.retract(leader, &key(item.id, "blocked"), "it is answered", ctx);
        }
    }
}

/// The agent that leads a process, if it can receive a notice.
fn leader_of(ctx: &Context, child: ProcessId) -> Option<RunKey> {
    let parent = ctx.processes.get(&child)?.spec.parent?;
    let leader = ctx.processes.get(&parent).filter(|leader| leader.agent.is_some())?;
    let can_receive =
        leader.is_live() && leader.run.ending.is_none() && !ctx.ends_all && ctx.shutdown.is_none();
    can_receive.then(|| leader.key())
}

const IDLE: [TimerKind; 2] = [TimerKind::IdleAny, TimerKind::IdleAll];

fn blocks(item: &InboxItem) -> bool {
    matches!(item.kind, ItemKind::Dialog | ItemKind::Permission)
}

/// One notice of a kind per child waits at a time.
fn key(child: ProcessId, kind: &str) -> String {
    format!("notice:{child}:{kind}")
}

/// Quotes words of a child or its vendor in one line.
fn quoted(words: &str) -> String {
    let words: String = words.trim().chars().take(MAX_QUOTED).collect();
    if words.is_empty() { String::new() } else { format!(": \"{}\"", Printable(&words)) }
}

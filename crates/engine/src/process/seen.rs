//! What a person has seen of a process: the newest turn and the newest end of a run.
//!
//! One mark per process, shared by all faces. Faces set it (`see`); a person who types into the process or ends
//! its run sets it, too.

use proto::process::{Unseen, UnseenEnd};
use proto::request::See;
use proto::{ProcessId, Status};
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::outbox::Outbox;
use crate::process::Process;
use crate::process::Processes;

/// The durable mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenMark {
    /// The newest turn that was seen.
    pub turn: u64,
    /// The newest run whose end was seen.
    pub run: u32,
    /// When the present run ended, wall time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
}

impl Process {
    /// What ended since it was last seen; an end of the run counts more than the turns before it.
    pub(crate) fn unseen(&self) -> Option<Unseen> {
        let end = match self.run.status {
            Status::Exited => Some(UnseenEnd::Exit),
            Status::Failed | Status::Parked => Some(UnseenEnd::Failure),
            Status::Starting | Status::Running | Status::Stopping => None,
        };
        if let Some(what) = end {
            let since = self.seen.ended_at.unwrap_or(self.run.times.active_at);
            return (self.seen.run < self.run.number.0).then_some(Unseen { what, turn: None, since });
        }
        let agent = self.agent.as_deref()?;
        let turn = agent.newest_ended().filter(|turn| *turn > self.seen.turn)?;
        let since = agent.turns.get(&turn).and_then(|turn| turn.ended_at).unwrap_or(self.run.times.active_at);
        Some(Unseen { what: UnseenEnd::Turn, turn: Some(turn), since })
    }

    /// Everything that has ended is seen.
    fn see_all(&mut self) {
        let turn = self.agent.as_deref().and_then(Agent::newest_ended);
        self.seen.turn = self.seen.turn.max(turn.unwrap_or(0));
        if !self.is_live() {
            self.seen.run = self.run.number.0;
        }
    }

    /// What an entry of a daemon that kept no marks counts as: seen.
    pub(crate) fn seen_before(run: u32, status: Status, turn: u64) -> SeenMark {
        let is_over = matches!(status, Status::Exited | Status::Failed | Status::Parked);
        SeenMark { turn, run: if is_over { run } else { 0 }, ended_at: None }
    }
}

impl Processes {
    /// A person has seen what `see` names; `offset` is how much of the log the screen of `see.version` shows.
    pub(crate) fn mark_seen(&mut self, id: ProcessId, see: &See, offset: Option<u64>, out: &mut Outbox) {
        self.change_seen(
            id,
            |process| match (see.turn, offset) {
                (Some(turn), _) => process.seen.turn = process.seen.turn.max(turn),
                (None, Some(offset)) if offset < process.run.log_end => {}
                (None, _) => process.see_all(),
            },
            out,
        );
    }

    /// A person types into a process: they have seen what it shows.
    pub(crate) fn typed_by_person(&mut self, id: ProcessId, out: &mut Outbox) {
        self.change_seen(id, Process::see_all, out);
    }

    /// A person ends the run: its end is no news to them.
    pub(crate) fn ended_by_person(&mut self, id: ProcessId, out: &mut Outbox) {
        self.change_seen(id, |process| process.seen.run = process.run.number.0, out);
    }

    pub(crate) fn change_seen(&mut self, id: ProcessId, change: impl FnOnce(&mut Process), out: &mut Outbox) {
        let Some(process) = self.get_mut(&id) else { return };
        let before = process.seen;
        change(process);
        if process.seen != before {
            out.mark_durable(id);
        }
    }
}

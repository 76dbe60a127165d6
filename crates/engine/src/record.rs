//! What is made durable, in a form that outlives this build.
//!
//! These are the documents of all records. An environment is written down only for what a person asked to be restored; the holder
//! keeps every other one in memory.

use proto::agent::{MailId, Turn};
use proto::rights::GrantRecord;
use proto::trust::TrustView;
use proto::{Name, Owner, ProcessId, Size};
use serde::{Deserialize, Serialize};

use crate::agent::AgentRecord;
use crate::inbox::questions::QuestionRecord;
use crate::mail::MailRecord;
use crate::process::backoff::Backoff;
use crate::process::seen::SeenMark;
use crate::process::{RunRecord, Spec};
use crate::tasks::TaskRecord;
use crate::timers::TimerRecord;
use crate::workspaces::WorkspaceRecord;

/// One change to what is durable.
#[derive(Clone, Debug)]
pub enum Record {
    /// The entry is like this now.
    Put(Box<ProcessRecord>),
    /// The entry is gone, and its turns with it.
    Remove(ProcessId),
    /// The message is like this now.
    PutMail(Box<MailRecord>),
    /// The message is forgotten.
    RemoveMail(MailId),
    /// The turn is like this now.
    PutTurn(Box<Turn>),
    /// The turn is forgotten.
    RemoveTurn {
        /// Of which process.
        process: ProcessId,
        /// Which.
        turn: u64,
    },
    /// The timer is like this now.
    PutTimer(Box<TimerRecord>),
    /// The timer is forgotten.
    RemoveTimer(u64),
    /// A person gave this right.
    PutGrant(GrantRecord),
    /// It was taken back, or one of the two is gone.
    RemoveGrant(u64),
    /// A person trusts this.
    PutTrust(Box<TrustView>),
    /// No longer.
    RemoveTrust(String),
    /// A question to the person is open.
    PutQuestion(Box<QuestionRecord>),
    /// It was answered or is void.
    RemoveQuestion(u64),
    /// The task is like this now.
    PutTask(Box<TaskRecord>),
    /// The task is forgotten.
    RemoveTask(u64),
    /// Creates or replaces a workspace.
    PutWorkspace(Box<WorkspaceRecord>),
    /// Forgets a workspace.
    RemoveWorkspace(String),
    /// The numbers that were given out.
    Counters(Counters),
}

/// Numbers that are never given out twice, whatever is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// The next message.
    pub next_mail: u64,
    /// The next item of the inbox.
    pub next_item: u64,
    /// The next timer.
    #[serde(default = "one")]
    pub next_timer: u64,
    /// The next grant.
    #[serde(default = "one")]
    pub next_grant: u64,
}

fn one() -> u64 {
    1
}

impl Default for Counters {
    fn default() -> Self {
        Self { next_mail: 1, next_item: 1, next_timer: 1, next_grant: 1 }
    }
}

/// Everything an earlier daemon recorded.
#[derive(Clone, Debug, Default)]
pub struct Saved {
    /// The entries.
    pub processes: Vec<ProcessRecord>,
    /// The messages.
    pub mail: Vec<MailRecord>,
    /// The turns.
    pub turns: Vec<Turn>,
    /// The timers.
    pub timers: Vec<TimerRecord>,
    /// The rights beyond the tree.
    pub grants: Vec<GrantRecord>,
    /// What people trust.
    pub trusts: Vec<TrustView>,
    /// Questions to the person.
    pub questions: Vec<QuestionRecord>,
    /// The tasks, dropped ones included.
    pub tasks: Vec<TaskRecord>,
    /// The workspaces, without `local`.
    pub workspaces: Vec<WorkspaceRecord>,
    /// The numbers that were given out.
    pub counters: Counters,
}

/// One process. Its spec and its run stand in the same document, not nested. New fields need a default, so that older
/// documents still read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// Its id.
    pub id: ProcessId,
    /// Its name.
    pub name: Name,
    /// Who types.
    #[serde(default)]
    pub owner: Owner,
    /// What was asked of it.
    #[serde(flatten)]
    pub spec: Spec,
    /// Its current run.
    #[serde(flatten)]
    pub run: RunRecord,
    /// Its terminal's size.
    pub size: Size,
    /// What a person has seen of it; left out by daemons that kept no such mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<SeenMark>,
    /// What only agents have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentRecord>,
    /// Processes that were spawned below it, at any depth.
    #[serde(default)]
    pub spawned: u32,
    /// What a person allowed for it to be started: the digest, and whether it was for this process only.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "leave")]
    pub approval: Option<Approval>,
    /// When it was spawned, or last started by a person, on the uptime clock.
    #[serde(default)]
    pub born_ms: u64,
    /// Its recent starts.
    #[serde(default, skip_serializing_if = "Backoff::is_fresh")]
    pub backoff: Backoff,
}

/// On whose word a process was started for an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// What was allowed.
    pub digest: String,
    /// For this process only; otherwise for as long as it is trusted.
    pub once: bool,
    /// The digest of the order.
    #[serde(default)]
    pub frame: String,
    /// The digest of what lay on the disk. Empty: it is not known, so a person is asked again.
    #[serde(default)]
    pub content: String,
    /// The project's list that covered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A document with the keys of a command that is being ended; the keys of agents, budgets and approvals are not in it.
    fn document() -> Value {
        let mut document = json!({
            "id": ProcessId::from_entropy(7), "name": "job", "kind": "command", "parent": null, "task": "t",
            "workspace": "local", "owner": "user", "argv": ["make", "all"], "cwd": "/srv",
            "env": {"A": "b"}, "env_hex": {"B": "ff"}, "declared": ["A"], "size": Size::DEFAULT,
            "policy": "owner", "auto_restart": true, "idle_timeout_ms": 9, "preset": "p", "key": "k",
        });
        let rest = json!({
            "status": "stopping", "run": 3, "run_token": "mark", "has_holder": true, "pid": 12, "exit": null,
            "failure": "no", "started_at": 5, "is_ready": true, "restart_at": 11, "restore": true,
            "seen": {"turn": 1, "run": 2}, "project": proto::project::Project::default(), "spawned": 4,
            "acts_for_person": true, "born_ms": 8, "stop": proto::Stop::default(),
            "ending": {"reason": "closed", "then": "remove", "signal": 15, "grace_ms": 10,
                "asked_grace_ms": null, "insist_at": 20, "keeps_background": false},
        });
        document
            .as_object_mut()
            .expect("it is an object")
            .extend(rest.as_object().expect("so is this").clone());
        document
    }

    #[test]
    fn a_document_keeps_its_keys_on_one_level() {
        let record: ProcessRecord = serde_json::from_value(document()).expect("it reads");
        assert_eq!(record.spec.argv, ["make", "all"]);
        assert_eq!(record.spec.environment.env_hex["B"], "ff");
        assert_eq!((record.run.number.0, record.run.token.as_str(), record.run.pid), (3, "mark", Some(12)));
        assert!(record.run.ending.is_some());
        assert_eq!(serde_json::to_value(&record).expect("it serialises"), document());
    }

    #[test]
    fn a_document_with_the_first_daemons_keys_reads() {
        let first = json!({
            "id": ProcessId::from_entropy(7), "name": "job", "kind": "terminal", "workspace": "local",
            "argv": ["sh"], "cwd": "/", "size": Size::DEFAULT, "status": "running", "run": 1,
        });
        let record: ProcessRecord = serde_json::from_value(first).expect("it reads");
        assert_eq!((record.spec.restore, record.run.has_holder, record.spawned), (false, false, 0));
    }
}

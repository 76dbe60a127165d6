//! What is made durable, in a form that outlives this build.
//!
//! Owns the documents of entries. An environment is written down only for what a person asked to be restored; the holder
//! keeps every other one in memory.

use std::collections::BTreeMap;

use proto::agent::{MailId, Turn};
use proto::crew::{Budget, Project, Ready, TrustView};
use proto::request::SizePolicy;
use proto::{Exit, Kind, Name, Owner, ProcessId, RunNumber, Size, Status, Stop};
use serde::{Deserialize, Serialize};

use crate::agent::AgentRecord;
use crate::backoff::Backoff;
use crate::grants::GrantRecord;
use crate::mail::MailRecord;
use crate::process::EndingRecord;
use crate::questions::QuestionRecord;
use crate::seen::Seen;
use crate::timers::TimerRecord;

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
    /// The numbers that were given out.
    pub counters: Counters,
}

/// One entry. New fields need a default, so that older documents still read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// Its id.
    pub id: ProcessId,
    /// Its name.
    pub name: Name,
    /// Its kind.
    pub kind: Kind,
    /// Who spawned it.
    #[serde(default)]
    pub parent: Option<ProcessId>,
    /// The task it works for.
    #[serde(default)]
    pub task: Option<String>,
    /// Its access scope.
    pub workspace: String,
    /// Who types.
    #[serde(default)]
    pub owner: Owner,
    /// What it runs.
    pub argv: Vec<String>,
    /// Where.
    pub cwd: String,
    /// The environment to start it with again. In the database only for what is restored; the holder has it always.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// What of it is not text: name and value in hexadecimal digits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env_hex: BTreeMap<String, String>,
    /// Names of the variables that were declared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared: Vec<String>,
    /// Its terminal's size.
    pub size: Size,
    /// Whose size that is.
    #[serde(default)]
    pub policy: SizePolicy,
    /// Where it is in its life.
    pub status: Status,
    /// Which run.
    pub run: RunNumber,
    /// The mark the run's processes carry in their environment.
    #[serde(default)]
    pub run_token: String,
    /// Whether a holder should exist for the run.
    #[serde(default)]
    pub has_holder: bool,
    /// The child's pid.
    #[serde(default)]
    pub pid: Option<i32>,
    /// How the run ended.
    #[serde(default)]
    pub exit: Option<Exit>,
    /// Why it could not be started.
    #[serde(default)]
    pub failure: Option<String>,
    /// When the run started, wall time.
    #[serde(default)]
    pub started_at: u64,
    /// Start it again when it fails.
    #[serde(default)]
    pub auto_restart: bool,
    /// End it when unused for this long.
    #[serde(default)]
    pub idle_timeout_ms: Option<u64>,
    /// What a person has seen of it; left out by daemons that kept no such mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
    /// What only agents have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentRecord>,
    /// The project it works in.
    #[serde(default)]
    pub project: Project,
    /// The preset it was started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The key it was spawned with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Start it again when its holder is gone.
    #[serde(default)]
    pub restore: bool,
    /// Who calls from it has the rights of the person who opened it.
    #[serde(default)]
    pub acts_for_person: bool,
    /// How it tells that it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
    /// Whether the run has.
    #[serde(default)]
    pub is_ready: bool,
    /// What the tree below it may use up, as a person set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Processes that were spawned below it, at any depth.
    #[serde(default)]
    pub spawned: u32,
    /// What a person allowed for it to be started: the digest, and whether it was for this process only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leave: Option<Approval>,
    /// When it was spawned, or last started by a person, on the uptime clock.
    #[serde(default)]
    pub born_ms: u64,
    /// When it is started again by itself, on the uptime clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_at: Option<u64>,
    /// Its recent starts.
    #[serde(default, skip_serializing_if = "Backoff::is_fresh")]
    pub backoff: Backoff,
    /// How it is asked to end, when whoever ends it does not say.
    #[serde(default)]
    pub stop: Stop,
    /// The end that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<EndingRecord>,
}

/// On whose word a process was started for an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// What was allowed.
    pub digest: String,
    /// For this process only; otherwise for as long as it is trusted.
    pub once: bool,
    /// The part of the digest that the order says.
    #[serde(default)]
    pub frame: String,
    /// The part that lay on the disk. Empty: nobody knows, so it is asked about again.
    #[serde(default)]
    pub content: String,
    /// The project's list that covered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed: Option<String>,
}

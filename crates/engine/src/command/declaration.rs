//! What a verb declares about itself, in the file that decides it: what it needs of its caller, what the audit log keeps
//! of it, and what must be recorded for it to be done. The gate, the audit and the undo are derived from this.

use proto::{ErrorCode, Failure, ProcessId, Role, VerbSpec};

use super::{Command, CommandResult};
use crate::Engine;
use crate::context::Context;
use crate::input::{Caller, Ticket};
use crate::rights::Verb;
use crate::rights::registry::denied;

/// Who asks, about which process, and where the answer goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker {
    pub(crate) caller: Caller,
    pub(crate) ticket: Ticket,
    /// The process over which the gate found the right that the verb declares.
    pub(crate) over: Option<ProcessId>,
}

impl Asker {
    /// The process that the verb is about. Only a verb that declares a right over its target has one.
    pub(crate) fn target(self) -> Result<ProcessId, Failure> {
        self.over.ok_or_else(no_target)
    }
}

/// What a verb needs of its caller. Every caller must be identified. The gate checks it, and the verb does not check it
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing more, or a right that depends on the arguments: the verb checks it.
    Checked,
    /// A right that has no target.
    AtAll(Verb),
    /// To be a person; the refusal has these words.
    Person(&'static str),
    /// A right over the target.
    Over(Verb),
    /// A right over the target, which must be an agent.
    OverAgent(Verb),
}

/// What the audit log keeps of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audited {
    /// That it was refused.
    Refusal,
    /// The same, and that it was done.
    Success,
    /// The same, and that it was done if it made a message.
    NewMessage,
}

/// What must be recorded for a verb to be done. When the store refuses that, nothing of it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// Nothing: it asks, it reports what has happened, or it starts or ends runs, which are with their holders and must end on
    /// a full disk too.
    Nothing,
    /// What the caller entrusts to Quarterdeck.
    Entrusted,
    /// Every record of it.
    Everything,
}

/// What a verb declares about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Declaration {
    pub(crate) word: &'static str,
    pub(crate) role: Role,
    pub(crate) needs: Needs,
    pub(crate) audited: Audited,
    pub(crate) recorded: Recorded,
}

impl Declaration {
    pub(crate) fn of<V: Decide>() -> Self {
        let (needs, audited, recorded) = (V::NEEDS, V::AUDITED, V::RECORDED);
        Self { word: V::WORD, role: V::ROLE, needs, audited, recorded }
    }

    /// The declaration of a question that the daemon itself asks about a caller.
    pub(crate) fn internal(word: &'static str, role: Role, needs: Needs) -> Self {
        let (audited, recorded) = (Audited::Refusal, Recorded::Nothing);
        Self { word, role, needs, audited, recorded }
    }
}

/// A verb that the engine decides.
pub(crate) trait Decide: VerbSpec {
    /// What it is decided from: the arguments, or what the daemon prepared from them.
    type Order;
    /// The least role of a connection that may ask for it.
    const ROLE: Role;
    const NEEDS: Needs;
    const AUDITED: Audited = Audited::Refusal;
    const RECORDED: Recorded = Recorded::Nothing;

    /// What the audit log keeps of it beside its target: sizes and digests, no texts and no secrets.
    fn detail(_engine: &Engine, _order: &Self::Order) -> String {
        String::new()
    }

    /// What the audit log names, where that is not the target in the arguments.
    fn about(_engine: &Engine, _order: &Self::Order) -> Option<String> {
        None
    }

    /// Checks the arguments, then applies them. An error has changed nothing.
    fn decide(engine: &mut Engine, asker: Asker, order: Self::Order) -> CommandResult;
}

impl Engine {
    /// Checks what a verb needs of its caller; returns the process over which it has the right.
    pub(super) fn check_needs(
        &self,
        caller: Caller,
        command: &Command,
    ) -> Result<Option<ProcessId>, Failure> {
        let declaration = command.declaration();
        let target = || command.target().ok_or_else(no_target);
        match declaration.needs {
            Needs::Checked => Ok(None),
            Needs::AtAll(verb) if self.grants.may_at_all(caller, verb) => Ok(None),
            Needs::AtAll(_) => Err(denied(caller, declaration.word)),
            Needs::Person(words) => self.grants.people_only(caller, words).map(|()| None),
            Needs::Over(verb) => self.grants.find_id(caller, target()?, verb, &self.ctx).map(Some),
            Needs::OverAgent(verb) => self.grants.find_agent(caller, target()?, verb, &self.ctx).map(Some),
        }
    }
}

/// Checks that the role of the connection is enough for the verb, whoever asks.
pub(super) fn check_role(command: &Command, ctx: &Context) -> Result<(), Failure> {
    let declaration = command.declaration();
    ctx.check_least_role(declaration.role, declaration.word)
}

/// A verb needs a right over a target and declares none: our own fault.
fn no_target() -> Failure {
    Failure::new(ErrorCode::Internal, "the verb has no target")
}

//! `list` and `subscribe`: what there is, as far as the caller may know.

use proto::request::Empty;
use proto::verb;
use proto::{ErrorCode, Event, Failure, ProcessId};

use super::{Asker, CommandResult, Decide, Needs, done};
use crate::Engine;
use crate::context::Context;
use crate::effect::CommandAnswer;
use crate::input::Caller;
use crate::process::Process;
use crate::rights::Verb;
use crate::rights::grants::Grants;
use crate::rights::registry::denied;

impl Decide for verb::List {
    type Order = Empty;
    const NEEDS: Needs = Needs::AtAll(Verb::List);

    fn decide(engine: &mut Engine, asker: Asker, _: Empty) -> CommandResult {
        engine.ctx.list(asker.caller, &engine.grants)
    }
}

impl Decide for verb::Subscribe {
    type Order = Empty;
    const NEEDS: Needs = Needs::AtAll(Verb::List);

    fn decide(engine: &mut Engine, asker: Asker, _: Empty) -> CommandResult {
        engine.ctx.list(asker.caller, &engine.grants)
    }
}

impl Context {
    pub(crate) fn list(&self, caller: Caller, grants: &Grants) -> CommandResult {
        if !grants.may_at_all(caller, Verb::List) {
            return Err(denied(caller, "list"));
        }
        let is_seen =
            |process: &&Process| !process.is_departed() && grants.may_do(caller, Verb::List, process, self);
        let processes = self.processes.values().filter(is_seen).map(Process::view).collect();
        Ok(Some(CommandAnswer::Listed { revision: self.out.revision(), processes }))
    }
}

impl Engine {
    /// Whether the caller may be told of something that happened: what it could ask for as well.
    pub(super) fn knows(&mut self, caller: Caller, event: &Event) -> CommandResult {
        let may = |id: &ProcessId, verb| {
            self.ctx
                .processes
                .get(id)
                .is_some_and(|process| self.grants.may_do(caller, verb, process, &self.ctx))
        };
        let is_known = caller == Caller::Human
            || match event {
                Event::Changed(view) => may(&view.id, Verb::List),
                Event::Exited { id, .. }
                | Event::Removed { id }
                | Event::Done { id }
                | Event::TurnEnded { id, .. }
                | Event::Selected { id } => may(id, Verb::List),
                Event::Mail(receipt) => self.mail.may_follow(caller, receipt.mail, &self.grants, &self.ctx),
                Event::ItemOpened(view) => self
                    .inbox
                    .items
                    .get(&view.item)
                    .is_some_and(|item| self.inbox.may_answer(caller, item, &self.grants, &self.ctx)),
                Event::Timer(view) => may(&view.owner, Verb::Read),
                Event::PadChanged { project, .. } => {
                    let own = match caller {
                        Caller::Process(run) => self.ctx.processes.get(&run.process),
                        Caller::Human | Caller::Via(_) | Caller::Nobody => None,
                    };
                    own.is_some_and(|own| own.spec.project.key == *project)
                }
                // Which items a caller knows of, whoever told it of them knows.
                Event::ItemClosed { .. } => false,
                Event::Resync {} => true,
            };
        if is_known { done() } else { Err(Failure::new(ErrorCode::NotFound, "it is nothing to the caller")) }
    }
}

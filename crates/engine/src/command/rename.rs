//! `rename`: another name for the same process.

use crate::audit::words;
use proto::request::Rename;
use proto::verb;
use proto::{ErrorCode, Failure, Name};

use super::{Asker, Audited, CommandResult, Decide, Needs, Recorded, done};
use crate::Engine;
use crate::context::Context;
use crate::input::Caller;
use crate::rights::Verb;
use crate::rights::grants::Grants;

impl Decide for verb::Rename {
    type Order = Rename;
    const NEEDS: Needs = Needs::Over(Verb::Drive);
    const AUDITED: Audited = Audited::Success;
    const RECORDED: Recorded = Recorded::Everything;

    fn detail(_: &Engine, rename: &Rename) -> String {
        format!("to {}", words(&rename.name))
    }

    fn decide(engine: &mut Engine, asker: Asker, rename: Rename) -> CommandResult {
        engine.ctx.rename(asker.caller, &rename, &engine.grants)
    }
}

impl Context {
    pub(crate) fn rename(&mut self, caller: Caller, rename: &Rename, grants: &Grants) -> CommandResult {
        let id = grants.find_id(caller, &rename.target, Verb::Drive, self)?;
        let name = rename.name.parse::<Name>().map_err(|why| Failure::invalid("name", why))?;
        let is_own = self.processes.get(&id).is_some_and(|process| process.name == name);
        if !is_own && self.processes.is_taken(&name) {
            return Err(Failure::new(
                ErrorCode::Conflict,
                format!("there is a process named {name} already"),
            ));
        }
        if let Some(process) = self.processes.get_mut(&id) {
            process.name = name;
        }
        self.out.mark_durable(id);
        done()
    }
}

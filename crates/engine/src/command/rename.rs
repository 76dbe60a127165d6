//! `rename`: another name for the same process.

use crate::audit::printable_words;
use proto::request::Rename;
use proto::verb;
use proto::{ErrorCode, Failure, Name, Role};

use super::{Asker, Audited, CommandResult, Decide, Needs, Recorded, done};
use crate::Engine;
use crate::rights::Verb;

impl Decide for verb::Rename {
    type Order = Rename;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::Over(Verb::Drive);
    const AUDITED: Audited = Audited::Success;
    const RECORDED: Recorded = Recorded::Everything;

    fn detail(_: &Engine, rename: &Rename) -> String {
        format!("to {}", printable_words(&rename.name))
    }

    fn decide(engine: &mut Engine, asker: Asker, rename: Rename) -> CommandResult {
        let id = asker.target()?;
        let name = rename.name.parse::<Name>().map_err(|why| Failure::invalid("name", why))?;
        let is_own = engine.ctx.processes.get(&id).is_some_and(|process| process.name == name);
        if !is_own && engine.ctx.processes.is_taken(&name) {
            return Err(Failure::new(
                ErrorCode::Conflict,
                format!("there is a process named {name} already"),
            ));
        }
        if let Some(process) = engine.ctx.processes.get_mut(&id) {
            process.name = name;
        }
        engine.ctx.out.mark_durable(id);
        done()
    }
}

//! `resize`: a size that a caller asked for; it holds until a viewer's policy asks for another.

use proto::request::Resize;
use proto::{Role, verb};

use super::{Asker, CommandResult, Decide, Needs, done};
use crate::Engine;
use crate::rights::Verb;

impl Decide for verb::Resize {
    type Order = Resize;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::Over(Verb::Drive);

    fn decide(engine: &mut Engine, asker: Asker, resize: Resize) -> CommandResult {
        let process = engine.ctx.processes.find_known(asker.target()?)?;
        let (run, size) = (process.key(), resize.size.or(process.size));
        engine.ctx.processes.set_size(run, size, &mut engine.ctx.out);
        done()
    }
}

//! `resize`: a size somebody asked for by name; it holds until a viewer's policy asks for another.

use proto::request::Resize;
use proto::verb;

use super::{Asker, CommandResult, Decide, Needs, done};
use crate::Engine;
use crate::context::Context;
use crate::input::Caller;
use crate::rights::Verb;
use crate::rights::grants::Grants;

impl Decide for verb::Resize {
    type Order = Resize;
    const NEEDS: Needs = Needs::Over(Verb::Drive);

    fn decide(engine: &mut Engine, asker: Asker, resize: Resize) -> CommandResult {
        engine.ctx.resize(asker.caller, &resize, &engine.grants)
    }
}

impl Context {
    pub(crate) fn resize(&mut self, caller: Caller, resize: &Resize, grants: &Grants) -> CommandResult {
        let process = grants.find(caller, &resize.target, Verb::Drive, self)?;
        let (run, size) = (process.key(), resize.size.or(process.size));
        self.processes.set_size(run, size, &mut self.out);
        done()
    }
}

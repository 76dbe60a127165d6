//! `resize`: a size somebody asked for by name; it holds until a viewer's policy asks for another.

use proto::request::Resize;

use super::{CommandResult, done};
use crate::context::Context;
use crate::input::Caller;
use crate::rights::Verb;
use crate::rights::grants::Grants;

impl Context {
    pub(crate) fn resize(&mut self, caller: Caller, resize: &Resize, grants: &Grants) -> CommandResult {
        let process = grants.find(caller, &resize.target, Verb::Drive, self)?;
        let (run, size) = (process.key(), resize.size.or(process.size));
        self.processes.set_size(run, size, &mut self.out);
        done()
    }
}

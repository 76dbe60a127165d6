//! `resize`: a size somebody asked for by name; it holds until a viewer's policy asks for another.

use proto::request::Resize;

use super::{CommandResult, done};
use crate::Engine;
use crate::input::Caller;
use crate::rights::Verb;

impl Engine {
    pub(super) fn resize(&mut self, caller: Caller, resize: &Resize) -> CommandResult {
        let process = self.find(caller, &resize.target, Verb::Drive)?;
        let (run, size) = (process.key(), resize.size.or(process.size));
        self.set_size(run, size);
        done()
    }
}

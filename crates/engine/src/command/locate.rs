//! Locating a run for a verb of the data plane: whether the caller may, and which run is meant.

use proto::request::Target;

use super::CommandResult;
use crate::Engine;
use crate::effect::{CommandAnswer, Located};
use crate::input::Caller;
use crate::process::Process;
use crate::rights::Verb;

impl Engine {
    pub(super) fn locate(&mut self, caller: Caller, target: &Target, verb: Verb) -> CommandResult {
        let process = self.find(caller, target, verb)?;
        process.check_heard()?;
        Ok(Some(CommandAnswer::Located(located(process))))
    }
}

/// What the data plane needs to know of a process.
pub(super) fn located(process: &Process) -> Located {
    Located {
        run: process.key(),
        name: process.name.clone(),
        size: process.size,
        is_live: process.is_live(),
        exit: process.run.exit,
    }
}

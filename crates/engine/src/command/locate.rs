//! Locating a run for a verb of the data plane: whether the caller may, and which run is meant.

use proto::request::Target;

use super::CommandResult;
use crate::context::Context;
use crate::effect::{CommandAnswer, Located};
use crate::input::Caller;
use crate::process::Process;
use crate::rights::Verb;
use crate::rights::grants::Grants;

impl Context {
    pub(crate) fn locate(
        &self,
        caller: Caller,
        target: &Target,
        verb: Verb,
        grants: &Grants,
    ) -> CommandResult {
        let process = grants.find(caller, target, verb, self)?;
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

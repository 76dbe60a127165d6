//! Locating a run for a verb of the data plane: which run is meant. The gate has checked the right over it.

use super::CommandResult;
use crate::Engine;
use crate::command::Asker;
use crate::effect::{CommandAnswer, Located};
use crate::process::Process;
use crate::rights::Verb;

/// Finds the run that the daemon goes on with.
pub(super) fn locate(asker: Asker, verb: Verb, engine: &Engine) -> CommandResult {
    let process = engine.ctx.processes.find_known(asker.target()?)?;
    if verb == Verb::Drive {
        engine.grants.check_typing(process, &engine.ctx)?;
    }
    process.check_reachable()?;
    Ok(Some(CommandAnswer::Located(located(process))))
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

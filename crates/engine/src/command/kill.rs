//! `kill`: end the run, or send one signal; the entry stays, and what was to start by itself does not.

use proto::request::Kill;
use proto::verb;
use proto::{ErrorCode, Failure, Role, Stop};

use super::{Asker, Audited, CommandResult, Decide, Needs, done};
use crate::Engine;
use crate::effect::Effect;
use crate::process::Then;
use crate::process::stopping::EndRequest;
use crate::rights::Verb;

impl Decide for verb::Kill {
    type Order = Kill;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::Over(Verb::Drive);
    const AUDITED: Audited = Audited::Success;

    fn detail(_: &Engine, kill: &Kill) -> String {
        kill.signal.map(|signal| format!("signal {signal}")).unwrap_or_default()
    }

    fn decide(engine: &mut Engine, asker: Asker, kill: Kill) -> CommandResult {
        let process = engine.ctx.processes.find_known(asker.target()?)?;
        let stop = Stop { signal: kill.signal, grace_ms: kill.grace_ms };
        stop.check()?;
        // A signal alone is only sent; a grace makes it the signal that asks.
        let sent = kill.signal.filter(|_| kill.grace_ms.is_none());
        // A process that has failed and waits for its restart counts as running.
        let is_waiting = process.run.restart_at.is_some() && sent.is_none();
        if !process.is_live() && !is_waiting {
            let message = format!("{} is not running", process.name);
            return Err(Failure::new(ErrorCode::NotRunning, message)
                .hint("qd restart starts it, qd close removes it"));
        }
        let (id, run) = (process.id, process.key());
        match sent {
            Some(signal) => {
                process.check_reachable()?;
                engine.ctx.out.push(Effect::Signal { run, signal });
                done()
            }
            None => {
                if asker.caller.is_person() {
                    engine.ctx.processes.ended_by_person(id, &mut engine.ctx.out);
                }
                engine.end(id, EndRequest::new(None, Then::Stay).stop(stop).ticket(asker.ticket));
                Ok(None)
            }
        }
    }
}

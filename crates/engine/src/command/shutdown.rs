//! `shutdown`: the daemon ends; every process with it only when asked.

use proto::reply::Done;
use proto::request::Shutdown;
use proto::verb;
use proto::{ExitReason, Failure, ProcessId, Reply, Role, Stop};

use super::{Asker, Audited, CommandResult, Decide, Needs};
use crate::Engine;
use crate::effect::{CommandAnswer, Effect};
use crate::input::Survivor;
use crate::process::stopping::{self, EndRequest};
use crate::process::{Ending, Then};

impl Decide for verb::Shutdown {
    type Order = Shutdown;
    const ROLE: Role = Role::Admin;
    const NEEDS: Needs = Needs::Person("shutdown");
    const AUDITED: Audited = Audited::Success;

    fn detail(_: &Engine, shutdown: &Shutdown) -> String {
        if shutdown.kill { "with every process".to_owned() } else { String::new() }
    }

    fn decide(engine: &mut Engine, asker: Asker, shutdown: Shutdown) -> CommandResult {
        engine.ctx.check_all_workspaces()?;
        shutdown.stop.check()?;
        // A second caller goes on to insist.
        let is_second = engine.ctx.ends_all && shutdown.kill;
        let stop = if is_second { Stop::NOW } else { shutdown.stop };
        engine.ctx.shutdown.get_or_insert_default().push(asker.ticket);
        if shutdown.kill {
            engine.ctx.ends_all = true;
            let ids: Vec<ProcessId> = engine.ctx.processes.keys().copied().collect();
            for id in ids {
                end_for_shutdown(engine, id, stop);
            }
        }
        Ok(None)
    }
}

impl Engine {
    /// Answers every shutdown caller once nothing is ending or starting any more, in-flight opens included.
    pub(crate) fn finish_shutdown(&mut self) {
        let Some(callers) = &self.ctx.shutdown else { return };
        let ends_all = self.ctx.ends_all;
        // An end without a waiting caller goes on without a daemon, and the next one finishes it.
        let is_awaited = |ending: &Ending| ends_all || !ending.tickets.is_empty();
        let is_busy = self.ctx.processes.values().any(|process| {
            process.run.ending.as_ref().is_some_and(is_awaited) || !process.launch.tickets.is_empty()
        });
        if callers.is_empty() || is_busy {
            return;
        }
        let over: Vec<_> =
            self.ctx.processes.values().filter(|p| !p.is_live()).map(crate::process::Process::key).collect();
        let ends_all = self.ctx.processes.values().all(|process| !process.is_live());
        for run in over.into_iter().filter(|_| ends_all) {
            // What such a run left in the background ends only when everything ends.
            self.ctx.processes.release(run, self.ctx.ends_all, "shutdown", &mut self.ctx.out);
            self.ctx.out.mark_durable(run.process);
        }
        let survivors = if self.ctx.ends_all { self.ctx.processes.all_survivors() } else { Vec::new() };
        self.ctx.out.flush(&self.ctx.processes);
        for ticket in self.ctx.shutdown.replace(Vec::new()).unwrap_or_default() {
            let result = match survived(&survivors) {
                Some(failure) => Err(failure),
                None => Ok(CommandAnswer::Reply(Reply::Done(Done {}))),
            };
            self.ctx.out.reply(ticket, result);
        }
        self.ctx.out.push(Effect::Stop);
    }
}

fn end_for_shutdown(engine: &mut Engine, id: ProcessId, stop: Stop) {
    let Some(process) = engine.ctx.processes.get(&id) else { return };
    let (run, is_live, has_holder) = (process.key(), process.is_live(), process.run.has_holder);
    if is_live || has_holder {
        let reason = is_live.then_some(ExitReason::Shutdown);
        engine.end(id, EndRequest::new(reason, Then::Stay).stop(stop));
    } else {
        engine.ctx.processes.release(run, true, "shutdown", &mut engine.ctx.out);
    }
}

/// The failure of a shutdown that did not end everything.
fn survived(survivors: &[(String, Vec<Survivor>)]) -> Option<Failure> {
    let (first, rest) = survivors.split_first()?;
    let mut failure = stopping::survived(&first.0, &first.1);
    for (name, survivors) in rest {
        failure.message = format!("{}; {}", failure.message, stopping::survived(name, survivors).message);
    }
    Some(failure)
}

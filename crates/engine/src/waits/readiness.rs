//! Readiness: whether a process is ready, by the sign that its spawn named.
//!
//! Nothing is guessed: a process whose spawn named no sign is never ready, and a run that is over is no longer ready.

use proto::process::Ready;
use proto::request::Until;
use proto::{Failure, Printable};

use crate::context::Context;
use crate::effect::Effect;
use crate::inbox::Inbox;
use crate::input::{RunKey, WaitId};
use crate::process::Process;
use crate::waits::Waits;
use crate::waits::{OpenWait, satisfied};

/// Longest pattern; the daemon also bounds what it compiles to.
const MAX_PATTERN: usize = 1024;

/// Checks whether a process can tell like this.
pub(crate) fn check_ready(ready: Option<&Ready>) -> Result<(), Failure> {
    match ready {
        Some(Ready::Pattern(pattern)) if pattern.is_empty() || pattern.len() > MAX_PATTERN => {
            Err(Failure::invalid("ready.pattern", format!("between 1 and {MAX_PATTERN} bytes")))
        }
        Some(Ready::Port(0)) => Err(Failure::invalid("ready.port", "between 1 and 65535")),
        Some(Ready::Pattern(_) | Ready::Port(_)) | None => Ok(()),
    }
}

/// What a wait was for, in words that follow "before".
pub(crate) fn awaited_words(until: &Until, ready: Option<&Ready>) -> String {
    match (until, ready) {
        (Until::Ready(_), Some(Ready::Port(port))) => format!("it listened on port {port}"),
        (Until::Ready(_), Some(Ready::Pattern(pattern))) => {
            format!("it printed its sign of readiness, \"{}\"", Printable(pattern))
        }
        (Until::Ready(_), None) => "it was ready".to_owned(),
        (Until::Pattern(pattern), _) => format!("it showed \"{}\"", Printable(pattern)),
        _ => "that happened".to_owned(),
    }
}

impl Waits {
    /// A run goes on: from here on its readiness is looked for, in all it has printed.
    pub(crate) fn await_ready(&mut self, run: RunKey, ctx: &mut Context) {
        let wait = WaitId(*self.next);
        let Some(process) = ctx.processes.get_mut(&run.process) else { return };
        if process.run.is_ready || process.run.ending.is_some() {
            return;
        }
        match process.spec.ready.clone() {
            Some(Ready::Pattern(pattern)) => {
                process.run.ready_watch = Some(wait);
                *self.next += 1;
                ctx.out.push(Effect::Watch { run, wait, pattern, since: Some(0) });
            }
            Some(Ready::Port(port)) => ctx.out.push(Effect::AwaitPort { run, port }),
            None => {}
        }
    }

    /// Takes a pattern that appeared; returns true if it was the sign of readiness.
    pub(crate) fn ready_matched(
        &mut self,
        run: RunKey,
        wait: WaitId,
        text: &str,
        inbox: &Inbox,
        ctx: &mut Context,
    ) -> bool {
        let is_sign = end_ready_watch(run, wait, ctx).is_some();
        if is_sign {
            self.is_ready_now(run, Some(text), inbox, ctx);
        }
        is_sign
    }

    /// Takes a pattern that can no longer appear; returns true if it was the sign of readiness.
    pub(crate) fn ready_unmatched(
        &mut self,
        run: RunKey,
        wait: WaitId,
        inbox: &Inbox,
        ctx: &mut Context,
    ) -> bool {
        let Some(process) = end_ready_watch(run, wait, ctx) else { return false };
        if !process.is_live() {
            self.see_unready(run, inbox, ctx);
        }
        true
    }

    /// It listens on its port.
    pub(crate) fn port_open(&mut self, run: RunKey, inbox: &Inbox, ctx: &mut Context) {
        let process = ctx.processes.get(&run.process);
        if process.is_some_and(|process| matches!(process.spec.ready, Some(Ready::Port(_)))) {
            self.is_ready_now(run, None, inbox, ctx);
        }
    }

    /// Waits are answered even when the run has ended since: it was ready before that.
    pub(crate) fn is_ready_now(&mut self, run: RunKey, text: Option<&str>, inbox: &Inbox, ctx: &mut Context) {
        let Some(process) = ctx.processes.get_mut(&run.process) else { return };
        if process.is_live() && !process.run.is_ready {
            process.run.is_ready = true;
            ctx.out.mark_durable(run.process);
        }
        self.see_ready(run, text, inbox, ctx);
    }

    /// The run is over, and so is its readiness.
    pub(crate) fn ready_over(&self, run: RunKey, ctx: &mut Context) {
        if let Some(process) = ctx.processes.get_mut(&run.process) {
            process.run.is_ready = false;
        }
    }

    /// Returns true if the watch may still find the sign of readiness in what a run has printed.
    pub(crate) fn is_readiness_open(&self, run: RunKey, ctx: &Context) -> bool {
        ctx.processes.get(&run.process).is_some_and(|process| process.run.ready_watch.is_some())
    }

    /// Marks a wait as satisfied by a run that is ready already.
    pub(crate) fn note_ready(&mut self, id: WaitId, run: RunKey, ctx: &Context) {
        let is_ready = |process: &&Process| process.key() == run && process.run.is_ready && process.is_live();
        let Some(found) = ctx.processes.get(&run.process).filter(is_ready) else { return };
        let found = satisfied(found, None);
        if let Some(wait) = self.open.get_mut(&id).filter(|wait| matches!(wait.until, Until::Ready(_))) {
            wait.satisfied.insert(run.process, found);
        }
    }

    pub(crate) fn see_ready(&mut self, run: RunKey, text: Option<&str>, inbox: &Inbox, ctx: &mut Context) {
        let Some(process) = ctx.processes.get(&run.process) else { return };
        let found = satisfied(process, text.map(str::to_owned));
        let is_concerned = |wait: &OpenWait| matches!(wait.until, Until::Ready(_)) && wait.is_open_for(&run);
        let concerned: Vec<WaitId> =
            self.open.iter().filter(|(_, wait)| is_concerned(wait)).map(|(id, _)| *id).collect();
        for id in concerned {
            if let Some(wait) = self.open.get_mut(&id) {
                wait.satisfied.insert(run.process, found.clone());
            }
            self.finish_wait(id, inbox, ctx);
        }
    }

    pub(crate) fn see_unready(&mut self, run: RunKey, inbox: &Inbox, ctx: &mut Context) {
        self.run_over_for_all(run, |wait| matches!(wait.until, Until::Ready(_)), inbox, ctx);
    }
}

/// Ends the watch for a run's sign of readiness if this wait is that watch; returns the process then.
fn end_ready_watch(run: RunKey, wait: WaitId, ctx: &mut Context) -> Option<&mut Process> {
    let process = ctx.processes.get_mut(&run.process)?;
    process.run.ready_watch.take_if(|watch| *watch == wait).map(|_| process)
}

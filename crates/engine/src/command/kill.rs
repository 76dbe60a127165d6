//! `kill`: end the run, or send one signal; the entry stays, and what was to start by itself does not.

use proto::request::Kill;
use proto::{ErrorCode, Failure};

use super::{Verdict, done};
use crate::Engine;
use crate::effect::Effect;
use crate::input::{Caller, Ticket};
use crate::lifecycle::MAX_GRACE_MS;
use crate::process::Then;
use crate::rights::Verb;

/// Signals Linux has.
const SIGNALS: std::ops::RangeInclusive<i32> = 1..=64;
/// Those of them that the C library keeps for itself: what they do to a program is not meant for others to choose.
const RESERVED: std::ops::RangeInclusive<i32> = 32..=33;

impl Engine {
    pub(super) fn kill(&mut self, caller: Caller, ticket: Ticket, kill: &Kill) -> Verdict {
        let process = self.find(caller, &kill.target, Verb::Drive)?;
        if let Some(signal) = kill.signal
            && !SIGNALS.contains(&signal)
        {
            return Err(Failure::invalid("signal", format!("{signal} is not between 1 and 64")));
        }
        if kill.signal.is_some_and(|signal| RESERVED.contains(&signal)) {
            return Err(Failure::invalid("signal", "32 and 33 belong to the C library and cannot be sent"));
        }
        if kill.grace_ms.is_some_and(|grace_ms| grace_ms > MAX_GRACE_MS) {
            let most = f64::from(MAX_GRACE_MS) / 1000.0;
            let words = format!("at most {most} seconds, because an end takes three at most");
            return Err(Failure::invalid("grace_ms", words)
                .hint("qd kill --signal sends one signal and leaves the program its time"));
        }
        // One that has failed and waits to be started again is as good as running to whoever wants it to stop.
        let is_waiting = process.restart_at.is_some() && kill.signal.is_none();
        if !process.is_live() && !is_waiting {
            let message = format!("{} is not running", process.name);
            return Err(Failure::new(ErrorCode::NotRunning, message)
                .hint("qd restart starts it, qd close removes it"));
        }
        let (id, run) = (process.id, process.key());
        match kill.signal {
            Some(signal) => {
                process.check_heard()?;
                self.effects.push(Effect::Signal { run, signal });
                done()
            }
            None => {
                let grace_ms = kill.grace_ms.unwrap_or(self.config.grace_ms);
                self.end_within(grace_ms, id, None, Then::Stay, Some(ticket));
                Ok(None)
            }
        }
    }
}

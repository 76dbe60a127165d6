//! `kill`: end the run, or send one signal; the entry stays.

use proto::request::Kill;
use proto::{ErrorCode, Failure};

use super::{Verdict, done};
use crate::Engine;
use crate::effect::Effect;
use crate::input::{Caller, Ticket};
use crate::process::Then;
use crate::rights::Verb;

/// Signals Linux has.
const SIGNALS: std::ops::RangeInclusive<i32> = 1..=64;

impl Engine {
    pub(super) fn kill(&mut self, caller: Caller, ticket: Ticket, kill: &Kill) -> Verdict {
        let process = self.find(caller, &kill.target, Verb::Drive)?;
        if let Some(signal) = kill.signal
            && !SIGNALS.contains(&signal)
        {
            return Err(Failure::invalid("signal", format!("{signal} is not between 1 and 64")));
        }
        if !process.is_live() {
            let message = format!("{} is not running", process.name);
            return Err(Failure::new(ErrorCode::NotRunning, message)
                .hint("qd restart starts it, qd close removes it"));
        }
        let (id, run) = (process.id, process.key());
        match kill.signal {
            Some(signal) => {
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

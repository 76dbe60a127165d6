//! `wait`: an answer when something has happened to one or several processes.

use std::collections::BTreeMap;

use proto::request::{Until, Wait as Wish};
use proto::{ErrorCode, Failure};

use super::Verdict;
use crate::Engine;
use crate::input::{Caller, RunKey, Ticket};
use crate::rights::Verb;
use crate::waits::Wait;

/// Most processes one wait may name.
const MAX_TARGETS: usize = 256;
/// Most unanswered waits; each pattern is matched against all output of its processes.
const MAX_WAITS: usize = 1024;
/// Longest pattern; the daemon also bounds what it compiles to.
const MAX_PATTERN: usize = 1024;
/// Longest time anybody may wait or be silent: a week.
const MAX_MS: u64 = 7 * 24 * 3600 * 1000;

impl Engine {
    pub(super) fn wait(&mut self, caller: Caller, ticket: Ticket, wish: Wish) -> Verdict {
        let targets = self.check_wait(caller, &wish)?;
        let now = self.now.uptime_ms;
        let wait = Wait {
            ticket,
            targets,
            satisfied: BTreeMap::new(),
            until: wish.until,
            quantifier: wish.quantifier,
            deadline: wish.timeout_ms.map(|timeout| now.saturating_add(timeout)),
            since: now,
        };
        self.begin_wait(wait, wish.since);
        Ok(None)
    }

    fn check_wait(&self, caller: Caller, wish: &Wish) -> Result<Vec<RunKey>, Failure> {
        if wish.targets.is_empty() || wish.targets.len() > MAX_TARGETS {
            return Err(Failure::invalid("targets", format!("between 1 and {MAX_TARGETS} processes")));
        }
        if self.waits.len() >= MAX_WAITS {
            let message = format!("there are {MAX_WAITS} waits already, the most there may be");
            return Err(Failure::new(ErrorCode::Limit, message));
        }
        if wish.timeout_ms.is_some_and(|timeout| timeout > MAX_MS) {
            return Err(Failure::invalid("timeout_ms", "at most a week"));
        }
        match &wish.until {
            Until::Pattern(pattern) if pattern.len() > MAX_PATTERN => {
                return Err(Failure::invalid("pattern", format!("at most {MAX_PATTERN} bytes")));
            }
            Until::Silence(silence) if *silence > MAX_MS => {
                return Err(Failure::invalid("silence", "at most a week"));
            }
            Until::State(states) if states.is_empty() => {
                return Err(Failure::invalid("state", "it names no state"));
            }
            Until::Turn(0) => return Err(Failure::invalid("turn", "turns are counted from 1")),
            _ => {}
        }
        let mut targets: Vec<RunKey> = Vec::new();
        for target in &wish.targets {
            let process = self.find(caller, target, Verb::Read)?;
            let needs_agent = matches!(wish.until, Until::State(_) | Until::Turn(_));
            if needs_agent && process.agent.is_none() {
                return Err(Failure::invalid("state", "only agents have a state")
                    .hint("wait for --pattern, --exit or --silence"));
            }
            let run = process.key();
            if !targets.contains(&run) {
                targets.push(run);
            }
        }
        Ok(targets)
    }
}

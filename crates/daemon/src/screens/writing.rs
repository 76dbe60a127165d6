//! Writes texts and keys of calls into a run: checks what prevents them, and continues those that an earlier
//! daemon began.

use std::time::Instant;

use engine::RunFact;
use engine::input::TypingOutcome;
use holder::KeyState;
use proto::Owner;

use super::facts::FactQueue;
use super::order::{WriteJob, WriteOutcome};
use super::run::Run;
use super::typing::MAX_CANONICAL;

impl Run {
    /// Queues bytes for typing. A program's bytes are refused if its guard does not allow them.
    pub(crate) fn write(&mut self, job: WriteJob, now: Instant, facts: &mut FactQueue) {
        // A job that an earlier daemon may have begun is checked later, when the holder has reported how much
        // of it it has.
        let is_repeated = job.key.as_ref().is_some_and(|key| key.is_repeated);
        let guard = job.guard.clone().filter(|_| !is_repeated);
        // A long prompt for a program that is starting is held, and its composer is looked at when it is released.
        let is_held = self.handle.is_canonical() && job.is_prompt && job.text.most() > MAX_CANONICAL;
        let guard = guard.map(|guard| if is_held { guard.before_composer() } else { guard });
        let obstacle = guard.and_then(|guard| self.obstacle_to_write(&guard, now));
        if obstacle.is_some() || self.displacement.is_unlinked() {
            if !is_repeated {
                // The caller may have stopped waiting.
                let of = job.text.most() as u64;
                let outcome = WriteOutcome { written: 0, of, was_held: false, obstacle, begun: None };
                let _gone = job.reply.send(outcome);
            }
            return;
        }
        if job.by == Owner::User {
            self.typing.person_typed(now);
        }
        facts.push_fact(self.key(), RunFact::Typed { by: job.by, viewer: None });
        let modes = self.handle.screen().modes();
        let job = WriteJob { text: self.typing.with_line_ends(job.text, &modes), ..job };
        self.input_queue.write(job, now, &self.handle, &mut self.link);
        if self.end.is_over() && !is_repeated {
            self.input_queue.clear();
        }
    }
}

/// Continues a job of an earlier daemon after the holder has reported how much of it it has.
pub(super) fn go_on_writing(run: &mut Run, state: &KeyState, now: Instant) {
    let obstacle = match run.input_queue.repeated_guard(state) {
        _ if run.end.is_over() => Some(TypingOutcome::Gone),
        Some(guard) => run.obstacle_to_write(&guard, now),
        None => None,
    };
    run.input_queue.go_on(state, obstacle, &run.handle, &mut run.link);
}

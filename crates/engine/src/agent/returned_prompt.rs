//! Clears the prompt that an interrupted program puts back into its composer, if it is the text that we typed there. A text
//! that a person wrote is never touched: the keys are typed only while the composer holds exactly our own.

use proto::agent::Composer;

use crate::agent::Agent;
use crate::effect::{ComposerIs, Effect, Guard, Keystrokes};
use crate::outbox::Outbox;

/// How long after an interrupt the prompt may come back.
const RETURNS_MS: u64 = 5_000;
/// How long nothing else is typed after an interrupt, because the prompt may come back at any moment.
const SETTLE_MS: u64 = 700;

/// A prompt that may come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReturnedPrompt {
    text: String,
    person_quiet_ms: u64,
    until: u64,
}

impl Agent {
    /// Expects the prompt of the interrupted turn back, if we typed it and the manifest names the keys that clear it.
    pub(crate) fn expect_prompt_back(&mut self, person_quiet_ms: u64, now: u64) {
        let can_clear = self.live.launched.as_ref().is_some_and(|launched| !launched.clear.is_empty());
        let Some(text) = self.live.progress.last_typed.take().filter(|_| can_clear) else { return };
        self.live.progress.hold_until(now + SETTLE_MS);
        self.live.returned_prompt = Some(ReturnedPrompt { text, person_quiet_ms, until: now + RETURNS_MS });
    }

    /// Clears the composer once if it holds a draft that may be our own prompt; the guard compares the text.
    pub(crate) fn clear_returned_prompt(&mut self, out: &mut Outbox) {
        let now = out.now.uptime_ms;
        let is_over = self.live.returned_prompt.as_ref().is_some_and(|prompt| prompt.until < now);
        // What is in the composer during a delivery is the next message.
        if is_over || self.state().is_busy() || self.live.progress.mail().is_some() {
            self.live.returned_prompt = None;
        }
        if self.live.screen.composer != Composer::Draft {
            return;
        }
        let Some(prompt) = self.live.returned_prompt.take() else { return };
        let keys = self.live.launched.as_ref().map(|launched| launched.clear.clone()).unwrap_or_default();
        let guard = Guard {
            dialog: None,
            composer: ComposerIs::Holds(prompt.text),
            person_quiet_ms: prompt.person_quiet_ms,
        };
        let (run, job) = (self.run, out.next_job());
        out.push(Effect::Type { run, job, what: Keystrokes::Keys(keys), guard });
    }
}

//! Ending an agent's turn by the keys its manifest names.
//!
//! An interrupt is answered when the agent's state shows that the turn is over, never when the keys were typed.

use proto::agent::TurnEnd;
use proto::reply::Done;
use proto::{ErrorCode, Failure, Reply};

use crate::agent::Agent;
use crate::effect::{CommandAnswer, ComposerIs, Effect, Guard, Keystrokes};
use crate::input::{JobId, Ticket, TypingOutcome};
use crate::outbox::Outbox;

/// How long the keys may take to be typed.
const TYPED_MS: u64 = 10_000;
/// How long a turn may go on after the keys, each time.
const ENDED_MS: u64 = 2_000;
/// How often the keys are typed while the turn goes on.
const TRIES: u8 = 3;

/// An interrupt on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interrupting {
    job: JobId,
    ticket: Ticket,
    keys: Vec<String>,
    guard: Guard,
    tries: u8,
    /// The keys are typed: the turn is to end.
    is_typed: bool,
    pub(crate) until: u64,
}

impl Interrupting {
    /// Returns true once the keys have reached the terminal.
    pub(crate) fn is_typed(&self) -> bool {
        self.is_typed
    }
}

impl Agent {
    /// Types the keys that interrupt this agent's turn.
    pub(crate) fn begin_interrupt(
        &mut self,
        ticket: Ticket,
        keys: Vec<String>,
        person_quiet_ms: u64,
        out: &mut Outbox,
    ) {
        let guard = Guard { dialog: None, composer: ComposerIs::Any, person_quiet_ms };
        let until = out.now.uptime_ms + TYPED_MS;
        let job = out.next_job();
        let interrupting = Interrupting { job, ticket, keys, guard, tries: 0, is_typed: false, until };
        self.live.interrupting = Some(interrupting);
        self.type_interrupt(out);
    }

    pub(crate) fn type_interrupt(&mut self, out: &mut Outbox) {
        let (job, until) = (out.next_job(), out.now.uptime_ms + TYPED_MS);
        let run = self.run;
        let Some(interrupting) = self.live.interrupting.as_mut() else { return };
        (interrupting.job, interrupting.is_typed, interrupting.until) = (job, false, until);
        interrupting.tries += 1;
        let (what, guard) = (Keystrokes::Keys(interrupting.keys.clone()), interrupting.guard.clone());
        out.push(Effect::Type { run, job, what, guard });
    }

    /// Notes the outcome of typing the keys of an interrupt; returns false if the job is another's.
    pub(crate) fn interrupt_typed(&mut self, job: JobId, outcome: TypingOutcome, out: &mut Outbox) -> bool {
        let until = out.now.uptime_ms + ENDED_MS;
        let Some(interrupting) = self.live.interrupting.as_mut().filter(|known| known.job == job) else {
            return false;
        };
        let failure = match outcome {
            TypingOutcome::Done => {
                (interrupting.is_typed, interrupting.until) = (true, until);
                // A fast program rests before its terminal reports the keys.
                if !self.state().is_busy() {
                    self.correct_rested_turn(TurnEnd::Interrupted, out);
                }
                return true;
            }
            TypingOutcome::Dialog => dialog_open(),
            TypingOutcome::PersonTyping => Failure::new(ErrorCode::HumanTyping, "a person is typing there"),
            TypingOutcome::NoEcho => Failure::new(ErrorCode::NotDelivered, "the terminal reads a secret"),
            TypingOutcome::Gone => Failure::new(ErrorCode::NotRunning, "the agent is over"),
            _ => Failure::new(ErrorCode::NotDelivered, "the keys did not reach the terminal"),
        };
        self.fail_interrupt(failure, out);
        true
    }

    /// Answers an interrupt whose turn is over.
    pub(crate) fn finish_interrupt(&mut self, out: &mut Outbox) {
        if self.state().is_busy() {
            return;
        }
        if let Some(interrupting) = self.live.interrupting.take_if(|interrupting| interrupting.is_typed) {
            self.expect_prompt_back(interrupting.guard.person_quiet_ms, out.now.uptime_ms);
            out.reply(interrupting.ticket, Ok(CommandAnswer::Reply(Reply::Done(Done {}))));
        }
    }

    /// Types the keys again while the turn goes on; after the last try the interrupt fails.
    pub(crate) fn pass_interrupt_deadline(&mut self, now: u64, out: &mut Outbox) {
        let interrupting = self.live.interrupting.as_ref();
        let Some(due) = interrupting.filter(|interrupting| interrupting.until <= now) else { return };
        if due.is_typed && due.tries < TRIES {
            return self.type_interrupt(out);
        }
        let failure = Failure::new(ErrorCode::NotDelivered, "the turn goes on although it was interrupted");
        self.fail_interrupt(failure.hint("qd read shows its screen; qd kill ends the agent"), out);
    }

    /// Answers an interrupt whose run is over.
    pub(crate) fn abandon_interrupt(&mut self, out: &mut Outbox) {
        self.fail_interrupt(Failure::new(ErrorCode::NotRunning, "the agent ended meanwhile"), out);
    }

    pub(crate) fn fail_interrupt(&mut self, failure: Failure, out: &mut Outbox) {
        if let Some(interrupting) = self.live.interrupting.take() {
            out.reply(interrupting.ticket, Err(failure));
        }
    }
}

/// The turn waits for an answer: that ends it, keys would hit the dialog.
pub(crate) fn dialog_open() -> Failure {
    Failure::new(ErrorCode::DialogOpen, "the agent waits for an answer to a dialog")
        .hint("qd inbox shows it; qd answer ITEM deny refuses it")
}

//! Ending an agent's turn by the keys its manifest names.
//!
//! An interrupt is answered when the agent's state shows that the turn is over, never when the keys were typed.

use proto::agent::TurnEnd;
use proto::reply::Done;
use proto::{ErrorCode, Failure, ProcessId, Reply};

use crate::context::Context;
use crate::effect::{CommandAnswer, ComposerIs, Effect, Guard, Keystrokes};
use crate::input::{JobId, Ticket, TypingOutcome};

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

impl Context {
    /// Types the keys that interrupt this agent's turn.
    pub(crate) fn begin_interrupt(
        &mut self,
        id: ProcessId,
        ticket: Ticket,
        keys: Vec<String>,
        human_quiet_ms: u64,
    ) {
        let guard = Guard { dialog: None, composer: ComposerIs::Any, human_quiet_ms };
        let until = self.out.now.uptime_ms + TYPED_MS;
        let job = self.out.next_job();
        let interrupting = Interrupting { job, ticket, keys, guard, tries: 0, is_typed: false, until };
        if let Some(agent) = self.processes.agent_mut(id) {
            agent.live.interrupting = Some(interrupting);
        }
        self.type_interrupt(id);
    }

    pub(crate) fn type_interrupt(&mut self, id: ProcessId) {
        let (job, until) = (self.out.next_job(), self.out.now.uptime_ms + TYPED_MS);
        let Some(process) = self.processes.get_mut(&id) else { return };
        let run = process.key();
        let live = process.agent.as_deref_mut().map(|agent| &mut agent.live);
        let Some(interrupting) = live.and_then(|live| live.interrupting.as_mut()) else { return };
        (interrupting.job, interrupting.is_typed, interrupting.until) = (job, false, until);
        interrupting.tries += 1;
        let (what, guard) = (Keystrokes::Keys(interrupting.keys.clone()), interrupting.guard.clone());
        self.out.push(Effect::Type { run, job, what, guard });
    }

    /// Notes what became of the keys of an interrupt; returns false if the job is another's.
    pub(crate) fn interrupt_typed(&mut self, id: ProcessId, job: JobId, outcome: TypingOutcome) -> bool {
        let until = self.out.now.uptime_ms + ENDED_MS;
        let Some(agent) = self.processes.agent_mut(id) else { return false };
        let Some(interrupting) = agent.live.interrupting.as_mut().filter(|known| known.job == job) else {
            return false;
        };
        let failure = match outcome {
            TypingOutcome::Done => {
                (interrupting.is_typed, interrupting.until) = (true, until);
                // A fast program rests before its terminal reports the keys.
                if !agent.state().is_busy() {
                    self.correct_rested_turn(id, TurnEnd::Interrupted);
                }
                return true;
            }
            TypingOutcome::Dialog => dialog_open(),
            TypingOutcome::HumanTyping => Failure::new(ErrorCode::HumanTyping, "a person is typing there"),
            TypingOutcome::NoEcho => Failure::new(ErrorCode::NotDelivered, "the terminal reads a secret"),
            TypingOutcome::Gone => Failure::new(ErrorCode::NotRunning, "the agent is over"),
            _ => Failure::new(ErrorCode::NotDelivered, "the keys did not reach the terminal"),
        };
        self.fail_interrupt(id, failure);
        true
    }

    /// Answers an interrupt whose turn is over.
    pub(crate) fn finish_interrupt(&mut self, id: ProcessId) {
        let Some(agent) = self.processes.agent_mut(id).filter(|agent| !agent.state().is_busy()) else {
            return;
        };
        let is_typed = agent.live.interrupting.as_ref().is_some_and(|interrupting| interrupting.is_typed);
        if let Some(interrupting) = agent.live.interrupting.take_if(|_| is_typed) {
            self.out.reply(interrupting.ticket, Ok(CommandAnswer::Reply(Reply::Done(Done {}))));
        }
    }

    /// Types the keys again while the turn goes on; says so when they never help.
    pub(crate) fn pass_interrupt_deadline(&mut self, id: ProcessId, now: u64) {
        let interrupting = self.processes.agent(id).and_then(|agent| agent.live.interrupting.as_ref());
        let Some(due) = interrupting.filter(|interrupting| interrupting.until <= now) else { return };
        if due.is_typed && due.tries < TRIES {
            return self.type_interrupt(id);
        }
        let failure = Failure::new(ErrorCode::NotDelivered, "the turn goes on although it was interrupted");
        self.fail_interrupt(id, failure.hint("qd read shows its screen; qd kill ends the agent"));
    }

    /// The run is over, or its entry goes.
    pub(crate) fn abandon_interrupt(&mut self, id: ProcessId) {
        self.fail_interrupt(id, Failure::new(ErrorCode::NotRunning, "the agent ended meanwhile"));
    }

    pub(crate) fn fail_interrupt(&mut self, id: ProcessId, failure: Failure) {
        let interrupting = self.processes.agent_mut(id).and_then(|agent| agent.live.interrupting.take());
        if let Some(interrupting) = interrupting {
            self.out.reply(interrupting.ticket, Err(failure));
        }
    }
}

/// The turn waits for an answer: that ends it, keys would hit the dialog.
pub(crate) fn dialog_open() -> Failure {
    Failure::new(ErrorCode::DialogOpen, "the agent waits for an answer to a dialog")
        .hint("qd inbox shows it; qd answer ITEM deny refuses it")
}

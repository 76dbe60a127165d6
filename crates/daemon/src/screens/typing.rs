//! Types for programs, only when the screen at that very moment allows it.
//!
//! It protects what a person does in the same terminal, and waits for a paste to settle. The screen is caught
//! up and read again before anything is typed. People's keys always pass; only their time is recorded.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use agents::detect::Written;
use engine::effect::{Guard, Keystrokes};
use engine::input::{JobId, ScreenSeen, TypingOutcome};
use engine::{RunFact, RunKey};
use proto::Owner;
use proto::agent::Composer;
use term::{Key, Modes, PastePiece, Screen};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::oneshot::{self, error::TryRecvError};

use super::facts::FactQueue;
use super::log_position::LogPosition;
use super::observe::Observer;
use super::order::{Text, WriteJob, WriteOutcome};
use super::run::Run;
use super::settle::{MESSAGE_LIMIT, Settle};
use super::typing_guard::{TypingContext, obstacle, wanted_by_writer};
use super::worker::Worker;

/// The kernel keeps this many bytes of a line for a child in canonical mode and drops the rest.
pub(crate) const MAX_CANONICAL: usize = 4095;
/// How long a child may take to read what is typed.
const DRAIN: Duration = Duration::from_secs(10);
/// How long typing waits until all output is read: a flood may never be caught up with.
const CATCH_UP: Duration = Duration::from_millis(200);
/// A read this soon after a person's key may not show it yet.
const ECHO: Duration = Duration::from_millis(300);

/// Something to be typed for a program.
pub(crate) struct TypeJob {
    pub(crate) job: JobId,
    pub(crate) what: Keystrokes,
    pub(crate) guard: Guard,
    /// Keeps other writers out until it is done.
    pub(crate) permit: OwnedSemaphorePermit,
}

struct UnderWay {
    job: JobId,
    stage: Stage,
    _permit: OwnedSemaphorePermit,
}

enum Stage {
    /// On its way to the child.
    Draining { outcome: oneshot::Receiver<WriteOutcome>, then: Then },
    /// Quiet required before Enter: since the paste is visible, where it can be.
    Settling(Settle),
}

/// What follows once everything has reached the child.
#[derive(Clone, Copy)]
enum Then {
    /// Nothing.
    Done,
    /// Wait for a stable screen. `will_show`: the composer was seen empty, so the paste will be visible in
    /// it.
    Settle { will_show: bool },
}

/// What is being typed into one run, and when a person last typed.
pub(crate) struct GuardedTyping {
    waiting: VecDeque<(TypeJob, Instant)>,
    under_way: Option<UnderWay>,
    /// When a person last typed.
    person_at: Option<Instant>,
    /// A person has typed since the composer was last seen empty.
    is_persons_draft: bool,
    settle: Duration,
    /// The key that makes a new line in the composer.
    new_line: Option<Key>,
}

/// What typing needs of its run at one moment.
pub(super) struct TypingRun<'r> {
    pub(super) screen: &'r Screen,
    /// Reads the screen, if the run is an agent's.
    pub(super) observer: Option<&'r mut Observer>,
    pub(super) position: LogPosition,
    pub(super) log_end: u64,
    /// The terminal reads lines without echo.
    pub(super) is_secret: bool,
    /// The child has ended.
    pub(super) is_over: bool,
    pub(super) now: Instant,
}

impl TypingRun<'_> {
    /// Returns what the screen shows right now; unknown for a run that is not an agent.
    fn look(&mut self) -> ScreenSeen {
        let Some(observer) = &mut self.observer else { return ScreenSeen::default() };
        observer.look_to_type(self.screen, self.now)
    }

    /// Returns the text of a draft in the composer, at the last look.
    fn written(&self) -> Written {
        self.observer.as_ref().map(|observer| observer.written().clone()).unwrap_or_default()
    }

    /// Returns true if the screen shows all output.
    fn is_caught_up(&self) -> bool {
        self.position.seen() >= self.log_end && !self.screen.is_synchronizing()
    }

    /// Encodes keys for the child's current modes; `None` when a name is not a key.
    fn encode_keys(&self, names: &[String]) -> Option<Vec<u8>> {
        let modes = self.screen.modes();
        let keys: Result<Vec<Key>, _> = names.iter().map(|name| name.parse::<Key>()).collect();
        keys.ok().map(|keys| keys.iter().flat_map(|key| key.encode(&modes)).collect())
    }
}

/// What a run does next for its typing.
pub(super) enum TypingStep {
    /// Write this to the child.
    Write(WriteJob),
    /// Report this outcome.
    Done(JobId, TypingOutcome),
}

impl GuardedTyping {
    pub(crate) fn new(settle: Duration, new_line: Option<Key>) -> Self {
        let (waiting, under_way) = (VecDeque::new(), None);
        Self { waiting, under_way, person_at: None, is_persons_draft: false, settle, new_line }
    }

    /// Adds something to be typed.
    pub(super) fn push(&mut self, job: TypeJob, now: Instant) {
        self.waiting.push_back((job, now + CATCH_UP));
    }

    /// Continues: after output, after a message of the holder, after a deadline. Returns the next step, if
    /// there is one now.
    pub(super) fn next_step(&mut self, run: &mut TypingRun<'_>) -> Option<TypingStep> {
        if let Some(outcome) = self.advance(run)
            && let Some(done) = self.under_way.take()
        {
            return Some(TypingStep::Done(done.job, outcome));
        }
        if self.under_way.is_some() || !self.may_begin(run) {
            return None;
        }
        let (job, _) = self.waiting.pop_front()?;
        Some(self.start(job, run))
    }

    /// Ends all typing because the child has gone.
    pub(super) fn abandon(&mut self, run: RunKey, facts: &mut FactQueue) {
        let waiting = self.waiting.drain(..).map(|(job, _)| job.job);
        let left = self.under_way.take().map(|under_way| under_way.job).into_iter().chain(waiting);
        left.for_each(|job| report_outcome(run, job, TypingOutcome::Gone, facts));
    }

    /// Returns true if nothing is to be typed.
    pub(super) fn is_resting(&self) -> bool {
        self.waiting.is_empty() && self.under_way.is_none()
    }

    /// Returns true if the next job can begin: the screen shows all output, or that has taken too long. While
    /// an earlier log is replayed the screen shows the past.
    fn may_begin(&self, run: &TypingRun<'_>) -> bool {
        let Some((_, latest)) = self.waiting.front() else { return false };
        !run.position.is_replaying() && (run.is_over || *latest <= run.now || run.is_caught_up())
    }

    /// Begins a job, unless something prevents it.
    fn start(&mut self, job: TypeJob, run: &mut TypingRun<'_>) -> TypingStep {
        let obstacle = if run.is_over { Some(TypingOutcome::Gone) } else { self.obstacle(&job.guard, run) };
        if let Some(obstacle) = obstacle {
            return TypingStep::Done(job.job, obstacle);
        }
        let will_show = self.look(run).composer == Composer::Empty;
        let text = match &job.what {
            Keystrokes::Paste(text) => {
                Some((Text::Paste(PastePiece::whole(text)), Then::Settle { will_show }))
            }
            Keystrokes::Keys(names) => run.encode_keys(names).map(|bytes| (Text::Bytes(bytes), Then::Done)),
        };
        let Some((text, then)) = text else { return TypingStep::Done(job.job, TypingOutcome::Partial) };
        let (reply, outcome) = oneshot::channel();
        let (is_prompt, by) = (matches!(then, Then::Settle { .. }), Owner::Orchestrator);
        let (deadline, guard) = (run.now + DRAIN, Some(job.guard));
        let stage = Stage::Draining { outcome, then };
        self.under_way = Some(UnderWay { job: job.job, stage, _permit: job.permit });
        TypingStep::Write(WriteJob { text, is_prompt, deadline, by, guard, key: None, reply })
    }

    /// Advances the job under way; returns its outcome, if it has ended.
    fn advance(&mut self, run: &mut TypingRun<'_>) -> Option<TypingOutcome> {
        let is_hidden =
            matches!(&self.under_way.as_ref()?.stage, Stage::Settling(settle) if settle.is_hidden());
        let is_draft = is_hidden && self.look(run).composer == Composer::Draft;
        let (version, now, quiet) = (run.screen.version(), run.now, self.settle);
        let under_way = self.under_way.as_mut()?;
        match &mut under_way.stage {
            Stage::Draining { outcome, then } => {
                let (is_whole, obstacle) = match outcome.try_recv() {
                    Ok(outcome) => (outcome.written >= outcome.of, outcome.obstacle),
                    Err(TryRecvError::Empty) => return None,
                    Err(TryRecvError::Closed) => (false, None),
                };
                match (is_whole, *then) {
                    _ if run.is_over => return Some(TypingOutcome::Gone),
                    (false, _) if obstacle.is_some() => return obstacle,
                    (false, _) => return Some(TypingOutcome::Partial),
                    (true, Then::Done) => return Some(TypingOutcome::Done),
                    (true, Then::Settle { will_show }) => {
                        let settle = Settle::begin(version, quiet, MESSAGE_LIMIT, now);
                        let settle = if will_show { settle.until_shown() } else { settle };
                        under_way.stage = Stage::Settling(settle);
                    }
                }
                None
            }
            Stage::Settling(_) if run.is_over => Some(TypingOutcome::Gone),
            Stage::Settling(settle) => {
                if is_draft {
                    settle.shown();
                }
                settle.observe(version, now);
                settle.is_over(now).then_some(TypingOutcome::Done)
            }
        }
    }

    /// Returns the obstacle right now, by a fresh read.
    fn obstacle(&mut self, guard: &Guard, run: &mut TypingRun<'_>) -> Option<TypingOutcome> {
        let look = self.look(run);
        let (written, is_secret) = (run.written(), run.is_secret);
        let person_quiet = self.person_at.map(|at| run.now.duration_since(at));
        obstacle(guard, &TypingContext { look: &look, written: &written, is_secret, person_quiet })
    }

    /// Returns the obstacle for a program that writes by itself.
    pub(super) fn obstacle_to_write(
        &mut self,
        guard: &Guard,
        run: &mut TypingRun<'_>,
    ) -> Option<TypingOutcome> {
        let is_described = run.observer.as_ref().is_some_and(|observer| observer.knows_composer());
        let composer = wanted_by_writer(&guard.composer, is_described, self.is_persons_draft);
        self.obstacle(&Guard { composer, ..guard.clone() }, run)
    }

    /// Reads the screen now, and records the read.
    fn look(&mut self, run: &mut TypingRun<'_>) -> ScreenSeen {
        let look = run.look();
        self.looked(&look, run.now);
        look
    }

    /// A person typed.
    pub(crate) fn person_typed(&mut self, now: Instant) {
        self.person_at = Some(now);
        self.is_persons_draft = true;
    }

    /// Records a read of the screen.
    pub(crate) fn looked(&mut self, look: &ScreenSeen, now: Instant) {
        let is_shown = self.person_at.is_none_or(|at| now.duration_since(at) > ECHO);
        if look.composer == Composer::Empty && is_shown {
            self.is_persons_draft = false;
        }
    }

    /// Gives a paste the line ends that the child expects where it accepts no brackets.
    pub(super) fn with_line_ends(&self, text: Text, modes: &Modes) -> Text {
        match (text, &self.new_line) {
            (Text::Paste(piece), Some(key)) => Text::Paste(piece.with_line_end(key.encode(modes))),
            (text, _) => text,
        }
    }

    /// Returns when something is due without an event.
    pub(crate) fn due(&self) -> Option<Instant> {
        let waiting = self.waiting.front().filter(|_| self.under_way.is_none()).map(|(_, latest)| *latest);
        let settling = self.under_way.as_ref().and_then(|under_way| match &under_way.stage {
            Stage::Draining { .. } => None,
            Stage::Settling(settle) => Some(settle.due()),
        });
        waiting.into_iter().chain(settling).min()
    }
}

impl Run {
    /// Adds something to be typed; its outcome is sent as a fact.
    pub(crate) fn begin_typing(&mut self, job: TypeJob, now: Instant, facts: &mut FactQueue) {
        self.typing.push(job, now);
        self.go_on_typing(now, facts);
    }

    /// Does what its typing needs now.
    pub(crate) fn go_on_typing(&mut self, now: Instant, facts: &mut FactQueue) {
        // Every piece of output leads here; the screen is read only when something is to be typed.
        while !self.typing.is_resting() {
            match self.with_typing(now, GuardedTyping::next_step) {
                Some(TypingStep::Write(job)) => self.write(job, now, facts),
                Some(TypingStep::Done(job, outcome)) => report_outcome(self.key(), job, outcome, facts),
                None => return,
            }
        }
    }

    /// Returns why a program may not write by itself now.
    pub(super) fn obstacle_to_write(&mut self, guard: &Guard, now: Instant) -> Option<TypingOutcome> {
        self.with_typing(now, |typing, run| typing.obstacle_to_write(guard, run))
    }

    /// Checks a job that was held while the child was starting: the screen may differ from the one that
    /// allowed it.
    pub(super) fn look_before_releasing(&mut self, now: Instant) {
        let guard = self.input_queue.about_to_go(now);
        if let Some(obstacle) = guard.and_then(|guard| self.obstacle_to_write(&guard, now)) {
            self.input_queue.refuse_held(obstacle);
        }
    }

    /// Runs `act` with what typing needs of this run.
    fn with_typing<T>(
        &mut self,
        now: Instant,
        act: impl FnOnce(&mut GuardedTyping, &mut TypingRun<'_>) -> T,
    ) -> T {
        let mut run = TypingRun {
            screen: &self.handle.screen(),
            observer: self.observer.as_mut(),
            position: self.position,
            log_end: self.handle.ring.end(),
            is_secret: self.handle.is_secret(),
            is_over: self.end.is_over(),
            now,
        };
        act(&mut self.typing, &mut run)
    }
}

impl Worker {
    /// Types into a hosted run; for one that went it reports the failure.
    pub(super) fn type_into(&mut self, run: RunKey, job: TypeJob, now: Instant) {
        let id = job.job;
        if self.with(run, |run, facts| run.begin_typing(job, now, facts)).is_none() {
            report_outcome(run, id, TypingOutcome::Gone, &mut self.facts);
        }
    }
}

fn report_outcome(run: RunKey, job: JobId, outcome: TypingOutcome, facts: &mut FactQueue) {
    facts.push_fact(run, RunFact::TypingDone { job, outcome });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::screens::settle::SETTLE;
    use engine::effect::ComposerIs;
    use tokio::sync::Semaphore;

    #[test]
    fn a_draft_is_a_persons_until_the_composer_was_seen_empty_after_their_last_key() {
        let start = Instant::now();
        let mut typing = GuardedTyping::new(SETTLE, None);
        let empty = ScreenSeen { composer: Composer::Empty, ..ScreenSeen::default() };
        typing.person_typed(start);
        typing.looked(&empty, start + Duration::from_millis(10));
        assert!(typing.is_persons_draft);
        typing.looked(&empty, start + Duration::from_millis(400));
        assert!(!typing.is_persons_draft);
    }

    /// Returns what typing sees of a run whose screen shows the output up to `seen` of `log_end`.
    fn run(screen: &Screen, seen: u64, log_end: u64, now: Instant) -> TypingRun<'_> {
        let position = LogPosition::new(seen, 10, true);
        TypingRun { screen, observer: None, position, log_end, is_secret: false, is_over: false, now }
    }

    fn screen() -> Screen {
        Screen::new(term::GridSize::DEFAULT, term::Limits::default())
    }

    fn paste(number: u64) -> TypeJob {
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let guard = Guard { dialog: None, composer: ComposerIs::Any, person_quiet_ms: 0 };
        TypeJob { job: JobId(number), what: Keystrokes::Paste("text".to_owned()), guard, permit }
    }

    /// Answers a write as a child that has read everything.
    fn read_all(step: Option<TypingStep>) {
        let Some(TypingStep::Write(job)) = step else { panic!("nothing is written") };
        let (written, of) = (4, 4);
        let outcome = WriteOutcome { written, of, was_held: false, obstacle: None, begun: None };
        assert!(job.reply.send(outcome).is_ok());
    }

    #[test]
    fn a_paste_is_done_when_the_screen_has_stood_still_and_the_next_one_begins_then() {
        let (mut typing, mut screen, start) = (GuardedTyping::new(SETTLE, None), screen(), Instant::now());
        typing.push(paste(1), start);
        typing.push(paste(2), start);
        read_all(typing.next_step(&mut run(&screen, 10, 10, start)));
        assert!(typing.next_step(&mut run(&screen, 10, 10, start)).is_none());
        assert_eq!(typing.due(), Some(start + SETTLE));
        screen.feed(b"text");
        let later = start + SETTLE / 2;
        assert!(typing.next_step(&mut run(&screen, 10, 10, later)).is_none());
        assert_eq!(typing.due(), Some(later + SETTLE), "the screen has changed");
        let done = typing.next_step(&mut run(&screen, 10, 10, later + SETTLE));
        assert!(matches!(done, Some(TypingStep::Done(JobId(1), TypingOutcome::Done))));
        read_all(typing.next_step(&mut run(&screen, 10, 10, later + SETTLE)));
    }

    #[test]
    fn typing_waits_for_output_to_be_read_but_not_for_ever_and_never_types_at_the_past() {
        let (mut typing, screen, start) = (GuardedTyping::new(SETTLE, None), screen(), Instant::now());
        typing.push(paste(1), start);
        let late = start + CATCH_UP;
        assert!(typing.next_step(&mut run(&screen, 9, 20, late)).is_none(), "a replay shows the past");
        assert!(typing.next_step(&mut run(&screen, 10, 20, start)).is_none());
        assert_eq!(typing.due(), Some(late));
        read_all(typing.next_step(&mut run(&screen, 10, 20, late)));
    }

    #[test]
    fn a_child_that_has_gone_ends_what_is_under_way() {
        let (mut typing, screen, start) = (GuardedTyping::new(SETTLE, None), screen(), Instant::now());
        typing.push(paste(1), start);
        typing.push(paste(2), start);
        read_all(typing.next_step(&mut run(&screen, 10, 10, start)));
        for job in [1, 2] {
            let mut gone = TypingRun { is_over: true, ..run(&screen, 10, 10, start) };
            let step = typing.next_step(&mut gone);
            assert!(
                matches!(step, Some(TypingStep::Done(JobId(done), TypingOutcome::Gone)) if done == job),
                "{job}"
            );
        }
        assert!(typing.is_resting());
    }
}

//! Types for programs, only when the screen at that very moment allows it.
//!
//! It protects what a person does in the same terminal, and waits for a paste to settle. The screen is caught
//! up and read again before anything is typed. People's keys always pass; only their time is recorded.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use agents::detect::Written;
use engine::effect::{ComposerIs, Guard, Keystrokes};
use engine::input::{JobId, ScreenSeen, TypingOutcome};
use engine::{RunFact, RunKey};
use proto::Owner;
use proto::agent::Composer;
use term::{Key, Modes, PastePiece};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::oneshot::{self, error::TryRecvError};

use super::facts::FactQueue;
use super::order::{Text, WriteJob, WriteOutcome};
use super::run::Run;
use super::worker::Worker;

/// The kernel keeps this many bytes of a line for a child in canonical mode and drops the rest.
pub(crate) const MAX_CANONICAL: usize = 4095;
/// How long a child may take to read what is typed.
const DRAIN: Duration = Duration::from_secs(10);
/// The default time for which the screen must be unchanged after a paste.
pub(crate) const SETTLE: Duration = Duration::from_millis(agents::deliver::LEAST_SETTLE_MS);
/// The longest wait for that: a screen that never stands still has long shown the paste.
const MAX_SETTLE: Duration = Duration::from_secs(5);
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
    pub(crate) turn: OwnedSemaphorePermit,
}

struct UnderWay {
    job: JobId,
    stage: Stage,
    _turn: OwnedSemaphorePermit,
}

enum Stage {
    /// On its way to the child.
    Draining { outcome: oneshot::Receiver<WriteOutcome>, then: Then },
    /// Quiet required before Enter: since the paste is visible, where it can be. A busy program may leave its
    /// screen unchanged for longer than that before it has even read the paste; an Enter then joins it.
    Settling { is_shown: bool, version: u64, still_since: Instant, latest: Instant },
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
    human_at: Option<Instant>,
    /// A person has typed since the composer was last seen empty.
    is_human_draft: bool,
    settle: Duration,
    /// The key that makes a new line in the composer.
    new_line: Option<Key>,
}

impl GuardedTyping {
    pub(crate) fn new(settle: Duration, new_line: Option<Key>) -> Self {
        let (waiting, under_way) = (VecDeque::new(), None);
        Self { waiting, under_way, human_at: None, is_human_draft: false, settle, new_line }
    }

    /// Returns true if nothing is to be typed.
    fn is_resting(&self) -> bool {
        self.waiting.is_empty() && self.under_way.is_none()
    }

    /// A person typed.
    pub(crate) fn human_typed(&mut self, now: Instant) {
        self.human_at = Some(now);
        self.is_human_draft = true;
    }

    /// Records a read of the screen.
    pub(crate) fn looked(&mut self, look: &ScreenSeen, now: Instant) {
        let is_shown = self.human_at.is_none_or(|at| now.duration_since(at) > ECHO);
        if look.composer == Composer::Empty && is_shown {
            self.is_human_draft = false;
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
        let settling = self.under_way.as_ref().and_then(|under_way| match under_way.stage {
            Stage::Draining { .. } => None,
            Stage::Settling { is_shown: false, latest, .. } => Some(latest),
            Stage::Settling { still_since, latest, .. } => Some(latest.min(still_since + self.settle)),
        });
        waiting.into_iter().chain(settling).min()
    }
}

/// What a program's typing depends on.
pub(crate) struct TypingContext<'a> {
    pub(crate) look: &'a ScreenSeen,
    /// The text of a draft in the composer.
    pub(crate) written: &'a Written,
    /// The terminal reads lines without echo.
    pub(crate) is_secret: bool,
    /// How long ago a person typed.
    pub(crate) human_quiet: Option<Duration>,
}

/// Returns why nothing may be typed; `None` when it may.
pub(crate) fn obstacle(guard: &Guard, around: &TypingContext<'_>) -> Option<TypingOutcome> {
    let open = around.look.dialog.as_ref();
    let digest = open.and_then(|evidence| evidence.dialog.as_ref()).map(|dialog| dialog.digest.as_str());
    let is_human_near =
        around.human_quiet.is_some_and(|quiet| quiet < Duration::from_millis(guard.human_quiet_ms));
    match &guard.dialog {
        Some(wanted) if digest != Some(wanted.as_str()) => Some(TypingOutcome::Stale),
        None if open.is_some() => Some(TypingOutcome::Dialog),
        _ if around.is_secret => Some(TypingOutcome::NoEcho),
        _ if is_human_near => Some(TypingOutcome::HumanTyping),
        _ => composer_obstacle(&guard.composer, around),
    }
}

/// Returns the obstacle in the composer, if any.
fn composer_obstacle(wanted: &ComposerIs, around: &TypingContext<'_>) -> Option<TypingOutcome> {
    match (wanted, around.look.composer) {
        (ComposerIs::Any, _)
        | (ComposerIs::NoShell, Composer::Unknown | Composer::Empty | Composer::Draft)
        | (ComposerIs::NoDraft, Composer::Unknown | Composer::Empty)
        | (ComposerIs::Empty, Composer::Empty) => None,
        (_, Composer::Shell) => Some(TypingOutcome::Shell),
        (ComposerIs::NoDraft | ComposerIs::Empty, Composer::Draft) => Some(TypingOutcome::Draft),
        (ComposerIs::Holds(text), Composer::Draft) if around.written.reads_as(text) => None,
        (ComposerIs::Holds(_), Composer::Draft | Composer::Empty) => Some(TypingOutcome::OtherText),
        (ComposerIs::Empty | ComposerIs::Holds(_), Composer::Unknown) => Some(TypingOutcome::NoComposer),
    }
}

impl Run {
    /// Adds something to be typed; its outcome is sent as a fact.
    pub(crate) fn begin_typing(&mut self, job: TypeJob, now: Instant, facts: &mut FactQueue) {
        self.typing.waiting.push_back((job, now + CATCH_UP));
        self.go_on_typing(now, facts);
    }

    /// Continues typing: after output, after a message of the holder, after a deadline.
    pub(crate) fn go_on_typing(&mut self, now: Instant, facts: &mut FactQueue) {
        // Every piece of output leads here; the screen is read only when something is to be typed.
        if self.typing.is_resting() {
            return;
        }
        loop {
            if let Some(outcome) = self.advance_typing(now) {
                if let Some(done) = self.typing.under_way.take() {
                    say_done(self.key(), done.job, outcome, facts);
                }
            } else if self.typing.under_way.is_some() || !self.may_begin(now) {
                return;
            } else if let Some((job, _)) = self.typing.waiting.pop_front() {
                self.start_typing(job, now, facts);
            }
        }
    }

    /// Ends all typing because the child has gone.
    pub(super) fn abandon_typing(&mut self, facts: &mut FactQueue) {
        let waiting = self.typing.waiting.drain(..).map(|(job, _)| job.job);
        let left: Vec<JobId> =
            self.typing.under_way.take().map(|under_way| under_way.job).into_iter().chain(waiting).collect();
        left.into_iter().for_each(|job| say_done(self.key(), job, TypingOutcome::Gone, facts));
    }

    /// Returns true if the next job can begin: the screen shows all output, or that has taken too long. While
    /// an earlier log is replayed the screen shows the past.
    fn may_begin(&self, now: Instant) -> bool {
        let Some((_, latest)) = self.typing.waiting.front() else { return false };
        if self.seen < self.ready_at {
            return false;
        }
        let is_caught_up = self.seen >= self.handle.ring.end() && !self.handle.screen().is_synchronizing();
        self.is_over() || is_caught_up || *latest <= now
    }

    fn start_typing(&mut self, job: TypeJob, now: Instant, facts: &mut FactQueue) {
        let obstacle =
            if self.is_over() { Some(TypingOutcome::Gone) } else { self.obstacle(&job.guard, now) };
        let will_show = self.look_now(now).composer == Composer::Empty;
        if let Some(obstacle) = obstacle {
            return say_done(self.key(), job.job, obstacle, facts);
        }
        let text = match &job.what {
            Keystrokes::Paste(text) => {
                Some((Text::Paste(PastePiece::whole(text)), Then::Settle { will_show }))
            }
            Keystrokes::Keys(names) => self.encode_keys(names).map(|bytes| (Text::Bytes(bytes), Then::Done)),
        };
        let Some((text, then)) = text else {
            return say_done(self.key(), job.job, TypingOutcome::Partial, facts);
        };
        let (reply, outcome) = oneshot::channel();
        let (is_prompt, by) = (matches!(then, Then::Settle { .. }), Owner::Orchestrator);
        let (deadline, guard) = (now + DRAIN, Some(job.guard));
        let write = WriteJob { text, is_prompt, deadline, by, guard, key: None, reply };
        self.typing.under_way =
            Some(UnderWay { job: job.job, stage: Stage::Draining { outcome, then }, _turn: job.turn });
        self.write(write, now, facts);
    }

    /// Encodes keys for the child's current modes; `None` when a name is not a key.
    fn encode_keys(&self, names: &[String]) -> Option<Vec<u8>> {
        let modes = self.handle.screen().modes();
        let keys: Result<Vec<Key>, _> = names.iter().map(|name| name.parse::<Key>()).collect();
        keys.ok().map(|keys| keys.iter().flat_map(|key| key.encode(&modes)).collect())
    }

    /// Advances the job under way; returns its outcome, if it has ended.
    fn advance_typing(&mut self, now: Instant) -> Option<TypingOutcome> {
        let version = self.handle.screen().version();
        let (is_over, settle) = (self.is_over(), self.typing.settle);
        let is_hidden = self
            .typing
            .under_way
            .as_ref()
            .is_some_and(|job| matches!(job.stage, Stage::Settling { is_shown: false, .. }));
        let is_draft = is_hidden && self.look_now(now).composer == Composer::Draft;
        let under_way = self.typing.under_way.as_mut()?;
        match &mut under_way.stage {
            Stage::Draining { outcome, then } => {
                let (is_whole, obstacle) = match outcome.try_recv() {
                    Ok(outcome) => (outcome.written >= outcome.of, outcome.obstacle),
                    Err(TryRecvError::Empty) => return None,
                    Err(TryRecvError::Closed) => (false, None),
                };
                match (is_whole, *then) {
                    _ if is_over => return Some(TypingOutcome::Gone),
                    (false, _) if obstacle.is_some() => return obstacle,
                    (false, _) => return Some(TypingOutcome::Partial),
                    (true, Then::Done) => return Some(TypingOutcome::Done),
                    (true, Then::Settle { will_show }) => {
                        let latest = now + MAX_SETTLE;
                        under_way.stage =
                            Stage::Settling { is_shown: !will_show, version, still_since: now, latest };
                    }
                }
                None
            }
            Stage::Settling { .. } if is_over => Some(TypingOutcome::Gone),
            Stage::Settling { is_shown, version: seen, still_since, latest } => {
                *is_shown |= is_draft;
                if *seen != version {
                    (*seen, *still_since) = (version, now);
                }
                let is_settled = *is_shown && now >= *still_since + settle;
                (is_settled || now >= *latest).then_some(TypingOutcome::Done)
            }
        }
    }

    /// Returns the obstacle right now, by a fresh read.
    pub(crate) fn obstacle(&mut self, guard: &Guard, now: Instant) -> Option<TypingOutcome> {
        let look = self.look_now(now);
        let written = self.observer.as_ref().map(|observer| observer.written().clone()).unwrap_or_default();
        let is_secret = self.handle.is_secret();
        let human_quiet = self.typing.human_at.map(|at| now.duration_since(at));
        obstacle(guard, &TypingContext { look: &look, written: &written, is_secret, human_quiet })
    }

    /// Returns the obstacle for a program that writes by itself. Unlike for mail, its own unsubmitted text is
    /// no obstacle: only a person's draft is.
    pub(crate) fn obstacle_to_write(&mut self, guard: &Guard, now: Instant) -> Option<TypingOutcome> {
        let composer = match &guard.composer {
            ComposerIs::NoDraft if !self.typing.is_human_draft => ComposerIs::NoShell,
            wanted => wanted.clone(),
        };
        self.obstacle(&Guard { composer, ..guard.clone() }, now)
    }

    /// Checks a job that was held while the child was starting: the screen may differ from the one that
    /// allowed it.
    pub(super) fn look_before_releasing(&mut self, now: Instant) {
        let guard = self.input_queue.about_to_go(now);
        if let Some(obstacle) = guard.and_then(|guard| self.obstacle_to_write(&guard, now)) {
            self.input_queue.refuse_held(obstacle);
        }
    }

    /// Records that a person typed into this run.
    pub(crate) fn human_typed(&mut self, now: Instant) {
        self.typing.human_typed(now);
    }
}

impl Worker {
    /// Types into a hosted run; for one that went it reports the failure.
    pub(super) fn type_into(&mut self, run: RunKey, job: TypeJob, now: Instant) {
        let id = job.job;
        if self.with(run, |run, facts| run.begin_typing(job, now, facts)).is_none() {
            say_done(run, id, TypingOutcome::Gone, &mut self.facts);
        }
    }
}

fn say_done(run: RunKey, job: JobId, outcome: TypingOutcome, facts: &mut FactQueue) {
    facts.push_fact(run, RunFact::TypingDone { job, outcome });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::agent::{Dialog, Source};
    use proto::{AgentState, Evidence};

    fn guard() -> Guard {
        Guard { dialog: None, composer: ComposerIs::Empty, human_quiet_ms: 3_000 }
    }

    fn dialog(digest: &str) -> Evidence {
        let open =
            Dialog { digest: digest.to_owned(), title: String::new(), body: String::new(), options: vec![] };
        Evidence { dialog: Some(open), ..Evidence::new(Source::Dialog, "ask", Some(AgentState::Blocked)) }
    }

    fn obstacle_with(
        guard: &Guard,
        look: &ScreenSeen,
        is_secret: bool,
        quiet_ms: Option<u64>,
    ) -> Option<TypingOutcome> {
        let human_quiet = quiet_ms.map(Duration::from_millis);
        obstacle(guard, &TypingContext { look, written: &Written::default(), is_secret, human_quiet })
    }

    fn seen(composer: Composer) -> ScreenSeen {
        ScreenSeen { composer, ..ScreenSeen::default() }
    }

    #[test]
    fn c17_a_message_is_pasted_only_into_a_composer_that_is_seen_and_empty() {
        let obstacle = |composer| obstacle_with(&guard(), &seen(composer), false, None);
        assert_eq!(obstacle(Composer::Empty), None);
        assert_eq!(obstacle(Composer::Unknown), Some(TypingOutcome::NoComposer));
        assert_eq!(obstacle(Composer::Shell), Some(TypingOutcome::Shell));
        assert_eq!(obstacle(Composer::Draft), Some(TypingOutcome::Draft));
    }

    #[test]
    fn c17_enter_is_pressed_only_when_the_composer_holds_the_text_it_is_meant_for() {
        let enter = Guard { composer: ComposerIs::Holds("fix it".to_owned()), ..guard() };
        let obstacle = |composer| obstacle_with(&enter, &seen(composer), false, None);
        assert_eq!(obstacle(Composer::Draft), Some(TypingOutcome::OtherText), "another text");
        assert_eq!(obstacle(Composer::Empty), Some(TypingOutcome::OtherText));
        assert_eq!(obstacle(Composer::Unknown), Some(TypingOutcome::NoComposer));
        assert_eq!(obstacle(Composer::Shell), Some(TypingOutcome::Shell));
    }

    #[test]
    fn c17_what_a_program_types_by_itself_never_reaches_a_shell_mode() {
        for composer in [ComposerIs::NoDraft, ComposerIs::NoShell] {
            let write = Guard { composer, ..guard() };
            assert_eq!(
                obstacle_with(&write, &seen(Composer::Shell), false, None),
                Some(TypingOutcome::Shell)
            );
            assert_eq!(obstacle_with(&write, &seen(Composer::Unknown), false, None), None);
        }
    }

    #[test]
    fn c3_a_program_types_neither_into_a_dialog_nor_over_a_draft_nor_into_a_secret() {
        let clear = ScreenSeen { composer: Composer::Empty, ..ScreenSeen::default() };
        let draft = ScreenSeen { composer: Composer::Draft, ..ScreenSeen::default() };
        let asking = ScreenSeen { dialog: Some(dialog("d1")), ..ScreenSeen::default() };
        assert_eq!(obstacle_with(&guard(), &clear, false, None), None);
        assert_eq!(obstacle_with(&guard(), &draft, false, None), Some(TypingOutcome::Draft));
        assert_eq!(obstacle_with(&guard(), &asking, false, None), Some(TypingOutcome::Dialog));
        assert_eq!(obstacle_with(&guard(), &clear, true, None), Some(TypingOutcome::NoEcho));
        assert_eq!(obstacle_with(&guard(), &clear, false, Some(2_999)), Some(TypingOutcome::HumanTyping));
        assert_eq!(obstacle_with(&guard(), &clear, false, Some(3_000)), None);
    }

    #[test]
    fn c3_an_answer_reaches_only_the_dialog_it_names() {
        let answer = Guard { dialog: Some("d1".to_owned()), composer: ComposerIs::Any, human_quiet_ms: 0 };
        let asking = |digest| ScreenSeen { dialog: Some(dialog(digest)), ..ScreenSeen::default() };
        assert_eq!(obstacle_with(&answer, &asking("d1"), false, None), None);
        assert_eq!(obstacle_with(&answer, &asking("d2"), false, None), Some(TypingOutcome::Stale));
        assert_eq!(obstacle_with(&answer, &ScreenSeen::default(), false, None), Some(TypingOutcome::Stale));
    }

    #[test]
    fn a_draft_is_a_persons_until_the_composer_was_seen_empty_after_their_last_key() {
        let start = Instant::now();
        let mut typing = GuardedTyping::new(SETTLE, None);
        let empty = ScreenSeen { composer: Composer::Empty, ..ScreenSeen::default() };
        typing.human_typed(start);
        typing.looked(&empty, start + Duration::from_millis(10));
        assert!(typing.is_human_draft);
        typing.looked(&empty, start + Duration::from_millis(400));
        assert!(!typing.is_human_draft);
    }
}

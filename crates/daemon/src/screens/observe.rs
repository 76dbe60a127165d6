//! Reads an agent's screen when it changes, at a limited rate, and reports what is new to the engine. A
//! [`Detector`] interprets the screen. Runs that are not agents have no observer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agents::detect::Written;
use agents::{Detector, StreamEvidence};
use engine::RunFact;
use engine::input::{Launched, ScreenSeen};
use term::Screen;

use super::facts::FactQueue;
use super::run::Run;
use crate::clock;

/// How often a changing screen is read; its first change after a pause at once, and its last always.
const LOOK: Duration = Duration::from_millis(50);
/// Rules that failed this often are not applied any more.
const MAX_FAILURES: u32 = 8;

/// What a worker needs for an agent's run.
pub(crate) struct ObservedAgent {
    /// `None` when its screen cannot be read.
    pub(crate) detector: Option<Detector>,
    /// What is known from the launch.
    pub(crate) launched: Launched,
    /// How long the screen must be unchanged between a paste and the key that submits it.
    pub(crate) settle: Duration,
}

/// Looks at one screen.
pub(crate) struct Observer {
    detector: Detector,
    looked_at: Option<Instant>,
    due: Option<Instant>,
    /// The result of the last read.
    shown: ScreenSeen,
    /// The text of a draft in the composer, at the last read.
    written: Written,
    /// What the engine has got.
    said: Option<ScreenSeen>,
    /// A revised report that was not sent yet.
    revised: Option<RunFact>,
    /// How often its rules failed.
    failures: u32,
}

impl Observer {
    pub(crate) fn new(detector: Detector) -> Self {
        Self {
            detector,
            looked_at: None,
            due: None,
            shown: ScreenSeen::default(),
            written: Written::default(),
            said: None,
            revised: None,
            failures: 0,
        }
    }

    /// Replaces the rules: everything is read again.
    pub(crate) fn replace(&mut self, detector: Detector, now: Instant) {
        self.detector = detector;
        self.failures = 0;
        self.due = Some(now);
    }

    /// Returns the facts from what the stream reported.
    pub(crate) fn hear(&mut self, news: &[term::Fact]) -> Vec<RunFact> {
        let hear =
            |detector: &mut Detector| news.iter().filter_map(|fact| detector.hear(fact)).map(fact).collect();
        self.attempt(hear).unwrap_or_default()
    }

    /// Reads a screen that may have changed, now or soon; returns what is new.
    pub(crate) fn changed(&mut self, screen: &Screen, now: Instant) -> Vec<RunFact> {
        if screen.is_synchronizing() {
            // The update is incomplete; its end, or its time limit, leads back here.
            return Vec::new();
        }
        if let Some(next) = self.looked_at.map(|at| at + LOOK).filter(|next| *next > now) {
            let owed = self.due.map_or(next, |due| due.max(next));
            self.due = Some(owed);
            return Vec::new();
        }
        self.look_now(screen, now);
        self.news()
    }

    /// Reads the screen now, whatever the rate.
    pub(crate) fn look_now(&mut self, screen: &Screen, now: Instant) -> &ScreenSeen {
        self.due = None;
        let looked = self.attempt(|detector| {
            let mut look = detector.look(screen)?;
            detector.note_quota(&mut look.seen, &clock::local());
            Some(look)
        });
        if looked.is_none() {
            // What it cannot read is unknown.
            (self.looked_at, self.shown) = (Some(now), ScreenSeen::default());
            self.written = Written::default();
        }
        if let Some(look) = looked.flatten() {
            self.looked_at = Some(now);
            self.written = look.written;
            self.shown = look.seen;
            self.revised = self.detector.revised().map(fact).or(self.revised.take());
        }
        &self.shown
    }

    /// Reads the screen now for a program that types. The engine gets it too, at the next opportunity: what
    /// blocks the typing is news.
    pub(crate) fn look_to_type(&mut self, screen: &Screen, now: Instant) -> ScreenSeen {
        let look = self.look_now(screen, now).clone();
        self.due = self.said.as_ref().is_none_or(|said| *said != look).then_some(now);
        look
    }

    /// Handles another screen, whose content is unknown until it is read; returns what is new.
    pub(crate) fn forget(&mut self, now: Instant) -> Vec<RunFact> {
        (self.shown, self.due) = (ScreenSeen::default(), Some(now));
        self.news()
    }

    /// Returns what the engine has not got yet.
    pub(crate) fn news(&mut self) -> Vec<RunFact> {
        let is_new = self.said.as_ref() != Some(&self.shown);
        let look = is_new.then(|| RunFact::ScreenSeen(Box::new(self.shown.clone())));
        if is_new {
            self.said = Some(self.shown.clone());
        }
        self.revised.take().into_iter().chain(look).collect()
    }

    /// Applies the rules. Rules that panic cost their agent its state, not its screen; returns `None` if they
    /// did, or have too often.
    fn attempt<T>(&mut self, judge: impl FnOnce(&mut Detector) -> T) -> Option<T> {
        if self.failures >= MAX_FAILURES {
            return None;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| judge(&mut self.detector)));
        if outcome.is_err() {
            self.failures += 1;
            tracing::error!(failures = self.failures, "the rules that read an agent's screen failed");
        }
        outcome.ok()
    }

    /// Returns true if its rules say how the composer looks.
    pub(crate) fn knows_composer(&self) -> bool {
        self.detector.knows_composer()
    }

    /// Returns the text of a draft in the composer, at the last read.
    pub(crate) fn written(&self) -> &Written {
        &self.written
    }

    /// Returns when a read is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }
}

fn fact(heard: StreamEvidence) -> RunFact {
    match heard {
        StreamEvidence::Evidence(evidence) => RunFact::Evidence(evidence),
        StreamEvidence::Withdrawn(source) => RunFact::Withdrawn(source),
    }
}

impl Run {
    /// Reports what a restored screen shows, before anything new is fed: it has reports that an earlier
    /// daemon received.
    pub(super) fn begin_observing(&mut self, now: Instant, facts: &mut FactQueue) {
        let handle = Arc::clone(&self.handle);
        let screen = handle.screen();
        let reports: Vec<term::Fact> =
            screen.program_status().iter().cloned().map(term::Fact::ProgramStatus).collect();
        self.observe(&screen, &reports, now, facts);
    }

    /// Processes what the stream reported and reads the screen. While an earlier log is replayed the screen
    /// shows the past, and is not read.
    pub(super) fn observe(
        &mut self,
        screen: &Screen,
        news: &[term::Fact],
        now: Instant,
        facts: &mut FactQueue,
    ) {
        let (key, is_replaying) = (self.key(), self.position.is_replaying());
        let Some(observer) = &mut self.observer else { return };
        let from_stream = observer.hear(news);
        let looked = if is_replaying { Vec::new() } else { observer.changed(screen, now) };
        if !looked.is_empty() {
            self.typing.looked(&observer.shown, now);
        }
        from_stream.into_iter().chain(looked).for_each(|fact| facts.push_fact(key, fact));
    }

    /// Handles another screen: what it shows is unknown until it is read again.
    pub(super) fn look_anew(&mut self, now: Instant, facts: &mut FactQueue) {
        let key = self.key();
        let Some(observer) = &mut self.observer else { return };
        observer.forget(now).into_iter().for_each(|news| facts.push_fact(key, news));
    }

    /// Applies other rules from now on.
    pub(super) fn observe_with(&mut self, detector: Detector, now: Instant) {
        if let Some(observer) = &mut self.observer {
            observer.replace(detector, now);
        }
    }

    /// Reports what the screen shows at the end, whatever the rate.
    pub(super) fn say_last_look(&mut self, now: Instant, facts: &mut FactQueue) {
        let (key, handle) = (self.key(), Arc::clone(&self.handle));
        let Some(observer) = &mut self.observer else { return };
        observer.look_now(&handle.screen(), now);
        observer.news().into_iter().for_each(|news| facts.push_fact(key, news));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents::Manifest;
    use term::{GridSize, Limits};

    fn screen() -> Screen {
        Screen::new(GridSize::clamped(80, 24), Limits::default())
    }

    fn observer() -> Observer {
        Observer::new(Detector::new(&Manifest::default()).unwrap())
    }

    #[test]
    fn the_first_change_is_looked_at_at_once_and_the_last_one_soon() {
        let (mut screen, mut observer, start) = (screen(), observer(), Instant::now());
        screen.feed(b"a");
        assert!(observer.changed(&screen, start).len() == 1);
        screen.feed(b"b");
        assert!(observer.changed(&screen, start + Duration::from_millis(10)).is_empty());
        assert_eq!(observer.due(), Some(start + LOOK));
        screen.feed(b"c");
        assert!(observer.changed(&screen, start + Duration::from_millis(20)).is_empty());
        assert_eq!(observer.due(), Some(start + LOOK));
        assert!(observer.changed(&screen, start + LOOK).is_empty());
        assert_eq!(observer.due(), None);
    }

    #[test]
    fn nothing_is_said_twice() {
        let (mut screen, mut observer, start) = (screen(), observer(), Instant::now());
        screen.feed(b"a");
        assert!(observer.changed(&screen, start).len() == 1);
        screen.feed(b"b");
        assert!(observer.changed(&screen, start + LOOK).is_empty());
    }

    #[test]
    fn c9_rules_that_fail_are_survived_and_asked_no_longer_after_a_few_times() {
        let mut observer = observer();
        for _ in 0..MAX_FAILURES {
            assert_eq!(observer.attempt(|_| 7), Some(7));
            assert_eq!(observer.attempt(|_| -> u8 { std::panic::resume_unwind(Box::new("a rule")) }), None);
        }
        assert_eq!(observer.attempt(|_| 7), None);
        let (screen, now) = (screen(), Instant::now());
        assert_eq!(*observer.look_now(&screen, now), ScreenSeen::default());
        observer.replace(Detector::new(&Manifest::default()).unwrap(), now);
        assert_eq!(observer.attempt(|_| 7), Some(7));
    }

    #[test]
    fn half_a_picture_is_not_looked_at() {
        let (mut screen, mut observer, start) = (screen(), observer(), Instant::now());
        screen.feed(b"\x1b[?2026hhalf");
        assert!(observer.changed(&screen, start).is_empty());
        screen.feed(b"\x1b[?2026l");
        assert!(observer.changed(&screen, start).len() == 1);
    }
}

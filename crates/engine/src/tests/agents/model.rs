//! A model of a vendor's TUI with people around it, driven by random schedules: whatever happens, a message is
//! submitted at most once, a receipt that says so is right, and nobody's draft or dialog is touched.
//!
//! The model swallows Enter for 50 ms after a paste (C4), opens dialogs, works by itself, tells late what it shows, and
//! is typed into by a person (C3). In one world its daemon dies and is started again from its records (S1).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use proto::agent::{Composer, Delivery, MailId, Source};
use proto::{AgentState, Evidence, Owner};

use super::scene::{Scene, agent, dialog, saved};
use crate::input::{HookMoment, HookNotice};
use crate::tests::stage::Stage;
use crate::{
    Caller, Command, ComposerIs, Config, Effect, Engine, Guard, Input, JobId, Keystrokes, Launched, RunFact,
    ScreenSeen, TypingOutcome,
};

/// Enter within this time after a paste becomes a line break.
const SWALLOW_MS: u64 = 50;

/// What kind of world it is; chances are in a thousand per tick of 50 ms.
#[derive(Clone, Copy)]
struct World {
    person: u64,
    dialogs: u64,
    own_work: u64,
    crashes: u64,
    /// The program reports its state; otherwise only the screen shows it.
    reports: bool,
    /// A hook marks each prompt.
    hooks: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Tick,
    Type(u64),
    Done(u64),
    Tell,
    Look,
    Report,
    Hook,
    PersonSeen,
    WorkOver(u64),
}

struct Model {
    scene: Scene,
    world: World,
    seed: u64,
    queue: BinaryHeap<Reverse<(u64, u64, Happening)>>,
    order: u64,
    /// Effects already looked at.
    seen: usize,
    jobs: HashMap<u64, (Keystrokes, Guard)>,
    outcomes: HashMap<u64, TypingOutcome>,
    /// What stands in the composer, and whether a person wrote some of it.
    composer: String,
    has_persons_text: bool,
    pasted_at: Option<u64>,
    dialog: Option<u64>,
    dialogs: u64,
    /// The turn that runs; 0: none.
    work: u64,
    works: u64,
    person_at: Option<u64>,
    told_at: Option<u64>,
    /// Every prompt the program took.
    submitted: Vec<String>,
    mails: Vec<(MailId, String)>,
    is_calm: bool,
    swallowed: u64,
}

impl Model {
    fn new(world: World, seed: u64) -> Self {
        let mut model = Self {
            scene: Scene::with(agent("a"), launched(world)),
            world,
            seed,
            queue: BinaryHeap::new(),
            order: 0,
            seen: 0,
            jobs: HashMap::new(),
            outcomes: HashMap::new(),
            composer: String::new(),
            has_persons_text: false,
            pasted_at: None,
            dialog: None,
            dialogs: 0,
            work: 0,
            works: 0,
            person_at: None,
            told_at: None,
            submitted: Vec::new(),
            mails: Vec::new(),
            is_calm: false,
            swallowed: 0,
        };
        model.after(0, Happening::Look);
        model.after(0, Happening::Report);
        model.after(0, Happening::Tick);
        model
    }

    fn random(&mut self, below: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % below
    }

    fn now(&self) -> u64 {
        self.scene.stage.now
    }

    fn after(&mut self, ms: u64, what: Happening) {
        self.order += 1;
        let at = self.now() + ms;
        self.queue.push(Reverse((at, self.order, what)));
    }

    /// Something on the screen changed; it is told a little later.
    fn changed(&mut self) {
        let (look, report) = (1 + self.random(60), 1 + self.random(30));
        self.after(look, Happening::Look);
        self.after(report, Happening::Report);
    }

    /// Lives until nothing is left to happen before this moment.
    fn live_until(&mut self, end: u64) {
        loop {
            self.take_effects();
            let due = self.scene.stage.engine.next_deadline().filter(|due| *due <= end);
            let next = self.queue.peek().map(|Reverse((at, ..))| *at).filter(|at| *at <= end);
            match (next, due) {
                (None, None) => break,
                (Some(at), due) if due.is_none_or(|due| at <= due) => {
                    let Some(Reverse((_, _, what))) = self.queue.pop() else { break };
                    self.scene.stage.now = at.max(self.now());
                    self.happen(what);
                }
                (_, Some(due)) => {
                    self.scene.stage.now = due.max(self.now());
                    self.scene.stage.input(Input::DeadlinePassed);
                }
                (Some(_), None) => break,
            }
        }
        self.scene.stage.now = end;
    }

    /// Typing that was ordered reaches the terminal a little later.
    fn take_effects(&mut self) {
        let new: Vec<(JobId, Keystrokes, Guard)> = self.scene.stage.effects[self.seen..]
            .iter()
            .filter_map(|effect| match effect {
                Effect::Type { job, what, guard, .. } => Some((*job, what.clone(), guard.clone())),
                _ => None,
            })
            .collect();
        self.seen = self.scene.stage.effects.len();
        for (job, what, guard) in new {
            self.jobs.insert(job.0, (what, guard));
            let delay = self.random(30);
            self.after(delay, Happening::Type(job.0));
        }
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::Tick => self.tick(),
            Happening::Type(job) => self.type_job(job),
            Happening::Done(job) => {
                if let Some(outcome) = self.outcomes.remove(&job) {
                    self.scene.fact(RunFact::TypingDone { job: JobId(job), outcome });
                }
            }
            Happening::Tell => {
                let text = format!("message-{}-", self.mails.len());
                let mail = self.scene.tell(&text);
                self.mails.push((mail, text));
            }
            Happening::Look => self.look(),
            Happening::Report => self.report(),
            Happening::Hook => {
                let working = Evidence::new(Source::Hook, "prompt", Some(AgentState::Working));
                let notice = HookNotice {
                    evidence: Some(working),
                    moment: HookMoment::PromptSubmitted { prompt: None },
                };
                let caller = Caller::Process(self.scene.run);
                self.scene.stage.ask_as(caller, Command::Hook(Box::new(notice)));
            }
            Happening::PersonSeen => {
                self.scene.fact(RunFact::Typed { by: Owner::User, viewer: None });
            }
            Happening::WorkOver(work) if work == self.work => {
                self.work = 0;
                self.changed();
            }
            Happening::WorkOver(_) => {}
        }
    }

    fn state(&self) -> AgentState {
        match (self.dialog, self.work) {
            (Some(_), _) => AgentState::Blocked,
            (None, 0) => AgentState::Idle,
            (None, _) => AgentState::Working,
        }
    }

    fn look(&mut self) {
        let composer = match (self.dialog, self.composer.is_empty()) {
            (Some(_), _) => Composer::Unknown,
            (None, true) => Composer::Empty,
            (None, false) => Composer::Draft,
        };
        let works = if self.work == 0 { AgentState::Idle } else { AgentState::Working };
        let look = ScreenSeen {
            screen: Some(Evidence::new(Source::Screen, "screen", Some(works))),
            dialog: self.dialog.map(|dialog_number| dialog(&format!("d{dialog_number}"))),
            composer,
            ..ScreenSeen::default()
        };
        self.scene.fact(RunFact::ScreenSeen(Box::new(look)));
    }

    fn report(&mut self) {
        if self.world.reports {
            let state = self.state();
            self.scene.report(state);
        }
    }

    /// The typist looks at the screen of that very moment.
    fn type_job(&mut self, job: u64) {
        let Some((what, guard)) = self.jobs.remove(&job) else { return };
        let quiet_since = self.now().saturating_sub(guard.person_quiet_ms);
        let is_persons = guard.person_quiet_ms > 0 && self.person_at.is_some_and(|at| at >= quiet_since);
        let outcome = match () {
            () if guard.dialog.is_none() && self.dialog.is_some() => TypingOutcome::Dialog,
            () if guard.composer == ComposerIs::Empty && !self.composer.is_empty() => TypingOutcome::Draft,
            () if matches!(&guard.composer, ComposerIs::Holds(text) if text.trim() != self.composer.trim()) => {
                TypingOutcome::OtherText
            }
            () if is_persons => TypingOutcome::PersonTyping,
            () => TypingOutcome::Done,
        };
        let mut settle = self.random(10);
        if outcome == TypingOutcome::Done {
            settle = self.type_keys(&what);
        }
        self.outcomes.insert(job, outcome);
        self.after(settle, Happening::Done(job));
    }

    /// Keys reach the program; how long it takes until they are said to be done.
    fn type_keys(&mut self, what: &Keystrokes) -> u64 {
        assert!(self.dialog.is_none(), "typed into a dialog");
        match what {
            Keystrokes::Paste(text) => {
                assert!(self.composer.is_empty(), "pasted over {:?}", self.composer);
                self.composer.push_str(text);
                self.pasted_at = Some(self.now());
                self.changed();
                // Less than the daemon waits: the first Enter is sometimes swallowed.
                self.random(100)
            }
            Keystrokes::Keys(keys) => {
                assert_eq!(keys, &["enter"]);
                assert!(!self.has_persons_text, "sent a person's draft: {:?}", self.composer);
                if self.pasted_at.is_some_and(|at| self.now() < at + SWALLOW_MS) {
                    self.composer.push('\n');
                    self.swallowed += 1;
                    self.changed();
                } else {
                    self.submit();
                }
                self.random(10)
            }
        }
    }

    fn submit(&mut self) {
        if self.composer.is_empty() {
            return;
        }
        self.submitted.push(std::mem::take(&mut self.composer));
        self.has_persons_text = false;
        self.pasted_at = None;
        self.begin_work();
        if self.world.hooks {
            let delay = self.random(80);
            self.after(delay, Happening::Hook);
        }
    }

    fn begin_work(&mut self) {
        self.works += 1;
        self.work = self.works;
        let lasts = 100 + self.random(3_000);
        self.after(lasts, Happening::WorkOver(self.work));
        self.changed();
    }

    fn tick(&mut self) {
        self.after(50, Happening::Tick);
        let chance = |model: &mut Self, per_mille: u64| !model.is_calm && model.random(1_000) < per_mille;
        if chance(self, self.world.dialogs) && self.dialog.is_none() {
            self.dialogs += 1;
            self.dialog = Some(self.dialogs);
            self.changed();
        }
        if self.dialog.is_some() && (self.is_calm || self.random(20) == 0) {
            self.person_answers();
        }
        if chance(self, self.world.own_work) && self.work == 0 && self.dialog.is_none() {
            self.begin_work();
        }
        // Nobody reads a screen and decides in less.
        let has_read = self.person_at.is_none_or(|at| self.now() > at + 250);
        if has_read && chance(self, self.world.person) {
            self.person_acts();
        }
        let is_left = self.has_persons_text || self.scene.view().mail > 0 && self.is_resting();
        if self.is_calm && is_left && !self.composer.is_empty() && self.dialog.is_none() {
            self.person_clears();
        }
        // A person's keystroke that the dead daemon had not heard of is the one thing a restart cannot know.
        let is_private = self.person_at.is_none_or(|at| self.now() > at + 200);
        if is_private && chance(self, self.world.crashes) {
            self.crash();
        }
        if chance(self, 40) && self.mails.len() < 40 {
            self.after(0, Happening::Tell);
        }
    }

    /// Nothing is on its way: what stands in the composer stays there until a person takes it out.
    fn is_resting(&self) -> bool {
        let agent = self.scene.stage.engine.ctx.processes.agent(self.scene.id()).expect("an agent");
        agent.live.progress.phase == crate::mail::delivery::Phase::None
    }

    fn person_touches(&mut self) {
        self.person_at = Some(self.now());
        // The first key after a pause is told at once, before anything it does can be seen.
        if self.told_at.is_none_or(|at| self.now() > at + 50) {
            self.told_at = Some(self.now());
            self.after(0, Happening::PersonSeen);
        }
        self.changed();
    }

    fn person_answers(&mut self) {
        self.dialog = None;
        self.person_touches();
    }

    fn person_clears(&mut self) {
        self.composer.clear();
        self.has_persons_text = false;
        self.pasted_at = None;
        self.person_touches();
    }

    fn person_acts(&mut self) {
        if self.dialog.is_some() {
            return self.person_answers();
        }
        match self.random(4) {
            0 if !self.composer.is_empty() => {
                self.person_touches();
                self.submit();
            }
            1 if !self.composer.is_empty() => self.person_clears(),
            _ => {
                self.composer.push_str("rm -rf ");
                self.has_persons_text = true;
                self.person_touches();
            }
        }
    }

    /// The daemon dies: what it had ordered may or may not still happen, what was on its way to it is lost.
    fn crash(&mut self) {
        let jobs: Vec<u64> = self.jobs.keys().copied().collect();
        for job in jobs {
            if self.random(2) == 0 {
                self.type_job(job);
            }
        }
        self.jobs.clear();
        self.outcomes.clear();
        let is_news = |what: &Happening| matches!(what, Happening::Tick | Happening::WorkOver(_));
        self.queue.retain(|Reverse((.., what))| is_news(what));
        let saved = saved(&self.scene.stage.effects);
        let record =
            saved.processes.iter().find(|record| record.id == self.scene.id()).expect("recorded").clone();
        let config = Config { seed: self.seed, ..Config::default() };
        let mut stage = Stage::with(Engine::restore(config, saved));
        stage.now = self.now() + 200;
        // The records of the dead daemon are still the records.
        stage
            .effects
            .extend(self.scene.stage.effects.drain(..).filter(|effect| matches!(effect, Effect::Record(_))));
        self.seen = stage.effects.len();
        stage.input(Input::Adopted { record: Box::new(record), pid: 100, exit: None });
        self.scene.stage = stage;
        self.scene.fact(RunFact::Launched(launched(self.world)));
        self.changed();
    }

    /// Everybody leaves it alone until nothing is left to be delivered.
    fn calm_down(&mut self) {
        self.is_calm = true;
        for _ in 0..100 {
            if self.scene.view().mail == 0 {
                return;
            }
            self.live_until(self.now() + 5_000);
        }
    }

    fn check(&mut self, seed: u64) -> Tally {
        let mut tally = Tally { swallowed: self.swallowed, ..Tally::default() };
        for (mail, text) in self.mails.clone() {
            let times: usize = self.submitted.iter().map(|sent| sent.matches(&text).count()).sum();
            assert!(times <= 1, "life {seed}: {text} was submitted {times} times");
            match self.scene.delivery(mail) {
                Delivery::Submitted { turn } => {
                    assert_eq!(times, 1, "life {seed}: {text} is said to be submitted and is not");
                    assert!(turn > 0);
                    tally.submitted += 1;
                }
                Delivery::Refused { .. } | Delivery::Unknown { .. } => tally.refused += 1,
                other => panic!("life {seed}: {text} is still {other:?}"),
            }
        }
        tally
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    submitted: u64,
    refused: u64,
    swallowed: u64,
}

fn launched(world: World) -> Launched {
    Launched { confirms_prompts: world.reports || world.hooks, ..Launched::default() }
}

/// Lives many lives in one world.
fn live(world: World, lives: u64) -> Tally {
    let lives = lives * testkit::process_scan::scale() as u64;
    let mut total = Tally::default();
    for seed in 0..lives {
        let mut model = Model::new(world, seed);
        let end = model.now() + 60_000;
        model.live_until(end);
        model.calm_down();
        let tally = model.check(seed);
        total.submitted += tally.submitted;
        total.refused += tally.refused;
        total.swallowed += tally.swallowed;
    }
    total
}

const CALM: World = World { person: 0, dialogs: 0, own_work: 0, crashes: 0, reports: true, hooks: false };

#[test]
fn c4_every_message_is_submitted_exactly_once_although_enter_is_swallowed() {
    for (reports, hooks) in [(true, false), (false, true), (false, false), (true, true)] {
        let tally = live(World { reports, hooks, ..CALM }, 30);
        println!("reports {reports}, hooks {hooks}: {tally:?}");
        assert!(tally.submitted >= 1_000, "{tally:?}");
        assert_eq!(tally.refused, 0, "{tally:?}");
        assert!(tally.swallowed > 100, "the hazard did not happen: {tally:?}");
    }
}

#[test]
fn c3_no_dialog_and_no_draft_is_ever_touched_whatever_people_and_agents_do() {
    for (reports, hooks) in [(true, false), (false, true), (false, false)] {
        let world = World { person: 30, dialogs: 10, own_work: 10, reports, hooks, ..CALM };
        let tally = live(world, 30);
        println!("reports {reports}, hooks {hooks}: {tally:?}");
        assert!(tally.submitted >= 1_000, "{tally:?}");
        assert!(tally.refused * 10 <= tally.submitted, "{tally:?}");
    }
}

#[test]
fn s1_nothing_is_submitted_twice_although_the_daemon_dies_again_and_again() {
    for (reports, hooks) in [(true, false), (false, true), (false, false)] {
        let world = World { crashes: 15, dialogs: 5, own_work: 5, reports, hooks, ..CALM };
        let tally = live(world, 30);
        println!("reports {reports}, hooks {hooks}: {tally:?}");
        assert!(tally.submitted >= 1_000, "{tally:?}");
    }
}

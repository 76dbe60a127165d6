//! Who is told of what: a process hears of what it could ask for, a person of everything.

use proto::agent::{InboxItem, ItemKind};
use proto::project::Project;
use proto::request::{Grant, Spawn};
use proto::timers::{TimerKind, TimerStatus, TimerView};
use proto::{ErrorCode, Event, ProcessView};

use super::agents::scene::{agent, saved, tell};
use super::stage::{Stage, command, target};
use crate::{Audience, Caller, Command, Effect, Input, Principal, RunKey, SpawnOrder, Subscriber};

/// A lead with a child and a grandchild, a stranger in the same workspace, and one in another.
struct Hall {
    stage: Stage,
    lead: RunKey,
    child: RunKey,
    grandchild: RunKey,
    stranger: RunKey,
    foreign: RunKey,
}

impl Hall {
    fn new() -> Self {
        let mut stage = Stage::new();
        let lead = stage.spawn(agent("lead"));
        let child = stage.spawn_as(Caller::Process(lead), agent("child"));
        let grandchild = stage.spawn_as(Caller::Process(child), agent("grandchild"));
        let stranger = stage.spawn(agent("stranger"));
        let foreign = stage.spawn(Spawn { workspace: Some("w9".to_owned()), ..agent("foreign") });
        Self { stage, lead, child, grandchild, stranger, foreign }
    }

    /// Who of them gets an event, and whether a person does. One that was not announced is announced now.
    fn receivers(&mut self, event: &Event) -> Vec<&'static str> {
        let callers = [
            ("person", Caller::Person),
            ("lead", Caller::Process(self.lead)),
            ("child", Caller::Process(self.child)),
            ("grandchild", Caller::Process(self.grandchild)),
            ("stranger", Caller::Process(self.stranger)),
            ("foreign", Caller::Process(self.foreign)),
        ];
        if audience(&self.stage, event).is_none() {
            self.stage.input(Input::Announce(Box::new(event.clone())));
        }
        let audience = audience(&self.stage, event).expect("it was announced");
        let processes = self.stage.engine.snapshot();
        let gets = |caller| Subscriber::new(&Principal::unlimited(caller), &processes).gets(&audience);
        callers.into_iter().filter(|(_, caller)| gets(*caller)).map(|(name, _)| name).collect()
    }

    fn view(&self, run: RunKey) -> Box<ProcessView> {
        Box::new(self.stage.view(run.process).unwrap())
    }

    fn timer(&self, owner: RunKey) -> Event {
        Event::Timer(Box::new(TimerView {
            timer: 1,
            owner: owner.process,
            owner_name: self.view(owner).name,
            kind: TimerKind::Delay,
            status: TimerStatus::Fired,
            label: String::new(),
            body: "a secret".to_owned(),
            watches: Vec::new(),
            remaining_ms: 0,
            outcome: None,
        }))
    }
}

/// Who gets the newest announced event of this content.
fn audience(stage: &Stage, event: &Event) -> Option<Audience> {
    stage.effects.iter().rev().find_map(|effect| match effect {
        Effect::Announce(sent) if sent.announcement.what == *event => Some(sent.audience.clone()),
        _ => None,
    })
}

#[test]
fn a_timer_is_told_to_its_owner_and_to_those_above() {
    let mut hall = Hall::new();
    let of_grandchild = hall.timer(hall.grandchild);
    assert_eq!(hall.receivers(&of_grandchild), ["person", "lead", "child", "grandchild"]);
    let of_lead = hall.timer(hall.lead);
    assert_eq!(hall.receivers(&of_lead), ["person", "lead"]);
    let (to, over) = (target(hall.stranger), target(hall.lead));
    hall.stage.ask(Command::Grant(Grant { to, right: proto::rights::Right::Read, over }));
    hall.stage.effects.clear();
    assert_eq!(
        hall.receivers(&of_lead),
        ["person", "lead", "stranger"],
        "who may read it may list its timers"
    );
}

#[test]
fn a_scratchpad_is_told_to_those_who_work_in_its_project() {
    let mut hall = Hall::new();
    let project = Project { key: "0123456789abcdef".to_owned(), path: "/srv/app".to_owned() };
    let order = SpawnOrder { project: project.clone(), ..command("worker").into() };
    hall.stage.ask(Command::Spawn(Box::new(order)));
    hall.stranger = hall.stage.starts().last().unwrap().run;
    hall.stage.fact(hall.stranger, crate::RunFact::Started { pid: 5 });
    let changed = Event::PadChanged {
        project: project.key,
        name: "plan".to_owned(),
        revision: 1,
        author: "human".to_owned(),
    };
    assert_eq!(hall.receivers(&changed), ["person", "stranger"]);
}

#[test]
fn an_item_is_told_to_those_who_may_answer_it() {
    let mut hall = Hall::new();
    let failed = hall.grandchild;
    hall.stage.exit(failed, 1);
    let failure = opened(&hall.stage).pop().unwrap();
    assert_eq!((failure.kind, failure.id), (ItemKind::Failure, failed.process));
    let event = Event::ItemOpened(Box::new(failure));
    hall.grandchild = hall.stranger;
    assert_eq!(hall.receivers(&event), ["person", "lead", "child"]);
    let bare = Command::Spawn(Box::new(Spawn { name: None, ..command("x") }.into()));
    hall.stage.ask_as(Caller::Process(hall.child), bare);
    let trust = opened(&hall.stage).pop().unwrap();
    assert_eq!(trust.kind, ItemKind::Trust);
    assert_eq!(hall.receivers(&Event::ItemOpened(Box::new(trust))), ["person"], "only people answer it");
    hall.stage.ask(super::stage::close(failed));
    hall.stage.die(failed);
    let Event::ItemOpened(failure) = event else { panic!("it is one") };
    let closed = Event::ItemClosed { item: failure.item };
    assert!(audience(&hall.stage, &closed).is_some(), "it was announced");
    assert_eq!(hall.receivers(&closed), ["person", "lead", "child"], "those who know that it was open");
    let unknown = Event::ItemClosed { item: 99_999 };
    assert_eq!(hall.receivers(&unknown), ["person"], "without a topic it is for people alone");
}

fn opened(stage: &Stage) -> Vec<InboxItem> {
    let opened = stage.effects.iter().filter_map(|effect| match effect {
        Effect::Announce(announcement) => match &announcement.announcement.what {
            Event::ItemOpened(item) => Some((**item).clone()),
            _ => None,
        },
        _ => None,
    });
    opened.collect()
}

#[test]
fn a_process_is_told_to_its_workspace_and_a_message_to_its_sender_and_those_above() {
    let mut hall = Hall::new();
    let changed = Event::Changed(hall.view(hall.child));
    assert_eq!(hall.receivers(&changed), ["person", "lead", "child", "grandchild", "stranger"]);
    let elsewhere = Event::Changed(hall.view(hall.foreign));
    assert_eq!(hall.receivers(&elsewhere), ["person", "foreign"]);
    let message = Command::Tell(tell(hall.lead, "hello"));
    hall.stage.ask_as(Caller::Process(hall.child), message);
    let message = saved(&hall.stage.effects).mail.pop().expect("it is written down");
    let receipt = message.receipt();
    assert_eq!((receipt.from, receipt.sender.as_str()), (Some(hall.child.process), "child"));
    assert_eq!(hall.receivers(&Event::Mail(receipt)), ["person", "lead", "child"]);
}

#[test]
fn b6_a_run_that_is_over_is_told_nothing() {
    let mut hall = Hall::new();
    let subscriber = |run: RunKey| Subscriber::new(&Principal::unlimited(Caller::Process(run)), &[]);
    let (own, other) = (subscriber(hall.stranger), subscriber(hall.lead));
    hall.stage.exit(hall.stranger, 0);
    let announced = hall.stage.effects.iter().filter_map(|effect| match effect {
        Effect::Announce(sent) => Some(&sent.announcement.what),
        _ => None,
    });
    let exits: Vec<&Event> = announced.filter(|event| matches!(event, Event::Exited { .. })).collect();
    assert_eq!(exits.len(), 1);
    assert!(own.ends_with(exits[0]) && !other.ends_with(exits[0]));
    let ticket = hall.stage.ask_as(Caller::Process(hall.stranger), Command::Subscribe);
    assert_eq!(hall.stage.failure(ticket).code, ErrorCode::Unauthorized);
}

#[test]
fn b6_the_end_of_a_process_is_told_to_those_who_knew_of_it() {
    let mut hall = Hall::new();
    let (to, over) = (target(hall.foreign), target(hall.child));
    hall.stage.ask(Command::Grant(Grant { to, right: proto::rights::Right::Read, over }));
    let (child, grandchild) = (hall.child, hall.grandchild);
    hall.stage.ask(super::stage::close(child));
    hall.stage.die(grandchild);
    hall.stage.die(child);
    for event in [Event::Removed { id: child.process }, Event::Done { id: child.process }] {
        assert!(audience(&hall.stage, &event).is_some(), "{event:?} was announced");
        let receivers = hall.receivers(&event);
        assert_eq!(receivers, ["person", "lead", "stranger", "foreign"], "{event:?}");
    }
    let gone = Event::Removed { id: grandchild.process };
    assert_eq!(hall.receivers(&gone), ["person", "lead", "stranger"], "nothing was granted over it");
}

#[test]
fn f11_a_verb_that_the_daemon_goes_on_with_is_written_down_by_its_own_name() {
    let mut hall = Hall::new();
    hall.stage.exit(hall.stranger, 0);
    for verb in ["spawn", "presets", "pad"] {
        let before = hall.stage.audited().len();
        hall.stage.ask_as(Caller::Process(hall.stranger), Command::CallerIdentity(verb));
        let rows = hall.stage.audited().split_off(before);
        assert_eq!((rows.len(), rows[0].verb, rows[0].decision.as_str()), (1, verb, "unauthorized"));
    }
}

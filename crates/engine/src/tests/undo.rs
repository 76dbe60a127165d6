//! What cannot be recorded is not done: which commands can be taken back, and that nothing of them is left.

use proto::request::{
    Ask, Attention, ChangeTimer, Distrust, GiveAnswer, Grant, Rename, Revoke, SetTimer, Tell, TimerChange,
    TimerWhen,
};
use proto::rights::Right;
use proto::{ErrorCode, Failure, Reply};

use super::agents::scene::agent;
use super::random_tree::Crew;
use super::stage::{close, command, kill, order, restart, state_words, trust_subject};
use crate::{
    Caller, Command, Effect, HookMoment, HookNotice, Input, Principal, Rule, RunKey, Ticket, TrustSubject,
};

fn tell_to(target: &str, text: &str) -> Command {
    let (target, text) = (target.into(), text.to_owned());
    Command::Tell(Tell { target, text, key: None, wait_ms: None, expires_ms: None })
}

fn tell(text: &str) -> Command {
    tell_to("boss", text)
}

fn timer() -> Command {
    Command::SetTimer(SetTimer {
        owner: Some("boss".into()),
        when: TimerWhen::After(60_000),
        body: "wake up".into(),
        label: None,
        key: None,
    })
}

fn grant() -> Command {
    Command::Grant(Grant { to: "boss".into(), right: Right::Drive, over: "other".into() })
}

fn trusted(digest: &str) -> TrustSubject {
    trust_subject(digest, Rule::Ask)
}

/// Two agents, a timer, a grant, a trust and a question.
fn busy() -> (Crew, RunKey, u64) {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    crew.agent("other", Some(boss));
    for command in [grant(), timer(), Command::Trust(Box::new(trusted("make")))] {
        crew.ask(command);
    }
    let ask = Ask { question: "red or blue?".into(), options: Vec::new(), key: None };
    let ticket = crew.ask_as(Caller::Process(boss), Command::Ask(ask));
    let Reply::Asked(asked) = crew.stage.reply(ticket) else { panic!("nothing was asked") };
    (crew, boss, asked.item)
}

/// Every command that entrusts something, with whoever may ask for it.
fn entrusting(boss: RunKey, item: u64) -> Vec<(Caller, Command)> {
    let process = Caller::Process(boss);
    let change = |change| Command::ChangeTimer(ChangeTimer { timer: 1, change });
    vec![
        (Caller::Person, tell("go on")),
        (process, tell_to("other", "you too")),
        (Caller::Person, timer()),
        (process, change(TimerChange::Pause)),
        (process, change(TimerChange::Cancel)),
        (
            Caller::Person,
            Command::Grant(Grant { to: "other".into(), right: Right::Read, over: "boss".into() }),
        ),
        (Caller::Person, Command::Revoke(Revoke { grant: 1 })),
        (Caller::Person, Command::Trust(Box::new(trusted("make test")))),
        (Caller::Person, Command::Distrust(Distrust { digest: trusted("make").digest })),
        (process, Command::Ask(Ask { question: "why?".into(), options: Vec::new(), key: Some("k".into()) })),
        (process, Command::Attention(Attention { reason: "look".into(), key: None })),
        (
            Caller::Person,
            Command::Answer(GiveAnswer { item, choice: "blue".into(), ..GiveAnswer::default() }),
        ),
        (Caller::Person, Command::Rename(Rename { target: "other".into(), name: "another".into() })),
    ]
}

#[test]
fn m7b_what_cannot_be_recorded_is_refused_and_leaves_nothing_behind() {
    let (mut crew, boss, item) = busy();
    for (caller, command) in entrusting(boss, item) {
        let words = format!("{command:?}");
        let (before, moment) = (state_words(&crew.stage.engine), crew.stage.moment());
        let input = Input::Command { principal: Principal::unlimited(caller), ticket: Ticket(9), command };
        let effects = crew.stage.engine.handle(moment, input);
        assert!(crew.stage.engine.is_undoable(), "{words}: {effects:?}");
        assert_ne!(state_words(&crew.stage.engine), before, "{words} changes something");
        let refusal = Failure::new(ErrorCode::NoSpace, "no space");
        let instead = crew.stage.engine.undo(refusal.clone());
        let [Effect::Reply { ticket: Ticket(9), result }] = instead.as_slice() else {
            panic!("{words}: {instead:?}")
        };
        assert_eq!(result.as_ref().as_ref().err(), Some(&refusal), "{words}");
        assert_eq!(state_words(&crew.stage.engine), before, "{words}");
        assert!(!crew.stage.engine.is_undoable(), "{words} was taken back already");
    }
    // The disk has room again: everything is done as if it had never been refused.
    for (caller, command) in entrusting(boss, item) {
        let words = format!("{command:?}");
        let ticket = crew.ask_as(caller, command);
        assert!(crew.stage.answer(ticket).is_some_and(|answer| answer.is_ok()), "{words}");
    }
}

#[test]
fn m7b_what_starts_ends_or_reports_is_never_taken_back() {
    let (mut crew, boss, _) = busy();
    crew.ask(tell("something to lose"));
    let other = crew.stage.engine.snapshot().into_iter().find(|view| view.name.as_str() == "other").unwrap();
    let other = RunKey::new(other.id, other.run);
    let hook = HookNotice { evidence: None, moment: HookMoment::PromptSubmitted { prompt: None } };
    let commands = vec![
        (Caller::Person, order(Caller::Person, command("new"))),
        (Caller::Person, order(Caller::Person, agent("one more"))),
        (Caller::Process(boss), Command::Hook(Box::new(hook))),
        (Caller::Person, restart(other)),
        (Caller::Person, kill(other)),
        (Caller::Person, close(boss)),
        (Caller::Person, Command::List),
    ];
    for (caller, command) in commands {
        let (words, moment) = (format!("{command:?}"), crew.stage.moment());
        crew.stage.engine.handle(
            moment,
            Input::Command { principal: Principal::unlimited(caller), ticket: Ticket(9), command },
        );
        assert!(!crew.stage.engine.is_undoable(), "{words}");
        assert!(crew.stage.engine.undo(Failure::new(ErrorCode::NoSpace, "no space")).is_empty(), "{words}");
    }
}

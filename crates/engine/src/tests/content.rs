//! What lies on the disk is part of what was allowed: it is looked at before every start that needs somebody's permission.

use proto::agent::ItemKind;
use proto::request::{Distrust, GiveAnswer, Spawn};
use proto::{ErrorCode, Reply, Status};

use super::agents::scene::{agent, saved};
use super::stage::{Stage, close, command, next, restart, trust_subject};
use crate::{Approval, Caller, Command, Effect, Rule, RunFact, RunKey, Ticket, TrustSubject};

/// A stage with an agent that leads a command whose content is trusted.
fn pair(auto_restart: bool) -> (Stage, RunKey, RunKey) {
    let mut stage = Stage::new();
    let lead = stage.spawn(agent("lead"));
    stage.ask(Command::Trust(Box::new(trust_subject("aa", Rule::Ask))));
    stage.order_as(lead, Spawn { auto_restart, ..command("server") }, trust_subject("aa", Rule::Ask));
    let child = stage.starts().last().unwrap().run;
    stage.fact(child, RunFact::Started { pid: 9 });
    (stage, lead, child)
}

/// What is found where something else was allowed.
fn found(digest: &str) -> RunFact {
    RunFact::Untrusted(Box::new(trust_subject(digest, Rule::Ask)))
}

fn answer(stage: &mut Stage, item: u64, choice: &str) {
    let ticket =
        stage.ask(Command::Answer(GiveAnswer { item, choice: choice.to_owned(), ..GiveAnswer::default() }));
    assert!(matches!(stage.reply(ticket), Reply::Done(_)));
}

/// Somebody has it started again; the old run is over by then.
fn again(stage: &mut Stage, caller: Caller, run: RunKey) -> Ticket {
    let was_live = stage.view(run.process).is_some_and(|view| view.pid.is_some());
    let ticket = stage.ask_as(caller, restart(run));
    if was_live {
        stage.die(run);
    }
    ticket
}

fn content(stage: &Stage) -> Option<String> {
    stage.starts().last().unwrap().content.clone()
}

#[test]
fn b7_what_an_agent_has_started_must_be_what_was_allowed_at_every_start() {
    let (mut stage, lead, child) = pair(true);
    let allowed = Some("content of aa".to_owned());
    assert_eq!(content(&stage), allowed, "between the question and the start it may have changed");
    again(&mut stage, Caller::Process(lead), child);
    assert_eq!(content(&stage), allowed);
    stage.fact(next(child), RunFact::Started { pid: 10 });
    stage.exit(next(child), 1);
    stage.pass(1_500);
    assert_eq!((stage.starts().last().unwrap().run, content(&stage)), (next(next(child)), allowed));
}

#[test]
fn people_and_what_needs_no_leave_are_not_looked_at() {
    let (mut stage, lead, child) = pair(false);
    again(&mut stage, Caller::Person, child);
    assert_eq!(content(&stage), None, "a person's restart is the person's own act");
    stage.fact(next(child), RunFact::Started { pid: 10 });
    again(&mut stage, Caller::Process(lead), next(child));
    assert!(content(&stage).is_some(), "and is nobody else's leave");
    stage.spawn(command("own"));
    assert_eq!(content(&stage), None);
    stage.spawn_as(Caller::Process(lead), agent("plain"));
    assert_eq!(content(&stage), None);
}

#[test]
fn b7_an_edited_script_is_asked_about_before_an_agent_has_it_started_again() {
    let (mut stage, lead, child) = pair(false);
    let ticket = again(&mut stage, Caller::Process(lead), child);
    stage.fact(next(child), found("bb"));
    let failure = stage.failure(ticket);
    assert_eq!(failure.code, ErrorCode::NeedsTrust);
    let item = failure.item.unwrap();
    let Reply::Inbox(items) = ({
        let inbox = stage.ask(Command::Inbox);
        stage.reply(inbox)
    }) else {
        panic!("no inbox")
    };
    assert_eq!((items.len(), items[0].item, items[0].kind), (1, item, ItemKind::Trust));
    assert_eq!(items[0].id, lead.process, "whoever had it started asks");
    assert_eq!(stage.view(child.process).map(|view| view.status), Some(Status::Failed));
    let note = stage.audited().into_iter().rfind(|note| note.verb == "restart").unwrap();
    assert_eq!((note.caller, note.decision.as_str()), (Some(Caller::Process(lead)), "needs_trust"));

    let asked = again(&mut stage, Caller::Process(lead), next(child));
    let run = stage.starts().last().unwrap().run;
    stage.fact(run, found("bb"));
    assert_eq!(stage.failure(asked).item, Some(item), "the same question is asked once");
    answer(&mut stage, item, "allow_once");
    let allowed = again(&mut stage, Caller::Process(lead), run);
    let run = stage.starts().last().unwrap().run;
    stage.fact(run, found("bb"));
    assert!(stage.answer(allowed).is_none(), "it is started after all");
    assert_eq!(
        (stage.starts().last().unwrap().run, content(&stage)),
        (run, Some("content of bb".to_owned()))
    );
    stage.fact(run, RunFact::Started { pid: 11 });
    assert!(matches!(stage.reply(allowed), Reply::Spawned(_)));

    let third = again(&mut stage, Caller::Process(lead), run);
    stage.fact(next(run), found("cc"));
    assert_eq!(stage.failure(third).code, ErrorCode::NeedsTrust, "what was allowed was that one content");
    assert_ne!(stage.failure(third).item, Some(item));
}

#[test]
fn b7_what_changes_while_the_new_content_is_being_started_is_looked_at_again() {
    let (mut stage, lead, child) = pair(false);
    stage.ask(Command::Trust(Box::new(trust_subject("bb", Rule::Ask))));
    let ticket = again(&mut stage, Caller::Process(lead), child);
    stage.fact(next(child), found("bb"));
    assert_eq!(content(&stage), Some("content of bb".to_owned()), "a person trusts that one too");
    stage.fact(next(child), found("cc"));
    assert_eq!(stage.failure(ticket).code, ErrorCode::NeedsTrust);
    let starts = stage.starts().len();
    stage.fact(next(child), found("aa"));
    assert_eq!(stage.starts().len(), starts, "a word that comes late starts nothing");
}

#[test]
fn b7_what_changed_between_the_question_and_the_first_start_leaves_nothing_behind() {
    let (mut stage, lead, _) = pair(false);
    let ticket = stage.order_as(lead, command("second"), trust_subject("aa", Rule::Ask));
    let run = stage.starts().last().unwrap().run;
    stage.fact(run, found("bb"));
    let failure = stage.failure(ticket);
    assert!(failure.code == ErrorCode::NeedsTrust && failure.item.is_some(), "{failure}");
    assert_eq!(stage.view(run.process), None);
    let note = stage.audited().pop().unwrap();
    assert_eq!((note.verb, note.decision.as_str()), ("spawn", "needs_trust"));
}

#[test]
fn b7_a_refusal_of_the_new_content_holds() {
    let (mut stage, lead, child) = pair(false);
    let ticket = again(&mut stage, Caller::Process(lead), child);
    stage.fact(next(child), found("bb"));
    let item = stage.failure(ticket).item.unwrap();
    answer(&mut stage, item, "deny");
    let ticket = again(&mut stage, Caller::Process(lead), next(child));
    let run = stage.starts().last().unwrap().run;
    stage.fact(run, found("bb"));
    assert_eq!(stage.failure(ticket).code, ErrorCode::Denied);
    let ticket = again(&mut stage, Caller::Person, run);
    assert_eq!(content(&stage), None);
    stage.fact(next(run), RunFact::Started { pid: 12 });
    assert!(matches!(stage.reply(ticket), Reply::Spawned(_)), "a person may");
}

#[test]
fn f10_an_automatic_restart_of_changed_content_is_parked_and_told() {
    let (mut stage, lead, child) = pair(true);
    stage.exit(child, 1);
    stage.pass(1_500);
    stage.fact(next(child), found("bb"));
    let view = stage.view(child.process).unwrap();
    assert_eq!(view.status, Status::Parked);
    assert!(view.failure.is_some_and(|why| why.contains("changed")));
    let starts = stage.starts().len();
    stage.pass(600_000);
    assert_eq!(stage.starts().len(), starts);
    let messages = saved(&stage.effects).mail;
    assert!(
        messages.iter().any(|mail| mail.to == lead.process && mail.text.contains("server")),
        "{messages:?}"
    );
    let is_notice = |effect: &Effect| matches!(effect, Effect::Notify { run, .. } if *run == next(child));
    assert!(stage.effects.iter().any(is_notice), "a person is notified");
    let note = stage.audited().into_iter().rfind(|note| note.verb == "restart").unwrap();
    assert_eq!((note.caller, note.decision.as_str()), (None, "denied"));
    let ticket = again(&mut stage, Caller::Process(lead), next(child));
    let run = stage.starts().last().unwrap().run;
    stage.fact(run, found("bb"));
    assert!(stage.failure(ticket).item.is_some(), "its leader may ask for it");
}

#[test]
fn b7_a_process_that_starts_itself_again_with_other_content_is_parked() {
    let (mut stage, _, child) = pair(false);
    again(&mut stage, Caller::Process(child), child);
    assert!(content(&stage).is_some());
    stage.fact(next(child), found("bb"));
    assert_eq!(stage.view(child.process).map(|view| view.status), Some(Status::Parked));
    let ticket = stage.ask(Command::Inbox);
    assert!(
        matches!(stage.reply(ticket), Reply::Inbox(items) if items.is_empty()),
        "nobody is left who asks"
    );
}

#[test]
fn whoever_asks_beside_a_person_does_not_spoil_the_persons_restart() {
    let (mut stage, lead, child) = pair(false);
    stage.ask(restart(child));
    stage.ask_as(Caller::Process(lead), restart(child));
    stage.die(child);
    assert_eq!(content(&stage), None);
    stage.fact(next(child), RunFact::Started { pid: 10 });
    stage.ask_as(Caller::Process(lead), restart(next(child)));
    stage.ask(restart(next(child)));
    stage.die(next(child));
    assert_eq!(content(&stage), None, "in either order");
}

#[test]
fn what_is_closed_meanwhile_is_not_asked_about() {
    let (mut stage, lead, child) = pair(false);
    again(&mut stage, Caller::Process(lead), child);
    stage.ask(close(child));
    stage.fact(next(child), found("bb"));
    assert_eq!(stage.view(child.process), None);
    let ticket = stage.ask(Command::Inbox);
    assert!(matches!(stage.reply(ticket), Reply::Inbox(items) if items.is_empty()));
}

#[test]
fn an_agent_that_is_resumed_with_new_leave_goes_on_in_its_session() {
    let (mut stage, lead, _) = pair(false);
    let mut worded = agent("worded");
    worded.argv.push("--flag".to_owned());
    stage.order_as(lead, worded, trust_subject("aa", Rule::Ask));
    let run = stage.starts().last().unwrap().run;
    stage.fact(run, RunFact::Started { pid: 20 });
    stage.fact(run, RunFact::Session("s1".to_owned()));
    stage.exit(run, 0);
    stage.ask(Command::Trust(Box::new(trust_subject("bb", Rule::Ask))));
    let resume = proto::request::Resume {
        target: super::stage::target(run),
        session: None,
        ..proto::request::Resume::default()
    };
    stage.ask_as(Caller::Process(lead), Command::Resume(resume));
    stage.fact(run, RunFact::TreeGone);
    let first = stage.starts().last().unwrap().agent.clone().unwrap();
    assert_eq!(first.resume.as_deref(), Some("s1"));
    stage.fact(next(run), found("bb"));
    let second = stage.starts().last().unwrap().clone();
    assert_eq!((second.run, second.agent), (next(run), Some(first)));
}

#[test]
fn a_leave_of_an_older_record_knows_no_content_and_is_asked_about_again() {
    let old: Approval = serde_json::from_str(r#"{"digest":"aa","once":true}"#).unwrap();
    assert_eq!((old.content.as_str(), old.frame.as_str(), &old.listed), ("", "", &None));
    let (mut stage, lead, child) = pair(false);
    stage.engine.ctx.processes.get_mut(&child.process).unwrap().launch.approval = Some(old);
    again(&mut stage, Caller::Process(lead), child);
    assert_eq!(content(&stage), Some(String::new()), "nothing on a disk is that");
}

#[test]
fn a_leave_that_was_taken_back_keeps_its_content_when_it_is_given_again() {
    let (mut stage, lead, child) = pair(false);
    stage.ask(Command::Distrust(Distrust { digest: "aa".to_owned() }));
    let ticket = stage.ask_as(Caller::Process(lead), restart(child));
    let item = stage.failure(ticket).item.unwrap();
    answer(&mut stage, item, "allow_once");
    again(&mut stage, Caller::Process(lead), child);
    assert_eq!(content(&stage), Some("content of aa".to_owned()));
    let Some(Approval { once: true, frame, .. }) = stage.starts().last().unwrap().record.approval.clone()
    else {
        panic!("no leave for once")
    };
    assert_eq!(frame, TrustSubject { ..trust_subject("aa", Rule::Ask) }.frame);
}

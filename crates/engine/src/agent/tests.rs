//! Facts about one agent alone: no engine, no other machine.

use proto::agent::{Quota, Source, TurnEnd};
use proto::event::Event;
use proto::{AgentState, ErrorCode, Evidence, ProcessId, RunNumber};

use super::facts::StateChange;
use super::{Agent, AgentRecord};
use crate::input::{JobId, Launched, Moment, RunKey, Ticket, TypingOutcome};
use crate::outbox::Outbox;
use crate::{Effect, Keystrokes};

fn run(number: u32) -> RunKey {
    RunKey::new(ProcessId::from_entropy(1), RunNumber(number))
}

/// An agent whose run has begun, and the outbox at that moment.
fn started() -> (Agent, Outbox) {
    let mut out = Outbox::new(1);
    at(&mut out, 1_000);
    let mut agent = Agent::from_record(AgentRecord::default(), run(1), true, 0);
    agent.start(run(1), "nonce".to_owned(), out.now);
    (agent, out)
}

fn at(out: &mut Outbox, uptime_ms: u64) {
    out.now = Moment { uptime_ms, wall_ms: 1_000_000 + uptime_ms };
}

fn report(agent: &mut Agent, state: AgentState, out: &mut Outbox) -> Option<StateChange> {
    let evidence = Evidence::new(Source::ProgramStatus, "rule", Some(state));
    assert_eq!(agent.take_evidence(evidence, out), None);
    agent.judge(out)
}

fn ends(out: &mut Outbox) -> usize {
    let is_end = |effect: &Effect| matches!(effect, Effect::Announce(news) if matches!(news.announcement.what, Event::TurnEnded { .. }));
    std::mem::take(&mut out.effects).iter().filter(|effect| is_end(effect)).count()
}

#[test]
fn a_change_of_state_is_reported_once() {
    let (mut agent, mut out) = started();
    let change = StateChange { from: AgentState::Starting, to: AgentState::Idle };
    assert_eq!(report(&mut agent, AgentState::Idle, &mut out), Some(change));
    assert_eq!(report(&mut agent, AgentState::Idle, &mut out), None);
    assert_eq!(agent.live.evidence.since, 1_001_000);
    agent.withdraw_evidence(Source::ProgramStatus);
    assert_eq!(agent.judge(&mut out), None, "what was believed stays without evidence");
}

#[test]
fn the_next_daemon_knows_since_when_an_agent_waits_as_it_did() {
    let (mut agent, mut out) = started();
    report(&mut agent, AgentState::Idle, &mut out);
    let mut adopted = |state: AgentState| {
        let mut adopted = Agent::from_record(agent.record.clone(), run(1), true, 7);
        assert_eq!(adopted.live.evidence.since, 1_001_000, "before anything reports, it waits as it did");
        at(&mut out, 90_000);
        report(&mut adopted, state, &mut out);
        adopted.live.evidence.since
    };
    assert_eq!(adopted(AgentState::Idle), 1_001_000);
    assert_eq!(adopted(AgentState::Blocked), 1_090_000, "another state has begun since");
    report(&mut agent, AgentState::Working, &mut out);
    assert_eq!(agent.record.waiting_since, None, "an agent at work waits for nobody");
    let adopted = Agent::from_record(agent.record.clone(), run(1), true, 7);
    assert_eq!(adopted.live.evidence.since, 7, "nothing else is known than when its run was started");
}

#[test]
fn a_turn_begins_with_work_ends_with_rest_and_is_announced_with_its_text() {
    let (mut agent, mut out) = started();
    agent.work_seen(false, &mut out);
    assert_eq!(agent.running_turn(), Some(1));
    agent.work_seen(false, &mut out);
    assert_eq!(agent.record.turn, 1, "work goes on in the same turn");
    agent.rest(&mut out);
    let collects = |effect: &Effect| matches!(effect, Effect::CollectResult { turn: 1, .. });
    assert!(out.effects.iter().any(collects));
    assert_eq!(agent.turns[&1].end, TurnEnd::Done);
    assert!(!agent.is_turn_closed(1));
    assert_eq!(ends(&mut out), 0);
    agent.result_found(1, None, "done", "transcript", &mut out);
    assert!(agent.is_turn_closed(1));
    assert_eq!((ends(&mut out), agent.turns[&1].text.as_str()), (1, "done"));
}

#[test]
fn work_before_the_first_message_is_no_turn() {
    let (mut agent, mut out) = started();
    agent.work_seen(true, &mut out);
    assert_eq!(agent.running_turn(), None);
}

#[test]
fn a_text_that_is_not_found_in_time_is_given_up() {
    let (mut agent, mut out) = started();
    agent.begin_turn(None, &mut out);
    agent.end_turn(TurnEnd::Done, &mut out);
    let until = agent.next_deadline().unwrap();
    agent.give_up_collecting(until - 1, &mut out);
    assert_eq!(ends(&mut out), 0);
    agent.give_up_collecting(until, &mut out);
    assert_eq!(ends(&mut out), 1);
    assert!(agent.is_turn_closed(1) && agent.turns[&1].text.is_empty());
}

#[test]
fn a_quota_is_reported_once_in_a_turn() {
    let (mut agent, mut out) = started();
    agent.begin_turn(None, &mut out);
    let refused = |at: u64| Evidence {
        quota: Some(Quota { reset_at: Some(at) }),
        message: "limit reached".to_owned(),
        ..Evidence::new(Source::Screen, "quota", None)
    };
    assert_eq!(agent.take_evidence(refused(2_000_000), &mut out).as_deref(), Some("limit reached"));
    assert_eq!(agent.take_evidence(refused(2_000_001), &mut out), None, "the same turn");
    assert!(agent.is_turn_refused());
    assert_eq!(agent.live.quota.until, Some(1_000 + 999_001), "the wall clock's rest on the other clock");
    agent.clear_quota(&mut out);
    assert_eq!((agent.live.quota.limit, agent.live.quota.until), (None, None));
}

/// The job of the last keys that were ordered.
fn last_keys(out: &mut Outbox) -> Option<JobId> {
    let effects = std::mem::take(&mut out.effects);
    effects.into_iter().rev().find_map(|effect| match effect {
        Effect::Type { job, what: Keystrokes::Keys(keys), .. } if keys == ["escape"] => Some(job),
        _ => None,
    })
}

fn answer(out: &mut Outbox) -> Option<Option<ErrorCode>> {
    std::mem::take(&mut out.effects).into_iter().find_map(|effect| match effect {
        Effect::Reply { ticket: Ticket(5), result } => Some(result.err().map(|failure| failure.code)),
        _ => None,
    })
}

#[test]
fn an_interrupt_is_answered_when_the_turn_is_over_and_not_before() {
    let (mut agent, mut out) = started();
    report(&mut agent, AgentState::Working, &mut out);
    agent.begin_interrupt(Ticket(5), vec!["escape".to_owned()], 0, &mut out);
    let job = last_keys(&mut out).expect("keys were ordered");
    assert!(!agent.interrupt_typed(JobId(job.0 + 1), TypingOutcome::Done, &mut out), "another's job");
    assert!(agent.interrupt_typed(job, TypingOutcome::Done, &mut out));
    agent.finish_interrupt(&mut out);
    assert_eq!(answer(&mut out), None, "it still works");
    report(&mut agent, AgentState::Idle, &mut out);
    agent.finish_interrupt(&mut out);
    assert_eq!(answer(&mut out), Some(None));
}

#[test]
fn the_keys_of_an_interrupt_are_typed_three_times_and_then_it_fails() {
    let (mut agent, mut out) = started();
    report(&mut agent, AgentState::Working, &mut out);
    agent.begin_interrupt(Ticket(5), vec!["escape".to_owned()], 0, &mut out);
    for time in 1..=3 {
        let job = last_keys(&mut out).unwrap_or_else(|| panic!("keys are typed for the {time}. time"));
        assert!(agent.interrupt_typed(job, TypingOutcome::Done, &mut out));
        let until = agent.next_deadline().unwrap();
        at(&mut out, until);
        agent.pass_interrupt_deadline(until, &mut out);
    }
    assert_eq!(answer(&mut out), Some(Some(ErrorCode::NotDelivered)));
    assert!(agent.live.interrupting.is_none());
}

#[test]
fn a_new_run_keeps_the_last_session_and_nothing_that_was_seen() {
    let (mut agent, mut out) = started();
    let launched = Launched { patience_ms: 500, ..Launched::default() };
    agent.launched(launched, &mut out);
    assert_eq!(agent.next_deadline(), Some(1_500), "it should take prompts by then");
    agent.set_session("s-1".to_owned(), &mut out);
    report(&mut agent, AgentState::Working, &mut out);
    agent.end_run(&mut out);
    assert_eq!((agent.state(), agent.live.startup.late_at), (AgentState::Exited, None));
    agent.start(run(2), "other".to_owned(), out.now);
    assert_eq!(agent.record.past_session.as_deref(), Some("s-1"));
    assert_eq!((agent.record.session.as_deref(), agent.state()), (None, AgentState::Starting));
    assert_eq!(agent.live.evidence.table.slots().count(), 0);
    assert_eq!(agent.run, run(2));
}

#[test]
fn u10_the_key_for_a_new_line_is_shown_from_the_launch_on() {
    let (mut agent, mut out) = started();
    assert_eq!(agent.view("m").new_line, None);
    agent.launched(Launched { new_line: Some("alt-enter".to_owned()), ..Launched::default() }, &mut out);
    assert_eq!(agent.view("m").new_line.as_deref(), Some("alt-enter"));
}

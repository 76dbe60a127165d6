//! The table of `docs/design/0006-state.md`, row by row.

use proto::Evidence;

use super::*;
use crate::input::Moment;

use AgentState::{Blocked, Error, Idle, Starting, Thinking, Waiting, Working};
use Source::{Dialog, Hook, ProgramStatus, Screen, Server, StateFile, Title};

/// What each source says and since when; the hook said it at that moment too.
fn table(opinions: &[(Source, Option<AgentState>, u64)]) -> EvidenceTable {
    let mut table = EvidenceTable::default();
    for (source, state, since) in opinions {
        table.put(Evidence::new(*source, "r", *state), Moment { uptime_ms: *since, wall_ms: *since });
    }
    table
}

fn judge(before: AgentState, now: u64, opinions: &[(Source, Option<AgentState>, u64)]) -> Judgement {
    weigh(&table(opinions), Belief { state: before, pending: None }, false, now)
}

fn state(before: AgentState, now: u64, opinions: &[(Source, Option<AgentState>, u64)]) -> AgentState {
    judge(before, now, opinions).belief.state
}

#[test]
fn nothing_said_leaves_what_was_believed() {
    for before in [Starting, Idle, Working] {
        assert_eq!(state(before, 10, &[]), before);
    }
    assert!(judge(Working, 10, &[]).held, "a busy agent that nobody speaks of cannot be judged");
    assert!(!judge(Idle, 10, &[]).held);
}

#[test]
fn the_strongest_source_wins_in_the_order_of_the_sources() {
    let order = [ProgramStatus, Server, StateFile, Hook, Title, Source::Progress, Screen, Source::Silence];
    for (place, strong) in order.into_iter().enumerate() {
        for weak in order.into_iter().skip(place + 1) {
            let judgement = judge(Idle, 10_000, &[(strong, Some(Working), 9_000), (weak, Some(Idle), 5_000)]);
            assert_eq!(
                (judgement.belief.state, judgement.winner),
                (Working, Some(strong)),
                "{strong:?} {weak:?}"
            );
            assert_eq!(judgement.runner_up, Some(weak));
        }
    }
}

#[test]
fn a_dialog_on_the_screen_beats_a_report_that_does_not_know_it() {
    for report in [ProgramStatus, Server, StateFile] {
        for says in [Working, Idle, Error] {
            let opinions = [(report, Some(says), 1_000), (Dialog, Some(Blocked), 4_000)];
            let judgement = judge(Working, 4_000, &opinions);
            assert_eq!((judgement.belief.state, judgement.reason), (Blocked, Reason::DialogStands));
        }
    }
}

#[test]
fn c19_a_hook_does_not_yield_to_the_screen_while_the_title_agrees_with_it() {
    let opinions = [(Hook, Some(Working), 1_000), (Title, Some(Working), 1_100), (Screen, Some(Idle), 1_200)];
    for now in [2_999, 3_000, 60_000] {
        let judgement = judge(Working, now, &opinions);
        assert_eq!((judgement.belief.state, judgement.winner), (Working, Some(Hook)), "at {now}");
    }
    let interrupted = [(Hook, Some(Working), 1_000), (Title, Some(Idle), 1_500), (Screen, Some(Idle), 1_500)];
    assert_eq!(state(Working, 3_000, &interrupted), Idle, "an interruption is still seen");
}

#[test]
fn c22_a_hook_that_says_failed_is_not_denied_by_a_report_that_says_at_rest() {
    for report in [ProgramStatus, Server, StateFile] {
        for (rest, before) in [(Idle, Working), (Waiting, Working), (Idle, Error)] {
            for (said, failed) in [(1_000, 1_100), (1_100, 1_000)] {
                let opinions = [(report, Some(rest), said), (Hook, Some(Error), failed)];
                let judgement = judge(before, 60_000, &opinions);
                assert_eq!((judgement.belief.state, judgement.reason), (Error, Reason::TurnFailed));
            }
        }
        let opinions = [(report, Some(Working), 1_200), (Hook, Some(Error), 1_000)];
        assert_eq!(state(Error, 2_000, &opinions), Working, "it tries again");
        let opinions =
            [(report, Some(Idle), 1_000), (Hook, Some(Error), 1_000), (Dialog, Some(Blocked), 2_000)];
        assert_eq!(state(Error, 2_000, &opinions), Blocked, "a dialog comes first");
    }
}

#[test]
fn a_report_that_just_changed_beats_the_dialog_it_answers_until_that_is_painted_over() {
    let opinions = [(ProgramStatus, Some(Working), 4_000), (Dialog, Some(Blocked), 1_000)];
    let judgement = judge(Blocked, 4_010, &opinions);
    assert_eq!((judgement.belief.state, judgement.recheck), (Working, Some(4_300)));
    // Still there: the report does not know this dialog.
    assert_eq!(state(Working, 4_300, &opinions), Blocked);
}

#[test]
fn a_screen_rule_that_says_blocked_ranks_as_a_dialog() {
    assert_eq!(
        state(Working, 4_000, &[(Title, Some(Working), 1_000), (Screen, Some(Blocked), 3_000)]),
        Blocked
    );
    assert_eq!(
        state(Working, 4_000, &[(Hook, Some(Working), 3_900), (Screen, Some(Blocked), 3_000)]),
        Blocked
    );
}

#[test]
fn a_waiting_request_blocks_whatever_the_screen_shows() {
    let table = table(&[(ProgramStatus, Some(Working), 10)]);
    let judgement = weigh(&table, Belief { state: Working, pending: None }, true, 20);
    assert_eq!((judgement.belief.state, judgement.reason), (Blocked, Reason::PermissionWaits));
}

#[test]
fn into_work_and_into_a_dialog_at_once() {
    for source in [ProgramStatus, Hook, Title, Screen] {
        assert_eq!(state(Idle, 10, &[(source, Some(Working), 10)]), Working);
        assert_eq!(state(Working, 10, &[(source, Some(Blocked), 10)]), Blocked);
        assert_eq!(state(Idle, 10, &[(source, Some(Thinking), 10)]), Thinking);
    }
}

#[test]
fn out_of_work_at_once_on_a_report_and_slowly_on_what_is_inferred() {
    for source in [ProgramStatus, Server, StateFile, Hook] {
        assert_eq!(state(Working, 10, &[(source, Some(Idle), 10)]), Idle, "{source:?}");
    }
    for source in [Title, Source::Progress, Screen, Source::Silence] {
        let first = judge(Working, 10, &[(source, Some(Idle), 10)]);
        assert_eq!((first.belief.state, first.recheck), (Working, Some(250)), "{source:?}");
        let still = weigh(&table(&[(source, Some(Idle), 10)]), first.belief, false, 249);
        assert_eq!(still.belief.state, Working);
        let ripe = weigh(&table(&[(source, Some(Idle), 10)]), still.belief, false, 250);
        assert_eq!(ripe.belief.state, Idle);
    }
}

#[test]
fn a_blip_of_idle_between_two_looks_is_no_end_of_work() {
    let idle = table(&[(Screen, Some(Idle), 10)]);
    let blip = weigh(&idle, Belief { state: Working, pending: None }, false, 10);
    let working = weigh(&table(&[(Screen, Some(Working), 200)]), blip.belief, false, 200);
    assert_eq!(working.belief, Belief { state: Working, pending: None });
    let again = weigh(&table(&[(Screen, Some(Idle), 320)]), working.belief, false, 320);
    assert_eq!(again.belief.state, Working, "the clock starts anew");
}

#[test]
fn a_dialog_that_closes_does_not_uncover_an_old_idle_at_once() {
    // The screen said idle all the time; the dialog was in front of it.
    let uncovered = judge(Blocked, 9_000, &[(Screen, Some(Idle), 10)]);
    assert_eq!(uncovered.belief.state, Blocked);
    let worked = weigh(&table(&[(Screen, Some(Working), 9_100)]), uncovered.belief, false, 9_100);
    assert_eq!(worked.belief.state, Working);
}

#[test]
fn do_not_know_holds_what_was_believed_and_says_so() {
    let judgement = judge(Working, 10, &[(Screen, None, 10)]);
    assert_eq!((judgement.belief.state, judgement.held, judgement.reason), (Working, true, Reason::Held));
    // A stronger source still knows the state, but nobody may type into what cannot be judged.
    let judgement = judge(Working, 10, &[(ProgramStatus, Some(Idle), 10), (Screen, None, 10)]);
    assert_eq!((judgement.belief.state, judgement.held), (Idle, true));
}

#[test]
fn an_interruption_that_no_hook_told_is_seen_on_the_screen() {
    // A hook said working; then somebody pressed Esc, and only the title shows it.
    let opinions = [(Hook, Some(Working), 1_000), (Title, Some(Idle), 1_500)];
    let early = judge(Working, 1_600, &opinions);
    assert_eq!((early.belief.state, early.recheck), (Working, Some(3_000)), "a fresh hook is believed");
    let late = judge(Working, 3_000, &opinions);
    assert_eq!((late.belief.state, late.reason), (Idle, Reason::HookWorn));
    // Newer evidence must stand for a while, however old the hook is.
    let opinions = [(Hook, Some(Working), 1_000), (Title, Some(Idle), 9_000)];
    assert_eq!(state(Working, 9_699, &opinions), Working);
    assert_eq!(state(Working, 9_700, &opinions), Idle);
}

#[test]
fn a_title_from_before_the_hook_does_not_overrule_it() {
    assert_eq!(state(Working, 60_000, &[(Hook, Some(Working), 9_000), (Title, Some(Idle), 8_000)]), Working);
}

#[test]
fn work_that_begins_without_a_hook_is_seen_too() {
    let opinions = [(Hook, Some(Idle), 1_000), (Screen, Some(Working), 9_000)];
    assert_eq!(state(Idle, 9_700, &opinions), Working);
}

#[test]
fn a_hook_that_said_working_does_not_hold_the_state_for_ever() {
    let opinions = [(Hook, Some(Working), 1_000), (Screen, Some(Idle), 500)];
    let judgement = judge(Working, 1_000, &opinions);
    let expires = judgement.recheck.expect("it ages");
    assert_eq!(state(Working, expires - 1, &opinions), Working);
    let after = judge(Working, expires, &opinions);
    assert_eq!(after.winner, Some(Screen));
}

#[test]
fn at_the_same_instant_blocked_beats_working_beats_idle() {
    let judgement = judge(Working, 1_000, &[(Title, Some(Idle), 900), (Screen, Some(Working), 1_000)]);
    assert_eq!((judgement.belief.state, judgement.reason), (Working, Reason::SameInstant));
    let judgement = judge(Idle, 9_000, &[(Title, Some(Idle), 900), (Screen, Some(Working), 1_001)]);
    assert_eq!((judgement.belief.state, judgement.winner), (Idle, Some(Title)));
}

#[test]
fn a_failed_turn_stays_failed_until_work_begins() {
    for source in [ProgramStatus, Hook, Title] {
        let judgement = judge(Error, 10_000, &[(source, Some(Idle), 1_000)]);
        assert_eq!((judgement.belief.state, judgement.reason), (Error, Reason::ErrorStays));
    }
    assert_eq!(state(Error, 10, &[(Title, Some(Working), 10)]), Working);
    assert_eq!(state(Error, 10, &[(Dialog, Some(Blocked), 10)]), Blocked);
}

#[test]
fn a_start_becomes_whatever_is_said_first() {
    assert_eq!(state(Starting, 10, &[(Dialog, Some(Blocked), 10)]), Blocked);
    assert_eq!(state(Starting, 10, &[(ProgramStatus, Some(Idle), 10)]), Idle);
    assert_eq!(state(Starting, 10, &[(ProgramStatus, Some(Waiting), 10)]), Waiting);
    // A first frame is not yet a prompt that takes input.
    assert_eq!(judge(Starting, 10, &[(Screen, Some(Idle), 10)]).recheck, Some(1_010));
}

#[test]
fn background_is_the_most_that_any_source_says() {
    let mut table = table(&[(Title, Some(Idle), 10)]);
    let of = |source, n| Evidence { background: Some(n), ..Evidence::new(source, "r", Some(Idle)) };
    table.put(of(Screen, 3), Moment { uptime_ms: 10, wall_ms: 10 });
    table.put(of(StateFile, 1), Moment { uptime_ms: 10, wall_ms: 10 });
    assert_eq!(weigh(&table, Belief::default(), false, 10).background, 3);
}

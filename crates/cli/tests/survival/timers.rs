//! Kills the daemon around the moments at which timers are due: each fires exactly once, and its message
//! reaches its agent exactly once or is known to be uncertain.

use std::collections::BTreeMap;
use std::time::Duration;

use client::ClientError;
use proto::agent::{Delivery, MailId};
use proto::request::AskReceipt;
use proto::{AgentState, ErrorCode, Request};
use testkit::FakeAgents;
use testkit::process_scan::{eventually, pause, scale};

use crate::QD;
use crate::story::Dice;

/// Timers of one round.
const TIMERS: usize = 10;
/// Kills of one round, spread over the time in which the timers come due.
const KILLS: usize = 8;

#[test]
fn s1_timers_that_come_due_around_kills_fire_exactly_once() {
    let mut dice = Dice::new(9);
    for _ in 0..scale() {
        let crew = FakeAgents::start(QD, env!("CARGO_BIN_EXE_qd-agent-test"));
        crew.enlist("lead", &[]);
        for n in 0..TIMERS {
            let (after, label) = (format!("{}", 0.1 + 0.15 * n as f64), format!("t{n}"));
            let body = format!("say rang{n}");
            crew.json(&["timers", "set", "--after", &after, "--for", "lead", "--label", &label, &body]);
        }
        for _ in 0..KILLS {
            pause(Duration::from_millis(dice.below(250) as u64));
            crew.kill_9();
            drop(crew.client());
        }
        check_timers(&crew);
        println!("{} of {TIMERS} were heard for certain", check_mail(&crew));
    }
}

/// Every timer fired, and none is left to fire again.
fn check_timers(crew: &FakeAgents) {
    let fired = eventually("every timer has fired", || {
        let listed = crew.json(&["timers"]);
        let listed = listed.as_array().unwrap().clone();
        let by_label: BTreeMap<String, String> = listed
            .iter()
            .map(|timer| (text(&timer["label"]), text(&timer["status"])))
            .filter(|(_, status)| status == "fired")
            .collect();
        (by_label.len() == TIMERS).then_some(listed)
    });
    assert_eq!(fired.len(), TIMERS, "{fired:?}");
}

/// Checks that every timer has sent one message, which reached its agent at most once. Returns the number of
/// messages that were certainly submitted.
fn check_mail(crew: &FakeAgents) -> usize {
    let mut certain = 0;
    for mail in (1..).map(MailId).take(TIMERS) {
        match crew.final_delivery(mail) {
            Delivery::Submitted { .. } => certain += 1,
            Delivery::Unknown { .. } => {
                // A person sees what was pasted and not submitted; the next message needs it gone.
                crew.type_text("lead", "\x15");
            }
            other => crew.fail(&format!("{mail:?} ended as {other:?}")),
        }
    }
    let extra = crew.client().call(Request::Receipt(AskReceipt { mail: MailId(TIMERS as u64 + 1) }));
    assert!(
        matches!(&extra, Err(ClientError::Failed(failure)) if failure.code == ErrorCode::NotFound),
        "a timer fired twice: {extra:?}"
    );
    crew.until_state("lead", AgentState::Idle);
    let heard = crew.prompts("lead").join("\n");
    let counts: Vec<usize> = (0..TIMERS).map(|n| heard.matches(&format!("[timer:t{n}")).count()).collect();
    assert!(counts.iter().all(|count| *count <= 1), "{counts:?}: {heard}");
    let reached: usize = counts.iter().sum();
    assert!(reached >= certain, "{counts:?}: claimed and not heard");
    certain
}

fn text(value: &serde_json::Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

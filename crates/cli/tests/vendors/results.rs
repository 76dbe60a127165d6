//! Results are the model's exact text, each message has its own, and an interrupted turn does not report
//! `done`.

use proto::AgentState;
use proto::agent::{Delivery, TurnEnd};
use proto::request::{AgentRequest, AskReceipt, Interrupt, Tell};
use testkit::vendor::{Home, Vendor};
use testkit::{ModelServer, TestDaemon};

use crate::QD;
use crate::vendor_stage::{FakeAgents, NAME, TIMEOUT, shell_script};

/// Returns a seeded program that is started with its first prompt.
fn instructed(vendor: Vendor, prompt: &str) -> FakeAgents {
    let server = ModelServer::start();
    let home = Home::seeded(vendor, &server);
    let crew = FakeAgents { daemon: TestDaemon::start(QD), home, server };
    crew.spawn(AgentRequest { prompt: Some(prompt.to_owned()), ..AgentRequest::default() });
    crew
}

/// The result of a turn must be exactly the model's text.
fn says(crew: &FakeAgents, turn: u64, words: &str) {
    let result = crew.wait_turn(turn);
    if result.text.trim() != words || result.from == "screen" || result.end != TurnEnd::Done {
        crew.fail(&format!("the result of turn {turn} is not {words:?}: {result:?}"));
    }
}

/// The first start in a fresh home is the slowest, those after it are quicker: each meets its server at another moment.
#[test]
fn c18_opencodes_first_result_is_what_the_model_said() {
    let crew = instructed(Vendor::Opencode, "please\n@say spawned-answer");
    says(&crew, 1, "spawned-answer");
    for round in 2..=3 {
        crew.close();
        let words = format!("answer-of-round-{round}");
        let prompt = Some(format!("please\n@say {words}"));
        crew.spawn(AgentRequest { prompt, ..AgentRequest::default() });
        says(&crew, 1, &words);
    }
}

#[test]
fn c18_geminis_first_result_is_what_the_model_said() {
    let crew = instructed(Vendor::Gemini, "please\n@say spawned-answer");
    says(&crew, 1, "spawned-answer");
}

/// The daemon dies in the middle of a turn, once until after its end and once until before it.
fn outlives_the_daemon(vendor: Vendor) {
    let crew = FakeAgents::seeded(vendor);
    crew.wait_state(&[AgentState::Idle]);
    for (number, ends_alone) in [true, false].into_iter().enumerate() {
        let (gate, words) = (format!("gate-{number}"), format!("answer-{number}"));
        let turn = crew.tell(&format!("@gate {gate}\n@say {words}"));
        crew.server.wait_request(|request| !request.is_side && request.prompt.contains(&words), TIMEOUT);
        crew.daemon.kill_9();
        if ends_alone {
            crew.server.open(&gate);
            crew.server.wait_request(
                |request| !request.is_side && request.prompt.contains(&words) && request.outcome.is_some(),
                TIMEOUT,
            );
        } else {
            crew.view();
            crew.server.open(&gate);
        }
        says(&crew, turn, &words);
        crew.wait_state(&[AgentState::Idle]);
    }
}

#[test]
fn c18_opencodes_result_after_a_daemons_death_is_what_the_model_said() {
    outlives_the_daemon(Vendor::Opencode);
}

#[test]
fn c18_claudes_result_after_a_daemons_death_is_what_the_model_said() {
    outlives_the_daemon(Vendor::Claude);
}

#[test]
fn c18_codexs_result_after_a_daemons_death_is_what_the_model_said() {
    outlives_the_daemon(Vendor::Codex);
}

#[test]
fn c18_geminis_result_after_a_daemons_death_is_what_the_model_said() {
    outlives_the_daemon(Vendor::Gemini);
}

/// Three messages that come at once are three turns with three results.
fn three_at_once(vendor: Vendor) {
    let crew = FakeAgents::seeded(vendor);
    crew.wait_state(&[AgentState::Idle]);
    let letters = ["alpha", "beta", "gamma"];
    let mails: Vec<_> = letters
        .iter()
        .map(|word| {
            let text = format!("please\n@say the-{word}-answer");
            let tell = Tell { target: NAME.into(), text, key: None, wait_ms: None, expires_ms: None };
            crew.daemon.client().tell(tell).unwrap().mail
        })
        .collect();
    for (mail, word) in mails.into_iter().zip(letters) {
        let turn = testkit::process_scan::eventually("the message is submitted", || {
            match crew.daemon.client().receipt(AskReceipt { mail }).unwrap().delivery {
                Delivery::Submitted { turn } | Delivery::Delivered { turn } => Some(turn),
                Delivery::Queued { .. } | Delivery::Delivering => None,
                other => crew.fail(&format!("{word} is {other:?}")),
            }
        });
        says(&crew, turn, &format!("the-{word}-answer"));
    }
}

#[test]
fn c18_three_messages_at_once_to_gemini_are_three_results() {
    three_at_once(Vendor::Gemini);
}

#[test]
fn c18_three_messages_at_once_to_opencode_are_three_results() {
    three_at_once(Vendor::Opencode);
}

#[test]
fn c18_geminis_result_has_a_long_text_once() {
    let crew = FakeAgents::seeded(Vendor::Gemini);
    crew.wait_state(&[AgentState::Idle]);
    let words: Vec<String> = (0..1500).map(|number| format!("word-{number}")).collect();
    let said = words.join(" ");
    let turn = crew.tell(&format!("please\n@say {said}"));
    says(&crew, turn, &said);
}

/// A person refuses a permission request, which ends the turn: once as it is, once after the daemon has died with the
/// dialog open.
fn is_denied(vendor: Vendor) {
    let crew = FakeAgents::seeded(vendor);
    for dies in [false, true] {
        crew.wait_state(&[AgentState::Idle]);
        let turn = crew.tell(&shell_script(vendor, "touch made-by-agent", "after-leave"));
        crew.wait_state(&[AgentState::Blocked]);
        crew.wait_item();
        if dies {
            crew.daemon.kill_9();
        }
        let item = crew.wait_item();
        crew.answer(item.item, "deny");
        let result = crew.wait_turn(turn);
        // Where the model continues after the refusal the turn is done, with its text.
        let goes_on = result.text.contains("after-leave");
        let expected = if goes_on { TurnEnd::Done } else { TurnEnd::Interrupted };
        let is_right = result.end == expected && result.from != "screen";
        if !is_right || crew.home.workdir().join("made-by-agent").exists() {
            crew.fail(&format!("dies: {dies}; the result is {result:?}"));
        }
    }
}

/// A program interrupts the agent before it has said anything, once before the model answers and once in its answer: what
/// the agent said before is not the result.
fn is_interrupted(vendor: Vendor) {
    let crew = FakeAgents::seeded(vendor);
    crew.wait_state(&[AgentState::Idle]);
    let turn = crew.tell("please\n@say former-answer");
    says(&crew, turn, "former-answer");
    for prompt in ["@gate shut\n@say never-said", "@hang"] {
        crew.wait_state(&[AgentState::Idle]);
        let turn = crew.tell(prompt);
        crew.server.wait_request(|request| !request.is_side && request.prompt.contains(prompt), TIMEOUT);
        crew.wait_state(&[AgentState::Working, AgentState::Thinking]);
        crew.daemon.client().interrupt(Interrupt { target: NAME.into() }).unwrap();
        let result = crew.wait_turn(turn);
        if result.end != TurnEnd::Interrupted || result.text.contains("former-answer") {
            crew.fail(&format!("{prompt:?}: the result is {result:?}"));
        }
    }
}

#[test]
fn c18_a_turn_of_claude_that_was_stopped_does_not_say_done() {
    is_denied(Vendor::Claude);
    is_interrupted(Vendor::Claude);
}

#[test]
fn c18_a_turn_of_codex_that_was_stopped_does_not_say_done() {
    is_denied(Vendor::Codex);
    is_interrupted(Vendor::Codex);
}

#[test]
fn c18_a_turn_of_opencode_that_was_stopped_does_not_say_done() {
    is_denied(Vendor::Opencode);
    is_interrupted(Vendor::Opencode);
}

#[test]
fn c18_a_turn_of_gemini_that_was_stopped_does_not_say_done() {
    is_denied(Vendor::Gemini);
    is_interrupted(Vendor::Gemini);
}

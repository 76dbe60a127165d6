//! `qd timers`: a person sends an agent a message later.

use proto::Event;
use serde_json::json;

use crate::{crew, text, told};

#[test]
fn a_timer_wakes_its_agent_once() {
    let crew = crew();
    let lead = crew.enlist("lead", &[]).id;
    let mut subscriber = crew.subscriber();
    let set =
        crew.json(&["timers", "set", "--after", "0.2", "--for", "lead", "--label", "tea", "say brewed"]);
    assert_eq!(
        (&set["status"], &set["label"], &set["owner_name"]),
        (&json!("armed"), &json!("tea"), &json!("lead"))
    );
    crew.until_event(&mut subscriber, |event| matches!(event, Event::TurnEnded { id, .. } if *id == lead));
    let heard: Vec<String> =
        crew.prompts("lead").into_iter().filter(|prompt| prompt.contains("brewed")).collect();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains("[timer:tea"), "{heard:?}");
}

#[test]
fn a_timer_is_listed_paused_resumed_and_cancelled() {
    let crew = crew();
    crew.enlist("lead", &[]);
    let set = crew.json(&["timers", "set", "--after", "5400", "--for", "lead", "later"]);
    let number = set["timer"].to_string();
    assert_eq!(crew.json(&["timers", "pause", &number])["status"], "paused");
    let listed = crew.json(&["timers"]);
    assert_eq!((&listed[0]["timer"], &listed[0]["status"]), (&set["timer"], &json!("paused")), "{listed}");
    assert_eq!(crew.json(&["timers", "resume", &number])["status"], "armed");
    let output = crew.qd(&["timers"]);
    assert!(told(&output).contains("armed") && told(&output).contains("  1h"), "{}", told(&output));
    assert_eq!(crew.json(&["timers", "cancel", &number])["status"], "cancelled");
    let missing = crew.qd(&["timers", "cancel", "99999"]);
    assert_eq!(missing.status.code(), Some(3), "{}", text(&missing.stderr));
}

#[test]
fn a_timer_fires_when_all_it_watches_rest() {
    let crew = crew();
    let lead = crew.enlist("lead", &[]).id;
    crew.enlist("helper", &[]);
    let mut subscriber = crew.subscriber();
    crew.json(&["timers", "set", "--idle-all", "helper", "--max-wait", "60", "--for", "lead", "say rested"]);
    crew.until_event(&mut subscriber, |event| matches!(event, Event::TurnEnded { id, .. } if *id == lead));
    let heard = crew.prompts("lead").join("\n");
    assert!(heard.contains("helper: idle"), "{heard}");
}

#[test]
fn a_timer_for_a_command_or_for_nobody_is_refused() {
    let crew = crew();
    crew.run("build", testkit::child::run_for_ever());
    crew.enlist("lead", &[]);
    for (words, code) in [
        (&["timers", "set", "--after", "1", "--for", "build", "x"][..], "wrong_kind"),
        (&["timers", "set", "--after", "1", "--for", "nobody", "x"], "not_found"),
        (&["timers", "set", "--after", "999999999", "--for", "lead", "x"], "invalid_args"),
    ] {
        let output = crew.command(&["--json"]).args(words).output().unwrap();
        let error: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
        assert_eq!(error["error"]["code"], code, "{error}");
    }
    assert_eq!(crew.json(&["timers"]), json!([]));
}

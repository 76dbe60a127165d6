//! Reading and answering hooks, on payloads that real programs wrote.

use std::sync::Arc;

use proto::agent::{AgentState, BlockedKind};
use serde_json::{Value, json};

use super::*;
use crate::Catalogue;

const CLAUDE: &str = include_str!("../../tests/fixtures/hooks/claude.jsonl");
const CODEX: &str = include_str!("../../tests/fixtures/hooks/codex.jsonl");
const GEMINI: &str = include_str!("../../tests/fixtures/hooks/gemini.jsonl");

fn manifest(name: &str) -> Arc<Manifest> {
    Arc::clone(Catalogue::built_in().get(name).unwrap())
}

fn payloads(recorded: &str) -> Vec<Value> {
    recorded.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn readings(name: &str, recorded: &str) -> Vec<HookReading> {
    let manifest = manifest(name);
    payloads(recorded).iter().map(|payload| read(&manifest, None, payload)).collect()
}

/// Returns the prompt that was submitted.
fn prompt(reading: &HookReading) -> Option<&str> {
    match &reading.moment {
        HookMoment::PromptSubmitted { prompt } => prompt.as_deref(),
        _ => None,
    }
}

/// Returns one line for each payload: the event, the rule with its state, and the moment.
fn lines_of(name: &str, recorded: &str) -> Vec<String> {
    let manifest = manifest(name);
    let event_at = manifest.hooks.as_ref().unwrap().fields.event.as_ref();
    let line = |payload: &Value| {
        let reading = read(&manifest, None, payload);
        let event = event_at.and_then(|pointer| pointer.text(payload)).unwrap_or_default();
        let evidence = reading.evidence.as_ref();
        let said = evidence.map_or("-".to_owned(), |evidence| {
            format!("{} {}", evidence.rule, evidence.state.map_or("held", AgentState::word))
        });
        let moment = match &reading.moment {
            HookMoment::Other => "",
            HookMoment::PromptSubmitted { .. } => " begins",
            HookMoment::TurnEnded => " ends",
            HookMoment::TurnFailed => " fails",
            HookMoment::PermissionAsked { .. } => " asks",
            HookMoment::PermissionShown { .. } => " shows",
        };
        let child = if reading.is_child { " child" } else { "" };
        format!("{event}: {said}{moment}{child}")
    };
    payloads(recorded).iter().map(line).collect()
}

#[test]
fn every_recorded_event_of_claude_says_what_happened() {
    let expected = [
        "SessionStart: session-start idle",
        "UserPromptSubmit: prompt working begins",
        "PreToolUse: before-tool working",
        "PostToolUse: after-tool working",
        "PreToolUse: - child",
        "PreToolUse: before-tool working",
        "PostToolUse: - child",
        "PermissionRequest: permission blocked asks",
        "Stop: stop idle ends",
        "Stop: stop idle ends",
        "UserPromptSubmit: prompt working begins",
        "Stop: stop idle ends",
        "UserPromptSubmit: prompt working begins",
        "PreToolUse: ask-user blocked",
        "PermissionRequest: asks-user blocked",
        "PostToolUse: after-tool working",
        "Stop: stop idle ends",
        "SessionStart: session-start idle",
        "UserPromptSubmit: prompt working begins",
        "PreToolUse: before-tool working",
        "PermissionRequest: permission blocked asks",
        "Notification: notified-permission blocked",
        "PostToolUse: after-tool working",
        "PreToolUse: before-tool working",
        "PostToolUseFailure: tool-failed working",
        "Stop: stop idle ends",
        "PreCompact: compacting working",
        "SessionStart: -",
        "SessionStart: session-start idle",
        "UserPromptSubmit: prompt working begins",
        "StopFailure: stop-failure error fails",
    ];
    assert_eq!(lines_of("claude", CLAUDE), expected);
}

#[test]
fn every_recorded_event_of_codex_says_what_happened() {
    let expected = [
        "SessionStart: -",
        "UserPromptSubmit: prompt working begins",
        "PreToolUse: before-tool working",
        "PermissionRequest: permission blocked asks",
        "PostToolUse: after-tool working",
        "Stop: stop idle ends",
        "Stop: stop idle ends",
        "SessionStart: -",
        "UserPromptSubmit: prompt working begins",
        "Interrupt: interrupted idle",
    ];
    assert_eq!(lines_of("codex", CODEX), expected);
}

#[test]
fn every_recorded_event_of_gemini_says_what_happened() {
    let expected = [
        "SessionStart: session-start idle",
        "BeforeAgent: prompt working begins",
        "BeforeTool: before-tool working",
        "Notification: notified-permission blocked shows",
        "AfterTool: after-tool working",
        "AfterAgent: stop idle ends",
        "BeforeAgent: prompt working begins",
        "AfterAgent: stop idle ends",
    ];
    assert_eq!(lines_of("gemini", GEMINI), expected);
}

#[test]
fn a_request_for_permission_says_for_what() {
    let asked = |readings: Vec<HookReading>| {
        readings.into_iter().find(|reading| matches!(reading.moment, HookMoment::PermissionAsked { .. }))
    };
    let claude = asked(readings("claude", CLAUDE)).unwrap();
    assert_eq!(
        claude.moment,
        HookMoment::PermissionAsked { title: "Bash".into(), body: "touch denied".into() }
    );
    let evidence = claude.evidence.unwrap();
    assert_eq!(
        (evidence.kind, evidence.message.as_str()),
        (Some(BlockedKind::Permission), "Bash: touch denied")
    );
    let codex = asked(readings("codex", CODEX)).unwrap();
    assert!(
        matches!(codex.moment, HookMoment::PermissionAsked { body, .. } if body.starts_with("touch /home/user/project/cx"))
    );
    let is_shown = |reading: &HookReading| matches!(reading.moment, HookMoment::PermissionShown { .. });
    let gemini = readings("gemini", GEMINI).into_iter().find(is_shown).unwrap();
    let shown =
        HookMoment::PermissionShown { title: "Confirm Shell Command".into(), body: "touch gm2".into() };
    assert_eq!(gemini.moment, shown);
    assert_eq!(answer(&manifest("gemini"), &gemini, &HookDecision::Allow), None, "its hook decides nothing");
}

#[test]
fn session_transcript_prompt_and_last_words_are_read() {
    for (name, recorded, last) in
        [("claude", CLAUDE, "done"), ("codex", CODEX, "done"), ("gemini", GEMINI, "done")]
    {
        let readings = readings(name, recorded);
        assert!(
            readings.iter().filter(|reading| !reading.is_child).all(|reading| reading.session.is_some()),
            "{name}"
        );
        assert!(
            readings.iter().filter(|reading| !reading.is_child).all(|reading| reading.transcript.is_some()),
            "{name}"
        );
        let end = readings.iter().find(|reading| reading.moment == HookMoment::TurnEnded).unwrap();
        assert_eq!(end.text.as_deref(), Some(last), "{name}");
        let begin = readings.iter().find(|reading| prompt(reading).is_some()).unwrap();
        assert!(prompt(begin).unwrap().starts_with("@tool "), "{name}");
        assert!(begin.text.is_none(), "{name}");
    }
}

#[test]
fn a_turn_that_the_vendor_begins_itself_shows_its_own_prompt() {
    let notified = readings("claude", CLAUDE).remove(10);
    assert!(prompt(&notified).unwrap().starts_with("<task-notification>"));
}

#[test]
fn a_subagents_request_for_permission_is_asked_but_says_nothing_about_the_agent() {
    let payload = json!({ "hook_event_name": "PermissionRequest", "agent_id": "a1", "session_id": "s", "tool_name": "Bash", "tool_input": { "command": "ls" } });
    let reading = read(&manifest("claude"), None, &payload);
    assert!(reading.is_child && reading.evidence.is_none() && reading.session.is_none());
    assert_eq!(reading.moment, HookMoment::PermissionAsked { title: "Bash".into(), body: "ls".into() });
}

#[test]
fn background_work_is_counted_at_the_end_of_a_turn() {
    let payload = json!({ "hook_event_name": "Stop", "background_tasks": [{ "id": 1 }, { "id": 2 }] });
    assert_eq!(read(&manifest("claude"), None, &payload).evidence.unwrap().background, Some(2));
}

#[test]
fn decisions_have_the_shapes_that_the_real_programs_took() {
    let leave = json!({ "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {} });
    for name in ["claude", "codex"] {
        let manifest = manifest(name);
        let reading = read(&manifest, None, &leave);
        let wrap = |decision: Value| json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } });
        assert_eq!(
            answer(&manifest, &reading, &HookDecision::Allow),
            Some(wrap(json!({ "behavior": "allow" })))
        );
        let denied = answer(&manifest, &reading, &HookDecision::Deny("no {braces}".into()));
        assert_eq!(denied, Some(wrap(json!({ "behavior": "deny", "message": "no {braces}" }))));
        assert_eq!(answer(&manifest, &reading, &HookDecision::Nothing), None);
    }
}

#[test]
fn a_message_is_handed_over_only_where_a_turn_ends() {
    let cases = [("claude", "Stop", "block"), ("codex", "Stop", "block"), ("gemini", "AfterAgent", "deny")];
    for (name, event, word) in cases {
        let manifest = manifest(name);
        let go_on = HookDecision::Continue("next".into());
        let end = read(&manifest, None, &json!({ "hook_event_name": event }));
        assert_eq!(answer(&manifest, &end, &go_on), Some(json!({ "decision": word, "reason": "next" })));
        let other = read(&manifest, None, &json!({ "hook_event_name": "SessionStart" }));
        assert_eq!(answer(&manifest, &other, &go_on), None);
        assert_eq!(answer(&manifest, &end, &HookDecision::Allow), None);
    }
}

#[test]
fn a_payload_of_any_shape_says_nothing_instead_of_failing() {
    for payload in [
        json!(null),
        json!([1]),
        json!({ "hook_event_name": 7 }),
        json!({ "hook_event_name": "Stop", "session_id": {} }),
    ] {
        let reading = read(&manifest("claude"), None, &payload);
        assert!(reading.session.is_none());
    }
    let quiet = read(&manifest("aider"), Some("Stop"), &json!({}));
    assert_eq!((quiet.moment, quiet.evidence), (HookMoment::Other, None));
}

#[test]
fn c7_what_an_agent_wrote_cannot_move_a_cursor() {
    let payload = json!({ "hook_event_name": "PermissionRequest", "tool_name": "\u{1b}[2J", "tool_input": { "command": "a\u{1b}]0;x\u{7}\nb\u{202e}" } });
    let reading = read(&manifest("claude"), None, &payload);
    let HookMoment::PermissionAsked { title, body } = reading.moment else { panic!("{reading:?}") };
    let shown = format!("{title}{body}{}", reading.evidence.unwrap().message);
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown:?}");
    assert_eq!(body.lines().count(), 2);
}

/// Returns the body of claude's request for permission to run a command.
fn asked(command: &str) -> String {
    let payload = json!({ "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": { "command": command } });
    let HookMoment::PermissionAsked { body, .. } = read(&manifest("claude"), None, &payload).moment else {
        panic!("not asked")
    };
    body
}

#[test]
fn m20a_the_end_of_a_long_command_is_shown() {
    let command = format!("{}; rm -rf ~", "echo harmless; ".repeat(2_000));
    assert_eq!(asked(&command), command);
}

#[test]
fn m20a_a_command_that_is_too_long_for_the_wire_says_in_a_line_of_its_own_how_much_is_not_shown() {
    let body = asked(&format!("{}; rm -rf ~", "ä".repeat(MAX_ITEM_BODY / 2)));
    assert_eq!(body.lines().last(), Some("… (10 more characters are not shown: attach to read them)"));
}

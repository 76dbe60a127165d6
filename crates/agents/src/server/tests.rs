//! Event streams that a real server sent.

use proto::agent::{AgentState, BlockedKind};
use serde_json::json;

use super::*;

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("../../tests/fixtures/server/opencode-1.18.33-", $name, ".sse"))
    };
}

const SESSION: &str = "ses_e1df80e8affe0zUzicuAk0Jj4L";

fn manifest() -> Manifest {
    toml::from_str(include_str!("../../manifests/opencode.toml")).unwrap()
}

fn spec() -> ServerSpec {
    manifest().server.unwrap()
}

fn fresh() -> ServerReader {
    ServerReader::new(&manifest(), None).unwrap()
}

fn with_session() -> ServerReader {
    ServerReader::new(&manifest(), Some(SESSION.to_owned())).unwrap()
}

fn events(stream: &str) -> Vec<Value> {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn play(reader: &mut ServerReader, stream: &str) -> Vec<ServerEvent> {
    events(stream).iter().flat_map(|event| reader.event(event)).collect()
}

/// Returns the states, in order.
fn states(news: &[ServerEvent]) -> Vec<(&str, AgentState)> {
    let evidence = news.iter().filter_map(|one| match one {
        ServerEvent::Evidence(evidence) => Some((evidence.rule.as_str(), evidence.state.unwrap())),
        _ => None,
    });
    evidence.collect()
}

fn ends(news: &[ServerEvent]) -> Vec<(TurnEnd, &str)> {
    let ends = news.iter().filter_map(|one| match one {
        ServerEvent::TurnEnded { end, text } => Some((*end, text.as_str())),
        _ => None,
    });
    ends.collect()
}

fn evidence<'n>(news: &'n [ServerEvent], rule: &str) -> &'n Evidence {
    let found = news.iter().find_map(|one| match one {
        ServerEvent::Evidence(evidence) if evidence.rule == rule => Some(evidence),
        _ => None,
    });
    found.unwrap()
}

#[test]
fn a_permission_blocks_until_it_is_answered() {
    let news = play(&mut fresh(), recorded!("permission"));
    let (working, blocked, idle) = (AgentState::Working, AgentState::Blocked, AgentState::Idle);
    assert_eq!(
        states(&news),
        [
            ("busy", working),
            ("permission", blocked),
            ("busy", working),
            ("idle", idle),
            ("busy", working),
            ("idle", idle)
        ]
    );
    let asked = evidence(&news, "permission");
    assert_eq!((asked.kind, asked.message.as_str()), (Some(BlockedKind::Permission), "bash: echo hi"));
}

#[test]
fn c18_a_turn_ends_with_all_of_its_text_and_a_queued_prompt_belongs_to_it() {
    let news = play(&mut fresh(), recorded!("permission"));
    assert_eq!(
        ends(&news),
        [(TurnEnd::Done, "all done here"), (TurnEnd::Done, "second turn text\n\nqueued while busy")]
    );
    let prompts = news.iter().filter(|one| **one == ServerEvent::PromptSubmitted).count();
    assert_eq!(prompts, 3);
}

#[test]
fn the_session_is_learnt_from_its_beginning() {
    let news = play(&mut fresh(), recorded!("permission"));
    assert_eq!(news.first(), Some(&ServerEvent::Session(SESSION.to_owned())));
}

#[test]
fn the_context_has_the_window_the_server_lists() {
    let mut reader = fresh();
    let models = reader.opened().into_iter().find(|fetch| fetch.purpose == Purpose::Models).unwrap();
    let listed = json!({ "providers": [{ "id": "fake", "models": { "fake-model": { "limit": { "context": 200_000 } } } }] });
    assert!(reader.fetched(&models, &listed).is_empty());
    let news = play(&mut reader, recorded!("permission"));
    let mut context = news.iter().filter_map(|one| match one {
        ServerEvent::Context(context) => Some(*context),
        _ => None,
    });
    let last = context.next_back().unwrap();
    assert_eq!(last, Context { used: 60_020, window: Some(200_000), total: 240_080 });
    assert_eq!(last.percent(), Some(30));
}

#[test]
fn a_question_blocks_with_its_options() {
    let mut reader = with_session();
    let mut asked = Vec::new();
    let mut news = Vec::new();
    for event in events(recorded!("question")) {
        news.extend(reader.event(&event));
        asked.extend(reader.asks().first().cloned());
    }
    let ask = asked.first().unwrap();
    assert_eq!((ask.kind, ask.title.as_str()), (BlockedKind::Question, "Which colour?"));
    assert_eq!(ask.options, ["Red", "Blue"]);
    assert!(reader.asks().is_empty());
    assert_eq!(ends(&news), [(TurnEnd::Done, "thanks")]);
    let request = answer(&spec(), ask, "Blue", "").unwrap();
    assert_eq!(request.path, format!("/question/{}/reply", ask.id));
    assert_eq!(request.body, Some(json!({ "answers": [["Blue"]] })));
}

#[test]
fn a_wait_for_the_provider_is_work_with_a_quota() {
    let news = play(&mut with_session(), recorded!("quota"));
    let waits = evidence(&news, "retry");
    assert_eq!((waits.state, waits.message.as_str()), (Some(AgentState::Working), "You exceeded your quota"));
    assert_eq!(waits.quota.unwrap().reset_at, Some(1_794_797_209_249));
    assert_eq!(states(&news).last(), Some(&("idle", AgentState::Idle)));
}

#[test]
fn a_failure_stays_until_the_next_turn() {
    let mut reader = with_session();
    let news = play(&mut reader, recorded!("failure"));
    assert_eq!(states(&news).last(), Some(&("failed", AgentState::Error)));
    assert_eq!(evidence(&news, "failed").message, "boom 400");
    assert_eq!(ends(&news), [(TurnEnd::Failed, "")], "its second end is none");
    let busy = json!({ "type": "session.status", "properties": { "sessionID": SESSION, "status": { "type": "busy" } } });
    assert_eq!(states(&reader.event(&busy)), [("busy", AgentState::Working)]);
}

#[test]
fn an_interrupted_turn_is_no_failure() {
    let mut reader = ServerReader::new(&manifest(), Some("ses_e1df6762effeN5jGUC28gw8k3U".into())).unwrap();
    let news = play(&mut reader, recorded!("interrupted"));
    assert_eq!(ends(&news), [(TurnEnd::Interrupted, ""), (TurnEnd::Done, "with draft")]);
    assert!(!states(&news).iter().any(|(_, state)| *state == AgentState::Error));
}

#[test]
fn a_subagents_request_blocks_but_its_end_ends_nothing() {
    let news = play(&mut with_session(), recorded!("child"));
    let (working, blocked, idle) = (AgentState::Working, AgentState::Blocked, AgentState::Idle);
    let expected = [("busy", working), ("permission", blocked), ("busy", working), ("idle", idle)];
    assert_eq!(states(&news), expected);
    assert_eq!(ends(&news), [(TurnEnd::Done, "parent done")]);
    assert!(!news.iter().any(|one| matches!(one, ServerEvent::Session(_) | ServerEvent::Fetch(_))));
}

#[test]
fn an_unknown_session_is_asked_about_once() {
    let mut reader = fresh();
    let news = play(&mut reader, recorded!("question"));
    let asked: Vec<&Fetch> = news
        .iter()
        .filter_map(|one| if let ServerEvent::Fetch(fetch) = one { Some(fetch) } else { None })
        .collect();
    let [who] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(who.request.path, format!("/session/{SESSION}"));
    assert!(reader.fetched(who, &json!({ "id": SESSION, "parentID": "ses_x" })).is_empty(), "a subagent's");
    let news = reader.fetched(who, &json!({ "id": SESSION }));
    assert_eq!(news.first(), Some(&ServerEvent::Session(SESSION.to_owned())));
    assert_eq!(news.len(), 4, "then it is looked at: {news:?}");
}

#[test]
fn a_person_who_goes_to_another_session_takes_the_agent_along_and_back() {
    let mut reader = fresh();
    let first = play(&mut reader, recorded!("permission"));
    assert!(first.contains(&ServerEvent::Session(SESSION.to_owned())));
    let news = play(&mut reader, recorded!("begun"));
    assert!(news.contains(&ServerEvent::Session("ses_e1df6762effeN5jGUC28gw8k3U".into())));
    let late = json!({ "type": "session.status", "properties": { "sessionID": SESSION, "status": { "type": "busy" } } });
    assert!(reader.event(&late).is_empty(), "the former session works on by itself");
    let back = json!({ "type": "message.updated", "properties": { "sessionID": SESSION, "info": { "role": "user", "id": "msg_new" } } });
    assert_eq!(reader.event(&back).first(), Some(&ServerEvent::Session(SESSION.to_owned())));
}

#[test]
fn a_stream_opened_again_tells_what_is_open_now() {
    let mut reader = with_session();
    let fetches = reader.opened();
    let by = |id: &str| fetches.iter().find(|fetch| fetch.purpose == Purpose::Look(id.into())).unwrap();
    let news = reader.fetched(by("status"), &json!({ SESSION: { "type": "busy" } }));
    assert_eq!(states(&news), [("busy", AgentState::Working)]);
    let open = json!([{ "id": "per_1", "sessionID": "ses_child", "permission": "edit", "patterns": ["a.rs"], "metadata": {} }]);
    let news = reader.fetched(by("permissions"), &open);
    assert_eq!(states(&news), [("permission", AgentState::Blocked)]);
    assert_eq!(reader.lost(), [ServerEvent::Withdrawn(Source::Server)]);
    let again = reader.opened();
    assert_eq!(again, fetches);
    let news = reader.fetched(by("status"), &json!({}));
    assert_eq!(states(&news), [("idle", AgentState::Idle)], "a session that is not listed does nothing");
}

#[test]
fn a_server_without_a_session_says_nothing_yet() {
    let mut reader = fresh();
    for fetch in reader.opened() {
        assert!(reader.fetched(&fetch, &json!({})).is_empty());
        assert!(reader.fetched(&fetch, &json!([])).is_empty());
    }
    assert!(reader.event(&json!({ "type": "server.connected", "properties": {} })).is_empty());
}

#[test]
fn requests_are_written_as_the_server_takes_them() {
    let requests = prompt(&spec(), SESSION, "say \"hi\"\nthen stop {/x}").unwrap();
    let [show, submit] = requests.as_slice() else { panic!("{requests:?}") };
    assert!(show.is_for_show && !submit.is_for_show);
    assert_eq!(show.body, Some(json!({ "sessionID": SESSION })));
    assert_eq!(submit.path, format!("/session/{SESSION}/prompt_async"));
    let text = "say \"hi\"\nthen stop {/x}";
    assert_eq!(submit.body, Some(json!({ "parts": [{ "type": "text", "text": text }] })));
    assert_eq!(begin(&spec()).unwrap().body, Some(json!({})));
    assert_eq!(begun(&spec(), &json!({ "id": "ses_1" })).as_deref(), Some("ses_1"));
    assert_eq!(abort(&spec(), SESSION).unwrap().path, format!("/session/{SESSION}/abort"));
}

#[test]
fn an_id_that_would_mean_another_path_makes_no_request() {
    for hostile in ["../config", "a b", "x\r\nHost: y", "", "ünï"] {
        assert_eq!(prompt(&spec(), hostile, "hi"), None, "{hostile:?}");
        assert_eq!(abort(&spec(), hostile), None, "{hostile:?}");
    }
}

#[test]
fn permissions_are_answered_by_name() {
    let ask = PendingRequest {
        id: "per_1".into(),
        rule: "permission".into(),
        kind: BlockedKind::Permission,
        title: String::new(),
        body: String::new(),
        options: Vec::new(),
    };
    let reply = |name: &str| answer(&spec(), &ask, name, "").and_then(|request| request.body);
    assert_eq!(reply("allow"), Some(json!({ "reply": "once" })));
    assert_eq!(reply("always"), Some(json!({ "reply": "always" })));
    assert_eq!(reply("deny"), Some(json!({ "reply": "reject" })));
    assert_eq!(reply("perhaps"), None);
}

/// Returns a list of messages as the server returns it: role, time, text.
fn listed(messages: &[(&str, u64, &str)]) -> Value {
    let message = |(number, (role, made, text)): (usize, &(&str, u64, &str))| {
        let info = json!({ "id": format!("msg_{number}"), "role": role, "time": { "created": made } });
        json!({ "info": info, "parts": [{ "type": "step-start" }, { "type": "text", "text": text }] })
    };
    messages.iter().enumerate().map(message).collect()
}

/// A moment after the first one that counts as milliseconds.
const THEN: u64 = 1_794_797_000_000;

#[test]
fn c18_a_turns_text_is_what_the_model_said_after_the_prompt_of_that_time() {
    let messages = listed(&[
        ("user", THEN, "one"),
        ("assistant", THEN + 1, "first"),
        ("user", THEN + 100, "two"),
        ("assistant", THEN + 101, "before the tool"),
        ("assistant", THEN + 150, "after the tool"),
        ("user", THEN + 300, "three"),
        ("assistant", THEN + 301, "not over yet"),
    ]);
    let text = |span| turn(&spec(), &messages, &span).map(|turn| (turn.end, turn.text));
    assert_eq!(text(0..=THEN + 50), Some((TurnEnd::Done, "first".to_owned())));
    let second = "before the tool\n\nafter the tool".to_owned();
    assert_eq!(text(THEN + 50..=THEN + 200), Some((TurnEnd::Done, second)));
    assert_eq!(text(THEN + 400..=THEN + 500), None, "a turn without a prompt");
}

#[test]
fn c18_a_listed_turn_says_how_it_ended() {
    let mut messages = listed(&[("user", THEN, "one"), ("assistant", THEN + 1, "so far")]);
    let end = |messages: &Value| turn(&spec(), messages, &(0..=THEN)).map(|turn| turn.end);
    messages[1]["info"]["error"] = json!({ "name": "APIError" });
    assert_eq!(end(&messages), Some(TurnEnd::Failed));
    messages[1]["info"]["error"] = json!({ "name": "MessageAbortedError" });
    assert_eq!(end(&messages), Some(TurnEnd::Interrupted));
}

#[test]
fn c18_a_listed_turn_that_ends_with_a_refusal_is_interrupted_and_one_that_goes_on_is_done() {
    let refused = json!({ "type": "tool", "state": {
        "status": "error", "error": "The user rejected permission to use this specific tool call." } });
    let failed = json!({ "type": "tool", "state": { "status": "error", "error": "no such file" } });
    let end = |parts: &[(&Value, &str)]| {
        let texts: Vec<_> = parts.iter().map(|(_, text)| ("assistant", THEN + 1, *text)).collect();
        let mut messages = listed(&[[("user", THEN, "one")].as_slice(), &texts].concat());
        for (number, (part, _)) in parts.iter().enumerate() {
            messages[number + 1]["parts"][0] = (*part).clone();
        }
        turn(&spec(), &messages, &(0..=THEN)).map(|turn| turn.end)
    };
    assert_eq!(end(&[(&refused, "")]), Some(TurnEnd::Interrupted));
    assert_eq!(end(&[(&refused, ""), (&failed, "so be it")]), Some(TurnEnd::Done));
    assert_eq!(end(&[(&failed, "so be it")]), Some(TurnEnd::Done));
}

#[test]
fn c21_a_server_has_a_message_only_as_a_prompt_that_was_made_after_it_was_sent() {
    let messages = listed(&[("user", THEN, "again"), ("assistant", THEN + 50, "hello")]);
    assert!(has_prompt(&spec(), &messages, "again\n", THEN));
    assert!(!has_prompt(&spec(), &messages, "again", THEN + 1), "an older prompt with the same words");
    assert!(!has_prompt(&spec(), &messages, "hello", THEN), "the model said it");
    assert!(!has_prompt(&spec(), &messages, "agai", THEN));
}

#[test]
fn c18_a_turn_whose_prompt_was_missed_ends_without_a_text() {
    let mut reader = with_session();
    let without_prompts = events(recorded!("permission"))
        .into_iter()
        .filter(|event| event.pointer("/properties/info/role") != Some(&json!("user")));
    let news: Vec<ServerEvent> = without_prompts.flat_map(|event| reader.event(&event)).collect();
    assert!(!ends(&news).is_empty());
    assert!(ends(&news).iter().all(|(_, text)| text.is_empty()), "{:?}", ends(&news));
}

#[test]
fn c18_a_prompt_that_was_there_before_begins_no_turn_when_it_is_told_again() {
    let mut reader = with_session();
    let past =
        reader.opened().into_iter().find(|fetch| matches!(fetch.purpose, Purpose::Messages(_))).unwrap();
    assert_eq!(past.request.path, format!("/session/{SESSION}/message"));
    let _nothing = reader.fetched(&past, &listed(&[("user", THEN, "one")]));
    let again = json!({ "type": "message.updated",
        "properties": { "sessionID": SESSION, "info": { "role": "user", "id": "msg_0" } } });
    assert!(!reader.event(&again).contains(&ServerEvent::PromptSubmitted));
}

/// Returns an event of the agent's session.
fn event(kind: &str, mut properties: Value) -> Value {
    properties["sessionID"] = json!(SESSION);
    json!({ "type": kind, "properties": properties })
}

fn said(message: &str, part: &str, text: &str) -> [Value; 2] {
    let info = json!({ "role": "assistant", "id": message });
    let part = json!({ "type": "text", "messageID": message, "id": part, "text": text });
    [
        event("message.updated", json!({ "info": info })),
        event("message.part.updated", json!({ "part": part })),
    ]
}

fn prompted(id: &str) -> Value {
    event("message.updated", json!({ "info": { "role": "user", "id": id } }))
}

fn refused() -> Value {
    event("permission.replied", json!({ "requestID": "per_1", "reply": "reject" }))
}

#[test]
fn c18_a_result_has_what_was_said_before_and_after_a_tool() {
    let mut reader = with_session();
    let told = [
        vec![prompted("msg_0")],
        said("msg_1", "prt_1", "before").to_vec(),
        said("msg_2", "prt_2", "aft").to_vec(),
        said("msg_2", "prt_2", "after").to_vec(),
        vec![event("session.idle", json!({}))],
    ];
    let news: Vec<ServerEvent> = told.concat().iter().flat_map(|event| reader.event(event)).collect();
    assert_eq!(ends(&news), [(TurnEnd::Done, "before\n\nafter")]);
}

#[test]
fn c18_a_turn_that_a_refusal_ended_was_interrupted_and_one_that_went_on_was_not() {
    for (goes_on, end) in [(false, TurnEnd::Interrupted), (true, TurnEnd::Done)] {
        let mut reader = with_session();
        let mut told = vec![prompted("msg_0")];
        told.extend(said("msg_1", "prt_1", "before"));
        told.push(refused());
        if goes_on {
            told.extend(said("msg_2", "prt_2", "then not"));
        }
        told.push(event("session.idle", json!({})));
        let news: Vec<ServerEvent> = told.iter().flat_map(|event| reader.event(event)).collect();
        assert_eq!(ends(&news).first().map(|(end, _)| *end), Some(end));
    }
}

/// The daemon died while a request was open: the server completes the message that made it, which is no new one.
#[test]
fn c18_a_refusal_after_the_stream_was_opened_again_ends_the_turn_as_interrupted() {
    let mut reader = with_session();
    let past =
        reader.opened().into_iter().find(|fetch| matches!(fetch.purpose, Purpose::Messages(_))).unwrap();
    let _nothing = reader.fetched(&past, &listed(&[("user", THEN, "one"), ("assistant", THEN + 1, "")]));
    let completed = event("message.updated", json!({ "info": { "role": "assistant", "id": "msg_1" } }));
    let busy = event("session.status", json!({ "status": { "type": "busy" } }));
    let told = [busy, refused(), completed, event("session.idle", json!({}))];
    let news: Vec<ServerEvent> = told.iter().flat_map(|event| reader.event(event)).collect();
    assert_eq!(ends(&news), [(TurnEnd::Interrupted, "")]);
}

#[test]
fn m20a_a_request_has_the_whole_command_line_by_line() {
    let steps: Vec<String> = (0..200).map(|number| format!("echo step-{number} &&")).collect();
    let command = format!("{}\ntrue", steps.join("\n"));
    let mut reader = with_session();
    let metadata = json!({ "command": command });
    let asked = json!({ "id": "per_1", "permission": "bash", "metadata": metadata });
    let news = reader.event(&event("permission.asked", asked));
    assert_eq!(reader.asks()[0].body, command);
    let line = &evidence(&news, "permission").message;
    assert!(!line.contains('\n') && line.ends_with('…'), "{line}");
}

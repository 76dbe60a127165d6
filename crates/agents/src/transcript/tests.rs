//! Transcripts that real programs wrote, and reading them in pieces.

use proptest::prelude::*;

use super::*;

const CLAUDE: &str = include_str!("../../tests/fixtures/transcripts/claude-2.1.325.jsonl");
const CLAUDE_LIMIT: &str = include_str!("../../tests/fixtures/transcripts/claude-2.1.325-limit.jsonl");
const CODEX: &str = include_str!("../../tests/fixtures/transcripts/codex-0.166.0.jsonl");
const GEMINI: &str = include_str!("../../tests/fixtures/transcripts/gemini-0.61.0.jsonl");
const COPILOT: &str = include_str!("../../tests/fixtures/transcripts/copilot-1.0.102.jsonl");
const QWEN: &str = include_str!("../../tests/fixtures/transcripts/qwen-0.24.4.jsonl");

fn manifest(name: &str) -> Manifest {
    let text = match name {
        "claude" => include_str!("../../manifests/claude.toml"),
        "codex" => include_str!("../../manifests/codex.toml"),
        "copilot" => include_str!("../../manifests/copilot.toml"),
        "qwen" => include_str!("../../manifests/qwen.toml"),
        _ => include_str!("../../manifests/gemini.toml"),
    };
    toml::from_str(text).unwrap()
}

fn reader(name: &str) -> TranscriptReader {
    TranscriptReader::new(&manifest(name), ReadFrom::Beginning).unwrap()
}

fn read(name: &str, text: &str) -> TranscriptChange {
    reader(name).feed(text.as_bytes())
}

fn turns(news: &TranscriptChange) -> Vec<(TurnEnd, &str)> {
    news.turns.iter().map(|turn| (turn.end, turn.text.as_str())).collect()
}

#[test]
fn claude_context_is_what_the_backend_counted() {
    let context = read("claude", CLAUDE).context.unwrap();
    assert_eq!((context.used, context.window, context.percent()), (60_000, Some(1_000_000), Some(6)));
    // Twelve answers of the agent's own, each of 60,000 tokens in and 20 out; a subagent's are not in its transcript.
    assert_eq!(context.total, 12 * 60_020);
}

#[test]
fn claude_turns_end_with_their_last_text() {
    let news = read("claude", CLAUDE);
    let turns = turns(&news);
    assert_eq!(turns.first(), Some(&(TurnEnd::Done, "made the file")));
    assert_eq!(turns.get(1), Some(&(TurnEnd::Done, "chosen")));
    assert!(turns.contains(&(TurnEnd::Done, "parent done")), "{turns:?}");
    assert!(
        !turns.iter().any(|(_, text)| text.contains("child done")),
        "a subagent's text is not the agent's"
    );
    assert_eq!(news.session.as_deref(), Some("cac21481-40a4-49ad-954d-7879abb62ba6"));
}

#[test]
fn claude_failures_and_interruptions_are_told_apart() {
    let news = read("claude", CLAUDE);
    let ends: Vec<TurnEnd> = news.turns.iter().map(|turn| turn.end).collect();
    assert_eq!(ends.last(), Some(&TurnEnd::Interrupted));
    assert_eq!(ends.iter().filter(|end| **end == TurnEnd::Failed).count(), 1);
    let evidence = news.evidence.unwrap();
    assert_eq!((evidence.rule.as_str(), evidence.state), ("transcript.interrupted", Some(AgentState::Idle)));
}

#[test]
fn claude_limit_has_its_reset() {
    let evidence = read("claude", CLAUDE_LIMIT).evidence.unwrap();
    assert_eq!(evidence.state, Some(AgentState::Error));
    assert_eq!(evidence.quota, Some(Quota { reset_at: Some(1_794_797_591_000) }));
    assert_eq!(evidence.message, "You've hit your 5-hour limit · resets 2:53am (UTC)");
}

#[test]
fn codex_context_and_window_stand_in_its_rollout() {
    let context = read("codex", CODEX).context.unwrap();
    assert_eq!(context, Context { used: 60_020, window: Some(258_400), total: 180_060 });
    assert_eq!(context.percent(), Some(23));
}

#[test]
fn codex_turns_end_in_every_way() {
    let news = read("codex", CODEX);
    let expected = [
        (TurnEnd::Done, "made the file"),
        (TurnEnd::Done, "second answer"),
        (TurnEnd::Interrupted, ""),
        (TurnEnd::Failed, ""),
        (TurnEnd::Failed, ""),
    ];
    assert_eq!(turns(&news), expected);
    assert_eq!(news.prompts, 5);
    let evidence = news.evidence.unwrap();
    assert_eq!(evidence.rule, "transcript.limit");
    assert_eq!(evidence.quota, Some(Quota { reset_at: Some(1_794_797_579_000) }));
}

#[test]
fn gemini_context_counts_each_message_once() {
    let news = read("gemini", GEMINI);
    let context = news.context.unwrap();
    assert_eq!((context.used, context.window, context.total), (60_020, Some(1_048_576), 180_060));
    assert_eq!(context.percent(), Some(6));
    assert_eq!(
        turns(&news).iter().map(|(end, _)| *end).collect::<Vec<_>>(),
        [TurnEnd::Interrupted, TurnEnd::Failed, TurnEnd::Failed]
    );
    let failure = news.evidence.unwrap();
    let now = crate::quota::Now { epoch_ms: 0, zone: jiff::tz::TimeZone::UTC };
    assert!(
        crate::quota::read(&manifest("gemini").quota, &failure.message, &now).is_some(),
        "{}",
        failure.message
    );
}

#[test]
fn gemini_text_is_there_before_its_turn_is_said_to_be_over() {
    let mut reader = reader("gemini");
    let until_second = GEMINI.split_inclusive('\n').take_while(|line| !line.contains("never"));
    let news = until_second.map(|line| reader.feed(line.as_bytes())).last().unwrap();
    assert_eq!((reader.text(), news.turns.len()), ("second answer", 0));
}

#[test]
fn qwen_and_copilot_count_what_the_backend_counted() {
    let context = read("qwen", QWEN).context.unwrap();
    assert_eq!(context, Context { used: 60_020, window: Some(200_000), total: 120_040 });
    let context = read("copilot", COPILOT).context.unwrap();
    assert_eq!(context, Context { used: 60_020, window: Some(128_000), total: 120_040 });
    for (name, text) in [("qwen", QWEN), ("copilot", COPILOT)] {
        let mut reader = reader(name);
        let news = reader.feed(text.as_bytes());
        assert_eq!((reader.text(), news.prompts), ("made the file", 1), "{name}");
        assert!(news.session.is_some(), "{name}");
    }
}

#[test]
fn lines_that_are_no_json_say_nothing() {
    let broken = CODEX.replace("{\"timestamp\":\"2026-11-16T01:52:31.379Z\"", "{\"timestamp\":2026-11");
    assert_ne!(broken, CODEX);
    let news = read("codex", &format!("\u{0}\n{{}}\n[1,2\n\"assistant\"\n{broken}"));
    assert_eq!(news.turns.len(), 4);
    assert_eq!(news.context.unwrap().used, 60_020);
    let mut reader = reader("codex");
    assert!(reader.feed(b"\xff\xfe\"task_complete\" \"event_msg\"\n").is_empty());
}

#[test]
fn a_transcript_read_from_its_middle_skips_the_line_it_begins_in() {
    let mut reader = TranscriptReader::new(&manifest("codex"), ReadFrom::Middle).unwrap();
    let middle = CODEX.find("second answer").unwrap();
    let news = reader.feed(CODEX.get(middle..).unwrap().as_bytes()).past();
    assert_eq!(news.context.unwrap().used, 60_020);
    assert!(news.turns.is_empty() && news.evidence.is_none());
}

#[test]
fn an_old_prompt_leaves_no_text_for_the_next_turn() {
    let mut reader = reader("codex");
    let _done = reader.feed(CODEX.as_bytes());
    assert_eq!(reader.text(), "");
}

/// News of several pieces, as one.
fn merged(mut all: TranscriptChange, next: TranscriptChange) -> TranscriptChange {
    all.context = next.context.or(all.context);
    all.session = next.session.or(all.session);
    all.prompts += next.prompts;
    // The evidence is about the newest turn that ended.
    if !next.turns.is_empty() {
        all.evidence = next.evidence;
    }
    all.turns.extend(next.turns);
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn any_pieces_give_the_same_news(cuts in prop::collection::vec(0_usize..70_000, 0..40), which in 0_usize..3) {
        let (name, text) = [("claude", CLAUDE), ("codex", CODEX), ("gemini", GEMINI)][which];
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.push(text.len());
        cuts.sort_unstable();
        let mut reader = reader(name);
        let mut all = TranscriptChange::default();
        let mut from = 0;
        for cut in cuts {
            all = merged(all, reader.feed(&text.as_bytes()[from..cut]));
            from = cut;
        }
        prop_assert_eq!(all, read(name, text));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut reader = reader("claude");
        let _news = reader.feed(&bytes);
        let _more = reader.feed(b"\n{\"type\":\"assistant\",\"message\":{\"usage\":{\"input_tokens\":18446744073709551615,\"output_tokens\":9}}}\n");
    }
}

#[test]
fn c21_a_transcript_has_a_prompt_only_if_it_was_written_after_the_message_was_sent() {
    let line = r#"{"type":"user","timestamp":"2026-11-17T01:00:00.000Z","message":{"content":"[peer:a 12]\n│ say \"x\""}}"#;
    let sent = "[peer:a 12]\n│ say \"x\"";
    let at = 1_794_877_200_000;
    assert!(has_prompt(line.as_bytes(), sent, at));
    assert!(!has_prompt(line.as_bytes(), sent, at + 1), "an older prompt of the same words");
    assert!(!has_prompt(line.as_bytes(), "[peer:a 12]\n│ say y", at));
    assert!(!has_prompt(br#"{"type":"user","message":{"content":"hello"}}"#, "hello", 0), "no time");
}

#[test]
fn c18_a_turn_has_every_part_that_was_said_and_each_once() {
    let line = |id: &str, text: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    };
    let over = r#"{"type":"system","subtype":"turn_duration"}"#;
    let lines = [line("m1", "I look first."), line("m2", "Now"), line("m2", "I know."), over.to_owned()];
    let news = read("claude", &(lines.join("\n") + "\n"));
    assert_eq!(news.turns.last().unwrap().text, "I look first.\n\nNow\nI know.");
    let again = |text: &str| format!(r#"{{"type":"gemini","id":"g1","content":"{text}"}}"#);
    let mut gemini = reader("gemini");
    gemini.feed(format!("{}\n{}\n", again("a"), again("a and b")).as_bytes());
    assert_eq!(gemini.text(), "a and b", "a message that is written anew is not repeated");
}

#[test]
fn c18_the_text_of_a_turn_is_found_by_the_time_of_its_prompt_although_the_next_one_is_written() {
    let manifest: Manifest = toml::from_str(include_str!("../../manifests/gemini.toml")).unwrap();
    let mut reader = TranscriptReader::new(&manifest, ReadFrom::Beginning).unwrap();
    let line = |kind: &str, second: u32, content: serde_json::Value| {
        let at = format!("2026-11-16T01:53:{second:02}.000Z");
        format!(
            "{}\n",
            serde_json::json!({ "type": kind, "timestamp": at, "content": content, "id": second.to_string() })
        )
    };
    let prompt = |second: u32| line("user", second, serde_json::json!([{ "text": "please" }]));
    let answer = |second: u32, text: &str| line("gemini", second, serde_json::json!(text));
    let first = 1_794_793_990_000;
    reader.feed(format!("{}{}", prompt(10), answer(11, "first")).as_bytes());
    reader.feed(format!("{}{}", prompt(20), answer(21, "second")).as_bytes());
    assert_eq!(reader.text_since_prompt_in(&(0..=first + 5_000)), Some("first"));
    assert_eq!(reader.text_since_prompt_in(&(first + 5_000..=first + 15_000)), Some("second"));
    assert_eq!(reader.text_since_prompt_in(&(first + 15_000..=first + 20_000)), None);
    reader.feed(prompt(30).as_bytes());
    assert_eq!(reader.text_since_prompt_in(&(0..=first + 5_000)), Some("first"), "two prompts later");
    assert_eq!(reader.whole_text_in(&(0..=first + 5_000)), Some("first"));
}

#[test]
fn c18_a_turn_that_was_interrupted_does_not_end_again_as_done() {
    let manifest: Manifest = toml::from_str(include_str!("../../manifests/claude.toml")).unwrap();
    let mut reader = TranscriptReader::new(&manifest, ReadFrom::Beginning).unwrap();
    let user = |text: &str| serde_json::json!({ "type": "user", "message": { "content": [{ "type": "text", "text": text }] } });
    let over = serde_json::json!({ "type": "system", "subtype": "turn_duration" });
    let refused = "[Request interrupted by user for tool use]";
    let lines = [user("please"), user(refused), over.clone(), user("again"), over];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let ends: Vec<TurnEnd> = reader.feed(text.as_bytes()).turns.iter().map(|turn| turn.end).collect();
    assert_eq!(ends, [TurnEnd::Interrupted, TurnEnd::Done]);
}

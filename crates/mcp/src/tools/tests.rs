//! The table as a whole: names, schemas and what the list costs a model.

use super::*;
use crate::arguments::Shape;
use crate::server::INSTRUCTIONS;

/// The most bytes that the list of tools with the instructions may take: 7,841 tokens of four characters. An
/// earlier list of 42 smaller tools took as much.
const BUDGET: usize = 31_364;
/// What the seven tools for tasks may take beyond that: 1,500 tokens. An agent that leads others through worktrees, reviews and
/// landings would spend more on one attempt to do the same with git in a shell.
const TASKS: usize = 6_000;

#[test]
fn m24f_the_list_of_tools_costs_no_more_than_before() {
    let size = |is_task: bool| {
        let family = all().filter(|tool| tool.name.starts_with("task_") == is_task);
        let listed: Vec<_> = family.map(Tool::listed).collect();
        serde_json::to_string(&listed).expect("tools are JSON").len()
    };
    let others = size(false) + INSTRUCTIONS.len();
    assert!(others <= BUDGET, "{others} bytes, {} more than there may be", others - BUDGET);
    assert!(size(true) <= TASKS, "{} bytes for tasks, at most {TASKS}", size(true));
}

#[test]
fn m24f_timers_and_pads_have_four_tools_each() {
    for family in ["timer_", "scratchpad_"] {
        assert_eq!(all().filter(|tool| tool.name.starts_with(family)).count(), 4, "{family}");
    }
}

#[test]
fn every_family_is_in_the_table() {
    let names: Vec<&str> = all().map(|tool| tool.name).collect();
    let expected = [
        "spawn_agent",
        "spawn_process",
        "start_process",
        "restart_process",
        "stop_process",
        "close_process",
        "rename_process",
        "select_process",
        "list_processes",
        "get_process_status",
        "get_project_status",
        "get_process_ports",
        "explain_state",
        "get_process_output",
        "get_process_raw_output",
        "search_output",
        "wait_for_state",
        "wait_for_turn",
        "wait_for_pattern",
        "send_input",
        "answer_prompt",
        "send_message",
        "get_messages",
        "cancel_message",
        "interrupt_agent",
        "get_result",
        "request_human_attention",
        "ask_human",
        "timer_set",
        "timer_wait",
        "timer_change",
        "timer_list",
        "scratchpad_list",
        "scratchpad_read",
        "scratchpad_write",
        "scratchpad_change",
        "task_create",
        "task_list",
        "task_status",
        "task_diff",
        "task_review",
        "task_land",
        "task_finish",
        "whoami",
        "help",
    ];
    assert_eq!(names, expected);
}

#[test]
fn every_schema_is_plain_and_every_output_is_told() {
    for tool in all() {
        let listed = serde_json::to_value(tool.listed()).expect("a tool is JSON");
        assert!(!listed.to_string().contains("\"format\""), "{}", tool.name);
        assert_eq!(listed["inputSchema"]["type"], "object", "{}", tool.name);
        assert_eq!(listed["outputSchema"]["type"], "object", "{}", tool.name);
        outputs::schema(tool.gives).unwrap_or_else(|why| panic!("{}: {why}", tool.name));
        let names: std::collections::BTreeSet<&str> = tool.fields.iter().map(|field| field.name).collect();
        assert_eq!(names.len(), tool.fields.len(), "{} has a field twice", tool.name);
    }
}

#[test]
fn four_to_six_tools_are_core_and_marked() {
    let core: Vec<_> = all().filter(|tool| tool.is_core).collect();
    assert!((4..=6).contains(&core.len()), "{}", core.len());
    for tool in core {
        let listed = serde_json::to_value(tool.listed()).expect("a tool is JSON");
        assert_eq!(listed["_meta"][vendors::always_load()], true);
    }
}

#[test]
fn only_reading_tools_say_that_they_read() {
    for tool in all() {
        let listed = serde_json::to_value(tool.listed()).expect("a tool is JSON");
        let is_reading = ["get_", "list_", "search_", "wait_", "explain_", "whoami", "help"]
            .iter()
            .any(|start| tool.name.starts_with(start))
            || ["_list", "_read", "_history", "timer_wait", "task_status", "task_diff"]
                .iter()
                .any(|end| tool.name.ends_with(end));
        assert_eq!(listed["annotations"]["readOnlyHint"] == true, is_reading, "{}", tool.name);
    }
}

#[test]
fn the_state_words_of_the_schema_are_the_protocols() {
    let tool = find("wait_for_state").expect("it exists");
    let states = tool.fields.iter().find(|field| field.name == "states").expect("it takes states");
    let Shape::SomeOf(words) = states.shape else { panic!("{:?}", states.shape) };
    let (own, states) = words.split_last().expect("there are some");
    assert_eq!((*own, states), ("ready", &proto::AgentState::ALL.map(proto::AgentState::word)[..]));
}

#[test]
fn f8_a_timer_with_a_bad_time_is_refused_by_name_before_anybody_is_asked() {
    let bad = ["-1", "-0.001", "1e308", "604801", "\"5\"", "\"NaN\"", "null", "true", "[1]", "{}"];
    for (name, field) in [("timer_set", "seconds"), ("timer_wait", "timeout_seconds")] {
        let tool = find(name).expect("it exists");
        for value in bad {
            let mut given = serde_json::Map::new();
            for other in tool.fields.iter().filter(|other| other.is_required && other.name != field) {
                let value = match other.shape {
                    Shape::Texts(_) => serde_json::json!(["a"]),
                    Shape::Integer(..) => serde_json::json!(1),
                    _ => serde_json::json!("x"),
                };
                given.insert(other.name.to_owned(), value);
            }
            given.insert(field.to_owned(), serde_json::from_str(value).expect("JSON"));
            let failure = Arguments::check(tool.fields, given).expect_err("refused").to_json();
            assert_eq!(failure["error"]["code"], "invalid_args", "{name} {value}");
            assert_eq!(failure["error"]["field"], field, "{name} {value}");
        }
    }
}

#[test]
fn m24d_what_an_answer_calls_a_dialog_and_its_options_is_what_a_tool_takes() {
    let answers = find("answer_prompt").expect("it exists");
    let takes: Vec<&str> = answers.fields.iter().map(|field| field.name).collect();
    let option = proto::agent::DialogOption {
        names: vec!["1".to_owned(), "allow".to_owned()],
        label: "Yes".to_owned(),
        keys: Vec::new(),
    };
    let item = proto::agent::InboxItem {
        item: 7,
        id: proto::ProcessId::from_entropy(1),
        name: "a".parse().expect("a name"),
        kind: proto::agent::ItemKind::Dialog,
        title: "May I?".to_owned(),
        body: String::new(),
        options: vec![option],
        at: 1,
        expires: None,
    };
    let told = crate::views::dialog(&item);
    assert_eq!(told["dialog_id"], 7);
    assert_eq!(told["options"][0]["choice"], "allow");
    assert_eq!(takes, ["dialog_id", "choice"]);
    assert!(find("ask_human").is_some_and(|tool| tool.fields.iter().any(|field| field.name == "options")));
}

#[test]
fn m24d_every_id_that_a_tool_takes_is_given_under_that_name_by_another() {
    let given: Vec<String> = all().map(|tool| tool.gives.to_owned()).collect();
    for name in ["message_id", "turn", "timer", "pad", "target"] {
        let is_given = |gives: &String| gives.split(',').any(|part| part.trim().starts_with(name));
        assert!(given.iter().any(is_given), "{name}");
    }
}

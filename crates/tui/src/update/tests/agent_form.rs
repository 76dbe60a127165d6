//! Facts about starting an agent: its first message, what it may do without asking, its model.

use proto::request::{PermissionMode, Spawn};
use proto::{ErrorCode, Failure, Request};

use super::tasks::{listed, task, with_two};
use super::{model, typed};
use crate::message::{CallFor, Command, EditFor, Message};
use crate::model::Model;
use crate::model::overlay::Overlay;
use crate::model::palette::Placement;
use crate::update::update;

/// What is started, in order.
fn spawns(commands: Vec<Command>) -> Vec<Spawn> {
    let spawn = |command| match command {
        Command::Call(CallFor::Start(_), request) => match *request {
            Request::Spawn(spawn) => Some(*spawn),
            _ => None,
        },
        _ => None,
    };
    commands.into_iter().filter_map(spawn).collect()
}

/// A deck with the form of an agent.
fn asking() -> Model {
    let mut model = model(Vec::new());
    model.crew.agents = vec!["fake".to_owned()];
    typed(&mut model, b"\x1ccagent fake\r");
    assert!(matches!(model.overlays.last(), Some(Overlay::Agent(_))), "{:?}", model.overlays);
    model
}

#[test]
fn u35_an_agent_is_started_with_a_message_a_mode_and_a_model() {
    let mut model = asking();
    let started = spawns(typed(&mut model, b"fix it\t  \tlarge-2\r"));
    let [spawn] = started.as_slice() else { panic!("{started:?}") };
    assert_eq!(spawn.argv, ["fake"]);
    assert_eq!(spawn.agent.prompt.as_deref(), Some("fix it"));
    assert_eq!(
        (spawn.agent.mode, spawn.agent.model.as_deref()),
        (Some(PermissionMode::Ask), Some("large-2"))
    );
    // Enter alone leaves everything to the vendor's program.
    let mut model = asking();
    let started = spawns(typed(&mut model, b"\r"));
    assert_eq!(started[0].agent, proto::request::AgentRequest::default());
    assert_eq!(spawns(typed(&mut model, b"\r")), [], "it is started once");
}

#[test]
fn u35_the_modes_go_round_in_both_directions() {
    let mut model = asking();
    typed(&mut model, b"\t");
    let mode = |model: &Model| match model.overlays.last() {
        Some(Overlay::Agent(form)) => form.settings.mode,
        _ => panic!("no form"),
    };
    let mut seen = Vec::new();
    for _ in 0..5 {
        seen.push(mode(&model));
        typed(&mut model, b"\x1b[C");
    }
    assert_eq!(seen, [&[None][..], &PermissionMode::ALL.map(Some)].concat());
    assert_eq!(mode(&model), None);
    typed(&mut model, b"\x1b[D");
    assert_eq!(mode(&model), Some(PermissionMode::Auto));
}

#[test]
fn u35_a_form_whose_agent_was_not_started_says_why_and_keeps_what_was_written() {
    let mut model = asking();
    typed(&mut model, b"fix it\t \r");
    let failure = Failure::new(ErrorCode::InvalidArgs, "fake has no mode plan");
    update(&mut model, Message::Answered(CallFor::Start(Placement::Tab), Err(failure)));
    let Some(Overlay::Agent(form)) = model.overlays.last() else { panic!("{:?}", model.overlays) };
    assert_eq!(
        (form.message.text().as_str(), form.fault.as_deref()),
        ("fix it", Some("fake has no mode plan"))
    );
    assert_eq!(spawns(typed(&mut model, b"\x1b[D\r"))[0].agent.mode, None);
}

#[test]
fn u35_a_message_of_several_lines_comes_from_a_paste_a_key_and_the_editor() {
    let mut model = asking();
    typed(&mut model, b"\x1b[200~one\ntwo\x1b[201~\x1b\rthree");
    let edit = typed(&mut model, b"\x18");
    assert_eq!(edit, [Command::Edit(EditFor::FirstMessage, "one\ntwo\nthree".to_owned())]);
    update(&mut model, Message::Edited(EditFor::FirstMessage, "four\nfive\n".to_owned()));
    assert_eq!(spawns(typed(&mut model, b"\r"))[0].agent.prompt.as_deref(), Some("four\nfive"));
}

#[test]
fn u35_in_a_task_and_in_an_earlier_session_an_agent_is_started_with_them_too() {
    let mut model = with_two();
    let mut docs = task("docs", "idle", &[]);
    docs.runs =
        serde_json::from_value(serde_json::json!([{"process": proto::ProcessId::from_entropy(9).to_string(),
        "name": "docs", "kind": "agent", "run": 1, "session": "s-1", "started_at": 1, "ended_at": 2,
        "prompt": "write", "turns": 1}]))
        .unwrap();
    listed(&mut model, vec![docs]);
    model.now.ms += 1_000;
    let started = spawns(typed(&mut model, b"rcontinue\rgo on\t \tsmall\r"));
    let [spawn] = started.as_slice() else { panic!("{started:?} {:?}", model.overlays) };
    assert_eq!((spawn.task.as_deref(), spawn.agent.session.as_deref()), (Some("docs"), Some("s-1")));
    assert_eq!((spawn.agent.mode, spawn.agent.model.as_deref()), (Some(PermissionMode::Plan), Some("small")));
}

#[test]
fn u35_the_agent_of_a_new_task_is_started_with_the_mode_and_the_model_of_its_form() {
    let mut model = model(Vec::new());
    model.crew.agents = vec!["fake".to_owned()];
    let keys = b"\x1cCFix the login\t\t\t\x1b[C\x1b[C\x1b[C\tlarge-2\x13";
    let what = typed(&mut model, keys).into_iter().find_map(|command| match command {
        Command::Call(what @ CallFor::TaskMade { .. }, _) => Some(what),
        _ => None,
    });
    let created = serde_json::json!({"created": {"task": task("fix-the-login", "idle", &[])}});
    let outcome: proto::task::TaskOutcome = serde_json::from_value(created).unwrap();
    let reply = proto::Reply::Task(Box::new(outcome));
    let started = spawns(update(&mut model, Message::Answered(what.unwrap(), Ok(reply))));
    let [spawn] = started.as_slice() else { panic!("{started:?}") };
    assert_eq!(
        (spawn.agent.mode, spawn.agent.model.as_deref()),
        (Some(PermissionMode::Edit), Some("large-2"))
    );
}

#[test]
fn the_form_of_a_task_says_which_program_it_runs() {
    let mut model = model(Vec::new());
    let offer = serde_json::json!({"name": "fake", "program": "/opt/bin/fake", "version": null, "origin": [], "abilities": []});
    let offers: Vec<proto::agent::AgentOffer> = vec![serde_json::from_value(offer).unwrap()];
    update(&mut model, Message::Answered(CallFor::Agents, Ok(proto::Reply::Agents(offers))));
    typed(&mut model, b"\x1cCFix it");
    let mut grid = crate::frame::Grid::new(model.size);
    crate::view::overlays(&model, &mut grid);
    assert!(
        grid.to_text().contains("will be made: fix-it in a new worktree; runs /opt/bin/fake"),
        "{}",
        grid.to_text()
    );
}

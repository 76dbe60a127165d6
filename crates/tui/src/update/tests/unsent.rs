//! Facts about what the person wrote and the daemon did not take.

use std::path::PathBuf;

use proto::request::{PadAct, Target};
use proto::{ErrorCode, Failure, Reply, Request};
use serde_json::json;

use super::{agent, model, open, process, typed};
use crate::message::{CallFor, Command, EditFor, Message};
use crate::model::overlay::{OpenPad, Overlay, Page};
use crate::model::{Away, Model};
use crate::update::update;

const DRAFT: &str = "/tmp/qd-7-0.txt";

fn pad(name: &str, revision: u64, content: &str) -> Message {
    let text = json!({"text": {"name": name, "content": content, "revision": revision, "author": "human"}});
    Message::Answered(CallFor::PadText, Ok(Reply::Pad(serde_json::from_value(text).unwrap())))
}

fn failure(code: ErrorCode, message: &str) -> Failure {
    Failure::new(code, message.to_owned())
}

/// Edits the scratchpad that is open; returns the call that writes it.
fn edited(model: &mut Model, key: &[u8], text: &str) -> (CallFor, PadAct) {
    let commands = typed(model, key);
    let [Command::Edit(EditFor::Pad(pad), _)] = commands.as_slice() else { panic!("{commands:?}") };
    let pad = OpenPad { draft: Some(PathBuf::from(DRAFT)), ..pad.clone() };
    let commands = update(model, Message::Edited(EditFor::Pad(pad), text.to_owned()));
    written(&commands)
}

fn written(commands: &[Command]) -> (CallFor, PadAct) {
    let [Command::Call(what, request)] = commands else { panic!("{commands:?}") };
    let Request::Pad(pad) = &**request else { panic!("{request:?}") };
    (what.clone(), pad.act.clone())
}

fn saved(model: &mut Model, what: CallFor, revision: u64) -> Vec<Command> {
    let changed = json!({"changed": {"name": "plan", "revision": revision}});
    let reply = Reply::Pad(serde_json::from_value(changed).unwrap());
    update(model, Message::Answered(what, Ok(reply)))
}

fn removes(commands: &[Command]) -> bool {
    commands.contains(&Command::RemoveDraft(PathBuf::from(DRAFT)))
}

#[test]
fn u36_the_file_of_an_edited_pad_is_removed_when_the_daemon_has_written_it_and_not_before() {
    let mut model = model(Vec::new());
    update(&mut model, pad("plan", 7, "one\n"));
    let (what, act) = edited(&mut model, b"E", "two\n");
    assert!(matches!(act, PadAct::Write { expected_revision: Some(7), .. }), "{act:?}");
    assert!(removes(&saved(&mut model, what, 8)));
}

#[test]
fn u36_a_pad_that_was_not_written_is_named_with_its_file_and_opened_again_over_the_newest_text() {
    let mut model = model(Vec::new());
    update(&mut model, pad("plan", 7, "one\n"));
    let (what, _) = edited(&mut model, b"E", "mine\n");
    let conflict = failure(ErrorCode::Conflict, "plan is at revision 8");
    let commands = update(&mut model, Message::Answered(what, Err(conflict)));
    assert!(!removes(&commands), "{commands:?}");
    let toast = &model.toasts[0];
    assert!(toast.is_alert && toast.text.contains(DRAFT) && toast.text.contains("revision 8"), "{toast:?}");
    // What the other one wrote is read and shown, and says where the person's text is.
    assert!(matches!(written(&commands).1, PadAct::Read { revision: None, .. }));
    update(&mut model, pad("plan", 8, "theirs\n"));
    let Some(Overlay::Page(Page { lines, .. })) = model.overlays.last() else {
        panic!("{:?}", model.overlays)
    };
    assert!(lines[0].contains(DRAFT) && lines[1] == "theirs", "{lines:?}");
    let commands = typed(&mut model, b"E");
    let [Command::Edit(EditFor::Pad(again), _)] = commands.as_slice() else { panic!("{commands:?}") };
    assert_eq!((again.draft.as_deref(), again.revision), (Some(std::path::Path::new(DRAFT)), 8));
    let commands = update(&mut model, Message::Edited(EditFor::Pad(again.clone()), "both\n".to_owned()));
    let (what, act) = written(&commands);
    assert!(matches!(act, PadAct::Write { expected_revision: Some(8), .. }), "{act:?}");
    assert!(removes(&saved(&mut model, what, 9)));
    let commands = typed(&mut model, b"E");
    let [Command::Edit(EditFor::Pad(after), _)] = commands.as_slice() else { panic!("{commands:?}") };
    assert_eq!(after.draft, None);
}

#[test]
fn u36_a_new_pad_that_was_not_written_is_there_again_under_its_name() {
    let mut model = model(Vec::new());
    let (what, _) = edited(&mut model, b"\x1cpplan\r", "mine\n");
    update(&mut model, Message::Disconnected("gone".to_owned()));
    update(&mut model, Message::NotAsked(what));
    assert!(model.toasts[0].text.contains(DRAFT), "{:?}", model.toasts);
    let commands = typed(&mut model, b"\x1cp\r");
    let [Command::Edit(EditFor::Pad(again), _)] = commands.as_slice() else { panic!("{commands:?}") };
    assert_eq!((again.name.as_str(), again.draft.is_some()), ("plan", true));
}

#[test]
fn u37_a_message_that_was_not_taken_is_there_when_the_next_one_is_written() {
    let refused = json!({"mail": 3, "to": proto::ProcessId::from_entropy(1).to_string(), "sender": "human", "at": 0,
        "status": "refused", "reason": "it is over"});
    let refused = serde_json::from_value::<proto::agent::Receipt>(refused);
    let answers: [&dyn Fn(CallFor, Box<Request>) -> Message; 4] = [
        &|what, _| Message::Answered(what, Err(failure(ErrorCode::Limit, "its mailbox is full"))),
        &|what, _| Message::NotAsked(what),
        &|what, request| Message::Unanswered(what, request),
        &|what, _| Message::Answered(what, Ok(Reply::Receipt(refused.as_ref().unwrap().clone()))),
    ];
    for answer in answers {
        let mut model = model(vec![process(1, "lead", agent("idle", 0))]);
        open(&mut model, 1);
        let commands = typed(&mut model, b"\x1cmhello you\r");
        let [Command::Call(what, request)] = commands.as_slice() else { panic!("{commands:?}") };
        update(&mut model, answer(what.clone(), request.clone()));
        typed(&mut model, b"\x1cm");
        let Some(Overlay::Prompt(prompt)) = model.overlays.last() else { panic!("{:?}", model.overlays) };
        assert_eq!(prompt.line.text(), "hello you", "{:?}", model.toasts);
        // It is offered once.
        typed(&mut model, b"\x1b");
        typed(&mut model, b"\x1cm");
        let Some(Overlay::Prompt(prompt)) = model.overlays.last() else { panic!("{:?}", model.overlays) };
        assert_eq!(prompt.line.text(), "");
    }
}

#[test]
fn u37_an_act_whose_answer_was_lost_is_told_as_not_known_and_one_without_a_daemon_as_not_done() {
    let mut model = model(vec![process(1, "lead", agent("idle", 0))]);
    open(&mut model, 1);
    let commands = typed(&mut model, b"\x1ci");
    let [Command::Call(what, request)] = commands.as_slice() else { panic!("{commands:?}") };
    assert!(
        matches!(&**request, Request::Interrupt(interrupt) if interrupt.target != Target("lead".to_owned()))
    );
    update(&mut model, Message::Disconnected("gone".to_owned()));
    update(&mut model, Message::Unanswered(what.clone(), request.clone()));
    let text = &model.toasts[0].text;
    assert!(text.contains("it is not known whether lead was interrupted"), "{text}");
    update(&mut model, Message::NotAsked(what.clone()));
    assert!(model.toasts[0].text.contains("nothing was done: the daemon is away"), "{:?}", model.toasts);
    model.daemon.away = Some(Away::ShutDown);
    update(&mut model, Message::NotAsked(what.clone()));
    assert!(model.toasts[0].text.contains("was shut down"), "{:?}", model.toasts);
}

#[test]
fn what_an_agent_lacks_at_its_start_is_told_beside_the_warning() {
    let mut model = model(vec![process(1, "lead", agent("idle", 0))]);
    let spawned = json!({"id": proto::ProcessId::from_entropy(1).to_string(), "name": "lead", "kind": "agent",
        "status": "running", "pid": 7, "run": 1, "warning": "its environment is the daemon's",
        "shortfalls": ["no hooks: its state is read from the screen"]});
    let reply = Reply::Spawned(serde_json::from_value(spawned).unwrap());
    let what = CallFor::Start(crate::model::palette::Placement::Background);
    update(&mut model, Message::Answered(what, Ok(reply)));
    let texts: Vec<&str> = model.toasts.iter().map(|toast| toast.text.as_str()).collect();
    assert!(texts.contains(&"lead: its environment is the daemon's"), "{texts:?}");
    assert!(texts.contains(&"lead: no hooks: its state is read from the screen"), "{texts:?}");
}

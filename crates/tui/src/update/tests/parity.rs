//! What the command line can do to a process, a message, a timer, a pad or a task can be done in the deck.

use proto::request::{PadAct, RunChoice, TaskAct, TimerWhen};
use proto::task::TaskOutcome;
use proto::{ProcessId, Reply, Request};
use serde_json::json;

use super::tasks::{acts, listed, task, with_two};
use super::{agent, model, open, process, typed};
use crate::message::{CallFor, Command, Message};
use crate::model::Model;
use crate::model::overlay::Overlay;
use crate::update::update;

fn request(command: &Command) -> Option<&Request> {
    match command {
        Command::Call(_, request) => Some(request),
        _ => None,
    }
}

/// What is asked of the daemon, in order, without what the palette asks for when it opens.
fn requests(commands: &[Command]) -> Vec<&Request> {
    let is_asked = |request: &&Request| !matches!(request, Request::Presets(_) | Request::Agents(_));
    commands.iter().filter_map(request).filter(is_asked).collect()
}

fn with_agent() -> Model {
    let over = json!({"status": "exited", "pid": null, "exit": {"code": 0, "reason": "exited"}});
    let mut model = model(vec![
        process(1, "lead", agent("working", 0)),
        process(2, "web", json!({"run": 3})),
        process(3, "old", over),
    ]);
    open(&mut model, 1);
    model
}

fn answer(model: &mut Model, what: CallFor, reply: Reply) {
    update(model, Message::Answered(what, Ok(reply)));
}

#[test]
fn an_agent_is_interrupted_and_a_process_gets_the_signal_that_was_chosen() {
    let mut model = with_agent();
    let commands = typed(&mut model, b"\x1ci");
    assert!(matches!(requests(&commands).as_slice(), [Request::Interrupt(_)]), "{commands:?}");
    assert!(typed(&mut model, b"\x1cK").is_empty());
    assert!(typed(&mut model, b"z").is_empty(), "any other key sends none");
    let commands = typed(&mut model, b"\x1cKt");
    assert!(
        matches!(requests(&commands).as_slice(), [Request::Kill(kill)] if kill.signal == Some(15)),
        "{commands:?}"
    );
    let [Command::Call(what, _)] = commands.as_slice() else { panic!("{commands:?}") };
    answer(&mut model, what.clone(), Reply::Done(proto::reply::Done {}));
    assert_eq!(model.toasts[0].text, "lead got SIGTERM");
    open(&mut model, 2);
    assert!(typed(&mut model, b"\x1ci").is_empty(), "only an agent has turns");
}

#[test]
fn a_timer_is_set_with_a_time_and_a_text_and_asked_for_again_without_them() {
    let mut model = with_agent();
    assert!(typed(&mut model, b"\x1cTlook at it\r").is_empty());
    assert!(
        matches!(model.overlays.last(), Some(Overlay::Prompt(prompt)) if prompt.line.text() == "look at it")
    );
    typed(&mut model, b"\x1b");
    let commands = typed(&mut model, b"\x1cT10m look at it\r");
    let all = requests(&commands);
    let [Request::SetTimer(timer)] = all.as_slice() else { panic!("{commands:?}") };
    assert_eq!((&timer.when, timer.body.as_str()), (&TimerWhen::After(600_000), "look at it"));
    let commands = typed(&mut model, b"\x1cTidle:web,old go on\r");
    let all = requests(&commands);
    assert!(
        matches!(all.as_slice(), [Request::SetTimer(timer)]
            if matches!(&timer.when, TimerWhen::IdleAny(watch) if watch.processes.len() == 2)),
        "{commands:?}"
    );
    let commands = typed(&mut model, b"\x1cTidle-all:web,old label=ci max=2h go on\r");
    let all = requests(&commands);
    let [Request::SetTimer(timer)] = all.as_slice() else { panic!("{commands:?}") };
    assert_eq!((timer.label.as_deref(), timer.body.as_str()), (Some("ci"), "go on"));
    assert!(matches!(&timer.when, TimerWhen::IdleAll(watch) if watch.max_wait_ms == 7_200_000), "{timer:?}");
}

#[test]
fn a_timer_says_what_it_tells_although_events_have_no_texts() {
    use proto::event::Event;
    let mut model = with_agent();
    let id = ProcessId::from_entropy(1).to_string();
    let timer = |status: &str, body: &str| {
        json!({"timer": 3, "owner": id, "owner_name": "lead", "kind": "delay", "status": status, "body": body,
            "remaining_ms": 60_000})
    };
    let happened = |status: &str| {
        Message::Happened(Event::Timer(Box::new(serde_json::from_value(timer(status, "")).unwrap())))
    };
    let commands = update(&mut model, happened("armed"));
    assert!(matches!(requests(&commands).as_slice(), [Request::Timers(_)]), "{commands:?}");
    let all = serde_json::from_value(json!([timer("armed", "look at it")])).unwrap();
    answer(&mut model, CallFor::Timers, Reply::Timers(all));
    assert!(requests(&update(&mut model, happened("paused"))).is_empty());
    assert_eq!(model.crew.timers[0].body, "look at it");
}

#[test]
fn messages_are_listed_with_their_receipts_and_one_that_waits_is_cancelled_after_a_yes() {
    let mut model = with_agent();
    let commands = typed(&mut model, b"\x1c messages with\r");
    assert!(matches!(requests(&commands).as_slice(), [Request::Messages(_)]), "{commands:?}");
    let id = ProcessId::from_entropy(1).to_string();
    let messages = json!([
        {"mail": 3, "to": id, "sender": "human", "at": 0, "status": "delivered", "turn": 2},
        {"mail": 4, "to": id, "sender": "human", "at": 0, "status": "queued", "reason": "it works"}]);
    answer(&mut model, CallFor::Messages, Reply::Messages(serde_json::from_value(messages).unwrap()));
    let Some(Overlay::Palette(palette)) = model.overlays.last() else { panic!("no list") };
    let notes: Vec<String> = palette.entries(&model).into_iter().map(|entry| entry.note).collect();
    assert_eq!(notes, ["waits, 10m", "delivered, 10m"]);
    let commands = typed(&mut model, b"\ry");
    assert!(
        matches!(requests(&commands).as_slice(), [Request::CancelMessage(cancel)] if cancel.mail.0 == 4),
        "{commands:?}"
    );
}

#[test]
fn what_is_over_is_removed_after_a_yes() {
    let mut model = with_agent();
    assert!(requests(&typed(&mut model, b"\x1c remove what\r")).is_empty());
    let commands = typed(&mut model, b"y");
    assert!(matches!(requests(&commands).as_slice(), [Request::Close(_)]), "{commands:?}");
}

#[test]
fn viewers_are_listed_and_let_go_and_rights_are_granted_and_taken_back() {
    let mut model = with_agent();
    let id = ProcessId::from_entropy(1);
    let viewer = json!([{"viewer": 7, "id": id.to_string(), "name": "lead", "by": "person", "since": 0,
        "size": {"cols": 80, "rows": 24}}]);
    answer(&mut model, CallFor::Viewers(id), Reply::Viewers(serde_json::from_value(viewer).unwrap()));
    let commands = typed(&mut model, b"\r");
    assert!(
        matches!(requests(&commands).as_slice(), [Request::Detach(detach)] if detach.target.0 == "v7"),
        "{commands:?}"
    );
    typed(&mut model, b"\x1c let it do more\r");
    let commands = typed(&mut model, b"web\r");
    assert!(
        matches!(requests(&commands).as_slice(), [Request::Grant(grant)] if grant.over.0 == "web"),
        "{commands:?}"
    );
    let grants = json!([{"grant": 9, "to": id.to_string(), "right": "drive",
        "over": ProcessId::from_entropy(2).to_string(), "at": 0, "to_name": "lead", "over_name": "web"}]);
    answer(&mut model, CallFor::Grants, Reply::Grants(serde_json::from_value(grants).unwrap()));
    let commands = typed(&mut model, b"\r");
    assert!(
        matches!(requests(&commands).as_slice(), [Request::Revoke(revoke)] if revoke.grant == 9),
        "{commands:?}"
    );
}

#[test]
fn an_earlier_run_is_read_and_a_process_is_recorded_by_a_command_of_its_own() {
    let mut model = with_agent();
    open(&mut model, 2);
    typed(&mut model, b"\x1c runs have printed\r");
    let commands = typed(&mut model, b"run 2\r");
    let all = requests(&commands);
    let [Request::Read(read)] = all.as_slice() else { panic!("{commands:?}") };
    assert_eq!(read.run, RunChoice::Number(2));
    typed(&mut model, b"\x1c asciicast\r");
    let commands = typed(&mut model, b"\r");
    let all = requests(&commands);
    let [Request::Spawn(spawn)] = all.as_slice() else { panic!("{commands:?}") };
    assert_eq!((spawn.argv[1].as_str(), spawn.argv[3].as_str()), ("record", "web.cast"));
}

#[test]
fn finished_tasks_are_named_before_they_are_dropped_and_a_line_is_added_to_a_pad() {
    let mut model = with_two();
    assert!(
        matches!(acts(typed(&mut model, b"c")).as_slice(), [TaskAct::Collect(collect)] if collect.dry_run)
    );
    let would = json!({"collected": {"dropped": ["docs"], "kept": [], "forgotten": []}});
    let outcome: TaskOutcome = serde_json::from_value(would).unwrap();
    answer(&mut model, CallFor::WouldCollect, Reply::Task(Box::new(outcome)));
    let Some(Overlay::Confirm(confirm)) = model.overlays.last() else { panic!("nothing is asked") };
    assert!(confirm.lines[0].contains("docs"));
    assert!(
        matches!(acts(typed(&mut model, b"y")).as_slice(), [TaskAct::Collect(collect)] if !collect.dry_run)
    );
    model.overlays.clear();
    model.crew.pads = vec![
        serde_json::from_value(json!({"name": "plan", "revision": 1, "author": "human", "at": 0,
        "bytes": 3}))
        .unwrap(),
    ];
    let commands = typed(&mut model, b"\x1cpanew line\r");
    let all = requests(&commands);
    assert!(
        matches!(all.as_slice(), [Request::Pad(pad)] if matches!(&pad.act, PadAct::Append { text, .. } if text == "new line\n")),
        "{commands:?}"
    );
}

#[test]
fn a_task_in_the_rail_takes_the_keys_of_the_list_and_every_row_has_a_menu_by_a_key() {
    let mut model = model(vec![process(1, "p1", agent("working", 0))]);
    listed(&mut model, vec![task("fix", "working", &[1])]);
    typed(&mut model, b"\x1c\tj");
    assert!(matches!(acts(typed(&mut model, b"d")).as_slice(), [TaskAct::Diff(_)]));
    typed(&mut model, b"L");
    assert!(matches!(model.overlays.last(), Some(Overlay::Land(_))));
    typed(&mut model, b"\x1b");
    typed(&mut model, b".");
    let Some(Overlay::RowMenu(menu)) = model.overlays.last() else { panic!("no menu") };
    assert!(menu.acts(&model).iter().any(|act| act.label == "land"));
}

#[test]
fn a_name_that_cannot_be_one_stays_in_its_window() {
    let mut model = with_agent();
    typed(&mut model, b"\x1cR");
    let asked = typed(&mut model, b" two\r");
    assert!(requests(&asked).is_empty(), "{asked:?}");
    let Some(Overlay::Prompt(prompt)) = model.overlays.last() else { panic!("{:?}", model.overlays) };
    assert_eq!(prompt.line.text(), "lead two");
    assert!(model.toasts.iter().any(|toast| toast.text.contains("a name is made of")), "{:?}", model.toasts);
    typed(&mut model, b"\x7f\x7f\x7f\x7f");
    let asked = typed(&mut model, b"\r");
    assert!(matches!(requests(&asked)[..], [Request::Rename(_)]), "{asked:?}");
    assert!(model.overlays.is_empty());
}

#[test]
fn a_process_is_ended_at_once_with_a_longer_grace_or_without_its_background() {
    let closed = |key: &[u8]| {
        let mut model = with_agent();
        let commands = typed(&mut model, &[b"\x1cX", key].concat());
        let all = requests(&commands);
        let [Request::Close(close)] = all.as_slice() else { panic!("{commands:?}") };
        (close.stop.grace_ms, close.keep_background)
    };
    assert_eq!(
        [&b"y"[..], b"\r", b"k", b"m", b"b"].map(closed),
        [(None, false), (None, false), (Some(0), false), (Some(60_000), false), (None, true)]
    );
    let mut model = with_agent();
    assert!(typed(&mut model, b"\x1cXn").is_empty(), "any other key ends nothing");
}

#[test]
fn an_agent_that_is_over_goes_on_in_its_session_and_lost_ones_do_all_at_once() {
    let mut over = agent("exited", 0);
    for (field, value) in
        [("status", json!("exited")), ("pid", json!(null)), ("exit", json!({"code": null, "reason": "lost"}))]
    {
        over[field] = value;
    }
    let mut model = model(vec![process(1, "lead", over), process(2, "web", json!({}))]);
    open(&mut model, 2);
    assert!(typed(&mut model, b"\x1cu").is_empty());
    assert!(model.toasts[0].text.contains("no agent"), "{:?}", model.toasts);
    open(&mut model, 1);
    let sessions = |commands: Vec<Command>| -> Vec<Option<String>> {
        let session = |request: &Request| match request {
            Request::Resume(resume) => resume.session.clone(),
            other => panic!("{other:?}"),
        };
        requests(&commands).into_iter().map(session).collect()
    };
    assert_eq!(sessions(typed(&mut model, b"\x1cu\r")), [None]);
    assert_eq!(sessions(typed(&mut model, b"\x1cuabc\r")), [Some("abc".to_owned())]);
    typed(&mut model, b"\x1c every lost\r");
    assert_eq!(sessions(typed(&mut model, b"y")), [None]);
}

#[test]
fn a_terminal_gets_a_size_and_what_is_none_is_asked_for_again() {
    let mut model = with_agent();
    typed(&mut model, b"\x1c another size\r\x15wide\r");
    assert!(matches!(model.overlays.last(), Some(Overlay::Prompt(prompt)) if prompt.line.text() == "wide"));
    let commands = typed(&mut model, b"\x15100x30\r");
    assert!(matches!(requests(&commands).as_slice(), [Request::Resize(_)]), "{commands:?}");
}

#[test]
fn presets_are_started_and_ended_by_the_verbs_that_know_their_order() {
    let mut model = with_agent();
    let spawned = |commands: &[Command]| -> (Vec<String>, Option<bool>) {
        let all = requests(commands);
        let [Request::Spawn(spawn)] = all.as_slice() else { panic!("{commands:?}") };
        (spawn.argv.clone(), spawn.as_me)
    };
    let commands = typed(&mut model, b"\x1c start the project\r");
    assert_eq!(spawned(&commands), (vec!["qd".to_owned(), "up".to_owned()], Some(true)));
    let preset = json!({"name": "web", "origin": "qd.toml", "argv": ["x"], "cwd": "/p", "trusted": true});
    model.crew.presets = vec![serde_json::from_value(preset).unwrap()];
    assert!(requests(&typed(&mut model, b"\x1c end the project\r")).is_empty());
    assert_eq!(spawned(&typed(&mut model, b"y")).0[1], "down");
}

#[test]
fn an_earlier_revision_of_a_pad_is_read_and_can_be_brought_back() {
    let mut model = with_agent();
    let text = |revision: u64, content: &str| {
        let text =
            json!({"text": {"name": "plan", "content": content, "revision": revision, "author": "human"}});
        Reply::Pad(serde_json::from_value(text).unwrap())
    };
    answer(&mut model, CallFor::PadText, text(7, "new\n"));
    let commands = typed(&mut model, b"H");
    let all = requests(&commands);
    assert!(
        matches!(all.as_slice(), [Request::Pad(pad)] if matches!(&pad.act, PadAct::History { name } if name == "plan")),
        "{commands:?}"
    );
    let entry =
        |revision: u64| json!({"name": "plan", "revision": revision, "author": "human", "at": 0, "bytes": 4});
    let history = json!({"history": [entry(6), entry(7)]});
    let history = Reply::Pad(serde_json::from_value(history).unwrap());
    answer(&mut model, CallFor::PadRevisions("plan".to_owned()), history);
    let commands = typed(&mut model, b"r6\r");
    let all = requests(&commands);
    assert!(
        matches!(all.as_slice(), [Request::Pad(pad)] if matches!(pad.act, PadAct::Read { revision: Some(6), .. })),
        "{commands:?}"
    );
    answer(&mut model, CallFor::OldPadText, text(6, "old\n"));
    let commands = typed(&mut model, b"E");
    let [Command::Edit(what, old)] = commands.as_slice() else { panic!("{commands:?}") };
    assert_eq!(old, "old\n");
    let commands = update(&mut model, Message::Edited(what.clone(), "old\n".to_owned()));
    assert!(
        matches!(requests(&commands).as_slice(), [Request::Pad(pad)]
            if matches!(&pad.act, PadAct::Write { content, expected_revision: None, .. } if content == "old\n")),
        "{commands:?}"
    );
}

#[test]
fn a_task_is_dropped_with_its_branch_although_work_would_be_lost() {
    let mut model = with_two();
    typed(&mut model, b"x");
    let dropped = acts(typed(&mut model, b"a"));
    assert!(matches!(dropped.as_slice(), [TaskAct::Drop(drop)] if drop.branch && drop.force), "{dropped:?}");
}

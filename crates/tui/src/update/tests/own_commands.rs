//! Facts about commands of the person's own: their placeholders, their window, its end.

use std::path::Path;

use proto::event::Event;
use proto::request::Spawn;
use proto::{ProcessId, Reply, Request};
use serde_json::json;

use super::tasks::reviewed;
use super::{model, open, process, to_child, typed};
use crate::config::Config;
use crate::message::{CallFor, Command, Message};
use crate::model::Model;
use crate::model::overlay::{Overlay, POPUP};
use crate::model::palette::Placement;
use crate::update::update;

const COMMANDS: &str = "[[command]]\nname = 'look at'\nargv = ['tig', '{directory}', '{process}']\nkey = 'y'\nwhere = 'popup'\n\
                        [[command]]\nname = 'blame'\nargv = ['blame', '+{line}', '{task}/{file}', '{x}']\nkey = 'Y'\nwhere = 'popup'\n\
                        [[command]]\nname = 'sync'\nargv = ['sync']\nkey = 'u'\nwhere = 'background'\n";

fn with_commands() -> Model {
    let mut model = model(vec![process(1, "web", json!({"cwd": "/srv/web"}))]);
    model.looks = Config::parse(COMMANDS, Path::new("/nonexistent")).unwrap().looks;
    model
}

/// What is started, and where it is shown.
fn started(commands: Vec<Command>) -> Vec<(Spawn, Placement)> {
    let spawn = |command| match command {
        Command::Call(CallFor::Start(placement), request) => match *request {
            Request::Spawn(spawn) => Some((*spawn, placement)),
            _ => None,
        },
        _ => None,
    };
    commands.into_iter().filter_map(spawn).collect()
}

/// The command `look at` runs in its window as process 2.
fn in_window() -> Model {
    let mut model = with_commands();
    open(&mut model, 1);
    typed(&mut model, b"\x1cy");
    let view = process(2, "look-at", json!({"kind": "terminal"}));
    update(&mut model, Message::Happened(Event::Changed(Box::new(view))));
    let spawned = json!({"id": ProcessId::from_entropy(2).to_string(), "name": "look-at", "kind": "terminal", "status": "running", "run": 1, "pid": 7});
    let reply = Reply::Spawned(serde_json::from_value(spawned).unwrap());
    update(&mut model, Message::Answered(CallFor::Start(Placement::Popup), Ok(reply)));
    model
}

#[test]
fn a_command_of_ones_own_runs_where_the_focused_process_is_with_its_placeholders_filled() {
    let mut model = with_commands();
    assert!(started(typed(&mut model, b"\x1cy")).is_empty());
    assert!(model.toasts[0].text.contains("look at needs a process"), "{:?}", model.toasts);
    open(&mut model, 1);
    let (spawn, placement) = started(typed(&mut model, b"\x1cy")).remove(0);
    assert_eq!(spawn.argv, ["tig", "/srv/web", "web"]);
    assert_eq!((spawn.cwd.as_deref(), spawn.name.as_deref()), (Some("/srv/web"), Some("look-at")));
    assert_eq!((placement, spawn.kind, spawn.as_me), (Placement::Popup, proto::Kind::Command, Some(true)));
}

#[test]
fn in_a_review_a_command_gets_the_task_the_file_and_the_line_and_the_review_stays() {
    let mut model = with_commands();
    reviewed(&mut model);
    typed(&mut model, b"jjj");
    let (spawn, _) = started(typed(&mut model, b"\x1cY")).remove(0);
    assert_eq!(spawn.argv, ["blame", "+1", "fix/f", "{x}"]);
    assert_eq!(spawn.cwd.as_deref(), Some("/wt/x"));
    assert!(matches!(model.overlays.last(), Some(Overlay::Review(_))));
}

#[test]
fn keys_go_to_the_window_over_the_deck_and_the_prefix_closes_it_while_its_command_goes_on() {
    let mut model = in_window();
    let commands = typed(&mut model, b"q\x1b");
    assert_eq!(to_child(&commands), b"q\x1b");
    assert!(commands.iter().all(|command| matches!(command, Command::Type(POPUP, _))));
    typed(&mut model, b"\x1cx");
    assert_eq!((model.popup(), model.overlays.len()), (None, 0));
    assert!(model.deck.focused().is_some(), "the pane below stays");
}

#[test]
fn the_window_closes_when_its_command_ends_and_only_one_that_did_well_is_removed() {
    for (code, removed) in [(0, 1), (3, 0)] {
        let mut model = in_window();
        let exit = json!({"kind": "command", "status": "exited", "pid": null, "exit": {"code": code, "reason": "exited"}});
        let view = process(2, "look-at", exit);
        let commands = update(&mut model, Message::Happened(Event::Changed(Box::new(view))));
        assert_eq!(model.popup(), None);
        let told = model.toasts.iter().any(|toast| toast.text == "look-at failed with 3; the rail has it");
        assert_eq!(told, code == 3);
        let closes = |command: &&Command| matches!(command, Command::Call(_, request) if matches!(**request, Request::Close(_)));
        assert_eq!(commands.iter().filter(closes).count(), removed);
    }
}

#[test]
fn a_command_in_the_background_leaves_the_deck_as_it_is() {
    let mut model = with_commands();
    open(&mut model, 1);
    assert_eq!(started(typed(&mut model, b"\x1cu"))[0].1, Placement::Background);
    let before = model.deck.clone();
    let spawned = json!({"id": ProcessId::from_entropy(3).to_string(), "name": "sync", "kind": "terminal", "status": "running", "run": 1, "pid": 7});
    let reply = Reply::Spawned(serde_json::from_value(spawned).unwrap());
    update(&mut model, Message::Answered(CallFor::Start(Placement::Background), Ok(reply)));
    assert_eq!((model.deck == before, model.overlays.len()), (true, 0));
}

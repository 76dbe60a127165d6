//! Workspaces: what may be put into one, what follows its new name, and when one may go.

use proto::request::{ChangeWorkspace, Spawn, WorkspaceChange};
use proto::workspace::WorkspaceView;
use proto::{ErrorCode, Limit, Reply, Role};

use super::agents::scene::{agent, saved};
use super::stage::{Stage, command};
use crate::{Caller, Command, Config, Effect, Engine, Principal, Record};

fn change(name: &str, change: WorkspaceChange) -> Command {
    Command::ChangeWorkspace(ChangeWorkspace { name: name.to_owned(), change })
}

fn rename(name: &str, to: &str) -> Command {
    change(name, WorkspaceChange::Rename(to.to_owned()))
}

fn changed(stage: &mut Stage, command: Command) -> WorkspaceView {
    let ticket = stage.ask(command);
    let Reply::Workspace(view) = stage.reply(ticket) else { panic!("no workspace") };
    view
}

fn refused(stage: &mut Stage, command: Command) -> ErrorCode {
    let ticket = stage.ask(command);
    stage.failure(ticket).code
}

fn names(stage: &mut Stage, principal: Principal) -> Vec<String> {
    let ticket = stage.ask_within(principal, Command::Workspaces);
    let Reply::Workspaces(all) = stage.reply(ticket) else { panic!("no list") };
    all.into_iter().map(|view| view.name).collect()
}

fn spawn_in(workspace: &str) -> Command {
    let spawn = Spawn { name: None, workspace: Some(workspace.to_owned()), ..command("x") };
    Command::Spawn(Box::new(spawn.into()))
}

#[test]
fn t3_nothing_is_started_in_a_workspace_that_does_not_exist() {
    let mut stage = Stage::new();
    assert_eq!(refused(&mut stage, spawn_in("phone")), ErrorCode::WorkspaceMismatch);
    assert!(stage.starts().is_empty());
    let view = changed(&mut stage, change("phone", WorkspaceChange::Create));
    assert_eq!((view.tasks, view.processes, view.created_at.is_some()), (0, 0, true));
    stage.ask(spawn_in("phone"));
    assert_eq!(stage.starts().len(), 1);
    assert_eq!(refused(&mut stage, change("phone", WorkspaceChange::Create)), ErrorCode::Conflict);
    assert_eq!(refused(&mut stage, change("a\nb", WorkspaceChange::Create)), ErrorCode::InvalidArgs);
}

#[test]
fn t3_what_belongs_to_a_workspace_follows_its_name_into_the_next_daemon() {
    let mut stage = Stage::new();
    let run = stage.spawn(Spawn { task: Some("fix".to_owned()), ..agent("lead") });
    assert_eq!(stage.view(run.process).unwrap().workspace, "w1");
    let view = changed(&mut stage, rename("w1", "harbour"));
    assert_eq!((view.name.as_str(), view.tasks, view.processes), ("harbour", 1, 1));
    assert_eq!(stage.view(run.process).unwrap().workspace, "harbour");
    assert_eq!(refused(&mut stage, spawn_in("w1")), ErrorCode::WorkspaceMismatch, "the old name is free");
    let mut next = Stage::with(Engine::restore(Config::default(), saved(&stage.effects)));
    assert_eq!(next.view(run.process).unwrap().workspace, "harbour");
    assert_eq!(names(&mut next, Principal::unlimited(Caller::Person)), ["local", "harbour"]);
    let sibling = Spawn { task: Some("fix".to_owned()), ..command("y") };
    next.ask(Command::Spawn(Box::new(sibling.into())));
    assert_eq!(next.starts().len(), 1, "its task is there as well");
}

#[test]
fn a_workspace_goes_when_nothing_belongs_to_it_and_local_never() {
    let mut stage = Stage::new();
    assert_eq!(refused(&mut stage, change("w1", WorkspaceChange::Remove)), ErrorCode::Conflict, "a task");
    let run = stage.spawn(Spawn { workspace: Some("w2".to_owned()), ..command("x") });
    assert_eq!(refused(&mut stage, change("w2", WorkspaceChange::Remove)), ErrorCode::Conflict, "a process");
    stage.ask(super::stage::close(run));
    stage.die(run);
    changed(&mut stage, change("w2", WorkspaceChange::Remove));
    let is_gone =
        |effect: &Effect| matches!(effect, Effect::Record(Record::RemoveWorkspace(name)) if name == "w2");
    assert!(stage.effects.iter().any(is_gone), "it is recorded");
    assert_eq!(refused(&mut stage, change("w2", WorkspaceChange::Remove)), ErrorCode::NotFound);
    for command in [change("local", WorkspaceChange::Remove), rename("local", "x")] {
        assert_eq!(refused(&mut stage, command), ErrorCode::InvalidArgs);
    }
    assert_eq!(refused(&mut stage, rename("w1", "w7")), ErrorCode::Conflict);
}

#[test]
fn n5_a_limited_caller_knows_its_own_workspace_and_changes_none() {
    let mut stage = Stage::new();
    let run = stage.spawn(Spawn { workspace: Some("w2".to_owned()), ..agent("lead") });
    assert_eq!(names(&mut stage, Principal::unlimited(Caller::Process(run))), ["w2"]);
    let limit = Limit { workspace: Some("w1".to_owned()), role: Role::Admin };
    let phone = Principal { caller: Caller::Person, label: None, limit };
    assert_eq!(names(&mut stage, phone.clone()), ["w1"]);
    for (principal, request) in [
        (phone, change("mine", WorkspaceChange::Create)),
        (Principal::unlimited(Caller::Process(run)), rename("w2", "mine")),
    ] {
        let ticket = stage.ask_within(principal, request);
        assert_eq!(stage.failure(ticket).code, ErrorCode::Denied);
    }
    assert_eq!(stage.view(run.process).unwrap().workspace, "w2");
}

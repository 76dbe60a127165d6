//! `workspaces` and `change_workspace`: which access scopes there are. What belongs to one follows its new name, and one to
//! which something belongs does not go.

use proto::request::{ChangeWorkspace, Empty, WorkspaceChange};
use proto::workspace::WorkspaceView;
use proto::{ErrorCode, Failure, Printable, ProcessId, Reply, Role, verb};

use super::{Asker, Audited, CommandResult, Decide, Needs, Recorded};
use crate::Engine;
use crate::effect::CommandAnswer;
use crate::input::Caller;
use crate::process::Process;
use crate::record::Record;
use crate::rights::Verb;
use crate::workspaces::{LOCAL_WORKSPACE, WorkspaceRecord};

impl Decide for verb::Workspaces {
    type Order = Empty;
    const ROLE: Role = Role::View;
    const NEEDS: Needs = Needs::AtAll(Verb::List);

    fn decide(engine: &mut Engine, asker: Asker, _: Empty) -> CommandResult {
        let limit = &engine.ctx.out.scope.limit;
        let is_own = |name: &str| match asker.caller {
            Caller::Process(run) => {
                let own = engine.ctx.processes.get(&run.process);
                own.is_some_and(|own| own.spec.workspace == name)
            }
            Caller::Person | Caller::Via(_) | Caller::Nobody => true,
        };
        let seen = engine.workspaces.names().filter(|name| limit.covers(name) && is_own(name));
        let views = seen.map(|name| view(engine, name)).collect();
        Ok(Some(CommandAnswer::Reply(Reply::Workspaces(views))))
    }
}

impl Decide for verb::ChangeWorkspace {
    type Order = ChangeWorkspace;
    const ROLE: Role = Role::Admin;
    const NEEDS: Needs = Needs::Person("only people change workspaces");
    const AUDITED: Audited = Audited::Success;
    const RECORDED: Recorded = Recorded::Everything;

    fn detail(_: &Engine, request: &ChangeWorkspace) -> String {
        let shown = |text: &str| Printable(&text.chars().take(64).collect::<String>()).to_string();
        match &request.change {
            WorkspaceChange::Create => format!("create {}", shown(&request.name)),
            WorkspaceChange::Rename(to) => format!("rename {} to {}", shown(&request.name), shown(to)),
            WorkspaceChange::Remove => format!("remove {}", shown(&request.name)),
        }
    }

    fn decide(engine: &mut Engine, _: Asker, request: ChangeWorkspace) -> CommandResult {
        engine.ctx.check_all_workspaces()?;
        let view = match request.change {
            WorkspaceChange::Create => create(engine, &request.name)?,
            WorkspaceChange::Rename(to) => rename(engine, &request.name, &to)?,
            WorkspaceChange::Remove => remove(engine, &request.name)?,
        };
        Ok(Some(CommandAnswer::Reply(Reply::Workspace(view))))
    }
}

fn view(engine: &Engine, name: &str) -> WorkspaceView {
    let tasks = engine.tasks.live().filter(|task| task.workspace == name).count();
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    WorkspaceView {
        name: name.to_owned(),
        created_at: engine.workspaces.made.get(name).map(|record| record.created_at),
        tasks: count(tasks),
        processes: count(processes(engine, name).count()),
    }
}

fn processes<'a>(engine: &'a Engine, name: &'a str) -> impl Iterator<Item = &'a Process> {
    engine.ctx.processes.values().filter(move |process| process.spec.workspace == name)
}

fn create(engine: &mut Engine, name: &str) -> Result<WorkspaceView, Failure> {
    engine.workspaces.check_free("name", name)?;
    engine.workspaces.check_room()?;
    let created_at = engine.ctx.out.now.wall_ms;
    put_workspace(engine, WorkspaceRecord { name: name.to_owned(), created_at });
    Ok(view(engine, name))
}

fn put_workspace(engine: &mut Engine, record: WorkspaceRecord) {
    engine.ctx.out.record(Record::PutWorkspace(Box::new(record.clone())));
    engine.workspaces.made.insert(record.name.clone(), record);
}

/// Gives a workspace another name; its tasks and processes go with it.
fn rename(engine: &mut Engine, name: &str, to: &str) -> Result<WorkspaceView, Failure> {
    let record = removable(engine, name)?;
    engine.workspaces.check_free("to", to)?;
    if let Some(task) =
        engine.tasks.all.values().find(|task| task.workspace == name && task.operation.is_some())
    {
        let message = format!("task \"{}\" of it is being changed", Printable(&task.name));
        return Err(Failure::new(ErrorCode::Busy, message).hint("try again when that is over"));
    }
    drop_record(engine, name);
    put_workspace(engine, WorkspaceRecord { name: to.to_owned(), ..record });
    engine.tasks.move_workspace(name, to);
    let inside: Vec<ProcessId> = processes(engine, name).map(|process| process.id).collect();
    for id in inside {
        if let Some(process) = engine.ctx.processes.get_mut(&id) {
            to.clone_into(&mut process.spec.workspace);
            engine.ctx.out.mark_durable(id);
        }
    }
    Ok(view(engine, to))
}

/// Removes a workspace to which nothing belongs.
fn remove(engine: &mut Engine, name: &str) -> Result<WorkspaceView, Failure> {
    removable(engine, name)?;
    let view = view(engine, name);
    if view.tasks > 0 || view.processes > 0 {
        let message = format!(
            "{} tasks and {} processes belong to workspace \"{}\"",
            view.tasks,
            view.processes,
            Printable(name)
        );
        let failure = Failure::new(ErrorCode::Conflict, message);
        return Err(failure.hint("drop its tasks and close its processes first: qd drop, qd close"));
    }
    drop_record(engine, name);
    Ok(view)
}

fn drop_record(engine: &mut Engine, name: &str) {
    engine.workspaces.made.remove(&name.to_owned());
    engine.ctx.out.record(Record::RemoveWorkspace(name.to_owned()));
}

/// The record of a workspace that is not the one that is always there.
fn removable(engine: &Engine, name: &str) -> Result<WorkspaceRecord, Failure> {
    if name == LOCAL_WORKSPACE {
        return Err(Failure::invalid("name", "workspace \"local\" is always there"));
    }
    let record = engine.workspaces.made.get(name).cloned();
    record.ok_or_else(|| {
        let shown: String = name.chars().take(64).collect();
        let message = format!("no workspace \"{}\"", Printable(&shown));
        Failure::new(ErrorCode::NotFound, message).hint("`qd workspace list` shows them")
    })
}

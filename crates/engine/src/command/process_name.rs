//! The name of a new process: the one that was asked for, one from its preset, or a numbered one of its kind.
//!
//! Names are unique over all projects, and many projects have a preset `dev`. So the name of a preset is no more than what
//! its process is called if that is free; its preset and project say which process it is.

use std::path::Path;

use proto::project::Project;
use proto::{ErrorCode, Failure, Kind, Name, Printable};

use crate::context::Context;
use crate::input::SpawnOrder;
use crate::process::Process;

/// Returns the name of the process that an order describes.
pub(super) fn check_name(ctx: &Context, order: &SpawnOrder) -> Result<Name, Failure> {
    let spawn = &order.spawn;
    let parsed = |name: &str| name.parse::<Name>().map_err(|why| Failure::invalid("name", why));
    match (spawn.name.as_deref(), spawn.preset.as_deref()) {
        (name, Some(preset)) if name.is_none_or(|name| name == preset) => {
            check_not_started(ctx, &order.project, preset)?;
            Ok(preset_name(ctx, spawn.kind, &order.project, preset))
        }
        (Some(name), _) => check_free(ctx, parsed(name)?),
        (None, _) => Ok(ctx.processes.default_name(spawn.kind)),
    }
}

fn check_free(ctx: &Context, name: Name) -> Result<Name, Failure> {
    if ctx.processes.is_taken(&name) {
        let message = format!("there is a process named {name} already");
        return Err(
            Failure::new(ErrorCode::Conflict, message).hint("choose another --name, or close that one")
        );
    }
    Ok(name)
}

/// Refuses a preset that runs: without a name of its own, a second process of it is hardly what was meant. One that runs under
/// a name of its own is beside the usual one.
fn check_not_started(ctx: &Context, project: &Project, preset: &str) -> Result<(), Failure> {
    let runs = |process: &&Process| {
        is_from(process, project, preset)
            && is_usual(&process.name, preset)
            && process.is_live()
            && ctx.covers(process.id)
    };
    let Some(name) = ctx.processes.values().find(runs).map(|process| &process.name) else { return Ok(()) };
    let shown = Printable(preset);
    let message = match name.as_str() == preset {
        true => format!("preset {shown} runs already"),
        false => format!("preset {shown} runs already, as {name}"),
    };
    let hint = format!("`qd attach {name}` shows it; give another name to start a second one");
    Err(Failure::new(ErrorCode::Conflict, message).hint(hint))
}

/// Returns true if it is one of the names that `preset_name` gives.
fn is_usual(name: &Name, preset: &str) -> bool {
    let numbered = name.as_str().strip_prefix(preset).and_then(|rest| rest.strip_prefix('-'));
    let with_directory = name.as_str().strip_suffix(preset).is_some_and(|rest| rest.ends_with('-'));
    name.as_str() == preset
        || with_directory
        || numbered.is_some_and(|number| number.parse::<usize>().is_ok())
}

fn is_from(process: &Process, project: &Project, preset: &str) -> bool {
    process.spec.preset.as_deref() == Some(preset)
        && process.spec.project.key == project.key
        && !process.is_departed()
}

/// The preset's name; if another process has it, one with the project's directory before it, or with a number behind it.
fn preset_name(ctx: &Context, kind: Kind, project: &Project, preset: &str) -> Name {
    let holder = ctx.processes.values().find(|p| p.name.as_str() == preset && !p.is_departed());
    let is_of_another = holder.is_some_and(|process| process.spec.project.key != project.key);
    let directory = Path::new(&project.path).file_name().map(|name| name.to_string_lossy());
    let with_directory = directory.filter(|_| is_of_another).map(|name| format!("{name}-{preset}"));
    let numbered = (2..=ctx.processes.len() + 2).map(|n| format!("{preset}-{n}"));
    let wanted = std::iter::once(preset.to_owned()).chain(with_directory).chain(numbered);
    let free = wanted.filter_map(|name| name.parse().ok()).find(|name| !ctx.processes.is_taken(name));
    // A long name has no room for a number.
    free.unwrap_or_else(|| ctx.processes.default_name(kind))
}

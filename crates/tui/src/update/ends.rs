//! The end of a process and what can follow it: how it is ended, an agent that goes on in its session, a terminal of another size.

use proto::request::{Close, Resize, Resume, SizeRequest, Target};
use proto::{ExitReason, Kind, ProcessId, ProcessView, Request, Size, Stop};

use super::actions::{call, prompt};
use crate::message::{CallFor, Command};
use crate::model::Model;
use crate::model::overlay::{Confirm, ConfirmAnswer, Overlay, Purpose};
use crate::model::palette::Placement;

/// Most names in the warning before a family is ended.
const FAMILY_NAMES: usize = 6;
/// The grace of the answer that waits longer, in milliseconds.
const LONG_GRACE_MS: u32 = 60_000;

/// Asks before a process is ended: what ends with it, and how it is ended.
pub(super) fn ask_close(model: &mut Model, process: ProcessId) -> Vec<Command> {
    let answer = |key, label, stop, keep_background| {
        let close = Close { target: Target(process.to_string()), keep_background, stop };
        ConfirmAnswer { key, label, commands: vec![call(CallFor::Nothing, Request::Close(close))] }
    };
    let patient = Stop { grace_ms: Some(LONG_GRACE_MS), ..Stop::default() };
    let answers = vec![
        answer('y', "yes", Stop::default(), false),
        answer('m', "give it a minute to end by itself", patient, false),
        answer('k', "kill it at once", Stop::NOW, false),
        answer('b', "what it put in the background goes on", Stop::default(), true),
    ];
    let (title, lines) = (format!("End {}?", model.name(process)), warnings(model, process));
    model.overlays.push(Overlay::Confirm(Box::new(Confirm { title, lines, answers })));
    Vec::new()
}

/// What a person should know before a process is ended.
fn warnings(model: &Model, process: ProcessId) -> Vec<String> {
    let Some(view) = model.crew.get(process) else { return Vec::new() };
    let is = match &view.agent {
        Some(_) => format!("{} is {}", view.name, model.crew.mark(view).word()),
        None => format!("{} runs {}", view.name, proto::Printable(&view.program.argv.join(" "))),
    };
    let mut lines = vec![format!("{is}; its terminal and its history go with it.")];
    lines.extend(family_warning(model, &[process]));
    if view.terminal.viewers > 1 {
        lines.push(format!("{} others look at it.", view.terminal.viewers - 1));
    }
    lines
}

/// The processes that end with these because they lead them, at any depth.
pub(super) fn family_warning(model: &Model, ending: &[ProcessId]) -> Option<String> {
    let mut family: Vec<ProcessId> = ending.iter().flat_map(|id| model.crew.family(*id)).collect();
    family.retain(|id| !ending.contains(id));
    family.dedup();
    let names: Vec<String> = family.iter().take(FAMILY_NAMES).map(|id| model.name(*id)).collect();
    let more = family.len().saturating_sub(FAMILY_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let what = if ending.len() == 1 { "What it leads ends with it" } else { "What they lead ends with them" };
    (!family.is_empty()).then(|| format!("{what}: {}{more}.", names.join(", ")))
}

/// Asks in which session an agent that is over goes on.
pub(super) fn ask_resume(model: &mut Model, process: ProcessId) -> Vec<Command> {
    let name = model.name(process);
    let view = model.crew.get(process);
    if view.is_some_and(|view| view.kind != Kind::Agent) {
        model.toast(format!("{name} is no agent: it has no session; S starts it again"));
        return Vec::new();
    }
    if view.is_some_and(|view| view.pid.is_some()) {
        model.toast(format!("{name} runs, in its session"));
        return Vec::new();
    }
    prompt(model, format!("{name} goes on in the session; empty: its last one"), "", Purpose::Resume(process))
}

/// Starts an agent again in a session, and shows it.
pub(super) fn resume(process: ProcessId, session: &str, placement: Placement) -> Command {
    let session = Some(session.trim().to_owned()).filter(|session| !session.is_empty());
    let resume = Resume { target: Target(process.to_string()), session, ..Resume::default() };
    call(CallFor::Start(placement), Request::Resume(resume))
}

/// Asks before every agent that was lost, as by a reboot, goes on in its session.
pub(super) fn ask_resume_all(model: &mut Model) -> Vec<Command> {
    let is_lost = |view: &&ProcessView| {
        view.kind == Kind::Agent && view.exit.is_some_and(|exit| exit.reason == ExitReason::Lost)
    };
    let lost: Vec<&ProcessView> = model.crew.processes.iter().filter(is_lost).collect();
    if lost.is_empty() {
        model.toast("no agent was lost");
        return Vec::new();
    }
    let names: Vec<&str> = lost.iter().map(|view| view.name.as_str()).collect();
    let lines = vec![format!("Each in its last session: {}.", names.join(", "))];
    let commands = lost.iter().map(|view| resume(view.id, "", Placement::Background)).collect();
    let confirm = Confirm::yes("Start the lost agents again?".to_owned(), lines, commands);
    model.overlays.push(Overlay::Confirm(Box::new(confirm)));
    Vec::new()
}

/// Asks for the size of a process's terminal.
pub(super) fn ask_size(model: &mut Model, process: ProcessId) -> Vec<Command> {
    let size = model.crew.get(process).map_or_else(String::new, |view| view.terminal.size.to_string());
    let title = format!("Size of {}, until somebody types into it", model.name(process));
    prompt(model, title, &size, Purpose::Size(process))
}

/// Gives a process's terminal another size. What is none stays in its window.
pub(super) fn resize(model: &mut Model, process: ProcessId, text: &str) -> Vec<Command> {
    let Ok(size) = text.trim().parse::<Size>() else {
        model.toast("a size is COLUMNSxROWS, such as 120x40");
        return prompt(model, format!("Size of {}", model.name(process)), text, Purpose::Size(process));
    };
    let said = format!("{} is {} now", model.name(process), size.clamped());
    let resize = Resize { target: Target(process.to_string()), size: SizeRequest::from(size) };
    vec![call(CallFor::Confirmed(said), Request::Resize(resize))]
}

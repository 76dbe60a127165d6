//! Commands of the person's own: what their placeholders stand for, how they are started, and when their window closes.

use proto::request::{Close, Spawn, Target};
use proto::{Kind, ProcessId, ProcessView, Request, Stop};

use super::actions::call;
use super::{palette, tasks};
use crate::message::{CallFor, Command};
use crate::model::Model;
use crate::model::overlay::Overlay;
use crate::model::palette::Placement;

/// What a command may name, as `{directory}`.
const PLACEHOLDERS: [&str; 6] = ["directory", "project", "process", "task", "file", "line"];

/// Runs a command of the person's own, where the task or the process is that the person looks at.
pub(super) fn run(model: &mut Model, at: usize) -> Vec<Command> {
    let Some(own) = model.looks.commands.get(at).cloned() else { return Vec::new() };
    let argv: Result<Vec<String>, &str> = own.argv.iter().map(|word| filled(model, word)).collect();
    let argv = match argv {
        Ok(argv) => argv,
        Err(missing) => {
            model.toast(format!("{} needs a {missing}, and none is chosen here", own.name));
            return Vec::new();
        }
    };
    let cwd = value(model, "directory");
    // What was looked at stays below a window, and beside what nobody looks at.
    if !matches!(own.placement, Placement::Popup | Placement::Background) {
        model.overlays.clear();
    }
    let name = palette::free_name(model, &own.name.replace(' ', "-"));
    // The entry of a terminal goes when it ends; of a window's command, one that failed stays.
    let (kind, as_me) = match own.placement {
        Placement::Popup => (Kind::Command, Some(true)),
        _ => (Kind::Terminal, None),
    };
    let spawn = Spawn { argv, name, cwd, as_me, ..palette::spawn(model, kind) };
    vec![palette::started(spawn, own.placement)]
}

/// Returns the word with its placeholders filled in, or the name of a placeholder without a value.
fn filled(model: &Model, word: &str) -> Result<String, &'static str> {
    let mut text = word.to_owned();
    for name in PLACEHOLDERS {
        let mark = format!("{{{name}}}");
        if text.contains(&mark) {
            text = text.replace(&mark, &value(model, name).ok_or(name)?);
        }
    }
    Ok(text)
}

/// What a placeholder stands for now.
fn value(model: &Model, name: &str) -> Option<String> {
    let review = model.overlays.iter().rev().find_map(|overlay| match overlay {
        Overlay::Review(review) => Some(review),
        _ => None,
    });
    let process = model.deck.focused().and_then(|(_, process)| model.crew.get(process));
    match name {
        "project" => Some(model.place.project.clone()),
        "process" => process.map(|process| process.name.to_string()),
        "task" => match review {
            Some(review) => Some(review.task.clone()),
            None => tasks::current(model).map(|task| task.name),
        },
        "file" => review?.place_in_file().map(|(file, _)| file.to_owned()),
        "line" => review?.place_in_file().map(|(_, line)| line.to_string()),
        _ => {
            let task = match (review, model.base_view()) {
                (Some(review), _) => model.crew.tasks.iter().find(|task| task.name == review.task).cloned(),
                (None, Some(Overlay::Tasks(_))) => tasks::current(model),
                _ => None,
            };
            let task = task.map(|task| task.directory);
            task.or_else(|| process.map(|process| process.program.cwd.clone()))
                .or(Some(model.place.directory.clone()))
        }
    }
}

/// Shows a command that was started, in a window over the deck; one that has ended already has nothing to show.
pub(super) fn open_popup(model: &mut Model, process: ProcessId) {
    if model.crew.get(process).is_none_or(|view| view.exit.is_none()) {
        model.overlays.retain(|overlay| !matches!(overlay, Overlay::Popup(_)));
        model.overlays.push(Overlay::Popup(process));
    }
}

/// Closes the window of a command that has ended. One that did well is gone with it; one that failed stays in the rail.
pub(super) fn ended(model: &mut Model, view: &ProcessView) -> Vec<Command> {
    let Some(exit) = view.exit.filter(|_| model.popup() == Some(view.id)) else { return Vec::new() };
    close_popup(model);
    if exit.shell_code() != 0 {
        let words = format!("{} failed with {}; the rail has it", view.name, exit.shell_code());
        model.toast_about(words, view.id);
        return Vec::new();
    }
    let close = Close { target: Target(view.id.to_string()), keep_background: true, stop: Stop::default() };
    vec![call(CallFor::Nothing, Request::Close(close))]
}

/// Closes the window over the deck; its command goes on.
pub(super) fn close_popup(model: &mut Model) {
    model.overlays.retain(|overlay| !matches!(overlay, Overlay::Popup(_)));
}

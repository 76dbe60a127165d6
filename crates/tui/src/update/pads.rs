//! Scratchpads and timers: reading, editing, renaming, removing; pausing and ending.

use proto::pads::{PadEntry, PadOutcome};
use proto::request::{ChangeTimer, Pad, PadAct, TimerChange};
use proto::timers::{TimerStatus, TimerView};
use proto::{Printable, Request};

use super::actions::{call, prompt};
use crate::keymap::Action;
use crate::message::{CallFor, Command, EditFor};
use crate::model::overlay::{Confirm, OpenPad, Overlay, Page, Purpose};
use crate::model::palette::{Choice, Entry, Palette, Section};
use crate::model::{Model, age};

/// What is done to a scratchpad of this project.
fn ask(model: &Model, what: CallFor, act: PadAct) -> Command {
    call(what, Request::Pad(Pad { project: Some(model.place.directory.clone()), act }))
}

pub(super) fn ask_list(model: &Model) -> Command {
    ask(model, CallFor::Pads, PadAct::List(proto::request::Empty {}))
}

pub(super) fn read(model: &Model, name: &str) -> Vec<Command> {
    vec![ask(model, CallFor::PadText, PadAct::Read { name: name.to_owned(), revision: None })]
}

/// The daemon has answered about scratchpads.
pub(super) fn answered(model: &mut Model, what: CallFor, outcome: PadOutcome) -> Vec<Command> {
    match (what, outcome) {
        (CallFor::Pads, PadOutcome::Listed(pads)) => model.crew.pads = pads,
        (
            what @ (CallFor::PadText | CallFor::OldPadText),
            PadOutcome::Text { name, content, revision, .. },
        ) => {
            let is_old = what == CallFor::OldPadText;
            show(model, OpenPad { name, content, revision, is_old, draft: None });
        }
        (CallFor::PadRevisions(name), PadOutcome::History(revisions)) => {
            offer_revisions(model, &name, revisions)
        }
        (CallFor::PadWritten(pad), PadOutcome::Changed { revision, .. }) => {
            return saved(model, &pad, revision);
        }
        (CallFor::PadChanged, PadOutcome::Changed { name, revision }) => {
            return changed(model, &name, revision);
        }
        _ => {}
    }
    Vec::new()
}

/// Asks which revisions of a scratchpad are kept.
pub(super) fn ask_revisions(model: &Model, name: &str) -> Vec<Command> {
    let act = PadAct::History { name: name.to_owned() };
    vec![ask(model, CallFor::PadRevisions(name.to_owned()), act)]
}

/// Lets the person choose which revision is read.
fn offer_revisions(model: &mut Model, name: &str, revisions: Vec<PadEntry>) {
    let row = |entry: PadEntry| {
        let age = age(model.now.epoch_ms.saturating_sub(entry.at));
        let text = format!("r{} by {}", entry.revision, Printable(&entry.author));
        let choice = Choice::PadRevision(name.to_owned(), entry.revision);
        Entry {
            section: Section::Listed,
            text,
            note: format!("{} bytes, {age}", entry.bytes),
            mark: None,
            choice,
        }
    };
    let rows: Vec<Entry> = revisions.into_iter().rev().map(row).collect();
    match rows.is_empty() {
        true => model.toast("no revision of it is kept"),
        false => model.overlays.push(Overlay::Palette(Palette::given("Revisions: Enter reads one", rows))),
    }
}

/// Reads a scratchpad as it was.
pub(super) fn read_revision(model: &Model, name: &str, revision: u64) -> Vec<Command> {
    let act = PadAct::Read { name: name.to_owned(), revision: Some(revision) };
    vec![ask(model, CallFor::OldPadText, act)]
}

/// Shows the text of a scratchpad.
fn show(model: &mut Model, pad: OpenPad) {
    let mut lines: Vec<String> = pad.content.lines().map(|line| Printable(line).to_string()).collect();
    if let Some(file) = model.daemon.unsent.draft(&pad.name) {
        let file = Printable(&file.to_string_lossy()).to_string();
        lines.insert(0, format!("(what you wrote is not saved: it is in {file}, and E opens it)"));
    }
    let old = if pad.is_old { ", an earlier revision" } else { "" };
    let title = format!("{} (r{}{old})", Printable(&pad.name), pad.revision);
    model.overlays.clear();
    model.overlays.push(Overlay::Page(Page { title, lines, top: 0, pad: Some(pad) }));
}

/// Opens a scratchpad in the person's editor; what the person wrote there before and could not be saved comes first.
pub(super) fn edit(model: &Model, pad: &OpenPad) -> Vec<Command> {
    let draft = model.daemon.unsent.draft(&pad.name).filter(|_| !pad.is_old).cloned();
    let text = pad.content.clone();
    vec![Command::Edit(EditFor::Pad(OpenPad { draft, ..pad.clone() }), text)]
}

/// Opens a new scratchpad in the person's editor, under a name that the daemon takes: what is written must not be lost by it.
pub(super) fn edit_new(model: &mut Model, words: &str) -> Vec<Command> {
    match name_from(words) {
        Some(name) => edit(model, &OpenPad { name, ..OpenPad::default() }),
        None => {
            model.toast("a scratchpad's name has letters a-z or digits");
            ask_new(model)
        }
    }
}

/// Makes a scratchpad's name of a person's words: small letters, digits and `.`, `_`, `-`, and `-` for everything else.
fn name_from(words: &str) -> Option<String> {
    const MAX: usize = 64;
    let plain = |character: char| match character.to_ascii_lowercase() {
        plain @ ('a'..='z' | '0'..='9' | '.' | '_') => plain,
        _ => '-',
    };
    let name: String = words.trim().chars().map(plain).collect();
    let name = name.trim_start_matches(['.', '_', '-']);
    let name: String = name.chars().take(MAX).collect();
    let name = name.trim_end_matches(['.', '-']);
    (!name.is_empty()).then(|| name.to_owned())
}

/// Asks for the name of a new scratchpad.
pub(super) fn ask_new(model: &mut Model) -> Vec<Command> {
    let unsaved = model.daemon.unsent.newest_draft().unwrap_or_default().to_owned();
    prompt(model, "New scratchpad: its name".to_owned(), &unsaved, Purpose::NewPad)
}

/// A scratchpad comes back from the editor. One that somebody else has changed meanwhile is not overwritten.
pub(super) fn edited(model: &mut Model, pad: OpenPad, text: &str) -> Vec<Command> {
    if text == pad.content && !pad.is_old {
        model.toast(format!("{} is as it was", Printable(&pad.name)));
        return remove_draft(model, &pad);
    }
    // The person has chosen to bring an earlier revision back, over whatever is there.
    let expected_revision = (!pad.is_old).then_some(pad.revision);
    let act = PadAct::Write { name: pad.name.clone(), content: text.to_owned(), expected_revision };
    vec![ask(model, CallFor::PadWritten(pad), act)]
}

/// What the person wrote is in the scratchpad: its file is not needed any more.
fn saved(model: &mut Model, pad: &OpenPad, revision: u64) -> Vec<Command> {
    let mut commands = remove_draft(model, pad);
    commands.extend(changed(model, &pad.name, revision));
    commands
}

fn remove_draft(model: &mut Model, pad: &OpenPad) -> Vec<Command> {
    let Some(file) = &pad.draft else { return Vec::new() };
    model.daemon.unsent.forget_draft(file);
    vec![Command::RemoveDraft(file.clone())]
}

/// What the person wrote could not be saved: its file stays, and the newest text is read to compare it with.
pub(super) fn not_saved(model: &mut Model, pad: &OpenPad, why: &str) -> Vec<Command> {
    let name = Printable(&pad.name).to_string();
    let Some(file) = &pad.draft else {
        model.alert(format!("{name} is not saved: {why}"), None);
        return Vec::new();
    };
    let shown = Printable(&file.to_string_lossy()).to_string();
    model.alert(format!("{name} is not saved; your text is in {shown}, and E opens it again: {why}"), None);
    model.daemon.unsent.keep_draft(&pad.name, file.clone());
    let is_shown = |page: &Page| page.pad.as_ref().is_some_and(|shown| shown.name == pad.name);
    match model.overlays.last() {
        Some(Overlay::Page(page)) if is_shown(page) && model.daemon.away.is_none() => read(model, &pad.name),
        _ => Vec::new(),
    }
}

/// A scratchpad has another text or name, or is gone.
fn changed(model: &mut Model, name: &str, revision: u64) -> Vec<Command> {
    model.toast(format!("{} is at revision {revision}", Printable(name)));
    let is_read = matches!(model.overlays.last(), Some(Overlay::Page(page)) if page.pad.is_some());
    let mut commands = vec![ask_list(model)];
    if is_read {
        commands.extend(read(model, name));
    }
    commands
}

/// A key of the rail on a scratchpad.
pub(super) fn act_on(model: &mut Model, action: Action, name: &str) -> Vec<Command> {
    let shown = Printable(name).to_string();
    match action {
        Action::CloseProcess => {
            let act = PadAct::Delete { name: name.to_owned(), expected_revision: None };
            let commands = vec![ask(model, CallFor::PadChanged, act)];
            let lines = vec!["Its history stays.".to_owned()];
            let confirm = Confirm::yes(format!("Remove {shown}?"), lines, commands);
            model.overlays.push(Overlay::Confirm(Box::new(confirm)));
            Vec::new()
        }
        Action::Rename => prompt(model, format!("Rename {shown}"), name, Purpose::RenamePad(name.to_owned())),
        Action::EarlierRuns | Action::Revisions => ask_revisions(model, name),
        Action::Append => {
            prompt(model, format!("Append to {shown}"), "", Purpose::AppendPad(name.to_owned()))
        }
        _ => read(model, name),
    }
}

/// Adds a line to a scratchpad, whatever revision it has.
pub(super) fn append(model: &Model, name: String, text: String) -> Vec<Command> {
    vec![ask(model, CallFor::PadChanged, PadAct::Append { name, text: format!("{}\n", text.trim_end()) })]
}

pub(super) fn rename(model: &Model, name: String, to: String) -> Vec<Command> {
    vec![ask(model, CallFor::PadChanged, PadAct::Rename { name, to })]
}

/// A key of the rail on a timer: it is ended after a yes, or paused and continued.
pub(super) fn act_on_timer(model: &mut Model, action: Action, timer: &TimerView) -> Vec<Command> {
    let change =
        |change| call(CallFor::Nothing, Request::ChangeTimer(ChangeTimer { timer: timer.timer, change }));
    match action {
        Action::CloseProcess => {
            let lines = vec![format!("{} is not woken by it.", timer.owner_name)];
            let confirm =
                Confirm::yes(format!("End timer {}?", timer.timer), lines, vec![change(TimerChange::Cancel)]);
            model.overlays.push(Overlay::Confirm(Box::new(confirm)));
            Vec::new()
        }
        Action::Restart if timer.status == TimerStatus::Paused => vec![change(TimerChange::Resume)],
        Action::Restart => vec![change(TimerChange::Pause)],
        _ => super::explain::show_timer(model, timer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_person_become_a_name_that_the_daemon_takes() {
        let cases = [
            ("plan", Some("plan")),
            (" My Notes ", Some("my-notes")),
            ("../evil name", Some("evil-name")),
            ("a.b_c-1.", Some("a.b_c-1")),
            ("…", None),
        ];
        for (words, name) in cases {
            assert_eq!(name_from(words).as_deref(), name, "{words}");
        }
        assert_eq!(name_from(&"x".repeat(100)).map(|name| name.len()), Some(64));
    }
}

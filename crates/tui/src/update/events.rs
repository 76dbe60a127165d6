//! What the daemon says: events, answers, its coming and going; and what time alone brings.

use proto::agent::{Delivery, InboxItem, Receipt};
use proto::event::Event;
use proto::process::UnseenEnd;
use proto::request::{See, Target};
use proto::timers::TimerView;
use proto::{Failure, Printable, ProcessId, ProcessView, Reply, Request, Size};

use super::actions::{self, call, show};
use super::{
    daemon_status, explain, failures, history, own_commands, pads, palette, ports, process_acts, review,
    tasks,
};
use crate::config::{Config, FILE};
use crate::keymap::Action;
use crate::message::{CallFor, Command};
use crate::model::crew::was_ended;
use crate::model::overlay::Overlay;
use crate::model::palette::Placement;
use crate::model::splits::PaneId;
use crate::model::{Away, LookedAt, Model, OtherSize, Prefix, SEEN_MS, StartView};

pub(super) fn connected(model: &mut Model, processes: Vec<ProcessView>) -> Vec<Command> {
    if model.daemon.away.take().is_some() {
        model.toast("the daemon is back");
    }
    let is_first = !std::mem::replace(&mut model.daemon.is_loaded, true);
    model.crew.replace(processes);
    keep_open(model);
    ports::ask_all(model);
    let mut commands = actions::refreshed(model);
    commands.push(daemon_status::ask(model));
    commands.extend(palette::refresh(model));
    if is_first {
        commands.extend(open_start_view(model));
    }
    commands
}

/// Opens what the person wants to see first.
fn open_start_view(model: &mut Model) -> Vec<Command> {
    match model.looks.start {
        StartView::Deck => Vec::new(),
        StartView::Tasks => actions::act(model, Action::Tasks),
        StartView::Wall => actions::act(model, Action::Wall),
        StartView::Inbox => actions::act(model, Action::Inbox),
    }
}

/// Somebody has shut the daemon down.
pub(super) fn shut_down(model: &mut Model) -> Vec<Command> {
    model.daemon.away = Some(Away::ShutDown);
    model.alert(format!("the daemon was shut down; {}; {}", model.still_running(), model.start_hint()), None);
    Vec::new()
}

/// A key that no daemon can type.
pub(super) fn not_typed(model: &mut Model) -> Vec<Command> {
    model.alert(format!("not typed: the daemon was shut down; {}", model.start_hint()), None);
    Vec::new()
}

/// What was typed without a daemon does not reach its program.
pub(super) fn untyped(model: &mut Model, pane: PaneId) -> Vec<Command> {
    let process = model.process_of(pane);
    let name = process.map_or_else(|| "the program".to_owned(), |process| model.name(process));
    model.alert(format!("what you typed for {name} without a daemon was dropped"), process);
    Vec::new()
}

/// What a program had not read is lost with its view.
pub(super) fn unread(model: &mut Model, process: ProcessId, kib: usize) -> Vec<Command> {
    let name = model.name(process);
    model.alert(format!("{name} had not read {kib} KiB of what you typed: they are dropped"), Some(process));
    Vec::new()
}

/// The terminal behind a pane has another viewer's size, or the pane's own again.
pub(super) fn other_size(model: &mut Model, pane: PaneId, size: Option<Size>) -> Vec<Command> {
    match size {
        Some(size) => {
            model.other_sizes.insert(pane, OtherSize { size, owner: None });
            vec![call(CallFor::SizeOwner(pane), Request::Viewers(proto::request::Empty {}))]
        }
        None => {
            model.other_sizes.remove(&pane);
            Vec::new()
        }
    }
}

/// Closes the panes of processes that are gone.
fn keep_open(model: &mut Model) {
    let there: Vec<ProcessId> = model.crew.processes.iter().map(|process| process.id).collect();
    model.deck.keep(|id| there.contains(&id));
}

pub(super) fn happened(model: &mut Model, event: Event) -> Vec<Command> {
    let before = match &event {
        Event::Changed(view) => model.crew.get(view.id).cloned(),
        _ => None,
    };
    model.crew.note(&event, model.now.ms);
    match event {
        Event::Changed(view) => {
            let mut commands = own_commands::ended(model, &view);
            changed(model, before.as_ref(), &view);
            let state_of = |view: &ProcessView| (view.status, view.state, view.unseen.is_some());
            // What a task is at follows from its processes, and from what the person has seen.
            if view.task.is_some() && before.as_ref().map(state_of) != Some(state_of(&view)) {
                commands.push(tasks::ask_list());
            }
            return commands;
        }
        Event::Removed { id, .. } => {
            if model.popup() == Some(id) {
                own_commands::close_popup(model);
            }
            keep_open(model);
        }
        Event::ItemOpened(item) if model.is_out_of_sight(item.id) => needs_you(model, &item),
        Event::TurnEnded { id, .. } if model.is_out_of_sight(id) => {
            let name = model.name(id);
            model.toast_about(format!("{name} has ended its turn"), id);
        }
        Event::Selected { id, by } => return selected(model, id, by),
        // What a new timer says is in the list alone.
        Event::Timer(timer) => {
            let is_bare = |known: &TimerView| known.timer == timer.timer && known.body.is_empty();
            if model.crew.timers.iter().any(is_bare) {
                return vec![call(CallFor::Timers, Request::Timers(proto::request::Empty {}))];
            }
        }
        Event::TaskChanged { .. } => return vec![tasks::ask_list()],
        Event::PadChanged { .. } => return vec![pads::ask_list(model)],
        Event::Resync {} => return vec![call(CallFor::Nothing, Request::List(proto::request::Empty {}))],
        _ => {}
    }
    Vec::new()
}

/// Somebody wants a process shown. A person gets it at once where nothing else is open. A process never does: what the person
/// types next would go there. It gets a notice that leads there, and `next` does, too.
fn selected(model: &mut Model, id: ProcessId, by: Option<ProcessId>) -> Vec<Command> {
    let is_free = model.overlays.is_empty() && !model.rail.has_keys && model.prefix == Prefix::None;
    if by.is_none() && is_free {
        return show(model, id, Placement::Tab);
    }
    let is_known = model.crew.get(id).is_some() && !model.crew.suggested.contains_key(&id);
    if is_known && model.is_out_of_sight(id) {
        model.crew.suggested.insert(id, model.now.epoch_ms);
        let name = model.name(id);
        let text = match by.filter(|by| *by != id) {
            Some(by) => format!("{} asks you to look at {name}", model.name(by)),
            None if by.is_some() => format!("{name} asks you to look at it"),
            None => format!("{name} was selected"),
        };
        model.toast_about(text, id);
    }
    Vec::new()
}

/// Somebody needs the person. What is known of it later takes the place of what was told first.
fn needs_you(model: &mut Model, item: &InboxItem) {
    let begins = format!("{} needs you", item.name);
    model.toasts.retain(|toast| toast.process != Some(item.id) || !toast.text.starts_with(&begins));
    let is_listed = model.has_focus && matches!(model.overlays.last(), Some(Overlay::Inbox(_)));
    if !is_listed {
        model.alert(format!("{begins}: {}", Printable(&item.title)), Some(item.id));
    }
}

fn changed(model: &mut Model, before: Option<&ProcessView>, view: &ProcessView) {
    ports::changed(model, before, view);
    let was_unseen = before.is_some_and(|before| before.unseen.is_some());
    let failed = view.unseen.filter(|unseen| unseen.what != UnseenEnd::Turn && !was_unseen);
    if failed.is_some() && model.is_out_of_sight(view.id) && !was_ended(view) {
        let how = view.exit.map_or_else(
            || "could not be started".to_owned(),
            |exit| match exit.shell_code() {
                0 => "is over".to_owned(),
                code => format!("ended with {code}"),
            },
        );
        let text = format!("{} {how}", view.name);
        match view.exit.is_some_and(|exit| exit.shell_code() == 0) {
            true => model.toast_about(text, view.id),
            false => model.alert(text, Some(view.id)),
        }
    }
}

/// Looks at the focused pane: after a while what its process did counts as seen.
pub(super) fn count_focused_as_seen(model: &mut Model) {
    let here = model.deck.focused().map(|(_, process)| process).filter(|_| model.overlays.is_empty());
    if let Some(here) = here.filter(|_| model.has_focus) {
        model.crew.suggested.remove(&here);
    }
    let since = model.now.ms;
    let is_same = here.is_some() && here == model.looking.map(|looked| looked.process);
    // Marked before: what ends from now on is looked at anew.
    let is_over = |looked: &LookedAt| looked.is_marked && model.is_unseen(looked.process);
    if !is_same || model.looking.as_ref().is_some_and(is_over) {
        model.looking = here.map(|process| LookedAt { process, since, is_marked: false });
    }
}

/// Time has passed.
pub(super) fn tick(model: &mut Model) -> Vec<Command> {
    model.expire_toasts();
    wake_snoozed(model);
    let mut commands = Vec::new();
    if let Some(LookedAt { process, since, is_marked: false }) = model.looking
        && model.has_focus
        && model.is_unseen(process)
        && model.now.ms >= since + SEEN_MS
    {
        model.looking = Some(LookedAt { process, since, is_marked: true });
        let see = See { target: Target(process.to_string()), ..See::default() };
        commands.push(call(CallFor::Nothing, Request::See(see)));
    }
    commands.extend(ports::ask_next(model));
    if model.daemon.unsaved.is_some() {
        commands.extend(daemon_status::ask_when_old(model));
    }
    commands
}

/// What the person wanted to see later is there again.
fn wake_snoozed(model: &mut Model) {
    let now = model.now.ms;
    let due: Vec<u64> =
        model.crew.snoozed.iter().filter(|(_, until)| **until <= now).map(|(item, _)| *item).collect();
    for number in due {
        model.crew.snoozed.remove(&number);
        let item = model.crew.inbox.iter().find(|item| item.item == number).cloned();
        if let Some(item) = item.filter(|item| model.is_out_of_sight(item.id)) {
            needs_you(model, &item);
        }
    }
}

pub(super) fn answered(model: &mut Model, what: CallFor, result: Result<Reply, Failure>) -> Vec<Command> {
    let is_about_ports = matches!(what, CallFor::Ports(_));
    if is_about_ports {
        model.port_questions.awaited = None;
    }
    let mut commands = take_answer(model, what, result);
    if is_about_ports {
        commands.extend(ports::ask_next(model));
    }
    commands
}

fn take_answer(model: &mut Model, what: CallFor, result: Result<Reply, Failure>) -> Vec<Command> {
    let reply = match result {
        Ok(reply) => reply,
        Err(failure) => return failures::failed(model, &what, &failure),
    };
    match (what, reply) {
        (CallFor::Written(written), reply) => {
            if let Reply::Receipt(Receipt { delivery, .. }) = &reply
                && has_not_arrived(delivery)
            {
                model.daemon.unsent.keep_text(written.purpose, written.text);
            }
            return take_answer(model, written.what, Ok(reply));
        }
        (CallFor::Inbox, Reply::Inbox(items)) => model.crew.take_inbox(items),
        (CallFor::Timers, Reply::Timers(timers)) => model.crew.take_timers(timers, model.now.ms),
        (CallFor::Presets, Reply::Presets(list)) => model.crew.presets = list.presets,
        (CallFor::Agents, Reply::Agents(offers)) => {
            let found = offers.into_iter().filter_map(|offer| Some((offer.name, offer.program?)));
            let found: Vec<(String, String)> = found.collect();
            model.crew.agents = found.iter().map(|(name, _)| name.clone()).collect();
            model.crew.programs = found.into_iter().collect();
            model.crew.knows_agents = true;
        }
        (CallFor::Ports(id), Reply::Ports(listening)) if !listening.ports.is_empty() => {
            model.port_questions.due.remove(&id);
            model.crew.ports.insert(id, listening.ports.into_iter().map(|port| port.port).collect());
        }
        (CallFor::Start(placement), Reply::Spawned(spawned)) => {
            let lacks = spawned.shortfalls.iter().chain(&spawned.warning);
            lacks.for_each(|lack| model.toast(format!("{}: {}", spawned.name, Printable(lack))));
            return show(model, spawned.id, placement);
        }
        (CallFor::Explain, Reply::Explanation(explanation)) => {
            let page = explain::agent_page(model, &explanation);
            model.overlays.push(Overlay::Page(page));
        }
        (what, Reply::Pad(outcome)) => return pads::answered(model, what, outcome),
        (CallFor::History(process), Reply::Text(text)) => {
            return history::take_page(model, process, text);
        }
        (CallFor::SizeOwner(pane), Reply::Viewers(viewers)) => {
            let process = model.process_of(pane);
            let owner = viewers.into_iter().find(|viewer| viewer.owns_size && Some(viewer.id) == process);
            if let (Some(owner), Some(other)) = (owner, model.other_sizes.get_mut(&pane)) {
                other.owner = Some(format!("{} (v{})", owner.by, owner.viewer));
            }
        }
        (CallFor::Viewers(process), Reply::Viewers(viewers)) => {
            process_acts::offer_viewers(model, process, viewers);
        }
        (CallFor::Log(process, run), Reply::Text(text)) => process_acts::show_log(model, process, run, &text),
        (CallFor::Messages, Reply::Messages(messages)) => process_acts::offer_messages(model, messages),
        (CallFor::Grants, Reply::Grants(grants)) => process_acts::offer_grants(model, grants),
        (CallFor::Status, Reply::Status(status)) => daemon_status::note(model, &status),
        (CallFor::Confirmed(words), _) => model.toast(words),
        (CallFor::Tell(process), Reply::Receipt(receipt)) => {
            let name = model.name(process);
            model.toast(receipt_text(&name, &receipt.delivery));
        }
        (what, Reply::Task(outcome)) => return tasks::answered(model, &what, *outcome),
        (CallFor::TaskDone, _) => return vec![tasks::ask_list()],
        (CallFor::Nothing, Reply::Processes(processes)) => return connected(model, processes),
        (CallFor::Answer(item), _) => {
            model.crew.inbox.retain(|other| other.item != item);
            model.toast("answered");
        }
        _ => {}
    }
    Vec::new()
}

/// Returns true if a message is not, or may not be, where it was meant to go.
fn has_not_arrived(delivery: &Delivery) -> bool {
    matches!(delivery, Delivery::Refused { .. } | Delivery::Unknown { .. } | Delivery::Expired)
}

pub(super) fn receipt_text(name: &str, delivery: &Delivery) -> String {
    match delivery {
        Delivery::Queued { reason } => format!("{name} gets it later: {}", Printable(reason)),
        Delivery::Delivering => format!("{name} is being told"),
        Delivery::Submitted { turn } | Delivery::Delivered { turn } => {
            format!("{name} took it as turn {turn}")
        }
        Delivery::Refused { reason } => format!("{name} refused it: {}", Printable(reason)),
        Delivery::Unknown { reason } => format!("unknown whether {name} has it: {}", Printable(reason)),
        Delivery::Expired => format!("{name} did not take it in time"),
    }
}

/// The stream of a pane ended: its process is gone, or another run follows.
pub(super) fn pane_ended(model: &mut Model, pane: PaneId, reason: &str) -> Vec<Command> {
    if let Some(process) = model.deck.panes.get(&pane).copied()
        && matches!(reason, "taken_over" | "let_go")
    {
        let name = model.name(process);
        model.deck.close_pane(pane);
        model.alert(format!("another viewer has taken {name} over"), Some(process));
    }
    Vec::new()
}

pub(super) fn configured(model: &mut Model, config: Config, fault: Option<String>) -> Vec<Command> {
    match fault {
        Some(fault) => {
            // A notice is one line: the name of the file is enough.
            let fault = fault.rsplit_once(&format!("{FILE}: ")).map_or(fault.as_str(), |(_, fault)| fault);
            model.alert(format!("{FILE}: {fault}"), None);
        }
        None => {
            let context = model.looks.review_context;
            model.rail.width = config.rail_width;
            model.looks = config.looks;
            model.toast("settings taken over");
            return if context == model.looks.review_context { Vec::new() } else { review::reread(model) };
        }
    }
    Vec::new()
}

//! What the daemon says: events, answers, its coming and going; and what time alone brings.

use proto::agent::{Delivery, Explanation};
use proto::crew::{PadOutcome, TimerView};
use proto::event::Event;
use proto::process::UnseenEnd;
use proto::request::{Ports, See, Target};
use proto::{Failure, Kind, Printable, ProcessId, ProcessView, Reply, Request, Status};

use super::actions::{self, call, push, show};
use super::{history, palette, tasks};
use crate::config::{Config, FILE};
use crate::message::{CallFor, Command};
use crate::model::overlay::{Overlay, Page};
use crate::model::splits::PaneId;
use crate::model::{Model, SEEN_MS, age};

/// How long after a change a command is asked for its ports, and how often that is done.
const PORTS_MS: u64 = 1_500;
const PORTS_TRIES: u8 = 4;

pub(super) fn connected(model: &mut Model, processes: Vec<ProcessView>) -> Vec<Command> {
    if model.away.take().is_some() {
        model.toast("the daemon is back");
    }
    model.is_loaded = true;
    model.crew.replace(processes);
    keep_open(model);
    let commands: Vec<(ProcessId, bool)> =
        model.crew.processes.iter().map(|process| (process.id, process.kind == Kind::Command)).collect();
    for (id, _) in commands.into_iter().filter(|(_, is_command)| *is_command) {
        model.port_questions.insert(id, (model.now.ms, 0));
    }
    let mut commands = actions::refreshed(model);
    commands.extend(palette::refresh(model));
    commands
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
    model.crew.note(&event);
    match event {
        Event::Changed(view) => {
            changed(model, before.as_ref(), &view);
            let was = before.map(|before| (before.status, before.state));
            // What a task is at follows from its processes.
            if view.task.is_some() && was != Some((view.status, view.state)) {
                return vec![tasks::ask_list()];
            }
        }
        Event::Removed { .. } => keep_open(model),
        Event::ItemOpened(item) if !model.is_on_screen(item.id) => {
            model.alert(format!("{} needs you: {}", item.name, Printable(&item.title)), Some(item.id));
        }
        Event::TurnEnded { id, .. } if !model.is_on_screen(id) => {
            model.push_done(id);
        }
        Event::Selected { id } => return show(model, id, crate::model::palette::Placement::Tab),
        Event::PadChanged { .. } => return vec![palette::ask_pads(model)],
        Event::Resync {} => return vec![call(CallFor::Nothing, Request::List(proto::request::Empty {}))],
        _ => {}
    }
    Vec::new()
}

impl Model {
    fn push_done(&mut self, id: ProcessId) {
        let name = self.name(id);
        self.toast(format!("{name} has ended its turn"));
    }
}

fn changed(model: &mut Model, before: Option<&ProcessView>, view: &ProcessView) {
    if view.kind == Kind::Command && view.status == Status::Running {
        let has_ports = model.crew.ports.contains_key(&view.id);
        let is_new_run = before.is_none_or(|before| before.run != view.run);
        if is_new_run || !has_ports {
            model.port_questions.entry(view.id).or_insert((model.now.ms + PORTS_MS, 0));
        }
    } else {
        model.crew.ports.remove(&view.id);
        model.port_questions.remove(&view.id);
    }
    let was_unseen = before.is_some_and(|before| before.unseen.is_some());
    let failed = view.unseen.filter(|unseen| unseen.what != UnseenEnd::Turn && !was_unseen);
    if failed.is_some() && !model.is_on_screen(view.id) {
        let how = view.exit.map_or_else(
            || "could not be started".to_owned(),
            |exit| match exit.shell_code() {
                0 => "is over".to_owned(),
                code => format!("ended with {code}"),
            },
        );
        model.alert(format!("{} {how}", view.name), Some(view.id));
    }
}

/// Looks at the focused pane: after a while what its process did counts as seen.
pub(super) fn look(model: &mut Model) {
    let here = model.deck.focused().map(|(_, process)| process).filter(|_| model.overlays.is_empty());
    match (here, model.looking) {
        (Some(here), Some((there, _, true))) if here == there => {
            // Marked before; what ends from now on is looked at anew.
            if model.is_unseen(here) {
                model.looking = Some((here, model.now.ms, false));
            }
        }
        (Some(here), Some((there, _, false))) if here == there => {}
        (here, _) => model.looking = here.map(|here| (here, model.now.ms, false)),
    }
}

/// Time has passed.
pub(super) fn tick(model: &mut Model) -> Vec<Command> {
    model.expire_toasts();
    let mut commands = Vec::new();
    if let Some((process, since, false)) = model.looking
        && model.has_focus
        && model.is_unseen(process)
        && model.now.ms >= since + SEEN_MS
    {
        model.looking = Some((process, since, true));
        let see = See { target: Target(process.to_string()), ..See::default() };
        commands.push(call(CallFor::Nothing, Request::See(see)));
    }
    let now = model.now.ms;
    let due: Vec<ProcessId> =
        model.port_questions.iter().filter(|(_, (due, _))| *due <= now).map(|(id, _)| *id).collect();
    for id in due {
        let tries = model.port_questions.get(&id).map_or(0, |(_, tries)| *tries) + 1;
        match tries < PORTS_TRIES {
            true => drop(model.port_questions.insert(id, (now + PORTS_MS * u64::from(tries), tries))),
            false => drop(model.port_questions.remove(&id)),
        }
        commands.push(call(CallFor::Ports(id), Request::Ports(Ports { target: Target(id.to_string()) })));
    }
    commands
}

pub(super) fn answered(model: &mut Model, what: CallFor, result: Result<Reply, Failure>) -> Vec<Command> {
    let reply = match result {
        Ok(reply) => reply,
        Err(failure) => return failed(model, &what, &failure),
    };
    match (what, reply) {
        (CallFor::Inbox, Reply::Inbox(items)) => model.crew.inbox = items,
        (CallFor::Timers, Reply::Timers(timers)) => {
            model.crew.timers = timers;
            model.crew.timers.retain(|timer| timer.outcome.is_none());
        }
        (CallFor::Pads, Reply::Pad(PadOutcome::Listed(pads))) => model.crew.pads = pads,
        (CallFor::Presets, Reply::Presets(list)) => model.crew.presets = list.presets,
        (CallFor::Agents, Reply::Agents(offers)) => {
            let found = offers.into_iter().filter(|offer| offer.program.is_some());
            model.crew.agents = found.map(|offer| offer.name).collect();
        }
        (CallFor::Ports(id), Reply::Ports(listening)) if !listening.ports.is_empty() => {
            model.port_questions.remove(&id);
            model.crew.ports.insert(id, listening.ports.into_iter().map(|port| port.port).collect());
        }
        (CallFor::Start(placement), Reply::Spawned(spawned)) => {
            spawned.warning.iter().for_each(|warning| model.toast(format!("{}: {warning}", spawned.name)));
            return show(model, spawned.id, placement);
        }
        (CallFor::Explain, Reply::Explanation(explanation)) => {
            let page = explanation_page(model, &explanation);
            model.overlays.push(Overlay::Page(page));
        }
        (CallFor::PadText, Reply::Pad(PadOutcome::Text { name, content, revision, .. })) => {
            let lines = content.lines().map(|line| Printable(line).to_string()).collect();
            return push(
                model,
                Overlay::Page(Page { title: format!("{name} (r{revision})"), lines, top: 0 }),
            );
        }
        (CallFor::History(process), Reply::Text(text)) => {
            if let Some(history) = history::lines(model).filter(|history| history.process == process) {
                history.take_page(text.rows.unwrap_or_default(), text.missed);
            }
        }
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

fn failed(model: &mut Model, what: &CallFor, failure: &Failure) -> Vec<Command> {
    let is_quiet = matches!(
        what,
        CallFor::Ports(_) | CallFor::Presets | CallFor::Agents | CallFor::Pads | CallFor::Tasks
    );
    if let CallFor::History(_) = what
        && let Some(history) = history::lines(model)
    {
        (history.is_loading, history.is_complete) = (false, true);
    }
    if !is_quiet {
        let hint = failure.hint.as_ref().map(|hint| format!(" ({})", Printable(hint))).unwrap_or_default();
        model.alert(format!("{}{hint}", Printable(&failure.message)), None);
    }
    // What was answered by somebody else meanwhile is shown as it is now.
    match what {
        CallFor::TaskDone | CallFor::TaskMade { .. } => vec![tasks::ask_list()],
        CallFor::Answer(_) => vec![call(CallFor::Inbox, Request::Inbox(proto::request::Empty {}))],
        _ => Vec::new(),
    }
}

fn receipt_text(name: &str, delivery: &Delivery) -> String {
    match delivery {
        Delivery::Queued { reason } => format!("{name} gets it later: {}", Printable(reason)),
        Delivery::Delivering => format!("{name} is being told"),
        Delivery::Submitted { turn } | Delivery::Delivered { turn } => format!("{name} has it, turn {turn}"),
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
            model.rail.width = config.rail_width;
            model.looks = config.looks();
            model.toast("settings taken over");
        }
    }
    Vec::new()
}

fn explanation_page(model: &Model, explanation: &Explanation) -> Page {
    let now = model.now.epoch_ms;
    let mut lines = vec![
        format!(
            "{} is {}, since {}.",
            explanation.name,
            explanation.agent.state,
            ago(now, explanation.agent.since)
        ),
        Printable(&explanation.why).to_string(),
        String::new(),
        "SOURCE       SAYS       AGE   RULE".to_owned(),
    ];
    for opinion in &explanation.opinions {
        let state = opinion.evidence.state.map_or("unknown", proto::AgentState::word);
        let counts = if opinion.counts { "" } else { "  (no longer counts)" };
        lines.push(format!(
            "{:<12} {state:<10} {:<5} {}{counts}",
            opinion.evidence.source.to_string(),
            age(now.saturating_sub(opinion.at)),
            Printable(&opinion.evidence.rule),
        ));
        if !opinion.evidence.message.is_empty() {
            lines.push(format!("             {}", Printable(&opinion.evidence.message)));
        }
    }
    lines.push(String::new());
    lines.push(format!("composer {}, {} messages wait", explanation.composer.word(), explanation.agent.mail));
    Page { title: format!("Why {} is {}", explanation.name, explanation.agent.state), lines, top: 0 }
}

/// What is known of a process whose state nobody judges.
pub(super) fn plain_explanation(model: &Model, process: ProcessId) -> Page {
    let Some(view) = model.crew.get(process) else { return Page::default() };
    let exit = view.exit.map(|exit| format!("exit    {} ({})", exit.shell_code(), exit.reason));
    let mut lines = vec![
        format!("runs    {}", Printable(&view.argv.join(" "))),
        format!("in      {}", Printable(&view.cwd)),
        format!("status  {}, run {}", view.status, view.run),
        format!("size    {}, {} viewers", view.size, view.viewers),
        format!("started {}", ago(model.now.epoch_ms, view.started_at)),
    ];
    lines.extend(exit);
    lines.extend(view.failure.as_ref().map(|failure| format!("failure {}", Printable(failure))));
    Page { title: view.name.to_string(), lines, top: 0 }
}

pub(super) fn show_timer(model: &mut Model, timer: &TimerView) -> Vec<Command> {
    let lines = vec![
        format!("wakes   {}", timer.owner_name),
        format!("in      {}", age(timer.remaining_ms)),
        String::new(),
        Printable(&timer.body).to_string(),
    ];
    push(model, Overlay::Page(Page { title: format!("Timer {}", timer.timer), lines, top: 0 }))
}

fn ago(now: u64, then: u64) -> String {
    match age(now.saturating_sub(then)).as_str() {
        "now" => "just now".to_owned(),
        age => format!("{age} ago"),
    }
}

//! What the command line can do to a process beyond showing, renaming and ending it: interrupt it, send it a signal, set it a
//! timer, see who looks at it, read its earlier runs, let it do more, record it. Also the lists of messages and grants, and
//! removing what is over.

use proto::agent::{Delivery, MailId, Receipt};
use proto::reply::ViewerView;
use proto::request::{
    CancelMessage, Close, Detach, Empty, Grant, Interrupt, Kill, Read, ReadMode, Revoke, RunChoice, SetTimer,
    Spawn, Target, TimerWatch, TimerWhen,
};
use proto::rights::{GrantView, Right};
use proto::stop::signal_name;
use proto::{Kind, Printable, ProcessId, ProcessView, Request, Status, Stop};
use rustix::process::Signal;

use super::actions::{call, prompt};
use super::ends;
use super::palette::{free_name, spawn, started};
use crate::keymap::Action;
use crate::message::{CallFor, Command};
use crate::model::overlay::{Confirm, ConfirmAnswer, Overlay, Page, Purpose};
use crate::model::palette::{Choice, Entry, Palette, Placement, Section};
use crate::model::{Model, age};

/// The signals that are offered, with the keys that send them.
const SIGNALS: [(char, Signal, &str); 8] = [
    ('i', Signal::INT, "INT, as Ctrl-C"),
    ('t', Signal::TERM, "TERM: asks it to end"),
    ('k', Signal::KILL, "KILL: ends it at once"),
    ('h', Signal::HUP, "HUP"),
    ('s', Signal::STOP, "STOP: halts it"),
    ('c', Signal::CONT, "CONT: it goes on"),
    ('1', Signal::USR1, "USR1"),
    ('2', Signal::USR2, "USR2"),
];
/// How long a timer waits for others to become idle.
const IDLE_WAIT_MS: u64 = 24 * 60 * 60 * 1_000;
/// Most earlier runs that are offered.
const RUNS_MAX: u32 = 20;
/// Bytes of an earlier run that are shown: the newest.
const LOG_BYTES: u32 = 65_536;

/// Does one of these acts to a process.
pub(super) fn act(model: &mut Model, action: Action, process: ProcessId) -> Vec<Command> {
    let name = model.name(process);
    let is_agent = model.crew.get(process).is_some_and(|view| view.agent.is_some());
    match action {
        Action::Interrupt | Action::SetTimer if !is_agent => {
            model.toast(format!("{name} is no agent; K sends it a signal"));
            Vec::new()
        }
        Action::Interrupt => {
            let interrupt = Interrupt { target: target(process) };
            vec![call(CallFor::Confirmed(format!("{name} is interrupted")), Request::Interrupt(interrupt))]
        }
        Action::SetTimer => {
            let title = format!("Wake {name}, as in: 10m look at the tests");
            prompt(model, title, "", Purpose::Timer(process))
        }
        Action::Signal => ask_signal(model, process),
        Action::Viewers => vec![call(CallFor::Viewers(process), Request::Viewers(Empty {}))],
        Action::EarlierRuns => offer_runs(model, process),
        Action::Grant => {
            let title = format!("{name} may: read, drive or message, and which process");
            prompt(model, title, "drive ", Purpose::Grant(process))
        }
        Action::Record => {
            let title = format!("Record {name} as an asciicast, into the file");
            prompt(model, title, &format!("{name}.cast"), Purpose::Record(process))
        }
        _ => Vec::new(),
    }
}

fn target(process: ProcessId) -> Target {
    Target(process.to_string())
}

fn ask_signal(model: &mut Model, process: ProcessId) -> Vec<Command> {
    let name = model.name(process);
    let answer = |(key, signal, label): (char, Signal, &'static str)| {
        let number = signal.as_raw();
        let kill = Kill { target: target(process), signal: Some(number), grace_ms: None };
        let said = CallFor::Confirmed(format!("{name} got {}", signal_name(number)));
        ConfirmAnswer { key, label, commands: vec![call(said, Request::Kill(kill))] }
    };
    let kill = Kill { target: target(process), signal: None, grace_ms: None };
    let said = CallFor::Confirmed(format!("the run of {name} is over"));
    let commands = vec![call(said, Request::Kill(kill))];
    let end_run = ConfirmAnswer { key: 'e', label: "ends the run and all that it started", commands };
    let confirm = Confirm {
        title: format!("Send {name} a signal"),
        lines: vec!["What it does then is its own affair; its entry stays.".to_owned()],
        answers: SIGNALS.map(answer).into_iter().chain([end_run]).collect(),
    };
    model.overlays.push(Overlay::Confirm(Box::new(confirm)));
    Vec::new()
}

/// Sets a timer from a line such as `10m look at the tests` or `idle:web,api label=ci go on`. If the line has no time,
/// the person is asked again.
pub(super) fn set_timer(model: &mut Model, process: ProcessId, text: &str) -> Vec<Command> {
    let TimerWords { when, label, max_wait_ms, body } = timer_words(text);
    let title = format!("Wake {}", model.name(process));
    let Some(moment) = timer_when(when, max_wait_ms) else {
        model.toast("first the time: 90s, 10m, 2h, idle:NAME,NAME or idle-all:NAME,NAME; then the message");
        return prompt(model, title, text, Purpose::Timer(process));
    };
    if body.is_empty() {
        model.toast("write what it is told behind the time");
        return prompt(model, title, text, Purpose::Timer(process));
    }
    let name = model.name(process);
    let said = match moment {
        TimerWhen::After(_) => format!("{name} is woken in {when}"),
        TimerWhen::IdleAny(_) => format!("{name} is woken when one of them is idle"),
        TimerWhen::IdleAll(_) => format!("{name} is woken when all of them are idle"),
    };
    let label = label.map(str::to_owned);
    let timer =
        SetTimer { owner: Some(target(process)), when: moment, body: body.to_owned(), label, key: None };
    vec![call(CallFor::Confirmed(said), Request::SetTimer(timer))]
}

/// A line that sets a timer: when, then `label=NAME` and `max=TIME` if they are wanted, then what is told.
#[derive(Debug, PartialEq, Eq)]
struct TimerWords<'t> {
    when: &'t str,
    label: Option<&'t str>,
    max_wait_ms: Option<u64>,
    body: &'t str,
}

fn timer_words(text: &str) -> TimerWords<'_> {
    let (when, body) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let mut words = TimerWords { when, label: None, max_wait_ms: None, body: body.trim() };
    loop {
        let (first, rest) = words.body.split_once(' ').unwrap_or((words.body, ""));
        match (first.strip_prefix("label="), first.strip_prefix("max=").and_then(duration_ms)) {
            (Some(label), _) if !label.is_empty() => words.label = Some(label),
            (_, Some(ms)) => words.max_wait_ms = Some(ms),
            _ => return words,
        }
        words.body = rest.trim();
    }
}

/// When a timer fires: after a time, or when one or all of some processes are idle.
fn timer_when(words: &str, max_wait_ms: Option<u64>) -> Option<TimerWhen> {
    let (names, is_all) = match (words.strip_prefix("idle:"), words.strip_prefix("idle-all:")) {
        (Some(names), _) => (names, false),
        (None, Some(names)) => (names, true),
        (None, None) => return duration_ms(words).map(TimerWhen::After),
    };
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    let processes: Vec<Target> = names.map(|name| Target(name.to_owned())).collect();
    let watch = TimerWatch { processes, max_wait_ms: max_wait_ms.unwrap_or(IDLE_WAIT_MS) };
    let is_some = !watch.processes.is_empty();
    is_some.then_some(if is_all { TimerWhen::IdleAll(watch) } else { TimerWhen::IdleAny(watch) })
}

/// A duration that is not nothing, in milliseconds.
fn duration_ms(words: &str) -> Option<u64> {
    client::typed_duration::milliseconds(words).ok().filter(|ms| *ms > 0)
}

/// Gives a process a right from a line such as `drive web`.
pub(super) fn grant(model: &mut Model, process: ProcessId, text: &str) -> Vec<Command> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let right = [Right::Read, Right::Drive, Right::Message]
        .into_iter()
        .find(|right| words.first() == Some(&right.word()));
    let (Some(right), [_, over]) = (right, words.as_slice()) else {
        model.toast("a right and a process: read web, drive web or message lead");
        return prompt(model, format!("{} may", model.name(process)), text, Purpose::Grant(process));
    };
    let said = format!("{} may {} {}", model.name(process), right.word(), Printable(over));
    let grant = Grant { to: target(process), right, over: Target((*over).to_owned()) };
    vec![call(CallFor::Confirmed(said), Request::Grant(grant))]
}

/// Records a process by a command of its own, which the rail shows and which ends with the process.
pub(super) fn record(model: &Model, process: ProcessId, file: &str) -> Vec<Command> {
    let name = model.name(process);
    let program = model.place.program.clone().unwrap_or_else(|| "qd".to_owned());
    let argv = vec![program, "record".to_owned(), process.to_string(), file.trim().to_owned()];
    let name = format!("record-{name}").parse::<proto::Name>().ok().map(|name| name.to_string());
    // It reads another process: for that it needs the person's rights.
    let as_me = Some(true);
    vec![started(Spawn { argv, name, as_me, ..spawn(model, Kind::Command) }, Placement::Background)]
}

/// Runs a verb of the command line for the project, in a window that closes when it is done; it has the person's rights.
pub(super) fn run_own_verb(model: &Model, verb: &str) -> Vec<Command> {
    let program = model.place.program.clone().unwrap_or_else(|| "qd".to_owned());
    let (argv, name) = (vec![program, verb.to_owned()], free_name(model, &format!("qd-{verb}")));
    let spawn = Spawn { argv, name, as_me: Some(true), ..spawn(model, Kind::Command) };
    vec![started(spawn, Placement::Popup)]
}

/// Asks before the project's presets are ended.
pub(super) fn ask_down(model: &mut Model) -> Vec<Command> {
    let names: Vec<String> =
        model.crew.presets.iter().map(|preset| Printable(&preset.name).to_string()).collect();
    if names.is_empty() {
        model.toast("the project has no presets");
        return Vec::new();
    }
    let lines = vec![format!("In reverse order: {}.", names.join(", "))];
    let commands = run_own_verb(model, "down");
    let confirm = Confirm::yes("End the project's presets?".to_owned(), lines, commands);
    model.overlays.push(Overlay::Confirm(Box::new(confirm)));
    Vec::new()
}

fn entry(text: String, note: String, choice: Choice) -> Entry {
    Entry { section: Section::Listed, text, note, mark: None, choice }
}

/// Opens a list to choose from; says what there is to say when it is empty.
fn offer(model: &mut Model, title: &'static str, entries: Vec<Entry>, empty: &str) {
    match entries.is_empty() {
        true => model.toast(empty),
        false => model.overlays.push(Overlay::Palette(Palette::given(title, entries))),
    }
}

fn offer_runs(model: &mut Model, process: ProcessId) -> Vec<Command> {
    let newest = model.crew.get(process).map_or(1, |view| view.run.0);
    let runs = (1..=newest).rev().take(usize::try_from(RUNS_MAX).unwrap_or(usize::MAX));
    let row = |run: u32| {
        let note = if run == newest { "the newest" } else { "" };
        entry(format!("run {run}"), note.to_owned(), Choice::Log(process, run))
    };
    let rows = runs.map(row).collect();
    offer(model, "Runs of it", rows, "it has not run yet");
    Vec::new()
}

/// Asks for what a run has printed.
pub(super) fn read_log(process: ProcessId, run: u32) -> Command {
    let (run_choice, limit) = (RunChoice::Number(run), Some(LOG_BYTES));
    let read =
        Read { target: target(process), run: run_choice, mode: ReadMode::Stream, limit, ..Read::default() };
    call(CallFor::Log(process, run), Request::Read(read))
}

/// Shows what a run has printed, from its end.
pub(super) fn show_log(model: &mut Model, process: ProcessId, run: u32, text: &proto::reply::Text) {
    let mut lines: Vec<String> = text.text.lines().map(|line| Printable(line).to_string()).collect();
    if text.missed > 0 || text.truncated {
        lines.insert(0, "(the beginning is left out; qd logs has all that is kept)".to_owned());
    }
    if lines.is_empty() {
        lines.push("It has printed nothing.".to_owned());
    }
    let top = lines.len();
    let title = format!("{}, run {run}", model.name(process));
    model.overlays.push(Overlay::Page(Page { title, lines, top, ..Page::default() }));
}

/// Lists who looks at a process; choosing one lets it go.
pub(super) fn offer_viewers(model: &mut Model, process: ProcessId, viewers: Vec<ViewerView>) {
    let now = model.now.epoch_ms;
    let row = |viewer: ViewerView| {
        let size = if viewer.owns_size { ", its size" } else { "" };
        let only = if viewer.read_only { ", only looks" } else { "" };
        let note = format!("{}, {}{size}{only}", age(now.saturating_sub(viewer.since)), viewer.size);
        let name = format!("v{} {}", viewer.viewer, Printable(&viewer.by));
        entry(name, note, Choice::Detach(viewer.viewer))
    };
    let rows = viewers.into_iter().filter(|viewer| viewer.id == process).map(row).collect();
    offer(model, "Viewers: Enter lets one go", rows, "nobody looks at it");
}

pub(super) fn detach(viewer: u64) -> Vec<Command> {
    let said = CallFor::Confirmed(format!("v{viewer} is let go"));
    vec![call(said, Request::Detach(Detach { target: Target(format!("v{viewer}")) }))]
}

/// Lists the newest messages with their receipts; choosing one that waits cancels it.
pub(super) fn offer_messages(model: &mut Model, messages: Vec<Receipt>) {
    let row = |receipt: Receipt| {
        let to = model.name(receipt.to);
        let text = format!("{} to {to}", Printable(&receipt.sender));
        let words = super::events::receipt_text(&to, &receipt.delivery);
        let sent = age(model.now.epoch_ms.saturating_sub(receipt.at));
        let note = format!("{}, {sent}", delivery_word(&receipt.delivery));
        let choice = match receipt.delivery {
            Delivery::Queued { .. } => Choice::CancelMessage(receipt.mail),
            _ => Choice::Say(words),
        };
        entry(text, note, choice)
    };
    let rows: Vec<Entry> = messages.into_iter().rev().map(row).collect();
    offer(model, "Messages: Enter cancels one that waits", rows, "no message was sent yet");
}

fn delivery_word(delivery: &Delivery) -> &'static str {
    match delivery {
        Delivery::Queued { .. } => "waits",
        Delivery::Delivering => "on its way",
        Delivery::Submitted { .. } => "submitted",
        Delivery::Delivered { .. } => "delivered",
        Delivery::Refused { .. } => "refused",
        Delivery::Unknown { .. } => "unknown",
        Delivery::Expired => "expired",
    }
}

/// Asks before a message that waits is taken back.
pub(super) fn ask_cancel(model: &mut Model, mail: MailId) -> Vec<Command> {
    let cancel = call(
        CallFor::Confirmed(format!("message {mail} is cancelled")),
        Request::CancelMessage(CancelMessage { mail }),
    );
    let lines = vec!["Its delivery has not begun; nobody gets it.".to_owned()];
    let confirm = Confirm::yes(format!("Cancel message {mail}?"), lines, vec![cancel]);
    model.overlays.push(Overlay::Confirm(Box::new(confirm)));
    Vec::new()
}

/// Lists the rights that were granted; choosing one takes it back.
pub(super) fn offer_grants(model: &mut Model, grants: Vec<GrantView>) {
    let row = |grant: GrantView| entry(grant.to_string(), String::new(), Choice::Revoke(grant.grant.grant));
    let rows = grants.into_iter().map(row).collect();
    offer(model, "Grants: Enter takes one back", rows, "nothing was granted; the menu of a process grants");
}

pub(super) fn revoke(grant: u64) -> Vec<Command> {
    vec![call(CallFor::Confirmed("the right is taken back".to_owned()), Request::Revoke(Revoke { grant }))]
}

/// Asks before the entries of processes that are over are removed. Agents stay unless they are meant, too: they can be
/// resumed.
pub(super) fn ask_prune(model: &mut Model) -> Vec<Command> {
    let is_over = |view: &&ProcessView| matches!(view.status, Status::Exited | Status::Failed);
    let (agents, others): (Vec<_>, Vec<_>) =
        model.crew.processes.iter().filter(is_over).partition(|view| view.kind == Kind::Agent);
    if agents.is_empty() && others.is_empty() {
        model.toast("nothing is over");
        return Vec::new();
    }
    let close = |view: &&ProcessView| {
        let close = Close { target: target(view.id), keep_background: false, stop: Stop::default() };
        call(CallFor::Nothing, Request::Close(close))
    };
    let names = |all: &[&ProcessView]| {
        let names: Vec<&str> = all.iter().map(|view| view.name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let mut lines = vec![
        format!("Commands and shells: {}.", names(&others)),
        format!("Agents, which can be resumed: {}.", names(&agents)),
    ];
    let ids: Vec<ProcessId> = others.iter().map(|view| view.id).collect();
    lines.extend(ends::family_warning(model, &ids));
    let plain: Vec<Command> = others.iter().map(close).collect();
    let all: Vec<Command> = others.iter().chain(&agents).map(close).collect();
    let answers = vec![
        ConfirmAnswer { key: 'y', label: "yes, without agents", commands: plain },
        ConfirmAnswer { key: 'a', label: "agents too", commands: all },
    ];
    let confirm = Confirm { title: "Remove what is over?".to_owned(), lines, answers };
    model.overlays.push(Overlay::Confirm(Box::new(confirm)));
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_seconds_or_a_number_and_a_unit() {
        let cases = [
            ("90s", Some(90_000)),
            ("90", Some(90_000)),
            ("0.5", Some(500)),
            ("10m", Some(600_000)),
            ("1d", Some(86_400_000)),
            ("2w", Some(1_209_600_000)),
            ("0s", None),
        ];
        for (words, ms) in cases {
            assert_eq!(duration_ms(words), ms, "{words}");
        }
        assert!(
            ["", "m", "-1m", "1é", "99999999999999999999d"].iter().all(|words| duration_ms(words).is_none())
        );
    }
}

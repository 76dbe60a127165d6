//! What the keys of the deck do.

use proto::request::{Empty, Explain, Restart, See, Target};
use proto::{ProcessId, Request};
use term::{Key, KeyCode};

use super::{ends, history, own_commands, pads, palette, process_acts, tasks};
use crate::keymap::{Action, Context};
use crate::message::{CallFor, Command};
use crate::model::line::Line;
use crate::model::overlay::{Confirm, Help, InboxView, Overlay, Prompt, Purpose, Wall};
use crate::model::palette::{Palette, Placement, Scope};
use crate::model::rail::{self, RailItem};
use crate::model::settings::SettingsView;
use crate::model::splits::{Axis, Direction};
use crate::model::{Model, Prefix};

/// By how much a border moves, in thousandths.
const RESIZE_STEP: u16 = 40;

/// Does an action of the deck.
pub(super) fn act(model: &mut Model, action: Action) -> Vec<Command> {
    match action {
        Action::Palette => open(model, "Palette", Scope::Everything, Placement::Tab),
        Action::Processes => open(model, "Go to", Scope::Processes, Placement::Tab),
        Action::New => open(model, "Start", Scope::Start, Placement::Tab),
        Action::SplitRight => open(model, "Show at the right", Scope::Shown, Placement::Split(Axis::Columns)),
        Action::SplitDown => open(model, "Show below", Scope::Shown, Placement::Split(Axis::Rows)),
        Action::NextNeed => go_to_need(model, 1),
        Action::PreviousNeed => go_to_need(model, -1),
        Action::Inbox => push(model, Overlay::Inbox(InboxView::default())),
        Action::FocusLeft => focus(model, Direction::Left),
        Action::FocusDown => focus(model, Direction::Down),
        Action::FocusUp => focus(model, Direction::Up),
        Action::FocusRight => focus(model, Direction::Right),
        Action::Rail => enter_rail(model),
        Action::Tab(number) => {
            on_deck(model, |model| model.deck.go_to_tab(usize::from(number.saturating_sub(1))))
        }
        Action::LastTab => on_deck(model, |model| model.deck.go_to_tab(model.deck.last)),
        Action::Zoom => on_tab(model, |tab| tab.is_zoomed = !tab.is_zoomed),
        Action::Even => on_tab(model, |tab| tab.root.even()),
        Action::Resize => {
            model.prefix = Prefix::Resizing;
            Vec::new()
        }
        Action::Move => {
            model.prefix = Prefix::Moving;
            Vec::new()
        }
        Action::OwnCommand(number) => own_commands::run(model, usize::from(number)),
        Action::CloseView => close_view(model),
        Action::Copy => lines(model, false),
        Action::Search => lines(model, true),
        Action::Paste => paste(model),
        Action::Tasks => tasks::open(model),
        Action::NewTask => {
            model.overlays.push(Overlay::Form(Box::default()));
            let mut commands = palette::refresh(model);
            commands.push(Command::Preparation);
            commands
        }
        Action::Review => match tasks::current(model) {
            Some(task) => super::review::open(model, &task.name),
            None => {
                model.toast("no task is open here; choose one in the list of tasks");
                tasks::open(model)
            }
        },
        Action::Wall => {
            let tiles = model.looks.wall_tiles;
            push(model, Overlay::Wall(Wall { selected: None, tiles, typing: None, changed: None }))
        }
        Action::Pads => show_pads(model),
        Action::ToggleRail => on_deck(model, |model| model.rail.is_shown = !model.rail.is_shown),
        // What is open stays open: the next key is meant for it.
        Action::DismissToasts => {
            model.toasts.clear();
            model.crew.suggested.clear();
            Vec::new()
        }
        Action::Settings => push(model, Overlay::Settings(SettingsView::default())),
        Action::Help => push(model, Overlay::Help(Help::default())),
        Action::StartDaemon if model.daemon.away.is_some() => vec![Command::StartDaemon],
        Action::StartDaemon => {
            model.toast("the daemon is there");
            Vec::new()
        }
        Action::Messages => vec![call(CallFor::Messages, Request::Messages(Empty {}))],
        Action::Grants => vec![call(CallFor::Grants, Request::Grants(Empty {}))],
        Action::Prune => process_acts::ask_prune(model),
        Action::ResumeAll => ends::ask_resume_all(model),
        Action::PresetsUp => process_acts::run_own_verb(model, "up"),
        Action::PresetsDown => process_acts::ask_down(model),
        Action::CollectTasks => vec![tasks::ask_collect(true)],
        Action::Leave => vec![Command::Leave],
        other => match model.popup().or(model.deck.focused().map(|(_, process)| process)) {
            Some(process) => on_process(model, other, process),
            None => nothing_open(model),
        },
    }
}

/// Opens help at the keys of a context.
pub(super) fn help(model: &mut Model, context: Context) {
    let top = crate::view::help::top_of(model, context);
    model.overlays.push(Overlay::Help(Help { top, ..Help::default() }));
}

/// Does an action to a process, from the deck or from the rail.
pub(super) fn on_process(model: &mut Model, action: Action, process: ProcessId) -> Vec<Command> {
    let target = Target(process.to_string());
    let name = model.name(process);
    match action {
        Action::Direct => vec![Command::Direct(process)],
        Action::CloseProcess => ends::ask_close(model, process),
        Action::Resume => ends::ask_resume(model, process),
        Action::SetSize => ends::ask_size(model, process),
        Action::Restart => {
            let lines = vec![format!("{name} ends and is started again with the same command.")];
            let request = Request::Restart(Restart { target, ..Restart::default() });
            confirm(model, format!("Start {name} again?"), lines, request)
        }
        Action::Explain if model.crew.get(process).is_some_and(|view| view.agent.is_some()) => {
            vec![call(CallFor::Explain, Request::Explain(Explain { target }))]
        }
        Action::Explain => {
            let page = super::explain::process_page(model, process);
            push(model, Overlay::Page(page))
        }
        Action::Tell if model.crew.get(process).is_some_and(|view| view.agent.is_none()) => {
            model.toast(format!("{name} is no agent: messages are for agents; type into it instead"));
            Vec::new()
        }
        Action::Tell => prompt(model, format!("Message to {name}"), "", Purpose::Tell(process)),
        Action::Rename => prompt(model, format!("Rename {name}"), &name, Purpose::Rename(process)),
        other => process_acts::act(model, other, process),
    }
}

pub(super) fn call(what: CallFor, request: Request) -> Command {
    Command::Call(what, Box::new(request))
}

pub(super) fn push(model: &mut Model, overlay: Overlay) -> Vec<Command> {
    model.overlays.clear();
    model.overlays.push(overlay);
    Vec::new()
}

fn open(model: &mut Model, title: &'static str, scope: Scope, placement: Placement) -> Vec<Command> {
    let mut commands = palette::refresh(model);
    commands.extend(push(model, Overlay::Palette(Palette::new(title, scope, placement))));
    commands
}

/// Asks for a line. One that was written for the same and has not arrived is there again.
pub(super) fn prompt(model: &mut Model, title: String, text: &str, purpose: Purpose) -> Vec<Command> {
    let kept = model.daemon.unsent.take_text(&purpose);
    let text = kept.as_deref().unwrap_or(text);
    model.overlays.push(Overlay::Prompt(Prompt { title, line: Line::with(text), purpose }));
    Vec::new()
}

pub(super) fn confirm(
    model: &mut Model,
    title: String,
    lines: Vec<String>,
    request: Request,
) -> Vec<Command> {
    let confirm = Confirm::yes(title, lines, vec![call(CallFor::Nothing, request)]);
    model.overlays.push(Overlay::Confirm(Box::new(confirm)));
    Vec::new()
}

fn on_deck(model: &mut Model, change: impl FnOnce(&mut Model)) -> Vec<Command> {
    model.overlays.clear();
    change(model);
    Vec::new()
}

fn on_tab(model: &mut Model, change: impl FnOnce(&mut crate::model::deck::Tab)) -> Vec<Command> {
    model.overlays.clear();
    model.deck.tab_mut().map(change);
    Vec::new()
}

fn nothing_open(model: &mut Model) -> Vec<Command> {
    model.toast("no process is open");
    Vec::new()
}

/// Shows a process and gives it the keyboard.
pub(super) fn show(model: &mut Model, process: ProcessId, placement: Placement) -> Vec<Command> {
    match placement {
        Placement::Popup => own_commands::open_popup(model, process),
        Placement::Background => model.toast_about(format!("{} runs", model.name(process)), process),
        Placement::Tab | Placement::Split(_) => return show_in_deck(model, process, placement),
    }
    Vec::new()
}

fn show_in_deck(model: &mut Model, process: ProcessId, placement: Placement) -> Vec<Command> {
    model.overlays.clear();
    model.rail.has_keys = false;
    if Some(process) == model.place.own {
        model.toast("that is the terminal you are in");
        return Vec::new();
    }
    match placement {
        Placement::Tab => model.deck.open(process),
        Placement::Split(axis) => model.deck.split(process, axis),
        Placement::Popup | Placement::Background => {}
    }
    Vec::new()
}

/// Goes to the next or the previous process that needs the person. What is looked at is seen by going on.
fn go_to_need(model: &mut Model, by: isize) -> Vec<Command> {
    let here = model.deck.focused().map(|(_, process)| process);
    let needing: Vec<ProcessId> = model.crew.needing().into_iter().map(|(id, _, _)| id).collect();
    let count = needing.len();
    let at = needing.iter().position(|id| Some(*id) == here);
    let next = match (at, by) {
        (_, _) if count == 0 => None,
        (Some(_), _) if count == 1 => None,
        (Some(at), by) => needing.get((at + count).saturating_add_signed(by) % count),
        (None, 1..) => needing.first(),
        (None, _) => needing.last(),
    };
    let mut commands = Vec::new();
    if let Some(here) = here.filter(|here| model.is_unseen(*here)) {
        let see = See { target: Target(here.to_string()), ..See::default() };
        commands.push(call(CallFor::Nothing, Request::See(see)));
    }
    match next.copied() {
        Some(next) => commands.extend(show(model, next, Placement::Tab)),
        None if count == 0 => model.toast("nobody needs you"),
        None => model.toast("nobody else needs you"),
    }
    commands
}

fn focus(model: &mut Model, direction: Direction) -> Vec<Command> {
    model.overlays.clear();
    let area = model.areas().deck;
    let has_moved = model.deck.move_focus(area, direction);
    if !has_moved && direction == Direction::Left && model.rail.is_shown {
        return enter_rail(model);
    }
    model.rail.has_keys = false;
    Vec::new()
}

pub(super) fn enter_rail(model: &mut Model) -> Vec<Command> {
    model.overlays.clear();
    (model.rail.is_shown, model.rail.has_keys) = (true, true);
    let items = rail::items(model);
    let is_there = model.rail.selected.as_ref().is_some_and(|selected| items.contains(selected));
    if !is_there {
        let here = model.deck.focused().map(|(_, process)| RailItem::Process(process));
        model.rail.selected = here.filter(|here| items.contains(here)).or(items.into_iter().next());
    }
    Vec::new()
}

/// Moves the border by a direction key; returns true if it was one.
pub(super) fn resize(model: &mut Model, key: &Key) -> bool {
    let direction = match key.code {
        KeyCode::Character('h') | KeyCode::Left => Direction::Left,
        KeyCode::Character('j') | KeyCode::Down => Direction::Down,
        KeyCode::Character('k') | KeyCode::Up => Direction::Up,
        KeyCode::Character('l') | KeyCode::Right => Direction::Right,
        KeyCode::Escape | KeyCode::Enter => {
            model.prefix = Prefix::None;
            return true;
        }
        _ => return false,
    };
    if let Some(tab) = model.deck.tab_mut() {
        let focus = tab.focus;
        tab.root.resize(focus, direction, RESIZE_STEP);
    }
    true
}

/// Moves the focused pane by a key; returns true if it was a key for that.
pub(super) fn move_pane(model: &mut Model, key: &Key) -> bool {
    model.overlays.clear();
    let area = model.areas().deck;
    let direction = match key.code {
        KeyCode::Character('h') | KeyCode::Left => Direction::Left,
        KeyCode::Character('j') | KeyCode::Down => Direction::Down,
        KeyCode::Character('k') | KeyCode::Up => Direction::Up,
        KeyCode::Character('l') | KeyCode::Right => Direction::Right,
        _ => return move_to_tab(model, key),
    };
    if !model.deck.swap_focused(area, direction) {
        model.toast("there is no pane on that side");
    }
    true
}

/// Moves the focused pane to another tab, or its tab among the tabs.
fn move_to_tab(model: &mut Model, key: &Key) -> bool {
    let here = model.deck.active;
    let is_moved = match key.code {
        KeyCode::Character('<') => {
            model.deck.move_tab(here, here.saturating_sub(1));
            return true;
        }
        KeyCode::Character('>') => {
            model.deck.move_tab(here, here + 1);
            return true;
        }
        KeyCode::Character(digit @ '1'..='9') => model.deck.move_focused_to(digit as usize - '1' as usize),
        KeyCode::Character('n') => model.deck.move_focused_out(),
        KeyCode::Escape | KeyCode::Enter => true,
        _ => return false,
    };
    model.prefix = Prefix::None;
    if !is_moved {
        model.toast("it is there already, or there is no such tab; n moves it to a new one");
    }
    true
}

fn close_view(model: &mut Model) -> Vec<Command> {
    if let Some(process) = model.popup() {
        own_commands::close_popup(model);
        model.toast_about(kept_words(model, process), process);
        return Vec::new();
    }
    model.overlays.clear();
    let Some((pane, process)) = model.deck.focused() else { return nothing_open(model) };
    let words = kept_words(model, process);
    model.deck.close_pane(pane);
    model.toast(words);
    Vec::new()
}

/// What becomes of a process whose view was closed, in words.
fn kept_words(model: &Model, process: ProcessId) -> String {
    let is_running = model.crew.get(process).is_some_and(|view| view.pid.is_some());
    let does = if is_running { "goes on" } else { "has ended" };
    format!("{} {does}; the rail has it", model.name(process))
}

fn lines(model: &mut Model, search: bool) -> Vec<Command> {
    if let Some((pane, _)) = model.deck.focused()
        && history::hold(model, pane, search)
    {
        return Vec::new();
    }
    model.overlays.clear();
    match model.deck.focused() {
        Some((pane, _)) => vec![Command::Lines { pane, search }],
        None => nothing_open(model),
    }
}

fn paste(model: &mut Model) -> Vec<Command> {
    model.overlays.clear();
    match model.deck.focused() {
        _ if model.register.is_empty() => model.toast("nothing was copied here yet"),
        Some((pane, _)) => return vec![Command::Paste(pane, model.register.clone())],
        None => return nothing_open(model),
    }
    Vec::new()
}

/// Goes to the scratchpads in the rail; without any, a new one is offered.
fn show_pads(model: &mut Model) -> Vec<Command> {
    if model.crew.pads.is_empty() {
        model.overlays.clear();
        return pads::ask_new(model);
    }
    enter_rail(model);
    let first = model.crew.pads.first().map(|pad| RailItem::Pad(pad.name.clone()));
    model.rail.selected = first;
    Vec::new()
}

/// The calls that bring what events do not tell.
pub(super) fn refreshed(model: &Model) -> Vec<Command> {
    vec![
        call(CallFor::Inbox, Request::Inbox(Empty {})),
        call(CallFor::Timers, Request::Timers(Empty {})),
        pads::ask_list(model),
        tasks::ask_list(),
    ]
}

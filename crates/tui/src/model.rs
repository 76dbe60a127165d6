//! Everything the deck knows and shows. Plain data: `update` changes it, `view` reads it.
//!
//! | file | owns |
//! |---|---|
//! | `crew` | processes, inbox, timers, pads, ports; who needs the person |
//! | `deck`, `splits` | tabs, panes and their places |
//! | `rail`, `row_menu` | the rows of the rail, and the menu of one of them |
//! | `overlay` | what lies over the deck |
//! | `own_keys` | keys that the deck has taken, until they are released |
//! | `palette` | what can be chosen |
//! | `agent_form` | how an agent is started |
//! | `history` | lines to scroll, search and copy |
//! | `looks` | how the deck looks and what it listens to, from the settings |
//! | `line` | one line of text that a person edits |
//! | `hints` | what a person is told in a new situation, and how often that was done |
//! | `settings` | the settings that can be changed in the deck, and the key recorder |
//! | `tasks` | the list of tasks, and the form of a new one |
//! | `review`, `diff`, `changed_words` | a task's changes with the comments on them, how a diff is read, and what is new in a line |
//! | `unsent` | what the person wrote and the daemon has not taken |
//! | `pointer` | the mouse between a press and its release |
//! | `host` | what the person's terminal has said about itself |

pub(crate) mod agent_form;
mod changed_words;
pub(crate) mod crew;
pub(crate) mod deck;
pub(crate) mod diff;
pub(crate) mod hints;
pub(crate) mod history;
pub(crate) mod host;
pub(crate) mod line;
mod looks;
pub(crate) mod overlay;
mod own_keys;
pub(crate) mod palette;
pub(crate) mod pointer;
pub(crate) mod rail;
pub(crate) mod review;
pub(crate) mod row_menu;
pub(crate) mod settings;
pub(crate) mod splits;
pub(crate) mod tasks;
pub(crate) mod unsent;

use std::collections::BTreeMap;

use proto::timers::TimerStatus;
use proto::{Kind, ProcessId, ProcessView, Size};

use crate::Adoption;
use crate::frame::Rect;
use crate::keymap::{Action, Context};
use crate::preparation::Preparation;
use crate::theme::Theme;
pub(crate) use looks::{Looks, Notices, OwnCommand, StartView};

use crew::{Crew, Need};
use deck::Deck;
use host::HostFacts;
use overlay::Overlay;
use own_keys::OwnKeys;
use pointer::Pointer;
use rail::RailItem;
use splits::PaneId;
use unsent::Unsent;

/// The least size that the deck can be drawn in.
pub(crate) const LEAST: Size = Size { cols: 60, rows: 16 };
/// From so many columns on the rail has words.
const WIDE: u16 = 80;
/// Columns of the rail when it is a strip of glyphs.
const STRIP: u16 = 3;
/// Most notices at once.
const TOASTS_MAX: usize = 5;
/// How long a notice stays, in milliseconds.
const TOAST_MS: u64 = 8_000;
/// How long after the prefix its menu appears, in milliseconds.
pub(crate) const MENU_MS: u64 = 300;
/// How long it counts how the daemon is, in milliseconds.
pub(crate) const STATUS_MS: u64 = 60_000;
/// How long a process is looked at until it counts as seen, in milliseconds.
pub(crate) const SEEN_MS: u64 = 1_000;

/// A notice that goes by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Toast {
    pub(crate) text: String,
    pub(crate) is_alert: bool,
    /// Where a click on it leads.
    pub(crate) process: Option<ProcessId>,
    until: u64,
}

/// What the prefix has begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Prefix {
    #[default]
    None,
    /// The next key acts; since when it is awaited.
    Pressed(u64),
    /// Direction keys move the border until another key comes.
    Resizing,
    /// Direction keys let the pane and its neighbour change places; a number moves it to that tab.
    Moving,
}

/// The rail's own state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RailState {
    pub(crate) is_shown: bool,
    pub(crate) has_keys: bool,
    /// By identity: rows may move, the selection stays with its process.
    pub(crate) selected: Option<RailItem>,
    pub(crate) width: u16,
    /// How many rows the wheel has moved out of sight, while the rail does not have the keys.
    pub(crate) top: usize,
}

/// The surroundings in which `qd` was started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// The directory, which is the project of new processes.
    pub(crate) directory: String,
    /// The project that this directory belongs to.
    pub(crate) project: String,
    /// The process that this deck runs in, if it runs in one.
    pub(crate) own: Option<ProcessId>,
    /// This shell's search path.
    pub(crate) path: Option<String>,
    /// The person's home.
    pub(crate) home: Option<String>,
    /// The person's shell.
    pub(crate) shell: Option<String>,
    /// This program, to start its verbs.
    pub(crate) program: Option<String>,
    /// What the repository does in a new worktree, as it was when a form was opened.
    pub(crate) preparation: Preparation,
    /// Tasks of another program that can be taken over.
    pub(crate) adoption: Option<Adoption>,
}

impl Place {
    /// A path as people write it: below the home with `~`.
    pub(crate) fn short(&self, path: &str) -> String {
        let below = self.home.as_deref().and_then(|home| path.strip_prefix(home));
        match below {
            Some("") => "~".to_owned(),
            Some(rest) if rest.starts_with('/') => format!("~{rest}"),
            _ => path.to_owned(),
        }
    }
}

/// The questions for the ports of commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PortQuestions {
    /// When the ports of a process are asked for, and how often that was done.
    pub(crate) due: BTreeMap<ProcessId, (u64, u8)>,
    /// The process whose ports are asked for now; the others wait for the answer.
    pub(crate) awaited: Option<ProcessId>,
}

/// Why there is no daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Away {
    /// The connection broke, with the reason: the next daemon is on its way.
    Broken(String),
    /// Somebody has shut it down: no other one comes by itself.
    ShutDown,
}

/// The daemon, as this deck has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DaemonState {
    /// Why there is none at the moment.
    pub(crate) away: Option<Away>,
    /// The first list of processes has come.
    pub(crate) is_loaded: bool,
    /// KiB that were typed or pasted and wait for the program to read; 0 when that is little.
    pub(crate) unsent_kib: usize,
    /// Why it cannot save, such as a full disk.
    pub(crate) unsaved: Option<String>,
    /// What the person wrote and it has not taken.
    pub(crate) unsent: Unsent,
    /// When it was asked how it is, on the deck's clock.
    pub(crate) status_asked: u64,
}

impl DaemonState {
    /// When it is asked again how it is although nothing happens; none while it is well.
    fn ask_again_at(&self) -> Option<u64> {
        (self.unsaved.is_some() && self.away.is_none()).then_some(self.status_asked + STATUS_MS)
    }
}

/// The size of a terminal that is another viewer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherSize {
    pub(crate) size: Size,
    /// Whose it is, as far as the daemon has said it.
    pub(crate) owner: Option<String>,
}

/// The time: milliseconds of a clock that never goes back, and since the epoch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Now {
    pub(crate) ms: u64,
    pub(crate) epoch_ms: u64,
}

/// The model.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) size: Size,
    pub(crate) now: Now,
    pub(crate) crew: Crew,
    pub(crate) deck: Deck,
    pub(crate) rail: RailState,
    pub(crate) overlays: Vec<Overlay>,
    pub(crate) toasts: Vec<Toast>,
    pub(crate) prefix: Prefix,
    pub(crate) looks: Looks,
    pub(crate) place: Place,
    pub(crate) host: HostFacts,
    pub(crate) daemon: DaemonState,
    pub(crate) own_keys: OwnKeys,
    /// What was copied here last.
    pub(crate) register: String,
    /// The sizes of the terminals behind the panes, where they are not the panes' own.
    pub(crate) other_sizes: BTreeMap<PaneId, OtherSize>,
    /// The person's terminal has the focus.
    pub(crate) has_focus: bool,
    /// What the person looks at.
    pub(crate) looking: Option<LookedAt>,
    pub(crate) port_questions: PortQuestions,
    pub(crate) pointer: Pointer,
    /// Hints for new situations; none where nobody counts them.
    pub(crate) hints: Option<hints::Hints>,
}

/// Where the parts of the screen are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Areas {
    /// Where dialogs lie: all but the bars.
    pub(crate) body: Rect,
    pub(crate) tabs: Rect,
    pub(crate) rail: Option<Rect>,
    pub(crate) deck: Rect,
    pub(crate) status: Rect,
}

impl Model {
    pub(crate) fn new(size: Size, looks: Looks, place: Place) -> Self {
        Self {
            size,
            now: Now::default(),
            crew: Crew { own: place.own, ..Crew::default() },
            deck: Deck::default(),
            rail: RailState { is_shown: true, has_keys: false, selected: None, width: 25, top: 0 },
            overlays: Vec::new(),
            toasts: Vec::new(),
            prefix: Prefix::None,
            looks,
            place,
            host: HostFacts::default(),
            daemon: DaemonState::default(),
            own_keys: OwnKeys::default(),
            register: String::new(),
            other_sizes: BTreeMap::new(),
            has_focus: true,
            looking: None,
            port_questions: PortQuestions::default(),
            pointer: Pointer::default(),
            hints: None,
        }
    }

    pub(crate) fn is_too_small(&self) -> bool {
        self.size.cols < LEAST.cols || self.size.rows < LEAST.rows
    }

    /// There is room for a strip of glyphs and one pane only.
    pub(crate) fn is_narrow(&self) -> bool {
        self.size.cols < WIDE
    }

    pub(crate) fn areas(&self) -> Areas {
        let whole = Rect::of(self.size);
        let body = whole.rows_from(1, self.size.rows.saturating_sub(2));
        let width = if self.is_narrow() { STRIP } else { self.rail.width };
        let width = if self.rail.is_shown { (width + 1).min(body.cols) } else { 0 };
        let rail = self.rail.is_shown.then_some(Rect { cols: width.saturating_sub(1), ..body });
        let deck = Rect { col: body.col + width, cols: body.cols - width, ..body };
        let status = whole.rows_from(self.size.rows.saturating_sub(1), 1);
        Areas { body, tabs: whole.rows_from(0, 1), rail, deck, status }
    }

    /// What is shown in place of the deck: the topmost of the views that fill it.
    pub(crate) fn base_view(&self) -> Option<&Overlay> {
        let is_view =
            |overlay: &&Overlay| matches!(overlay, Overlay::Wall(_) | Overlay::Tasks(_) | Overlay::Review(_));
        self.overlays.iter().rev().find(is_view)
    }

    /// The panes that are shown, with their places.
    pub(crate) fn places(&self) -> Vec<(PaneId, Rect)> {
        if self.is_too_small() {
            return Vec::new();
        }
        match self.base_view() {
            Some(Overlay::Tasks(view)) => {
                let task = view.task(&self.crew);
                let place = view.peek_place(&self.crew, self.areas().deck);
                let is_shown = task.and_then(tasks::main_process).is_some();
                place.filter(|_| is_shown).map(|place| (tasks::PEEK, place)).into_iter().collect()
            }
            Some(Overlay::Review(_)) => Vec::new(),
            Some(Overlay::Wall(wall)) => wall
                .places(&self.crew, self.areas().deck)
                .into_iter()
                .map(|(pane, _, rect)| (pane, rect))
                .collect(),
            _ if self.is_narrow() => {
                let focused = self.deck.focused().map(|(pane, _)| (pane, self.areas().deck));
                focused.into_iter().collect()
            }
            _ => self.deck.places(self.areas().deck),
        }
    }

    /// Milliseconds between two drawings of a pane that is only looked at; none for one that is typed into.
    pub(crate) fn tile_pace_ms(&self, pane: PaneId) -> Option<u32> {
        let is_typed = match self.base_view() {
            None => true,
            Some(Overlay::Wall(wall)) => wall.typing.is_some() && self.process_of(pane) == wall.typing,
            Some(_) => false,
        };
        (!is_typed).then_some(self.looks.wall_pace_ms)
    }

    /// The process of a pane, also of a tile of the wall.
    pub(crate) fn process_of(&self, pane: PaneId) -> Option<ProcessId> {
        match self.base_view() {
            Some(Overlay::Tasks(view)) if pane == tasks::PEEK => {
                view.task(&self.crew).and_then(tasks::main_process)
            }
            Some(Overlay::Wall(wall)) => {
                let places = wall.places(&self.crew, self.areas().deck);
                places.into_iter().find(|(id, _, _)| *id == pane).map(|(_, process, _)| process)
            }
            _ => self.deck.panes.get(&pane).copied(),
        }
    }

    /// The looks that fit the person's terminal.
    pub(crate) fn theme(&self) -> Theme {
        self.looks.theme.fit(&self.host)
    }

    /// Returns true if a pane of the tab that is shown has this process.
    pub(crate) fn is_in_tab(&self, id: ProcessId) -> bool {
        let panes = self.deck.tab().map(|tab| tab.root.panes()).unwrap_or_default();
        panes.iter().any(|pane| self.deck.panes.get(pane) == Some(&id))
    }

    /// What a process is at, and since when if it waits for the person.
    pub(crate) fn state_words(&self, process: &ProcessView) -> String {
        let mark = self.crew.mark(process);
        let ports = self.crew.ports.get(&process.id).and_then(|ports| ports.first());
        let need = self.crew.need(process).filter(|(need, _)| *need != Need::Suggested);
        let since = need.map(|(_, since)| age(self.now.epoch_ms.saturating_sub(since)));
        match (since, ports) {
            (Some(since), _) => format!("{} {since}", mark.word()),
            (None, Some(port)) => format!(":{port}"),
            (None, None) if process.kind == Kind::Terminal && process.pid.is_some() => "shell".to_owned(),
            (None, None) if process.agent.is_none() && process.pid.is_some() => "runs".to_owned(),
            (None, None) => mark.word().to_owned(),
        }
    }

    /// The name of a process, also of one that is gone; its id where nobody has said the name.
    pub(crate) fn name(&self, id: ProcessId) -> String {
        self.crew.name(id).map_or_else(|| id.to_string(), str::to_owned)
    }

    /// The person does not see this process now: it is not on the screen, or the person looks elsewhere.
    pub(crate) fn is_out_of_sight(&self, id: ProcessId) -> bool {
        !self.has_focus || !self.is_on_screen(id)
    }

    pub(crate) fn is_on_screen(&self, id: ProcessId) -> bool {
        self.popup() == Some(id) || self.places().iter().any(|(pane, _)| self.process_of(*pane) == Some(id))
    }

    /// The process in the window over the deck, if there is one.
    pub(crate) fn popup(&self) -> Option<ProcessId> {
        self.overlays.iter().rev().find_map(|overlay| match overlay {
            Overlay::Popup(process) => Some(*process),
            _ => None,
        })
    }

    /// Shows a notice.
    pub(crate) fn toast(&mut self, text: impl Into<String>) {
        self.push_toast(text.into(), false, None);
    }

    /// Counts the tasks of another program that can still be imported; also returns how.
    pub(crate) fn adoptable(&self) -> Option<(usize, &Adoption)> {
        let is_here = |name: &String| self.crew.tasks.iter().any(|task| task.name == *name);
        let adoption = self.place.adoption.as_ref()?;
        let count = adoption.tasks.iter().filter(|name| !is_here(name)).count();
        (count > 0).then_some((count, adoption))
    }

    /// How another daemon is started after a shutdown.
    pub(crate) fn start_hint(&self) -> String {
        let keymap = &self.looks.keymap;
        match keymap.key_of(Context::Deck, Action::StartDaemon) {
            Some(key) => format!("{} {key} starts one", keymap.prefix_text()),
            None => "any qd starts one".to_owned(),
        }
    }

    /// What goes on without a daemon, as far as this deck has heard.
    pub(crate) fn still_running(&self) -> String {
        let running = self.crew.processes.iter().filter(|view| view.pid.is_some());
        let names: Vec<&str> = running.map(|view| view.name.as_str()).collect();
        match names.as_slice() {
            [] => "nothing runs".to_owned(),
            [one] => format!("{one} goes on"),
            [first, second] => format!("{first} and {second} go on"),
            [first, second, rest @ ..] => format!("{first}, {second} and {} more go on", rest.len()),
        }
    }

    /// Shows a notice about something that went wrong or waits.
    pub(crate) fn alert(&mut self, text: impl Into<String>, process: Option<ProcessId>) {
        self.push_toast(text.into(), true, process);
    }

    /// Shows a notice about a process that does not have to be acted upon.
    pub(crate) fn toast_about(&mut self, text: String, process: ProcessId) {
        self.push_toast(text, false, Some(process));
    }

    fn push_toast(&mut self, text: String, is_alert: bool, process: Option<ProcessId>) {
        let until = self.now.ms + TOAST_MS;
        self.toasts.retain(|toast| toast.text != text);
        self.toasts.insert(0, Toast { text, is_alert, process, until });
        self.toasts.truncate(TOASTS_MAX);
    }

    /// Removes notices whose time is over.
    pub(crate) fn expire_toasts(&mut self) {
        let now = self.now.ms;
        self.toasts.retain(|toast| toast.until > now);
    }

    /// When something happens by itself next, on the clock that never goes back.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        let menu = match self.prefix {
            Prefix::Pressed(since) if since + MENU_MS > self.now.ms => Some(since + MENU_MS),
            _ => None,
        };
        let toast = self.toasts.iter().map(|toast| toast.until).min();
        let seen = self.looking.filter(|looked| !looked.is_marked && self.is_unseen(looked.process));
        let seen = seen.filter(|_| self.has_focus).map(|looked| looked.since + SEEN_MS);
        let ports = self.port_questions.due.values().map(|(due, _)| *due).min();
        let ports = ports.filter(|_| self.port_questions.awaited.is_none());
        let snoozed = self.crew.snoozed.values().copied().min();
        let hint = self.hints.as_ref().and_then(hints::Hints::until);
        let status = self.daemon.ask_again_at();
        [menu, toast, seen, ports, snoozed, hint, status, self.next_minute()].into_iter().flatten().min()
    }

    /// When the next age on the screen changes; none when nothing waits.
    fn next_minute(&self) -> Option<u64> {
        let age = |since: u64| self.now.epoch_ms.saturating_sub(since);
        let left = self.crew.needing().into_iter().map(|(_, _, since)| 60_000 - age(since) % 60_000).min();
        let timers = self.crew.timers.iter().filter(|timer| timer.status == TimerStatus::Armed);
        let timers = timers.map(|timer| self.crew.timer_left(timer, self.now.ms));
        // Below a minute the word stays the same until the timer fires.
        let timers = timers.filter(|left| *left >= 60_000).map(|left| left % 60_000 + 1);
        left.into_iter().chain(timers).min().map(|left| self.now.ms + left)
    }

    pub(crate) fn is_unseen(&self, id: ProcessId) -> bool {
        self.crew.get(id).is_some_and(|process| process.unseen.is_some())
    }
}

/// A process that the person looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LookedAt {
    pub(crate) process: ProcessId,
    /// Since when, on the clock that never goes back.
    pub(crate) since: u64,
    /// What it did was marked as seen.
    pub(crate) is_marked: bool,
}

/// The time until something happens, in one short word.
pub(crate) fn time_left(ms: u64) -> String {
    if ms < 60_000 { "<1m".to_owned() } else { age(ms) }
}

/// A span of time in one short word.
pub(crate) fn age(ms: u64) -> String {
    match ms / 60_000 {
        0 => "now".to_owned(),
        minutes @ 1..60 => format!("{minutes}m"),
        minutes @ 60..1440 => format!("{}h", minutes / 60),
        minutes => format!("{}d", minutes / 1440),
    }
}

//! The loop: keys, daemon, panes, then at most one picture. One thread, one `poll`, no frame clock.
//!
//! The loop has the terminal, the connections and the screens; `update` decides what the deck does.

mod calls;
mod carry_out;
mod compose;
mod daemon_link;
mod draw;
mod programs;
mod ready;
mod stale;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use client::signals::{Again, Signals};
use client::{ClientError, DaemonAddress};
use proto::Size;
use signal_hook::consts::{SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};

use crate::TuiError;
use crate::config::{Config, SettingsWatch};
use crate::frame::{ColorDepth, Grid, Rect};
use crate::host::colors::{self, ColorStep, HostColors};
use crate::host::input::{Answer, REST_OF_ANSWER};
use crate::host::terminal::{Host, is_passing};
use crate::host::{InputParser, What};
use crate::layout::LayoutFile;
use crate::message::Message;
use crate::model::Model;
use crate::model::overlay::{INBOX_PEEK, Overlay, POPUP};
use crate::model::splits::PaneId;
use crate::pane::{Looking, Pane, PaneEvent};
use crate::update::update;
use crate::view;
use crate::wire::Wire;
use daemon_link::DaemonLink;
use draw::Drawing;
use programs::SideProgram;
use stale::Before;

/// Bytes that are read from the terminal at once.
const READ: usize = 64 << 10; // 64 KiB
/// What waits to be sent is shown in steps of so many bytes.
const UNSENT_STEP: usize = 128 << 10; // 128 KiB

/// Why the deck was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftDeck {
    /// The person left.
    Left,
    /// The person's terminal is gone.
    HungUp,
    /// A signal ended the deck.
    Signalled(i32),
}

/// Everything that the loop has.
pub(crate) struct DeckLoop<'a> {
    address: &'a mut DaemonAddress,
    model: Model,
    host: Host,
    signals: Signals,
    parser: InputParser,
    daemon: DaemonLink,
    panes: BTreeMap<PaneId, Pane>,
    grid: Grid,
    drawing: Drawing,
    /// Something has happened that may show other panes, or others of their sizes.
    is_layout_stale: bool,
    began: Instant,
    colors: HostColors,
    /// When the terminal was asked about itself.
    asked_at: Instant,
    /// When the terminal was read last.
    read_at: Instant,
    /// The deadline of the model that is waited for.
    due: Option<u64>,
    layout: LayoutFile,
    watch: Option<SettingsWatch>,
    left: Option<LeftDeck>,
    /// Where typed bytes are read to.
    typed: Vec<u8>,
    /// Programs that were started beside the deck.
    side_programs: Vec<SideProgram>,
}

impl<'a> DeckLoop<'a> {
    /// Takes the terminal over.
    pub(crate) fn enter(
        address: &'a mut DaemonAddress,
        control: Wire,
        mut model: Model,
        layout: LayoutFile,
    ) -> Result<Self, TuiError> {
        let variable = |name: &str| std::env::var(name).ok();
        let signals = [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGWINCH, SIGCONT, SIGTSTP, SIGCHLD];
        let signals = Signals::register(&signals, Again::Waits).map_err(TuiError::Terminal)?;
        let host = Host::enter(variable)?;
        model.host.colors = ColorDepth::of_environment(variable);
        // tmux writes modified keys the way of xterm, without an answer that says so.
        model.host.has_keys = host.is_tmux;
        let mut parser = InputParser::default();
        (parser.is_waiting, parser.is_remote) = (true, variable("SSH_CONNECTION").is_some());
        let grid = Grid::new(model.size);
        let watch = SettingsWatch::of(&address.dirs().config);
        let mut deck = Self {
            address,
            model,
            host,
            signals,
            parser,
            daemon: DaemonLink::new(control),
            panes: BTreeMap::new(),
            grid,
            drawing: Drawing::default(),
            is_layout_stale: true,
            began: Instant::now(),
            colors: HostColors::default(),
            asked_at: Instant::now(),
            read_at: Instant::now(),
            due: None,
            layout,
            watch,
            left: None,
            typed: vec![0; READ],
            side_programs: Vec::new(),
        };
        deck.take_size();
        Ok(deck)
    }

    /// Runs until the person leaves, the terminal is gone or a signal comes.
    pub(crate) fn run(&mut self) -> Result<LeftDeck, TuiError> {
        self.daemon.subscribe();
        loop {
            let now = Instant::now();
            self.set_time(now);
            self.sync_panes(now);
            self.set_host_modes();
            self.draw_when_due(now)?;
            if let Some(left) = self.left {
                return Ok(left);
            }
            let ready = self.wait()?;
            let now = Instant::now();
            self.set_time(now);
            if ready.signals {
                self.heed_signals()?;
            }
            if ready.input {
                self.read_input(now)?;
            }
            if ready.is_late {
                self.release_input(now);
            }
            if ready.settings {
                self.read_settings_again();
            }
            self.serve_daemon(ready.daemon, now);
            self.serve_panes(&ready.panes, now);
            self.note_unsent();
            self.reconnect(now);
            self.tick(now);
        }
    }

    /// The files with texts of the person that were not saved, or not for certain.
    pub(crate) fn drafts(&self) -> Vec<PathBuf> {
        self.model.daemon.unsent.files().cloned().chain(self.daemon.calls.drafts()).collect()
    }

    /// Gives the model a message and does what it wants.
    fn update_model(&mut self, message: Message) {
        let before = Before::of(&self.model, &message);
        let is_event = !matches!(message, Message::Input(_));
        let commands = update(&mut self.model, message);
        let stale = before.stale_after(&self.model, &commands);
        self.is_layout_stale |= is_event || stale.is_any();
        self.drawing.stale.add(stale);
        commands.into_iter().for_each(|command| self.carry_out(command));
    }

    fn set_time(&mut self, now: Instant) {
        self.model.now.ms = u64::try_from(now.duration_since(self.began).as_millis()).unwrap_or(u64::MAX);
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.model.now.epoch_ms = u64::try_from(epoch.as_millis()).unwrap_or(u64::MAX);
    }

    fn tick(&mut self, now: Instant) {
        if self.due.take_if(|due| *due <= self.model.now.ms).is_some() {
            self.update_model(Message::Tick);
        }
        self.panes.values_mut().for_each(|pane| pane.release_sync(now));
    }

    /// Takes the settings over when their file has changed.
    fn read_settings_again(&mut self) {
        let Some(read) = self.watch.as_mut().and_then(SettingsWatch::changed) else { return };
        let (config, fault) = match read {
            Ok(config) => (config, None),
            Err(fault) => (Config::default(), Some(fault)),
        };
        self.update_model(Message::Configured(Box::new(config), fault));
    }

    fn take_size(&mut self) {
        self.host.encoder.forget();
        self.update_model(Message::Resized(self.host.size()));
    }

    fn heed_signals(&mut self) -> Result<(), TuiError> {
        for signal in self.signals.take() {
            match signal {
                SIGWINCH => self.take_size(),
                SIGTSTP => self.host.stop()?,
                SIGCHLD => self.reap_programs(),
                SIGCONT => {
                    self.host.come_back()?;
                    self.take_size();
                }
                ending => self.left = Some(LeftDeck::Signalled(ending)),
            }
        }
        Ok(())
    }

    fn read_input(&mut self, now: Instant) -> Result<(), TuiError> {
        let Some(terminal) = &self.host.terminal else { return Ok(()) };
        let count = match terminal.read(&mut self.typed) {
            Ok(0) => {
                self.left = Some(LeftDeck::HungUp);
                return Ok(());
            }
            Ok(count) => count,
            Err(error) if is_passing(&error) => return Ok(()),
            Err(error) => return Err(TuiError::Terminal(error)),
        };
        // A test shows what becomes of the terminal.
        debug_assert!(std::env::var_os("QD_TEST_DECK_PANICS").is_none(), "a test wanted the deck to fail");
        self.read_at = now;
        self.parser.is_status_awaited = self.host.link.is_asking(now);
        self.parser.is_waiting &= now.duration_since(self.asked_at) < REST_OF_ANSWER;
        let mut events = Vec::new();
        self.parser.feed(&self.typed[..count], &mut events);
        events.into_iter().for_each(|event| self.take_event(event, now));
        Ok(())
    }

    fn release_input(&mut self, now: Instant) {
        let mut events = Vec::new();
        self.parser.release(&mut events);
        events.into_iter().for_each(|event| self.take_event(event, now));
    }

    fn take_event(&mut self, event: crate::host::InputEvent, now: Instant) {
        match event.what {
            What::Answer(Answer::Status) => self.host.link.answered(now),
            // The terminal has the kitty protocol: keys that legacy bytes confuse are told apart from now on.
            What::Answer(answer) => {
                if let Answer::KeyboardFlags(_) = answer {
                    self.host.keyboard.flags = 1;
                }
                self.note_colors(&answer);
                self.update_model(Message::Host(answer));
            }
            _ => {
                self.drawing.pace.typed(now);
                self.update_model(Message::Input(event));
            }
        }
    }

    /// Passes the terminal's colours on to the panes, and asks for them again when it became light or dark.
    fn note_colors(&mut self, answer: &Answer) {
        match self.colors.note(answer) {
            ColorStep::Nothing => {}
            ColorStep::Ask => {
                self.host.output.extend(colors::questions());
                (self.parser.is_waiting, self.asked_at) = (true, Instant::now());
            }
            ColorStep::Report => self.panes.values_mut().for_each(|pane| report_to(&self.colors, pane)),
        }
    }

    /// Takes what the daemon has said and sends what it is asked.
    fn serve_daemon(&mut self, is_ready: bool, now: Instant) {
        let mut messages = Vec::new();
        let served = self.daemon.serve(is_ready, &mut messages);
        messages.into_iter().for_each(|message| self.update_model(message));
        if let Err(error) = served {
            self.lose_daemon(now, &error);
        }
    }

    fn lose_daemon(&mut self, now: Instant, error: &ClientError) {
        let ended = self.daemon.lose(now);
        self.panes.values_mut().filter(|pane| !pane.is_ended() && !pane.is_lost()).for_each(Pane::lose);
        self.update_model(Message::Disconnected(error.to_string()));
        ended.into_iter().for_each(|message| self.update_model(message));
    }

    /// Tries to reach the next daemon. After a while, or when there is none to come, what was typed meanwhile is dropped.
    fn reconnect(&mut self, now: Instant) {
        self.is_layout_stale |= self.daemon.is_away();
        let message = self.daemon.reconnect_when_due(self.address, now);
        message.into_iter().for_each(|message| self.update_model(message));
        if self.daemon.is_given_up(now) {
            let dropped = |(id, pane): (&PaneId, &mut Pane)| pane.forget_typed().then_some(*id);
            let dropped: Vec<PaneId> = self.panes.iter_mut().filter_map(dropped).collect();
            dropped.into_iter().for_each(|id| self.update_model(Message::Untyped(id)));
            self.daemon.give_up_calls().into_iter().for_each(|message| self.update_model(message));
        }
    }

    /// Attaches what is shown, detaches what is not, and gives every pane its size.
    fn sync_panes(&mut self, now: Instant) {
        let is_due = self.is_layout_stale || self.panes.values().any(|pane| pane.is_size_due(now));
        if !is_due || self.daemon.is_away() || self.host.terminal.is_none() {
            return;
        }
        self.is_layout_stale = false;
        let wanted = self.wanted_panes();
        let is_wanted = |pane: &PaneId, open: &Pane| {
            let same = |looking: &Looking| {
                (looking.process, looking.tile_pace_ms) == (open.looking.process, open.looking.tile_pace_ms)
            };
            wanted.get(pane).is_some_and(same)
        };
        let closed = self.panes.iter().filter(|(id, pane)| !is_wanted(id, pane));
        // A few bytes are on their way at any moment; more than that the program has not read.
        let unread = closed.map(|(_, pane)| (pane.looking.process, pane.wire.unsent() >> 10));
        let unread: Vec<_> = unread.filter(|(_, kib)| *kib > 0).collect();
        self.panes.retain(|id, pane| is_wanted(id, pane));
        for (id, looking) in wanted {
            match self.panes.get_mut(&id) {
                Some(pane) if pane.is_lost() => self.attach(id, looking, now),
                Some(pane) if pane.is_ended() => self.attach_again(id, looking, now),
                Some(pane) => pane.resize(looking.size, now),
                None => self.attach(id, looking, now),
            }
        }
        unread.into_iter().for_each(|(process, kib)| self.update_model(Message::Unread(process, kib)));
    }

    fn wanted_panes(&self) -> BTreeMap<PaneId, Looking> {
        let looking = |(pane, place)| {
            let screen = crate::model::deck::Deck::screen_of(place);
            let size = Size { cols: screen.cols, rows: screen.rows }.clamped();
            let process = self.model.process_of(pane)?;
            Some((pane, Looking { process, size, tile_pace_ms: self.model.tile_pace_ms(pane) }))
        };
        let mut wanted: BTreeMap<PaneId, Looking> =
            self.model.places().into_iter().filter_map(looking).collect();
        wanted.extend(self.inbox_peek().map(|(looking, _)| (INBOX_PEEK, looking)));
        wanted.extend(self.popup().map(|(looking, _)| (POPUP, looking)));
        wanted
    }

    /// How the command in the window over the deck is looked at, and where.
    fn popup(&self) -> Option<(Looking, Rect)> {
        let process = self.model.popup().filter(|process| self.model.crew.get(*process).is_some())?;
        let place = view::popup::screen(&self.model);
        let size = Size { cols: place.cols, rows: place.rows }.clamped();
        Some((Looking { process, size, tile_pace_ms: None }, place))
    }

    /// How the process of the inbox's selected item is looked at, and where.
    fn inbox_peek(&self) -> Option<(Looking, Rect)> {
        let Some(Overlay::Inbox(inbox)) = self.model.overlays.last() else { return None };
        let process = inbox.item(&self.model.crew)?.id;
        let place = view::inbox::peek_place(&self.model)?;
        let size = Size { cols: place.cols, rows: place.rows }.clamped();
        let is_known = self.model.crew.get(process).is_some();
        let tile_pace_ms = Some(self.model.looks.wall_pace_ms);
        is_known.then_some((Looking { process, size, tile_pace_ms }, place))
    }

    fn attach(&mut self, id: PaneId, looking: Looking, now: Instant) {
        match Pane::attach(self.address, looking, now) {
            Ok(mut pane) => {
                if let Some(before) = self.panes.remove(&id).filter(Pane::is_lost) {
                    pane.succeed(before);
                }
                self.panes.insert(id, pane);
            }
            Err(error) => self.lose_daemon(now, &error),
        }
    }

    /// A pane whose run is over stays as it was until its process runs again.
    fn attach_again(&mut self, id: PaneId, looking: Looking, now: Instant) {
        let is_running = self.model.crew.get(looking.process).is_some_and(|process| process.pid.is_some());
        let run = self.model.crew.get(looking.process).map(|process| process.run);
        let is_new = self.panes.get(&id).is_some_and(|pane| pane.ended_run != run);
        if is_running && is_new {
            self.attach(id, looking, now);
        }
    }

    fn serve_panes(&mut self, ready: &[PaneId], now: Instant) {
        let mut news = Vec::new();
        let mut lost = None;
        for (id, pane) in self.panes.iter_mut().filter(|(_, pane)| !pane.is_lost()) {
            let mut own = Vec::new();
            let served = pane.receive(ready.contains(id), now, &mut own).and_then(|()| pane.flush());
            if let Err(error) = served {
                lost = lost.or(Some(error).filter(|_| !pane.is_ended()));
            }
            news.extend(own.into_iter().map(|news| (*id, news)));
        }
        for (id, news) in news {
            match news {
                PaneEvent::Attached => {
                    self.panes.get_mut(&id).into_iter().for_each(|pane| report_to(&self.colors, pane));
                }
                PaneEvent::Untyped => self.update_model(Message::Untyped(id)),
                PaneEvent::Copies(text) => self.update_model(Message::ChildCopies(id, text)),
                PaneEvent::Size(size) => self.update_model(Message::OtherSize(id, size)),
                PaneEvent::Ended(reason) => {
                    self.note_ended(id);
                    self.update_model(Message::PaneEnded(id, reason));
                }
            }
        }
        if let Some(error) = lost {
            self.lose_daemon(now, &error);
        }
    }

    /// Shows how much of a long paste still waits, in steps, so that the status line is not drawn for every piece.
    fn note_unsent(&mut self) {
        let focused = self.model.deck.focused().and_then(|(id, _)| self.panes.get(&id));
        let steps = focused.map_or(0, |pane| pane.wire.unsent() / UNSENT_STEP);
        let unsent = steps * (UNSENT_STEP >> 10);
        self.drawing.stale.by_event |= std::mem::replace(&mut self.model.daemon.unsent_kib, unsent) != unsent;
    }

    /// Remembers which run a pane has shown to its end.
    fn note_ended(&mut self, id: PaneId) {
        let run = self.panes.get(&id).and_then(|pane| Some(self.model.crew.get(pane.looking.process)?.run));
        if let Some(pane) = self.panes.get_mut(&id) {
            pane.ended_run = run;
        }
    }
}

/// Reports the terminal's colours to the daemon, if they are known.
fn report_to(colors: &HostColors, pane: &mut Pane) {
    if let Some(report) = colors.report() {
        pane.report_terminal(report);
    }
}

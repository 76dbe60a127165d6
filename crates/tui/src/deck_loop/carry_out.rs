//! Doing what the model wants done.

use client::attach::{AttachOptions, attach_terminal};
use proto::environment::{Variables, is_inheritable};
use proto::request::Target;
use proto::{ProcessId, Request};
use term::{Key, KeyCode, Modifiers, PastePiece};

use super::{DeckLoop, LeftDeck};
use crate::frame::Point;
use crate::host::clipboard::{self, Copied};
use crate::host::{Mouse, MouseAct};
use crate::message::{CallFor, Command, Message};
use crate::model::deck::Deck;
use crate::model::splits::PaneId;

/// Arrows per notch of the wheel for programs on the alternate screen.
const WHEEL_ARROWS: usize = 3;

impl DeckLoop<'_> {
    pub(super) fn carry_out(&mut self, command: Command) {
        match command {
            Command::Type(id, event) => {
                if let Some(pane) = self.panes.get_mut(&id) {
                    pane.type_event(&event, self.host.keyboard);
                }
                self.flush(id);
            }
            Command::Paste(id, text) => {
                if let Some(pane) = self.panes.get_mut(&id) {
                    let bracketed = pane.screen.modes().bracketed_paste;
                    pane.type_bytes(&PastePiece::whole(&text).encode(bracketed));
                }
                self.flush(id);
            }
            Command::Mouse(id, mouse) => self.mouse(id, mouse),
            Command::Focus(id, has_focus) => {
                if let Some(pane) = self.panes.get_mut(&id) {
                    pane.focus(has_focus);
                }
            }
            Command::Call(what, request) => self.call(what, *request),
            Command::Lines { pane, search } => {
                if let Some(open) = self.panes.get(&pane) {
                    let (lines, is_alternate) = (open.lines(), open.screen.is_alternate());
                    self.tell(Message::Lines { pane, lines, is_alternate, search });
                }
            }
            Command::Copy(text) => self.copy(&text),
            Command::Direct(process) => self.lend_terminal(process),
            Command::KeepLayout => self.layout.keep(&self.model.deck),
            Command::Leave => self.left = Some(LeftDeck::Left),
        }
    }

    /// Sends keys without waiting for the next turn.
    fn flush(&mut self, id: PaneId) {
        // A socket that is broken is noticed where it is read.
        let flushed = self.panes.get_mut(&id).map(|pane| pane.wire.flush());
        drop(flushed);
    }

    fn call(&mut self, what: CallFor, request: Request) {
        let request = match request {
            Request::Spawn(mut spawn) => {
                let taken = Variables::of(std::env::vars_os(), is_inheritable);
                (spawn.base_env, spawn.base_env_hex) = (Some(taken.text), taken.hex);
                Request::Spawn(spawn)
            }
            other => other,
        };
        self.daemon.call(what, request);
    }

    /// The mouse goes to a program that asked for it. On the alternate screen the wheel is arrows; else it scrolls.
    fn mouse(&mut self, id: PaneId, mouse: Mouse) {
        let place = self.model.places().into_iter().find(|(pane, _)| *pane == id).map(|(_, place)| place);
        let (Some(place), Some(pane)) = (place, self.panes.get_mut(&id)) else { return };
        let screen = Deck::screen_of(place);
        let modes = pane.screen.modes();
        let is_wheel = matches!(mouse.act, MouseAct::WheelUp | MouseAct::WheelDown);
        // Alt is the person's way to select although the program asked for the mouse.
        if mouse.is_wanted(modes.mouse) && !mouse.alt {
            let at = Point { col: mouse.at.col - screen.col, row: mouse.at.row - screen.row };
            pane.type_bytes(&Mouse { at, ..mouse }.encode(modes.mouse_encoding));
            return self.flush(id);
        }
        if is_wheel && pane.screen.is_alternate() && modes.alternate_scroll {
            let code = if mouse.act == MouseAct::WheelUp { KeyCode::Up } else { KeyCode::Down };
            let arrow = Key::press(code, Modifiers::default()).encode(&modes);
            pane.type_bytes(&arrow.repeat(WHEEL_ARROWS));
            return self.flush(id);
        }
        let (lines, is_alternate) = (pane.lines(), pane.screen.is_alternate());
        self.tell(Message::UnwantedMouse { pane: id, mouse, lines, is_alternate });
    }

    fn copy(&mut self, text: &str) {
        let words = match clipboard::copy(text, self.host.is_tmux, &mut self.host.output) {
            Copied::Sent(bytes) => format!("{bytes} bytes sent to your terminal's clipboard, and kept here"),
            Copied::OwnOnly(bytes) => {
                format!("{bytes} bytes kept here only: too long for a terminal's clipboard")
            }
        };
        self.tell(Message::Copied(words));
    }

    /// Lends the whole terminal to the daemon; the prefix alone comes back.
    fn lend_terminal(&mut self, process: ProcessId) {
        self.panes.clear();
        self.host.lend();
        let mut options = AttachOptions::new(Target(process.to_string()));
        let prefix = self.model.looks.keymap.prefix_text();
        options.keys = prefix.parse().unwrap_or(options.keys);
        let attached =
            attach_terminal(self.address, &options, rustix::stdio::stdin(), rustix::stdio::stdout());
        if let Err(error) = attached {
            self.model.alert(format!("direct view: {error}"), Some(process));
        }
        if self.host.take_back().is_err() {
            self.left = Some(LeftDeck::HungUp);
        }
        self.take_size();
    }
}

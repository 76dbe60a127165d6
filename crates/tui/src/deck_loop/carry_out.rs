//! Doing what the model wants done.

use std::path::Path;
use std::time::Instant;

use client::attach::{AttachOptions, Clipboard, attach_terminal};
use proto::inherited_variables::{Variables, is_inheritable};
use proto::request::Target;
use proto::{ProcessId, Request};
use term::{Key, KeyCode, Modifiers};

use super::programs::{self, SideProgram};
use super::{DeckLoop, LeftDeck};
use crate::config::{self, Config, SettingsWatch};
use crate::frame::Point;
use crate::host::clipboard;
use crate::host::{Mouse, MouseAct, MouseButton};
use crate::message::{CallFor, Command, Message};
use crate::model::Notices;
use crate::model::deck::Deck;
use crate::model::history::{History, HistoryPosition};
use crate::model::overlay::POPUP;
use crate::model::splits::PaneId;
use crate::pane::{Pane, typing};
use crate::preparation::Preparation;
use crate::view;

/// Arrows per notch of the wheel for programs on the alternate screen.
const WHEEL_ARROWS: usize = 3;

impl DeckLoop<'_> {
    pub(super) fn carry_out(&mut self, command: Command) {
        match command {
            Command::Type(id, event) => {
                // A tile that was chosen by the key before is attached for typing first.
                if self.panes.get(&id).is_some_and(|pane| pane.looking.tile_pace_ms.is_some()) {
                    self.sync_panes(Instant::now());
                }
                if let Some(pane) = self.panes.get_mut(&id) {
                    let view = self.model.crew.get(pane.looking.process);
                    pane.type_event(&event, self.host.keyboard, view.and_then(typing::new_line_key));
                }
                self.flush(id);
            }
            Command::Paste(id, text) => {
                if let Some(pane) = self.panes.get_mut(&id) {
                    let view = self.model.crew.get(pane.looking.process);
                    pane.paste_text(&text, view.and_then(typing::new_line_key));
                }
                self.flush(id);
            }
            Command::Mouse(id, mouse) => self.mouse(id, mouse),
            Command::Select(id, mouse) => self.unwanted_mouse(id, mouse),
            Command::Focus(id, has_focus) => {
                if let Some(pane) = self.panes.get_mut(&id) {
                    pane.focus(has_focus);
                }
            }
            Command::Call(what, request) => self.call(what, *request),
            Command::Lines { pane, search } => {
                if let Some(open) = self.panes.get(&pane) {
                    let (lines, is_alternate) = (open.lines(), open.screen.is_alternate());
                    self.update_model(Message::Lines { pane, lines, is_alternate, search });
                }
            }
            Command::Copy(text) => self.copy(&text),
            Command::CopyFor(name, text) => self.copy_for(&name, &text),
            Command::OpenLink(link) => self.open_link(&link),
            Command::Edit(what, text) => self.edit(what, &text),
            Command::RemoveDraft(file) => programs::remove_draft(&file),
            Command::EditFile { what, path, line } => self.edit_file(what, &path, line),
            Command::Notify(text) => self.notify(&text),
            Command::Direct(process) => self.lend_terminal(process),
            Command::KeepSetting(name, value) => self.keep_setting(name, &value),
            Command::KeepLayout => self.layout.keep(&self.model.deck),
            Command::KeepHints => self.layout.keep_hints(self.model.hints.as_ref()),
            Command::Preparation => {
                let preparation = Preparation::read(Path::new(&self.model.place.project));
                self.update_model(Message::Prepares(preparation));
            }
            Command::StartDaemon => self.daemon.start_again(Instant::now()),
            Command::Leave => self.left = Some(LeftDeck::Left),
        }
    }

    /// Writes a setting and takes the file over as it is now.
    fn keep_setting(&mut self, name: &str, value: &str) {
        let directory = self.address.dirs().config.clone();
        let (config, fault) = match config::edit::keep(&directory, name, value) {
            Ok(config) => (config, None),
            Err(fault) => (Config::default(), Some(fault)),
        };
        if self.watch.is_none() {
            self.watch = SettingsWatch::of(&directory);
        }
        self.update_model(Message::Configured(Box::new(config), fault));
    }

    /// Sends keys without waiting for the next turn.
    fn flush(&mut self, id: PaneId) {
        // A socket that is broken is noticed where it is read.
        let flushed = self.panes.get_mut(&id).filter(|pane| !pane.is_lost()).map(Pane::flush);
        drop(flushed);
    }

    fn call(&mut self, what: CallFor, mut request: Request) {
        request.offer(&Variables::of(std::env::vars_os(), is_inheritable));
        let refused = self.daemon.call(what, request, Instant::now());
        refused.into_iter().for_each(|message| self.update_model(message));
    }

    /// The mouse goes to a program that asked for it. On the alternate screen the wheel is arrows; else it scrolls.
    fn mouse(&mut self, id: PaneId, mouse: Mouse) {
        let places = self.model.places().into_iter();
        let shown = places.map(|(pane, place)| (pane, Deck::screen_of(place)));
        let popup = self.model.popup().map(|_| (POPUP, view::popup::screen(&self.model)));
        let screen = shown.chain(popup).find(|(pane, _)| *pane == id).map(|(_, screen)| screen);
        let (Some(screen), Some(pane)) = (screen, self.panes.get_mut(&id)) else { return };
        let modes = pane.screen.modes();
        let is_wheel = matches!(mouse.act, MouseAct::WheelUp | MouseAct::WheelDown);
        if mouse.ctrl && mouse.act == MouseAct::Press(MouseButton::Left) {
            let position = HistoryPosition {
                line: usize::from(mouse.at.row - screen.row),
                col: usize::from(mouse.at.col - screen.col),
            };
            let shown = History::new(id, pane.looking.process, pane.lines());
            if let Some(link) = shown.link_at(position) {
                return self.update_model(Message::Link(link));
            }
        }
        // Alt is the person's way to select although the program asked for the mouse; later it changes nothing for a program that got the press.
        let is_held = matches!(mouse.act, MouseAct::Drag(_) | MouseAct::Release(_));
        if mouse.is_wanted(modes.mouse) && (is_held || !mouse.alt) {
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
        // The window over the deck has no history to scroll: what ran in it is gone with it.
        if id == POPUP {
            return;
        }
        self.unwanted_mouse(id, mouse);
    }

    fn unwanted_mouse(&mut self, pane: PaneId, mouse: Mouse) {
        let Some(open) = self.panes.get(&pane) else { return };
        let (lines, is_alternate) = (open.lines(), open.screen.is_alternate());
        self.update_model(Message::UnwantedMouse { pane, mouse, lines, is_alternate });
    }

    /// Asks the terminal for a notice; a program's name in it cannot end the sequence.
    fn notify(&mut self, text: &str) {
        match self.model.looks.notices {
            Notices::Off => {}
            Notices::Bell => self.host.output.push(0x07),
            Notices::Terminal => {
                clipboard::wrapped(&notice_sequence(text), self.host.is_tmux, &mut self.host.output);
            }
        }
    }

    pub(super) fn copy(&mut self, text: &str) {
        let (sent, command) = self.send_copy(text, "the clipboard command has failed; the text is kept here");
        self.update_model(Message::Copied(clipboard::words(sent, command.as_deref(), text.len())));
    }

    /// Hands on what a program copies. The deck's own register stays the person's.
    fn copy_for(&mut self, name: &str, text: &str) {
        let (sent, command) = self.send_copy(text, "the clipboard command has failed");
        let words = clipboard::words_of_child(name, sent, command.as_deref(), text.len());
        self.update_model(Message::Copied(words));
    }

    /// Sends a text where copies go; returns the outcome at the terminal, and the command that has it.
    fn send_copy(
        &mut self,
        text: &str,
        failure: &'static str,
    ) -> (Option<clipboard::Copied>, Option<String>) {
        let looks = self.model.looks.clipboard.clone();
        let (is_tmux, out) = (self.host.is_tmux, &mut self.host.output);
        let sent = looks.terminal.then(|| clipboard::copy(text, is_tmux, out));
        let Some(program) = looks.command.first().cloned() else { return (sent, None) };
        match clipboard::start(&looks.command, text) {
            Ok(child) => {
                self.side_programs.push(SideProgram { child, what: failure });
                (sent, Some(program))
            }
            Err(error) => {
                self.model.alert(format!("{program}: {error}"), None);
                (sent, None)
            }
        }
    }

    /// Lends the whole terminal to the daemon; the prefix alone comes back.
    fn lend_terminal(&mut self, process: ProcessId) {
        // The daemon may miss the pane only after the attachment: then that one is not the only viewer, whose size it is.
        let size = self.host.size();
        self.panes_of(process).for_each(|pane| pane.claim_size(Some(size)));
        self.panes.clear();
        self.host.lend();
        let mut options = AttachOptions::new(Target(process.to_string()));
        let prefix = self.model.looks.keymap.prefix_text();
        options.keys = prefix.parse().unwrap_or(options.keys);
        if self.model.looks.clipboard.has_children {
            options.clipboard = Clipboard::Writable;
        }
        let attached =
            attach_terminal(self.address, &options, rustix::stdio::stdin(), rustix::stdio::stdout());
        if let Err(error) = attached {
            self.model.alert(format!("direct view: {error}"), Some(process));
        }
        if self.host.take_back().is_err() {
            self.left = Some(LeftDeck::HungUp);
        }
        self.take_size();
        self.sync_panes(Instant::now());
        self.panes_of(process).for_each(|pane| pane.claim_size(None));
    }

    fn panes_of(&mut self, process: ProcessId) -> impl Iterator<Item = &mut Pane> {
        self.panes.values_mut().filter(move |pane| pane.looking.process == process && !pane.looking.is_tile())
    }
}

/// Asks a terminal for a notice (OSC 9). No character of the text ends the sequence or begins another one.
fn notice_sequence(text: &str) -> String {
    format!("\x1b]9;qd: {}\x1b\\", proto::Printable(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u21_no_text_of_a_notice_ends_its_sequence_or_begins_another() {
        let hostile = ["\x1b\\\x1b]0;owned\x07", "\x07", "\u{9c}\u{9b}2J", "a\nb\r\0c", "\u{202e}x\u{200b}"];
        for text in hostile.into_iter().chain([hostile.concat().as_str()]) {
            let sequence = notice_sequence(text);
            let inside =
                sequence.strip_prefix("\x1b]9;").and_then(|rest| rest.strip_suffix("\x1b\\")).unwrap();
            assert!(!inside.chars().any(char::is_control), "{inside:?}");
            assert!(!inside.contains(['\u{202e}', '\u{200b}']), "{inside:?}");
        }
    }
}

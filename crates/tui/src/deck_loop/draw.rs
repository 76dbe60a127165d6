//! Drawing: what changed, when it is due, and the bytes on their way to the terminal.

use std::time::Instant;

use term::{Damage, MouseTracking};

use super::DeckLoop;
use super::compose::{Composition, is_popup_topmost};
use super::stale::Stale;
use crate::TuiError;
use crate::host::modes::HostModes;
use crate::model::overlay::POPUP;
use crate::pace::{Change, Pace};

/// What is to be drawn around the panes, and when.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    pub(super) stale: Stale,
    pub(super) pace: Pace,
    /// When the next picture is due; none when nothing has changed.
    pub(super) due: Option<Instant>,
}

impl DeckLoop<'_> {
    /// Draws if something changed and its time has come; then writes what the terminal takes.
    pub(super) fn draw_when_due(&mut self, now: Instant) -> Result<(), TuiError> {
        // What waits goes first: behind it the terminal takes a picture, or is busy and wakes the loop.
        self.host.write(now)?;
        let change = self.change();
        self.drawing.due = self.due(change, now);
        if self.drawing.due.take_if(|due| *due <= now).is_some() {
            self.draw(now);
            self.drawing.pace.drawn(change, now);
        }
        self.host.write(now)
    }

    /// When a change is drawn; none when there is none or the terminal is busy.
    fn due(&self, change: Change, now: Instant) -> Option<Instant> {
        // A terminal that takes nothing gets no second picture behind the first.
        let is_first = self.host.encoder.shown_size().is_none();
        if !change.is_any() || (!self.host.output.is_empty() && !is_first) {
            return None;
        }
        let due = self.drawing.pace.due(change, now);
        match self.host.link.admits(change.is_row(), now) {
            true => Some(due),
            // Its answer wakes the loop.
            false => self.host.link.overdue_at().map(|overdue| overdue.max(due)),
        }
    }

    fn change(&self) -> Change {
        let popup = self.model.popup().map(|_| POPUP);
        let focused = popup.or(self.model.deck.focused().map(|(pane, _)| pane));
        let (chrome, elsewhere) = (self.drawing.stale.by_person, self.drawing.stale.by_event);
        let mut change = Change { chrome, elsewhere, ..Change::default() };
        let is_covered = popup.is_some() && !is_popup_topmost(&self.model);
        // What lies below another window is not drawn, so it would be due for ever.
        for (id, pane) in self.panes.iter().filter(|(id, _)| **id != POPUP || !is_covered) {
            let rows = match pane.damage() {
                Damage::Nothing => 0,
                Damage::Rows(rows) => rows.len().max(1),
                Damage::Everything => usize::from(pane.looking.size.rows),
            };
            match Some(*id) == focused {
                true => change.focused_rows = rows,
                false => change.elsewhere |= rows > 0,
            }
        }
        change
    }

    fn draw(&mut self, now: Instant) {
        let peek = self.inbox_peek().map(|(_, place)| place);
        let popup = self.popup().map(|(_, place)| place);
        let (model, grid) = (&self.model, &mut self.grid);
        let picture = Composition { model, panes: &mut self.panes, peek, popup };
        let rows = picture.draw(grid, std::mem::take(&mut self.drawing.stale));
        self.model.pointer.cursor_row = self.grid.cursor.map(|cursor| cursor.at.row);
        let host = &mut self.host;
        let start = host.output.len();
        host.encoder.encode(&self.grid, &rows, &mut host.output);
        host.link.ask_behind(start, &mut host.output, now);
    }

    /// The terminal reports what the focused program asked for, and nothing more.
    pub(super) fn set_host_modes(&mut self) {
        let is_popup = is_popup_topmost(&self.model);
        let focused = self.model.deck.focused().map(|(id, _)| id);
        let focused = if is_popup { Some(POPUP) } else { focused };
        let focused = focused.and_then(|id| self.panes.get(&id));
        let modes = focused.map(|pane| pane.screen.modes()).unwrap_or_default();
        let has_deck = self.model.overlays.is_empty() || is_popup;
        // Releases and "all keys" only while the program that has the keyboard wants them.
        let keyboard = match self.host.keyboard.flags {
            0 => 0,
            _ if has_deck && modes.keyboard_flags != 0 => modes.keyboard_flags | 1,
            _ => 1,
        };
        self.host.keyboard.flags = keyboard;
        let wanted = HostModes {
            mouse: self.model.looks.has_mouse,
            motion: has_deck && modes.mouse == MouseTracking::Motion,
            keyboard,
        };
        self.host.modes.change(wanted, &mut self.host.output);
    }
}

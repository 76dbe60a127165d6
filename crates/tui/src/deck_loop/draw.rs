//! Drawing: what changed, when it is due, and the bytes on their way to the terminal.

use std::time::Instant;

use proto::Size;
use term::{Damage, MouseTracking};

use super::DeckLoop;
use super::stale::Stale;
use crate::TuiError;
use crate::frame::encode::ChangedRows;
use crate::frame::{Grid, Point, Rect, ShownCursor};
use crate::host::modes::HostModes;
use crate::model::deck::Deck;
use crate::model::overlay::{INBOX_PEEK, Overlay, POPUP};
use crate::model::splits::PaneId;
use crate::pace::{Change, Pace};
use crate::pane::Pane;
use crate::view;

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
        let is_covered = popup.is_some() && !self.is_popup_topmost();
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
        let is_whole =
            self.drawing.stale.is_any() || !self.model.overlays.is_empty() || !self.model.toasts.is_empty();
        let size = self.model.size;
        let rows =
            if is_whole || self.grid.size() != size { self.compose(size) } else { self.compose_panes() };
        let host = &mut self.host;
        let start = host.output.len();
        host.encoder.encode(&self.grid, &rows, &mut host.output);
        host.link.ask_behind(start, &mut host.output, now);
    }

    /// The whole picture.
    fn compose(&mut self, size: Size) -> ChangedRows {
        if self.grid.size() != size {
            self.grid = Grid::new(size);
        }
        view::chrome(&self.model, &mut self.grid);
        for (id, place) in self.model.places() {
            if let Some(pane) = self.panes.get_mut(&id) {
                copy(&mut self.grid, pane, Deck::screen_of(place), &Damage::Everything);
            }
        }
        self.place_cursor();
        view::overlays(&self.model, &mut self.grid);
        if let Some((_, place)) = self.inbox_peek()
            && let Some(pane) = self.panes.get_mut(&INBOX_PEEK)
        {
            copy(&mut self.grid, pane, place, &Damage::Everything);
        }
        self.compose_popup();
        self.model.pointer.cursor_row = self.grid.cursor.map(|cursor| cursor.at.row);
        (0..size.rows).for_each(|row| self.grid.mend_row(row));
        self.drawing.stale = Stale::default();
        ChangedRows::All
    }

    /// The screen of the window over the deck, where nothing lies over that one.
    fn compose_popup(&mut self) {
        let Some((_, place)) = self.popup().filter(|_| self.is_popup_topmost()) else { return };
        let Some(pane) = self.panes.get_mut(&POPUP) else { return };
        copy(&mut self.grid, pane, place, &Damage::Everything);
        let cursor = pane.screen.cursor();
        let at = Point { col: place.col + cursor.col, row: place.row + cursor.row };
        let form = cursor.is_chosen.then_some((cursor.shape, cursor.blinking));
        let is_shown = cursor.visible && place.contains(at);
        self.grid.cursor = is_shown.then_some(ShownCursor { at, form });
        view::notices(&self.model, &mut self.grid);
    }

    fn is_popup_topmost(&self) -> bool {
        matches!(self.model.overlays.last(), Some(Overlay::Popup(_)))
    }

    /// Only what the programs have drawn.
    fn compose_panes(&mut self) -> ChangedRows {
        let mut rows = Vec::new();
        for (id, place) in self.model.places() {
            if let Some(pane) = self.panes.get_mut(&id) {
                let damage = pane.damage();
                rows.extend(copy(&mut self.grid, pane, Deck::screen_of(place), &damage));
            }
        }
        rows.sort_unstable();
        rows.dedup();
        rows.iter().for_each(|row| self.grid.mend_row(*row));
        self.place_cursor();
        ChangedRows::Only(rows)
    }

    /// The cursor of the program that has the keyboard.
    fn place_cursor(&mut self) {
        if self.model.rail.has_keys || self.model.base_view().is_some() {
            return;
        }
        self.grid.cursor = self.model.deck.focused().and_then(|(id, _)| self.cursor_of(id));
    }

    fn cursor_of(&self, id: PaneId) -> Option<ShownCursor> {
        let (_, place) = self.model.places().into_iter().find(|(pane, _)| *pane == id)?;
        let screen = Deck::screen_of(place);
        let cursor = self.panes.get(&id)?.screen.cursor();
        let at = Point { col: screen.col + cursor.col, row: screen.row + cursor.row };
        let form = cursor.is_chosen.then_some((cursor.shape, cursor.blinking));
        (cursor.visible && screen.contains(at)).then_some(ShownCursor { at, form })
    }

    /// The terminal reports what the focused program asked for, and nothing more.
    pub(super) fn set_host_modes(&mut self) {
        let is_popup = self.is_popup_topmost();
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

/// Copies the changed rows of a screen into its place; returns which rows of the picture these are.
fn copy(grid: &mut Grid, pane: &mut Pane, place: Rect, damage: &Damage) -> Vec<u16> {
    let rows: Vec<u16> = match damage {
        Damage::Nothing => return Vec::new(),
        Damage::Rows(rows) => rows.clone(),
        Damage::Everything => (0..pane.looking.size.rows).collect(),
    };
    for row in rows.iter().copied() {
        grid.copy_row(place, row, &pane.screen.row_cells(row));
    }
    pane.drawn = pane.screen.version();
    rows.into_iter().filter(|row| *row < place.rows).map(|row| place.row + row).collect()
}

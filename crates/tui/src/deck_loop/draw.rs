//! Drawing: what changed, when it is due, and the bytes on their way to the terminal.

use std::time::Instant;

use proto::Size;
use term::{Damage, MouseTracking};

use super::{DeckLoop, is_passing};
use crate::TuiError;
use crate::frame::encode::ChangedRows;
use crate::frame::{Grid, Point, Rect, ShownCursor};
use crate::host::modes::HostModes;
use crate::model::deck::Deck;
use crate::model::overlay::{INBOX_PEEK, Overlay, POPUP};
use crate::model::splits::PaneId;
use crate::pace::Change;
use crate::pane::Pane;
use crate::view;

impl DeckLoop<'_> {
    /// Draws if something changed and its time has come; then writes what the terminal takes.
    pub(super) fn draw_when_due(&mut self, now: Instant) -> Result<(), TuiError> {
        // A terminal that takes nothing gets no second picture behind the first.
        if self.drawing_due(now).is_some_and(|due| due <= now) {
            self.draw();
            self.pace.drawn(now);
        }
        self.write()
    }

    /// When the next picture is due; none when nothing changed or the terminal is busy.
    pub(super) fn drawing_due(&self, now: Instant) -> Option<Instant> {
        let is_first = self.host.encoder.shown_size().is_none();
        if !self.host.output.is_empty() && !is_first {
            return None;
        }
        let change = self.change();
        let is_changed = change.chrome || change.elsewhere || change.focused_rows > 0;
        is_changed.then(|| self.pace.due(change, now))
    }

    fn change(&self) -> Change {
        let popup = self.model.popup().map(|_| POPUP);
        let focused = popup.or(self.model.deck.focused().map(|(pane, _)| pane));
        let mut change = Change { chrome: self.is_stale, ..Change::default() };
        for (id, pane) in &self.panes {
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

    fn draw(&mut self) {
        let is_whole = self.is_stale || !self.model.overlays.is_empty() || !self.model.toasts.is_empty();
        let size = self.model.size;
        let rows =
            if is_whole || self.grid.size() != size { self.compose(size) } else { self.compose_panes() };
        self.host.encoder.encode(&self.grid, &rows, &mut self.host.output);
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
        (0..size.rows).for_each(|row| self.grid.mend_row(row));
        self.is_stale = false;
        ChangedRows::All
    }

    /// The screen of the window over the deck, where nothing lies over that one.
    fn compose_popup(&mut self) {
        let is_topmost = matches!(self.model.overlays.last(), Some(Overlay::Popup(_)));
        let Some((_, place)) = self.popup().filter(|_| is_topmost) else { return };
        let Some(pane) = self.panes.get_mut(&POPUP) else { return };
        copy(&mut self.grid, pane, place, &Damage::Everything);
        let cursor = pane.screen.cursor();
        let at = Point { col: place.col + cursor.col, row: place.row + cursor.row };
        let form = cursor.is_chosen.then_some((cursor.shape, cursor.blinking));
        let is_shown = cursor.visible && place.contains(at);
        self.grid.cursor = is_shown.then_some(ShownCursor { at, form });
        view::notices(&self.model, &mut self.grid);
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
        let is_popup = matches!(self.model.overlays.last(), Some(Overlay::Popup(_)));
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

    /// Writes what the terminal takes now.
    fn write(&mut self) -> Result<(), TuiError> {
        let Some(terminal) = &mut self.host.terminal else { return Ok(()) };
        let mut written = 0;
        while written < self.host.output.len() {
            match terminal.write(&self.host.output[written..]) {
                Ok(count) => written += count,
                Err(error) if is_passing(&error) => break,
                Err(error) => return Err(TuiError::Terminal(error)),
            }
        }
        self.host.output.drain(..written);
        Ok(())
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

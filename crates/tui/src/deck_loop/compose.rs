//! The picture from the model and the screens: the whole of it, or only what the programs have drawn.
//!
//! What is drawn piece by piece is the same picture as one that is drawn anew; the tests compare the two.

use std::collections::BTreeMap;

use term::{Damage, Screen};

use super::stale::Stale;
use crate::frame::encode::ChangedRows;
use crate::frame::{Grid, Point, Rect, ShownCursor};
use crate::model::deck::Deck;
use crate::model::overlay::{INBOX_PEEK, Overlay, POPUP};
use crate::model::splits::PaneId;
use crate::model::{Model, Prefix};
use crate::pane::{DrawnScreen, Pane};
use crate::view;

/// A screen that has a place in the picture.
pub(super) trait PlacedScreen {
    fn screen(&self) -> &Screen;

    fn drawn(&self) -> &DrawnScreen;

    fn drawn_mut(&mut self) -> (&Screen, &mut DrawnScreen);

    /// What has changed since it was drawn.
    fn damage(&self) -> Damage {
        self.drawn().damage(self.screen())
    }
}

impl PlacedScreen for Pane {
    fn screen(&self) -> &Screen {
        &self.screen
    }

    fn drawn(&self) -> &DrawnScreen {
        &self.drawn
    }

    fn drawn_mut(&mut self) -> (&Screen, &mut DrawnScreen) {
        (&self.screen, &mut self.drawn)
    }
}

/// What a picture is made of.
pub(super) struct Composition<'a, P> {
    pub(super) model: &'a Model,
    pub(super) panes: &'a mut BTreeMap<PaneId, P>,
    /// Where the screen of the inbox's selected item is.
    pub(super) peek: Option<Rect>,
    /// Where the screen of the window over the deck is.
    pub(super) popup: Option<Rect>,
}

impl<P: PlacedScreen> Composition<'_, P> {
    /// Draws what has changed into the picture before; returns which rows may differ from it.
    pub(super) fn draw(mut self, grid: &mut Grid, stale: Stale) -> ChangedRows {
        let is_covered = !self.model.overlays.is_empty()
            || !self.model.toasts.is_empty()
            || self.model.prefix != Prefix::None;
        let is_whole = stale.is_any() || is_covered;
        if is_whole || grid.size() != self.model.size { self.whole(grid) } else { self.screens(grid) }
    }

    /// The whole picture.
    fn whole(&mut self, grid: &mut Grid) -> ChangedRows {
        let size = self.model.size;
        if grid.size() != size {
            *grid = Grid::new(size);
        }
        view::chrome(self.model, grid);
        for (id, place) in self.model.places() {
            if let Some(pane) = self.panes.get_mut(&id) {
                copy(grid, pane, Deck::screen_of(place), &Damage::Everything);
            }
        }
        self.place_cursor(grid);
        view::overlays(self.model, grid);
        if let Some(place) = self.peek
            && let Some(pane) = self.panes.get_mut(&INBOX_PEEK)
        {
            copy(grid, pane, place, &Damage::Everything);
        }
        self.popup_screen(grid);
        (0..size.rows).for_each(|row| grid.mend_row(row));
        ChangedRows::All
    }

    /// The screen of the window over the deck, where nothing lies over that one.
    fn popup_screen(&mut self, grid: &mut Grid) {
        let Some(place) = self.popup.filter(|_| is_popup_topmost(self.model)) else { return };
        let Some(pane) = self.panes.get_mut(&POPUP) else { return };
        copy(grid, pane, place, &Damage::Everything);
        grid.cursor = cursor_in(pane, place);
        view::notices(self.model, grid);
    }

    /// Only what the programs have drawn.
    fn screens(&mut self, grid: &mut Grid) -> ChangedRows {
        let mut rows = Vec::new();
        for (id, place) in self.model.places() {
            if let Some(pane) = self.panes.get_mut(&id) {
                let damage = pane.damage();
                rows.extend(copy(grid, pane, Deck::screen_of(place), &damage));
            }
        }
        rows.sort_unstable();
        rows.dedup();
        rows.iter().for_each(|row| grid.mend_row(*row));
        self.place_cursor(grid);
        ChangedRows::Only(rows)
    }

    /// The cursor of the program that has the keyboard.
    fn place_cursor(&self, grid: &mut Grid) {
        if self.model.rail.has_keys || self.model.base_view().is_some() {
            return;
        }
        grid.cursor = self.model.deck.focused().and_then(|(id, _)| {
            let (_, place) = self.model.places().into_iter().find(|(pane, _)| *pane == id)?;
            cursor_in(self.panes.get(&id)?, Deck::screen_of(place))
        });
    }
}

/// Returns true if the window over the deck has nothing over it.
pub(super) fn is_popup_topmost(model: &Model) -> bool {
    matches!(model.overlays.last(), Some(Overlay::Popup(_)))
}

/// The cursor of a screen at its place in the picture.
fn cursor_in(pane: &impl PlacedScreen, place: Rect) -> Option<ShownCursor> {
    let cursor = pane.drawn().cursor(pane.screen())?;
    let at = Point { col: place.col + cursor.col, row: place.row + cursor.row };
    let form = cursor.is_chosen.then_some((cursor.shape, cursor.blinking));
    (cursor.visible && place.contains(at)).then_some(ShownCursor { at, form })
}

/// Copies the changed rows of a screen into its place; returns which rows of the picture these are.
fn copy(grid: &mut Grid, pane: &mut impl PlacedScreen, place: Rect, damage: &Damage) -> Vec<u16> {
    let (screen, drawn) = pane.drawn_mut();
    let rows: Vec<u16> = match damage {
        Damage::Nothing => return Vec::new(),
        Damage::Rows(rows) => rows.clone(),
        Damage::Everything => (0..screen.size().rows).collect(),
    };
    for row in rows.iter().copied() {
        grid.copy_row(place, row, drawn.row(screen, row));
    }
    drawn.note(screen);
    rows.into_iter().filter(|row| *row < place.rows).map(|row| place.row + row).collect()
}

#[cfg(test)]
#[path = "compose_tests.rs"]
mod tests;

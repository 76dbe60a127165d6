//! The mouse between a press and its release: what is dragged, and how often in a row was pressed.

use super::splits::Border;
use crate::frame::Point;

/// A press so soon after another at the same place is the next click of the same gesture, in milliseconds.
const CLICKS_MS: u64 = 400;

/// What the pressed mouse moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Drag {
    /// A border between two panes.
    Border(Border),
    /// The border of the rail.
    Rail,
    /// A tab, by its place.
    Tab(usize),
}

/// One press.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Press {
    at: Point,
    ms: u64,
    clicks: u8,
}

/// The state of the mouse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pointer {
    pub(crate) drag: Option<Drag>,
    /// The row of the cursor in the last picture: notices leave it free, so it decides where they are.
    pub(crate) cursor_row: Option<u16>,
    last: Option<Press>,
}

impl Pointer {
    /// Notes a press of the left button; returns its number in the gesture: 1, 2 for a double click, 3 for a triple one.
    pub(crate) fn press(&mut self, at: Point, ms: u64) -> u8 {
        let again = self.last.filter(|last| last.at == at && ms.saturating_sub(last.ms) <= CLICKS_MS);
        let clicks = again.map_or(1, |last| last.clicks % 3 + 1);
        self.last = Some(Press { at, ms, clicks });
        clicks
    }

    /// Returns the number of the last press in its gesture.
    pub(crate) fn clicks(&self) -> u8 {
        self.last.map_or(1, |last| last.clicks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presses_at_one_place_are_counted_to_three_and_others_begin_anew() {
        let mut pointer = Pointer::default();
        let (here, there) = (Point { col: 3, row: 4 }, Point { col: 4, row: 4 });
        assert_eq!([0, 100, 200, 300].map(|ms| pointer.press(here, ms)), [1, 2, 3, 1]);
        assert_eq!((pointer.press(there, 350), pointer.press(there, 2_000)), (1, 1));
    }
}

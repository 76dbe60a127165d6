//! The mouse between a press and its release: who got the press, what is dragged, and how often in a row was pressed.

use super::splits::{Border, PaneId};
use crate::frame::Point;
use crate::host::MouseButton;

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

/// Who got a press: what follows it until the button is released goes there, and to nobody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PressOwner {
    /// The deck has done what the press means.
    Deck,
    /// The program in this pane.
    Program(PaneId),
    /// The selection of text in this pane.
    Selection(PaneId),
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
    /// Who got the presses of the left, the middle and the right button that is down.
    owners: [Option<PressOwner>; 3],
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

    /// Returns where the left button was pressed last.
    pub(crate) fn pressed_at(&self) -> Option<Point> {
        self.last.map(|last| last.at)
    }

    /// Notes who gets what follows a press of this button.
    pub(crate) fn own(&mut self, button: MouseButton, owner: PressOwner) {
        self.owners[index(button)] = Some(owner);
    }

    /// Returns who got the press of a button that is down.
    pub(crate) fn owner(&self, button: MouseButton) -> Option<PressOwner> {
        self.owners[index(button)]
    }

    /// Notes that a button is up; returns who got its press.
    pub(crate) fn release(&mut self, button: MouseButton) -> Option<PressOwner> {
        self.owners[index(button)].take()
    }
}

fn index(button: MouseButton) -> usize {
    match button {
        MouseButton::Left => 0,
        MouseButton::Middle => 1,
        MouseButton::Right => 2,
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

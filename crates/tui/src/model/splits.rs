//! The split tree of a tab: which pane is where, who is beside whom.

use serde::{Deserialize, Serialize};

use crate::frame::Rect;

/// A pane of the deck, for as long as it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct PaneId(pub(crate) u32);

/// How two halves lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Axis {
    /// Side by side.
    Columns,
    /// One above the other.
    Rows,
}

/// Where to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Left,
    Down,
    Up,
    Right,
}

/// The least size of a pane, its title included.
const MIN_COLS: u16 = 4;
const MIN_ROWS: u16 = 3;
/// A split's share of its first half, in thousandths.
const EVEN: u16 = 500;

/// One pane, or two halves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Node {
    Pane(PaneId),
    Split { axis: Axis, share: u16, halves: Box<[Node; 2]> },
}

impl Node {
    /// Every pane with its place, in reading order.
    pub(crate) fn places(&self, area: Rect) -> Vec<(PaneId, Rect)> {
        match self {
            Self::Pane(pane) => vec![(*pane, area)],
            Self::Split { axis, share, halves } => {
                let [first, second] = cut(area, *axis, *share);
                let mut places = halves[0].places(first);
                places.extend(halves[1].places(second));
                places
            }
        }
    }

    pub(crate) fn panes(&self) -> Vec<PaneId> {
        self.places(Rect::default()).into_iter().map(|(pane, _)| pane).collect()
    }

    /// Puts a new pane beside one.
    pub(crate) fn split(&mut self, pane: PaneId, axis: Axis, new: PaneId) {
        match self {
            Self::Pane(here) if *here == pane => {
                let halves = Box::new([Self::Pane(pane), Self::Pane(new)]);
                *self = Self::Split { axis, share: EVEN, halves };
            }
            Self::Pane(_) => {}
            Self::Split { halves, .. } => halves.iter_mut().for_each(|half| half.split(pane, axis, new)),
        }
    }

    /// The tree without a pane; nothing when that was all.
    pub(crate) fn without(self, pane: PaneId) -> Option<Self> {
        match self {
            Self::Pane(here) => (here != pane).then_some(self),
            Self::Split { axis, share, halves } => {
                let [first, second] = *halves;
                match (first.without(pane), second.without(pane)) {
                    (Some(first), Some(second)) => {
                        Some(Self::Split { axis, share, halves: Box::new([first, second]) })
                    }
                    (one, other) => one.or(other),
                }
            }
        }
    }

    /// Moves the border of the nearest split around a pane by thousandths; returns whether there is one.
    pub(crate) fn resize(&mut self, pane: PaneId, direction: Direction, by: u16) -> bool {
        let Self::Split { axis, share, halves } = self else { return false };
        let Some(at) = halves.iter().position(|half| half.panes().contains(&pane)) else { return false };
        if halves[at].resize(pane, direction, by) {
            return true;
        }
        let grows = match (*axis, direction) {
            (Axis::Columns, Direction::Right) | (Axis::Rows, Direction::Down) => true,
            (Axis::Columns, Direction::Left) | (Axis::Rows, Direction::Up) => false,
            _ => return false,
        };
        *share = if grows { share.saturating_add(by).min(900) } else { share.saturating_sub(by).max(100) };
        true
    }

    /// Gives both halves of every split the same.
    pub(crate) fn even(&mut self) {
        if let Self::Split { share, halves, .. } = self {
            *share = EVEN;
            halves.iter_mut().for_each(Self::even);
        }
    }
}

/// Two parts of an area; side by side they have a column between them.
fn cut(area: Rect, axis: Axis, share: u16) -> [Rect; 2] {
    let part = |length: u16, least: u16| {
        let part = u16::try_from(u32::from(length) * u32::from(share) / 1000).unwrap_or(length);
        part.max(least).min(length.saturating_sub(least))
    };
    match axis {
        Axis::Columns => {
            let first = part(area.cols, MIN_COLS);
            let second = area.cols.saturating_sub(first + 1);
            [Rect { cols: first, ..area }, Rect { col: area.col + first + 1, cols: second, ..area }]
        }
        Axis::Rows => {
            let first = part(area.rows, MIN_ROWS);
            let second = area.rows.saturating_sub(first);
            [Rect { rows: first, ..area }, Rect { row: area.row + first, rows: second, ..area }]
        }
    }
}

/// The pane beside one in a direction; the one that shares the most of the border.
pub(crate) fn neighbour(places: &[(PaneId, Rect)], pane: PaneId, direction: Direction) -> Option<PaneId> {
    let (_, here) = places.iter().find(|(id, _)| *id == pane)?;
    let overlap = |one: (u16, u16), other: (u16, u16)| one.1.min(other.1).saturating_sub(one.0.max(other.0));
    let columns = |rect: &Rect| (rect.col, rect.right());
    let rows = |rect: &Rect| (rect.row, rect.bottom());
    let shared = |there: &Rect| match direction {
        Direction::Left if there.right() <= here.col => (there.right(), overlap(rows(here), rows(there))),
        Direction::Right if there.col >= here.right() => {
            (u16::MAX - there.col, overlap(rows(here), rows(there)))
        }
        Direction::Up if there.bottom() <= here.row => {
            (there.bottom(), overlap(columns(here), columns(there)))
        }
        Direction::Down if there.row >= here.bottom() => {
            (u16::MAX - there.row, overlap(columns(here), columns(there)))
        }
        _ => (0, 0),
    };
    let candidates =
        places.iter().map(|(id, rect)| (shared(rect), *id)).filter(|((_, shared), _)| *shared > 0);
    // Of equals the first one in reading order.
    candidates.rev().max_by_key(|(nearness, _)| *nearness).map(|(_, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Rect = Rect { col: 0, row: 0, cols: 80, rows: 24 };
    const A: PaneId = PaneId(1);
    const B: PaneId = PaneId(2);
    const C: PaneId = PaneId(3);

    fn three() -> Node {
        let mut tree = Node::Pane(A);
        tree.split(A, Axis::Columns, B);
        tree.split(B, Axis::Rows, C);
        tree
    }

    #[test]
    fn panes_lie_beside_each_other_without_overlap() {
        let places = three().places(AREA);
        assert_eq!(places[0].1, Rect { cols: 40, ..AREA });
        assert_eq!(places[1].1, Rect { col: 41, row: 0, cols: 39, rows: 12 });
        assert_eq!(places[2].1, Rect { col: 41, row: 12, cols: 39, rows: 12 });
    }

    #[test]
    fn neighbours_are_found_by_the_border_they_share() {
        let places = three().places(AREA);
        assert_eq!(neighbour(&places, A, Direction::Right), Some(B));
        assert_eq!(neighbour(&places, C, Direction::Up), Some(B));
        assert_eq!(neighbour(&places, C, Direction::Left), Some(A));
        assert_eq!(neighbour(&places, A, Direction::Left), None);
    }

    #[test]
    fn a_closed_pane_leaves_its_place_to_the_other_half() {
        assert_eq!(three().without(A).unwrap().places(AREA)[0].1, Rect { rows: 12, ..AREA });
        assert_eq!(Node::Pane(A).without(A), None);
    }

    #[test]
    fn u22_no_area_is_too_small_to_be_split() {
        for cols in 0..12 {
            for rows in 0..8 {
                let area = Rect { col: 0, row: 0, cols, rows };
                three()
                    .places(area)
                    .iter()
                    .for_each(|(_, rect)| assert!(rect.cols <= cols && rect.rows <= rows));
            }
        }
    }
}

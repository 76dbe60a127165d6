//! The split tree of a tab: which pane is where, who is beside whom.

use serde::{Deserialize, Serialize};

use crate::frame::{Point, Rect};

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

/// A border between two halves: which half is entered at each split on the way from the root to its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Border(pub(crate) Vec<usize>);

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

    /// Moves the border of the nearest split around a pane by thousandths; returns true if there is one.
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

    /// The border at a place: the line between two columns, or the title of the lower of two rows.
    pub(crate) fn border_at(&self, area: Rect, at: Point) -> Option<Border> {
        let Self::Split { axis, share, halves } = self else { return None };
        let [first, second] = cut(area, *axis, *share);
        let is_it = match axis {
            Axis::Columns => at.col == first.right(),
            Axis::Rows => at.row == second.row,
        };
        if is_it && area.contains(at) {
            return Some(Border(Vec::new()));
        }
        [first, second].into_iter().enumerate().find_map(|(half, place)| {
            let mut border = halves[half].border_at(place, at)?;
            border.0.insert(0, half);
            Some(border)
        })
    }

    /// Moves a border to a place.
    pub(crate) fn move_border(&mut self, area: Rect, border: &[usize], to: Point) {
        let Self::Split { axis, share, halves } = self else { return };
        if let [half, rest @ ..] = border {
            let place = cut(area, *axis, *share).get(*half).copied();
            if let (Some(node), Some(place)) = (halves.get_mut(*half), place) {
                node.move_border(place, rest, to);
            }
            return;
        }
        let (wanted, length) = match axis {
            Axis::Columns => (to.col.saturating_sub(area.col), area.cols),
            Axis::Rows => (to.row.saturating_sub(area.row), area.rows),
        };
        // Rounded up, so that `cut` rounds down to the very place.
        let thousandths = (u32::from(wanted) * 1000).div_ceil(u32::from(length).max(1));
        *share = u16::try_from(thousandths).unwrap_or(EVEN).clamp(1, 999);
    }

    /// Lets two panes change places.
    pub(crate) fn swap(&mut self, one: PaneId, other: PaneId) {
        match self {
            Self::Pane(pane) if *pane == one => *pane = other,
            Self::Pane(pane) if *pane == other => *pane = one,
            Self::Pane(_) => {}
            Self::Split { halves, .. } => halves.iter_mut().for_each(|half| half.swap(one, other)),
        }
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
    fn a_border_is_found_and_follows_the_pointer() {
        let mut tree = three();
        let between_columns = Point { col: 40, row: 5 };
        let border = tree.border_at(AREA, between_columns).unwrap();
        tree.move_border(AREA, &border.0, Point { col: 57, row: 9 });
        assert_eq!(tree.places(AREA)[0].1.cols, 57);
        let between_rows = Point { col: 70, row: 12 };
        let border = tree.border_at(AREA, between_rows).unwrap();
        tree.move_border(AREA, &border.0, Point { col: 0, row: 20 });
        assert_eq!(tree.places(AREA)[2].1.row, 20);
        assert_eq!(tree.border_at(AREA, Point { col: 10, row: 5 }), None);
        // Far outside the border stays in the area, and both halves keep their least size.
        tree.move_border(AREA, &[], Point { col: 500, row: 0 });
        assert_eq!(tree.places(AREA)[0].1.cols, AREA.cols - MIN_COLS);
    }

    #[test]
    fn two_panes_change_places() {
        let mut tree = three();
        let before = tree.places(AREA);
        tree.swap(A, C);
        let after = tree.places(AREA);
        assert_eq!((after[0], after[2]), ((C, before[0].1), (A, before[2].1)));
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

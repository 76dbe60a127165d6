//! Tabs with their splits: which processes are open, and which pane the keyboard goes to.

use std::collections::BTreeMap;

use proto::{ProcessId, Size};
use serde::{Deserialize, Serialize};

use super::splits::{Axis, Direction, Node, PaneId, neighbour};
use crate::frame::Rect;

/// One tab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tab {
    pub(crate) root: Node,
    pub(crate) focus: PaneId,
    #[serde(default)]
    pub(crate) is_zoomed: bool,
}

/// All tabs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Deck {
    pub(crate) tabs: Vec<Tab>,
    pub(crate) active: usize,
    /// The tab before this one.
    #[serde(default)]
    pub(crate) last: usize,
    pub(crate) panes: BTreeMap<PaneId, ProcessId>,
    next: u32,
}

impl Deck {
    pub(crate) fn tab(&self) -> Option<&Tab> {
        self.tabs.get(self.active)
    }

    pub(crate) fn tab_mut(&mut self) -> Option<&mut Tab> {
        self.tabs.get_mut(self.active)
    }

    /// The pane that the keyboard goes to, and its process.
    pub(crate) fn focused(&self) -> Option<(PaneId, ProcessId)> {
        let pane = self.tab()?.focus;
        Some((pane, *self.panes.get(&pane)?))
    }

    /// The panes that are shown, with their places.
    pub(crate) fn places(&self, area: Rect) -> Vec<(PaneId, Rect)> {
        match self.tab() {
            None => Vec::new(),
            Some(tab) if tab.is_zoomed => vec![(tab.focus, area)],
            Some(tab) => tab.root.places(area),
        }
    }

    pub(crate) fn go_to_tab(&mut self, tab: usize) {
        if tab < self.tabs.len() && tab != self.active {
            self.last = std::mem::replace(&mut self.active, tab);
        }
    }

    /// Shows a process: where it is open already, or in a new tab.
    pub(crate) fn open(&mut self, process: ProcessId) {
        let shows =
            |tab: &&mut Tab| tab.root.panes().iter().any(|pane| self.panes.get(pane) == Some(&process));
        let here = self.active;
        let order: Vec<usize> =
            std::iter::once(here).chain((0..self.tabs.len()).filter(|at| *at != here)).collect();
        for at in order {
            if let Some(tab) = self.tabs.get_mut(at).filter(shows) {
                let panes = tab.root.panes();
                let pane = panes.into_iter().find(|pane| self.panes.get(pane) == Some(&process));
                tab.focus = pane.unwrap_or(tab.focus);
                self.go_to_tab(at);
                return;
            }
        }
        let pane = self.new_pane(process);
        self.tabs.push(Tab { root: Node::Pane(pane), focus: pane, is_zoomed: false });
        self.go_to_tab(self.tabs.len() - 1);
    }

    /// Shows a process beside the focused pane.
    pub(crate) fn split(&mut self, process: ProcessId, axis: Axis) {
        if self.tab().is_none() {
            return self.open(process);
        }
        let pane = self.new_pane(process);
        if let Some(tab) = self.tab_mut() {
            tab.root.split(tab.focus, axis, pane);
            (tab.focus, tab.is_zoomed) = (pane, false);
        }
    }

    /// Closes a pane; its process goes on.
    pub(crate) fn close_pane(&mut self, pane: PaneId) {
        let Some(at) = self.tabs.iter().position(|tab| tab.root.panes().contains(&pane)) else { return };
        self.panes.remove(&pane);
        let tab = &mut self.tabs[at];
        match tab.root.clone().without(pane) {
            Some(root) => {
                tab.focus = if tab.focus == pane { root.panes()[0] } else { tab.focus };
                (tab.root, tab.is_zoomed) = (root, false);
            }
            None => self.close_tab(at),
        }
    }

    fn close_tab(&mut self, at: usize) {
        self.tabs.remove(at);
        let behind = |place: usize| if place > at { place - 1 } else { place };
        let most = self.tabs.len().saturating_sub(1);
        self.active = behind(self.active).min(most);
        self.last = behind(self.last).min(most);
    }

    /// Closes every pane of processes that are gone.
    pub(crate) fn keep(&mut self, is_there: impl Fn(ProcessId) -> bool) {
        let gone: Vec<PaneId> =
            self.panes.iter().filter(|(_, process)| !is_there(**process)).map(|(pane, _)| *pane).collect();
        gone.into_iter().for_each(|pane| self.close_pane(pane));
    }

    /// Moves the focus; returns false at the edge.
    pub(crate) fn move_focus(&mut self, area: Rect, direction: Direction) -> bool {
        let Some(tab) = self.tab_mut() else { return false };
        let next = neighbour(&tab.root.places(area), tab.focus, direction).filter(|_| !tab.is_zoomed);
        tab.focus = next.unwrap_or(tab.focus);
        next.is_some()
    }

    /// Lets the focused pane and its neighbour in a direction change places; returns false at the edge.
    pub(crate) fn swap_focused(&mut self, area: Rect, direction: Direction) -> bool {
        let Some(tab) = self.tab_mut().filter(|tab| !tab.is_zoomed) else { return false };
        let Some(other) = neighbour(&tab.root.places(area), tab.focus, direction) else { return false };
        tab.root.swap(tab.focus, other);
        true
    }

    /// Moves the focused pane beside the focus of another tab, and goes there; returns false when there is no such tab.
    pub(crate) fn move_focused_to(&mut self, tab: usize) -> bool {
        let Some((pane, process)) = self.focused().filter(|_| tab != self.active && tab < self.tabs.len())
        else {
            return false;
        };
        let is_last = self.tab().is_some_and(|here| here.root.panes().len() == 1);
        let to = if is_last && tab > self.active { tab - 1 } else { tab };
        self.close_pane(pane);
        self.go_to_tab(to);
        self.split(process, Axis::Columns);
        true
    }

    /// Moves the focused pane to a tab of its own; returns false when it has one.
    pub(crate) fn move_focused_out(&mut self) -> bool {
        let is_alone = self.tab().is_none_or(|tab| tab.root.panes().len() == 1);
        let Some((pane, process)) = self.focused().filter(|_| !is_alone) else { return false };
        self.close_pane(pane);
        let pane = self.new_pane(process);
        self.tabs.push(Tab { root: Node::Pane(pane), focus: pane, is_zoomed: false });
        self.go_to_tab(self.tabs.len() - 1);
        true
    }

    /// Moves a tab to another place among the tabs; it stays the one that is shown if it was.
    pub(crate) fn move_tab(&mut self, from: usize, to: usize) {
        if from >= self.tabs.len() || to >= self.tabs.len() {
            return;
        }
        let tab = self.tabs.remove(from);
        self.tabs.insert(to, tab);
        let moved = |place: usize| match place {
            place if place == from => to,
            place if from < place && place <= to => place - 1,
            place if to <= place && place < from => place + 1,
            place => place,
        };
        (self.active, self.last) = (moved(self.active), moved(self.last));
    }

    /// The size of the screen in a pane: its place without the title.
    pub(crate) fn screen_of(place: Rect) -> Rect {
        place.rows_from(1, u16::MAX)
    }

    /// The size that a process gets which is shown alone.
    pub(crate) fn whole_size(area: Rect) -> Size {
        let screen = Self::screen_of(area);
        Size { cols: screen.cols, rows: screen.rows }.clamped()
    }

    fn new_pane(&mut self, process: ProcessId) -> PaneId {
        self.next += 1;
        let pane = PaneId(self.next);
        self.panes.insert(pane, process);
        pane
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Rect = Rect { col: 0, row: 0, cols: 80, rows: 24 };

    fn id(number: u64) -> ProcessId {
        ProcessId::from_entropy(number)
    }

    /// The processes of every tab, in reading order.
    fn shown(deck: &Deck) -> Vec<Vec<ProcessId>> {
        let tab = |tab: &Tab| tab.root.panes().iter().map(|pane| deck.panes[pane]).collect();
        deck.tabs.iter().map(tab).collect()
    }

    fn two_tabs() -> Deck {
        let mut deck = Deck::default();
        deck.open(id(1));
        deck.split(id(2), Axis::Columns);
        deck.open(id(3));
        deck
    }

    #[test]
    fn a_pane_changes_places_with_its_neighbour_and_keeps_the_focus() {
        let mut deck = two_tabs();
        deck.go_to_tab(0);
        assert!(deck.swap_focused(AREA, Direction::Left));
        assert_eq!(shown(&deck)[0], [id(2), id(1)]);
        assert_eq!(deck.focused().unwrap().1, id(2));
        assert!(!deck.swap_focused(AREA, Direction::Left));
    }

    #[test]
    fn a_pane_moves_to_another_tab_and_to_one_of_its_own() {
        let mut deck = two_tabs();
        // The third process is alone in its tab: that tab is gone afterwards.
        assert!(deck.move_focused_to(0));
        assert_eq!(shown(&deck), [vec![id(1), id(2), id(3)]]);
        assert_eq!(deck.focused().unwrap().1, id(3));
        assert!(!deck.move_focused_to(0) && !deck.move_focused_to(7));
        assert!(deck.move_focused_out());
        assert_eq!(shown(&deck), [vec![id(1), id(2)], vec![id(3)]]);
        assert!(!deck.move_focused_out());
    }

    #[test]
    fn a_tab_moves_and_the_shown_one_stays_shown() {
        let mut deck = two_tabs();
        deck.open(id(4));
        deck.go_to_tab(1);
        deck.move_tab(0, 2);
        assert_eq!(shown(&deck), [vec![id(3)], vec![id(4)], vec![id(1), id(2)]]);
        assert_eq!((deck.focused().unwrap().1, deck.last), (id(3), 1));
    }
}

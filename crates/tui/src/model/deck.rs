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

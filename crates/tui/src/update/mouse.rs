//! Clicks, drags and the wheel: what they hit decides what they do.

use super::{actions, history, palette, rail};
use crate::frame::{Point, Rect};
use crate::host::{Mouse, MouseAct, MouseButton};
use crate::keymap::Action;
use crate::message::Command;
use crate::model::deck::Deck;
use crate::model::overlay::Overlay;
use crate::model::palette::Placement;
use crate::model::rail::RailRow;
use crate::model::splits::PaneId;
use crate::model::{Model, rail as rows};
use crate::view::{palette as palette_view, tabs, toasts};

pub(super) fn mouse(model: &mut Model, mouse: Mouse) -> Vec<Command> {
    let areas = model.areas();
    let is_left = mouse.act == MouseAct::Press(MouseButton::Left);
    let is_middle = mouse.act == MouseAct::Press(MouseButton::Middle);
    if is_left && let Some(at) = toasts::hit(model, mouse.at) {
        return click_toast(model, at);
    }
    match model.overlays.last() {
        Some(Overlay::History(_)) => return history_mouse(model, mouse),
        Some(Overlay::Wall(_)) if is_left => return click_wall(model, mouse.at),
        Some(Overlay::Palette(_)) if is_left => return click_palette(model, mouse.at),
        Some(_) => return Vec::new(),
        None => {}
    }
    match () {
        () if areas.tabs.contains(mouse.at) && is_left => click_tab(model, mouse.at),
        () if areas.tabs.contains(mouse.at) && is_middle => close_tab(model, mouse.at),
        () if areas.status.contains(mouse.at) && is_left => actions::act(model, Action::Palette),
        () if areas.rail.is_some_and(|area| area.contains(mouse.at)) => match (is_left, areas.rail) {
            (true, Some(area)) => click_rail(model, mouse.at, area),
            _ => Vec::new(),
        },
        () => in_pane(model, mouse, is_left),
    }
}

/// A click in another pane only focuses it: it was not meant as an answer.
fn in_pane(model: &mut Model, mouse: Mouse, is_left: bool) -> Vec<Command> {
    let Some((pane, place)) = model.places().into_iter().find(|(_, place)| place.contains(mouse.at)) else {
        return Vec::new();
    };
    let is_focused = model.deck.focused().is_some_and(|(focused, _)| focused == pane) && !model.rail.has_keys;
    if !is_focused {
        if is_left {
            focus(model, pane);
        }
        return Vec::new();
    }
    let screen = Deck::screen_of(place);
    if !screen.contains(mouse.at) {
        return Vec::new();
    }
    vec![Command::Mouse(pane, mouse)]
}

fn focus(model: &mut Model, pane: PaneId) {
    model.rail.has_keys = false;
    if let Some(tab) = model.deck.tab_mut() {
        tab.focus = pane;
    }
}

fn history_mouse(model: &mut Model, mouse: Mouse) -> Vec<Command> {
    let Some(pane) = history::lines(model).map(|history| history.pane) else { return Vec::new() };
    let place = model.places().into_iter().find(|(id, _)| *id == pane).map(|(_, place)| place);
    if place.is_none_or(|place| !place.contains(mouse.at)) {
        return Vec::new();
    }
    let shown = history::Shown { lines: Vec::new(), is_alternate: true };
    history::unwanted_mouse(model, pane, mouse, shown)
}

fn click_toast(model: &mut Model, at: usize) -> Vec<Command> {
    let process = model.toasts.get(at).and_then(|toast| toast.process);
    model.toasts.remove(at);
    process.map(|process| actions::show(model, process, Placement::Tab)).unwrap_or_default()
}

fn click_tab(model: &mut Model, at: Point) -> Vec<Command> {
    match tabs::hit(model, at) {
        Some(tabs::Hit::Tab(tab)) => {
            model.rail.has_keys = false;
            model.deck.go_to_tab(tab);
            Vec::new()
        }
        Some(tabs::Hit::New) => actions::act(model, Action::New),
        None => Vec::new(),
    }
}

fn close_tab(model: &mut Model, at: Point) -> Vec<Command> {
    if let Some(tabs::Hit::Tab(tab)) = tabs::hit(model, at) {
        let panes = model.deck.tabs.get(tab).map(|tab| tab.root.panes()).unwrap_or_default();
        panes.into_iter().for_each(|pane| model.deck.close_pane(pane));
    }
    Vec::new()
}

fn click_rail(model: &mut Model, at: Point, area: Rect) -> Vec<Command> {
    let row = usize::from(at.row - area.row) + crate::view::rail::first_row(model, area);
    match rows::rows(model).into_iter().nth(row) {
        Some(RailRow::Item { item, .. }) => {
            model.rail.selected = Some(item);
            rail::open(model, Placement::Tab)
        }
        _ => Vec::new(),
    }
}

fn click_wall(model: &mut Model, at: Point) -> Vec<Command> {
    let Some(Overlay::Wall(wall)) = model.overlays.last() else { return Vec::new() };
    let places = wall.places(&model.crew, model.areas().deck);
    let hit = places.into_iter().find(|(_, _, rect)| rect.contains(at));
    hit.map(|(_, process, _)| actions::show(model, process, Placement::Tab)).unwrap_or_default()
}

fn click_palette(model: &mut Model, at: Point) -> Vec<Command> {
    let Some(Overlay::Palette(open)) = model.overlays.last() else { return Vec::new() };
    let placement = open.placement;
    match palette_view::hit(model, at) {
        palette_view::Hit::Entry(entry) => palette::choose(model, &entry, placement),
        palette_view::Hit::Inside => Vec::new(),
        palette_view::Hit::Outside => {
            model.overlays.pop();
            Vec::new()
        }
    }
}

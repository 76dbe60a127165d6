//! Clicks, drags and the wheel: what they hit decides what they do. Only a press hits something: what follows it until the
//! button is released goes where the press went, so that a click which the deck has taken is no program's.

use super::{actions, history, overlays, palette, rail, row_menu};
use crate::frame::{Point, Rect};
use crate::host::{Mouse, MouseAct, MouseButton};
use crate::keymap::Action;
use crate::message::Command;
use crate::model::deck::Deck;
use crate::model::overlay::{Overlay, POPUP};
use crate::model::palette::Placement;
use crate::model::pointer::{Drag, PressOwner};
use crate::model::rail::RailRow;
use crate::model::settings::Setting;
use crate::model::splits::PaneId;
use crate::model::{Model, rail as rows};
use crate::view::status::{self, StatusClick};
use crate::view::{inbox as inbox_view, palette as palette_view, popup as popup_view, review as review_view};
use crate::view::{tabs, tasks as tasks_view, toasts};

/// Rows per notch of the wheel in lists.
const WHEEL_ROWS: isize = 3;
/// Least and most columns that the rail is dragged to.
const RAIL_COLUMNS: [u16; 2] = [12, 60];

pub(super) fn mouse(model: &mut Model, mouse: Mouse) -> Vec<Command> {
    let is_left = mouse.act == MouseAct::Press(MouseButton::Left);
    if is_left {
        let ms = model.now.ms;
        model.pointer.press(mouse.at, ms);
        model.pointer.drag = None;
    }
    match mouse.act {
        MouseAct::Press(button) => model.pointer.own(button, PressOwner::Deck),
        MouseAct::Drag(button) => return held(model, model.pointer.owner(button), mouse),
        MouseAct::Release(button) => {
            let owner = model.pointer.release(button);
            return held(model, owner, mouse);
        }
        MouseAct::Move | MouseAct::WheelUp | MouseAct::WheelDown | MouseAct::Other(_) => {}
    }
    if is_left && let Some(at) = toasts::hit(model, mouse.at) {
        return click_toast(model, at);
    }
    if is_left && model.areas().status.contains(mouse.at) {
        return click_status(model, mouse.at);
    }
    match model.overlays.last() {
        Some(_) if is_beside(model, mouse) => beside_view(model, mouse, is_left),
        Some(_) => in_overlay(model, mouse, is_left),
        None => on_deck(model, mouse, is_left),
    }
}

/// A drag or a release, for who got the press.
fn held(model: &mut Model, owner: Option<PressOwner>, mouse: Mouse) -> Vec<Command> {
    match owner {
        Some(PressOwner::Deck) => model.pointer.drag.clone().map(|drag| dragged(model, &drag, mouse)),
        Some(PressOwner::Program(pane)) => screen(model, pane).map(|screen| {
            let at = screen.nearest(mouse.at);
            vec![Command::Mouse(pane, Mouse { at, ..mouse })]
        }),
        Some(PressOwner::Selection(pane)) => Some(history::selecting_mouse(model, pane, mouse)),
        None => None,
    }
    .unwrap_or_default()
}

/// Where the program of a pane draws.
fn screen(model: &Model, pane: PaneId) -> Option<Rect> {
    if pane == POPUP {
        return model.popup().map(|_| popup_view::screen(model));
    }
    let place = model.places().into_iter().find(|(id, _)| *id == pane);
    place.map(|(_, place)| Deck::screen_of(place))
}

/// Hands the mouse to the program in a pane, which has what follows a press too.
fn to_program(model: &mut Model, pane: PaneId, mouse: Mouse) -> Vec<Command> {
    if let MouseAct::Press(button) = mouse.act {
        model.pointer.own(button, PressOwner::Program(pane));
    }
    vec![Command::Mouse(pane, mouse)]
}

/// Returns true if a press or the wheel is beside the view that is open: on the tabs, on the rail or, while one pane is scrolled, on
/// another one. Only a view leaves these in sight; a box asks something and has the mouse until it is answered.
fn is_beside(model: &Model, mouse: Mouse) -> bool {
    let is_view = |overlay: &Overlay| {
        matches!(overlay, Overlay::Tasks(_) | Overlay::Wall(_) | Overlay::Review(_) | Overlay::History(_))
    };
    let begins = matches!(mouse.act, MouseAct::Press(_) | MouseAct::WheelUp | MouseAct::WheelDown);
    let areas = model.areas();
    let is_on_bar = areas.tabs.contains(mouse.at)
        || areas.rail.is_some_and(|rail| rail.contains(mouse.at) || rail.right() == mouse.at.col);
    let is_in_other_pane = match model.overlays.last() {
        Some(Overlay::History(history)) => {
            pane_at(model, mouse.at).is_some_and(|(pane, _)| pane != history.pane)
        }
        _ => false,
    };
    begins && model.overlays.last().is_some_and(is_view) && (is_on_bar || is_in_other_pane)
}

/// A press on a tab or on another pane leaves the view that is open; what a row of the rail does decides about that itself.
fn beside_view(model: &mut Model, mouse: Mouse, is_left: bool) -> Vec<Command> {
    let is_on_rail = model.areas().rail.is_some_and(|rail| mouse.at.col <= rail.right())
        && !model.areas().tabs.contains(mouse.at);
    let leaves = match mouse.act {
        MouseAct::Press(MouseButton::Left) => !is_on_rail && !is_new_tab(model, mouse.at),
        MouseAct::Press(MouseButton::Middle) => !is_on_rail && tabs::hit(model, mouse.at).is_some(),
        _ => false,
    };
    if leaves {
        model.overlays.clear();
    }
    on_deck(model, mouse, is_left)
}

/// Returns true if this is the sign for a new tab, or beside all tabs: that opens its own list, or does nothing.
fn is_new_tab(model: &Model, at: Point) -> bool {
    model.areas().tabs.contains(at) && !matches!(tabs::hit(model, at), Some(tabs::Hit::Tab(_)))
}

fn on_deck(model: &mut Model, mouse: Mouse, is_left: bool) -> Vec<Command> {
    let areas = model.areas();
    let is_middle = mouse.act == MouseAct::Press(MouseButton::Middle);
    let is_right = mouse.act == MouseAct::Press(MouseButton::Right);
    if is_left && let Some(drag) = grasp(model, mouse.at) {
        if let Some((pane, _)) = pane_at(model, mouse.at) {
            focus(model, pane);
        }
        model.pointer.drag = Some(drag);
        return Vec::new();
    }
    match areas.rail.filter(|area| area.contains(mouse.at)) {
        _ if areas.tabs.contains(mouse.at) && is_left => click_tab(model, mouse.at),
        _ if areas.tabs.contains(mouse.at) && is_middle => close_tab(model, mouse.at),
        Some(area) if is_left => click_rail(model, mouse.at, area),
        Some(area) if is_right => menu_of_row(model, mouse.at, area),
        Some(area) => wheel_rail(model, mouse, area),
        None => in_pane(model, mouse, is_left),
    }
}

/// The border that is at a place.
fn grasp(model: &Model, at: Point) -> Option<Drag> {
    let areas = model.areas();
    let is_rail = areas.rail.is_some_and(|rail| rail.cols >= RAIL_COLUMNS[0] && rail.right() == at.col);
    if is_rail && !areas.tabs.contains(at) {
        return Some(Drag::Rail);
    }
    let tab = model.deck.tab().filter(|tab| !tab.is_zoomed && !model.is_narrow())?;
    tab.root.border_at(areas.deck, at).map(Drag::Border)
}

/// Something is dragged until the button is released.
fn dragged(model: &mut Model, drag: &Drag, mouse: Mouse) -> Vec<Command> {
    if !matches!(mouse.act, MouseAct::Drag(_)) {
        model.pointer.drag = None;
        return match drag {
            Drag::Rail if mouse.act == MouseAct::Release(MouseButton::Left) => {
                vec![Command::KeepSetting(Setting::RailWidth.word(), model.rail.width.to_string())]
            }
            _ => Vec::new(),
        };
    }
    let area = model.areas().deck;
    match drag {
        Drag::Rail => model.rail.width = mouse.at.col.clamp(RAIL_COLUMNS[0], RAIL_COLUMNS[1]),
        Drag::Border(border) => {
            if let Some(tab) = model.deck.tab_mut() {
                tab.root.move_border(area, &border.0, mouse.at);
            }
        }
        Drag::Tab(from) => {
            if let Some(tabs::Hit::Tab(to)) = tabs::hit(model, mouse.at) {
                model.deck.move_tab(*from, to);
                model.pointer.drag = Some(Drag::Tab(to));
            }
        }
    }
    Vec::new()
}

fn pane_at(model: &Model, at: Point) -> Option<(PaneId, Rect)> {
    model.places().into_iter().find(|(_, place)| place.contains(at))
}

/// A click in another pane only focuses it: it was not meant as an answer.
fn in_pane(model: &mut Model, mouse: Mouse, is_left: bool) -> Vec<Command> {
    let Some((pane, place)) = pane_at(model, mouse.at) else { return Vec::new() };
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
    to_program(model, pane, mouse)
}

fn focus(model: &mut Model, pane: PaneId) {
    model.rail.has_keys = false;
    if let Some(tab) = model.deck.tab_mut() {
        tab.focus = pane;
    }
}

/// The mouse in what lies over the deck: the wheel goes through lists, a click chooses.
fn in_overlay(model: &mut Model, mouse: Mouse, is_left: bool) -> Vec<Command> {
    let wheel = match mouse.act {
        MouseAct::WheelUp => Some(-1),
        MouseAct::WheelDown => Some(1),
        _ => None,
    };
    match model.overlays.last() {
        Some(Overlay::History(_)) => return history_mouse(model, mouse),
        Some(Overlay::Popup(_)) if popup_view::screen(model).contains(mouse.at) => {
            return to_program(model, POPUP, mouse);
        }
        Some(Overlay::Wall(_)) if is_left => return click_wall(model, mouse.at),
        Some(Overlay::Palette(_)) if is_left => return click_palette(model, mouse.at),
        Some(Overlay::Tasks(_)) if is_left => return click_task(model, mouse.at),
        Some(Overlay::Review(_)) if is_left => click_change(model, mouse.at),
        Some(Overlay::Inbox(_)) if is_left => return click_inbox(model, mouse.at),
        Some(Overlay::RowMenu(_)) if is_left => return row_menu::click(model, mouse.at),
        _ => {}
    }
    if let Some(by) = wheel {
        wheel_list(model, by);
    }
    Vec::new()
}

/// The wheel in a list selects, in a text it scrolls.
fn wheel_list(model: &mut Model, by: isize) {
    let rows = by * WHEEL_ROWS;
    if matches!(model.overlays.last(), Some(Overlay::Help(_) | Overlay::Page(_))) {
        return overlays::scroll_page(model, rows);
    }
    match model.overlays.last_mut() {
        Some(Overlay::Review(review)) => review.step(rows),
        Some(Overlay::Tasks(view)) => view.step(&model.crew, by),
        Some(Overlay::Inbox(view)) => view.step(&model.crew, by),
        Some(Overlay::Palette(palette)) => palette.step(by),
        _ => {}
    }
}

fn history_mouse(model: &mut Model, mouse: Mouse) -> Vec<Command> {
    let Some(pane) = history::lines(model).map(|history| history.pane) else { return Vec::new() };
    let place = model.places().into_iter().find(|(id, _)| *id == pane).map(|(_, place)| place);
    if place.is_none_or(|place| !place.contains(mouse.at)) {
        return Vec::new();
    }
    history::unwanted_mouse(model, pane, mouse, history::Shown::default())
}

fn click_toast(model: &mut Model, at: usize) -> Vec<Command> {
    let process = model.toasts.get(at).and_then(|toast| toast.process);
    model.toasts.remove(at);
    process.map(|process| actions::show(model, process, Placement::Tab)).unwrap_or_default()
}

/// A click on a hint of the status line does what its key does there; elsewhere on it the palette opens.
fn click_status(model: &mut Model, at: Point) -> Vec<Command> {
    match status::hit(model, at) {
        Some(StatusClick::Act(action)) => actions::act(model, action),
        Some(StatusClick::Press(key)) => super::press(model, key.press()),
        None if model.overlays.is_empty() => actions::act(model, Action::Palette),
        None => Vec::new(),
    }
}

fn click_tab(model: &mut Model, at: Point) -> Vec<Command> {
    match tabs::hit(model, at) {
        Some(tabs::Hit::Tab(tab)) => {
            model.rail.has_keys = false;
            model.deck.go_to_tab(tab);
            model.pointer.drag = Some(Drag::Tab(tab));
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

/// Selects the row of the rail at a place; returns true if there is one.
fn select_row(model: &mut Model, at: Point, area: Rect) -> bool {
    let row = usize::from(at.row - area.row) + crate::view::rail::first_row(model, area);
    match rows::rows(model).into_iter().nth(row) {
        Some(RailRow::Item { item, .. }) => {
            model.rail.selected = Some(item);
            true
        }
        _ => false,
    }
}

fn click_rail(model: &mut Model, at: Point, area: Rect) -> Vec<Command> {
    if select_row(model, at, area) { rail::open(model, Placement::Tab) } else { Vec::new() }
}

/// The right button opens the menu of the row.
fn menu_of_row(model: &mut Model, at: Point, area: Rect) -> Vec<Command> {
    if select_row(model, at, area)
        && let Some(item) = model.rail.selected.clone()
    {
        row_menu::open(model, item, at);
    }
    Vec::new()
}

/// The wheel goes through the rows of the rail while it has the keys; otherwise it only shows other rows.
fn wheel_rail(model: &mut Model, mouse: Mouse, area: Rect) -> Vec<Command> {
    let by = match mouse.act {
        MouseAct::WheelUp => -1,
        MouseAct::WheelDown => 1,
        _ => return Vec::new(),
    };
    if model.rail.has_keys {
        rail::step(model, by);
    } else {
        let most = rows::rows(model).len().saturating_sub(usize::from(area.rows));
        model.rail.top = model.rail.top.min(most).saturating_add_signed(by * WHEEL_ROWS).min(most);
    }
    Vec::new()
}

fn click_wall(model: &mut Model, at: Point) -> Vec<Command> {
    let Some(Overlay::Wall(wall)) = model.overlays.last() else { return Vec::new() };
    let places = wall.places(&model.crew, model.areas().deck);
    let hit = places.into_iter().find(|(_, _, rect)| rect.contains(at));
    hit.map(|(_, process, _)| actions::show(model, process, Placement::Tab)).unwrap_or_default()
}

/// The first click selects a task, the second opens it.
fn click_task(model: &mut Model, at: Point) -> Vec<Command> {
    let Some(name) = tasks_view::hit(model, at) else { return Vec::new() };
    let Some(Overlay::Tasks(view)) = model.overlays.last_mut() else { return Vec::new() };
    let task = view.task(&model.crew).filter(|task| task.name == name).cloned();
    view.selected = Some(name);
    task.map(|task| super::tasks::on_task(model, Action::Accept, &task)).unwrap_or_default()
}

fn click_change(model: &mut Model, at: Point) {
    let row = review_view::hit(model, at);
    if let (Some(row), Some(Overlay::Review(review))) = (row, model.overlays.last_mut()) {
        review.row = row;
    }
}

fn click_inbox(model: &mut Model, at: Point) -> Vec<Command> {
    let item = inbox_view::hit(model, at);
    if let (Some(item), Some(Overlay::Inbox(view))) = (item, model.overlays.last_mut()) {
        view.selected = Some(item);
    }
    Vec::new()
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

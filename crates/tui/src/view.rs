//! The model as a picture. Reads only.
//!
//! The deck is drawn in three layers: chrome, the screens of the panes (by the caller, who has them), and what lies over
//! them.

pub(crate) mod agent_form;
pub(crate) mod dialogs;
pub(crate) mod help;
pub(crate) mod history;
pub(crate) mod inbox;
pub(crate) mod joints;
pub(crate) mod menu;
pub(crate) mod palette;
pub(crate) mod panes;
pub(crate) mod popup;
pub(crate) mod rail;
pub(crate) mod review;
pub(crate) mod row_menu;
pub(crate) mod settings;
pub(crate) mod status;
pub(crate) mod tabs;
pub(crate) mod task_forms;
pub(crate) mod tasks;
pub(crate) mod toasts;
pub(crate) mod welcome;

use term::{Attributes, Style};

use crate::frame::{Grid, Point, Rect};
use crate::keymap::{Action, Context};
use crate::model::overlay::Overlay;
use crate::model::{LEAST, Model, Prefix};
use crate::theme::Role;

/// Draws what is around and between the screens.
pub(crate) fn chrome(model: &Model, grid: &mut Grid) {
    grid.fill(Rect::of(model.size), text(model, Role::Text));
    grid.cursor = None;
    if model.is_too_small() {
        return too_small(model, grid);
    }
    tabs::draw(model, grid);
    rail::draw(model, grid);
    match model.base_view() {
        Some(Overlay::Tasks(view)) => tasks::draw(model, view, grid),
        Some(Overlay::Review(review)) => review::draw(model, review, grid),
        _ => {}
    }
    panes::draw(model, grid);
    joints::draw(model, grid);
    status::draw(model, grid);
    if model.places().is_empty() && model.overlays.is_empty() {
        welcome::draw(model, grid);
    }
}

/// Draws what lies over the screens.
pub(crate) fn overlays(model: &Model, grid: &mut Grid) {
    if model.is_too_small() {
        return;
    }
    for overlay in &model.overlays {
        match overlay {
            Overlay::Wall(_) | Overlay::Tasks(_) | Overlay::Review(_) => {}
            Overlay::History(lines) => history::draw(model, lines, grid),
            other => {
                dim(model, grid);
                layer(model, other, grid);
            }
        }
    }
    notices(model, grid);
}

/// Draws what lies over everything: notices and the menu.
pub(crate) fn notices(model: &Model, grid: &mut Grid) {
    toasts::draw(model, grid);
    if let Prefix::Pressed(since) = model.prefix
        && model.now.ms >= since + crate::model::MENU_MS
    {
        menu::draw(model, grid);
        grid.cursor = None;
    }
}

fn layer(model: &Model, overlay: &Overlay, grid: &mut Grid) {
    match overlay {
        Overlay::Palette(palette) => palette::draw(model, palette, grid),
        Overlay::Inbox(inbox) => inbox::draw(model, inbox, grid),
        Overlay::Help(help) => help::draw(model, help, grid),
        Overlay::Page(page) => dialogs::page(model, page, grid),
        Overlay::Prompt(prompt) => dialogs::prompt(model, prompt, grid),
        Overlay::Confirm(confirm) => dialogs::confirm(model, confirm, grid),
        Overlay::Settings(view) => settings::draw(model, view, grid),
        Overlay::Recorder(recorder) => settings::recorder(model, recorder, grid),
        Overlay::Form(form) => task_forms::new_task(model, form, grid),
        Overlay::Land(form) => task_forms::land(model, form, grid),
        Overlay::Agent(form) => agent_form::draw(model, form, grid),
        Overlay::Popup(process) => popup::draw(model, *process, grid),
        Overlay::RowMenu(menu) => row_menu::draw(model, menu, grid),
        Overlay::Wall(_) | Overlay::Tasks(_) | Overlay::Review(_) | Overlay::History(_) => {}
    }
}

/// The looks of a role.
pub(crate) fn text(model: &Model, role: Role) -> Style {
    model.theme().style(role)
}

/// The looks of a role on the bars at the top and the bottom.
pub(crate) fn on_bar(model: &Model, role: Role) -> Style {
    model.theme().style_on_bar(role)
}

/// What lies below a dialog stays in sight and steps back.
fn dim(model: &Model, grid: &mut Grid) {
    let body = Rect { rows: model.size.rows.saturating_sub(2), row: 1, ..Rect::of(model.size) };
    grid.restyle(body, |style| style.attributes.insert(Attributes::DIM));
    grid.cursor = None;
}

/// A frame with a title and hints, blank inside; returns the inside.
pub(crate) fn framed(model: &Model, grid: &mut Grid, area: Rect, title: &str, hints: &str) -> Rect {
    let border = text(model, Role::Border);
    grid.fill(area, text(model, Role::Text));
    let [corner_tl, corner_tr, corner_bl, corner_br, across, down] = lines(model);
    let (right, bottom) = (area.right().saturating_sub(1), area.bottom().saturating_sub(1));
    for col in area.col..area.right() {
        put(grid, col, area.row, across, border);
        put(grid, col, bottom, across, border);
    }
    for row in area.row..area.bottom() {
        put(grid, area.col, row, down, border);
        put(grid, right, row, down, border);
    }
    let corners = [
        (area.col, area.row, corner_tl),
        (right, area.row, corner_tr),
        (area.col, bottom, corner_bl),
        (right, bottom, corner_br),
    ];
    corners.iter().for_each(|(col, row, glyph)| put(grid, *col, *row, glyph, border));
    let room = area.cols.saturating_sub(4);
    let title = format!(" {title} ");
    let title = cut(&title, room, model.looks.is_ascii);
    grid.text(Point { col: area.col + 1, row: area.row }, &title, text(model, Role::Focus), room);
    if !hints.is_empty() {
        let hints = cut(&format!(" {hints} "), room, model.looks.is_ascii);
        grid.text(Point { col: area.col + 1, row: bottom }, &hints, text(model, Role::Dim), room);
    }
    area.inside()
}

/// Corners (top left, top right, bottom left, bottom right), a line across, a line down.
pub(crate) fn lines(model: &Model) -> [&'static str; 6] {
    match (model.looks.is_ascii, model.looks.is_square) {
        (true, _) => ["+", "+", "+", "+", "-", "|"],
        (false, true) => ["┌", "┐", "└", "┘", "─", "│"],
        (false, false) => ["╭", "╮", "╰", "╯", "─", "│"],
    }
}

pub(crate) fn put(grid: &mut Grid, col: u16, row: u16, glyph: &str, style: Style) {
    grid.text(Point { col, row }, glyph, style, 2);
}

/// Draws text that ends at a column; returns where it begins.
pub(crate) fn text_to(grid: &mut Grid, end: u16, row: u16, words: &str, style: Style) -> u16 {
    let start = end.saturating_sub(crate::frame::width::columns(words));
    grid.text(Point { col: start, row }, words, style, end - start);
    start
}

/// Text cut to a number of columns, with a sign that it was.
pub(crate) fn cut(words: &str, columns: u16, is_ascii: bool) -> String {
    use crate::frame::width::{clusters, columns as width};
    if width(words) <= columns {
        return words.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let mut text = String::new();
    for (cluster, width) in clusters(words) {
        if u16::from(width) > left {
            break;
        }
        left -= u16::from(width);
        text.push_str(&cluster);
    }
    if columns > 0 {
        text.push(if is_ascii { '.' } else { '…' });
    }
    text
}

/// The end of a text that fits into a number of columns, with a sign that its beginning was cut off.
pub(crate) fn cut_start(words: &str, columns: u16, is_ascii: bool) -> String {
    use crate::frame::width::{clusters, columns as width};
    if width(words) <= columns {
        return words.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let mut kept: Vec<String> = Vec::new();
    for (cluster, width) in clusters(words).into_iter().rev() {
        if u16::from(width) > left {
            break;
        }
        left -= u16::from(width);
        kept.push(cluster);
    }
    if columns > 0 {
        kept.push(if is_ascii { "." } else { "…" }.to_owned());
    }
    kept.into_iter().rev().collect()
}

/// Text in lines of at most so many columns, broken between words.
pub(crate) fn wrap(words: &str, columns: u16) -> Vec<String> {
    use crate::frame::width::columns as width;
    let mut lines = Vec::new();
    for paragraph in words.lines() {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if !line.is_empty() && width(&line) + 1 + width(word) > columns {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            for character in word.chars() {
                // A word that is wider than a line goes on in the next one: nothing of it is hidden.
                if width(&line) + width(character.encode_utf8(&mut [0; 4])) > columns && !line.is_empty() {
                    lines.push(std::mem::take(&mut line));
                }
                line.push(character);
            }
        }
        lines.push(line);
    }
    lines
}

fn too_small(model: &Model, grid: &mut Grid) {
    let keymap = &model.looks.keymap;
    let leave = keymap.key_of(Context::Deck, Action::Leave);
    let words = [
        format!("qd needs {}x{},", LEAST.cols, LEAST.rows),
        format!("this is {}x{}.", model.size.cols, model.size.rows),
        "Everything goes on.".to_owned(),
        leave.map_or_else(String::new, |key| format!("{} {key} leaves.", keymap.prefix_text())),
    ];
    let area = Rect::of(model.size).middle(20, 4);
    for (row, line) in (area.row..area.bottom()).zip(&words) {
        grid.text(Point { col: area.col, row }, line, text(model, Role::Text), area.cols);
    }
}

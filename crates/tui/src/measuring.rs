//! The work of one picture, for an instruction counter: a deck of 200×50 with fifty processes and two panes.

use proto::{ProcessId, ProcessView, Size};

use crate::config::Config;
use crate::frame::encode::ChangedRows;
use crate::frame::{ColorDepth, Encoder, Grid};
use crate::message::Message;
use crate::model::deck::Deck;
use crate::model::splits::Axis;
use crate::model::{Model, Place};
use crate::update::update;
use crate::view;

const SIZE: Size = Size { cols: 200, rows: 50 };
const PROCESSES: u64 = 50;

/// A deck, the screen of its focused pane, and the terminal that its pictures go to.
#[derive(Debug)]
pub struct Picture {
    model: Model,
    grid: Grid,
    encoder: Encoder,
    screen: term::Screen,
    out: Vec<u8>,
}

impl Default for Picture {
    fn default() -> Self {
        let mut model = Model::new(SIZE, Config::default().looks, Place::default());
        let processes = (1..=PROCESSES).filter_map(process).collect();
        update(&mut model, Message::Connected(processes));
        model.deck.open(ProcessId::from_entropy(1));
        model.deck.split(ProcessId::from_entropy(2), Axis::Columns);
        let screen = term::Screen::new(term::GridSize::clamped(86, 47), term::Limits { history_lines: 0 });
        let encoder = Encoder::new(ColorDepth::True);
        Self { model, grid: Grid::new(SIZE), encoder, screen, out: Vec::new() }
    }
}

impl Picture {
    /// Composes and encodes the whole picture for a terminal that shows nothing; returns its bytes.
    pub fn whole(&mut self) -> usize {
        self.encoder.forget();
        view::chrome(&self.model, &mut self.grid);
        for (_, place) in self.model.places() {
            for row in 0..place.rows {
                self.grid.copy_row(Deck::screen_of(place), row, &self.screen.row_cells(row));
            }
        }
        view::overlays(&self.model, &mut self.grid);
        (0..SIZE.rows).for_each(|row| self.grid.mend_row(row));
        self.encode(&ChangedRows::All)
    }

    /// Draws one more key in the focused pane and encodes its row; returns its bytes.
    pub fn row(&mut self, round: usize) -> usize {
        let key = b'a' + u8::try_from(round % 26).unwrap_or(0);
        self.screen.feed(&[key]);
        let row = self.screen.cursor().row;
        let Some((_, place)) = self.model.places().into_iter().last() else { return 0 };
        let place = Deck::screen_of(place);
        self.grid.copy_row(place, row, &self.screen.row_cells(row));
        self.grid.mend_row(place.row + row);
        self.encode(&ChangedRows::Only(vec![place.row + row]))
    }

    fn encode(&mut self, rows: &ChangedRows) -> usize {
        self.out.clear();
        self.encoder.encode(&self.grid, rows, &mut self.out);
        self.out.len()
    }
}

/// A command that runs.
fn process(number: u64) -> Option<ProcessView> {
    let id = ProcessId::from_entropy(number).to_string();
    let view = serde_json::json!({"id": id, "name": format!("p{number}"), "kind": "command", "status": "running",
        "pid": 7, "run": 1, "state": null, "parent": null, "task": null, "workspace": "local", "owner": "user",
        "size": {"cols": 86, "rows": 47}, "viewers": 0, "log": {"start": 0, "end": 0}, "argv": ["cat"], "cwd": "/p",
        "started_at": number, "active_at": 0});
    serde_json::from_value(view).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u6_one_key_is_one_row_of_a_few_bytes_and_a_whole_picture_has_all_rows() {
        let mut picture = Picture::default();
        assert!(picture.whole() > 2_000);
        picture.row(0);
        let bytes = picture.row(1);
        assert!((1..120).contains(&bytes), "{bytes}");
    }
    #[test]
    fn u22_every_width_and_every_height_from_1x1_to_300x100_is_drawn_without_a_fault() {
        let mut model = Model::new(SIZE, Config::default().looks, Place::default());
        update(&mut model, Message::Connected((1..=3).filter_map(process).collect()));
        model.deck.open(ProcessId::from_entropy(1));
        model.deck.split(ProcessId::from_entropy(2), Axis::Columns);
        model.deck.split(ProcessId::from_entropy(3), Axis::Rows);
        for cols in 1..=300 {
            // All sizes around the least one; of the others an eighth, in which every width and height occurs.
            for rows in (1..=100).filter(|rows| (cols <= 90 && *rows <= 20) || (cols + 7 * rows) % 8 == 0) {
                let size = Size { cols, rows };
                update(&mut model, Message::Resized(size));
                let mut grid = Grid::new(size);
                view::chrome(&model, &mut grid);
                view::overlays(&model, &mut grid);
                (0..rows).for_each(|row| grid.mend_row(row));
            }
        }
    }
}

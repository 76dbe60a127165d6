//! Random layouts, overlays, sizes, colours and programs: the picture that is drawn piece by piece is the one that is
//! drawn anew, and the terminal shows it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proto::agent::InboxItem;
use proto::event::Event;
use proto::{ProcessId, ProcessView, Size};
use serde_json::json;
use term::{GridSize, Limits};

use super::super::stale::Before;
use super::*;
use crate::config::Config;
use crate::frame::{ColorDepth, Encoder};
use crate::host::InputParser;
use crate::message::Message;
use crate::model::Place;
use crate::update::update;

const PROCESSES: u64 = 5;

/// A screen that no daemon feeds.
struct TestScreen {
    process: Option<ProcessId>,
    screen: Screen,
    drawn: DrawnScreen,
}

impl PlacedScreen for TestScreen {
    fn screen(&self) -> &Screen {
        &self.screen
    }

    fn drawn(&self) -> &DrawnScreen {
        &self.drawn
    }

    fn drawn_mut(&mut self) -> (&Screen, &mut DrawnScreen) {
        (&self.screen, &mut self.drawn)
    }
}

/// Something that changes the picture, or might.
#[derive(Clone, Debug)]
enum Step {
    /// The person types.
    Keys(&'static str),
    /// A program draws.
    Feed {
        pane: usize,
        pieces: Vec<String>,
    },
    /// A process is at something else.
    Changed {
        number: u64,
        what: usize,
    },
    /// The person's terminal has another size.
    Resized(Size),
    /// A question comes or goes.
    Item {
        number: u64,
        is_open: bool,
    },
    Tick(u64),
    /// The person presses the menu key and waits for the menu.
    Menu,
    Told,
}

/// Keys that change the layout, and keys that open and close what lies over it.
const KEYS: [&str; 44] = [
    "\x1cv\r",
    "\x1cv\x1b[B\r",
    "\x1cs\r",
    "\x1cs\x1b[B\r",
    "\x1cg\r",
    "\x1cg\x1b[B\r",
    "\x1cz",
    "\x1ch",
    "\x1cl",
    "\x1cj",
    "\x1ck",
    "\x1cx",
    "\x1c1",
    "\x1c2",
    "\x1cb",
    "\x1c=",
    "\x1crl\x1b",
    "\x1crj\x1b",
    "\x1cMh\x1b",
    "\x1cM",
    "\x1cw",
    "\x1ca",
    "\x1ct",
    "\x1c?",
    "\x1c ",
    "\x1c,",
    "\x1c\t",
    "\x1cC",
    "\x1ce",
    "\x1cm",
    "\x1cX",
    "\x1c.",
    "\x1cp",
    "\x1c[",
    "\x1c",
    "j",
    "k",
    "\r",
    "\x1b",
    "q",
    "2",
    "hello",
    "\x1b[<64;60;10M",
    "\x1b[<0;60;10M",
];

/// What a program may draw: texts, looks, places, links, forms of the cursor, screens.
const PIECES: [&str; 42] = [
    "all work ",
    "漢字",
    "😀 ",
    "e\u{301}",
    "👩\u{200d}🚀",
    "\u{26a0}\u{fe0f}",
    "─✓▸",
    "\r\n",
    "\n",
    "\r",
    "\t",
    "\x08",
    "\x1b[31m",
    "\x1b[1;7m",
    "\x1b[38;5;200m",
    "\x1b[48;2;1;200;77m",
    "\x1b[38;2;9;8;7;9m",
    "\x1b[4:3;58:2::200:10:10m",
    "\x1b[4:5;58:5:99m",
    "\x1b[m",
    "\x1b[H",
    "\x1b[5;9H",
    "\x1b[99;99H",
    "\x1b[K",
    "\x1b[1K",
    "\x1b[2J",
    "\x1b[3X",
    "\x1b[2L",
    "\x1b[2M",
    "\x1b[3@",
    "\x1b[2P",
    "\x1b[2;5r",
    "\x1b[r",
    "\x1b[2S",
    "\x1b[?25l",
    "\x1b[?25h",
    "\x1b[6 q",
    "\x1b]8;;https://a.example\x1b\\",
    "\x1b]8;;\x1b\\",
    "\x1b[?1049h",
    "\x1b[?2026h",
    "\x1b[?2026l",
];

fn step() -> impl Strategy<Value = Step> {
    let piece = prop::sample::select(&PIECES[..]).prop_map(str::to_owned);
    let feed = (0usize..6, prop::collection::vec(piece, 1..12))
        .prop_map(|(pane, pieces)| Step::Feed { pane, pieces });
    let size = (1u16..140, 1u16..45).prop_map(|(cols, rows)| Step::Resized(Size { cols, rows }));
    prop_oneof![
        8 => feed,
        6 => prop::sample::select(&KEYS[..]).prop_map(Step::Keys),
        2 => (1..=PROCESSES, 0usize..7).prop_map(|(number, what)| Step::Changed { number, what }),
        1 => size,
        1 => (1..=PROCESSES, any::<bool>()).prop_map(|(number, is_open)| Step::Item { number, is_open }),
        1 => (0u64..700).prop_map(Step::Tick),
        1 => Just(Step::Menu),
        1 => Just(Step::Told),
    ]
}

fn depth() -> impl Strategy<Value = ColorDepth> {
    prop::sample::select(&[ColorDepth::True, ColorDepth::Indexed, ColorDepth::Basic, ColorDepth::None][..])
}

/// A process as it is after a change.
fn process(number: u64, what: usize) -> ProcessView {
    let changes = [
        json!({}),
        json!({"title": "another title"}),
        json!({"active_at": 99, "viewers": 3}),
        json!({"name": "a-longer-name"}),
        json!({"status": "exited", "pid": null, "exit": {"code": 1, "reason": "exited"}}),
        json!({"kind": "agent", "state": "working", "agent": {"manifest": "m", "state": "working", "since": 5,
            "turn": 1, "mail": 0, "context": {"used": 400, "window": 1000}}}),
        json!({"kind": "agent", "state": "blocked", "agent": {"manifest": "m", "state": "blocked", "since": 5,
            "turn": 1, "mail": 0}}),
    ];
    let id = ProcessId::from_entropy(number).to_string();
    let mut view = json!({"id": id, "name": format!("p{number}"), "kind": "command", "status": "running", "pid": 7,
        "run": 1, "state": null, "parent": null, "task": null, "workspace": "local", "owner": "user",
        "size": {"cols": 80, "rows": 24}, "viewers": 0, "log": {"start": 0, "end": 0}, "argv": ["x"], "cwd": "/p",
        "started_at": number, "active_at": 0});
    view.as_object_mut().unwrap().extend(changes[what].as_object().unwrap().clone());
    serde_json::from_value(view).unwrap()
}

fn item(number: u64) -> InboxItem {
    let id = ProcessId::from_entropy(number).to_string();
    serde_json::from_value(json!({"item": number, "id": id, "name": format!("p{number}"), "kind": "question",
        "title": "May I?", "body": "rm -rf build", "at": 300,
        "options": [{"names": [], "label": "Yes", "keys": []}]}))
    .unwrap()
}

/// A deck, the screens of its panes, and the terminal that its pictures go to.
struct TestDeck {
    model: Model,
    panes: BTreeMap<PaneId, TestScreen>,
    stale: Stale,
    grid: Grid,
    encoder: Encoder,
    depth: ColorDepth,
    terminal: Screen,
}

impl TestDeck {
    fn new(depth: ColorDepth) -> Self {
        let size = Size { cols: 100, rows: 30 };
        let mut model = Model::new(size, Config::default().looks, Place::default());
        update(&mut model, Message::Connected((1..=PROCESSES).map(|number| process(number, 0)).collect()));
        model.deck.open(ProcessId::from_entropy(1));
        Self {
            model,
            panes: BTreeMap::new(),
            stale: Stale { by_person: true, by_event: false },
            grid: Grid::new(size),
            encoder: Encoder::new(depth),
            depth,
            terminal: screen(size),
        }
    }

    fn update_model(&mut self, message: Message) {
        let before = Before::of(&self.model, &message);
        let commands = update(&mut self.model, message);
        self.stale.add(before.stale_after(&self.model, &commands));
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Keys(keys) => {
                let mut events = Vec::new();
                let mut parser = InputParser::default();
                parser.feed(keys.as_bytes(), &mut events);
                parser.release(&mut events);
                events.into_iter().for_each(|event| self.update_model(Message::Input(event)));
            }
            Step::Feed { pane, pieces } => {
                let count = self.panes.len().max(1);
                let pane = self.panes.values_mut().nth(pane % count);
                pane.into_iter().for_each(|pane| pane.screen.feed(pieces.concat().as_bytes()));
            }
            Step::Changed { number, what } => {
                self.update_model(Message::Happened(Event::Changed(Box::new(process(*number, *what)))));
            }
            Step::Resized(size) => {
                self.terminal = screen(*size);
                self.encoder.forget();
                self.update_model(Message::Resized(*size));
            }
            Step::Item { number, is_open: true } => {
                self.update_model(Message::Happened(Event::ItemOpened(Box::new(item(*number)))));
            }
            Step::Item { number, is_open: false } => {
                self.update_model(Message::Happened(Event::ItemClosed { item: *number }));
            }
            Step::Tick(ms) => {
                self.model.now.ms += ms;
                self.update_model(Message::Tick);
            }
            Step::Menu => {
                self.take(&Step::Keys("\x1c"));
                self.take(&Step::Tick(400));
            }
            Step::Told => self.update_model(Message::Copied("3 bytes are copied".to_owned())),
        }
    }

    /// Gives every pane that is shown a screen of its size, and drops the others, as the loop does.
    fn place_screens(&mut self) {
        let mut wanted = BTreeMap::new();
        for (id, place) in self.model.places() {
            wanted.insert(id, (self.model.process_of(id), Deck::screen_of(place)));
        }
        wanted.extend(self.peek().map(|place| (INBOX_PEEK, (None, place))));
        let is_same = |id: &PaneId, pane: &TestScreen| {
            wanted.get(id).is_some_and(|(process, _)| *process == pane.process)
        };
        self.panes.retain(|id, pane| is_same(id, pane));
        for (id, (process, place)) in wanted {
            let size = Size { cols: place.cols, rows: place.rows }.clamped();
            let pane = self.panes.entry(id).or_insert_with(|| TestScreen {
                process,
                screen: screen(size),
                drawn: DrawnScreen::default(),
            });
            pane.screen.resize(GridSize::clamped(size.cols.into(), size.rows.into()));
        }
    }

    fn peek(&self) -> Option<Rect> {
        view::inbox::peek_place(&self.model)
    }

    /// Draws what has changed, and compares it with a picture that is drawn anew and with what the terminal shows.
    fn draw_and_compare(&mut self) {
        let peek = self.peek();
        let composition = Composition { model: &self.model, panes: &mut self.panes, peek, popup: None };
        let rows = composition.draw(&mut self.grid, std::mem::take(&mut self.stale));
        let mut bytes = Vec::new();
        self.encoder.encode(&self.grid, &rows, &mut bytes);
        self.terminal.feed(&bytes);
        let composition = Composition { model: &self.model, panes: &mut self.panes, peek, popup: None };
        let mut fresh = Grid::new(self.model.size);
        composition.draw(&mut fresh, Stale { by_person: true, by_event: false });
        for row in 0..fresh.size().rows {
            assert!(self.grid.row(row) == fresh.row(row), "row {row}\n{}", differences(&self.grid, &fresh));
        }
        assert_eq!(self.grid.cursor, fresh.cursor);
        self.assert_shown();
    }

    fn assert_shown(&self) {
        for row in 0..self.grid.size().rows {
            for (col, (shown, cell)) in
                self.terminal.row_cells(row).iter().zip(self.grid.row(row)).enumerate()
            {
                let mut wanted = cell.clone();
                wanted.style = self.depth.fit(wanted.style);
                assert_eq!(*shown, wanted, "row {row}, column {col} of\n{}", self.grid.to_text());
            }
        }
        let cursor = self.terminal.cursor();
        assert_eq!(cursor.visible, self.grid.cursor.is_some());
        if let Some(shown) = self.grid.cursor {
            assert_eq!((cursor.col, cursor.row), (shown.at.col, shown.at.row));
            assert_eq!(cursor.is_chosen.then_some((cursor.shape, cursor.blinking)), shown.form);
        }
    }
}

fn screen(size: Size) -> Screen {
    Screen::new(GridSize::clamped(size.cols.into(), size.rows.into()), Limits { history_lines: 0 })
}

fn differences(drawn: &Grid, fresh: &Grid) -> String {
    format!("piece by piece:\n{}\nanew:\n{}", drawn.to_text(), fresh.to_text())
}

/// The deck with these panes beside each other from the beginning, so that few steps are spent on opening them.
fn with_panes(depth: ColorDepth, axes: &[bool]) -> TestDeck {
    use crate::model::splits::Axis;
    let mut deck = TestDeck::new(depth);
    for (number, is_columns) in (2..).zip(axes) {
        let axis = if *is_columns { Axis::Columns } else { Axis::Rows };
        deck.model.deck.split(ProcessId::from_entropy(number), axis);
    }
    deck.place_screens();
    deck.draw_and_compare();
    deck
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 48 } else { 256 }))]

    #[test]
    fn u7_a_picture_that_is_drawn_piece_by_piece_is_the_one_that_is_drawn_anew(
        depth in depth(),
        axes in prop::collection::vec(any::<bool>(), 0..4),
        steps in prop::collection::vec((step(), any::<bool>()), 1..40),
    ) {
        let mut deck = with_panes(depth, &axes);
        for (step, is_placed_later) in &steps {
            deck.take(step);
            // A pane gets its new size at a pace: a picture may come before it.
            if *is_placed_later {
                deck.draw_and_compare();
            }
            deck.place_screens();
            deck.draw_and_compare();
        }
    }
}

#[test]
fn u7_a_program_that_draws_does_not_draw_over_the_menu() {
    let mut deck = with_panes(ColorDepth::True, &[true]);
    deck.take(&Step::Menu);
    deck.draw_and_compare();
    let lines: String = (0..60).map(|number| format!("line {number} of a program that draws\r\n")).collect();
    deck.take(&Step::Feed { pane: 0, pieces: vec![lines] });
    deck.draw_and_compare();
    assert!(deck.grid.to_text().contains("leave"), "{}", deck.grid.to_text());
    assert_eq!(deck.grid.cursor, None, "no cursor stands in the menu");
}

#[test]
fn u34_a_picture_that_is_drawn_anew_shows_nothing_of_an_update_that_is_half_done() {
    let mut deck = with_panes(ColorDepth::True, &[true]);
    let (focused, _) = deck.model.deck.focused().unwrap();
    let feed = |deck: &mut TestDeck, bytes: &[u8]| deck.panes.get_mut(&focused).unwrap().screen.feed(bytes);
    feed(&mut deck, b"a whole picture");
    deck.draw_and_compare();
    let (text, cursor) = (deck.grid.to_text(), deck.grid.cursor);
    assert!(text.contains("a whole picture"), "{text}");
    feed(&mut deck, b"\x1b[?2026h\x1b[2J\x1b[9;9Hhalf of ");
    for step in [Step::Changed { number: 2, what: 3 }, Step::Told, Step::Menu, Step::Keys("\x1b")] {
        deck.take(&step);
        deck.draw_and_compare();
        let text = deck.grid.to_text();
        assert!(text.contains("a whole picture") && !text.contains("half of"), "{step:?}\n{text}");
    }
    assert_eq!(deck.grid.cursor, cursor);
    feed(&mut deck, b"the next one\x1b[?2026l");
    deck.draw_and_compare();
    let text = deck.grid.to_text();
    assert!(text.contains("half of the next one") && !text.contains("a whole picture"), "{text}");
}

#[test]
fn u7_a_key_in_a_pane_is_drawn_by_its_row_alone() {
    let mut deck = with_panes(ColorDepth::True, &[true, false]);
    let first = *deck.panes.keys().next().unwrap();
    deck.panes.get_mut(&first).unwrap().screen.feed(b"k");
    let (model, panes) = (&deck.model, &mut deck.panes);
    let composition = Composition { model, panes, peek: None, popup: None };
    let rows = composition.draw(&mut deck.grid, Stale::default());
    assert!(matches!(&rows, ChangedRows::Only(rows) if rows.len() == 1), "{rows:?}");
}

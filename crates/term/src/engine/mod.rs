//! The grid, kept by a third-party emulator. Only this directory names that emulator: everything leaves it in
//! our own types, so replacing the emulator means rewriting this directory. Strings (OSC, DCS, APC) and
//! images never reach it.
//!
//! The emulator hides parts of its state: the inactive grid, scroll region, tab stops and keyboard stacks.
//! [`Terminal`] sits between parser and emulator, sees every operation and keeps a copy of the hidden state.
//! Exact checkpoints depend on it.

mod ascii_text;
mod charset;
mod clear;
mod convert;
mod edit;
mod fast_cells;
mod fast_csi;
mod handler;
mod keyboard;
mod overline;
mod own_modes;
mod query;
mod rebuild;
mod reflow;
mod region;
mod repetition;
mod tabs;
mod terminal;
mod view;
mod width;
mod work;

use rio_vt::crosswords::grid::row::SemanticPrompt;
use rio_vt::crosswords::{Mode, TermDamage};
use rio_vt::performer::handler::{Handler, Processor};

pub(crate) use charset::Shifts;
pub(crate) use keyboard::Keyboard;
pub(crate) use rebuild::{GridBuilder, PenState, RawCell, Registers};
pub(crate) use terminal::Outbox;
pub(crate) use view::{CellView, GridView, RowView, StyleKey, Width};

use crate::modes::{Cursor, Modes};
use crate::scan::{Numbers, is_special};
use crate::size::GridSize;
use ascii_text::{is_word, printable_length};
use overline::{OVERLINE, Part};
use terminal::Terminal;

/// How much of a screen changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// Nothing visible.
    Nothing,
    /// The rows that were passed on.
    Rows,
    /// All of it.
    Everything,
}

/// Which of the two grids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The one with history.
    Main,
    /// The one of full-screen programs.
    Alternate,
}

/// One emulator with its parser.
pub(crate) struct Engine {
    terminal: Terminal,
    parser: Processor,
    history_lines: usize,
    fail_next: bool,
}

impl Engine {
    /// Creates a blank terminal.
    pub(crate) fn new(size: GridSize, history_lines: usize) -> Engine {
        Engine {
            terminal: Terminal::new(size, history_lines),
            parser: Processor::default(),
            history_lines,
            fail_next: false,
        }
    }

    /// Replaces a failed terminal by a blank one that keeps the outbox.
    pub(crate) fn fresh(&mut self, size: GridSize) -> Engine {
        let mut fresh = Engine::new(size, self.history_lines);
        fresh.terminal.work = self.terminal.work.carried_over();
        fresh.terminal.outbox = std::mem::take(&mut self.terminal.outbox);
        fresh
    }

    /// Executes one whole sequence of the kinds that make up most of a repaint.
    pub(crate) fn fast_csi(&mut self, sequence: &[u8], numbers: &Numbers) {
        let is_applied =
            sequence.last().is_some_and(|last| fast_csi::apply(*last, numbers, &mut self.terminal));
        if is_applied {
            self.terminal.repetition.earn(sequence.len());
        } else if is_special(sequence) {
            self.special(sequence);
        } else {
            self.advance(sequence);
        }
    }

    /// Feeds whole sequences and whole characters, without strings.
    pub(crate) fn advance(&mut self, bytes: &[u8]) {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.advance_text(text),
            Err(_) => self.advance_broken(bytes),
        }
    }

    /// Like [`Engine::advance`], for text that is known to be valid.
    pub(crate) fn advance_text(&mut self, text: &str) {
        self.begin(text.len());
        match is_word(text.as_bytes()) {
            true => self.terminal.input_ascii_str(text),
            false => self.advance_lines(text),
        }
    }

    /// Executes lines of text. The parser gets everything from the first control character on that does not end a line.
    fn advance_lines(&mut self, text: &str) {
        let mut rest = text;
        while let Some(&first) = rest.as_bytes().first() {
            let length = match first {
                b'\r' => {
                    self.terminal.carriage_return();
                    1
                }
                b'\n' => {
                    self.terminal.linefeed();
                    1
                }
                0x20..=0x7e => {
                    let length = printable_length(rest.as_bytes());
                    self.terminal.input_ascii_str(&rest[..length]);
                    length
                }
                // Clusters are made character by character; without them the parser's way is faster.
                0xc2.. if self.terminal.inner.mode().contains(Mode::GRAPHEME_CLUSTER) => {
                    match rest.chars().next() {
                        Some(character) if !is_control(character) => {
                            self.terminal.input(character);
                            character.len_utf8()
                        }
                        _ => return self.parser.advance(&mut self.terminal, rest.as_bytes()),
                    }
                }
                _ => return self.parser.advance(&mut self.terminal, rest.as_bytes()),
            };
            rest = &rest[length..];
        }
    }

    /// Like [`Engine::advance`], but sends every byte through the parser.
    #[cfg(test)]
    pub(crate) fn parse(&mut self, bytes: &[u8]) {
        match std::str::from_utf8(bytes) {
            Ok(_) => {
                self.begin(bytes.len());
                self.parser.advance(&mut self.terminal, bytes);
            }
            Err(_) => self.advance_broken(bytes),
        }
    }

    /// Prepares for input: fails if a test asked for it, and earns the stream its budget.
    fn begin(&mut self, bytes: usize) {
        if std::mem::take(&mut self.fail_next) {
            std::panic::resume_unwind(Box::new("failpoint in the emulator"));
        }
        self.terminal.repetition.earn(bytes);
    }

    /// Adds work that was done for the stream outside of its operations.
    pub(crate) fn spend(&mut self, units: u64) {
        self.terminal.work.spend(units);
    }

    /// Returns the cost of everything that was fed so far.
    pub(crate) fn work(&self) -> u64 {
        self.terminal.work.spent()
    }

    /// Feeds bytes with invalid characters. The emulator's decoder returns stale characters after an invalid
    /// one, so each becomes a replacement character here, and bare C1 bytes are dropped.
    fn advance_broken(&mut self, bytes: &[u8]) {
        self.begin(bytes.len());
        for chunk in bytes.utf8_chunks() {
            self.parser.advance(&mut self.terminal, chunk.valid().as_bytes());
            if !matches!(chunk.invalid(), [] | [0x80..=0x9f]) {
                self.parser.advance(&mut self.terminal, "\u{fffd}".as_bytes());
            }
        }
    }

    /// Executes a control sequence that the parser does not know.
    pub(crate) fn special(&mut self, sequence: &[u8]) {
        self.terminal.repetition.earn(sequence.len());
        match sequence {
            [_, b'[', parameters @ .., b'm'] if parameters.first() != Some(&b'?') => self.looks(parameters),
            _ => self.terminal.special(sequence),
        }
    }

    /// Applies the parameters of an SGR sequence that contains overline.
    fn looks(&mut self, parameters: &[u8]) {
        for part in overline::parts(parameters) {
            match part {
                Part::Other(parameters) => {
                    let sequence = [b"\x1b[", parameters, b"m"].concat();
                    self.parser.advance(&mut self.terminal, &sequence);
                }
                Part::Overline(on) => {
                    let grid = &mut self.terminal.inner.grid;
                    grid.update_template_style(|style| style.flags.set(OVERLINE, on));
                }
            }
        }
    }

    /// Makes the next [`Engine::advance`] fail, for tests.
    pub(crate) fn fail_next(&mut self) {
        self.fail_next = true;
    }

    /// Marks the row of the cursor as the beginning of a prompt.
    pub(crate) fn mark_prompt(&mut self) {
        let grid = &mut self.terminal.inner.grid;
        let row = grid.cursor.pos.row;
        grid[row].semantic_prompt = SemanticPrompt::Prompt;
    }

    /// Returns replies, facts and title.
    pub(crate) fn outbox(&mut self) -> &mut Outbox {
        &mut self.terminal.outbox
    }

    /// Returns replies, facts and title, to read.
    pub(crate) fn outbox_ref(&self) -> &Outbox {
        &self.terminal.outbox
    }

    /// Changes both grids; the main one re-wraps its lines.
    pub(crate) fn resize(&mut self, size: GridSize) {
        self.terminal.resize(size);
    }

    /// Returns the size of both grids.
    pub(crate) fn size(&self) -> GridSize {
        self.terminal.size()
    }

    /// Opens or closes a hyperlink for the characters that are printed next.
    pub(crate) fn set_link(&mut self, link: Option<(&str, &str)>) {
        self.terminal.set_link(link);
    }

    /// Returns true while the child holds updates back (mode 2026).
    pub(crate) fn is_synchronizing(&self) -> bool {
        self.terminal.inner.synchronized_output()
    }

    /// Starts or ends holding updates back.
    pub(crate) fn set_synchronizing(&mut self, on: bool) {
        use rio_vt::ansi::mode::NamedPrivateMode;
        match on {
            true => self.terminal.inner.set_private_mode(NamedPrivateMode::SyncUpdate.into()),
            false => self.terminal.inner.end_sync_update(),
        }
    }

    /// Returns how much changed since the last call, and passes each changed row to `on_row`.
    pub(crate) fn take_changed(&mut self, mut on_row: impl FnMut(u16)) -> Changed {
        if self.terminal.inner.peek_damage_event().is_none() {
            return Changed::Nothing;
        }
        let changed = match self.terminal.inner.damage() {
            TermDamage::Full => Changed::Everything,
            TermDamage::Partial(lines) => {
                lines.filter_map(|line| u16::try_from(line.line).ok()).for_each(&mut on_row);
                Changed::Rows
            }
        };
        self.terminal.inner.reset_damage();
        changed
    }

    /// Returns true while the alternate grid is shown.
    pub(crate) fn is_alternate(&self) -> bool {
        self.terminal.main.is_some()
    }

    /// Returns the visible grid.
    pub(crate) fn visible(&self) -> GridView<'_> {
        GridView::new(&self.terminal.inner.grid)
    }

    /// Returns the grid with the history, visible or not.
    pub(crate) fn main(&self) -> GridView<'_> {
        GridView::new(self.terminal.main_grid())
    }

    /// Returns the cursor of the visible grid.
    pub(crate) fn cursor(&self) -> Cursor {
        self.terminal.cursor()
    }

    /// Returns all modes.
    pub(crate) fn modes(&self) -> Modes {
        self.terminal.modes()
    }

    /// Returns the state outside of the grids, to save.
    pub(crate) fn registers(&self) -> Registers {
        self.terminal.registers()
    }

    /// Sets the state outside of the grids and which grid is visible. Grids are filled through
    /// [`Engine::builder`] afterwards.
    pub(crate) fn set_registers(&mut self, registers: &Registers, alternate: bool) {
        self.terminal.set_registers(registers, alternate);
    }

    /// Writes cells straight into a grid.
    pub(crate) fn builder(&mut self, which: Which) -> Option<GridBuilder<'_>> {
        let grid = match (which, self.terminal.main.as_mut()) {
            (Which::Main, Some(main)) => main,
            (Which::Main, None) => &mut self.terminal.inner.grid,
            (Which::Alternate, Some(_)) => &mut self.terminal.inner.grid,
            (Which::Alternate, None) => return None,
        };
        Some(GridBuilder::new(grid, self.history_lines))
    }
}

/// Returns true for the control characters that have two bytes (C1).
#[inline]
fn is_control(character: char) -> bool {
    matches!(character, '\u{80}'..='\u{9f}')
}

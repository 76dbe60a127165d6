//! The emulated terminal of one run: feeding, size, replies, facts. Its views (text, repaint, damage,
//! checkpoint) are in their own files. A failure of the emulator resets this one screen and becomes a fact.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::cell::{Cell, CellRow, CellText};
use crate::colors::{ColorTable, Scheme};
use crate::damage::{Damage, Tracker};
use crate::dcs;
use crate::engine::{Engine, RowView, Width};
use crate::fact::Fact;
use crate::modes::{Cursor, Modes};
use crate::osc;
use crate::reply;
use crate::scan::{Numbers, Scanner, Sink, StringKind};
use crate::size::GridSize;
use crate::status::StatusReport;
use crate::text::LineId;

/// A synchronized update is shown after this many bytes even if the child never ends it.
const SYNC_BYTES_MAX: u64 = 1024 * 1024;
/// The bytes between two checks of their cost. Operations that may cost much by themselves are checked one by
/// one.
const PIECE: usize = 4096;
/// The same where each byte costs more than [`COSTLY`].
const SMALL_PIECE: usize = 256;
const COSTLY: u64 = 16;
/// The cost of handling a string, besides its bytes.
const STRING: u64 = 32;
/// The most history that a screen may be asked to keep.
const HISTORY_MAX: usize = 1_000_000;

/// What a screen may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Lines of history above the screen.
    pub history_lines: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { history_lines: 10_000 }
    }
}

impl Limits {
    pub(crate) fn history(self) -> usize {
        self.history_lines.min(HISTORY_MAX)
    }
}

/// One emulated terminal.
///
/// Bytes may be cut anywhere between two calls of [`Screen::feed`]; the result is the same as in one piece.
/// The caller must send replies to the child, in order.
pub struct Screen {
    body: Body,
    scanner: Scanner,
    tracker: Tracker,
    /// Cursor and modes at the last published version.
    shown: (Cursor, Modes),
    /// Bytes since the child began to hold updates back.
    sync_bytes: u64,
    /// How many bytes are fed before their cost is checked.
    piece: usize,
}

impl Screen {
    /// Creates a blank screen.
    pub fn new(size: GridSize, limits: Limits) -> Screen {
        let size = size.sane();
        Screen::assemble(Engine::new(size, limits.history()), Scanner::default(), 1)
    }

    /// Feeds the next bytes that the child wrote.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.feed_within(bytes, u64::MAX);
    }

    /// Feeds the next bytes that the child wrote until they have cost this much work, and returns how many
    /// were used. One operation is never cut, so the cost may exceed `work` by one operation: as much as a
    /// screen or two full of cells.
    pub fn feed_within(&mut self, bytes: &[u8], work: u64) -> usize {
        self.body.expect_lines(bytes.len());
        self.body.limit = self.work().saturating_add(work);
        let mut taken = 0;
        while taken < bytes.len() && !self.body.is_spent() {
            let before = self.work();
            let end = bytes.len().min(taken + self.piece);
            let took = self.scanner.feed(&bytes[taken..end], &mut self.body);
            taken += took;
            self.body.engine.spend(took as u64);
            let is_costly = self.work() - before > took as u64 * COSTLY;
            self.piece = if is_costly { SMALL_PIECE } else { PIECE };
        }
        self.publish(taken);
        taken
    }

    /// Returns the cost of everything so far, in units of about one byte of ordinary text.
    pub fn work(&self) -> u64 {
        self.body.engine.work()
    }

    /// Changes the size; lines of the main grid wrap again. An equal size changes nothing.
    pub fn resize(&mut self, size: GridSize) {
        let size = size.sane();
        if size == self.size() {
            return;
        }
        let columns_change = size.cols != self.size().cols;
        let (first, next) = (self.first_line().0, self.next_line().0);
        self.body.expect_lines(0);
        self.body.size = size;
        self.body.guarded(|engine| engine.resize(size));
        if columns_change {
            self.deal_line_ids(first, next);
        }
        self.body.engine.take_changed(drop);
        self.tracker.resize(size.rows);
        self.shown = (self.cursor(), self.modes());
        self.sync_bytes = 0;
    }

    /// Returns the answers to terminal queries, in stream order. At most 4 KiB wait here; beyond that the
    /// oldest are dropped.
    pub fn take_replies(&mut self) -> Vec<u8> {
        self.body.engine.outbox().replies.take()
    }

    /// Returns how many answers were dropped since the last call: the child asked faster than it read.
    pub fn take_dropped_replies(&mut self) -> u64 {
        self.body.engine.outbox().replies.take_dropped()
    }

    /// Records the colours that the last viewer's terminal shows and whether it is light or dark. A child
    /// that asked for it gets a report when the scheme changes.
    pub fn set_viewer_colors(&mut self, shown: ColorTable, scheme: Option<Scheme>) {
        let is_told = self.modes().color_scheme_updates;
        let outbox = self.body.engine.outbox();
        let before = outbox.colors.scheme();
        (outbox.colors.shown, outbox.colors.scheme) = (shown, scheme);
        if let Some(scheme) = outbox.colors.scheme().filter(|scheme| is_told && before != Some(*scheme)) {
            outbox.replies.push(reply::scheme_report(scheme));
        }
    }

    /// Returns what the terminal of the last viewer shows, and whether it says that it is light or dark.
    pub fn viewer_colors(&self) -> (&ColorTable, Option<Scheme>) {
        let colors = &self.body.engine.outbox_ref().colors;
        (&colors.shown, colors.scheme)
    }

    /// Returns the facts since the last call, in stream order; only the newest of a kind where only that
    /// counts.
    pub fn take_facts(&mut self) -> Vec<Fact> {
        self.body.engine.outbox().facts.take()
    }

    /// Returns a number that grows whenever visible content, cursor, modes or size change. While the child
    /// holds updates back (mode 2026) it does not change, at most for a mebibyte of output or until
    /// [`Screen::release_sync`].
    pub fn version(&self) -> u64 {
        self.tracker.version()
    }

    /// Returns what changed after a version.
    pub fn damage(&self, since: u64) -> Damage {
        self.tracker.since(since)
    }

    /// Returns true while the child holds updates back. The caller, who has a clock, releases them after 150
    /// ms.
    pub fn is_synchronizing(&self) -> bool {
        self.body.engine.is_synchronizing()
    }

    /// Ends a synchronized update that the child did not end.
    pub fn release_sync(&mut self) {
        self.body.engine.set_synchronizing(false);
        self.publish(0);
    }

    /// Returns the number of bytes fed last that belong to an unfinished sequence or character and are not on
    /// the screen yet. Live bytes after a repaint begin with them.
    pub fn unfinished_bytes(&self) -> usize {
        self.scanner.unfinished().0.len()
    }

    /// Returns the size in cells.
    pub fn size(&self) -> GridSize {
        self.body.engine.size()
    }

    /// Returns the cursor of the visible grid.
    pub fn cursor(&self) -> Cursor {
        self.body.engine.cursor()
    }

    /// Returns true while the alternate screen is shown.
    pub fn is_alternate(&self) -> bool {
        self.body.engine.is_alternate()
    }

    /// Returns the title, free of control characters; empty when none was set.
    pub fn title(&self) -> &str {
        &self.body.engine.outbox_ref().title
    }

    /// Returns all modes.
    pub fn modes(&self) -> Modes {
        self.body.engine.modes()
    }

    /// Returns the last status report of every program in the terminal, least recently updated first.
    pub fn program_status(&self) -> &[StatusReport] {
        self.body.engine.outbox_ref().status.records()
    }

    /// Returns the cells of a visible row, one per column; empty when there is no such row.
    pub fn row_cells(&self, row: u16) -> Vec<Cell> {
        self.body.engine.visible().screen_row(usize::from(row)).map(styled_cells).unwrap_or_default()
    }

    /// Returns a visible row; `None` when there is no such row.
    pub fn visible_row(&self, row: u16) -> Option<CellRow> {
        self.body.engine.visible().screen_row(usize::from(row)).map(styled_row)
    }

    /// Returns the row of history or main screen with this id; `None` when it is gone or does not exist yet.
    pub fn line_row(&self, id: LineId) -> Option<CellRow> {
        let index = usize::try_from(id.0.checked_sub(self.first_line().0)?).ok()?;
        self.body.engine.main().row(index).map(styled_row)
    }

    /// Replaces a screen that cannot be trusted any more by a blank one of this size. Versions and line ids
    /// continue.
    pub fn reset_display(&mut self, size: GridSize) {
        let size = size.sane();
        let body = &self.body;
        let next = catch_unwind(AssertUnwindSafe(|| body.next_line())).unwrap_or(body.beyond);
        self.body.size = size;
        self.body.engine = self.body.engine.fresh(size);
        self.body.line_base = next.max(self.body.beyond);
        self.body.engine.outbox().facts.push(Fact::DisplayReset);
        self.body.engine.take_changed(drop);
        self.scanner = Scanner::default();
        self.tracker.resize(size.rows);
        self.shown = (self.cursor(), self.modes());
        self.sync_bytes = 0;
    }

    /// Makes the emulator fail at its next input, to test what happens then.
    #[doc(hidden)]
    pub fn fail_engine_once(&mut self) {
        self.body.engine.fail_next();
    }

    pub(crate) fn assemble(engine: Engine, scanner: Scanner, version: u64) -> Screen {
        let shown = (engine.cursor(), engine.modes());
        let tracker = Tracker::new(engine.size().rows, version);
        let mut screen = Screen {
            body: Body { size: engine.size(), engine, line_base: 0, beyond: 0, limit: u64::MAX },
            scanner,
            tracker,
            shown,
            sync_bytes: 0,
            piece: PIECE,
        };
        screen.body.engine.take_changed(drop);
        screen
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.body.engine
    }

    pub(crate) fn scanner(&self) -> &Scanner {
        &self.scanner
    }

    pub(crate) fn line_base(&self) -> u64 {
        self.body.line_base
    }

    pub(crate) fn set_line_base(&mut self, base: u64) {
        self.body.line_base = base;
    }

    pub(crate) fn sync_bytes(&self) -> u64 {
        self.sync_bytes
    }

    pub(crate) fn set_sync_bytes(&mut self, bytes: u64) {
        self.sync_bytes = bytes;
    }

    /// Makes changes visible to readers, unless the child holds them back.
    fn publish(&mut self, fed: usize) {
        if self.body.engine.is_synchronizing() {
            self.sync_bytes += fed as u64;
            if self.sync_bytes <= SYNC_BYTES_MAX {
                return;
            }
            self.body.engine.set_synchronizing(false);
        }
        self.sync_bytes = 0;
        let tracker = &mut self.tracker;
        let changed = self.body.engine.take_changed(|row| tracker.mark(row));
        let now = (self.cursor(), self.modes());
        self.tracker.note(changed, now != self.shown);
        self.shown = now;
    }

    /// Assigns line ids after wrapping: from the bottom up, and neither end ever goes back.
    fn deal_line_ids(&mut self, first_before: u64, next_before: u64) {
        let main = self.body.engine.main();
        let total = (main.history() + main.rows()) as u64;
        let next = next_before.max(first_before + total);
        self.body.line_base = (next - total).wrapping_sub(main.evicted());
    }
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Screen")
            .field("size", &self.size())
            .field("version", &self.version())
            .field("title", &self.title())
            .finish_non_exhaustive()
    }
}

/// The emulator and what must survive its failure.
struct Body {
    engine: Engine,
    /// The engine's size: a failed one cannot be asked, and asking before each operation would cost as much as a word.
    size: GridSize,
    /// Added to the emulator's row numbers, wrapping, to make line ids.
    line_base: u64,
    /// Every line that the current input creates has a lower id than this.
    beyond: u64,
    /// The work at which feeding stops for now.
    limit: u64,
}

impl Body {
    /// Prepares for input of this many bytes, each of which creates one line at most. This is computed once
    /// per input: an emulator that has failed cannot be asked any more.
    fn expect_lines(&mut self, bytes: usize) {
        self.beyond = self.next_line() + bytes as u64;
    }

    /// Runs an operation of the emulator. When it fails, a blank one of the same size replaces it.
    #[inline(always)]
    fn guarded(&mut self, operation: impl FnOnce(&mut Engine)) {
        let engine = &mut self.engine;
        if catch_unwind(AssertUnwindSafe(|| operation(engine))).is_err() {
            self.engine = self.engine.fresh(self.size);
            self.line_base = self.beyond;
            self.engine.outbox().facts.push(Fact::DisplayReset);
        }
    }

    fn next_line(&self) -> u64 {
        let main = self.engine.main();
        self.line_base.wrapping_add(main.evicted()) + (main.history() + main.rows()) as u64
    }
}

impl Sink for Body {
    fn run(&mut self, bytes: &[u8]) {
        self.guarded(|engine| engine.advance(bytes));
    }

    #[inline(always)]
    fn valid_run(&mut self, text: &str) {
        self.guarded(|engine| engine.advance_text(text));
    }

    #[inline]
    fn fast_csi(&mut self, sequence: &[u8], numbers: &Numbers) {
        self.guarded(|engine| engine.fast_csi(sequence, numbers));
    }

    fn special(&mut self, sequence: &[u8]) {
        self.guarded(|engine| engine.special(sequence));
    }

    fn is_spent(&self) -> bool {
        self.engine.work() >= self.limit
    }

    fn string(&mut self, kind: StringKind, payload: &[u8], terminator: &'static str) {
        self.engine.spend(STRING);
        self.guarded(|engine| match kind {
            StringKind::Osc => osc::dispatch(engine, payload, terminator),
            StringKind::Dcs => dcs::dispatch(engine, payload),
            StringKind::Apc | StringKind::Ignored => {}
        });
    }
}

fn styled_row(row: RowView<'_>) -> CellRow {
    CellRow { cells: styled_cells(row), is_wrapped: row.is_wrapped(), is_prompt: row.is_prompt() }
}

fn styled_cells(row: RowView<'_>) -> Vec<Cell> {
    let mut last_link: Option<(&str, Arc<str>)> = None;
    let mut cells = Vec::with_capacity(row.len());
    for cell in row.shown_cells() {
        let mut text = CellText::EMPTY;
        match (cell.width(), cell.character()) {
            (Width::Spacer, _) => {}
            (_, '\0' | '\t') => text.push(' '),
            (_, character) => {
                text.push(character);
                cell.marks().iter().for_each(|&mark| text.push(mark));
            }
        }
        let link = cell.link().map(|(_, target)| match &last_link {
            Some((known, shared)) if *known == target => shared.clone(),
            _ => Arc::from(target),
        });
        last_link = cell.link().map(|(_, target)| target).zip(link.clone());
        let width = match cell.width() {
            Width::Narrow | Width::LeadingSpacer => 1,
            Width::Wide => 2,
            Width::Spacer => 0,
        };
        cells.push(Cell { text, style: row.style(cell.style_key()), width, link });
    }
    cells
}

#[cfg(test)]
mod plain_path;

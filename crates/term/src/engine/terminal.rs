//! The emulator together with the state that it hides: the grid that is not shown, modes and the outbox.
//! `handler` has the operations of the stream.

use rio_vt::ansi::CursorShape as ForeignShape;
use rio_vt::crosswords::grid::{Dimensions, Grid};
use rio_vt::crosswords::pos::{Column, Line};
use rio_vt::crosswords::square::{Hyperlink, Square, Wide};
use rio_vt::crosswords::{Crosswords, CrosswordsSize, Mode};
use rio_vt::event::{VoidListener, WindowId};
use rio_vt::performer::handler::Handler;

use super::charset::Charsets;
use super::keyboard::Keyboards;
use super::own_modes::OwnModes;
use super::region::ScrollRegion;
use super::repetition::Repetition;
use super::tabs::TabStops;
use super::work::Work;
use crate::colors::Colors;
use crate::fact::{Fact, FactLog, printable};
use crate::modes::{Cursor, CursorShape, Modes, MouseEncoding, MouseTracking};
use crate::reply::ReplyQueue;
use crate::size::GridSize;
use crate::status::StatusTable;

/// The most marks that join a character. More are dropped, because each costs memory and none is visible.
pub(super) const MARKS_MAX: usize = 8;
/// Longest title.
const TITLE_MAX: usize = 1024;
/// The most titles that a child may push.
pub(crate) const TITLE_STACK_MAX: usize = 16;
/// Everything that a stream produces besides the grid.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// Answers to queries.
    pub(crate) replies: ReplyQueue,
    /// Facts that the caller has not collected yet.
    pub(crate) facts: FactLog,
    /// The status reports of programs.
    pub(crate) status: StatusTable,
    /// Colours, set and shown.
    pub(crate) colors: Colors,
    /// The current title.
    pub(crate) title: String,
    /// Titles pushed away, oldest first.
    pub(crate) title_stack: Vec<String>,
}

impl Outbox {
    /// Sets a new title from the stream, cleaned and cut.
    pub(crate) fn set_title(&mut self, title: &str) {
        let title = printable(title, TITLE_MAX);
        if title != self.title {
            self.title = title;
            self.facts.push(Fact::Title(self.title.clone()));
        }
    }

    pub(super) fn push_title(&mut self) {
        if self.title_stack.len() >= TITLE_STACK_MAX {
            self.title_stack.remove(0);
        }
        self.title_stack.push(self.title.clone());
    }

    pub(super) fn pop_title(&mut self) {
        if let Some(title) = self.title_stack.pop() {
            self.set_title(&title);
        }
    }
}

/// The emulator and a copy of the state that it hides.
pub(super) struct Terminal {
    pub(super) inner: Crosswords<VoidListener>,
    /// The main grid while the alternate one is visible. The emulator would hide it; kept here, it can be
    /// read, saved and resized.
    pub(super) main: Option<Grid<Square>>,
    pub(super) region: ScrollRegion,
    pub(super) tabs: TabStops,
    pub(super) charsets: Charsets,
    pub(super) keyboards: Keyboards,
    pub(super) own_modes: OwnModes,
    pub(super) repetition: Repetition,
    /// The cost of everything so far.
    pub(super) work: Work,
    pub(super) outbox: Outbox,
}

/// Returns a grid that stands where none is needed.
fn placeholder() -> Grid<Square> {
    Grid::new(1, usize::from(GridSize::MIN.cols), 0)
}

impl Terminal {
    pub(super) fn new(size: GridSize, history_lines: usize) -> Terminal {
        let (cols, rows) = (usize::from(size.cols), usize::from(size.rows));
        let mut inner = Crosswords::new(
            dimensions(size),
            ForeignShape::Block,
            VoidListener,
            WindowId::from(0),
            0,
            history_lines,
        );
        // Most programs never show the alternate grid, which would take as much memory as an idle main grid does.
        inner.swap_alt();
        inner.grid = placeholder();
        inner.swap_alt();
        Terminal {
            inner,
            main: None,
            region: ScrollRegion::whole(rows),
            tabs: TabStops::new(cols),
            charsets: Charsets::default(),
            keyboards: Keyboards::default(),
            own_modes: OwnModes::default(),
            repetition: Repetition::default(),
            work: Work::default(),
            outbox: Outbox::default(),
        }
    }

    pub(super) fn size(&self) -> GridSize {
        let grid = &self.inner.grid;
        GridSize::clamped(grid.columns() as u32, grid.screen_lines() as u32)
    }

    pub(super) fn main_grid(&self) -> &Grid<Square> {
        self.main.as_ref().unwrap_or(&self.inner.grid)
    }

    /// Shows the alternate grid, blank, with the cursor where it was on the main one.
    pub(super) fn enter_alternate(&mut self) {
        if self.main.is_some() {
            return;
        }
        let link = self.link();
        self.set_link(None);
        let main = std::mem::replace(&mut self.inner.grid, placeholder());
        self.inner.swap_alt();
        let (rows, cols) = (main.screen_lines(), main.columns());
        if (self.inner.grid.screen_lines(), self.inner.grid.columns()) != (rows, cols) {
            self.inner.grid = Grid::new(rows, cols, 0);
        }
        // Each grid numbers its own styles, so the pen is looked up again before it fills the screen.
        let grid = &mut self.inner.grid;
        grid.cursor = main.cursor.clone();
        grid.cursor.style_dirty = true;
        grid.sync_template_style();
        grid.reset_region(..);
        // An older saved cursor of the alternate grid must not leak into this visit.
        grid.saved_cursor = grid.cursor.clone();
        self.charsets.enter_alternate(self.shifts());
        self.main = Some(main);
        self.keyboards.swap();
        self.set_link_parts(link);
    }

    /// Shows the main grid again, with its own cursor.
    pub(super) fn leave_alternate(&mut self) {
        let Some(main) = self.main.take() else { return };
        self.inner.swap_alt();
        self.inner.grid = main;
        self.inner.mark_fully_damaged();
        self.charsets.leave_alternate();
        self.keyboards.swap();
        self.keep_in_region();
    }

    /// Moves the cursor into the scroll region when origin mode is on.
    pub(super) fn keep_in_region(&mut self) {
        if self.inner.mode().contains(Mode::ORIGIN) {
            let row = &mut self.inner.grid.cursor.pos.row;
            *row = Line(self.region.clamp(row.0));
        }
    }

    /// Returns id and target of the open hyperlink.
    pub(super) fn link(&self) -> Option<(String, String)> {
        let grid = &self.inner.grid;
        let extras = grid.extras_table.get(grid.cursor.template.extras_id()?)?;
        let link = extras.hyperlink.as_ref()?;
        Some((link.id().to_owned(), link.uri().to_owned()))
    }

    pub(super) fn set_link(&mut self, link: Option<(&str, &str)>) {
        self.work.extras(&self.inner.grid);
        let link = link.filter(|_| self.work.may_add_extras(&self.inner.grid));
        self.inner.set_hyperlink(link.map(|(id, uri)| Hyperlink::new(Some(id), uri)));
    }

    fn set_link_parts(&mut self, link: Option<(String, String)>) {
        if let Some((id, uri)) = link {
            self.set_link(Some((&id, &uri)));
        }
    }

    pub(super) fn cursor(&self) -> Cursor {
        let grid = &self.inner.grid;
        let narrow = |value: usize| u16::try_from(value).unwrap_or(u16::MAX);
        Cursor {
            col: narrow(grid.cursor.pos.col.0.min(grid.columns().saturating_sub(1))),
            row: narrow(usize::try_from(grid.cursor.pos.row.0).unwrap_or(0)),
            visible: self.inner.mode().contains(Mode::SHOW_CURSOR),
            shape: match self.inner.cursor_shape {
                ForeignShape::Block | ForeignShape::Hidden => CursorShape::Block,
                ForeignShape::Underline => CursorShape::Underline,
                ForeignShape::Beam => CursorShape::Bar,
            },
            blinking: self.inner.blinking_cursor,
            is_chosen: self.own_modes.is_cursor_chosen,
            wrap_pending: grid.cursor.should_wrap,
        }
    }

    pub(super) fn modes(&self) -> Modes {
        let mode = self.inner.mode();
        let has = |flag: Mode| mode.contains(flag);
        Modes {
            application_cursor: has(Mode::APP_CURSOR),
            application_keypad: has(Mode::APP_KEYPAD),
            bracketed_paste: has(Mode::BRACKETED_PASTE),
            mouse: match () {
                () if has(Mode::MOUSE_MOTION) => MouseTracking::Motion,
                () if has(Mode::MOUSE_DRAG) => MouseTracking::Drag,
                () if has(Mode::MOUSE_REPORT_CLICK) => MouseTracking::Clicks,
                () if has(Mode::MOUSE_REPORT_X10) => MouseTracking::X10,
                () => MouseTracking::Off,
            },
            mouse_encoding: match () {
                () if self.own_modes.mouse_pixels => MouseEncoding::SgrPixels,
                () if has(Mode::SGR_MOUSE) => MouseEncoding::Sgr,
                () if has(Mode::UTF8_MOUSE) => MouseEncoding::Utf8,
                () => MouseEncoding::Bytes,
            },
            reverse_video: self.own_modes.reverse_video,
            focus_events: has(Mode::FOCUS_IN_OUT),
            alternate_scroll: has(Mode::ALTERNATE_SCROLL),
            color_scheme_updates: self.own_modes.color_scheme_updates,
            grapheme_clusters: has(Mode::GRAPHEME_CLUSTER),
            line_wrap: has(Mode::LINE_WRAP),
            origin: has(Mode::ORIGIN),
            insert: has(Mode::INSERT),
            linefeed_newline: has(Mode::LINE_FEED_NEW_LINE),
            keyboard_flags: self.keyboards.shown.current(),
            modify_other_keys: self.keyboards.modify_other_keys,
        }
    }

    /// Returns the cell that the next mark would join.
    pub(super) fn marked_cell(&self) -> (Line, Column) {
        let cursor = &self.inner.grid.cursor;
        let mut col = cursor.pos.col;
        if !cursor.should_wrap {
            col = Column(col.0.saturating_sub(1));
        }
        if matches!(self.inner.grid[cursor.pos.row][col].wide(), Wide::Spacer) {
            col = Column(col.0.saturating_sub(1));
        }
        (cursor.pos.row, col)
    }

    /// Cuts the cluster before the cursor to what a cell may hold.
    pub(super) fn limit_marks(&mut self) {
        let (row, col) = self.marked_cell();
        let grid = &mut self.inner.grid;
        let Some(extras) = grid[row][col].extras_id_checked().and_then(|id| grid.extras_table.get(id)) else {
            return;
        };
        if extras.zerowidth.len() > MARKS_MAX {
            let mut cut = extras.clone();
            cut.zerowidth.truncate(MARKS_MAX);
            let id = grid.alloc_extras(cut);
            grid[row][col].set_extras_id(Some(id).filter(|&id| id != 0));
        }
    }
}

pub(super) fn dimensions(size: GridSize) -> CrosswordsSize {
    CrosswordsSize::new(usize::from(size.cols), usize::from(size.rows))
}

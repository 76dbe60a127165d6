//! Writes a screen as bytes that make any terminal show it. The order matters: first the modes that would
//! disturb drawing are switched off, then the screen is drawn, then modes and registers are set. The bytes
//! contain nothing that a terminal answers. Rows are cleared one by one, because clearing the screen would
//! push it into the viewer's own history.

use crate::cell::Style;
use crate::colors::FOREGROUND;
use crate::dcs::cursor_style;
use crate::engine::{GridView, Keyboard, PenState, Registers, RowView, Shifts, StyleKey, Width};
use crate::modes::{Modes, MouseEncoding, MouseTracking};
use crate::osc::is_link;
use crate::pen::{put, write_style};
use crate::screen::Screen;
use crate::size::GridSize;
use crate::text::Wraps;

/// Which part of a screen, for which terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaintView {
    /// All of it, for a terminal of the same size. Live bytes may follow.
    Whole,
    /// As much as fits a terminal of another size, moved so that the cursor is inside. Live bytes must not
    /// follow, because they depend on the screen's size; paint again instead.
    Window(GridSize),
    /// The last rows with content, drawn on the main screen of a terminal of another size. For a program that
    /// has ended: no mode is switched on.
    Last(GridSize),
}

/// Switches everything off that could disturb drawing: begins a synchronized update, hides the cursor, resets
/// insert, origin, margins, newline and wrap, selects ASCII in G0 to G3, closes links and resets the pen.
const QUIET: &[u8] = b"\x1b[?2026h\x1b[?25l\x1b[4l\x1b[20l\x1b[?6l\x1b[?69l\x1b[r\x1b[?7h\
    \x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b]8;;\x1b\\\x1b[0m";
/// Ends the synchronized update.
const LOUD: &[u8] = b"\x1b[?2026l";

impl Screen {
    /// Bytes that make any terminal show this screen.
    pub fn repaint(&self, view: PaintView) -> Vec<u8> {
        let mut painter = Painter::new();
        match view {
            PaintView::Whole => self.paint_whole(&mut painter),
            PaintView::Window(size) => self.paint_window(&mut painter, size.sane()),
            PaintView::Last(size) => self.paint_last(&mut painter, size.sane()),
        }
        painter.out.extend_from_slice(LOUD);
        if let Some(character) =
            self.engine().registers().last_character.filter(|_| self.scanner().is_after_text())
        {
            put(&mut painter.out, format_args!("\x1b_Qr;{:x}\x1b\\", u32::from(character)));
        }
        painter.out
    }

    fn paint_whole(&self, painter: &mut Painter) {
        let engine = self.engine();
        let registers = engine.registers();
        painter.quiet(false, &registers.modes);
        painter.grid(engine.main());
        if engine.is_alternate() {
            // The main screen is drawn beneath first, for when the child leaves the alternate one. Entering
            // saves the cursor, and leaving restores it.
            painter.saved(engine.main(), registers.other_saved);
            painter.keyboard(&registers.other_keyboard);
            painter.quiet(true, &registers.modes);
            painter.grid(engine.visible());
        }
        painter.input_modes(&registers.modes);
        painter.keyboard(&registers.keyboard);
        painter.write_attributes(self, &registers);
        painter.tab_stops(&registers.tabs);
        painter.registers(engine.visible(), &registers);
        painter.cursor(&registers);
    }

    fn paint_window(&self, painter: &mut Painter, window: GridSize) {
        let engine = self.engine();
        let registers = engine.registers();
        let grid = engine.visible();
        let (left, top) = pan(&registers, self.size(), window);
        painter.quiet(engine.is_alternate(), &registers.modes);
        painter.out.extend_from_slice(b"\x1b[?7l");
        for row in 0..usize::from(window.rows) {
            painter.go(row, 0);
            if let Some(cells) = grid.screen_row(top + row) {
                painter.cells(cells, left, left + usize::from(window.cols));
            }
            painter.erase_rest();
        }
        painter.out.extend_from_slice(b"\x1b[?7h\x1b[0m");
        painter.input_modes(&registers.modes);
        painter.keyboard(&registers.keyboard);
        painter.write_attributes(self, &registers);
        let cursor = registers.cursor;
        painter.go(usize::from(cursor.row) - top, usize::from(cursor.col) - left);
        painter.cursor(&registers);
    }
}

impl Screen {
    /// Returns the number of rows down to the last one with content.
    pub fn shown_rows(&self) -> u16 {
        let text = self.text(Wraps::Keep);
        let rows = text.lines().collect::<Vec<_>>();
        let shown = rows.iter().rposition(|row| !row.trim().is_empty()).map_or(0, |last| last + 1);
        u16::try_from(shown).unwrap_or(u16::MAX)
    }

    fn paint_last(&self, painter: &mut Painter, window: GridSize) {
        let grid = self.engine().visible();
        let top = usize::from(self.shown_rows().saturating_sub(window.rows));
        painter.quiet(false, &Modes::default());
        painter.out.extend_from_slice(b"\x1b[?7l");
        for row in 0..usize::from(window.rows) {
            painter.go(row, 0);
            if let Some(cells) = grid.screen_row(top + row) {
                painter.cells(cells, 0, usize::from(window.cols));
            }
            painter.erase_rest();
        }
        painter.out.extend_from_slice(b"\x1b[?7h\x1b[0m\x1b[?25h");
    }
}

/// Returns the first column and row of a window: the least move that shows the cursor.
fn pan(registers: &Registers, screen: GridSize, window: GridSize) -> (usize, usize) {
    let shift = |position: u16, window: u16, screen: u16| match window < screen {
        true => (usize::from(position) + 1).saturating_sub(usize::from(window)),
        false => 0,
    };
    (
        shift(registers.cursor.col, window.cols, screen.cols),
        shift(registers.cursor.row, window.rows, screen.rows),
    )
}

/// Bytes so far and the pen a terminal has after them.
struct Painter {
    out: Vec<u8>,
    key: StyleKey,
    link: Option<(String, String)>,
}

impl Painter {
    fn new() -> Painter {
        Painter { out: Vec::with_capacity(16 * 1024), key: StyleKey::DEFAULT, link: None }
    }

    /// The cluster mode is set first, because it changes how the first cluster is drawn.
    fn quiet(&mut self, alternate: bool, modes: &Modes) {
        self.out.extend_from_slice(if alternate { b"\x1b[?1049h" } else { b"\x1b[?1049l" });
        self.out.extend_from_slice(QUIET);
        self.out.extend_from_slice(if modes.grapheme_clusters { b"\x1b[?2027h" } else { b"\x1b[?2027l" });
        self.key = StyleKey::DEFAULT;
        self.link = None;
    }

    fn go(&mut self, row: usize, col: usize) {
        put(&mut self.out, format_args!("\x1b[{};{}H", row + 1, col + 1));
    }

    fn grid(&mut self, grid: GridView<'_>) {
        let mut continues = false;
        for index in 0..grid.rows() {
            let Some(row) = grid.screen_row(index) else { continue };
            if !continues {
                self.go(index, 0);
            }
            // A wrapped row is printed to its last cell and the next one follows without a move, so that the
            // terminal records the wrap as its own.
            let next = grid.screen_row(index + 1).filter(|next| used_length(*next) > 0);
            continues = row.is_wrapped() && next.is_some();
            let length = match continues {
                true => row.len() - usize::from(leaves_a_gap(row, next)),
                false => used_length(row),
            };
            self.cells(row, 0, length);
            if !continues && length < row.len() {
                self.erase_rest();
            }
        }
    }

    /// Prints the cells from one column up to another; halves of wide characters at the edges are blank.
    fn cells(&mut self, row: RowView<'_>, from: usize, to: usize) {
        let to = to.min(row.len());
        let mut col = from;
        while col < to {
            let Some(cell) = row.shown(col) else { break };
            let width = cell.width();
            self.style(row, cell.style_key());
            self.link(cell.link());
            let whole = width != Width::Wide || col + 1 < to;
            match cell.character() {
                _ if width == Width::Spacer || !whole => self.out.push(b' '),
                '\0' | '\t' => self.out.push(b' '),
                character => {
                    self.character(character);
                    cell.marks().iter().for_each(|&mark| self.character(mark));
                }
            }
            col += if width == Width::Wide { 2 } else { 1 };
        }
    }

    fn character(&mut self, character: char) {
        let mut buffer = [0; 4];
        self.out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
    }

    fn style(&mut self, row: RowView<'_>, key: StyleKey) {
        if key != self.key {
            self.key = key;
            write_style(&mut self.out, &row.style(key));
        }
    }

    fn link(&mut self, link: Option<(&str, &str)>) {
        let link = link.filter(|(_, target)| is_link(target));
        if link != self.link.as_ref().map(|(id, target)| (id.as_str(), target.as_str())) {
            self.link = link.map(|(id, target)| (id.to_owned(), target.to_owned()));
            match link {
                None => self.out.extend_from_slice(b"\x1b]8;;\x1b\\"),
                Some(("", target)) => put(&mut self.out, format_args!("\x1b]8;;{target}\x1b\\")),
                Some((id, target)) => put(&mut self.out, format_args!("\x1b]8;id={id};{target}\x1b\\")),
            }
        }
    }

    /// Clears to the end of the row in the plain style.
    fn erase_rest(&mut self) {
        if self.key != StyleKey::DEFAULT {
            self.key = StyleKey::DEFAULT;
            self.out.extend_from_slice(b"\x1b[0m");
        }
        self.link(None);
        self.out.extend_from_slice(b"\x1b[K");
    }

    /// Sets the input modes: off first, then on, because switching one kind of mouse report off switches all
    /// of them off.
    fn input_modes(&mut self, modes: &Modes) {
        let switches = [
            (1, modes.application_cursor),
            (9, modes.mouse == MouseTracking::X10),
            (1000, modes.mouse == MouseTracking::Clicks),
            (1002, modes.mouse == MouseTracking::Drag),
            (1003, modes.mouse == MouseTracking::Motion),
            (1005, modes.mouse_encoding == MouseEncoding::Utf8),
            (1006, modes.mouse_encoding == MouseEncoding::Sgr),
            (1016, modes.mouse_encoding == MouseEncoding::SgrPixels),
            (5, modes.reverse_video),
            (1004, modes.focus_events),
            (1007, modes.alternate_scroll),
            (2004, modes.bracketed_paste),
            (2031, modes.color_scheme_updates),
        ];
        for (number, _) in switches.iter().filter(|(_, on)| !on) {
            put(&mut self.out, format_args!("\x1b[?{number}l"));
        }
        for (number, _) in switches.iter().filter(|(_, on)| *on) {
            put(&mut self.out, format_args!("\x1b[?{number}h"));
        }
        self.out.extend_from_slice(if modes.application_keypad { b"\x1b=" } else { b"\x1b>" });
        put(&mut self.out, format_args!("\x1b[>4;{}m", modes.modify_other_keys));
    }

    /// Empties the terminal's keyboard stack by popping more than there is, then builds it again.
    fn keyboard(&mut self, keyboard: &Keyboard) {
        self.out.extend_from_slice(b"\x1b[<9u");
        if keyboard.base() != 0 {
            put(&mut self.out, format_args!("\x1b[={};1u", keyboard.base()));
        }
        for flags in keyboard.levels() {
            put(&mut self.out, format_args!("\x1b[>{flags}u"));
        }
    }

    /// Writes colours and titles. Pushed titles and saved modes must not reach the terminal; they are written
    /// in strings that only the output filter in front of it reads.
    fn write_attributes(&mut self, screen: &Screen, registers: &Registers) {
        let outbox = screen.engine().outbox_ref();
        self.out.extend_from_slice(b"\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\");
        for (index, color) in outbox.colors.set.iter() {
            match index {
                FOREGROUND.. => put(&mut self.out, format_args!("\x1b]{};", 10 + index - FOREGROUND)),
                _ => put(&mut self.out, format_args!("\x1b]4;{index};")),
            }
            put(&mut self.out, format_args!("{}\x1b\\", color.spec()));
        }
        put(&mut self.out, format_args!("\x1b]2;{}\x1b\\", outbox.title));
        self.out.extend_from_slice(b"\x1b_Q0\x1b\\");
        for title in &outbox.title_stack {
            put(&mut self.out, format_args!("\x1b_Qt;{title}\x1b\\"));
        }
        for (mode, on) in &registers.saved_modes {
            put(&mut self.out, format_args!("\x1b_Qs;{mode};{}\x1b\\", u8::from(*on)));
        }
    }

    fn tab_stops(&mut self, stops: &[bool]) {
        self.out.extend_from_slice(b"\x1b[?5W");
        if stops.iter().enumerate().all(|(col, &stop)| stop == (col % 8 == 0)) {
            return;
        }
        self.out.extend_from_slice(b"\x1b[3g");
        for (col, _) in stops.iter().enumerate().filter(|(_, stop)| **stop) {
            put(&mut self.out, format_args!("\x1b[{}G\x1bH", col + 1));
        }
    }

    /// Writes the saved cursor, margins, pen, position and the modes that affect how text is placed, in an
    /// order in which they do not disturb each other.
    fn registers(&mut self, grid: GridView<'_>, registers: &Registers) {
        self.saved(grid, registers.saved);
        self.out.extend_from_slice(b"\x1b7\x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b[0m");
        self.key = StyleKey::DEFAULT;
        if registers.saved.origin {
            self.out.extend_from_slice(b"\x1b[?6l");
        }
        let (top, bottom) = registers.region;
        if usize::from(bottom - top) < grid.rows() {
            put(&mut self.out, format_args!("\x1b[{};{bottom}r", top + 1));
        }
        // Origin mode counts rows from the region's top, and terminals go there when it is set.
        let mut first_row = 0;
        if registers.modes.origin {
            self.out.extend_from_slice(b"\x1b[?6h");
            first_row = top;
        }
        self.pen(grid, &grid.pen(), first_row);
        self.charset(registers.charset);
        for (sequence, on) in [
            (&b"\x1b[?7l"[..], !registers.modes.line_wrap),
            (b"\x1b[4h", registers.modes.insert),
            (b"\x1b[20h", registers.modes.linefeed_newline),
        ] {
            if on {
                self.out.extend_from_slice(sequence);
            }
        }
        match registers.shift {
            Some(2) => self.out.extend_from_slice(b"\x1bN"),
            Some(3) => self.out.extend_from_slice(b"\x1bO"),
            Some(_) | None => {}
        }
    }

    /// Writes everything that saving the cursor saves, while there are no margins.
    fn saved(&mut self, grid: GridView<'_>, shifts: Shifts) {
        if shifts.origin {
            self.out.extend_from_slice(b"\x1b[?6h");
        }
        self.pen(grid, &grid.saved_pen(), 0);
        self.charset(shifts.charset);
    }

    /// Selects one of G0 to G3.
    fn charset(&mut self, charset: u8) {
        self.out.extend_from_slice(match charset {
            1 => &b"\x0e"[..],
            2 => b"\x1bn",
            3 => b"\x1bo",
            _ => b"\x0f",
        });
    }

    /// Writes position and style of a pen. A terminal has a pending wrap only after it printed into its last
    /// column, so that cell is printed again.
    fn pen(&mut self, grid: GridView<'_>, pen: &PenState, first_row: u16) {
        let row = usize::from(pen.row.saturating_sub(first_row));
        let mut col = usize::from(pen.col);
        let waiting = grid.screen_row(usize::from(pen.row)).filter(|_| pen.wrap_pending);
        if let Some(cells) = waiting {
            if cells.shown(col).is_some_and(|cell| cell.width() == Width::Spacer) {
                col = col.saturating_sub(1);
            }
            self.go(row, col);
            self.cells(cells, col, cells.len());
        } else {
            self.go(row, col);
        }
        self.looks(pen);
    }

    fn looks(&mut self, pen: &PenState) {
        self.link(pen.link.as_ref().map(|(id, target)| (id.as_str(), target.as_str())));
        if pen.style != Style::default() || self.key != StyleKey::DEFAULT {
            write_style(&mut self.out, &pen.style);
        }
        for (bit, name) in [(0, b'('), (1, b')'), (2, b'*'), (3, b'+')] {
            if pen.line_drawing & (1 << bit) != 0 {
                self.out.extend_from_slice(&[0x1b, name, b'0']);
            }
        }
    }

    fn cursor(&mut self, registers: &Registers) {
        let cursor = registers.cursor;
        let style = if cursor.is_chosen { cursor_style(cursor.shape, cursor.blinking) } else { 0 };
        put(&mut self.out, format_args!("\x1b[{style} q"));
        self.out.extend_from_slice(if cursor.visible { b"\x1b[?25h" } else { b"\x1b[?25l" });
    }
}

/// Returns true if the last cell is empty because the wide character after it did not fit. A terminal skips
/// that cell itself when it prints the character.
fn leaves_a_gap(row: RowView<'_>, next: Option<RowView<'_>>) -> bool {
    let last = row.shown(row.len().saturating_sub(1));
    let first = next.and_then(|next| next.shown(0));
    last.zip(first).is_some_and(|(last, first)| {
        last.width() == Width::LeadingSpacer
            && first.width() == Width::Wide
            && last.style_key() == first.style_key()
            && last.link() == first.link()
    })
}

/// Returns the number of cells up to the last one that differs from a cleared cell.
fn used_length(row: RowView<'_>) -> usize {
    let is_plain = |col: usize| {
        row.shown(col).is_none_or(|cell| cell.is_blank() && cell.style_key() == StyleKey::DEFAULT)
    };
    (0..row.touched_length()).rev().find(|&col| !is_plain(col)).map_or(0, |col| col + 1)
}

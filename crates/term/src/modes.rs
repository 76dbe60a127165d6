//! The modes and the cursor of a screen as plain data. `engine` sets them.

/// Which mouse events the child asked for. The kinds exclude each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MouseTracking {
    /// None.
    #[default]
    Off,
    /// Mode 9: presses only.
    X10,
    /// Mode 1000: presses and releases.
    Clicks,
    /// Mode 1002: and motion while a button is down.
    Drag,
    /// Mode 1003: and every motion.
    Motion,
}

/// How mouse events are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MouseEncoding {
    /// The classic bytes.
    #[default]
    Bytes,
    /// Mode 1005.
    Utf8,
    /// Mode 1006.
    Sgr,
    /// Mode 1016.
    SgrPixels,
}

/// Everything that the child has switched on or off, beyond the style of characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Modes {
    /// Mode 1: cursor keys send SS3.
    pub application_cursor: bool,
    /// DECKPAM.
    pub application_keypad: bool,
    /// Mode 2004.
    pub bracketed_paste: bool,
    /// Modes 9, 1000, 1002, 1003.
    pub mouse: MouseTracking,
    /// Modes 1005, 1006, 1016.
    pub mouse_encoding: MouseEncoding,
    /// Mode 1004.
    pub focus_events: bool,
    /// Mode 1007: the wheel sends cursor keys on the alternate screen.
    pub alternate_scroll: bool,
    /// Mode 2031: the child wants a report when the colour scheme changes.
    pub color_scheme_updates: bool,
    /// Mode 2027: grapheme clusters share a cell.
    pub grapheme_clusters: bool,
    /// Mode 5: foreground and background are exchanged.
    pub reverse_video: bool,
    /// Mode 7.
    pub line_wrap: bool,
    /// Mode 6.
    pub origin: bool,
    /// Mode 4.
    pub insert: bool,
    /// Mode 20.
    pub linefeed_newline: bool,
    /// Kitty keyboard flags in effect on the visible screen.
    pub keyboard_flags: u8,
    /// xterm's modifyOtherKeys level, 0 to 2.
    pub modify_other_keys: u8,
}

impl Default for Modes {
    fn default() -> Modes {
        Modes {
            application_cursor: false,
            application_keypad: false,
            bracketed_paste: false,
            mouse: MouseTracking::Off,
            mouse_encoding: MouseEncoding::Bytes,
            focus_events: false,
            alternate_scroll: true,
            color_scheme_updates: false,
            grapheme_clusters: true,
            reverse_video: false,
            line_wrap: true,
            origin: false,
            insert: false,
            linefeed_newline: false,
            keyboard_flags: 0,
            modify_other_keys: 0,
        }
    }
}

/// The form of the cursor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CursorShape {
    /// A full cell.
    #[default]
    Block,
    /// A line below.
    Underline,
    /// A line to the left.
    Bar,
}

/// Where the next character goes, counted from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// Column.
    pub col: u16,
    /// Row of the visible grid.
    pub row: u16,
    /// True if the child shows it (mode 25).
    pub visible: bool,
    /// Its form (DECSCUSR).
    pub shape: CursorShape,
    /// Whether it blinks.
    pub blinking: bool,
    /// True if the child has chosen the form; otherwise it is the terminal's own.
    pub is_chosen: bool,
    /// The last column was written and the next character wraps first.
    pub wrap_pending: bool,
}

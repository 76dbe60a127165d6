//! The terminal modes that a child has switched on, as readers of a screen see them. The daemon encodes keys
//! and pastes for these modes.

use serde::{Deserialize, Serialize};

/// Which mouse events a child has asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MouseReports {
    /// None.
    #[default]
    Off,
    /// Presses, in the oldest form.
    X10,
    /// Presses and releases.
    Clicks,
    /// And motion while a button is down.
    Drag,
    /// And every motion.
    Motion,
}

/// The modes of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModesView {
    /// Cursor keys are sent in their application form.
    pub application_cursor: bool,
    /// Keypad keys are sent in their application form.
    pub application_keypad: bool,
    /// A paste is marked by brackets.
    pub bracketed_paste: bool,
    /// Which mouse events are sent.
    pub mouse: MouseReports,
    /// The child gets a report when its terminal gains or loses the focus.
    pub focus_events: bool,
    /// New characters move those after them.
    pub insert: bool,
    /// A full line continues in the next row.
    pub line_wrap: bool,
    /// The flags of the kitty keyboard protocol; 0 means legacy keys.
    pub keyboard_flags: u8,
    /// xterm's modifyOtherKeys level, 0 to 2.
    pub modify_other_keys: u8,
}

//! What a child has switched on in its terminal, as readers of a screen see it.
//!
//! Owns the words. Refuses meaning: who types asks the daemon to encode keys and pastes for these modes.

use serde::{Deserialize, Serialize};

/// Which mouse events a child asked for.
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
    /// So are the keys of the keypad.
    pub application_keypad: bool,
    /// A paste is told from typing.
    pub bracketed_paste: bool,
    /// Which mouse events are sent.
    pub mouse: MouseReports,
    /// The child hears when its terminal gains and loses the focus.
    pub focus_events: bool,
    /// Characters push those behind them aside.
    pub insert: bool,
    /// A full line goes on in the next row.
    pub line_wrap: bool,
    /// The flags of the kitty keyboard protocol; 0: keys are sent as ever.
    pub keyboard_flags: u8,
    /// How far keys with modifiers are told apart the way xterm does it, 0 to 2.
    pub modify_other_keys: u8,
}

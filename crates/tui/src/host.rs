//! The person's terminal, there and back.
//!
//! | file | owns |
//! |---|---|
//! | `input` | typed bytes to events, the bytes kept |
//! | `sequence` | what one control sequence means |
//! | `mouse` | mouse events, and their bytes for a child |
//! | `modes` | what is switched on in the terminal while the deck is shown |
//! | `terminal` | taking the terminal over, lending it, giving it back |
//! | `link` | how many bytes are on their way to it, and whether it takes another picture |
//! | `clipboard` | text to the terminal's clipboard |
//! | `colors` | the colours of the terminal, for the programs in the panes |

pub(crate) mod clipboard;
pub(crate) mod colors;
pub(crate) mod input;
pub(crate) mod link;
pub(crate) mod modes;
pub(crate) mod mouse;
pub(crate) mod sequence;
pub(crate) mod terminal;

pub(crate) use input::{InputEvent, InputParser, What};
pub(crate) use mouse::{Mouse, MouseAct, MouseButton};

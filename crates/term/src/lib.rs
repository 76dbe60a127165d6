//! Terminal memory: bytes in, screen out. No I/O, no clock, no async, no knowledge of clients.
//!
//! [`Screen`] is the emulated terminal of one run. It is fed the bytes of the child and keeps the grid,
//! the history, the modes, the title and the facts the stream carried; it answers terminal queries
//! itself, so that a child hears exactly one answer however many viewers there are. The emulator behind
//! it is exchangeable: no type of it leaves the `engine` module.
//!
//! | file | owns |
//! |---|---|
//! | `scan` | where escape sequences begin and end; nothing reaches the engine in halves |
//! | `engine` | the grid, through a foreign emulator; the only module that names it |
//! | `colors` | what the child has set and what the last viewer shows |
//! | `osc`, `dcs`, `reply` | what strings mean and which constants answer queries |
//! | `fact`, `status` | what the stream told about its program |
//! | `screen`, `text`, `repaint`, `damage`, `checkpoint` | the public type and its views |
//! | `keys`, `paste` | bytes towards the child |
//! | `stream_text` | bytes to plain text without a grid |

// Random streams are shared with the tests of the public face, which say where things come from.
#[cfg(test)]
extern crate self as term;

mod base64;
mod cell;
mod checkpoint;
mod colors;
mod damage;
mod dcs;
mod engine;
mod fact;
mod keys;
mod modes;
mod osc;
mod page;
mod paste;
mod pen;
mod repaint;
mod reply;
mod scan;
mod screen;
mod size;
mod status;
mod stream_text;
mod text;
mod wire;

pub use cell::{Attributes, Cell, CellRow, CellText, Color, Style, Underline};
pub use checkpoint::{Depth, RestoreError};
pub use colors::{ColorTable, Rgb, Scheme};
pub use damage::Damage;
pub use fact::{ClipboardTarget, Fact, NotificationSource, Progress, PromptMark};
pub use keys::{Key, KeyCode, KeyError, KeyEvent, Keypad, Modifiers};
pub use modes::{Cursor, CursorShape, Modes, MouseEncoding, MouseTracking};
pub use page::LinePage;
pub use paste::{PasteEncoder, PastePiece, encode_paste};
pub use repaint::PaintView;
pub use screen::{Limits, Screen};
pub use size::GridSize;
pub use status::{ProgramState, StatusReport};
pub use stream_text::{StreamPage, TextStream};
pub use text::{Found, Line, LineId, TextMatch, Wraps};

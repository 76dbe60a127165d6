//! The terminal emulator: bytes in, screen out. No I/O, no clock, no async, no knowledge of clients.
//!
//! [`Screen`] is the emulated terminal of one run. It is fed the bytes of the child and keeps the grid, the
//! history, the modes, the title and the facts that the stream carried. It answers terminal queries itself,
//! so that a child gets exactly one answer with any number of viewers. The emulator behind it is
//! exchangeable: none of its types leaves the `engine` module.
//!
//! | file | what it has |
//! |---|---|
//! | `size`, `modes`, `cell`, `pen` | the size, the modes, one cell and its style, and the bytes that set a style |
//! | `scan` | where escape sequences begin and end; the engine gets only whole ones |
//! | `engine` | the grid, kept by a third-party emulator; the only module that names it |
//! | `colors` | the colours that the child has set and those that the last viewer shows |
//! | `osc`, `dcs`, `base64`, `reply` | what strings mean, and the constant answers to queries (device attributes, DA) |
//! | `fact`, `status` | what the stream reports about its program |
//! | `screen`, `text`, `page`, `repaint`, `damage`, `checkpoint` | the public type and its views |
//! | `wire` | numbers and texts of a checkpoint as bytes |
//! | `keys`, `paste` | bytes towards the child |
//! | `stream_text` | bytes to plain text without a grid |

// Unit tests share the random streams of the integration tests, which import this crate by name.
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
pub use fact::{ClipboardTarget, Fact, NotificationSource, Progress, PromptMark, is_hidden};
pub use keys::{Key, KeyCode, KeyError, KeyEvent, Keypad, Modifiers};
pub use modes::{Cursor, CursorShape, Modes, MouseEncoding, MouseTracking};
pub use page::LinePage;
pub use paste::{PasteEncoder, PastePiece, encode_paste};
pub use pen::write_style;
pub use repaint::PaintView;
pub use screen::{Limits, Screen};
pub use size::GridSize;
pub use status::{ProgramState, StatusReport};
pub use stream_text::{StreamPage, TextStream};
pub use text::{Found, Line, LineId, TextMatch, Wraps};

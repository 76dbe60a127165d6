//! Answers to terminal queries: the constants and the bounded queue. An answer is a constant or made of the
//! emulator's own numbers. It never contains text from the child: a program that can make the terminal type
//! can run commands in a shell.

use std::collections::VecDeque;

use crate::colors::Scheme;
use crate::size::GridSize;

/// Beyond this many bytes of pending answers the oldest are dropped, so that a child that asks and never
/// reads cannot fill the daemon's memory.
pub(crate) const REPLIES_MAX: usize = 4 * 1024;

/// VT220 with ANSI colour and clipboard writes; no sixel, because images are not shown.
pub(crate) const DEVICE_ATTRIBUTES: &[u8] = b"\x1b[?62;22;52c";
/// Terminal type, firmware level and no cartridge.
pub(crate) const SECONDARY_ATTRIBUTES: &[u8] = b"\x1b[>1;100;0c";
/// Unit id.
pub(crate) const TERTIARY_ATTRIBUTES: &[u8] = b"\x1bP!|00000000\x1b\\";
/// No malfunction.
pub(crate) const STATUS_OK: &[u8] = b"\x1b[0n";
/// The colour scheme is dark.
const SCHEME_DARK: &[u8] = b"\x1b[?997;1n";
/// The colour scheme is light.
const SCHEME_LIGHT: &[u8] = b"\x1b[?997;2n";
/// Name and version.
pub(crate) const VERSION: &str = concat!("\x1bP>|Quarterdeck ", env!("CARGO_PKG_VERSION"), "\x1b\\");
/// States that program status reports are understood.
pub(crate) const PROGRAM_STATUS_SUPPORTED: &[u8] = b"\x1b]7501;?\x1b\\";

/// Width and height of a cell in pixels, for programs that insist on a number.
pub(crate) const CELL_PIXELS: (u32, u32) = (8, 16);

/// Answers in stream order, oldest dropped first.
#[derive(Debug, Default)]
pub(crate) struct ReplyQueue {
    pending: VecDeque<Vec<u8>>,
    bytes: usize,
    /// How many answers were dropped since the last query of this count.
    dropped: u64,
}

impl ReplyQueue {
    /// Appends one whole answer.
    pub(crate) fn push(&mut self, reply: impl Into<Vec<u8>>) {
        let reply = reply.into();
        self.bytes += reply.len();
        self.pending.push_back(reply);
        while self.bytes > REPLIES_MAX {
            let Some(dropped) = self.pending.pop_front() else { break };
            self.bytes -= dropped.len();
            self.dropped += 1;
        }
    }

    /// Returns how many answers were dropped since the last call.
    pub(crate) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    /// Returns everything pending, joined.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        // Screens are asked after every piece of output, and most pieces have no answers.
        if self.pending.is_empty() {
            return Vec::new();
        }
        self.bytes = 0;
        self.pending.drain(..).flatten().collect()
    }
}

/// Returns the answer to a query of device attributes (DA1, DA2, DA3).
pub(crate) fn attributes(intermediate: Option<char>) -> Option<&'static [u8]> {
    match intermediate {
        None => Some(DEVICE_ATTRIBUTES),
        Some('>') => Some(SECONDARY_ATTRIBUTES),
        Some('=') => Some(TERTIARY_ATTRIBUTES),
        Some(_) => None,
    }
}

/// Returns the report of the kitty keyboard flags in effect.
pub(crate) fn keyboard_flags(flags: u8) -> String {
    format!("\x1b[?{flags}u")
}

/// Returns the report of the size in rows and columns.
pub(crate) fn text_area(size: GridSize) -> String {
    format!("\x1b[8;{};{}t", size.rows, size.cols)
}

/// Returns the report of the size in pixels.
pub(crate) fn text_area_pixels(size: GridSize) -> String {
    let (width, height) = CELL_PIXELS;
    let (width, height) = (width * u32::from(size.cols), height * u32::from(size.rows));
    format!("\x1b[4;{height};{width}t")
}

/// Returns the report of the size of a cell in pixels.
pub(crate) fn cell_pixels() -> String {
    let (width, height) = CELL_PIXELS;
    format!("\x1b[6;{height};{width}t")
}

/// Returns the report of a terminal with this colour scheme.
pub(crate) fn scheme_report(scheme: Scheme) -> &'static [u8] {
    match scheme {
        Scheme::Dark => SCHEME_DARK,
        Scheme::Light => SCHEME_LIGHT,
    }
}

/// Returns the answer to DECRQM: 0 unknown, 1 set, 2 reset.
pub(crate) fn mode_report(private: bool, mode: u16, state: Option<bool>) -> String {
    let mark = if private { "?" } else { "" };
    let state = match state {
        None => 0,
        Some(true) => 1,
        Some(false) => 2,
    };
    format!("\x1b[{mark}{mode};{state}$y")
}

//! Answers to terminal queries: the bounded queue and the constants. Every answer is a constant or made
//! of numbers the emulator owns; text that came from the child is never part of one, because whoever can
//! make a terminal type can make a shell obey.

use std::collections::VecDeque;

/// Pending answers beyond this many bytes push the oldest out: a child that asks and never reads must
/// not make the daemon hoard.
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
pub(crate) const SCHEME_DARK: &[u8] = b"\x1b[?997;1n";
/// Name and version.
pub(crate) const VERSION: &str = concat!("\x1bP>|Quarterdeck ", env!("CARGO_PKG_VERSION"), "\x1b\\");
/// Program status reports are understood.
pub(crate) const PROGRAM_STATUS_SUPPORTED: &[u8] = b"\x1b]7501;?\x1b\\";

/// Width and height of a cell in pixels, for programs that insist on a number.
pub(crate) const CELL_PIXELS: (u32, u32) = (8, 16);

/// Answers in stream order, oldest dropped first.
#[derive(Debug, Default)]
pub(crate) struct ReplyQueue {
    pending: VecDeque<Vec<u8>>,
    bytes: usize,
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
        }
    }

    /// Everything pending, joined.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.bytes = 0;
        self.pending.drain(..).flatten().collect()
    }
}

/// A colour of the constant palette: 0-255, then foreground, background, cursor.
pub(crate) fn palette(index: u16) -> (u8, u8, u8) {
    const BASIC: [(u8, u8, u8); 16] = [
        (0x00, 0x00, 0x00),
        (0xcd, 0x31, 0x31),
        (0x0d, 0xbc, 0x79),
        (0xe5, 0xe5, 0x10),
        (0x24, 0x72, 0xc8),
        (0xbc, 0x3f, 0xbc),
        (0x11, 0xa8, 0xcd),
        (0xe5, 0xe5, 0xe5),
        (0x66, 0x66, 0x66),
        (0xf1, 0x4c, 0x4c),
        (0x23, 0xd1, 0x8b),
        (0xf5, 0xf5, 0x43),
        (0x3b, 0x8e, 0xea),
        (0xd6, 0x70, 0xd6),
        (0x29, 0xb8, 0xdb),
        (0xff, 0xff, 0xff),
    ];
    match index {
        0..=15 => BASIC[usize::from(index)],
        16..=231 => {
            let level = |step: u16| if step == 0 { 0 } else { (55 + 40 * step) as u8 };
            let cube = index - 16;
            (level(cube / 36), level(cube / 6 % 6), level(cube % 6))
        }
        232..=255 => {
            let grey = (8 + 10 * (index - 232)) as u8;
            (grey, grey, grey)
        }
        BACKGROUND => (0x10, 0x10, 0x10),
        _ => (0xe5, 0xe5, 0xe5),
    }
}

/// Palette index of the default foreground.
pub(crate) const FOREGROUND: u16 = 256;
/// Palette index of the default background.
pub(crate) const BACKGROUND: u16 = 257;
/// Palette index of the cursor.
pub(crate) const CURSOR: u16 = 258;

/// `rgb:rrrr/gggg/bbbb` of a palette entry.
pub(crate) fn color_spec(index: u16) -> String {
    let (red, green, blue) = palette(index);
    format!("rgb:{red:02x}{red:02x}/{green:02x}{green:02x}/{blue:02x}{blue:02x}")
}

/// Answer to DECRQM: 0 unknown, 1 set, 2 reset.
pub(crate) fn mode_report(private: bool, mode: u16, state: Option<bool>) -> String {
    let mark = if private { "?" } else { "" };
    let state = match state {
        None => 0,
        Some(true) => 1,
        Some(false) => 2,
    };
    format!("\x1b[{mark}{mode};{state}$y")
}

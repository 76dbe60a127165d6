//! Writes a screen as a compact blob and restores it. Restoring a checkpoint of offset N and feeding the
//! bytes from N on gives the same grid, cursor, modes and title as feeding everything. The format is our own,
//! not the emulator's, and starts with its version. The same program or a newer one reads it.
//!
//! Cells are stored as cells, not as escape sequences: a sequence can describe how a cell looks, but not
//! where a line wrapped, what a tab skipped or which half of a character is left.

mod grid;
mod state;

use crate::engine::{Engine, Which};
use crate::scan::{Dropping, STRING_MAX, Scanner, StringKind};
use crate::screen::{Limits, Screen};
use crate::size::GridSize;
use crate::wire::{Malformed, Reader, Writer};

/// The format that this program writes.
const VERSION: u8 = 5;
/// The format before the beginnings of prompts were kept; still read.
const WITHOUT_PROMPTS: u8 = 4;
/// The format before colours could be pushed; still read.
const WITHOUT_PUSHED_COLORS: u8 = 3;
/// The format before colours, saved modes and the form of the cursor were kept; still read.
const WITHOUT_COLORS: u8 = 2;
/// The format before character sets could be shifted for one character and saved with the cursor; still read.
const WITHOUT_SHIFTS: u8 = 1;

/// How much of a screen goes into a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Both grids, without history.
    Screen,
    /// Both grids and the history.
    Full,
}

/// Why a checkpoint cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// Written by a version this one does not know.
    #[error("the checkpoint has format {0}, which this version does not read; replay the log instead")]
    Version(u8),
    /// Cut off or changed.
    #[error("the checkpoint is damaged; replay the log instead")]
    Damaged,
}

impl From<Malformed> for RestoreError {
    fn from(_: Malformed) -> RestoreError {
        RestoreError::Damaged
    }
}

impl Screen {
    /// Returns this screen as a checkpoint.
    pub fn checkpoint(&self, depth: Depth) -> Vec<u8> {
        let engine = self.engine();
        let main = engine.main();
        let history = if depth == Depth::Full { main.history() } else { 0 };
        let mut writer = Writer { bytes: Vec::with_capacity(8 * 1024) };
        writer.byte(VERSION);
        writer.number(u64::from(self.size().cols));
        writer.number(u64::from(self.size().rows));
        writer.number(self.version());
        writer.number(self.first_line().0 + (main.history() - history) as u64);
        writer.flag(engine.is_synchronizing());
        writer.number(self.sync_bytes());
        write_scanner(&mut writer, self.scanner());
        writer.flag(self.scanner().is_after_text());
        state::write_outbox(&mut writer, engine.outbox_ref());
        state::write_colors(&mut writer, &engine.outbox_ref().colors);
        state::write_registers(&mut writer, &engine.registers());
        writer.flag(engine.is_alternate());
        grid::write(&mut writer, main, history);
        if engine.is_alternate() {
            grid::write(&mut writer, engine.visible(), 0);
        }
        grid::write_prompts(&mut writer, main, history);
        writer.bytes
    }

    /// Restores the screen of a checkpoint. Any bytes are safe to pass. History beyond the limit is dropped,
    /// oldest first.
    pub fn restore(blob: &[u8], limits: Limits) -> Result<Screen, RestoreError> {
        let mut reader = Reader::new(blob);
        let format = reader.byte()?;
        if !(WITHOUT_SHIFTS..=VERSION).contains(&format) {
            return Err(RestoreError::Version(format));
        }
        let size = GridSize { cols: reader.small()?, rows: reader.small()? };
        if size != size.sane() {
            return Err(RestoreError::Damaged);
        }
        let version = reader.number()?;
        let first_line = reader.number()?;
        let synchronizing = reader.flag()?;
        let sync_bytes = reader.number()?;
        let mut scanner = read_scanner(&mut reader)?;
        let since = state::Since {
            shifts: format > WITHOUT_SHIFTS,
            colors: format > WITHOUT_COLORS,
            pushed_colors: format > WITHOUT_PUSHED_COLORS,
        };
        if since.colors {
            scanner.set_after_text(reader.flag()?);
        }
        let mut engine = Engine::new(size, limits.history());
        state::read_outbox(&mut reader, engine.outbox())?;
        if since.colors {
            engine.outbox().colors = state::read_colors(&mut reader, since)?;
        }
        let registers = state::read_registers(&mut reader, size, since)?;
        let alternate = reader.flag()?;
        engine.set_registers(&registers, alternate);
        let mut dropped = 0;
        if let Some(mut main) = engine.builder(Which::Main) {
            dropped = grid::read(&mut reader, &mut main, size)?;
        }
        if let Some(mut other) = engine.builder(Which::Alternate) {
            grid::read(&mut reader, &mut other, size)?;
        }
        if format > WITHOUT_PROMPTS
            && let Some(mut main) = engine.builder(Which::Main)
        {
            grid::read_prompts(&mut reader, &mut main, dropped)?;
        }
        engine.set_synchronizing(synchronizing);
        // A damaged blob may hold any number. The limit keeps later additions from overflowing.
        let mut screen = Screen::assemble(engine, scanner, version.min(u64::MAX / 4));
        screen.set_line_base(first_line.min(u64::MAX / 4) + dropped);
        screen.set_sync_bytes(sync_bytes.min(u64::MAX / 4));
        Ok(screen)
    }
}

fn write_scanner(writer: &mut Writer, scanner: &Scanner) {
    let (tail, dropping) = scanner.unfinished();
    writer.byte(match dropping {
        Dropping::Nothing => 0,
        Dropping::Control => 1,
        Dropping::String(StringKind::Osc) => 2,
        Dropping::String(_) => 3,
    });
    writer.string(tail);
}

fn read_scanner(reader: &mut Reader<'_>) -> Result<Scanner, Malformed> {
    let dropping = match reader.byte()? {
        0 => Dropping::Nothing,
        1 => Dropping::Control,
        2 => Dropping::String(StringKind::Osc),
        3 => Dropping::String(StringKind::Dcs),
        _ => return Err(Malformed),
    };
    Ok(Scanner::resumed(reader.bytes(2 * STRING_MAX)?, dropping))
}

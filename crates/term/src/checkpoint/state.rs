//! Writes and reads the parts of a checkpoint outside the grids: titles, program status, modes and registers.

use crate::colors::{ColorTable, Colors, PUSHED_MAX, Rgb, Scheme};
use crate::engine::{Keyboard, Outbox, Registers, Shifts};
use crate::modes::{Cursor, CursorShape, Modes, MouseEncoding, MouseTracking};
use crate::size::GridSize;
use crate::status::{ProgramState, StatusReport};
use crate::wire::{Malformed, Reader, Writer};

/// Longest text in this part of a blob.
const TEXT_MAX: usize = 8 * 1024;
/// The most titles and the most status records that are read.
const LIST_MAX: usize = 256;
/// The most colours that are read: the palette, foreground, background and cursor.
const COLORS_MAX: usize = 259;

pub(super) fn write_outbox(writer: &mut Writer, outbox: &Outbox) {
    writer.string(outbox.title.as_bytes());
    writer.number(outbox.title_stack.len() as u64);
    outbox.title_stack.iter().for_each(|title| writer.string(title.as_bytes()));
    writer.number(outbox.status.records().len() as u64);
    outbox.status.records().iter().for_each(|record| write_report(writer, record));
}

pub(super) fn read_outbox(reader: &mut Reader<'_>, outbox: &mut Outbox) -> Result<(), Malformed> {
    outbox.title = reader.string(TEXT_MAX)?.to_owned();
    for _ in 0..read_length(reader)? {
        outbox.title_stack.push(reader.string(TEXT_MAX)?.to_owned());
    }
    for _ in 0..read_length(reader)? {
        outbox.status.apply(&read_report(reader)?);
    }
    Ok(())
}

pub(super) fn write_colors(writer: &mut Writer, colors: &Colors) {
    for table in [&colors.set, &colors.shown] {
        write_table(writer, table);
    }
    writer.byte(match colors.scheme {
        None => 0,
        Some(Scheme::Dark) => 1,
        Some(Scheme::Light) => 2,
    });
    writer.number(colors.pushed.len() as u64);
    colors.pushed.iter().for_each(|table| write_table(writer, table));
}

fn write_table(writer: &mut Writer, table: &ColorTable) {
    writer.number(table.iter().count() as u64);
    for (index, Rgb(red, green, blue)) in table.iter() {
        [index, red, green, blue].into_iter().for_each(|number| writer.number(u64::from(number)));
    }
}

fn read_table(reader: &mut Reader<'_>) -> Result<ColorTable, Malformed> {
    let mut table = ColorTable::default();
    for _ in 0..read_count(reader, COLORS_MAX)? {
        table.set(reader.small()?, Rgb(reader.small()?, reader.small()?, reader.small()?));
    }
    Ok(table)
}

pub(super) fn read_colors(reader: &mut Reader<'_>, since: Since) -> Result<Colors, Malformed> {
    let (set, shown) = (read_table(reader)?, read_table(reader)?);
    let mut colors = Colors { set, shown, ..Colors::default() };
    colors.scheme = match reader.byte()? {
        0 => None,
        1 => Some(Scheme::Dark),
        2 => Some(Scheme::Light),
        _ => return Err(Malformed),
    };
    if since.pushed_colors {
        for _ in 0..read_count(reader, PUSHED_MAX)? {
            colors.pushed.push(read_table(reader)?);
        }
    }
    Ok(colors)
}

fn read_count(reader: &mut Reader<'_>, most: usize) -> Result<usize, Malformed> {
    reader.small().ok().filter(|&length: &usize| length <= most).ok_or(Malformed)
}

/// Which parts a blob contains, by the version of its format.
#[derive(Clone, Copy)]
pub(super) struct Since {
    /// Character sets that are shifted for one character, and character sets saved with the cursor.
    pub(super) shifts: bool,
    /// Colours, saved modes and the form of the cursor.
    pub(super) colors: bool,
    /// Colours that were pushed.
    pub(super) pushed_colors: bool,
}

fn read_length(reader: &mut Reader<'_>) -> Result<usize, Malformed> {
    read_count(reader, LIST_MAX)
}

fn write_report(writer: &mut Writer, report: &StatusReport) {
    writer.byte(match report.state {
        None => 0,
        Some(ProgramState::Idle) => 1,
        Some(ProgramState::Working) => 2,
        Some(ProgramState::Blocked) => 3,
        Some(ProgramState::Done) => 4,
        Some(ProgramState::Error) => 5,
    });
    writer.string(report.id.as_bytes());
    writer.option(report.app.as_deref());
    writer.option(report.kind.as_deref());
    writer.byte(report.progress.unwrap_or(u8::MAX));
    writer.option(report.title.as_deref());
    writer.option(report.message.as_deref());
}

fn read_report(reader: &mut Reader<'_>) -> Result<StatusReport, Malformed> {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    Ok(StatusReport {
        state: match reader.byte()? {
            1 => Some(ProgramState::Idle),
            2 => Some(ProgramState::Working),
            3 => Some(ProgramState::Blocked),
            4 => Some(ProgramState::Done),
            5 => Some(ProgramState::Error),
            _ => return Err(Malformed),
        },
        id: reader.string(TEXT_MAX)?.to_owned(),
        app: owned(reader.option(TEXT_MAX)?),
        kind: owned(reader.option(TEXT_MAX)?),
        progress: Some(reader.byte()?).filter(|&percent| percent <= 100),
        title: owned(reader.option(TEXT_MAX)?),
        message: owned(reader.option(TEXT_MAX)?),
    })
}

pub(super) fn write_registers(writer: &mut Writer, registers: &Registers) {
    write_modes(writer, &registers.modes);
    writer.flag(registers.cursor.visible);
    writer.byte(registers.cursor.shape as u8);
    writer.flag(registers.cursor.blinking);
    writer.number(u64::from(registers.region.0));
    writer.number(u64::from(registers.region.1));
    let stops: Vec<u8> = registers.tabs.chunks(8).map(packed).collect();
    writer.string(&stops);
    writer.byte(registers.charset);
    writer.byte(registers.shift.map_or(0, |index| index + 1));
    write_shifts(writer, registers.saved);
    write_shifts(writer, registers.other_saved);
    for keyboard in [&registers.keyboard, &registers.other_keyboard] {
        writer.byte(keyboard.base());
        writer.string(keyboard.levels());
    }
    writer.number(registers.last_character.map_or(0, |character| u64::from(u32::from(character)) + 1));
    writer.number(u64::from(registers.repeats));
    writer.flag(registers.cursor.is_chosen);
    writer.number(registers.saved_modes.len() as u64);
    for (mode, on) in &registers.saved_modes {
        writer.number(u64::from(*mode));
        writer.flag(*on);
    }
}

pub(super) fn read_registers(
    reader: &mut Reader<'_>,
    size: GridSize,
    since: Since,
) -> Result<Registers, Malformed> {
    let modes = read_modes(reader)?;
    let mut cursor = read_cursor(reader)?;
    let region = (reader.small()?, reader.small()?);
    let packed = reader.bytes(usize::from(GridSize::MAX.cols))?;
    let tabs = packed.iter().flat_map(|&byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
    let tabs = tabs.take(usize::from(size.cols)).collect();
    let charset = reader.byte()?;
    let (shift, saved, other_saved) = match since.shifts {
        true => (reader.byte()?.checked_sub(1), read_shifts(reader)?, read_shifts(reader)?),
        false => Default::default(),
    };
    let keyboard = read_keyboard(reader)?;
    let other_keyboard = read_keyboard(reader)?;
    let last_character = match reader.small::<u32>()? {
        0 => None,
        number => Some(char::from_u32(number - 1).ok_or(Malformed)?),
    };
    let repeats = reader.small()?;
    let mut saved_modes = Vec::new();
    cursor.is_chosen = cursor.shape != CursorShape::Block || cursor.blinking;
    if since.colors {
        cursor.is_chosen = reader.flag()?;
        for _ in 0..read_length(reader)? {
            saved_modes.push((reader.small()?, reader.flag()?));
        }
    }
    Ok(Registers {
        modes,
        cursor,
        region,
        tabs,
        charset,
        shift,
        saved,
        other_saved,
        keyboard,
        other_keyboard,
        last_character,
        repeats,
        saved_modes,
    })
}

fn write_shifts(writer: &mut Writer, shifts: Shifts) {
    writer.byte(shifts.charset);
    writer.flag(shifts.origin);
}

fn read_shifts(reader: &mut Reader<'_>) -> Result<Shifts, Malformed> {
    Ok(Shifts { charset: reader.byte()?, origin: reader.flag()? })
}

fn packed(bits: &[bool]) -> u8 {
    bits.iter().enumerate().map(|(bit, &on)| u8::from(on) << bit).sum()
}

fn read_cursor(reader: &mut Reader<'_>) -> Result<Cursor, Malformed> {
    let visible = reader.flag()?;
    let shape = match reader.byte()? {
        0 => CursorShape::Block,
        1 => CursorShape::Underline,
        2 => CursorShape::Bar,
        _ => return Err(Malformed),
    };
    let blinking = reader.flag()?;
    Ok(Cursor { col: 0, row: 0, visible, shape, blinking, is_chosen: false, wrap_pending: false })
}

fn read_keyboard(reader: &mut Reader<'_>) -> Result<Keyboard, Malformed> {
    let base = reader.byte()?;
    Ok(Keyboard::from_levels(base, reader.bytes(TEXT_MAX)?))
}

fn write_modes(writer: &mut Writer, modes: &Modes) {
    let switches = [
        modes.application_cursor,
        modes.application_keypad,
        modes.bracketed_paste,
        modes.focus_events,
        modes.alternate_scroll,
        modes.color_scheme_updates,
        modes.grapheme_clusters,
        modes.line_wrap,
        modes.origin,
        modes.insert,
        modes.linefeed_newline,
        modes.reverse_video,
    ];
    let bits = switches.iter().enumerate().map(|(bit, &on)| u64::from(on) << bit).sum();
    writer.number(bits);
    writer.byte(modes.mouse as u8);
    writer.byte(modes.mouse_encoding as u8);
    writer.byte(modes.modify_other_keys);
}

fn read_modes(reader: &mut Reader<'_>) -> Result<Modes, Malformed> {
    let bits = reader.number()?;
    let on = |bit: u32| bits >> bit & 1 == 1;
    Ok(Modes {
        application_cursor: on(0),
        application_keypad: on(1),
        bracketed_paste: on(2),
        focus_events: on(3),
        alternate_scroll: on(4),
        color_scheme_updates: on(5),
        grapheme_clusters: on(6),
        line_wrap: on(7),
        origin: on(8),
        insert: on(9),
        linefeed_newline: on(10),
        reverse_video: on(11),
        mouse: match reader.byte()? {
            0 => MouseTracking::Off,
            1 => MouseTracking::X10,
            2 => MouseTracking::Clicks,
            3 => MouseTracking::Drag,
            4 => MouseTracking::Motion,
            _ => return Err(Malformed),
        },
        mouse_encoding: match reader.byte()? {
            0 => MouseEncoding::Bytes,
            1 => MouseEncoding::Utf8,
            2 => MouseEncoding::Sgr,
            3 => MouseEncoding::SgrPixels,
            _ => return Err(Malformed),
        },
        modify_other_keys: reader.byte()?,
        keyboard_flags: 0,
    })
}

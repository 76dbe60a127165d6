//! The mouse: what the terminal reports, and what a child that asked for it is sent.

use term::{MouseEncoding, MouseTracking};

use super::input::What;
use crate::frame::Point;

/// A button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MouseButton {
    Left,
    Middle,
    Right,
}

/// What the mouse did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MouseAct {
    Press(MouseButton),
    Release(MouseButton),
    Drag(MouseButton),
    Move,
    WheelUp,
    WheelDown,
    /// A wheel to the side, or a button nobody uses here.
    Other(u8),
}

/// One mouse event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mouse {
    pub(crate) act: MouseAct,
    /// Where, counted from zero.
    pub(crate) at: Point,
    pub(crate) shift: bool,
    pub(crate) alt: bool,
    pub(crate) ctrl: bool,
}

/// `button ; column ; row` of mode 1006.
pub(super) fn of_sgr(parameters: &str, is_release: bool) -> What {
    let numbers: Vec<u16> = parameters.split(';').filter_map(|number| number.parse().ok()).collect();
    let [code, col, row] = numbers[..] else { return What::Unknown };
    What::Mouse(event(code, col, row, is_release))
}

/// The three bytes of the oldest report.
pub(super) fn of_bytes(raw: [u8; 3]) -> What {
    let [code, col, row] = raw.map(|byte| u16::from(byte.saturating_sub(32)));
    What::Mouse(event(code, col, row, code & 3 == 3 && code & 0x60 == 0))
}

fn event(code: u16, col: u16, row: u16, is_release: bool) -> Mouse {
    let button = match code & 3 {
        1 => MouseButton::Middle,
        2 => MouseButton::Right,
        _ => MouseButton::Left,
    };
    let act = match code & 0xe0 {
        0x40 if code & 3 == 0 => MouseAct::WheelUp,
        0x40 if code & 3 == 1 => MouseAct::WheelDown,
        0x20 if code & 3 == 3 => MouseAct::Move,
        0x20 => MouseAct::Drag(button),
        0 if is_release => MouseAct::Release(button),
        0 if code & 3 == 3 => MouseAct::Move,
        0 => MouseAct::Press(button),
        _ => MouseAct::Other(u8::try_from(code & 0xe3).unwrap_or(u8::MAX)),
    };
    let at = Point { col: col.saturating_sub(1), row: row.saturating_sub(1) };
    Mouse { act, at, shift: code & 4 != 0, alt: code & 8 != 0, ctrl: code & 16 != 0 }
}

impl Mouse {
    /// Returns true if a child with this tracking hears of it.
    pub(crate) fn is_wanted(&self, tracking: MouseTracking) -> bool {
        match (tracking, self.act) {
            (MouseTracking::Off, _) => false,
            (MouseTracking::X10, act) => matches!(act, MouseAct::Press(_)),
            (MouseTracking::Clicks, act) => !matches!(act, MouseAct::Move | MouseAct::Drag(_)),
            (MouseTracking::Drag, act) => act != MouseAct::Move,
            (MouseTracking::Motion, _) => true,
        }
    }

    /// The bytes for a child with this encoding; none where it has no form for the place.
    pub(crate) fn encode(&self, encoding: MouseEncoding) -> Vec<u8> {
        let code = self.code();
        let (col, row) = (self.at.col + 1, self.at.row + 1);
        let is_release = matches!(self.act, MouseAct::Release(_));
        match encoding {
            MouseEncoding::Sgr | MouseEncoding::SgrPixels => {
                let last = if is_release { 'm' } else { 'M' };
                format!("\x1b[<{code};{col};{row}{last}").into_bytes()
            }
            MouseEncoding::Bytes | MouseEncoding::Utf8 => {
                let code = if is_release { code & !3 | 3 } else { code };
                let byte = |value: u16| u8::try_from(value + 32).ok();
                match (byte(code), byte(col), byte(row)) {
                    (Some(code), Some(col), Some(row)) => vec![0x1b, b'[', b'M', code, col, row],
                    _ => Vec::new(),
                }
            }
        }
    }

    fn code(&self) -> u16 {
        let button = |button: MouseButton| match button {
            MouseButton::Left => 0,
            MouseButton::Middle => 1,
            MouseButton::Right => 2,
        };
        let act = match self.act {
            MouseAct::Press(one) | MouseAct::Release(one) => button(one),
            MouseAct::Drag(one) => 0x20 + button(one),
            MouseAct::Move => 0x23,
            MouseAct::WheelUp => 0x40,
            MouseAct::WheelDown => 0x41,
            MouseAct::Other(code) => u16::from(code),
        };
        act | u16::from(self.shift) << 2 | u16::from(self.alt) << 3 | u16::from(self.ctrl) << 4
    }
}

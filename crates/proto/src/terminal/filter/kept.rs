//! State of the filter that the person's terminal must not keep: saved modes, pushed titles, the repeated
//! character, and which screen is shown. Also the verdicts that depend on it. The terminal's own slots for
//! these hold what was there before the attachment.

use std::borrow::Cow;

use super::allowed::{self, Control, Judged, is_plain_mode, is_private_mode, keep_if, number};
use super::keyboard::Keyboard;
use super::sequence::{Found, Kind};
use crate::terminal::restore::{FULL_RESET, LEAVE_ALTERNATE, OWN_TITLE, RESET_COLORS};

/// Modes that may be switched, saved and restored.
pub(super) const MODES: [u16; 18] =
    [1, 5, 6, 7, 9, 12, 25, 66, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1016, 2004, 2027];
/// Those that change what the terminal sends: keys, the mouse, the focus, pastes.
const INPUT: [u32; 12] = [1, 9, 66, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1016, 2004];
/// Modes of which one at most is on: which events of the mouse are reported.
const MOUSE: [u16; 4] = [9, 1000, 1002, 1003];
/// The modes that are on after a reset: wrapping, the cursor, the wheel on the alternate screen, clusters.
const USUAL: [u16; 4] = [7, 25, 1007, 2027];
/// Titles that may be pushed.
const TITLES_MAX: usize = 16;
/// Begins a string in a repaint that terminals ignore and the filter reads.
const HINT: &[u8] = b"Q";
/// The most characters that one repetition writes out.
const REPEATS_MAX: u32 = 4096;

/// The end of the text before a sequence.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Last {
    bytes: [u8; 4],
    length: u8,
}

impl Last {
    /// Returns the character that was printed last, if nothing came after it.
    fn character(self) -> Option<char> {
        let bytes = &self.bytes[..usize::from(self.length)];
        let start = bytes.iter().rposition(|byte| byte & 0xc0 != 0x80)?;
        let character = std::str::from_utf8(&bytes[start..]).ok()?.chars().next()?;
        Some(character).filter(|character| !character.is_control())
    }

    fn of(character: char) -> Self {
        let mut bytes = [0; 4];
        let length = character.encode_utf8(&mut bytes).len();
        Self { bytes, length: u8::try_from(length).unwrap_or(0) }
    }
}

/// What is remembered.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) is_alternate: bool,
    /// True if colours of the terminal itself were changed.
    pub(super) is_colored: bool,
    /// True if the form of the cursor was set.
    pub(super) is_cursor_formed: bool,
    pub(super) last: Last,
    keyboard: Keyboard,
    /// Which of [`MODES`] are on, and which were when they were saved.
    on: u32,
    saved: u32,
    title: Vec<u8>,
    titles: Vec<Vec<u8>>,
    /// Nobody reads what the terminal sends: Ctrl-C must stay what the terminal driver knows.
    pub(super) is_unread: bool,
}

impl Default for Kept {
    fn default() -> Self {
        let usual = USUAL.iter().map(|mode| bit(u32::from(*mode))).sum();
        Self {
            is_alternate: false,
            is_colored: false,
            is_cursor_formed: false,
            last: Last::default(),
            keyboard: Keyboard::default(),
            on: usual,
            saved: usual,
            title: Vec::new(),
            titles: Vec::new(),
            is_unread: false,
        }
    }
}

/// Returns the bit of a mode; 0 when it is not remembered.
fn bit(mode: u32) -> u32 {
    MODES.iter().position(|known| u32::from(*known) == mode).map_or(0, |at| 1 << at)
}

impl Kept {
    pub(super) fn note_text(&mut self, text: &[u8]) {
        if let Some(tail) = text.last_chunk::<4>() {
            self.last = Last { bytes: *tail, length: 4 };
        } else {
            self.last.bytes[..text.len()].copy_from_slice(text);
            self.last.length = text.len() as u8;
        }
    }

    /// Judges a whole control sequence.
    #[inline]
    pub(super) fn judge_control(&mut self, control: Control<'_>) -> Judged {
        let last = std::mem::take(&mut self.last);
        if control.prefix == 0 && control.intermediate == 0 && allowed::is_harmless(control.last) {
            return Judged::Keep;
        }
        if control.prefix == 0 && control.intermediate == 0 && allowed::is_query(control.last) {
            return Judged::Remove;
        }
        self.control(control, last)
    }

    /// Judges a whole sequence.
    pub(super) fn judge(&mut self, found: &Found, sequence: &[u8]) -> Judged {
        let body = match found.is_clean {
            true => Cow::Borrowed(&sequence[found.body.0..found.body.1]),
            false => Cow::Owned(found.body(sequence)),
        };
        let last = std::mem::take(&mut self.last);
        match found.kind {
            Kind::Escape if *body == *b"c" => self.full_reset(),
            Kind::Escape if self.is_unread && matches!(body[..], [b'=' | b'>']) => Judged::Remove,
            Kind::Escape => allowed::escape(&body),
            Kind::Control => {
                Control::parse(&body).map_or(Judged::Remove, |control| self.control(control, last))
            }
            Kind::Osc => self.command(&body),
            Kind::Apc => self.application(&body),
            Kind::Dcs | Kind::Ignored => Judged::Remove,
        }
    }

    fn control(&mut self, control: Control<'_>, last: Last) -> Judged {
        match (control.prefix, control.intermediate, control.last) {
            (0, 0, b'b') => self.repeat(control, last),
            (0, 0, b't') => self.title_stack(control),
            (0, 0, b'h' | b'l') => only(control, is_plain_mode),
            (b'?', 0, b'h' | b'l') => self.switch(control),
            (b'?', 0, b's') => {
                let saved: u32 = control.values().fold(0, |saved, mode| saved | bit(mode));
                self.saved = (self.saved & !saved) | (self.on & saved);
                Judged::Remove
            }
            (b'?', 0, b'r') => self.restore(control),
            (b'<' | b'=' | b'>', 0, b'u') | (b'>', 0, b'm') if self.is_unread => Judged::Remove,
            (b'<' | b'=' | b'>', 0, b'u') => Judged::Replace(self.keyboard.apply(control, self.is_alternate)),
            (0, b' ', b'q') => {
                self.is_cursor_formed = true;
                Judged::Keep
            }
            (0, b'!', b'p') => {
                let soft = [1, 6, 66].into_iter().fold(0, |soft, mode| soft | bit(mode));
                self.on = (self.on & !soft) | bit(25);
                Judged::Keep
            }
            _ => control.judge(),
        }
    }

    /// Writes a repeated character out, because terminals disagree about what is repeated after a repaint.
    fn repeat(&mut self, control: Control<'_>, last: Last) -> Judged {
        let Some(character) = last.character() else { return Judged::Remove };
        self.last = Last::of(character);
        let count = control.first().clamp(1, REPEATS_MAX) as usize;
        Judged::Replace(character.to_string().repeat(count).into_bytes())
    }

    fn switch(&mut self, control: Control<'_>) -> Judged {
        let (on, was_alternate) = (control.last == b'h', self.is_alternate);
        for mode in control.values() {
            self.note_mode(mode, on);
        }
        let judged = only(control, |mode| is_private_mode(mode, on) && self.may_switch(mode));
        let sequences = self.keyboard.around_alternate(on);
        match &judged {
            _ if was_alternate == on || self.is_alternate != on || sequences.is_empty() => judged,
            Judged::Remove => judged,
            Judged::Replace(modes) if on => Judged::Replace([&modes[..], &sequences].concat()),
            Judged::Replace(modes) => Judged::Replace([&sequences, &modes[..]].concat()),
            Judged::Keep => {
                let modes = [b"\x1b[?", control.numbers, &[control.last]].concat();
                Judged::Replace(if on { [modes, sequences].concat() } else { [sequences, modes].concat() })
            }
        }
    }

    fn may_switch(&self, mode: u32) -> bool {
        !(self.is_unread && INPUT.contains(&mode))
    }

    fn note_mode(&mut self, mode: u32, on: bool) {
        if matches!(mode, 47 | 1047 | 1049) {
            self.is_alternate = on;
        }
        if MOUSE.iter().any(|kind| u32::from(*kind) == mode) {
            self.on &= !MOUSE.iter().fold(0, |all, kind| all | bit(u32::from(*kind)));
        }
        self.on = if on { self.on | bit(mode) } else { self.on & !bit(mode) };
    }

    /// Restores modes to their saved values, off first: switching one kind of mouse report off ends all of
    /// them.
    fn restore(&mut self, control: Control<'_>) -> Judged {
        let is_known = |mode: &u32| bit(*mode) != 0 && self.may_switch(*mode);
        let wanted: Vec<u32> = control.values().filter(is_known).collect();
        let saved = self.saved;
        let mut sequences = String::new();
        for on in [false, true] {
            for mode in wanted.iter().filter(|mode| (saved & bit(**mode) != 0) == on) {
                sequences.push_str(&format!("\x1b[?{mode}{}", if on { 'h' } else { 'l' }));
                self.note_mode(*mode, on);
            }
        }
        if sequences.is_empty() { Judged::Remove } else { Judged::Replace(sequences.into_bytes()) }
    }

    /// Replaces a full reset by single resets, because it would also erase what the terminal keeps for the
    /// person.
    fn full_reset(&mut self) -> Judged {
        let leave = if self.is_alternate { LEAVE_ALTERNATE } else { b"" };
        let colors = if self.is_colored { RESET_COLORS } else { b"" };
        let title = if self.title.is_empty() { b"" } else { OWN_TITLE };
        let (is_colored, is_unread) = (self.is_colored, self.is_unread);
        *self = Self { is_colored, is_cursor_formed: true, is_unread, ..Self::default() };
        Judged::Replace([leave, FULL_RESET, colors, title].concat())
    }

    fn command(&mut self, body: &[u8]) -> Judged {
        let at = body.iter().position(|byte| *byte == b';');
        let (code, rest) = at.map_or((body, &body[..0]), |at| (&body[..at], &body[at + 1..]));
        match number(code) {
            Some(0 | 2) => self.set_title(rest),
            Some(1) => keep_if(!rest.is_empty()),
            Some(code) => {
                // Colours that the child did not change are the person's, and stay.
                if matches!(code, 104 | 110..=112) && !self.is_colored {
                    return Judged::Remove;
                }
                let judged = allowed::command(code, rest);
                self.is_colored |= matches!(code, 4 | 10..=12) && judged != Judged::Remove;
                judged
            }
            None => Judged::Remove,
        }
    }

    /// An empty title restores the terminal's own.
    fn set_title(&mut self, title: &[u8]) -> Judged {
        let is_other = self.title != title;
        self.title = title.to_vec();
        match title.is_empty() {
            true if is_other => Judged::Replace(OWN_TITLE.to_vec()),
            true => Judged::Remove,
            false => Judged::Keep,
        }
    }

    fn title_stack(&mut self, control: Control<'_>) -> Judged {
        let mut values = control.values();
        match (values.next(), values.next().unwrap_or(0)) {
            (Some(22), 0 | 2) => {
                self.push_title(self.title.clone());
                Judged::Remove
            }
            (Some(23), 0 | 2) => match self.titles.pop() {
                None => Judged::Remove,
                Some(title) => match self.set_title(&title) {
                    Judged::Keep => Judged::Replace([b"\x1b]2;", &title[..], b"\x1b\\"].concat()),
                    own => own,
                },
            },
            _ => Judged::Remove,
        }
    }

    /// Reads what a repaint writes for the filter alone: the last character, pushed titles, saved modes.
    fn take_hint(&mut self, hint: &[u8]) {
        match hint {
            b"0" => self.titles.clear(),
            [b'r', b';', point @ ..] => {
                let point = std::str::from_utf8(point).ok();
                let character =
                    point.and_then(|point| u32::from_str_radix(point, 16).ok()).and_then(char::from_u32);
                self.last = character.map_or(Last::default(), Last::of);
            }
            [b't', b';', title @ ..] => self.push_title(title.to_vec()),
            [b's', b';', mode @ .., b';', on @ (b'0' | b'1')] => {
                let mode = number(mode).map_or(0, bit);
                self.saved = if *on == b'1' { self.saved | mode } else { self.saved & !mode };
            }
            _ => {}
        }
    }

    fn push_title(&mut self, title: Vec<u8>) {
        if self.titles.len() >= TITLES_MAX {
            self.titles.remove(0);
        }
        self.titles.push(title);
    }

    /// Images without data, and hints of a drawing.
    fn application(&mut self, body: &[u8]) -> Judged {
        if let Some(hint) = body.strip_prefix(HINT) {
            self.take_hint(hint);
            return Judged::Remove;
        }
        match allowed::image(body) {
            Some(image) => Judged::Replace([&image[..], b"\x1b\\"].concat()),
            None => Judged::Remove,
        }
    }
}

/// Returns the sequence with those of its modes that may be switched.
fn only(control: Control<'_>, is_allowed: impl Fn(u32) -> bool) -> Judged {
    if control.values().all(&is_allowed) {
        return Judged::Keep;
    }
    let modes: Vec<String> =
        control.values().filter(|mode| is_allowed(*mode)).map(|mode| mode.to_string()).collect();
    if modes.is_empty() {
        return Judged::Remove;
    }
    let prefix = if control.prefix == 0 { "" } else { "?" };
    Judged::Replace(format!("\x1b[{prefix}{}{}", modes.join(";"), char::from(control.last)).into_bytes())
}

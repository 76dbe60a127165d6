//! The keyboard flags (kitty's protocol) that a child has set, on each screen.
//!
//! The person's terminal has one level for the whole attachment, which the client begins. The levels that a
//! child pushes and pops are counted here, and the terminal gets only the flags in effect. So no child pops
//! what another program has pushed.

use super::allowed::Control;

/// The most levels that a child may push. One more drops the oldest.
const LEVELS_MAX: usize = 8;
/// The flags that the protocol defines.
const FLAGS: u32 = 0b1_1111;

/// The levels of one screen.
#[derive(Debug, Default)]
struct Levels {
    base: u32,
    pushed: Vec<u32>,
}

impl Levels {
    fn flags(&self) -> u32 {
        self.pushed.last().copied().unwrap_or(self.base)
    }

    fn set(&mut self, flags: u32) {
        *self.pushed.last_mut().unwrap_or(&mut self.base) = flags & FLAGS;
    }

    fn push(&mut self, flags: u32) {
        if self.pushed.len() >= LEVELS_MAX {
            self.pushed.remove(0);
        }
        self.pushed.push(flags & FLAGS);
    }

    /// Pops levels. Popping more than was pushed switches everything off.
    fn pop(&mut self, count: u32) {
        let count = usize::try_from(count.max(1)).unwrap_or(usize::MAX);
        if count > self.pushed.len() {
            self.base = 0;
        }
        self.pushed.truncate(self.pushed.len().saturating_sub(count));
    }
}

/// The levels of the main and the alternate screen.
#[derive(Debug, Default)]
pub(super) struct Keyboard {
    main: Levels,
    alternate: Levels,
}

impl Keyboard {
    /// Applies `CSI < u`, `CSI = u` or `CSI > u`; returns what the terminal gets in its place.
    pub(super) fn apply(&mut self, control: Control<'_>, is_alternate: bool) -> Vec<u8> {
        let levels = if is_alternate { &mut self.alternate } else { &mut self.main };
        let mut values = control.values();
        let (first, how) = (values.next().unwrap_or(0), values.next().unwrap_or(0));
        match (control.prefix, how) {
            (b'<', _) => levels.pop(first),
            (b'>', _) => levels.push(first),
            (_, 2) => levels.set(levels.flags() | first),
            (_, 3) => levels.set(levels.flags() & !first),
            _ => levels.set(first),
        }
        format!("\x1b[={}u", levels.flags()).into_bytes()
    }

    /// Returns what the terminal gets before it leaves the alternate screen, which keeps its flags, and after
    /// it enters it.
    pub(super) fn around_alternate(&self, is_entering: bool) -> Vec<u8> {
        match (self.alternate.flags(), is_entering) {
            (0, _) => Vec::new(),
            (_, false) => b"\x1b[=0u".to_vec(),
            (flags, true) => format!("\x1b[={flags}u").into_bytes(),
        }
    }
}

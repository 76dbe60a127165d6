//! How the child wants keys: the kitty keyboard flags of each grid, a stack that the child pushes to and pops
//! from, and the level of modified keys (XTMODKEYS). `keys` turns keys into bytes.

/// The most levels that are kept. One more push drops the oldest, as the protocol asks.
pub(crate) const LEVELS_MAX: usize = 8;
/// The flags the protocol defines.
const FLAGS_ALL: u8 = 0b1_1111;

/// Flags pushed by the child, newest last. The level below the first push has no flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keyboard {
    base: u8,
    levels: Vec<u8>,
}

impl Keyboard {
    /// Rebuilds a stack and cuts levels beyond the limit.
    pub(crate) fn from_levels(base: u8, levels: &[u8]) -> Keyboard {
        let levels = levels.iter().take(LEVELS_MAX).map(|flags| flags & FLAGS_ALL).collect();
        Keyboard { base: base & FLAGS_ALL, levels }
    }

    /// Returns the flags below every push.
    pub(crate) fn base(&self) -> u8 {
        self.base
    }

    /// Returns everything pushed.
    pub(crate) fn levels(&self) -> &[u8] {
        &self.levels
    }

    /// Returns the flags in effect.
    pub(crate) fn current(&self) -> u8 {
        self.levels.last().copied().unwrap_or(self.base)
    }

    pub(super) fn push(&mut self, flags: u8) {
        if self.levels.len() >= LEVELS_MAX {
            self.levels.remove(0);
        }
        self.levels.push(flags & FLAGS_ALL);
    }

    /// Pops levels. Popping more than was pushed switches everything off.
    pub(super) fn pop(&mut self, count: u16) {
        let count = usize::from(count);
        if count > self.levels.len() {
            self.base = 0;
        }
        self.levels.truncate(self.levels.len().saturating_sub(count));
    }

    pub(super) fn set(&mut self, flags: u8) {
        match self.levels.last_mut() {
            Some(top) => *top = flags & FLAGS_ALL,
            None => self.base = flags & FLAGS_ALL,
        }
    }
}

/// The keyboard flags of both grids, and the level of modified keys, which they share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Keyboards {
    /// Of the visible grid.
    pub(super) shown: Keyboard,
    /// Of the other grid.
    pub(super) hidden: Keyboard,
    pub(super) modify_other_keys: u8,
}

impl Keyboards {
    /// The other grid is shown.
    pub(super) fn swap(&mut self) {
        std::mem::swap(&mut self.shown, &mut self.hidden);
    }
}

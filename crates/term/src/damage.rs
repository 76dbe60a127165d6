//! Tracks which rows changed since a version. Any number of readers can ask, each with the version that it
//! saw last; the tracker keeps nothing per reader.

use crate::engine::Changed;

/// What a reader has to draw again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Nothing.
    Nothing,
    /// These rows of the visible grid, in order. Empty when only cursor or modes changed.
    Rows(Vec<u16>),
    /// The whole screen.
    Everything,
}

/// The version at which each row changed last.
#[derive(Debug)]
pub(crate) struct Tracker {
    version: u64,
    everything_at: u64,
    rows: Vec<u64>,
}

impl Tracker {
    /// Creates a tracker at `version`, with everything changed.
    pub(crate) fn new(rows: u16, version: u64) -> Tracker {
        Tracker { version, everything_at: version, rows: vec![version; usize::from(rows)] }
    }

    /// Returns the newest version.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Marks a row as changed at the version that the next [`Tracker::note`] makes. A row outside of the screen is none.
    pub(crate) fn mark(&mut self, row: u16) {
        if let Some(at) = self.rows.get_mut(usize::from(row)) {
            *at = self.version + 1;
        }
    }

    /// Records a change whose rows are marked; `moved` means that the cursor or the modes changed.
    pub(crate) fn note(&mut self, changed: Changed, moved: bool) {
        if !moved && changed == Changed::Nothing {
            return;
        }
        self.version += 1;
        if changed == Changed::Everything {
            self.everything_at = self.version;
        }
    }

    /// Sets a new size; everything counts as changed.
    pub(crate) fn resize(&mut self, rows: u16) {
        *self = Tracker::new(rows, self.version + 1);
    }

    /// Returns what changed after `since`. A version from the future, as after a restart, means everything.
    pub(crate) fn since(&self, since: u64) -> Damage {
        if since == self.version {
            return Damage::Nothing;
        }
        if since > self.version || since < self.everything_at {
            return Damage::Everything;
        }
        let changed = self.rows.iter().zip(0u16..).filter(|(at, _)| **at > since);
        Damage::Rows(changed.map(|(_, row)| row).collect())
    }
}

//! The size of a screen in cells, clamped to what the emulator can hold.

/// Columns and rows of a screen, always within [`GridSize::MIN`] and [`GridSize::MAX`] when made by
/// [`GridSize::clamped`]. The screen clamps again, so a hand-made value cannot do harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GridSize {
    /// Number of columns.
    pub cols: u16,
    /// Number of rows.
    pub rows: u16,
}

impl GridSize {
    /// The size of a process when the request names none.
    pub const DEFAULT: GridSize = GridSize { cols: 80, rows: 24 };
    /// The smallest size: a one-column grid cannot hold a wide character and breaks emulators.
    pub const MIN: GridSize = GridSize { cols: 2, rows: 1 };
    /// The largest size: a million cells are 8 MiB, which is enough for every wall display.
    pub const MAX: GridSize = GridSize { cols: 1000, rows: 1000 };

    /// Brings any pair of numbers into the allowed range, each dimension on its own.
    pub fn clamped(cols: u32, rows: u32) -> GridSize {
        let within = |value: u32, low: u16, high: u16| {
            u16::try_from(value.clamp(u32::from(low), u32::from(high))).unwrap_or(high)
        };
        GridSize {
            cols: within(cols, GridSize::MIN.cols, GridSize::MAX.cols),
            rows: within(rows, GridSize::MIN.rows, GridSize::MAX.rows),
        }
    }

    /// Returns this size, clamped.
    pub(crate) fn sane(self) -> GridSize {
        GridSize::clamped(u32::from(self.cols), u32::from(self.rows))
    }

    /// Returns the number of cells.
    pub(crate) fn cells(self) -> usize {
        usize::from(self.cols) * usize::from(self.rows)
    }
}

impl Default for GridSize {
    fn default() -> GridSize {
        GridSize::DEFAULT
    }
}

//! Tab stops: one flag per column.

/// Default distance of tab stops.
const TAB_WIDTH: usize = 8;

/// The tab stops of a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TabStops(Vec<bool>);

impl TabStops {
    /// Returns the default stops.
    pub(super) fn new(cols: usize) -> TabStops {
        TabStops((0..cols).map(is_default).collect())
    }

    /// Returns these stops, for a screen with this many columns.
    pub(super) fn from_flags(mut flags: Vec<bool>, cols: usize) -> TabStops {
        flags.resize(cols, false);
        TabStops(flags)
    }

    /// Returns one flag per column.
    pub(super) fn flags(&self) -> &[bool] {
        &self.0
    }

    /// Returns the columns with a stop.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().filter(|(_, stop)| **stop).map(|(col, _)| col)
    }

    /// Sets or removes the stop of a column.
    pub(super) fn set(&mut self, col: usize, on: bool) {
        if let Some(stop) = self.0.get_mut(col) {
            *stop = on;
        }
    }

    /// Removes all stops.
    pub(super) fn clear(&mut self) {
        self.0.fill(false);
    }

    /// Changes the number of columns; new ones have the default stops.
    pub(super) fn resize(&mut self, cols: usize) {
        let kept = self.0.len().min(cols);
        self.0.truncate(kept);
        self.0.extend((kept..cols).map(is_default));
    }

    /// Returns the column `count` stops to the left; the first one when there are fewer.
    pub(super) fn back(&self, mut col: usize, count: u16) -> usize {
        for _ in 0..count {
            col = self.0.iter().take(col).rposition(|stop| *stop).unwrap_or(0);
        }
        col
    }
}

fn is_default(col: usize) -> bool {
    col.is_multiple_of(TAB_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_to_the_left_are_counted_and_the_first_column_is_the_last_of_them() {
        let mut tabs = TabStops::new(40);
        assert_eq!((tabs.back(20, 1), tabs.back(20, 2), tabs.back(20, 9)), (16, 8, 0));
        assert_eq!(tabs.back(16, 1), 8, "a cursor on a stop moves to the one before it");
        tabs.clear();
        tabs.set(3, true);
        tabs.set(99, true);
        assert_eq!((tabs.back(20, 1), tabs.back(3, 1)), (3, 0));
        assert_eq!(tabs.columns().collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn a_wider_screen_has_default_stops_in_its_new_columns_and_its_own_in_the_others() {
        let mut tabs = TabStops::from_flags(vec![false; 10], 10);
        tabs.resize(20);
        assert_eq!(tabs.columns().collect::<Vec<_>>(), [16]);
        tabs.resize(12);
        assert_eq!((tabs.columns().count(), tabs.flags().len()), (0, 12));
        assert_eq!(TabStops::from_flags(vec![true], 3).flags(), [true, false, false]);
    }
}

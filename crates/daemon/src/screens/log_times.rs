//! When the bytes of a log came: a bounded list of marks, for `qd logs --timestamps` and `qd logs --since`.
//!
//! A mark states that the bytes from its offset up to the next mark's came between two moments. Marks are a
//! tenth of a second apart at first. When there are too many, neighbours are joined and the distance doubles,
//! so a long life costs no more memory than a short one, and old output is dated less exactly than new.

/// Distance of two marks at first, in milliseconds.
const FIRST_STEP: u64 = 100;
/// Most marks: 48 KiB.
const MAX_MARKS: usize = 2048;
/// Bytes of one mark where it is kept.
const ENCODED: usize = 24;

/// Bytes of a log that came within one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The first of them.
    pub(crate) offset: u64,
    /// When it came, in milliseconds since the epoch.
    pub(crate) first_ms: u64,
    /// When the last of them came.
    last_ms: u64,
}

/// The marks of one log, by offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogTimes {
    marks: Vec<Mark>,
    step: u64,
}

impl Default for LogTimes {
    fn default() -> Self {
        Self { marks: Vec::new(), step: FIRST_STEP }
    }
}

impl LogTimes {
    /// Records that bytes from `offset` on came now. A clock that was set back begins a new mark.
    pub(crate) fn record(&mut self, offset: u64, now_ms: u64) {
        if let Some(last) = self.marks.last_mut()
            && now_ms >= last.first_ms
            && now_ms - last.first_ms < self.step
        {
            last.last_ms = now_ms;
            return;
        }
        if self.marks.len() >= MAX_MARKS {
            self.join_neighbours();
        }
        self.marks.push(Mark { offset, first_ms: now_ms, last_ms: now_ms });
    }

    /// Returns the mark of a byte; `None` when its time is unknown.
    pub(crate) fn at(&self, offset: u64) -> Option<Mark> {
        let behind = self.marks.partition_point(|mark| mark.offset <= offset);
        behind.checked_sub(1).and_then(|index| self.marks.get(index)).copied()
    }

    /// Returns the first mark after a byte.
    pub(crate) fn after(&self, offset: u64) -> Option<Mark> {
        self.marks.get(self.marks.partition_point(|mark| mark.offset <= offset)).copied()
    }

    /// Returns where the output of this moment and later begins; `None` when nothing came since.
    pub(crate) fn since(&self, moment_ms: u64) -> Option<u64> {
        self.marks.iter().find(|mark| mark.last_ms >= moment_ms).map(|mark| mark.offset)
    }

    /// Drops marks without any byte left.
    pub(crate) fn forget_before(&mut self, oldest: u64) {
        let behind = self.marks.partition_point(|mark| mark.offset <= oldest);
        drop(self.marks.drain(..behind.saturating_sub(1)));
    }

    fn join_neighbours(&mut self) {
        self.step *= 2;
        let joined = self.marks.chunks(2).filter_map(|pair| {
            let (first, last) = (pair.first()?, pair.last()?);
            Some(Mark { last_ms: last.last_ms, ..*first })
        });
        self.marks = joined.collect();
    }

    /// Returns the marks as they are kept beside a checkpoint.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let numbers = self.marks.iter().flat_map(|mark| [mark.offset, mark.first_ms, mark.last_ms]);
        numbers.flat_map(u64::to_le_bytes).collect()
    }

    /// Decodes what `encode` wrote; `None` for anything else.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (marks, rest) = bytes.as_chunks::<ENCODED>();
        if !rest.is_empty() || marks.len() > MAX_MARKS {
            return None;
        }
        let number = |mark: &[u8; ENCODED], at: usize| {
            mark.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
        };
        let read =
            |mark| Mark { offset: number(mark, 0), first_ms: number(mark, 8), last_ms: number(mark, 16) };
        let marks: Vec<Mark> = marks.iter().map(read).collect();
        let is_sorted = marks.is_sorted_by_key(|mark| mark.offset);
        is_sorted.then_some(Self { marks, step: FIRST_STEP })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m14_bytes_are_placed_within_a_tenth_of_a_second() {
        let mut times = LogTimes::default();
        times.record(0, 1_000);
        times.record(10, 1_050);
        times.record(20, 1_100);
        times.record(30, 5_000);
        assert_eq!(times.at(15).map(|mark| mark.first_ms), Some(1_000));
        assert_eq!(times.at(20).map(|mark| mark.first_ms), Some(1_100));
        assert_eq!(times.at(1_000_000).map(|mark| mark.first_ms), Some(5_000));
        assert_eq!(times.after(0).map(|mark| mark.offset), Some(20));
        assert_eq!(times.after(30), None);
    }

    #[test]
    fn m14_since_a_moment_begins_with_what_came_then_and_leaves_out_what_came_long_before() {
        let mut times = LogTimes::default();
        times.record(0, 1_000);
        times.record(10, 1_080);
        times.record(20, 9_000);
        assert_eq!(times.since(0), Some(0));
        assert_eq!(times.since(1_050), Some(0), "part of the first mark came later");
        assert_eq!(times.since(2_000), Some(20));
        assert_eq!(times.since(9_001), None);
    }

    #[test]
    fn m14_a_long_life_costs_no_more_than_a_short_one() {
        let mut times = LogTimes::default();
        for second in 0..100_000_u64 {
            times.record(second * 10, second * 1_000);
        }
        assert!(times.marks.len() <= MAX_MARKS);
        let mark = times.at(500_000).unwrap();
        assert!(mark.first_ms.abs_diff(50_000_000) <= times.step, "{mark:?} with {}", times.step);
        times.forget_before(999_000);
        assert!(times.at(999_000).is_some(), "the mark of the oldest byte stays");
        assert!(times.marks.len() < 20);
    }

    #[test]
    fn m14_a_clock_that_is_set_back_begins_a_new_mark() {
        let mut times = LogTimes::default();
        times.record(0, 5_000);
        times.record(10, 1_000);
        assert_eq!(times.at(10).map(|mark| mark.first_ms), Some(1_000));
    }

    #[test]
    fn m14_marks_survive_in_a_checkpoint_and_nonsense_is_refused() {
        let mut times = LogTimes::default();
        times.record(0, 1_000);
        times.record(10, 2_000);
        assert_eq!(LogTimes::decode(&times.encode()), Some(times.clone()));
        assert_eq!(LogTimes::decode(b""), Some(LogTimes::default()));
        assert_eq!(LogTimes::decode(b"short"), None);
        let mut backwards = times.encode();
        backwards.rotate_left(ENCODED);
        assert_eq!(LogTimes::decode(&backwards), None);
    }
}

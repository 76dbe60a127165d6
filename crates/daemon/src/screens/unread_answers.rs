//! Counts answers of the terminal that a child has asked for and does not read.
//!
//! They are dropped, oldest first, because nothing may wait for that child. The daemon's warnings show their
//! number until the run ends.

use super::worker::Worker;
use crate::warnings::Cause;

/// The count of one run.
#[derive(Default)]
pub(super) struct UnreadAnswers {
    dropped: u64,
    /// The number in the warning.
    warned: u64,
}

impl UnreadAnswers {
    pub(super) fn add(&mut self, dropped: u64) {
        self.dropped = self.dropped.saturating_add(dropped);
    }

    /// Returns the number of dropped answers, if the warning shows less than half of it: many queries must
    /// not cause many warnings.
    fn take_news(&mut self) -> Option<u64> {
        let is_news = self.dropped > self.warned.saturating_mul(2);
        if is_news {
            self.warned = self.dropped;
        }
        is_news.then_some(self.dropped)
    }
}

impl Worker {
    /// Adds a warning about a run whose child does not read answers.
    pub(super) fn warn_of_unread_answers(&mut self, number: u64) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        let Some(dropped) = slot.run.unread_answers.take_news() else { return };
        let key = slot.run.key();
        let text = format!(
            "{} asks its terminal and does not read the answers: {dropped} or more were dropped; see what it prints: qd logs {}",
            key.process, key.process
        );
        self.warnings.set(Cause::UnreadAnswers(key), text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m10e_a_flood_of_questions_is_counted_and_named_a_few_times() {
        let mut unread = UnreadAnswers::default();
        assert_eq!(unread.take_news(), None);
        let named: Vec<u64> = (0..1_000)
            .filter_map(|_| {
                unread.add(1);
                unread.take_news()
            })
            .collect();
        assert_eq!(named, [1, 3, 7, 15, 31, 63, 127, 255, 511]);
    }
}

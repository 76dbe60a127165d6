//! Counts answers of the terminal that a child has asked for and does not read.
//!
//! They wait, and beyond a bound they are dropped, oldest first, because nothing else may wait for that
//! child. The list of processes shows both numbers; the daemon's warnings show what was dropped until the run
//! ends.

use std::sync::atomic::{AtomicU64, Ordering};

use proto::process::UnreadAnswers;

use super::worker::Worker;
use crate::warnings::Cause;

/// The numbers of one run as the door reads them.
#[derive(Default)]
pub(crate) struct AnswerGauge {
    waiting: AtomicU64,
    dropped: AtomicU64,
}

impl AnswerGauge {
    fn set(&self, waiting: u64, dropped: u64) {
        self.waiting.store(waiting, Ordering::Relaxed);
        self.dropped.store(dropped, Ordering::Relaxed);
    }

    /// Returns the numbers, unless the child has read everything.
    pub(crate) fn get(&self) -> Option<UnreadAnswers> {
        let waiting = self.waiting.load(Ordering::Relaxed);
        let dropped = self.dropped.load(Ordering::Relaxed);
        (waiting > 0 || dropped > 0).then_some(UnreadAnswers { waiting, dropped })
    }
}

/// The count of one run.
#[derive(Default)]
pub(super) struct AnswerCount {
    dropped: u64,
    /// The number in the warning.
    warned: u64,
}

impl AnswerCount {
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
    /// Publishes how many answers a run's child has not read, and adds a warning when more were dropped.
    pub(super) fn report_unread_answers(&mut self, number: u64) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        let waiting = slot.run.input_queue.waiting_answers();
        slot.run.handle.answers.set(waiting, slot.run.input_queue.unread_answers.dropped);
        let Some(dropped) = slot.run.input_queue.unread_answers.take_news() else { return };
        let key = slot.run.key();
        let text = format!(
            "{} sends queries to its terminal and does not read the answers; at least {dropped} were dropped; see what it prints: qd logs {}",
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
        let mut unread = AnswerCount::default();
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

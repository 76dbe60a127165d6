//! Repetition (REP): the character that it prints again, and how much of that a stream may ask for.

use rio_vt::codepoint_width::codepoint_width;

use super::terminal::MARKS_MAX;
use crate::size::GridSize;

/// The characters that repetition may print per byte of the stream beyond what is cheap, so that nine bytes
/// cannot cost a screen.
const REPEATS_PER_BYTE: u32 = 4;
/// The most repetition that a stream can accumulate, and what it starts with.
pub(crate) const REPEATS_MAX: u32 = 100_000;

/// What one stream may repeat.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repetition {
    /// The last character that was printed.
    pub(super) last: Option<char>,
    budget: u32,
}

impl Default for Repetition {
    fn default() -> Repetition {
        Repetition { last: None, budget: REPEATS_MAX }
    }
}

impl Repetition {
    /// Restores what a checkpoint has saved.
    pub(super) fn restored(last: Option<char>, budget: u32) -> Repetition {
        Repetition { last, budget: budget.min(REPEATS_MAX) }
    }

    /// Returns how many characters it may print beyond the cheap ones.
    pub(super) fn budget(self) -> u32 {
        self.budget
    }

    /// Grants repetition for bytes of the stream.
    #[inline]
    pub(super) fn earn(&mut self, bytes: usize) {
        if self.budget == REPEATS_MAX {
            return;
        }
        let earned = u32::try_from(bytes).unwrap_or(u32::MAX).saturating_mul(REPEATS_PER_BYTE);
        self.budget = self.budget.saturating_add(earned).min(REPEATS_MAX);
    }

    /// Returns the character and how often it is printed when a stream asks for `count` more of it, and takes
    /// that from the budget.
    pub(super) fn take(&mut self, count: u32, size: GridSize) -> Option<(char, u32)> {
        let character = self.last?;
        // A row of ASCII is as cheap as any sequence. More than that counts against the stream's budget.
        let free = if character.is_ascii() { u32::from(size.cols) } else { 0 };
        let cells = u32::try_from(size.cells()).unwrap_or(u32::MAX);
        // Marks beyond what a cell may hold are dropped anyway.
        let is_mark = codepoint_width(character as u32).unwrap_or(0) == 0;
        let most = if is_mark { MARKS_MAX as u32 } else { cells };
        let count = count.min(most).min(self.budget + free);
        self.budget -= count.saturating_sub(free);
        Some((character, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size() -> GridSize {
        GridSize::clamped(80, 24)
    }

    #[test]
    fn a_row_of_ascii_is_free_and_more_is_paid_from_what_the_stream_has_earned() {
        let mut repetition = Repetition::restored(Some('x'), 10);
        assert_eq!(repetition.take(80, size()), Some(('x', 80)));
        assert_eq!(repetition.budget(), 10);
        assert_eq!(repetition.take(100, size()), Some(('x', 90)));
        assert_eq!(repetition.take(100, size()), Some(('x', 80)));
        repetition.earn(2);
        assert_eq!(repetition.budget(), 2 * REPEATS_PER_BYTE);
        repetition.earn(usize::MAX);
        assert_eq!(repetition.budget(), REPEATS_MAX);
    }

    #[test]
    fn nothing_repeats_before_a_character_and_nothing_beyond_a_screen() {
        assert_eq!(Repetition::default().take(5, size()), None);
        let mut repetition = Repetition::restored(Some('世'), u32::MAX);
        assert_eq!(repetition.take(u32::MAX, size()), Some(('世', 80 * 24)));
        let mut mark = Repetition::restored(Some('\u{301}'), 100);
        assert_eq!(mark.take(100, size()), Some(('\u{301}', MARKS_MAX as u32)));
    }
}

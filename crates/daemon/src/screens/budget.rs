//! Limits how much drawing one run may cost its worker, so that a run that asks for much work with few bytes
//! only falls behind itself.
//!
//! There is a limit per share, and one for work that delays others (a replay, the last output before an end).
//! Work is counted by the screen, in units of about one byte of ordinary text, so it is the same on a busy
//! machine.

/// Work of one share, a millisecond or two: it never cuts a slice of ordinary output.
pub(super) const SHARE: u64 = 256 * 1024;
/// Work of a replay. A ring full of ordinary output costs a tenth of it.
const REPLAY: u64 = 128 << 20;
/// Work for what was printed before an end. A ring full of ordinary output costs a fifth of it.
const LAST_WORDS: u64 = 32 << 20;
/// The same when its holder has gone and all of it is drawn at once.
const IN_ONE_GO: u64 = 8 << 20;
/// Work for the newest output after some was skipped.
const NEWEST: u64 = 4 << 20;
/// How much output the newest is.
const NEWEST_BYTES: u64 = 4096;

/// What one run may still do in shares of equal work.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    /// Work done beyond earlier shares, because one operation is never cut.
    owed: u64,
    /// What drawing may cost until the replay or the end is over, and whether some was skipped already.
    allowance: Option<(u64, bool)>,
    /// A caller waits for the end.
    is_ending: bool,
}

impl Budget {
    /// Returns a budget for a replay of this many bytes.
    pub(super) fn for_replay(bytes: u64) -> Self {
        Self { allowance: (bytes > 0).then_some((REPLAY, false)), ..Self::default() }
    }

    /// Returns the work of the next share; `None` while earlier shares are not paid off, which takes one share
    /// each.
    pub(super) fn next_share(&mut self) -> Option<u64> {
        match self.owed.checked_sub(SHARE) {
            Some(rest) => {
                self.owed = rest;
                None
            }
            None => Some(SHARE - std::mem::take(&mut self.owed)),
        }
    }

    /// Records that a share of `granted` work has cost `work`.
    pub(super) fn spent(&mut self, granted: u64, work: u64) {
        self.owed += work.saturating_sub(granted);
        if let Some((left, _)) = &mut self.allowance {
            *left = left.saturating_sub(work);
        }
    }

    /// Ends a replay: what comes next is drawn at any cost, until a caller waits for the end.
    pub(super) fn replayed(&mut self) {
        if !self.is_ending {
            self.allowance = None;
        }
    }

    /// A caller waits for the end: the rest may cost this much and no more.
    pub(super) fn end(&mut self) {
        self.limit(LAST_WORDS);
    }

    /// Everything that is left is drawn now.
    pub(super) fn end_at_once(&mut self) {
        self.owed = 0;
        self.limit(IN_ONE_GO);
    }

    fn limit(&mut self, work: u64) {
        self.is_ending = true;
        let (left, is_cut) = self.allowance.unwrap_or((work, false));
        self.allowance = Some((left.min(work), is_cut));
    }

    /// Returns where to continue when the output before `end` has become too costly to draw: a little before
    /// the end, then at it.
    pub(super) fn pass_over_to(&mut self, end: u64) -> Option<u64> {
        let (left, is_cut) = self.allowance.as_mut()?;
        if *left > 0 {
            return None;
        }
        let resume_at = if *is_cut { end } else { end.saturating_sub(NEWEST_BYTES) };
        (*left, *is_cut) = (if *is_cut { 0 } else { NEWEST }, true);
        Some(resume_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m5e_turns_are_worth_the_same_however_much_one_operation_cost() {
        let mut budget = Budget::default();
        assert_eq!(budget.next_share(), Some(SHARE));
        budget.spent(SHARE, SHARE * 3 + 7);
        assert_eq!((budget.next_share(), budget.next_share()), (None, None));
        assert_eq!(budget.next_share(), Some(SHARE - 7));
        budget.spent(SHARE - 7, 100);
        assert_eq!(budget.next_share(), Some(SHARE));
    }

    #[test]
    fn m5e_an_end_waits_for_a_bounded_amount_of_work_and_keeps_the_newest_output() {
        let mut budget = Budget::default();
        assert_eq!(budget.pass_over_to(1 << 22), None);
        budget.end();
        budget.replayed();
        budget.spent(SHARE, LAST_WORDS - 1);
        assert_eq!(budget.pass_over_to(1 << 22), None, "ordinary output is drawn to its end");
        budget.spent(SHARE, 1);
        assert_eq!(budget.pass_over_to(1 << 22), Some((1 << 22) - NEWEST_BYTES));
        assert_eq!(budget.pass_over_to(1 << 22), None);
        budget.spent(SHARE, NEWEST);
        assert_eq!((budget.pass_over_to(99), budget.pass_over_to(100)), (Some(99), Some(100)));
    }

    #[test]
    fn m5e_a_replay_is_bounded_and_what_comes_after_it_is_not_passed_over() {
        let mut budget = Budget::for_replay(1);
        budget.spent(SHARE, REPLAY);
        assert_eq!(budget.pass_over_to(5000), Some(5000 - NEWEST_BYTES));
        budget.replayed();
        budget.spent(SHARE, u64::MAX / 2);
        assert_eq!(budget.pass_over_to(5000), None);
    }
}

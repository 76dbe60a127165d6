//! How far a run's output is on its screen, and how much of it an earlier daemon has handled before.

/// The position of one run in its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogPosition {
    seen: u64,
    ready_at: u64,
    answers_from: u64,
}

impl LogPosition {
    /// Returns the position of a run whose screen shows the output up to `seen` and whose log ends at `end`.
    /// An earlier daemon has handled all of it, unless this daemon started the run.
    pub(super) fn new(seen: u64, end: u64, is_new: bool) -> Self {
        Self { seen, ready_at: end, answers_from: if is_new { 0 } else { end } }
    }

    /// Returns the offset up to which output is on the screen.
    pub(super) fn seen(self) -> u64 {
        self.seen
    }

    /// Returns the log's end when the run was hosted.
    pub(super) fn ready_at(self) -> u64 {
        self.ready_at
    }

    /// Returns true while the screen shows the past: not everything is drawn that there was when the run was
    /// hosted.
    pub(super) fn is_replaying(self) -> bool {
        self.seen < self.ready_at
    }

    /// Returns true if an earlier daemon has answered the queries in the newest output. Answering them again
    /// would type at the child.
    pub(super) fn is_answered(self) -> bool {
        self.seen <= self.answers_from
    }

    /// Returns how many bytes the next piece may have: it is before or after what an earlier daemon has
    /// answered, never across.
    pub(super) fn piece(self, room: usize) -> usize {
        match self.answers_from.saturating_sub(self.seen) {
            0 => room,
            answered => usize::try_from(answered).unwrap_or(usize::MAX).min(room),
        }
    }

    /// Records a piece that is about to be drawn.
    pub(super) fn advance(&mut self, bytes: usize) {
        self.seen += bytes as u64;
    }

    /// Takes back the end of a piece that was not drawn.
    pub(super) fn go_back(&mut self, bytes: usize) {
        self.seen -= bytes as u64;
    }

    /// Continues after output that is not drawn.
    pub(super) fn skip_to(&mut self, offset: u64) {
        self.seen = offset;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_never_crosses_the_end_of_what_was_answered_before() {
        let mut position = LogPosition::new(100, 150, false);
        assert_eq!((position.piece(4096), position.piece(20)), (50, 20));
        position.advance(50);
        assert!(position.is_answered() && !position.is_replaying());
        assert_eq!(position.piece(4096), 4096);
        position.advance(1);
        assert!(!position.is_answered());
    }

    #[test]
    fn a_run_of_this_daemon_has_nothing_answered_and_one_that_was_cut_goes_back() {
        let mut position = LogPosition::new(0, 30, true);
        assert!(position.is_replaying() && position.piece(4096) == 4096);
        position.advance(30);
        assert!(!position.is_answered() && !position.is_replaying());
        position.go_back(10);
        assert_eq!((position.seen(), position.is_replaying()), (20, true));
        position.skip_to(99);
        assert_eq!((position.seen(), position.ready_at()), (99, 30));
    }
}

//! How far a viewer has come in its run's output, how far behind it gets a repaint instead of bytes, and whether the
//! screen has changed since it was last drawn.

use std::time::{Duration, Instant};

/// A viewer further behind than this gets a repaint instead of the bytes between: reading them would take it longer.
const MAX_LAG: u64 = 256 * 1024;

/// The position of one viewer.
#[derive(Debug, Default)]
pub(super) struct ViewerPosition {
    /// Output up to here was sent, as bytes or within a repaint.
    sent_to: u64,
    /// Output up to here is visible: an unfinished sequence after a repaint is drawn and yet to be sent.
    drawn_to: u64,
    /// It asked to continue at an offset: output up to here is sent as bytes, however much it is.
    replay_to: u64,
    /// Live: it fell too far behind, and no live bytes were sent since.
    is_outrun: bool,
    /// The screen has changed since the last repaint, and only another repaint shows it.
    is_stale: bool,
    /// When the last repaint was sent.
    painted_at: Option<Instant>,
}

impl ViewerPosition {
    /// Returns the offset of the next byte to be sent.
    pub(super) fn sent_to(&self) -> u64 {
        self.sent_to
    }

    /// Returns true if output up to `offset` is visible.
    pub(super) fn shows(&self, offset: u64) -> bool {
        self.drawn_to >= offset
    }

    /// Returns true if the next byte is one that the viewer asked for by its offset.
    pub(super) fn is_replaying(&self) -> bool {
        self.sent_to < self.replay_to
    }

    /// Returns true if it is so far behind the end of the log that bytes would take it too long.
    pub(super) fn is_far_behind(&self, end: u64) -> bool {
        end - self.sent_to > MAX_LAG
    }

    /// Returns true if a flood has cost it bytes.
    pub(super) fn is_outrun(&self) -> bool {
        self.is_outrun
    }

    /// Returns true if only a repaint shows what is on the screen now.
    pub(super) fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// Returns true if a repaint that continues at `live_from` leaves out bytes. Nothing is left out before
    /// the first one.
    pub(super) fn has_gap_before(&self, live_from: u64) -> bool {
        self.painted_at.is_some() && self.sent_to < live_from
    }

    /// Continues with the byte at `from` in place of a first repaint; up to `end` nothing is left out on
    /// purpose.
    pub(super) fn continue_from(&mut self, from: u64, end: u64, now: Instant) {
        (self.sent_to, self.drawn_to, self.replay_to) = (from, from, end);
        self.painted_at = Some(now);
    }

    /// Records live bytes.
    pub(super) fn sent(&mut self, bytes: usize) {
        self.sent_to += bytes as u64;
        self.drawn_to = self.sent_to;
        self.is_outrun = false;
    }

    /// Records that the next bytes were overwritten before they could be sent.
    pub(super) fn outrun(&mut self) {
        self.is_outrun = true;
    }

    /// Skips bytes that are no longer there.
    pub(super) fn skip_to(&mut self, offset: u64) {
        (self.sent_to, self.drawn_to) = (offset, offset);
    }

    /// Records what was drawn with the output up to `offset`; what follows continues at `live_from`.
    pub(super) fn drawn(&mut self, offset: u64, live_from: u64) {
        (self.sent_to, self.drawn_to) = (live_from, offset);
        self.is_stale = false;
    }

    /// Records when a repaint was sent; the next one keeps its distance.
    pub(super) fn painted(&mut self, now: Instant) {
        self.painted_at = Some(now);
    }

    /// Records that the screen has changed.
    pub(super) fn mark_stale(&mut self) {
        self.is_stale = true;
    }

    /// Records that the viewer has got everything as bytes.
    pub(super) fn mark_current(&mut self) {
        self.is_stale = false;
    }

    /// Returns when the next repaint may be sent; `None` if none is needed, or the first one.
    pub(super) fn repaint_due(&self, interval: Duration) -> Option<Instant> {
        self.painted_at.filter(|_| self.is_stale).map(|at| at + interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_repaint_leaves_nothing_out_and_a_later_one_may() {
        let (mut position, now) = (ViewerPosition::default(), Instant::now());
        assert!(!position.has_gap_before(900));
        position.drawn(1_000, 990);
        position.painted(now);
        assert_eq!(position.sent_to(), 990);
        assert!(position.shows(1_000) && !position.shows(1_001));
        assert!(position.has_gap_before(991) && !position.has_gap_before(990));
    }

    #[test]
    fn bytes_bring_a_viewer_that_was_outrun_back() {
        let mut position = ViewerPosition::default();
        position.outrun();
        assert!(position.is_outrun());
        position.sent(10);
        assert!(!position.is_outrun() && position.shows(10));
    }

    #[test]
    fn a_viewer_that_continues_at_an_offset_gets_every_byte_up_to_the_end_of_then() {
        let (mut position, now) = (ViewerPosition::default(), Instant::now());
        position.continue_from(100, 120, now);
        assert!(position.is_replaying() && position.has_gap_before(101));
        position.sent(20);
        assert!(!position.is_replaying());
        assert!(position.is_far_behind(121 + MAX_LAG) && !position.is_far_behind(120 + MAX_LAG));
    }

    #[test]
    fn repaints_keep_their_distance_and_only_a_changed_screen_needs_one() {
        let (mut position, now, interval) =
            (ViewerPosition::default(), Instant::now(), Duration::from_millis(16));
        position.mark_stale();
        assert_eq!(position.repaint_due(interval), None, "the first one is sent at once");
        position.drawn(5, 5);
        position.painted(now);
        assert_eq!(position.repaint_due(interval), None);
        position.mark_stale();
        assert_eq!(position.repaint_due(interval), Some(now + interval));
        position.mark_current();
        assert!(!position.is_stale());
    }
}

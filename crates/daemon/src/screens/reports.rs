//! What a run has reported to the engine, so that it reports each thing once and output only now and then.

use std::time::{Duration, Instant};

use engine::ViewerId;

/// The shortest time between two reports that the same viewer types.
const TYPED: Duration = Duration::from_millis(50);

/// The typing viewer that was last reported.
#[derive(Debug, Default)]
pub(super) struct TypistReport {
    last: Option<(ViewerId, Instant)>,
}

impl TypistReport {
    /// Records that a viewer types; returns true if the engine is to be told: another viewer typed before, or
    /// the last report is old.
    pub(super) fn is_news(&mut self, viewer: ViewerId, now: Instant) -> bool {
        let is_known = |(last, at): (ViewerId, Instant)| last == viewer && now.duration_since(at) <= TYPED;
        let is_news = !self.last.is_some_and(is_known);
        if is_news {
            self.last = Some((viewer, now));
        }
        is_news
    }

    /// Makes the next key of any viewer news.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_viewer_that_types_is_reported_now_and_then_and_another_one_at_once() {
        let (mut report, now) = (TypistReport::default(), Instant::now());
        let (one, other) = (ViewerId(1), ViewerId(2));
        assert!(report.is_news(one, now) && !report.is_news(one, now + TYPED));
        assert!(report.is_news(one, now + TYPED + Duration::from_millis(1)));
        assert!(report.is_news(other, now + TYPED + Duration::from_millis(2)));
        assert!(report.is_news(one, now + TYPED + Duration::from_millis(3)));
        report.forget();
        assert!(report.is_news(one, now + TYPED + Duration::from_millis(4)));
    }
}

//! What a run has reported to the engine, so that it reports each thing once and output only now and then.

use std::time::{Duration, Instant};

use engine::ViewerId;

/// The shortest time between two reports of output.
const OUTPUT: Duration = Duration::from_millis(100);
/// The shortest time between two reports that the same viewer types.
const TYPED: Duration = Duration::from_millis(50);

/// The reports of one run.
#[derive(Debug, Default)]
pub(super) struct Reports {
    pub(super) output: OutputReport,
    pub(super) typist: TypistReport,
    title: String,
}

impl Reports {
    /// Returns the title if it is another than the last.
    pub(super) fn new_title(&mut self, title: &str) -> Option<String> {
        let is_new = title != self.title;
        if is_new {
            title.clone_into(&mut self.title);
        }
        is_new.then(|| title.to_owned())
    }
}

/// When output was last reported, and when it is reported next.
#[derive(Debug, Default)]
pub(super) struct OutputReport {
    sent_at: Option<Instant>,
    due: Option<Instant>,
}

impl OutputReport {
    /// Records output; returns true if it is to be reported now. Otherwise it is due later.
    pub(super) fn note(&mut self, now: Instant) -> bool {
        let next = self.sent_at.map(|at| at + OUTPUT).filter(|next| *next > now);
        match next {
            Some(next) => self.due = self.due.or(Some(next)),
            None => (self.sent_at, self.due) = (Some(now), None),
        }
        next.is_none()
    }

    /// Returns true, once, when a report is due.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self.due.take_if(|due| *due <= now).is_some();
        if is_due {
            self.sent_at = Some(now);
        }
        is_due
    }

    /// Returns when a report is due without further output.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }
}

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
    fn the_first_output_is_reported_at_once_and_the_last_one_always() {
        let (mut output, now) = (OutputReport::default(), Instant::now());
        assert!(output.note(now) && !output.note(now) && !output.note(now + OUTPUT / 2));
        assert_eq!(output.due(), Some(now + OUTPUT));
        assert!(!output.is_due(now + OUTPUT / 2) && output.is_due(now + OUTPUT));
        assert_eq!(output.due(), None);
        assert!(!output.note(now + OUTPUT) && output.note(now + OUTPUT * 2));
        assert_eq!(output.due(), None, "the report that was due was sent");
    }

    #[test]
    fn a_title_is_reported_when_it_changes() {
        let mut reports = Reports::default();
        assert_eq!(reports.new_title(""), None);
        assert_eq!(reports.new_title("one").as_deref(), Some("one"));
        assert_eq!(reports.new_title("one"), None);
        assert_eq!(reports.new_title("").as_deref(), Some(""));
    }

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

//! How one viewer wants to see its process: from which byte, exact bytes or repaints, in which size.

use std::time::Duration;

use proto::request::{Attach, View};
use proto::{ErrorCode, Failure, RunNumber};

/// The shortest time between two repaints.
const FRAME: Duration = Duration::from_millis(16);

/// The options of a viewer's attach request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ViewOptions {
    /// The first output byte that it wants instead of a repaint.
    pub(crate) from: Option<u64>,
    /// It gets every byte as it is.
    pub(crate) exact: bool,
    /// It always has the process's size.
    pub(crate) mirror: bool,
    /// It gets only repaints, at most one in this time.
    pub(crate) pace: Option<Duration>,
    /// It gets a receipt for its input.
    pub(crate) receipts: bool,
}

impl ViewOptions {
    /// Returns the options of a viewer of this run.
    pub(crate) fn of(attach: &Attach, run: RunNumber) -> Self {
        Self {
            from: attach.from.filter(|_| attach.run.is_none_or(|asked| asked == run)),
            exact: attach.exact,
            mirror: attach.mirror,
            pace: attach.pace_ms.map(pace),
            receipts: attach.receipts,
        }
    }

    /// Returns the least time between two repaints.
    pub(crate) fn interval(&self) -> Duration {
        self.pace.unwrap_or(FRAME)
    }

    /// Returns true if the viewer may pass a terminal: the daemon draws on one only what fits it.
    pub(crate) fn takes_terminal(&self) -> bool {
        !self.exact && !self.mirror
    }

    /// Returns why a viewer with these options may not request this.
    pub(crate) fn refusal(&self, view: &View) -> Option<Failure> {
        let message = match view {
            View::Size(_) | View::OwnSize(_) if self.mirror => "a mirror always has the process's size",
            View::Repaint(_) | View::PaceMs(_) if self.exact => "an exact viewer gets bytes, not drawings",
            View::Terminal(_) if !self.takes_terminal() => {
                "a terminal cannot be passed by an exact viewer or a mirror"
            }
            View::Size(_)
            | View::OwnSize(_)
            | View::Repaint(_)
            | View::PaceMs(_)
            | View::Terminal(_)
            | View::Report(_) => return None,
        };
        let failure = Failure::new(ErrorCode::InvalidArgs, message);
        Some(failure.hint("attach again without `exact` and `mirror`"))
    }

    /// Applies a `view` call for another pace; 0 ends it.
    pub(crate) fn set_pace_ms(&mut self, ms: u32) {
        self.pace = (ms > 0).then(|| pace(ms));
    }
}

fn pace(ms: u32) -> Duration {
    Duration::from_millis(ms.into()).clamp(FRAME, Duration::from_secs(60))
}

#[cfg(test)]
mod tests {
    use proto::request::{Empty, PassedTerminal, Questions, SizeRequest};
    use proto::terminal::DetachKeys;

    use super::*;

    fn options(exact: bool, mirror: bool) -> ViewOptions {
        ViewOptions { exact, mirror, ..ViewOptions::default() }
    }

    #[test]
    fn n1_an_offset_of_another_run_is_ignored() {
        let attach = Attach { from: Some(7), run: Some(RunNumber(2)), ..Attach::default() };
        assert_eq!(ViewOptions::of(&attach, RunNumber(2)).from, Some(7));
        assert_eq!(ViewOptions::of(&attach, RunNumber(3)).from, None);
        let attach = Attach { run: None, ..attach };
        assert_eq!(ViewOptions::of(&attach, RunNumber(3)).from, Some(7));
    }

    #[test]
    fn n1_a_pace_is_never_faster_than_a_frame() {
        let of = |ms| ViewOptions::of(&Attach { pace_ms: ms, ..Attach::default() }, RunNumber(1)).interval();
        let ms = Duration::from_millis;
        assert_eq!(
            [of(None), of(Some(1)), of(Some(100)), of(Some(u32::MAX))],
            [FRAME, FRAME, ms(100), ms(60_000)]
        );
        let mut options = options(false, false);
        options.set_pace_ms(250);
        assert_eq!(options.interval(), ms(250));
        options.set_pace_ms(0);
        assert_eq!(options.pace, None);
    }

    #[test]
    fn n1_a_mirror_decides_no_size_and_an_exact_viewer_asks_for_no_drawing() {
        let detach_keys: DetachKeys = DetachKeys::default();
        let views = [
            View::Size(SizeRequest::default()),
            View::OwnSize(Empty {}),
            View::Repaint(Empty {}),
            View::PaceMs(100),
            View::Terminal(PassedTerminal {
                detach_keys,
                clipboard: false,
                questions: Questions::NotAsked,
                undecided: String::new(),
            }),
        ];
        let refused = |options: ViewOptions| -> Vec<bool> {
            views.iter().map(|view| options.refusal(view).is_some()).collect()
        };
        assert_eq!(refused(options(false, false)), [false; 5]);
        assert_eq!(refused(options(false, true)), [true, true, false, false, true]);
        assert_eq!(refused(options(true, false)), [false, false, true, true, true]);
        assert_eq!(refused(options(true, true)), [true; 5]);
    }
}

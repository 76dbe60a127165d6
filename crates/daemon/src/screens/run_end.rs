//! The end of a run, in three steps: the holder reports the child's exit, the worker reports it to the engine
//! once every byte before it is on the screen, and the engine announces how the run ended.

use holder::RunExit;

use super::order::Ended;

/// The end of one run.
#[derive(Debug)]
pub(super) struct RunEnd {
    exited: Option<RunExit>,
    is_reported: bool,
    announced: Option<Ended>,
}

impl RunEnd {
    /// Returns the end of a run whose child may have exited already.
    pub(super) fn new(exited: Option<RunExit>) -> Self {
        Self { exited, is_reported: false, announced: None }
    }

    /// Records the child's exit.
    pub(super) fn exited(&mut self, exit: RunExit) {
        self.exited = Some(exit);
    }

    /// Records the exit that a holder names in a new greeting, if it was not known.
    pub(super) fn learn(&mut self, exited: Option<RunExit>) {
        self.exited = self.exited.or(exited);
    }

    /// Returns the exit, once, when everything before it is on the screen.
    pub(super) fn take_drained(&mut self, seen: u64) -> Option<RunExit> {
        let exit = self.exited.filter(|exit| !self.is_reported && seen >= exit.final_offset)?;
        self.is_reported = true;
        Some(exit)
    }

    /// Returns true if the child has exited after more output than the log has, which no holder reports.
    pub(super) fn is_after(&self, log_end: u64) -> bool {
        self.exited.is_some_and(|exit| exit.final_offset > log_end)
    }

    /// Returns true if the child has exited and everything it printed is on the screen.
    pub(super) fn is_over(&self) -> bool {
        self.is_reported
    }

    /// Returns the log's end, once the exit is reported.
    pub(super) fn final_offset(&self) -> Option<u64> {
        self.exited.filter(|_| self.is_reported).map(|exit| exit.final_offset)
    }

    /// Records how the run ended, from the engine.
    pub(super) fn announce(&mut self, ended: Ended) {
        self.announced = Some(ended);
    }

    /// Returns how the run ended, once the engine has announced it.
    pub(super) fn announced(&self) -> Option<Ended> {
        self.announced
    }
}

#[cfg(test)]
mod tests {
    use holder::ExitStatus;

    use super::*;

    #[test]
    fn an_exit_is_reported_once_and_after_the_last_byte() {
        let exit = RunExit { status: ExitStatus::Code(0), final_offset: 10 };
        let mut end = RunEnd::new(None);
        assert_eq!(end.take_drained(99), None);
        end.exited(exit);
        assert_eq!((end.take_drained(9), end.is_over(), end.final_offset()), (None, false, None));
        assert_eq!(end.take_drained(10), Some(exit));
        assert_eq!((end.take_drained(10), end.is_over(), end.final_offset()), (None, true, Some(10)));
    }

    #[test]
    fn the_exit_that_was_known_first_counts() {
        let exit = |code| RunExit { status: ExitStatus::Code(code), final_offset: 0 };
        let mut end = RunEnd::new(Some(exit(1)));
        end.learn(Some(exit(2)));
        end.learn(None);
        assert_eq!(end.take_drained(0), Some(exit(1)));
    }
}

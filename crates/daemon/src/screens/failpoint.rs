//! Failpoints in a run's work: words in that run's output or in the file that the variable names make it
//! fail, in a daemon that was started for a test. A release build has none of it, and a debug build needs the
//! variable.

#[cfg(debug_assertions)]
mod armed {
    use std::collections::HashSet;
    use std::sync::{Mutex, PoisonError};

    use engine::RunKey;
    use term::Screen;

    use crate::failpoint::{is_on, is_wanted};

    fn says(bytes: &[u8], word: &str) -> bool {
        bytes.windows(word.len()).any(|window| window == word.as_bytes())
    }

    fn fail(place: &'static str) -> ! {
        std::panic::resume_unwind(Box::new(place))
    }

    /// Runs whose deadlines all fail.
    static LATE: Mutex<Option<HashSet<RunKey>>> = Mutex::new(None);

    pub(in crate::screens) fn before_output(bytes: &[u8], screen: &mut Screen) {
        if is_on() && says(bytes, "@fail-emulator@") {
            screen.fail_engine_once();
        }
    }

    pub(in crate::screens) fn after_output(bytes: &[u8], run: RunKey) {
        if !is_on() {
            return;
        }
        if says(bytes, "@fail-deadlines@") {
            let mut late = LATE.lock().unwrap_or_else(PoisonError::into_inner);
            late.get_or_insert_default().insert(run);
        }
        if says(bytes, "@fail-output@") {
            fail("a test's failpoint behind output");
        }
    }

    /// Makes watching runs fail as long as a test wants it.
    pub(in crate::screens) fn watching() -> rustix::io::Result<()> {
        if is_wanted("unwatchable") { Err(rustix::io::Errno::NOSPC) } else { Ok(()) }
    }

    pub(in crate::screens) fn at_deadline(run: RunKey) {
        if !is_on() {
            return;
        }
        let late = LATE.lock().unwrap_or_else(PoisonError::into_inner);
        let is_late = late.as_ref().is_some_and(|late| late.contains(&run));
        drop(late);
        if is_late {
            fail("a test's failpoint at a deadline");
        }
    }
}

#[cfg(not(debug_assertions))]
mod armed {
    use engine::RunKey;
    use term::Screen;

    pub(in crate::screens) fn before_output(_bytes: &[u8], _screen: &mut Screen) {}
    pub(in crate::screens) fn after_output(_bytes: &[u8], _run: RunKey) {}
    pub(in crate::screens) fn watching() -> rustix::io::Result<()> {
        Ok(())
    }
    pub(in crate::screens) fn at_deadline(_run: RunKey) {}
}

pub(super) use armed::{after_output, at_deadline, before_output, watching};

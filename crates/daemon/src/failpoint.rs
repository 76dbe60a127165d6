//! Failpoints: named places at which a test makes the daemon die, as by kill -9. A release build only has the
//! names, and a debug build does nothing without the variable.
//!
//! `QD_TEST_FAILPOINTS` names a file, and that file names one of the places. The daemon that reaches the
//! place and removes the file dies. So a test can choose a place while a daemon runs, and the next daemon
//! lives.

/// Generates the list and the type with all its values, so that the tests cover a new place automatically.
macro_rules! failpoints {
    ($($(#[$doc:meta])* $place:ident = $name:literal,)*) => {
        /// A place at which a test can make the daemon die.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Failpoint {
            $($(#[$doc])* $place,)*
        }

        impl Failpoint {
            /// Every place.
            pub const ALL: &[Self] = &[$(Self::$place,)*];

            /// Returns its name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$place => $name,)*
                }
            }
        }
    };
}

failpoints! {
    /// The lock is taken; nothing of an earlier daemon was examined yet.
    Locked = "locked",
    /// One holder was adopted; others wait.
    Adopting = "adopting",
    /// Every holder that answered was adopted; the engine knows of none yet.
    Adopted = "adopted",
    /// The engine knows everything; there is no socket yet.
    BeforeSocket = "before-socket",
    /// There is a socket; it is not served yet.
    SocketUnserved = "socket-unserved",
    /// A run's checkpoint was taken; its holder does not have it yet.
    CheckpointTaken = "checkpoint-taken",
    /// The checkpoint was sent; the holder still keeps the bytes that it covers.
    CheckpointSent = "checkpoint-sent",
    /// Changes are about to be written.
    BeforeCommit = "before-commit",
    /// They are written; no caller has an answer yet, unless it is about a first start.
    AfterCommit = "after-commit",
    /// The decision is on the disk; none of its effects was carried out yet.
    Recorded = "recorded",
    /// The removal of an entry is on the disk; its holder has no release yet.
    Removed = "removed",
    /// One of its effects was carried out; no caller has an answer yet.
    EffectDone = "effect-done",
    /// The result was received; nothing was decided or recorded yet.
    FactReceived = "fact-received",
    /// A holder has started its child; no worker hosts the run yet.
    HolderStarted = "holder-started",
    /// An input is on its way to the holder.
    InputQueued = "input-queued",
    /// The holder has typed an input; no caller has an answer yet.
    InputTyped = "input-typed",
    /// The engine task has ended; holders may still be on their way to their end.
    EngineEnded = "engine-ended",
    /// No caller is served any more; the database is open.
    ServingEnded = "serving-ended",
    /// The database is closed, and the socket is still there.
    StoreClosed = "store-closed",
}

#[cfg(debug_assertions)]
mod armed {
    use std::path::PathBuf;
    use std::sync::OnceLock;

    use rustix::process::{Signal, getpid, kill_process};

    use super::Failpoint;

    /// Returns the file that this daemon's environment names.
    fn directory() -> Option<&'static PathBuf> {
        static TOLD: OnceLock<Option<PathBuf>> = OnceLock::new();
        TOLD.get_or_init(|| std::env::var_os("QD_TEST_FAILPOINTS").map(PathBuf::from)).as_ref()
    }

    /// Returns true if failpoints are in use.
    pub(crate) fn is_on() -> bool {
        directory().is_some()
    }

    /// Kills the daemon if this place was chosen.
    pub(crate) fn pass(place: Failpoint) {
        pass_named(place.name());
    }

    /// Like `pass`, for a failpoint that another module lists.
    pub(crate) fn pass_named(name: &str) {
        // Two threads may pass at once; the one that removes the file dies.
        if is_wanted(name) && directory().is_some_and(|order| std::fs::remove_file(order).is_ok()) {
            while kill_process(getpid(), Signal::KILL).is_ok() {}
        }
    }

    /// Stays here for as long as the file names this.
    pub(crate) fn stay(name: &str) {
        let moment = rustix::event::Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
        while is_wanted(name) {
            let _nothing = rustix::event::poll(&mut [], Some(&moment));
        }
    }

    /// Returns true if the file names this now.
    pub(crate) fn is_wanted(what: &str) -> bool {
        let order = directory().filter(|path| path.is_absolute()).map(std::fs::read_to_string);
        matches!(order, Some(Ok(wanted)) if wanted == what)
    }
}

#[cfg(not(debug_assertions))]
mod armed {
    use super::Failpoint;

    pub(crate) fn pass(_place: Failpoint) {}

    pub(crate) fn pass_named(_name: &str) {}

    pub(crate) fn stay(_name: &str) {}
}

#[cfg(debug_assertions)]
pub(crate) use armed::{is_on, is_wanted};
pub(crate) use armed::{pass, pass_named, stay};

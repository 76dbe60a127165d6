//! Named places at which a test lets the daemon die, as by kill -9.
//!
//! Owns the one list of them, and the death. Refuses being there for anybody else: a release build only has the names, and
//! a debug build dies nowhere without the variable.
//!
//! `QD_TEST_FAILPOINTS` names a file, and that file names one of the places; whoever passes it and takes the file away
//! dies. So a daemon that has long been at work can be told, and the next one lives.

/// Makes the list, and the type whose values are all of it: a new place is walked over by the tests by itself.
macro_rules! failpoints {
    ($($(#[$doc:meta])* $place:ident = $name:literal,)*) => {
        /// A place at which a daemon can be told to die.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Failpoint {
            $($(#[$doc])* $place,)*
        }

        impl Failpoint {
            /// Every place.
            pub const ALL: &[Self] = &[$(Self::$place,)*];

            /// What the place is called.
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
    /// The lock is taken, and nothing that an earlier daemon left has been looked at.
    Locked = "locked",
    /// One holder has been taken in, others wait for it.
    Adopting = "adopting",
    /// Every holder that answered has been taken in, and the engine has heard of none.
    Adopted = "adopted",
    /// The engine knows everything, and there is no door.
    DoorClosed = "door-closed",
    /// There is a door, and nobody behind it.
    DoorUnserved = "door-unserved",
    /// A run's checkpoint has been taken, and its holder does not have it.
    CheckpointTaken = "checkpoint-taken",
    /// The holder has been sent it, and still keeps what it covers.
    CheckpointSent = "checkpoint-sent",
    /// Changes are about to be written.
    BeforeCommit = "before-commit",
    /// They are written, and nobody has been told.
    AfterCommit = "after-commit",
    /// What was decided is on the disk, and nothing of it has been done.
    Recorded = "recorded",
    /// Something of it has been done, and nobody has answered.
    EffectDone = "effect-done",
    /// What came of it has been heard, and nothing has been decided or recorded.
    FactHeard = "fact-heard",
    /// A holder has started its child, and the run is hosted nowhere.
    HolderStarted = "holder-started",
    /// An input is on its way to the holder.
    InputQueued = "input-queued",
    /// The holder has typed an input, and nobody has been told.
    InputTyped = "input-typed",
    /// The engine task has decided its last, and holders may still be on their way to their end.
    DeskClosed = "desk-closed",
    /// Nobody is served any more, and the database is open.
    DoorLeft = "door-left",
    /// The database is closed, and the socket is still there.
    StoreClosed = "store-closed",
}

#[cfg(debug_assertions)]
mod armed {
    use std::path::PathBuf;
    use std::sync::OnceLock;

    use rustix::process::{Signal, getpid, kill_process};

    use super::Failpoint;

    /// What this daemon was told at its start.
    fn directory() -> Option<&'static PathBuf> {
        static TOLD: OnceLock<Option<PathBuf>> = OnceLock::new();
        TOLD.get_or_init(|| std::env::var_os("QD_TEST_FAILPOINTS").map(PathBuf::from)).as_ref()
    }

    /// Whether a test is meant at all.
    pub(crate) fn is_on() -> bool {
        directory().is_some()
    }

    /// Ends the daemon if it was told to die here.
    pub(crate) fn pass(place: Failpoint) {
        // Two threads may pass at once; one order is one death.
        if is_wanted(place.name()) && directory().is_some_and(|order| std::fs::remove_file(order).is_ok()) {
            while kill_process(getpid(), Signal::KILL).is_ok() {}
        }
    }

    /// Whether the file says so now.
    pub(crate) fn is_wanted(what: &str) -> bool {
        let order = directory().filter(|path| path.is_absolute()).map(std::fs::read_to_string);
        matches!(order, Some(Ok(wanted)) if wanted == what)
    }
}

#[cfg(not(debug_assertions))]
mod armed {
    use super::Failpoint;

    pub(crate) fn pass(_place: Failpoint) {}
}

pub(crate) use armed::pass;
#[cfg(debug_assertions)]
pub(crate) use armed::{is_on, is_wanted};

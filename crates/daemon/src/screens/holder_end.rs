//! Ends a holder that does not answer, and names the processes that live on after it.
//!
//! Everything below the holder is killed first, on another thread, because a tree that forks may take long. The holder
//! itself is killed last, unless it reports the end of its tree meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::input::Survivor;
use holder::Unkilled;

use crate::threads::{self, Doing};

/// The end of one run's holder.
#[derive(Default)]
pub(super) struct HolderEnd {
    /// The holder has reported the end of its tree since it was last asked for it.
    has_reported: Arc<AtomicBool>,
    killing: Option<Doing<Vec<Unkilled>>>,
}

impl HolderEnd {
    /// Forgets an earlier report: the holder is asked again.
    pub(super) fn forget_report(&mut self) {
        self.has_reported = Arc::default();
    }

    /// Records that the holder has reported the end of its tree, or what survived it.
    pub(super) fn reported(&self) {
        self.has_reported.store(true, Ordering::Release);
    }

    /// Begins to kill, unless an earlier call still does.
    pub(super) fn kill(&mut self, pid: i32, start_time: u64) {
        if self.killing.as_mut().is_some_and(|killing| killing.try_wait().is_none()) {
            return;
        }
        let reported = Arc::clone(&self.has_reported);
        let has_reported = move || reported.load(Ordering::Acquire);
        self.killing = Some(threads::run(move || holder::end_silent_holder(pid, start_time, has_reported)));
    }

    /// Returns the killing under way; its result is what lives on.
    pub(super) fn take_killing(&mut self) -> Option<Doing<Vec<Unkilled>>> {
        self.killing.take()
    }
}

/// Names those of the processes that still live.
pub(crate) fn name_survivors(left: impl IntoIterator<Item = Unkilled>) -> Vec<Survivor> {
    let mut living: Vec<Unkilled> = left.into_iter().filter(Unkilled::is_alive).collect();
    living.sort_unstable();
    living.dedup();
    living.into_iter().map(|process| name_survivor(process.pid)).collect()
}

/// Returns a process with its name and its user.
pub(super) fn name_survivor(pid: i32) -> Survivor {
    use std::os::unix::fs::MetadataExt;
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let status = read("status");
    let real =
        status.lines().find_map(|line| line.strip_prefix("Uid:")?.split_whitespace().next()?.parse().ok());
    // A process that cannot be dumped has its directory owned by root; the status file has its real user.
    let owner = std::fs::metadata(format!("/proc/{pid}")).map(|found| found.uid()).unwrap_or_default();
    Survivor { pid, name: read("comm").trim().to_owned(), user: real.unwrap_or(owner) }
}

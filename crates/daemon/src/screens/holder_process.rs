//! A run's holder as a process: whether it lives, whether it may exit, and which orders about its end it may
//! not have received.

use std::path::PathBuf;
use std::time::Instant;

use holder::{ToHolder, proc_stat};

use super::order::NewRun;
use super::tree_end::TreeEnd;

/// The holder of one run.
pub(super) struct HolderProcess {
    pid: i32,
    /// Its start time, as the kernel counts; `None` when it was gone already.
    start_time: Option<u64>,
    /// Where it listens.
    pub(super) socket: PathBuf,
    /// The mark that the run's processes carry.
    pub(super) token: String,
    /// The child's start time, as the kernel counts.
    pub(super) child_start_time: u64,
    /// It may exit: its end is no loss.
    release: Option<Release>,
    /// An end that it cannot time itself.
    pub(super) tree_end: TreeEnd,
}

/// How a holder was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Release {
    /// It ends its tree before it exits.
    end_tree: bool,
}

impl HolderProcess {
    /// Returns the holder of a run that is about to be hosted.
    pub(super) fn of(new: &NewRun) -> Self {
        Self {
            pid: new.handle.holder_pid,
            start_time: new.handle.holder_start_time,
            socket: new.socket.clone(),
            token: new.token.clone(),
            child_start_time: new.child_start_time,
            release: None,
            tree_end: TreeEnd::new(new.wire_version),
        }
    }

    /// Returns its pid.
    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Returns its start time.
    pub(super) fn start_time(&self) -> Option<u64> {
        self.start_time
    }

    /// Returns true if it lives. Another process may have its pid by now.
    pub(super) fn is_alive(&self) -> bool {
        let stat = proc_stat::stat(self.pid);
        stat.is_some_and(|stat| Some(stat.start_time) == self.start_time && stat.state != b'Z')
    }

    /// Records that it may exit; returns the order for it.
    pub(super) fn release(&mut self, end_tree: bool) -> ToHolder {
        self.release = Some(Release { end_tree });
        ToHolder::Release { end_tree }
    }

    /// Returns true if it may exit.
    pub(super) fn is_released(&self) -> bool {
        self.release.is_some()
    }

    /// Returns true if it may be killed without a loss: it was ordered to exit and to end its tree.
    pub(super) fn is_to_end(&self) -> bool {
        self.release == Some(Release { end_tree: true })
    }

    /// Returns the orders that it may not have received: to exit, or to end its tree.
    pub(super) fn unheard_orders(&mut self, now: Instant) -> Vec<ToHolder> {
        match self.release {
            Some(Release { end_tree }) => vec![ToHolder::Release { end_tree }],
            None => self.tree_end.ask_again(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use holder::WIRE_WITH_END;

    use super::*;

    /// Returns a holder that is this very process, or a process that had its pid before.
    fn holder(is_this: bool) -> HolderProcess {
        let pid = i32::try_from(std::process::id()).unwrap();
        let start_time = proc_stat::start_time(pid).map(|start| if is_this { start } else { start + 1 });
        HolderProcess {
            pid,
            start_time,
            socket: PathBuf::new(),
            token: String::new(),
            child_start_time: 0,
            release: None,
            tree_end: TreeEnd::new(WIRE_WITH_END),
        }
    }

    #[test]
    fn another_process_with_its_pid_is_not_the_holder() {
        assert!(holder(true).is_alive() && !holder(false).is_alive());
    }

    #[test]
    fn the_newest_order_is_repeated_and_only_one_that_ends_the_tree_allows_a_kill() {
        let (mut holder, now) = (holder(true), Instant::now());
        assert!(holder.unheard_orders(now).is_empty() && !holder.is_released());
        holder.tree_end.ask(15, 1_000, now);
        assert_eq!(holder.unheard_orders(now), [ToHolder::End { signal: 15, grace_ms: 1_000 }]);
        holder.release(false);
        assert!(holder.is_released() && !holder.is_to_end());
        assert_eq!(holder.release(true), ToHolder::Release { end_tree: true });
        assert!(holder.is_to_end());
        assert_eq!(holder.unheard_orders(now), [ToHolder::Release { end_tree: true }]);
    }
}

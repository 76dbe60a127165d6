//! The ancestors of callers that were read already: a person's shell calls many times, and what is above it stays.
//!
//! Each is pinned by a pidfd. As long as a process lives, its pid means that process, and its children keep it as
//! their parent: a process gets another parent only at the end of its own. So if every process of a chain lives, the
//! chain is what it was when it was read. That is one `poll` instead of two files for each of them.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, getrlimit};

use super::Link;

/// The most ancestors that are kept, and so the most descriptors.
const MOST: usize = 32;
/// None are kept where fewer descriptors are allowed than this: each run needs some.
const ROOMY: u64 = 1_024;

/// Ancestors that are known. Whether one of them is a holder of ours is asked anew every time.
#[derive(Debug, Default)]
pub struct Ancestors(Mutex<BTreeMap<i32, Known>>);

/// A process that lived when its link was read, and after that.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) link: Link,
    /// Opened between two readings of the link that were the same.
    pub(super) pidfd: OwnedFd,
}

impl Ancestors {
    /// Returns what was read of a process. It counts only if [`Ancestors::all_live`] is true afterwards.
    pub(super) fn find(&self, pid: i32) -> Option<Link> {
        self.known().get(&pid).map(|known| known.link)
    }

    /// Returns true if all of these are known and none of them has ended.
    pub(super) fn all_live(&self, links: &[Link]) -> bool {
        let known = self.known();
        let found = |link: &Link| known.get(&link.pid).filter(|found| found.link == *link);
        let polled = |link: &Link| Some(PollFd::new(&found(link)?.pidfd, PollFlags::IN));
        let fds: Option<Vec<PollFd<'_>>> = links.iter().map(polled).collect();
        fds.is_some_and(|mut fds| is_quiet(&mut fds))
    }

    /// Keeps further ones, and drops those that have ended.
    pub(super) fn add(&self, found: Vec<Known>) {
        if getrlimit(Resource::Nofile).current.is_some_and(|limit| limit < ROOMY) {
            return;
        }
        let mut known = self.known();
        known.retain(|_, old| is_quiet(&mut [PollFd::new(&old.pidfd, PollFlags::IN)]));
        for new in found {
            if known.len() < MOST {
                known.insert(new.link.pid, new);
            }
        }
    }

    /// Drops all of them, with their descriptors.
    pub fn clear(&self) {
        self.known().clear();
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<i32, Known>> {
        // Every change is one step, so a panic of another thread cannot have left half of it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if none of these is ready now.
fn is_quiet(fds: &mut [PollFd<'_>]) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    fds.is_empty() || poll(fds, Some(&now)) == Ok(0)
}

//! One `poll` over everything that can wake the loop.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::listener::Listener;
use crate::peer::Peer;
use crate::signals::Signals;

/// Everything that can wake the loop.
pub(super) struct Sources<'a> {
    pub(super) signals: &'a Signals,
    pub(super) listener: &'a Listener,
    pub(super) link: Option<&'a Peer>,
    pub(super) master: BorrowedFd<'a>,
    /// Without interests the master is left out, because its hang-up would still be reported for ever.
    pub(super) master_interests: PollFlags,
}

/// What `poll` said.
#[derive(Default)]
pub(super) struct Ready {
    pub(super) signals: bool,
    pub(super) master_in: bool,
    pub(super) master_out: bool,
    /// A new connection, or data from an undecided one.
    pub(super) newcomer: bool,
    pub(super) link_in: bool,
    pub(super) link_out: bool,
}

impl Sources<'_> {
    /// Waits until something is ready or the deadline has come.
    pub(super) fn wait(&self, deadline: Option<Instant>) -> Ready {
        let mut link = PollFlags::IN;
        link.set(PollFlags::OUT, self.link.is_some_and(Peer::wants_write));
        let mut fds = Vec::with_capacity(16);
        fds.push(PollFd::new(self.signals, PollFlags::IN));
        let listeners = self.listener.listeners();
        fds.extend(listeners.map(|listener| PollFd::from_borrowed_fd(listener, PollFlags::IN)));
        fds.extend(self.listener.pending().iter().map(|peer| PollFd::new(peer, PollFlags::IN)));
        let undecided = 1..fds.len();
        let master = self.master_interests;
        let master_at = (!master.is_empty()).then(|| push(&mut fds, self.master, master));
        let link_at = self.link.map(|peer| push(&mut fds, peer.as_fd(), link));
        if poll(&mut fds, timeout(deadline).as_ref()).is_err() {
            return Ready::default();
        }
        let found = |at: Option<usize>| at.map_or(PollFlags::empty(), |at| fds[at].revents());
        let ended = PollFlags::HUP | PollFlags::ERR;
        Ready {
            signals: !fds[0].revents().is_empty(),
            master_in: master.contains(PollFlags::IN) && found(master_at).intersects(PollFlags::IN | ended),
            master_out: master.contains(PollFlags::OUT)
                && found(master_at).intersects(PollFlags::OUT | ended),
            newcomer: fds[undecided].iter().any(|fd| !fd.revents().is_empty()),
            link_in: found(link_at).intersects(PollFlags::IN | ended),
            link_out: found(link_at).contains(PollFlags::OUT),
        }
    }
}

/// Returns the time until a deadline, as `poll` wants it; `None` waits for ever.
pub(super) fn timeout(deadline: Option<Instant>) -> Option<Timespec> {
    Timespec::try_from(deadline?.saturating_duration_since(Instant::now())).ok()
}

fn push<'fd>(fds: &mut Vec<PollFd<'fd>>, fd: BorrowedFd<'fd>, interests: PollFlags) -> usize {
    fds.push(PollFd::from_borrowed_fd(fd, interests));
    fds.len() - 1
}

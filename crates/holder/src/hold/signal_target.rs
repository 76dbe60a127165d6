//! Sends one signal to its target: the leader, the foreground or the tree. It refuses the numbers that the C
//! library reserves, and does not use process groups, whose numbers can be reused.

use std::os::fd::BorrowedFd;

use rustix::process::{Signal, getpid, pidfd_send_signal};

use crate::pty::Leader;
use crate::wire::SignalTarget;
use crate::{descendants, proc_stat};

/// Sends a signal by number; an invalid number sends nothing.
pub(super) fn send(number: i32, to: SignalTarget, leader: &Leader, master: BorrowedFd<'_>) {
    let Some(signal) = by_number(number) else { return };
    let root = getpid().as_raw_pid();
    match to {
        SignalTarget::Leader => {
            // This fails only when the leader has ended, which is announced anyway.
            let _ = pidfd_send_signal(&leader.pidfd, signal);
        }
        SignalTarget::Tree => descendants::descendants(root).into_iter().for_each(|pid| {
            descendants::signal_descendant(pid, root, signal);
        }),
        SignalTarget::ForegroundGroup => {
            let Ok(group) = rustix::termios::tcgetpgrp(master) else { return };
            let in_group =
                |pid: &i32| proc_stat::stat(*pid).is_some_and(|stat| stat.group == group.as_raw_pid());
            descendants::descendants(root).into_iter().filter(in_group).for_each(|pid| {
                descendants::signal_descendant(pid, root, signal);
            });
        }
    }
}

/// Returns the signal with this number. The real-time ones have no names.
pub(super) fn by_number(number: i32) -> Option<Signal> {
    let is_real_time = (libc::SIGRTMIN()..=libc::SIGRTMAX()).contains(&number);
    Signal::from_named_raw(number).or_else(|| is_real_time.then(|| real_time(number)))
}

#[expect(unsafe_code, reason = "rustix names no real-time signal")]
fn real_time(number: i32) -> Signal {
    // SAFETY: the caller has checked that it is a signal, and the C library reserves none of this range.
    unsafe { Signal::from_raw_unchecked(number) }
}

#[cfg(test)]
mod tests {
    use super::by_number;

    #[test]
    fn every_signal_but_the_c_librarys_own_can_be_sent() {
        for number in (1..=31).chain(34..=64) {
            assert_eq!(by_number(number).map(|signal| signal.as_raw()), Some(number));
        }
        for number in [i32::MIN, -1, 0, 32, 33, 65, i32::MAX] {
            assert!(by_number(number).is_none(), "{number}");
        }
    }
}

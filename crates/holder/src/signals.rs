//! The holder's signals as readable events: TERM and CHLD arrive through a descriptor, the rest is ignored.
//! There are no handlers, because they would run at any point of the program. `fork` and the other libc calls
//! are here too.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::Errno;

/// Highest signal number of Linux.
const HIGHEST_SIGNAL: i32 = 64;

/// Ignored by forkserver and holders: what a terminal, a hang-up, a broken pipe or a limit on file sizes
/// would send. A holder ends only by Hangup, Release or TERM; a write beyond the limit fails with EFBIG.
const IGNORED: [i32; 10] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGPIPE,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGXFSZ,
];

/// The signals since the last call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// The holder was asked to end.
    pub(crate) terminate: bool,
    /// A child or an adopted orphan has ended.
    pub(crate) child: bool,
}

/// Signals as a descriptor.
pub(crate) struct Signals {
    fd: OwnedFd,
}

impl Signals {
    /// Takes over the signals that the forkserver has not blocked, and the reaping of children, which the
    /// forkserver leaves to the kernel. Must be called before any child is started, so that none is missed.
    pub(crate) fn take_over() -> io::Result<Signals> {
        // Stopped and continued children do not concern us and must not wake us.
        set_disposition(libc::SIGCHLD, libc::SIG_DFL, libc::SA_NOCLDSTOP);
        let watched = signal_set(&[libc::SIGTERM, libc::SIGCHLD]);
        set_mask(libc::SIG_BLOCK, &watched)?;
        Ok(Signals { fd: signal_fd(&watched)? })
    }

    /// Returns everything that has arrived.
    pub(crate) fn drain(&self) -> Arrived {
        let mut arrived = Arrived::default();
        let mut record = [0u8; size_of::<libc::signalfd_siginfo>()];
        while let Ok(length) = rustix::io::read(&self.fd, &mut record) {
            // The signal's number is the first word of the record.
            match record.first_chunk::<4>().map(|word| i32::from_ne_bytes(*word)) {
                Some(libc::SIGTERM) => arrived.terminate = true,
                Some(libc::SIGCHLD) => arrived.child = true,
                _ => {}
            }
            if length < record.len() {
                break;
            }
        }
        arrived
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Ignores what a holder ignores, for all later holders, and lets the kernel reap them.
pub(crate) fn ignore_for_forkserver() {
    IGNORED.iter().for_each(|signal| set_disposition(*signal, libc::SIG_IGN, 0));
    set_disposition(libc::SIGCHLD, libc::SIG_IGN, libc::SA_NOCLDWAIT);
}

/// Which side of a fork this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forked {
    /// The original process.
    Parent,
    /// The new one.
    Child,
}

/// Forks, unless there is a second thread: the child would find the locks that it held locked for ever.
#[expect(unsafe_code, reason = "rustix has no fork")]
pub(crate) fn fork() -> io::Result<Forked> {
    if !is_single_threaded()? {
        return Err(Errno::DEADLK.into());
    }
    // SAFETY: there is no other thread, so the child finds every lock free and every structure whole.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        _ => Ok(Forked::Parent),
    }
}

/// Returns true if this process has only one thread. The directory of threads has two links of its own and
/// one for each of them; listing it would cost the forkserver, and so every holder, pages for a buffer.
fn is_single_threaded() -> io::Result<bool> {
    Ok(rustix::fs::stat("/proc/self/task")?.st_nlink <= 3)
}

/// Resets every signal to its default and unblocks all, as a program expects at its start. Async-signal-safe.
pub(crate) fn reset_for_child() -> io::Result<()> {
    (1..=HIGHEST_SIGNAL).for_each(set_default);
    set_mask(libc::SIG_SETMASK, &signal_set(&[]))
}

/// Closes every descriptor from 3 up, which belong to the process that started this one. Only for a process
/// that has just begun; one with threads of its own is refused.
#[expect(unsafe_code, reason = "rustix has no close_range")]
pub fn close_inherited() -> io::Result<()> {
    if !is_single_threaded()? {
        return Err(io::Error::from(io::ErrorKind::ResourceBusy));
    }
    // SAFETY: called first thing in `hold` and in a daemon, when nothing in this process owns a descriptor from 3 up.
    check(unsafe { libc::close_range(3, libc::c_uint::MAX, 0) })
}

/// Marks every descriptor from 3 up to be closed by exec. Async-signal-safe.
#[expect(unsafe_code, reason = "rustix has no close_range")]
pub(crate) fn close_others_at_exec() -> io::Result<()> {
    // SAFETY: sets a flag on descriptors; none is closed before exec, which ends all their owners.
    check(unsafe { libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_int) })
}

/// Returns true if this kernel can mark a range of descriptors to be closed by exec, as every start of a
/// child does (Linux 5.11).
#[expect(unsafe_code, reason = "rustix has no close_range")]
pub fn can_close_at_exec() -> bool {
    let none = libc::c_uint::MAX;
    // SAFETY: sets a flag on descriptors of a number that no process can have.
    check(unsafe { libc::close_range(none, none, libc::CLOSE_RANGE_CLOEXEC as libc::c_int) }).is_ok()
}

/// Returns memory that was freed to the kernel, so that two hundred idle holders stay small, and their daemon.
#[expect(unsafe_code, reason = "rustix has no malloc_trim")]
pub fn trim_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes no pointers; the allocator locks itself.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[expect(unsafe_code, reason = "rustix has no sigaction in its stable part")]
fn set_disposition(signal: i32, handler: libc::sighandler_t, flags: i32) {
    // SAFETY: the structure is plain data for which zero is valid; the handler is SIG_IGN or SIG_DFL, never code.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

/// Asks the kernel directly, because the C library refuses to touch two signals that it reserves, and they
/// may have been inherited as ignored. KILL and STOP refuse, which is right.
#[expect(unsafe_code, reason = "the C library's sigaction leaves two signals out")]
fn set_default(signal: i32) {
    // As long as the kernel's structure on every architecture; all zero means SIG_DFL, no flags, no mask.
    let action = [0u64; 8];
    let mask_bytes: libc::c_long = 8;
    // SAFETY: the kernel reads the zeroed structure and writes nothing, because no old action is requested.
    unsafe {
        libc::syscall(libc::SYS_rt_sigaction, signal, action.as_ptr(), std::ptr::null::<u64>(), mask_bytes);
    }
}

#[expect(unsafe_code, reason = "rustix has no signal sets in its stable part")]
fn signal_set(signals: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the set, sigaddset changes an initialised one.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}

#[expect(unsafe_code, reason = "rustix has no sigprocmask in its stable part")]
fn set_mask(how: i32, set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: `set` is initialised and the old mask is not requested.
    check(unsafe { libc::sigprocmask(how, set, std::ptr::null_mut()) })
}

#[expect(unsafe_code, reason = "rustix has no signalfd")]
fn signal_fd(set: &libc::sigset_t) -> io::Result<OwnedFd> {
    // SAFETY: `set` is initialised; -1 requests a new descriptor, which nothing else owns.
    unsafe {
        let fd = libc::signalfd(-1, set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        check(fd)?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

fn check(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn b11_a_process_with_two_threads_does_not_fork() {
        let (end, over) = mpsc::sync_channel::<()>(0);
        let thread = std::thread::spawn(move || over.recv());
        match fork() {
            Err(error) => assert_eq!(Errno::from_io_error(&error), Some(Errno::DEADLK)),
            Ok(Forked::Child) => std::process::abort(),
            Ok(Forked::Parent) => panic!("it forked beside another thread"),
        }
        drop(end);
        thread.join().unwrap().unwrap_err();
    }
}

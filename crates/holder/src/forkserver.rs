//! The body of `qd hold`: one forkserver per daemon, a single-threaded process that detaches from the daemon
//! once and then forks a holder for every request. So holders share the memory that loading has cost:
//! relocated pages, libraries, heap. It keeps nothing of a run and waits for no holder, so it may be killed
//! at any time and its holders live on.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;

use rustix::fs::Mode;

use crate::entry;
use crate::fdpass;
use crate::launch::Failure;
use crate::signals::{self, Forked};

/// Runs a forkserver until its launcher is gone; in every process that it forks, runs one holder until that
/// is released or hung up. Stdin must be the control socket that [`Launcher`](crate::Launcher) made.
///
/// Must be called while the process is single-threaded and owns no descriptor beyond 0, 1 and 2.
pub fn hold() -> ExitCode {
    crate::run_mark::remember_own_limit();
    let Ok((requests, inherited_umask)) = leave_the_daemons_world() else { return ExitCode::FAILURE };
    // The text pages that loading needed are not needed to fork; failing to free them costs only memory.
    drop(crate::give_back_text());
    match serve(requests) {
        Ok(Some(link)) => entry::hold_run(link, inherited_umask),
        Ok(None) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Sets up an own session and name, closes inherited descriptors, leaves the current directory, and lets the
/// kernel reap. Returns the control socket and the inherited umask.
fn leave_the_daemons_world() -> io::Result<(OwnedFd, Mode)> {
    signals::close_inherited()?;
    let requests = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    // A shell that starts `qd hold` by hand is already a group leader; that is no reason to refuse.
    let _ = rustix::process::setsid();
    rustix::process::chdir("/")?;
    rustix::thread::set_name(c"qd-forkserver")?;
    signals::ignore_for_forkserver();
    let inherited_umask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    Ok((requests, inherited_umask))
}

/// Forks a holder per request. Returns the link in a forked holder, and `None` in the forkserver when the
/// launcher is gone. Either way the control socket is closed: a holder that kept it would hide the
/// forkserver's death.
fn serve(requests: OwnedFd) -> io::Result<Option<OwnedFd>> {
    while let Some(link) = next_request(requests.as_fd())? {
        match signals::fork() {
            Ok(Forked::Child) => return Ok(Some(link)),
            Ok(Forked::Parent) => drop(link),
            Err(error) => refuse(&link, error),
        }
    }
    Ok(None)
}

/// Receives the next holder's end of its link. A message without one was cut by our descriptor limit: its
/// sender finds its socket closed.
fn next_request(requests: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    let mut links = Vec::with_capacity(1);
    loop {
        match fdpass::receive_with_fds(requests, &mut [0u8; 1], &mut links) {
            Ok(0) => return Ok(None),
            Ok(_) if links.is_empty() => {}
            Ok(_) => return Ok(links.pop()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Sends a launcher the reason why it gets no holder.
fn refuse(link: &OwnedFd, error: io::Error) {
    // The launcher may have gone.
    drop(fdpass::send(link.as_fd(), &Failure::from_io(error).encode()));
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;
    use crate::launch::{LaunchError, first_contact};
    use crate::{LinkError, RunConfig};

    #[test]
    fn d10_a_failed_fork_is_told_as_a_limit_while_the_configuration_is_still_unread() {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        refuse(&theirs, Errno::AGAIN.into());
        drop(theirs);
        let config = RunConfig::new(vec!["program".into()], "/".into(), "/socket".into());
        let error = first_contact(ours, &config).expect_err("it fails");
        assert!(matches!(error, LaunchError::Limit { .. }), "{error:?}");
        assert!(error.to_string().contains("processes"), "{error}");
    }

    #[test]
    fn a_closed_link_without_a_word_is_told_as_gone() {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        drop(theirs);
        let config = RunConfig::new(vec!["program".into()], "/".into(), "/socket".into());
        assert!(matches!(first_contact(ours, &config), Err(LaunchError::Link(LinkError::Gone))));
    }
}

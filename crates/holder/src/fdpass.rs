//! Sends and receives bytes and descriptors over a Unix socket, without SIGPIPE and with close-on-exec set
//! atomically.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Descriptors in one HELLO reply: ring, wake-up, master.
pub(crate) const HELLO_FDS: usize = 3;

/// Sends bytes with descriptors beside the first of them; returns how many bytes were sent.
pub(crate) fn send_with_fds(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    fds: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    send_with_fds_as(socket, bytes, fds, SendFlags::empty())
}

/// Like `send_with_fds`, with further flags.
pub(crate) fn send_with_fds_as(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    fds: &[BorrowedFd<'_>],
    flags: SendFlags,
) -> io::Result<usize> {
    let flags = flags | SendFlags::NOSIGNAL;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HELLO_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    Ok(retry_on_intr(|| sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags))?)
}

/// Sends as much as the socket accepts now.
pub(crate) fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    Ok(retry_on_intr(|| rustix::net::send(socket, bytes, SendFlags::NOSIGNAL))?)
}

/// Receives bytes and adds whatever descriptors come with them to `fds`.
pub(crate) fn receive_with_fds(
    socket: BorrowedFd<'_>,
    buf: &mut [u8],
    fds: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HELLO_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let message = recvmsg(socket, &mut [IoSliceMut::new(buf)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = part {
            fds.extend(received);
        }
    }
    Ok(message.bytes)
}

/// Receives bytes only; descriptors that come with them are closed by the kernel.
pub(crate) fn receive(socket: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(socket, buf)?)
}

/// Returns true if the other end belongs to our own user.
pub(crate) fn peer_is_same_user(socket: BorrowedFd<'_>) -> bool {
    rustix::net::sockopt::socket_peercred(socket.as_fd())
        .is_ok_and(|peer| peer.uid == rustix::process::geteuid())
}

/// Makes reads and writes return instead of waiting.
pub(crate) fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(fd, true)?)
}

/// Returns true if an error only means "not now".
pub(crate) fn is_not_now(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Returns true if the other end is gone.
pub(crate) fn is_hung_up(socket: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(socket, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    // `poll` reports hang-ups and errors even with no flags requested.
    poll(&mut fds, Some(&now)).is_ok() && !fds[0].revents().is_empty()
}

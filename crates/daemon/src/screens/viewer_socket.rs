//! A viewer's socket: frames and a passed descriptor come in, lines and frames go out. It never waits: what
//! the socket does not accept stays unsent until it does.

use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use proto::frame::{DataKind, Decoder, Frame, FrameError, HEADER, MAX_DATA, data_header, encode_data};
use proto::reply::ServerLine;
use rustix::event::epoll::EventFlags;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::unsent_bytes::UnsentBytes;
use super::viewer::Presence;

/// Above this many unsent bytes, a viewer's wrong calls are not answered any more.
const MAX_UNREAD: usize = 256 * 1024;

/// The socket of one viewer.
pub(super) struct ViewerSocket {
    socket: UnixStream,
    decoder: Decoder,
    /// The descriptor that came last and that no call has used.
    passed_fd: Option<OwnedFd>,
    /// Bytes that the socket did not accept: the rest of one frame, one repaint or a few lines.
    unsent: UnsentBytes,
    /// The events it is watched for.
    pub(super) watched: EventFlags,
    /// It closes once everything is sent.
    is_closing: bool,
    /// The other side has gone: only what it sent before can still come.
    is_peer_gone: bool,
}

impl ViewerSocket {
    /// Takes a connection with the bytes that were read and not parsed yet, and those to send first.
    pub(super) fn new(socket: UnixStream, unread: &[u8], greeting: Vec<u8>) -> Self {
        let mut decoder = Decoder::default();
        decoder.push(unread);
        Self {
            socket,
            decoder,
            passed_fd: None,
            unsent: UnsentBytes::of(greeting),
            watched: EventFlags::IN,
            is_closing: false,
            is_peer_gone: false,
        }
    }

    /// Returns the pid of the other side, if the kernel reports it.
    pub(super) fn peer_pid(&self) -> Option<i32> {
        let peer = rustix::net::sockopt::socket_peercred(&self.socket).ok()?;
        Some(peer.pid.as_raw_nonzero().get())
    }

    /// Returns true if everything has been sent.
    pub(super) fn is_clear(&self) -> bool {
        self.unsent.is_clear()
    }

    /// Returns true if the other side reads answers: so few bytes are unsent.
    pub(super) fn has_room_for_answers(&self) -> bool {
        self.unsent.len() <= MAX_UNREAD
    }

    /// Returns true if it only waits for its last bytes to be sent.
    pub(super) fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// Closes once everything is sent.
    pub(super) fn close_when_sent(&mut self) {
        self.is_closing = true;
    }

    /// Returns true if the other side has gone.
    pub(super) fn is_peer_gone(&self) -> bool {
        self.is_peer_gone
    }

    /// Records the end of the other side, if these events report it.
    pub(super) fn note_events(&mut self, flags: EventFlags) {
        self.is_peer_gone |= flags.intersects(EventFlags::HUP | EventFlags::ERR);
    }

    /// Returns the events to watch for. The end of the other side is always reported.
    pub(super) fn wants(&self, reads: bool) -> EventFlags {
        let mut wants = EventFlags::empty();
        wants.set(EventFlags::IN, reads);
        wants.set(EventFlags::OUT, !self.unsent.is_clear());
        wants
    }

    /// Returns the descriptor that came last, once.
    pub(super) fn take_passed_fd(&mut self) -> Option<OwnedFd> {
        self.passed_fd.take()
    }

    /// Sends a line.
    pub(super) fn send_line(&mut self, line: &ServerLine) {
        if let Ok(mut text) = serde_json::to_vec(line) {
            text.push(b'\n');
            self.unsent.push(&text);
        }
    }

    /// Sends bytes in frames.
    pub(super) fn send_frames(&mut self, kind: DataKind, stream: u32, offset: u64, bytes: &[u8]) {
        let mut frames = Vec::with_capacity(bytes.len() + HEADER);
        encode_data(&mut frames, kind, stream, offset, bytes);
        self.unsent.push(&frames);
    }

    /// Sends live output that begins at `offset`, without copying it while the socket accepts it.
    pub(super) fn send_output(&mut self, stream: u32, mut offset: u64, bytes: &[u8]) {
        for piece in bytes.chunks(MAX_DATA) {
            let length = u32::try_from(piece.len()).expect("a piece is at most MAX_DATA");
            let header = data_header(DataKind::Output, stream, offset, length);
            offset += u64::from(length);
            let written = if self.unsent.is_clear() { self.write_pair(&header, piece) } else { 0 };
            if written < header.len() {
                self.unsent.push(&header[written..]);
                self.unsent.push(piece);
            } else {
                self.unsent.push(&piece[written - header.len()..]);
            }
        }
    }

    fn write_pair(&mut self, header: &[u8], bytes: &[u8]) -> usize {
        let slices = [IoSlice::new(header), IoSlice::new(bytes)];
        // The next read returns an error other than "full", and detaches the viewer.
        self.socket.write_vectored(&slices).unwrap_or(0)
    }

    /// Writes what waits.
    pub(super) fn flush(&mut self) -> Presence {
        if self.unsent.flush(|bytes| (&self.socket).write(bytes)).is_err() {
            return Presence::Gone;
        }
        if self.is_closing && self.unsent.is_clear() { Presence::Gone } else { Presence::Here }
    }

    /// Reads what came into the decoder, and the descriptor that came with it.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> Presence {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let mut bytes = [IoSliceMut::new(buffer)];
        let received = recvmsg(&self.socket, &mut bytes, &mut beside, RecvFlags::CMSG_CLOEXEC);
        for part in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = part {
                self.passed_fd = fds.last();
            }
        }
        match received.map(|message| message.bytes).map_err(io::Error::from) {
            Ok(0) => Presence::Gone,
            Ok(count) => {
                self.decoder.push(&buffer[..count]);
                Presence::Here
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Presence::Here
            }
            Err(_) => Presence::Gone,
        }
    }

    /// Returns the next frame that came.
    pub(super) fn next_frame(&mut self) -> Option<Result<Frame, FrameError>> {
        self.decoder.next_frame()
    }
}

impl AsFd for ViewerSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// A socket with a greeting, and its other side; neither waits.
    fn pair(unread: &[u8]) -> (ViewerSocket, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        theirs.set_nonblocking(true).unwrap();
        (ViewerSocket::new(ours, unread, b"hello\n".to_vec()), theirs)
    }

    fn read_all(stream: &mut UnixStream) -> Vec<u8> {
        let mut all = Vec::new();
        let ended = stream.read_to_end(&mut all);
        assert!(ended.is_ok() || ended.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock));
        all
    }

    #[test]
    fn the_greeting_comes_before_everything_and_the_end_after_it() {
        let (mut socket, mut client) = pair(b"");
        assert!(!socket.is_clear() && socket.wants(true) == EventFlags::IN | EventFlags::OUT);
        socket.send_output(1, 0, b"output");
        socket.close_when_sent();
        assert_eq!(socket.flush(), Presence::Gone, "everything is sent, so it may be closed");
        let got = read_all(&mut client);
        assert!(got.starts_with(b"hello\n") && got.ends_with(b"output"), "{}", got.escape_ascii());
    }

    #[test]
    fn output_that_the_other_side_does_not_read_waits_in_order_and_nothing_is_lost() {
        let (mut socket, mut client) = pair(b"");
        assert_eq!(socket.flush(), Presence::Here);
        let output: Vec<u8> = (0..3 * MAX_DATA).map(|at| (at % 251) as u8).collect();
        socket.send_output(7, 40, &output);
        assert!(!socket.is_clear() && !socket.has_room_for_answers());
        let mut got = read_all(&mut client);
        while !socket.is_clear() {
            assert_eq!(socket.flush(), Presence::Here);
            got.extend(read_all(&mut client));
        }
        let mut decoder = Decoder::default();
        decoder.push(got.strip_prefix(b"hello\n").unwrap());
        let mut joined = Vec::new();
        while let Some(frame) = decoder.next_frame() {
            let Ok(Frame::Data(data)) = frame else { panic!("only data was sent") };
            assert_eq!((data.stream, data.offset), (7, 40 + joined.len() as u64));
            joined.extend(data.bytes);
        }
        assert!(joined == output);
    }

    #[test]
    fn bytes_that_were_read_before_it_became_a_viewer_are_parsed_with_what_follows() {
        let (mut socket, mut client) = pair(b"one li");
        assert!(socket.next_frame().is_none());
        client.write_all(b"ne\n").unwrap();
        assert_eq!(socket.receive(&mut [0; 64]), Presence::Here);
        assert!(matches!(socket.next_frame(), Some(Ok(Frame::Line(line))) if line == b"one line"));
        assert_eq!(socket.receive(&mut [0; 64]), Presence::Here, "nothing came");
        drop(client);
        assert_eq!(socket.receive(&mut [0; 64]), Presence::Gone);
    }
}

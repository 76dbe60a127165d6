//! One attached viewer: its socket, what it has been sent, and what it may still be sent.
//!
//! Owns the bytes on their way to it. Refuses waiting for it: a socket that takes nothing more is asked again when it
//! can, and a viewer that fell far behind is skipped ahead.

use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use engine::{RunKey, ViewerId};
use proto::event::Notice;
use proto::frame::{DataKind, Decoder, Frame, FrameError, MAX_DATA, data_header, encode_data};
use proto::reply::{Answer, Outcome, ServerLine};
use proto::{Failure, Owner, Size};

/// Bytes on their way to a viewer beyond which its wrong calls are not answered any more.
const MAX_UNREAD: usize = 256 * 1024;

/// How a viewer is shown the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Its terminal has the run's size: bytes as they are.
    Live,
    /// It has another: the screen is composed for it.
    Composed,
}

/// What a viewer is to be shown as soon as it has taken what is on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owed {
    /// Nothing but what comes.
    #[default]
    Nothing,
    /// The screen anew.
    Paint,
    /// The terminal's size, and the screen anew.
    SizeAndPaint,
}

/// Whether a viewer is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It is.
    Here,
    /// It went, or all that was due to it has been sent.
    Gone,
}

/// One viewer.
pub(crate) struct Viewer {
    pub(crate) id: ViewerId,
    pub(crate) run: RunKey,
    pub(crate) stream: u32,
    pub(crate) size: Size,
    pub(crate) read_only: bool,
    pub(crate) by: Owner,
    pub(crate) mode: Mode,
    /// Output up to here was sent, as bytes or within a repaint.
    pub(crate) sent_to: u64,
    /// Composed: the screen has changed since the last frame.
    pub(crate) is_stale: bool,
    /// Composed: when the last frame was sent.
    pub(crate) painted_at: Option<Instant>,
    /// When the engine was last told that it types.
    pub(crate) typed_at: Option<Instant>,
    /// Whether the socket is watched for room.
    pub(crate) is_waiting_for_room: bool,
    socket: UnixStream,
    decoder: Decoder,
    /// Bytes the socket did not take: the rest of one frame, one repaint or a few lines.
    out: Vec<u8>,
    out_sent: usize,
    is_closing: bool,
    owed: Owed,
}

impl Viewer {
    pub(crate) fn new(new: super::order::NewViewer, mode: Mode) -> Self {
        let mut decoder = Decoder::default();
        decoder.push(&new.unread);
        Self {
            id: new.viewer,
            run: new.run,
            stream: new.stream,
            size: new.size,
            read_only: new.read_only,
            by: new.by,
            mode,
            sent_to: 0,
            is_stale: false,
            painted_at: None,
            typed_at: None,
            is_waiting_for_room: false,
            socket: new.socket,
            decoder,
            out: new.greeting,
            out_sent: 0,
            is_closing: false,
            owed: Owed::Nothing,
        }
    }

    /// It is to be shown this, or more.
    pub(crate) fn owes(&mut self, owed: Owed) {
        self.owed = self.owed.max(owed);
    }

    /// What it is owed, which from here on it is not.
    pub(crate) fn take_owed(&mut self) -> Owed {
        std::mem::take(&mut self.owed)
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether everything given so far has reached the socket.
    pub(crate) fn is_clear(&self) -> bool {
        self.out_sent == self.out.len()
    }

    /// Whether it is only waiting for its last bytes.
    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// Sends a piece of live output that begins at `sent_to`, without copying it while the socket takes it.
    pub(crate) fn send_output(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(MAX_DATA) {
            let length = u32::try_from(piece.len()).expect("a piece is at most MAX_DATA");
            let header = data_header(DataKind::Output, self.stream, self.sent_to, length);
            self.sent_to += u64::from(length);
            let written = if self.is_clear() { self.write_pair(&header, piece) } else { 0 };
            if written < header.len() {
                self.out.extend_from_slice(&header[written..]);
                self.out.extend_from_slice(piece);
            } else {
                self.out.extend_from_slice(&piece[written - header.len()..]);
            }
        }
    }

    fn write_pair(&mut self, header: &[u8], bytes: &[u8]) -> usize {
        let slices = [IoSlice::new(header), IoSlice::new(bytes)];
        // An error other than "full" shows again on the next read, where the viewer is let go.
        self.socket.write_vectored(&slices).unwrap_or(0)
    }

    /// Sends a drawing of the screen as it is at `offset`; what follows continues at `live_from`.
    pub(crate) fn send_repaint(&mut self, drawing: &[u8], offset: u64, live_from: u64) {
        encode_data(&mut self.out, DataKind::Repaint, self.stream, offset, drawing);
        self.sent_to = live_from;
        self.is_stale = false;
    }

    /// Sends a notice about its stream.
    pub(crate) fn send_notice(&mut self, notice: Notice) {
        self.send_line(&ServerLine::Notice(notice));
    }

    /// Answers a call with a failure; the connection stays. Full-queue policy: dropped, because whoever reads no
    /// answers to nonsense misses nothing.
    pub(crate) fn send_failure(&mut self, id: u64, failure: Failure) {
        if self.out.len() - self.out_sent > MAX_UNREAD {
            return;
        }
        self.send_line(&ServerLine::Reply(Answer { id, outcome: Outcome::Error(failure) }));
    }

    /// Sends a line.
    pub(crate) fn send_line(&mut self, line: &ServerLine) {
        if let Ok(mut text) = serde_json::to_vec(line) {
            text.push(b'\n');
            self.out.append(&mut text);
        }
    }

    /// Lets it go once its last bytes are out.
    pub(crate) fn close_when_clear(&mut self) {
        self.is_closing = true;
    }

    /// Gives the socket what waits.
    pub(crate) fn flush(&mut self) -> Presence {
        while !self.is_clear() {
            match self.socket.write(&self.out[self.out_sent..]) {
                Ok(0) => return Presence::Gone,
                Ok(count) => self.out_sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Presence::Here,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Presence::Gone,
            }
        }
        self.out.clear();
        self.out_sent = 0;
        // A repaint may have been large; an idle viewer should not keep its memory.
        self.out.shrink_to(64 * 1024);
        if self.is_closing { Presence::Gone } else { Presence::Here }
    }

    /// Reads what it sent into its decoder.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> Presence {
        match self.socket.read(buffer) {
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

    /// The next frame it sent.
    pub(crate) fn next_frame(&mut self) -> Option<Result<Frame, FrameError>> {
        self.decoder.next_frame()
    }
}

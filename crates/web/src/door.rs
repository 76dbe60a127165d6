//! Connections to the daemon for one caller each, as async streams.
//!
//! The client connects and greets on a blocking thread, where it may start a daemon that crashed; the socket is then
//! driven here. Each caller has connections of its own, because the daemon limits a connection and not a request.

use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use client::{ClientError, DaemonAddress, Incoming};
use proto::frame::{DataKind, data_header};
use proto::reply::ServerLine;
use proto::{Call, Decoder, Dirs, Frame, Outcome, Reply, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::identity::AccessIdentity;

/// Bytes per read from the socket.
const READ_SIZE: usize = 64 << 10; // 64 KiB

/// The daemon.
#[derive(Clone, Debug)]
pub(crate) struct Door(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    places: Dirs,
    /// Starts a daemon when the last one crashed. The lock is held for as long as that takes: one start is enough.
    starter: Mutex<DaemonAddress>,
}

impl Door {
    /// Returns the daemon of `places`; `exe` is started when it has crashed.
    pub(crate) fn new(places: Dirs, exe: PathBuf) -> Self {
        let starter = Mutex::new(DaemonAddress::new(places.clone(), exe));
        Self(Arc::new(Inner { places, starter }))
    }

    /// Connects for a caller.
    pub(crate) async fn connect(&self, _caller: &AccessIdentity) -> Result<DoorConnection, ClientError> {
        let inner = Arc::clone(&self.0);
        let connected = tokio::task::spawn_blocking(move || inner.connect()).await;
        let stream = connected.map_err(|error| ClientError::Broken(io::Error::other(error)))??;
        let (reader, writer) = stream.into_split();
        Ok(DoorConnection {
            reader: DoorReader { socket: reader, decoder: Decoder::default(), buffer: Vec::new() },
            // The client's hello was the first call.
            writer: DoorWriter { socket: writer, next_id: 2 },
        })
    }

    /// Connects for a caller, asks once, and leaves.
    pub(crate) async fn ask(&self, caller: &AccessIdentity, request: Request) -> Result<Reply, ClientError> {
        self.connect(caller).await?.call(request).await
    }
}

impl Inner {
    fn connect(&self) -> Result<UnixStream, ClientError> {
        let found = match DaemonAddress::without_start(self.places.clone()).connect() {
            // A daemon that was ended on purpose has removed its socket and is not started again.
            Err(ClientError::Unreachable(_)) if self.places.socket().exists() => {
                self.starter.lock().unwrap_or_else(PoisonError::into_inner).connect()
            }
            other => other,
        }?;
        let socket = found.as_fd().try_clone_to_owned().map_err(ClientError::Broken)?;
        let socket = std::os::unix::net::UnixStream::from(socket);
        socket.set_nonblocking(true).map_err(ClientError::Broken)?;
        UnixStream::from_std(socket).map_err(ClientError::Broken)
    }
}

/// A connection of one caller.
#[derive(Debug)]
pub(crate) struct DoorConnection {
    pub(crate) reader: DoorReader,
    pub(crate) writer: DoorWriter,
}

impl DoorConnection {
    /// Sends a request and waits for its reply. What else arrives meanwhile is dropped.
    pub(crate) async fn call(&mut self, request: Request) -> Result<Reply, ClientError> {
        let id = self.writer.send(request).await?;
        loop {
            match self.reader.next().await?.ok_or_else(gone)? {
                Incoming::Answer(answer) if answer.id == id || answer.id == 0 => {
                    return match answer.outcome {
                        Outcome::Ok(reply) => Ok(reply),
                        Outcome::Error(failure) => Err(failure.into()),
                    };
                }
                _ => {}
            }
        }
    }
}

/// What the daemon sends.
#[derive(Debug)]
pub(crate) struct DoorReader {
    socket: OwnedReadHalf,
    decoder: Decoder,
    buffer: Vec<u8>,
}

impl DoorReader {
    /// Returns the next thing that the daemon sends; `None` once it has closed the connection. Nothing is lost when the
    /// future is dropped.
    pub(crate) async fn next(&mut self) -> Result<Option<Incoming>, ClientError> {
        loop {
            if let Some(frame) = self.decoder.next_frame() {
                return parse(frame).map(Some);
            }
            self.buffer.clear();
            self.buffer.reserve(READ_SIZE);
            match self.socket.read_buf(&mut self.buffer).await {
                Ok(0) => return Ok(None),
                Ok(_) => self.decoder.push(&self.buffer),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(ClientError::Broken(error)),
            }
        }
    }
}

/// What is sent to the daemon.
#[derive(Debug)]
pub(crate) struct DoorWriter {
    socket: OwnedWriteHalf,
    next_id: u64,
}

impl DoorWriter {
    /// Sends a request; returns the id that its reply will carry.
    pub(crate) async fn send(&mut self, request: Request) -> Result<u64, ClientError> {
        let id = self.next_id;
        self.next_id += 1;
        let mut line =
            serde_json::to_vec(&Call { id, request }).map_err(|error| ClientError::Broken(error.into()))?;
        line.push(b'\n');
        self.socket.write_all(&line).await.map_err(ClientError::Broken)?;
        Ok(id)
    }

    /// Sends bytes for the terminal of this connection's stream.
    pub(crate) async fn send_input(&mut self, stream: u32, bytes: &[u8]) -> Result<(), ClientError> {
        for piece in bytes.chunks(proto::frame::MAX_DATA) {
            let length = u32::try_from(piece.len()).unwrap_or(u32::MAX);
            let mut frame = data_header(DataKind::Input, stream, 0, length).to_vec();
            frame.extend_from_slice(piece);
            self.socket.write_all(&frame).await.map_err(ClientError::Broken)?;
        }
        Ok(())
    }
}

fn gone() -> ClientError {
    ClientError::Broken(io::Error::new(io::ErrorKind::UnexpectedEof, "the daemon closed the connection"))
}

fn parse(frame: Result<Frame, proto::FrameError>) -> Result<Incoming, ClientError> {
    let nonsense = |what: String| ClientError::Broken(io::Error::new(io::ErrorKind::InvalidData, what));
    match frame.map_err(|error| nonsense(error.to_string()))? {
        Frame::Data(data) => Ok(Incoming::Data(data)),
        Frame::Line(line) => {
            let line = serde_json::from_slice(&line).map_err(|error| nonsense(error.to_string()))?;
            Ok(match line {
                ServerLine::Reply(answer) => Incoming::Answer(answer),
                ServerLine::Event(event) => Incoming::Event(event),
                ServerLine::Notice(notice) => Incoming::Notice(notice),
            })
        }
    }
}

//! The two halves of an async connection, for two tasks: one receives while the other sends, and neither waits
//! for the other.

use std::io;

use proto::frame::MAX_DATA;
use proto::{Reply, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::ClientError;
use crate::protocol::{Incoming, Protocol, ReceiveSide, SendSide};

/// Bytes per read from the socket.
const READ_SIZE: usize = 64 << 10; // 64 KiB

/// Divides a connection.
pub(crate) fn split(stream: UnixStream, protocol: Protocol) -> (AsyncReader, AsyncWriter) {
    let (reader, writer) = stream.into_split();
    let Protocol { sends, receives } = protocol;
    let reader = AsyncReader { stream: reader, receives, buffer: Vec::with_capacity(READ_SIZE) };
    (reader, AsyncWriter { stream: writer, sends })
}

/// The half that receives. The connection stays open until both halves are dropped.
#[derive(Debug)]
pub struct AsyncReader {
    stream: OwnedReadHalf,
    receives: ReceiveSide,
    buffer: Vec<u8>,
}

impl AsyncReader {
    /// Returns the next thing that the daemon sends; `None` once it has closed the connection. Nothing is lost
    /// when the future is dropped.
    pub async fn receive(&mut self) -> Result<Option<Incoming>, ClientError> {
        loop {
            if let Some(incoming) = self.receives.next_arrived()? {
                return Ok(Some(incoming));
            }
            if !self.fill().await? {
                return Ok(None);
            }
        }
    }

    /// Waits for the answer to a request of the other half. What else arrives meanwhile is left for
    /// [`AsyncReader::receive`].
    pub async fn answer(&mut self, id: u64) -> Result<Reply, ClientError> {
        loop {
            if let Some(reply) = self.receives.answer(id)? {
                return Ok(reply);
            }
            if !self.fill().await? {
                return Err(ClientError::gone());
            }
        }
    }

    /// Reads once; returns false at the end. A peer that died with our bytes unread is an end like any other.
    async fn fill(&mut self) -> Result<bool, ClientError> {
        self.buffer.clear();
        self.buffer.reserve(READ_SIZE);
        match self.stream.read_buf(&mut self.buffer).await {
            Ok(0) => return Ok(false),
            Ok(_) => self.receives.receive(&self.buffer),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(false),
            Err(error) => return Err(ClientError::Broken(error)),
        }
        Ok(true)
    }
}

/// The half that sends.
#[derive(Debug)]
pub struct AsyncWriter {
    stream: OwnedWriteHalf,
    sends: SendSide,
}

impl AsyncWriter {
    /// Sends a request; returns the id under which the other half receives its answer. What a dropped future
    /// has not sent is sent first by the next call.
    pub async fn send(&mut self, request: Request) -> Result<u64, ClientError> {
        let id = self.sends.request(request)?;
        self.flush().await?;
        Ok(id)
    }

    /// Sends input for a stream.
    pub async fn send_input(&mut self, stream: u32, bytes: &[u8]) -> Result<(), ClientError> {
        for piece in bytes.chunks(MAX_DATA) {
            self.sends.input(stream, 0, piece)?;
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), ClientError> {
        while !self.sends.outgoing().is_empty() {
            let count = self.stream.write(self.sends.outgoing()).await.map_err(ClientError::Broken)?;
            self.sends.note_sent(count);
        }
        Ok(())
    }
}

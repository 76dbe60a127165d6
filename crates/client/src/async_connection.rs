//! The async driver of the protocol: one connection in a task. Every method may be dropped at any moment;
//! what was queued is sent by the next one, and nothing that arrived is lost.

use std::io;
use std::path::PathBuf;

use proto::reply::Welcome;
use proto::request::Hello;
use proto::{Reply, Request, VerbSpec};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use tokio::io::Interest;
use tokio::net::UnixStream;

use crate::async_halves::{self, AsyncReader, AsyncWriter};
use crate::protocol::{Incoming, Protocol, hello};
use crate::verbs::unexpected;
use crate::wait_limit::{GREETING, answer_limit};
use crate::{ClientError, Connection, token};

/// Bytes per read from the socket: many connections may be open, and most carry little.
const READ_SIZE: usize = 16 << 10; // 16 KiB

/// A connection to the daemon, for tasks.
#[derive(Debug)]
pub struct AsyncConnection {
    stream: UnixStream,
    protocol: Protocol,
    buffer: Vec<u8>,
    /// The directories of this daemon: it is only sent tokens that it has made.
    own: Vec<PathBuf>,
}

impl AsyncConnection {
    /// Drives a connection from now on; must be called in a tokio runtime.
    pub fn new(connection: Connection) -> io::Result<Self> {
        let (stream, protocol, own) = connection.into_parts();
        stream.set_nonblocking(true)?;
        Ok(Self { stream: UnixStream::from_std(stream)?, protocol, buffer: vec![0; READ_SIZE], own })
    }

    /// Says hello as this process: from now on every verb is answered.
    pub async fn hello(&mut self) -> Result<Welcome, ClientError> {
        let hello = hello(token::own_token(&self.own));
        self.hello_as(hello).await
    }

    /// Says this hello: from now on every verb is answered.
    pub async fn hello_as(&mut self, hello: Hello) -> Result<Welcome, ClientError> {
        let mut greeting = self.protocol.greet(hello)?;
        let greeted = async {
            loop {
                if let Some(welcome) = self.protocol.welcome(&mut greeting)? {
                    return Ok(welcome);
                }
                if !self.exchange().await? {
                    return Err(Protocol::ended(&greeting));
                }
            }
        };
        tokio::time::timeout(GREETING, greeted).await.unwrap_or(Err(ClientError::Silent(GREETING)))
    }

    /// Asks for a verb and waits for its reply.
    pub async fn request<V: VerbSpec>(&mut self, arguments: V::Arguments) -> Result<V::Reply, ClientError> {
        let reply = self.call(V::request(arguments)).await?;
        V::result(reply).map_err(|other| unexpected(V::WORD, &other))
    }

    /// Sends a request and waits for the answer, as long as the request may take. What else arrives meanwhile
    /// is kept for [`AsyncConnection::receive`]. If the future is dropped, the answer arrives later as
    /// [`Incoming::Answer`].
    pub async fn call(&mut self, request: Request) -> Result<Reply, ClientError> {
        let limit = answer_limit(&request);
        let id = self.protocol.sends.request(request)?;
        match limit {
            None => self.answer(id).await,
            Some(limit) => {
                tokio::time::timeout(limit, self.answer(id)).await.unwrap_or(Err(ClientError::Silent(limit)))
            }
        }
    }

    /// Waits for the answer to the call with this id, without a limit.
    pub async fn answer(&mut self, id: u64) -> Result<Reply, ClientError> {
        loop {
            if let Some(reply) = self.protocol.receives.answer(id)? {
                return Ok(reply);
            }
            if !self.exchange().await? {
                return Err(ClientError::gone());
            }
        }
    }

    /// Queues a request; [`AsyncConnection::receive`] sends it and returns its answer under this id.
    pub fn queue(&mut self, request: Request) -> Result<u64, ClientError> {
        self.protocol.sends.request(request)
    }

    /// Queues input for a stream; [`AsyncConnection::receive`] sends it.
    pub fn queue_input(&mut self, stream: u32, bytes: &[u8]) -> Result<(), ClientError> {
        bytes.chunks(proto::frame::MAX_DATA).try_for_each(|piece| self.protocol.sends.input(stream, 0, piece))
    }

    /// Returns how many queued bytes were not sent: a caller that queues input bounds this.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.protocol.sends.outgoing().len()
    }

    /// Returns the next thing that the daemon sends; `None` once it has closed the connection. Sends what is
    /// queued meanwhile.
    pub async fn receive(&mut self) -> Result<Option<Incoming>, ClientError> {
        loop {
            if let Some(incoming) = self.protocol.receives.next_arrived()? {
                return Ok(Some(incoming));
            }
            if !self.exchange().await? {
                return Ok(None);
            }
        }
    }

    /// Divides it into a half that receives and a half that sends, for two tasks. What was queued is sent by the
    /// next thing that the writer sends.
    #[must_use]
    pub fn into_split(self) -> (AsyncReader, AsyncWriter) {
        async_halves::split(self.stream, self.protocol)
    }

    /// Returns true if the daemon has sent nothing and has not closed the connection.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        // The socket itself is asked: the runtime may not have noticed yet.
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        recv(&self.stream, &mut [0; 1], flags).is_err_and(|errno| errno == Errno::AGAIN)
    }

    /// Waits until the socket is ready, then moves bytes both ways; returns false at its end.
    async fn exchange(&mut self) -> Result<bool, ClientError> {
        let has_output = !self.protocol.sends.outgoing().is_empty();
        let interest = if has_output { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        let ready = self.stream.ready(interest).await.map_err(ClientError::Broken)?;
        if has_output && (ready.is_writable() || ready.is_write_closed()) {
            self.write_ready()?;
        }
        match ready.is_readable() || ready.is_read_closed() {
            true => self.read_ready(),
            false => Ok(true),
        }
    }

    fn write_ready(&mut self) -> Result<(), ClientError> {
        match self.stream.try_write(self.protocol.sends.outgoing()) {
            Ok(count) => self.protocol.sends.note_sent(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // The daemon reads no more; what it has answered before is still read.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.protocol.sends.discard_outgoing(),
            Err(error) => return Err(ClientError::Broken(error)),
        }
        Ok(())
    }

    /// Reads once; returns false at the end. A peer that died with our bytes unread is an end like any other.
    fn read_ready(&mut self) -> Result<bool, ClientError> {
        match self.stream.try_read(&mut self.buffer) {
            Ok(0) => Ok(false),
            Ok(count) => {
                self.protocol.receives.receive(&self.buffer[..count]);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(false),
            Err(error) => Err(ClientError::Broken(error)),
        }
    }
}

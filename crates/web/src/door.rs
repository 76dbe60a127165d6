//! Connections to the daemon for one caller each, as async streams.
//!
//! Each caller has connections of its own, because the daemon limits a connection and not a request: every connection says the
//! caller's label, workspace and role in its hello, and the daemon refuses what is beyond them.

use std::path::PathBuf;
use std::time::Duration;

use client::{AsyncClient, AsyncReader, AsyncWriter, CallError, CallOptions, ClientError, DaemonStart};
use proto::verbs::AnswerTime;
use proto::{Dirs, Reply, Request};

use crate::identity::AccessIdentity;

/// Connections count, not calls: the sockets of callers have a limit of their own.
const MAX_CALLS: usize = 1;

/// The daemon.
#[derive(Clone, Debug)]
pub(crate) struct Door(AsyncClient);

impl Door {
    /// Returns the daemon of `dirs`; `exe` is started when it has crashed.
    pub(crate) fn new(dirs: Dirs, exe: PathBuf) -> Self {
        Self(AsyncClient::new(dirs, exe, MAX_CALLS))
    }

    /// Connects for a caller. A daemon that was ended on purpose is not started again.
    pub(crate) async fn connect(&self, caller: &AccessIdentity) -> Result<DoorConnection, ClientError> {
        let (connection, _) = self.0.for_remote(caller.person()).connect(DaemonStart::AfterCrash).await?;
        let (reader, writer) = connection.into_split();
        Ok(DoorConnection { reader, writer })
    }

    /// Connects for a caller, asks, and leaves. When the daemon dies meanwhile the next one is asked again, as far as that
    /// does nothing twice.
    pub(crate) async fn ask(&self, caller: &AccessIdentity, request: Request) -> Result<Reply, CallError> {
        let options = CallOptions { start: DaemonStart::AfterCrash, ..CallOptions::default() };
        let options = match request.answer_time() {
            AnswerTime::Unbounded => options.lasting(Duration::MAX),
            AnswerTime::Greeting | AnswerTime::Attaching | AnswerTime::Deciding => options,
        };
        self.0.for_remote(caller.person()).ask(options, request).await
    }
}

/// A connection of one caller.
#[derive(Debug)]
pub(crate) struct DoorConnection {
    pub(crate) reader: AsyncReader,
    pub(crate) writer: AsyncWriter,
}

impl DoorConnection {
    /// Sends a request and waits for its reply. What else arrives meanwhile is left for [`AsyncReader::receive`].
    pub(crate) async fn call(&mut self, request: Request) -> Result<Reply, ClientError> {
        let id = self.writer.send(request).await?;
        self.reader.answer(id).await
    }
}

//! Standard input and output as the server's transport: lines in, lines out, one answer per request.
//!
//! Two threads block on the pipes. A request under an id that is still in use is refused: the client could
//! not distinguish the two answers, and one of them would be lost.

use std::collections::{HashSet, VecDeque};
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};

use crate::framing::{self, Fault, Lines, Message};

/// The most lines that wait on either side. When it is full, the reader stops reading, and answers wait.
const QUEUE: usize = 64;
/// Bytes per read from standard input.
const READ_SIZE: usize = 64 << 10; // 64 KiB
/// The most unanswered requests. A client has a handful; more means a client that does not read.
const MAX_OPEN: usize = 256;
/// How many cancelled ids are remembered, so that a late answer to one cannot be taken for the answer to its
/// successor.
const MAX_CANCELLED: usize = 256;

/// The client no longer reads.
#[derive(Debug, thiserror::Error)]
#[error("standard output is closed")]
pub(crate) struct Closed;

/// The server's transport.
pub(crate) struct Wire {
    lines: mpsc::Receiver<Result<Vec<u8>, Fault>>,
    out: mpsc::Sender<Vec<u8>>,
    /// Refusals to send; kept here because `receive` may be dropped at any await.
    owed: VecDeque<Vec<u8>>,
    open: Arc<Mutex<Open>>,
}

/// Ids in use.
#[derive(Debug, Default)]
struct Open {
    live: HashSet<String>,
    cancelled: VecDeque<String>,
}

/// The state of the client beside its lines.
pub(crate) struct ClientState {
    /// True once either side is closed.
    pub(crate) gone: watch::Receiver<bool>,
    /// Sent once the last answer was written, or the client stopped reading.
    pub(crate) written: oneshot::Receiver<()>,
}

/// Starts to read and write.
pub(crate) fn begin(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> io::Result<(Wire, ClientState)> {
    let (line_sender, lines) = mpsc::channel(QUEUE);
    let (out, out_receiver) = mpsc::channel(QUEUE);
    let (gone, is_gone) = watch::channel(false);
    let (all_written, written) = oneshot::channel();
    let gone = Arc::new(gone);
    let also_gone = Arc::clone(&gone);
    std::thread::Builder::new().name("mcp-input".to_owned()).spawn(move || {
        read_lines(input, &line_sender);
        gone.send_replace(true);
    })?;
    std::thread::Builder::new().name("mcp-output".to_owned()).spawn(move || {
        write_lines(output, out_receiver);
        also_gone.send_replace(true);
        // The receiver is gone once the server has ended.
        let _heard = all_written.send(());
    })?;
    let wire = Wire { lines, out, owed: VecDeque::new(), open: Arc::default() };
    Ok((wire, ClientState { gone: is_gone, written }))
}

fn read_lines(mut input: impl Read, sender: &mpsc::Sender<Result<Vec<u8>, Fault>>) {
    let (mut lines, mut buffer) = (Lines::default(), vec![0; READ_SIZE]);
    let mut is_heard = true;
    while is_heard {
        match input.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                let bytes = buffer.get(..count).unwrap_or_default();
                lines.push(bytes, &mut |line| is_heard = is_heard && sender.blocking_send(line).is_ok());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn write_lines(mut output: impl Write, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(mut line) = lines.blocking_recv() {
        line.push(b'\n');
        if output.write_all(&line).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

impl Open {
    /// Registers a request's id, or returns the fault.
    fn admit(&mut self, id: &Value) -> Result<(), Fault> {
        let key = id.to_string();
        if self.cancelled.contains(&key) {
            return Err(Fault::refused(id, "id: this request was cancelled; use a new id"));
        }
        if self.live.len() >= MAX_OPEN {
            return Err(Fault::refused(id, format!("id: {MAX_OPEN} requests are unanswered; wait for some")));
        }
        if !self.live.insert(key) {
            return Err(Fault::refused(id, "id: in use by a request that is not answered yet"));
        }
        Ok(())
    }

    fn cancel(&mut self, id: &Value) {
        let key = id.to_string();
        if !self.live.remove(&key) {
            return;
        }
        if self.cancelled.len() >= MAX_CANCELLED {
            self.cancelled.pop_front();
        }
        self.cancelled.push_back(key);
    }
}

impl Wire {
    /// Checks a line and turns it into a message for the server, or returns the refusal.
    fn admit(&self, line: Result<Vec<u8>, Fault>) -> Result<Option<ClientJsonRpcMessage>, Fault> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        match line.and_then(|line| framing::examine(&line))? {
            Some(Message::Request { id, message }) => {
                let parsed = serde_json::from_value(message);
                let message =
                    parsed.map_err(|_| Fault::refused(&id, "params: not the shape of this method"))?;
                open.admit(&id)?;
                Ok(Some(message))
            }
            Some(Message::Notification(message)) => {
                if message.get("method").and_then(Value::as_str) == Some("notifications/cancelled")
                    && let Some(id) = message.pointer("/params/requestId")
                {
                    open.cancel(id);
                }
                Ok(serde_json::from_value(message).ok())
            }
            // The service drops a reply to nothing that was asked.
            Some(Message::Reply(message)) => Ok(serde_json::from_value(message).ok()),
            None => Ok(None),
        }
    }
}

impl Transport<RoleServer> for Wire {
    type Error = Closed;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Closed>> + Send + 'static {
        let value = serde_json::to_value(&item);
        if let Ok(value) = &value
            && value.get("method").is_none()
            && let Some(id) = value.get("id")
        {
            self.open.lock().unwrap_or_else(PoisonError::into_inner).live.remove(&id.to_string());
        }
        let out = self.out.clone();
        async move {
            let line = value.and_then(|value| serde_json::to_vec(&value)).map_err(|_| Closed)?;
            out.send(line).await.map_err(|_| Closed)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            while !self.owed.is_empty() {
                let permit = self.out.reserve().await.ok()?;
                if let Some(answer) = self.owed.pop_front() {
                    permit.send(answer);
                }
            }
            let line = self.lines.recv().await?;
            match self.admit(line) {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(fault) => self.owed.push_back(fault.answer().to_string().into_bytes()),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Closed> {
        self.lines.close();
        Ok(())
    }
}

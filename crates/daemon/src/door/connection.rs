//! One client's connection: frames in, answers out, several calls at a time. The number of calls at once is
//! limited, and a client that does not read its answers is not read from.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use engine::{Caller, Command, CommandAnswer as EngineAnswer, Principal};
use proto::frame::{DataKind, Decoder, Frame};
use proto::reply::{Answer, Outcome, ServerLine};
use proto::request::{Hello, Request, parse_call};
use proto::{Call, ErrorCode, Failure, Limit, ProcessId, Reply};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinSet;

use super::attach::LeavingStream;
use super::caller_limits::{ConnectionPermit, InputPermit, RESERVE_IDLE, all_in_use};
use super::{Server, attach, audit, dispatch};
use crate::caller::{Peer, Who};
use crate::engine_task::Answered;

/// The most lines and frames that wait to be written; the calls that produce them wait.
const OUTGOING: usize = 32;
/// Calls of one connection that run at once.
const CALLS: usize = 64;
/// Pieces of one streamed paste that may wait.
const PIECES: usize = 4;
/// How long the task of an answered call may take to end.
const ANSWERED: Duration = Duration::from_millis(200);
/// Bytes read at once.
const READ: usize = 64 * 1024;
/// How long the first call of a program may wait until its run is hosted.
const EARLY: Duration = Duration::from_secs(5);

/// What a call's task needs.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) door: Server,
    pub(crate) principal: Principal,
    /// The name of the process in which the calling person sits.
    pub(crate) via: Option<String>,
    pub(crate) out: mpsc::Sender<Vec<u8>>,
}

impl Client {
    /// Returns a client of the daemon's own, for a caller whose connection is gone. Its lines are not read.
    pub(crate) fn internal(door: Server, principal: Principal) -> Self {
        Self { door, principal, via: None, out: mpsc::channel(1).0 }
    }

    /// Who asks.
    pub(crate) fn caller(&self) -> Caller {
        self.principal.caller
    }

    /// Asks the engine, within the limit of this connection.
    pub(crate) async fn ask(&self, command: Command) -> Answered {
        self.door.engine.ask(self.principal.clone(), command).await
    }

    /// Returns where a calling person is: the process they sit in, or their label.
    pub(crate) fn whereabouts(&self) -> Option<String> {
        let label = self.principal.label.as_ref().filter(|_| self.caller().is_person());
        label.map(|label| format!("\"{label}\"")).or_else(|| self.via.clone())
    }

    /// Sends a line; returns false when the client is gone.
    pub(crate) async fn send_line(&self, line: &ServerLine) -> bool {
        self.out.send(encode(line)).await.is_ok()
    }

    /// Answers a call.
    pub(crate) async fn answer(&self, id: u64, result: Result<Reply, Failure>) -> bool {
        self.send_line(&ServerLine::Reply(Answer { id, outcome: Outcome::from(result) })).await
    }
}

/// Returns a line as bytes.
pub(crate) fn encode(line: &ServerLine) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(line).unwrap_or_else(|error| {
        tracing::error!(%error, "an answer does not serialise");
        Vec::new()
    });
    bytes.push(b'\n');
    bytes
}

/// Returns a failure as a line.
pub(crate) fn failure_line(id: u64, failure: Failure) -> Vec<u8> {
    encode(&ServerLine::Reply(Answer { id, outcome: Outcome::Error(failure) }))
}

struct Connection {
    peer: Peer,
    pass: ConnectionPermit,
    /// Memory for the request that is being read.
    input: InputPermit,
    stream: UnixStream,
    decoder: Decoder,
    client: Client,
    outgoing: mpsc::Receiver<Vec<u8>>,
    /// Bytes being written, and how many of them are written.
    writing: (Vec<u8>, usize),
    calls: JoinSet<()>,
    /// Streams that calls of this connection read from.
    pastes: HashMap<u32, mpsc::Sender<Vec<u8>>>,
    is_welcome: bool,
    /// True once it is known whether a person sits in the calling process.
    is_placed: bool,
    closing: watch::Receiver<bool>,
    severed: broadcast::Receiver<ProcessId>,
}

/// What happens to a connection after a frame.
enum Next {
    GoOn,
    MovedToWorker,
    Left,
}

/// Serves a connection until its peer closes it or it becomes a viewer.
pub(super) async fn serve(door: Server, stream: UnixStream) {
    let (out, outgoing) = mpsc::channel(OUTGOING);
    let peer = Peer::identify(&stream, &door.screens, &door.dirs.holders(), &door.ancestors);
    let caller = peer.caller();
    let (closing, severed) = (door.closing(), door.severed.subscribe());
    let pass = match door.quotas.admit(caller) {
        Ok(pass) => pass,
        Err(failure) => {
            // The refusal is not waited for.
            let _unheard = stream.try_write(&failure_line(0, failure));
            return;
        }
    };
    let connection = Connection {
        peer,
        pass,
        input: InputPermit::default(),
        stream,
        decoder: Decoder::default(),
        client: Client { door, principal: Principal::unlimited(caller), via: None, out },
        outgoing,
        writing: (Vec::new(), 0),
        calls: JoinSet::new(),
        pastes: HashMap::new(),
        is_welcome: false,
        is_placed: false,
        closing,
        severed,
    };
    connection.run().await;
}

impl Connection {
    async fn run(mut self) {
        let mut buffer = vec![0; READ];
        loop {
            // Many frames may arrive at once: those beyond the limit wait as if they were not read yet.
            while self.calls.len() < CALLS
                && let Some(frame) = self.decoder.next_frame()
            {
                let next = match frame {
                    Ok(Frame::Line(line)) => self.on_line(&line).await,
                    Ok(Frame::Data(data)) => self.on_data(data.kind, data.stream, data.bytes).await,
                    Err(error) => {
                        self.refuse(0, Failure::new(ErrorCode::Protocol, error.to_string())).await;
                        Next::GoOn
                    }
                };
                match next {
                    Next::GoOn => {}
                    Next::MovedToWorker | Next::Left => return,
                }
            }
            let has_room = self.calls.len() < CALLS;
            if !self.wait_for_bytes(has_room.then_some(&mut buffer)).await {
                return;
            }
            if let Err(failure) = self.pass.count_input(self.decoder.memory(), &mut self.input) {
                // A caller that has too much is not waited for.
                let _unheard = self.stream.try_write(&failure_line(0, failure));
                return;
            }
        }
    }

    /// Waits for bytes in either direction; returns false when the peer is gone. Without a buffer nothing is
    /// read, and a peer that leaves is still noticed. Cancel-safe: what was waited for is handled at once.
    async fn wait_for_bytes(&mut self, buffer: Option<&mut Vec<u8>>) -> bool {
        let is_writing = self.writing.1 < self.writing.0.len();
        let is_closing = *self.closing.borrow();
        if is_closing && !is_writing && self.calls.is_empty() && self.outgoing.is_empty() {
            return false;
        }
        // PRIORITY never fires on Unix streams; we only want the hang-up.
        let reading = if buffer.is_some() { Interest::READABLE } else { Interest::PRIORITY };
        let interest = if is_writing { reading | Interest::WRITABLE } else { reading };
        let may_be_closed = self.pass.is_of_reserve() && self.calls.is_empty() && !is_writing;
        tokio::select! {
            () = tokio::time::sleep(RESERVE_IDLE), if may_be_closed => {
                let _unheard = self.stream.try_write(&failure_line(0, all_in_use()));
                false
            }
            Some(bytes) = self.outgoing.recv(), if !is_writing => {
                self.writing = (bytes, 0);
                self.write_on().is_ok()
            }
            _ = self.closing.changed(), if !is_closing => true,
            severed = self.severed.recv() => !self.is_severed(severed.ok()),
            Some(_) = self.calls.join_next(), if !self.calls.is_empty() => true,
            ready = self.stream.ready(interest) => {
                let Ok(ready) = ready else { return false };
                (!ready.is_writable() || self.write_on().is_ok()) && match buffer {
                    Some(buffer) => !ready.is_readable() || self.read_on(buffer),
                    None => !ready.is_read_closed(),
                }
            }
        }
    }

    /// Returns true if this is a connection of the process from which a right was taken, or of one that may be: there
    /// were more than it could notice.
    fn is_severed(&self, process: Option<ProcessId>) -> bool {
        let Caller::Process(run) = self.client.caller() else { return false };
        process.is_none_or(|process| process == run.process)
    }

    fn read_on(&mut self, buffer: &mut [u8]) -> bool {
        match self.stream.try_read(buffer) {
            Ok(0) => false,
            Ok(count) => {
                self.decoder.push(&buffer[..count]);
                true
            }
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }

    fn write_on(&mut self) -> io::Result<()> {
        while self.writing.1 < self.writing.0.len() {
            match self.stream.try_write(&self.writing.0[self.writing.1..]) {
                Ok(count) => self.writing.1 += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn on_line(&mut self, line: &[u8]) -> Next {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Next::GoOn;
        }
        match self.parse(line).await {
            Ok(call) => self.on_call(call).await,
            Err((id, failure)) => {
                self.refuse(id, failure).await;
                Next::GoOn
            }
        }
    }

    /// Parses a line. Lines that are not a person's are parsed one at a time, and whatever else is ready on this
    /// thread goes on before the next one: neither their number nor their size delays people.
    async fn parse(&self, line: &[u8]) -> Result<Call, (u64, Failure)> {
        if Who::of(self.client.caller()) == Who::People {
            return parse_call(line);
        }
        // Never closed; a failure would only mean not to wait.
        let wait_for_bytes = self.client.door.parsing.acquire().await.ok();
        let parsed = parse_call(line);
        tokio::task::yield_now().await;
        drop(wait_for_bytes);
        parsed
    }

    async fn on_call(&mut self, call: Call) -> Next {
        self.identify_again().await;
        self.place().await;
        match call.request {
            Request::Hello(hello) => {
                let result = self.greet(hello).await;
                self.is_welcome |= result.is_ok();
                self.write_line(call.id, result).await;
            }
            Request::Status(_) => self.begin(call).await,
            request if self.client.caller() == Caller::Nobody => {
                let failure = audit::turn_away(&self.client, request.verb()).await;
                self.refuse(call.id, failure).await;
            }
            Request::Shutdown(_) => self.begin(call).await,
            _ if !self.is_welcome => {
                let failure = Failure::new(ErrorCode::Protocol, "say hello first");
                self.refuse(call.id, failure.hint("the first call of a connection is hello")).await;
            }
            Request::Attach(attach) => return self.move_to_worker(call.id, attach).await,
            request => self.begin(Call { id: call.id, request }).await,
        }
        Next::GoOn
    }

    /// Identifies a caller again that could not be identified when it came. A program may call before its run is
    /// hosted: its first call waits for that.
    async fn identify_again(&mut self) {
        if self.client.caller() == Caller::Nobody {
            let door = &self.client.door;
            let (mut arrivals, holders) = (door.screens.arrivals(), door.dirs.holders());
            let latest = tokio::time::Instant::now() + EARLY;
            self.peer.identify_again(&door.screens, &holders, &door.ancestors);
            while !self.is_welcome
                && self.peer.is_early()
                && tokio::time::timeout_at(latest, arrivals.changed()).await.is_ok_and(|seen| seen.is_ok())
            {
                self.peer.identify_again(&door.screens, &holders, &door.ancestors);
            }
            self.client.principal.caller = self.peer.caller();
            // Over its limit it stays counted as it came.
            if self.client.caller() != Caller::Nobody
                && let Ok(pass) = door.quotas.admit(self.client.caller())
            {
                self.pass = pass;
            }
        }
    }

    /// Asks once whether a person sits in the calling process: from then on that person is the caller, until
    /// the engine says otherwise.
    async fn place(&mut self) {
        let Caller::Process(run) = self.client.caller() else { return };
        if std::mem::replace(&mut self.is_placed, true) {
            return;
        }
        let asked = self.client.ask(Command::CallerIdentity(engine::PLACING)).await;
        if let Ok(EngineAnswer::CallerIdentity(found)) = asked
            && found.identity.acts_for_person
        {
            self.client.principal.caller = Caller::Via(run);
            self.client.via = found.identity.process.map(|process| process.name.to_string());
        }
    }

    /// Answers `hello`: the token, the label and the limit can only take rights away.
    async fn greet(&mut self, hello: Hello) -> Result<Reply, Failure> {
        self.take_token(hello.token.as_deref()).await;
        dispatch::check_version(&hello)?;
        if let Some(label) = hello.label {
            self.take_label(label)?;
        }
        if let Some(limit) = hello.limit {
            self.tighten(&limit).await?;
        }
        Ok(dispatch::welcome(&self.client))
    }

    /// Records the label of a remote person. The first one stays: the audit log names one device per connection.
    fn take_label(&mut self, label: String) -> Result<(), Failure> {
        proto::limit::check_label(&label)?;
        match &self.client.principal.label {
            Some(own) if *own != label => {
                let message = "this connection has another label already";
                Err(Failure::new(ErrorCode::Denied, message).hint("open a connection for each device"))
            }
            _ => {
                self.client.principal.label = Some(label);
                Ok(())
            }
        }
    }

    /// Tightens the limit of this connection. A stream that began under the old limit would go on under it, so
    /// there may be none.
    async fn tighten(&mut self, limit: &Limit) -> Result<(), Failure> {
        let tightened = self.client.principal.limit.tightened(limit)?;
        if tightened != self.client.principal.limit && !self.is_all_answered().await {
            let failure =
                Failure::new(ErrorCode::Conflict, "other calls of this connection are not answered yet");
            return Err(failure.hint("send the limit with the first hello"));
        }
        self.client.principal.limit = tightened;
        Ok(())
    }

    /// Processes a token, which can only reduce rights: a wrong one, or one of another run, makes its sender
    /// nobody for good.
    async fn take_token(&mut self, token: Option<&str>) {
        let Some(token) = token else { return };
        let note = self.peer.check_token(token, self.client.door.agents.tokens());
        self.client.principal.caller = self.peer.caller();
        if let Some(note) = note {
            self.client.door.records.note(note).await;
        }
    }

    /// Starts a call's task, unless its caller has too many under way.
    async fn begin(&mut self, call: Call) {
        let wait = match call.request {
            Request::Wait(_) => self.pass.wait().map(Some),
            Request::Follow(_) | Request::Subscribe(_) => self.pass.check_long().map(|()| None),
            _ => Ok(None),
        };
        let dirs = match self.pass.call().and_then(|place| wait.map(|wait| (place, wait))) {
            Ok(dirs) => dirs,
            Err(failure) => return self.refuse(call.id, failure).await,
        };
        let pieces = dispatch::wants_pieces(&call.request).then(|| {
            let (sender, pieces) = mpsc::channel(PIECES);
            self.pastes.insert(call.id as u32, sender);
            pieces
        });
        let client = self.client.clone();
        self.calls.spawn(async move {
            dispatch::serve(client, call, pieces).await;
            drop(dirs);
        });
    }

    /// Passes on bytes of a streamed paste. While the child is slow to read them, nothing more is read from
    /// this connection; answers are still written, and a peer that leaves is still noticed.
    async fn on_data(&mut self, kind: DataKind, stream: u32, bytes: Vec<u8>) -> Next {
        let Some(sender) = self.pastes.get(&stream).filter(|_| kind == DataKind::Input).cloned() else {
            let message = format!("stream {stream} takes no data");
            self.refuse(0, Failure::new(ErrorCode::Protocol, message)).await;
            return Next::GoOn;
        };
        let is_last = bytes.is_empty();
        let is_gone = loop {
            tokio::select! {
                // A call that gave up has dropped its end; the rest of its bytes is dropped.
                room = sender.reserve() => break room.map(|room| room.send(bytes)).is_err(),
                is_there = self.wait_for_bytes(None) => if !is_there { return Next::Left },
            }
        };
        if is_last || is_gone {
            self.pastes.remove(&stream);
        }
        if is_gone && !is_last {
            self.pastes.insert(stream, closed());
        }
        Next::GoOn
    }

    /// Turns the connection into a viewer; on failure it stays a connection.
    async fn move_to_worker(&mut self, id: u64, request: proto::request::Attach) -> Next {
        let target = match attach::locate(&self.client, &request).await {
            Ok(target) => target,
            Err(failure) => {
                self.refuse(id, failure).await;
                return Next::GoOn;
            }
        };
        if !self.is_all_answered().await {
            let failure =
                Failure::new(ErrorCode::Conflict, "other calls of this connection are not answered yet");
            self.refuse(id, failure.hint("open another connection for attach")).await;
            return Next::GoOn;
        }
        let permitted =
            self.pass.viewer().and_then(|place| attach::permit(&self.client, &request, &target, place));
        let permit = match permitted {
            Ok(permit) => permit,
            Err(failure) => {
                self.refuse(id, failure).await;
                return Next::GoOn;
            }
        };
        audit::attached(&self.client, &target.located, request.read_only).await;
        let unsent = self.unsent();
        let unread = self.decoder.pending().to_vec();
        match self.take_stream() {
            Ok(socket) => {
                let leaving = LeavingStream { socket, unread, unsent };
                attach::move_to_worker(&self.client, leaving, id, &request, target, permit);
            }
            Err(error) => tracing::warn!(%error, "a connection could not become a viewer"),
        }
        Next::MovedToWorker
    }

    /// Returns true if every call of this connection is answered. A call's task ends a moment after its
    /// answer was queued, so this waits for that moment.
    async fn is_all_answered(&mut self) -> bool {
        let last = async { while self.calls.join_next().await.is_some() {} };
        tokio::time::timeout(ANSWERED, last).await.is_ok()
    }

    /// Answers that are not written yet: they are sent before anything to the viewer.
    fn unsent(&mut self) -> Vec<u8> {
        let mut unsent = self.writing.0.split_off(self.writing.1);
        while let Ok(line) = self.outgoing.try_recv() {
            unsent.extend_from_slice(&line);
        }
        unsent
    }

    /// Takes the stream out; what is left behind is closed with the connection.
    fn take_stream(&mut self) -> io::Result<std::os::unix::net::UnixStream> {
        let (other, _) = UnixStream::pair()?;
        std::mem::replace(&mut self.stream, other).into_std()
    }

    async fn refuse(&mut self, id: u64, failure: Failure) {
        self.write_line(id, Err(failure)).await;
    }

    /// Writes an answer from the connection itself, after what is already queued.
    async fn write_line(&mut self, id: u64, result: Result<Reply, Failure>) {
        let line = encode(&ServerLine::Reply(Answer { id, outcome: Outcome::from(result) }));
        if self.writing.1 == self.writing.0.len() {
            self.writing = (line, 0);
        } else {
            self.writing.0.extend_from_slice(&line);
        }
        // The next read returns the same error.
        let _broken = self.write_on();
        if self.writing.0.len() - self.writing.1 > READ {
            let _broken = self.stream.writable().await;
            let _broken = self.write_on();
        }
    }
}

/// Returns a stream whose reader is gone.
fn closed() -> mpsc::Sender<Vec<u8>> {
    mpsc::channel(1).0
}

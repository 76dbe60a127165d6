//! The threads of the model server: one that accepts, one per connection, and one per request that must
//! notice its client leaving. All end with the server.

use std::io::{self, BufReader};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::exchange::{Content, Exchange, Refusal, Stamp, Turn};
use super::http::{self, Request, Whole};
use super::script::{self, Pause, Said, Step};
use super::state::{ModelState, Ticket, Waited};
use super::{Api, ModelOutcome, ModelRequest, Usage, chat, generate, messages, responses};

/// The listener and its connections.
#[derive(Debug)]
pub(super) struct Listening {
    port: u16,
    state: Arc<ModelState>,
    connections: Arc<Mutex<Vec<Connection>>>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    thread: JoinHandle<()>,
}

impl Listening {
    pub(super) fn begin(state: Arc<ModelState>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("the loopback has a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let connections = Arc::new(Mutex::new(Vec::new()));
        let acceptor = {
            let (state, connections) = (Arc::clone(&state), Arc::clone(&connections));
            std::thread::spawn(move || accept(&listener, &state, &connections, port))
        };
        Self { port, state, connections, acceptor: Some(acceptor) }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.state.end();
        // The acceptor checks after every connection whether to end: this connection is its last.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
        if let Some(acceptor) = self.acceptor.take() {
            drop(acceptor.join());
        }
        let connections =
            std::mem::take(&mut *self.connections.lock().expect("no thread panics with the list"));
        for Connection { stream, thread } in connections {
            drop(stream.shutdown(Shutdown::Both));
            drop(thread.join());
        }
    }
}

fn accept(listener: &TcpListener, state: &Arc<ModelState>, connections: &Mutex<Vec<Connection>>, port: u16) {
    for stream in listener.incoming() {
        if state.is_over() {
            return;
        }
        let Ok(stream) = stream else { continue };
        let (Ok(mine), state) = (stream.try_clone(), Arc::clone(state)) else { continue };
        // A client that leaves early is recorded in the outcome.
        let thread = std::thread::spawn(move || drop(converse(&mine, &state, port)));
        let mut connections = connections.lock().expect("no thread panics with the list");
        connections.retain(|connection| !connection.thread.is_finished());
        connections.push(Connection { stream, thread });
    }
}

fn converse(stream: &TcpStream, state: &Arc<ModelState>, port: u16) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(request) = Request::read(&mut reader)? {
        if respond(stream, &request, state, port)? == After::Close {
            return stream.shutdown(Shutdown::Both);
        }
    }
    Ok(())
}

#[derive(PartialEq)]
enum After {
    Keep,
    Close,
}

fn respond(stream: &TcpStream, request: &Request, state: &Arc<ModelState>, port: u16) -> io::Result<After> {
    let usage = state.usage();
    let Some(api) = Api::of(request) else {
        state.note_stray(format!("{} {}", request.method, request.path));
        http::send_whole(stream, request, &aside(request, usage))?;
        return Ok(After::Keep);
    };
    let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
        let encoding = request.header("content-encoding").unwrap_or("none");
        state.note_stray(format!("unreadable body, encoding {encoding}: {}", request.path));
        let body = json!({"error": {"message": "the body is not plain JSON"}});
        http::send_whole(stream, request, &Whole { status: 415, headers: Vec::new(), body })?;
        return Ok(After::Keep);
    };
    let exchange = api.read(&request.path, &body);
    let cue = script::cue(&exchange.said);
    let ticket = state.note(noted(api, &exchange, &cue, request, body));
    let scene = Scene {
        stream,
        request,
        state,
        ticket,
        api,
        exchange,
        usage,
        stamp: Stamp { port, number: ticket.number },
    };
    let ended = scene.play(cue);
    state.note_outcome(ticket, *ended.as_ref().unwrap_or(&ModelOutcome::ClientLeft));
    let is_kept = !scene.exchange.is_streamed || matches!(ended, Ok(ModelOutcome::Refused(_)));
    Ok(if ended? != ModelOutcome::ClientLeft && is_kept { After::Keep } else { After::Close })
}

fn noted(api: Api, exchange: &Exchange, cue: &script::Cue, request: &Request, body: Value) -> ModelRequest {
    let (mut texts, mut results) = (Vec::new(), Vec::new());
    for said in &exchange.said {
        match said {
            Said::Text(text) => texts.push(text.clone()),
            Said::Result(result) => results.push(result.clone()),
        }
    }
    ModelRequest {
        number: 0,
        api,
        model: exchange.model.clone(),
        prompt: cue.prompt.clone(),
        position: cue.position,
        is_side: exchange.side.is_some(),
        texts,
        results,
        messages: exchange.messages,
        tools: exchange.tools.clone(),
        at: Instant::now(),
        user_agent: request.header("user-agent").unwrap_or_default().to_owned(),
        body,
        outcome: None,
    }
}

/// Answers what clients ask besides the model: whether it exists, which models there are, how long a text is.
fn aside(request: &Request, usage: Usage) -> Whole {
    let path = request.path.as_str();
    if request.method == "HEAD" || path == "/" {
        return Whole::ok(json!({}));
    }
    if path.ends_with("/count_tokens") {
        return Whole::ok(messages::count(usage));
    }
    if path.ends_with(":countTokens") {
        return Whole::ok(generate::count(usage));
    }
    if path.ends_with("/models") {
        let model = json!({"id": "scripted", "object": "model", "type": "model", "display_name": "Scripted", "created_at": "2026-01-01T00:00:00Z"});
        return Whole::ok(json!({"object": "list", "data": [model], "models": [], "has_more": false}));
    }
    let body = json!({"error": {"message": format!("nothing at {path}")}});
    Whole { status: 404, headers: Vec::new(), body }
}

impl Api {
    fn of(request: &Request) -> Option<Self> {
        let path = request.path.as_str();
        if request.method != "POST" {
            return None;
        }
        let ends = |end: &str| path.ends_with(end);
        [
            (ends("/messages"), Self::Messages),
            (ends("/responses"), Self::Responses),
            (ends("/chat/completions"), Self::Chat),
            (ends(":generateContent") || ends(":streamGenerateContent"), Self::Generate),
        ]
        .into_iter()
        .find_map(|(is_this, api)| is_this.then_some(api))
    }

    fn read(self, path: &str, body: &Value) -> Exchange {
        match self {
            Self::Messages => messages::read(body),
            Self::Responses => responses::read(body),
            Self::Chat => chat::read(body),
            Self::Generate => generate::read(path, body),
        }
    }

    fn refuse(self, refusal: Refusal) -> Whole {
        match self {
            Self::Messages => messages::refuse(refusal),
            Self::Responses => responses::refuse(refusal),
            Self::Chat => chat::refuse(refusal),
            Self::Generate => generate::refuse(refusal),
        }
    }
}

/// One request being answered.
struct Scene<'a> {
    stream: &'a TcpStream,
    request: &'a Request,
    state: &'a Arc<ModelState>,
    ticket: Ticket,
    api: Api,
    exchange: Exchange,
    usage: Usage,
    stamp: Stamp,
}

impl Scene<'_> {
    fn play(&self, cue: script::Cue) -> io::Result<ModelOutcome> {
        if let Some(errand) = &self.exchange.side {
            return self.say(&Content::Text(errand.clone()));
        }
        if !cue.pauses.is_empty() {
            self.watch_client()?;
            if self.state.pass(self.ticket, &cue.pauses) == Waited::Over {
                return Ok(ModelOutcome::ClientLeft);
            }
        }
        match cue.step {
            Step::Say(text) => self.say(&Content::Text(text)),
            Step::Tool { name, input } => self.say(&Content::Call { name, input }),
            Step::Quota { reset_in } => self.refuse(Refusal::Quota { reset_in }),
            Step::Fail { status } => self.refuse(Refusal::Fail { status }),
            Step::Drip { over, text } => self.drip(over, &text),
            Step::Hang => self.hang(),
        }
    }

    fn say(&self, content: &Content) -> io::Result<ModelOutcome> {
        let turn = self.turn(content);
        if !self.exchange.is_streamed {
            return self.send(&turn.whole);
        }
        http::begin_events(self.stream)?;
        self.finish(&turn.events)
    }

    /// Sends a text word by word, with equal pauses that take this time together.
    fn drip(&self, over: Duration, text: &str) -> io::Result<ModelOutcome> {
        let turn = self.turn(&Content::Text(text.to_owned()));
        let (begun, rest) = turn.events.split_at(turn.begun.min(turn.events.len()));
        let pause = [Pause::Slow(over / u32::try_from(rest.len().max(1)).unwrap_or(u32::MAX))];
        self.watch_client()?;
        if !self.exchange.is_streamed {
            let waited = self.state.pass(self.ticket, &[Pause::Slow(over)]);
            return if waited == Waited::Over {
                Ok(ModelOutcome::ClientLeft)
            } else {
                self.send(&turn.whole)
            };
        }
        http::begin_events(self.stream)?;
        http::send_events(self.stream, begun)?;
        let (last, before) =
            rest.split_last().map_or((&[][..], rest), |(last, before)| (std::slice::from_ref(last), before));
        for event in before {
            if self.state.pass(self.ticket, &pause) == Waited::Over {
                return Ok(ModelOutcome::ClientLeft);
            }
            http::send_events(self.stream, std::slice::from_ref(event))?;
        }
        self.finish(last)
    }

    fn hang(&self) -> io::Result<ModelOutcome> {
        // The first words are a line of their own, so that a program that draws only whole lines shows them
        // too.
        let turn = self.turn(&Content::Text("hanging\n\nuntil released".to_owned()));
        let (begun, rest) = turn.events.split_at(turn.begun.min(turn.events.len()));
        if self.exchange.is_streamed {
            http::begin_events(self.stream)?;
            http::send_events(self.stream, begun)?;
        }
        self.watch_client()?;
        if self.state.hang(self.ticket) == Waited::Over {
            return Ok(ModelOutcome::ClientLeft);
        }
        if self.exchange.is_streamed { self.finish(rest) } else { self.send(&turn.whole) }
    }

    fn refuse(&self, refusal: Refusal) -> io::Result<ModelOutcome> {
        let whole = self.api.refuse(refusal);
        let outcome = self.note(ModelOutcome::Refused(whole.status));
        http::send_whole(self.stream, self.request, &whole)?;
        Ok(outcome)
    }

    fn send(&self, whole: &Value) -> io::Result<ModelOutcome> {
        let outcome = self.note(ModelOutcome::Answered);
        http::send_whole(self.stream, self.request, &Whole::ok(whole.clone()))?;
        Ok(outcome)
    }

    fn finish(&self, events: &[String]) -> io::Result<ModelOutcome> {
        let outcome = self.note(ModelOutcome::Answered);
        http::send_events(self.stream, events)?;
        Ok(outcome)
    }

    /// Records the outcome before the last bytes are sent, so that a test that has seen their effect finds
    /// it.
    fn note(&self, outcome: ModelOutcome) -> ModelOutcome {
        self.state.note_outcome(self.ticket, outcome);
        outcome
    }

    fn turn(&self, content: &Content) -> Turn {
        match self.api {
            Api::Messages => messages::answer(&self.exchange, content, self.usage, self.stamp),
            Api::Responses => responses::answer(&self.exchange, content, self.usage, self.stamp),
            Api::Chat => chat::answer(&self.exchange, content, self.usage, self.stamp),
            Api::Generate => generate::answer(&self.exchange, content, self.usage, self.stamp),
        }
    }

    /// Records that the client closes the connection while this request waits. The thread ends with the
    /// connection, or at the client's next byte, which it only peeks at.
    fn watch_client(&self) -> io::Result<()> {
        let stream = self.stream.try_clone()?;
        let (state, ticket) = (Arc::clone(self.state), self.ticket);
        std::thread::spawn(move || {
            if !matches!(stream.peek(&mut [0]), Ok(1..)) {
                state.note_leaving(ticket);
            }
        });
        Ok(())
    }
}

//! The line to one agent's vendor server: followed on a thread of its own, asked on whoever's thread may block.
//!
//! Owns the thread's life and how what the server says becomes facts. Refuses outliving its agent: the line is cut when
//! the run is over.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agents::server::{Ask, ServerNews, ServerReader, ServerSpec};
use agents::transcript::EndedTurn;
use engine::input::{HandOver, Typing};
use engine::{Fact, Input, RunKey};
use proto::Evidence;
use proto::agent::{AgentState, Dialog, DialogOption};
use serde_json::Value;
use tokio::sync::mpsc;

use super::attendant::{Attendant, Heard};
use super::charge::Charge;
use super::server::{self, Handed};
use super::stream::Stop;
use super::stream_http::Endpoint;

/// The line to one server.
pub(crate) struct ServerLine {
    endpoint: Endpoint,
    spec: ServerSpec,
    /// A short lock: an event is read under it, never a socket.
    reader: Arc<Mutex<ServerReader>>,
    stop: Stop,
    /// Whether a turn is under way, as the server last said.
    is_busy: Arc<AtomicBool>,
}

impl ServerLine {
    /// Follows the server of an agent that has one.
    pub(crate) fn open(
        charge: &Arc<Charge>,
        facts: &mpsc::Sender<Input>,
        attendant: &Attendant,
    ) -> Option<Arc<Self>> {
        let (manifest, note) = (charge.manifest(), charge.note());
        let (spec, port) = (manifest.server.clone()?, note.port?);
        let endpoint = Endpoint::new(port, spec.user.as_deref(), &note.secret);
        let reader = Arc::new(Mutex::new(ServerReader::new(&manifest, note.session)?));
        let line = Arc::new(Self { endpoint, spec, reader, stop: Stop::default(), is_busy: Arc::default() });
        let follower = Follower {
            line: Arc::clone(&line),
            charge: Arc::clone(charge),
            facts: facts.clone(),
            attendant: attendant.clone(),
        };
        let started =
            std::thread::Builder::new().name("agent-server".to_owned()).spawn(move || follower.follow());
        match started {
            Ok(_) => Some(line),
            Err(error) => {
                tracing::error!(%error, run = ?charge.run, "no thread to follow an agent's server with");
                None
            }
        }
    }

    /// Cuts the line: its thread ends.
    pub(crate) fn cut(&self) {
        self.stop.stop();
    }

    /// Hands a message over; what became of it, and by which session it was taken. Blocks.
    pub(crate) fn hand_over(&self, charge: &Charge, text: &str) -> (HandOver, Option<String>) {
        let was_busy = self.is_busy.load(Ordering::Relaxed);
        let session = self.session().or_else(|| charge.note().session);
        match server::hand_over(&self.endpoint, &self.spec, session.as_deref(), text) {
            Handed::Taken(session) => {
                (if was_busy { HandOver::Delivered } else { HandOver::Submitted }, session)
            }
            Handed::NotTaken(why) => (HandOver::Unavailable(why), None),
            Handed::Unknown(why) => (HandOver::Unknown(why), None),
        }
    }

    /// Answers what the agent asks, if it still asks that. Blocks.
    pub(crate) fn answer(&self, dialog: &str, choice: &[String]) -> Typing {
        let open = self.reader.lock().unwrap_or_else(PoisonError::into_inner).asks().to_vec();
        let Some(ask) = open.into_iter().find(|ask| digest(ask) == dialog) else { return Typing::Stale };
        let takes = |name: &&String| agents::server::answer(&self.spec, &ask, name, "").is_some();
        let label = ask.options.iter().find(|label| choice.contains(label));
        let Some(name) = label.or_else(|| choice.iter().find(takes)) else { return Typing::Partial };
        match server::answer(&self.endpoint, &self.spec, &ask, name, label.map_or("", String::as_str)) {
            Handed::Taken(_) => Typing::Done,
            Handed::NotTaken(_) => Typing::Stale,
            Handed::Unknown(_) => Typing::Partial,
        }
    }

    /// Whether the server lists the messages of a session.
    pub(crate) fn lists_messages(&self) -> bool {
        self.spec.messages.is_some()
    }

    /// Returns what the agent said after the prompts of this span. Blocks.
    pub(crate) fn turn(&self, charge: &Charge, span: &RangeInclusive<u64>) -> Option<EndedTurn> {
        agents::server::turn(&self.spec, &self.messages(charge)?, span)
    }

    /// Whether the session has a prompt with this text that was made at this moment or later. Blocks.
    pub(crate) fn has_prompt(&self, charge: &Charge, text: &str, since: u64) -> bool {
        let messages = self.messages(charge);
        messages.is_some_and(|messages| agents::server::has_prompt(&self.spec, &messages, text, since))
    }

    fn messages(&self, charge: &Charge) -> Option<Value> {
        let session = self.session().or_else(|| charge.note().session)?;
        server::ask(&self.endpoint, &agents::server::list(&self.spec, &session)?)
    }

    fn session(&self) -> Option<String> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).session().map(str::to_owned)
    }

    /// Evidence with the dialog it is about, so that the inbox can offer answers.
    fn with_dialog(&self, mut evidence: Evidence) -> Evidence {
        self.is_busy.store(evidence.state.is_some_and(AgentState::is_busy), Ordering::Relaxed);
        if evidence.state == Some(AgentState::Blocked) && evidence.dialog.is_none() {
            let first = self.reader.lock().unwrap_or_else(PoisonError::into_inner).asks().first().cloned();
            evidence.dialog = first.map(|ask| self.dialog(&ask));
        }
        evidence
    }

    fn dialog(&self, ask: &Ask) -> Dialog {
        let fitting = self.spec.answer.iter().filter(|answer| answer.kind == ask.kind);
        let named = fitting.filter_map(|answer| Some((answer.names.first()?, answer.names.clone())));
        let labelled = ask.options.iter().map(|label| (label, vec![label.clone()]));
        let numbered = |(number, (label, names)): (usize, (&String, Vec<String>))| DialogOption {
            names: std::iter::once((number + 1).to_string()).chain(names).collect(),
            label: label.clone(),
            keys: Vec::new(),
        };
        let options = labelled.chain(named).enumerate().map(numbered).collect();
        Dialog { digest: digest(ask), title: ask.title.clone(), body: ask.body.clone(), options }
    }
}

/// The name of what an agent asks: the vendor's own id of it.
fn digest(ask: &Ask) -> String {
    format!("ask:{}", ask.id)
}

/// The thread that follows.
struct Follower {
    line: Arc<ServerLine>,
    charge: Arc<Charge>,
    facts: mpsc::Sender<Input>,
    attendant: Attendant,
}

impl Follower {
    fn follow(&self) {
        let (endpoint, path) = (&self.line.endpoint, self.line.spec.events.clone());
        server::follow(endpoint, &path, &self.line.reader, &self.line.stop, |news| self.tell(news));
    }

    fn tell(&self, news: ServerNews) {
        let run = self.charge.run;
        match news {
            ServerNews::Evidence(evidence) => {
                self.say(run, Fact::Evidence(Box::new(self.line.with_dialog(evidence))));
            }
            ServerNews::Withdrawn(source) => self.say(run, Fact::Withdrawn(source)),
            ServerNews::Session(session) => {
                if self.charge.pin_session(&session) {
                    self.say(run, Fact::Session(session));
                }
            }
            ServerNews::Context(context) => self.say(run, Fact::Context(context)),
            ServerNews::PromptSubmitted => {
                self.attendant.heard(run, Heard::Prompt);
                self.say(run, Fact::PromptWritten);
            }
            ServerNews::TurnEnded { text, end } => {
                self.attendant.heard(run, Heard::ServerText(text, end));
            }
            // Asked by whoever follows.
            ServerNews::Fetch(_) => {}
        }
    }

    fn say(&self, run: RunKey, fact: Fact) {
        // The daemon is ending when nobody listens.
        drop(self.facts.blocking_send(Input::Fact { run, fact }));
    }
}

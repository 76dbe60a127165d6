//! The line to one agent's vendor server: followed on a thread of its own, asked on whoever's thread may block.
//!
//! Owns the thread's life and how what the server says becomes facts. Refuses outliving its agent: the line is cut when
//! the run is over.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agents::server::{PendingRequest, ServerNews, ServerReader, ServerSpec};
use agents::transcript::EndedTurn;
use engine::input::{HandOver, TypingOutcome};
use engine::{Input, RunFact, RunKey};
use proto::Evidence;
use proto::agent::{AgentState, Dialog, DialogOption};
use serde_json::Value;
use tokio::sync::mpsc;

use super::agent_run::AgentRun;
use super::file_watcher::{AgentNotice, FileWatcher};
use super::http::Endpoint;
use super::server::{self, Handed};
use super::stream::Stop;

/// The line to one server.
pub(crate) struct VendorServer {
    endpoint: Endpoint,
    spec: ServerSpec,
    /// A short lock: an event is read under it, never a socket.
    reader: Arc<Mutex<ServerReader>>,
    stop: Stop,
    /// Whether a turn is under way, as the server last said.
    is_busy: Arc<AtomicBool>,
}

impl VendorServer {
    /// Follows the server of an agent that has one.
    pub(crate) fn open(
        agent_run: &Arc<AgentRun>,
        facts: &mpsc::Sender<Input>,
        file_watcher: &FileWatcher,
    ) -> Option<Arc<Self>> {
        let (manifest, note) = (agent_run.manifest(), agent_run.note());
        let (spec, port) = (manifest.server.clone()?, note.port?);
        let endpoint = Endpoint::new(port, spec.user.as_deref(), &note.secret);
        let reader = Arc::new(Mutex::new(ServerReader::new(&manifest, note.session)?));
        let line = Arc::new(Self { endpoint, spec, reader, stop: Stop::default(), is_busy: Arc::default() });
        let follower = Follower {
            line: Arc::clone(&line),
            agent_run: Arc::clone(agent_run),
            facts: facts.clone(),
            file_watcher: file_watcher.clone(),
        };
        let started =
            std::thread::Builder::new().name("agent-server".to_owned()).spawn(move || follower.follow());
        match started {
            Ok(_) => Some(line),
            Err(error) => {
                tracing::error!(%error, run = ?agent_run.run, "no thread to follow an agent's server with");
                None
            }
        }
    }

    /// Cuts the line: its thread ends.
    pub(crate) fn cut(&self) {
        self.stop.stop();
    }

    /// Hands a message over; what became of it, and by which session it was taken. Blocks.
    pub(crate) fn hand_over(&self, agent_run: &AgentRun, text: &str) -> (HandOver, Option<String>) {
        let was_busy = self.is_busy.load(Ordering::Relaxed);
        let session = self.session().or_else(|| agent_run.note().session);
        match server::hand_over(&self.endpoint, &self.spec, session.as_deref(), text) {
            Handed::Taken(session) => {
                (if was_busy { HandOver::Delivered } else { HandOver::Submitted }, session)
            }
            Handed::NotTaken(why) => (HandOver::Unavailable(why), None),
            Handed::Unknown(why) => (HandOver::Unknown(why), None),
        }
    }

    /// Answers what the agent asks, if it still asks that. Blocks.
    pub(crate) fn answer(&self, dialog: &str, choice: &[String]) -> TypingOutcome {
        let open = self.reader.lock().unwrap_or_else(PoisonError::into_inner).asks().to_vec();
        let Some(ask) = open.into_iter().find(|ask| digest(ask) == dialog) else {
            return TypingOutcome::Stale;
        };
        let takes = |name: &&String| agents::server::answer(&self.spec, &ask, name, "").is_some();
        let label = ask.options.iter().find(|label| choice.contains(label));
        let Some(name) = label.or_else(|| choice.iter().find(takes)) else { return TypingOutcome::Partial };
        match server::answer(&self.endpoint, &self.spec, &ask, name, label.map_or("", String::as_str)) {
            Handed::Taken(_) => TypingOutcome::Done,
            Handed::NotTaken(_) => TypingOutcome::Stale,
            Handed::Unknown(_) => TypingOutcome::Partial,
        }
    }

    /// Whether the server lists the messages of a session.
    pub(crate) fn lists_messages(&self) -> bool {
        self.spec.messages.is_some()
    }

    /// Returns what the agent said after the prompts of this span. Blocks.
    pub(crate) fn turn(&self, agent_run: &AgentRun, span: &RangeInclusive<u64>) -> Option<EndedTurn> {
        agents::server::turn(&self.spec, &self.messages(agent_run)?, span)
    }

    /// Whether the session has a prompt with this text that was made at this moment or later. Blocks.
    pub(crate) fn has_prompt(&self, agent_run: &AgentRun, text: &str, since: u64) -> bool {
        let messages = self.messages(agent_run);
        messages.is_some_and(|messages| agents::server::has_prompt(&self.spec, &messages, text, since))
    }

    fn messages(&self, agent_run: &AgentRun) -> Option<Value> {
        let session = self.session().or_else(|| agent_run.note().session)?;
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

    fn dialog(&self, ask: &PendingRequest) -> Dialog {
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
fn digest(ask: &PendingRequest) -> String {
    format!("ask:{}", ask.id)
}

/// The thread that follows.
struct Follower {
    line: Arc<VendorServer>,
    agent_run: Arc<AgentRun>,
    facts: mpsc::Sender<Input>,
    file_watcher: FileWatcher,
}

impl Follower {
    fn follow(&self) {
        let (endpoint, path) = (&self.line.endpoint, self.line.spec.events.clone());
        server::follow(endpoint, &path, &self.line.reader, &self.line.stop, |news| self.publish(news));
    }

    fn publish(&self, news: ServerNews) {
        let run = self.agent_run.run;
        match news {
            ServerNews::Evidence(evidence) => {
                self.send_fact(run, RunFact::Evidence(Box::new(self.line.with_dialog(evidence))));
            }
            ServerNews::Withdrawn(source) => self.send_fact(run, RunFact::Withdrawn(source)),
            ServerNews::Session(session) => {
                if self.agent_run.pin_session(&session) {
                    self.send_fact(run, RunFact::Session(session));
                }
            }
            ServerNews::Context(context) => self.send_fact(run, RunFact::Context(context)),
            ServerNews::PromptSubmitted => {
                self.file_watcher.heard(run, AgentNotice::Prompt);
                self.send_fact(run, RunFact::PromptWritten);
            }
            ServerNews::TurnEnded { text, end } => {
                self.file_watcher.heard(run, AgentNotice::ServerText(text, end));
            }
            // Asked by whoever follows.
            ServerNews::Fetch(_) => {}
        }
    }

    fn send_fact(&self, run: RunKey, fact: RunFact) {
        // The daemon is ending when nobody listens.
        drop(self.facts.blocking_send(Input::Fact { run, fact }));
    }
}

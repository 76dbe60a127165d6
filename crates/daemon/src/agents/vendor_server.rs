//! The connection to one agent's vendor server: a task follows its events and turns them into facts, until the run is over.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use agents::server::{PendingRequest, ServerEvent, ServerReader, ServerSpec};
use agents::transcript::EndedTurn;
use engine::input::{HandOver, TypingOutcome};
use engine::{Input, RunFact, RunKey};
use proto::Evidence;
use proto::agent::{AgentState, Dialog, DialogOption};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::agent_run::AgentRun;
use super::file_watcher::{AgentNotice, FileWatcher};
use super::http::Endpoint;
use super::server::{self, ServerOutcome};

/// News that may wait for the engine; the server is read no further while they do.
const WAITING_NEWS: usize = 64;

/// The connection to one server.
pub(crate) struct VendorServer {
    endpoint: Endpoint,
    spec: ServerSpec,
    /// A short lock: an event is parsed under it, never a socket read.
    reader: Arc<Mutex<ServerReader>>,
    /// The task that follows; set once it runs.
    follower: OnceLock<AbortHandle>,
    /// True while a turn is under way, as the server last reported.
    is_busy: Arc<AtomicBool>,
}

impl VendorServer {
    /// Follows the server of an agent that has one.
    pub(crate) fn open(
        agent_run: &Arc<AgentRun>,
        facts: &mpsc::Sender<Input>,
        file_watcher: &FileWatcher,
        runtime: &Handle,
    ) -> Option<Arc<Self>> {
        let (manifest, note) = (agent_run.manifest(), agent_run.note());
        let (spec, port) = (manifest.server.clone()?, note.port?);
        let endpoint = Endpoint::new(port, spec.user.as_deref(), &note.secret);
        let reader = Arc::new(Mutex::new(ServerReader::new(&manifest, note.session)?));
        let line =
            Arc::new(Self { endpoint, spec, reader, follower: OnceLock::new(), is_busy: Arc::default() });
        let follower = Follower {
            line: Arc::clone(&line),
            agent_run: Arc::clone(agent_run),
            facts: facts.clone(),
            file_watcher: file_watcher.clone(),
        };
        let task = runtime.spawn(async move { follower.follow().await });
        line.follower.get_or_init(|| task.abort_handle());
        Some(line)
    }

    /// Closes the connection and ends the task that follows.
    pub(crate) fn cut(&self) {
        if let Some(follower) = self.follower.get() {
            follower.abort();
        }
    }

    /// Delivers a message; returns the outcome and the session that accepted it.
    pub(crate) async fn hand_over(&self, agent_run: &AgentRun, text: &str) -> (HandOver, Option<String>) {
        let was_busy = self.is_busy.load(Ordering::Relaxed);
        let session = self.session().or_else(|| agent_run.note().session);
        match server::hand_over(&self.endpoint, &self.spec, session.as_deref(), text).await {
            ServerOutcome::Accepted(session) => {
                (if was_busy { HandOver::Delivered } else { HandOver::Submitted }, session)
            }
            ServerOutcome::NotAccepted(why) => (HandOver::Unavailable(why), None),
            ServerOutcome::Unknown(why) => (HandOver::Unknown(why), None),
        }
    }

    /// Answers a request of the agent, if it is still open.
    pub(crate) async fn answer(&self, dialog: &str, choice: &[String]) -> TypingOutcome {
        let open = self.reader.lock().unwrap_or_else(PoisonError::into_inner).asks().to_vec();
        let Some(ask) = open.into_iter().find(|ask| digest(ask) == dialog) else {
            return TypingOutcome::Stale;
        };
        let takes = |name: &&String| agents::server::answer(&self.spec, &ask, name, "").is_some();
        let label = ask.options.iter().find(|label| choice.contains(label));
        let Some(name) = label.or_else(|| choice.iter().find(takes)) else { return TypingOutcome::Partial };
        let text = label.map_or("", String::as_str);
        match server::answer(&self.endpoint, &self.spec, &ask, name, text).await {
            ServerOutcome::Accepted(_) => TypingOutcome::Done,
            ServerOutcome::NotAccepted(_) => TypingOutcome::Stale,
            ServerOutcome::Unknown(_) => TypingOutcome::Partial,
        }
    }

    /// Returns true if the server lists the messages of a session.
    pub(crate) fn lists_messages(&self) -> bool {
        self.spec.messages.is_some()
    }

    /// Returns the agent's text after the prompts of this span.
    pub(crate) async fn turn(&self, agent_run: &AgentRun, span: &RangeInclusive<u64>) -> Option<EndedTurn> {
        agents::server::turn(&self.spec, &self.messages(agent_run).await?, span)
    }

    /// Returns true if the session has a prompt with this text that was made at this moment or later.
    pub(crate) async fn has_prompt(&self, agent_run: &AgentRun, text: &str, since: u64) -> bool {
        let messages = self.messages(agent_run).await;
        messages.is_some_and(|messages| agents::server::has_prompt(&self.spec, &messages, text, since))
    }

    async fn messages(&self, agent_run: &AgentRun) -> Option<Value> {
        let session = self.session().or_else(|| agent_run.note().session)?;
        server::ask(&self.endpoint, &agents::server::list(&self.spec, &session)?).await
    }

    fn session(&self) -> Option<String> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).session().map(str::to_owned)
    }

    /// Adds the dialog to evidence, so that the inbox can offer answers.
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

/// Identifies a request of the agent: the vendor's own id.
fn digest(ask: &PendingRequest) -> String {
    format!("ask:{}", ask.id)
}

/// What the task that follows needs.
struct Follower {
    line: Arc<VendorServer>,
    agent_run: Arc<AgentRun>,
    facts: mpsc::Sender<Input>,
    file_watcher: FileWatcher,
}

impl Follower {
    async fn follow(&self) {
        let (sender, mut news) = mpsc::channel(WAITING_NEWS);
        let (endpoint, path) = (&self.line.endpoint, &self.line.spec.events);
        let following = server::follow(endpoint, path, &self.line.reader, sender);
        let publishing = async {
            while let Some(one) = news.recv().await {
                self.publish(one).await;
            }
        };
        tokio::join!(following, publishing);
    }

    async fn publish(&self, news: ServerEvent) {
        let run = self.agent_run.run;
        match news {
            ServerEvent::Evidence(evidence) => {
                self.send_fact(run, RunFact::Evidence(Box::new(self.line.with_dialog(evidence)))).await;
            }
            ServerEvent::Withdrawn(source) => self.send_fact(run, RunFact::Withdrawn(source)).await,
            ServerEvent::Session(session) => {
                if self.agent_run.pin_session(&session) {
                    self.send_fact(run, RunFact::Session(session)).await;
                }
            }
            ServerEvent::Context(context) => self.send_fact(run, RunFact::Context(context)).await,
            ServerEvent::PromptSubmitted => {
                self.file_watcher.notify(run, AgentNotice::Prompt);
                self.send_fact(run, RunFact::PromptWritten).await;
            }
            ServerEvent::TurnEnded { text, end } => {
                self.file_watcher.notify(run, AgentNotice::ServerText(text, end));
            }
            // `server::follow` fetches these itself.
            ServerEvent::Fetch(_) => {}
        }
    }

    async fn send_fact(&self, run: RunKey, fact: RunFact) {
        // Without a receiver the daemon is ending.
        drop(self.facts.send(Input::Fact { run, fact }).await);
    }
}

//! Reads the events of the server inside a vendor's program by the manifest's table, and names the requests
//! that must be sent.
//!
//! One session is the agent's. Subagents have their own, but their requests appear on the agent's screen. The
//! daemon reads the stream and sends the requests.

mod messages;
mod request;
mod session;
mod spec;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use proto::agent::{Context, Evidence, Source, TurnEnd};
use serde_json::Value;

use crate::Manifest;
use crate::context_window::ContextSpec;
use crate::quota::QuotaSpec;
use session::SessionSoFar;

pub use messages::{MessagesSpec, has_prompt, list, turn};
pub use request::{Method, PendingRequest, ServerRequest, abort, answer, begin, begun, prompt};
pub use spec::{
    AnswerSpec, AskSpec, BeginSpec, BeginsSpec, Form, LookSpec, ModelsSpec, PartSpec, RequestSpec,
    ServerEventSpec, ServerSpec, WhoSpec,
};

/// The most sessions that are remembered as belonging to others.
const MOST_OTHERS: usize = 1024;

/// Reads the events of one vendor server.
#[derive(Clone, Debug)]
pub struct ServerReader {
    spec: ServerSpec,
    quota: Vec<QuotaSpec>,
    defaults: ContextSpec,
    windows: BTreeMap<String, u64>,
    session: Option<String>,
    /// Subagents' sessions, and those whose owner was requested.
    others: BTreeSet<String>,
    /// The agent's earlier sessions, each with its newest prompts: a new prompt in one means that a person
    /// went back to it.
    former: BTreeMap<String, Vec<String>>,
    now: SessionSoFar,
    said: Option<Evidence>,
}

/// A request whose response goes back to [`ServerReader::fetched`].
#[derive(Clone, Debug, PartialEq)]
pub struct Fetch {
    /// The request.
    pub request: ServerRequest,
    purpose: Purpose,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Purpose {
    Models,
    Look(String),
    Who(String),
    /// The messages of a session, to recognise older prompts.
    Messages(String),
}

/// What became known.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerEvent {
    /// Evidence about the state.
    Evidence(Evidence),
    /// The evidence is withdrawn.
    Withdrawn(Source),
    /// The session that is the agent's.
    Session(String),
    /// How full its context is.
    Context(Context),
    /// A prompt was accepted: a turn begins.
    PromptSubmitted,
    /// A turn is over.
    TurnEnded {
        /// How.
        end: TurnEnd,
        /// The agent's last message.
        text: String,
    },
    /// A request that must be sent.
    Fetch(Fetch),
}

/// To which session an event belongs.
enum SessionOwner {
    Own,
    Former,
    Others,
    Unknown(String),
}

impl ServerReader {
    /// Creates a reader for this vendor, whose session may be known already; `None` when its manifest
    /// describes no server.
    #[must_use]
    pub fn new(manifest: &Manifest, session: Option<String>) -> Option<Self> {
        Some(Self {
            spec: manifest.server.clone()?,
            quota: manifest.quota.clone(),
            defaults: manifest.context.clone().unwrap_or_default(),
            windows: BTreeMap::new(),
            session,
            others: BTreeSet::new(),
            former: BTreeMap::new(),
            now: SessionSoFar::default(),
            said: None,
        })
    }

    /// Returns the session that is the agent's.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Returns the agent's text since the newest prompt.
    #[must_use]
    pub fn text(&self) -> &str {
        self.now.text()
    }

    /// Returns the agent's open requests, oldest first.
    #[must_use]
    pub fn asks(&self) -> &[PendingRequest] {
        self.now.asks()
    }

    /// Records that the stream was opened, for the first time or again. Returns the requests that find out
    /// what happened before.
    #[must_use]
    pub fn opened(&mut self) -> Vec<Fetch> {
        self.now.forget_asks();
        let models = self.spec.models.as_ref().and_then(|models| fetch(&models.path, Purpose::Models));
        let past = self.session.clone().and_then(|session| self.fetch_messages(session));
        models.into_iter().chain(past).chain(self.looks()).collect()
    }

    /// Records that the stream broke, and withdraws the evidence.
    #[must_use]
    pub fn lost(&mut self) -> Vec<ServerEvent> {
        self.said.take().map(|said| ServerEvent::Withdrawn(said.source)).into_iter().collect()
    }

    /// Takes one event.
    #[must_use]
    pub fn event(&mut self, event: &Value) -> Vec<ServerEvent> {
        let mut news = Vec::new();
        self.read(event, &mut news);
        self.weigh(&mut news);
        news
    }

    /// Processes the response to a [`Fetch`].
    #[must_use]
    pub fn fetched(&mut self, fetch: &Fetch, answer: &Value) -> Vec<ServerEvent> {
        let mut news = Vec::new();
        match &fetch.purpose {
            Purpose::Models => self.learn_windows(answer, &mut news),
            Purpose::Look(id) => self.looked(id, answer, &mut news),
            Purpose::Who(session) => self.told_who(session, answer, &mut news),
            Purpose::Messages(session) => self.remember_messages(session, answer),
        }
        self.weigh(&mut news);
        news
    }

    fn fetch_messages(&self, session: String) -> Option<Fetch> {
        Some(Fetch { request: list(&self.spec, &session)?, purpose: Purpose::Messages(session) })
    }

    fn remember_messages(&mut self, session: &str, answer: &Value) {
        if let Some(spec) = self.spec.messages.as_ref().filter(|_| self.session.as_deref() == Some(session)) {
            messages::prompts(spec, answer).into_iter().for_each(|prompt| self.now.remember_prompt(prompt));
            messages::replies(spec, answer).into_iter().for_each(|reply| self.now.remember_reply(reply));
        }
    }

    fn looks(&self) -> Vec<Fetch> {
        self.spec.look.iter().filter_map(|look| fetch(&look.path, Purpose::Look(look.id.clone()))).collect()
    }

    fn read(&mut self, event: &Value, news: &mut Vec<ServerEvent>) {
        let Some(kind) = self.spec.type_at.text(event) else { return };
        let fits = |spec: &&ServerEventSpec| spec.kind_of_event == kind && spec.when.holds(event);
        let fitting: Vec<ServerEventSpec> = self.spec.event.iter().filter(fits).cloned().collect();
        let about = self.spec.session_at.text(event).map(str::to_owned);
        for spec in &fitting {
            if let Some(begins) = &spec.begins {
                self.begins(begins, event, news);
            }
            // A subagent's request appears on the agent's screen: it blocks the agent as its own would.
            self.now.take_ask(spec, event);
            match self.owner_of(about.as_deref()) {
                SessionOwner::Own => self.apply(spec, event, news),
                SessionOwner::Former => self.may_return(spec, event, about.as_deref(), news),
                SessionOwner::Others => {}
                SessionOwner::Unknown(session) => self.ask_who(&session, news),
            }
        }
    }

    fn begins(&mut self, spec: &BeginsSpec, event: &Value, news: &mut Vec<ServerEvent>) {
        let Some(session) = spec.session.text(event) else { return };
        if spec.parent.text(event).is_some() {
            self.remember_other(session);
        } else {
            self.adopt(session, news);
        }
    }

    fn adopt(&mut self, session: &str, news: &mut Vec<ServerEvent>) {
        if self.session.as_deref() == Some(session) {
            return;
        }
        self.others.remove(session);
        self.former.remove(session);
        let before = std::mem::take(&mut self.now);
        if let Some(former) = self.session.replace(session.to_owned())
            && self.former.len() < MOST_OTHERS
        {
            self.former.insert(former, before.prompts().to_vec());
        }
        news.push(ServerEvent::Session(session.to_owned()));
    }

    /// Makes a former session the agent's again when it gets a new prompt.
    fn may_return(
        &mut self,
        spec: &ServerEventSpec,
        event: &Value,
        session: Option<&str>,
        news: &mut Vec<ServerEvent>,
    ) {
        let Some((session, prompt)) = session.zip(spec.prompt.as_ref().and_then(|prompt| prompt.text(event)))
        else {
            return;
        };
        let is_new = self.former.get(session).is_some_and(|seen| !seen.iter().any(|seen| seen == prompt));
        if is_new {
            self.adopt(session, news);
            self.apply(spec, event, news);
        }
    }

    fn remember_other(&mut self, session: &str) {
        if self.others.len() >= MOST_OTHERS {
            self.others.pop_first();
        }
        self.others.insert(session.to_owned());
    }

    fn owner_of(&self, session: Option<&str>) -> SessionOwner {
        match session {
            None => SessionOwner::Others,
            Some(session) if self.session.as_deref() == Some(session) => SessionOwner::Own,
            Some(session) if self.former.contains_key(session) => SessionOwner::Former,
            Some(session) if self.others.contains(session) => SessionOwner::Others,
            Some(session) => SessionOwner::Unknown(session.to_owned()),
        }
    }

    /// Requests the owner of an unknown session: it is a subagent's, or a person went to it.
    fn ask_who(&mut self, session: &str, news: &mut Vec<ServerEvent>) {
        let path =
            self.spec.who.as_ref().map(|who| who.path.render(&serde_json::json!({ "session": session })));
        self.remember_other(session);
        let asked = path.and_then(|path| fetch(&path, Purpose::Who(session.to_owned())));
        news.extend(asked.map(ServerEvent::Fetch));
    }

    fn told_who(&mut self, session: &str, answer: &Value, news: &mut Vec<ServerEvent>) {
        let Some(who) = &self.spec.who else { return };
        if answer.is_object() && who.parent.text(answer).is_none() {
            self.adopt(session, news);
            news.extend(self.looks().into_iter().map(ServerEvent::Fetch));
        }
    }

    fn apply(&mut self, spec: &ServerEventSpec, event: &Value, news: &mut Vec<ServerEvent>) {
        if self.now.take_prompt(spec, event) {
            news.push(ServerEvent::PromptSubmitted);
        }
        self.now.take_status(spec, event, &self.quota);
        self.now.take_text(spec, event);
        if self.now.count(spec, event) {
            news.extend(self.context().map(ServerEvent::Context));
        }
        if let Some((end, text)) = spec.end.and_then(|end| self.now.end_turn(end)) {
            news.push(ServerEvent::TurnEnded { end, text });
        }
    }

    fn context(&self) -> Option<Context> {
        let (used, total, model) = self.now.figures()?;
        let listed = model.and_then(|model| self.windows.get(model)).copied();
        Some(Context { used, total, window: listed.or_else(|| self.defaults.window(model)) })
    }

    fn learn_windows(&mut self, answer: &Value, news: &mut Vec<ServerEvent>) {
        let Some(spec) = &self.spec.models else { return };
        let providers = spec.providers.of(answer).and_then(Value::as_array);
        for provider in providers.into_iter().flatten() {
            let (Some(name), Some(models)) = (spec.provider.text(provider), spec.models.of(provider)) else {
                continue;
            };
            let models = models.as_object().into_iter().flatten();
            let windows = models
                .filter_map(|(model, about)| Some((format!("{name}/{model}"), spec.window.count(about)?)));
            self.windows.extend(windows);
        }
        news.extend(self.context().map(ServerEvent::Context));
    }

    fn looked(&mut self, id: &str, answer: &Value, news: &mut Vec<ServerEvent>) {
        let Some(look) = self.spec.look.iter().find(|look| look.id == id).cloned() else { return };
        for event in self.as_events(&look, answer) {
            self.read(&event, news);
        }
    }

    /// Returns the items of a response as events.
    fn as_events(&self, look: &LookSpec, answer: &Value) -> Vec<Value> {
        let event = |session: Option<&str>, item: Value| {
            let mut event = Value::Null;
            self.spec.type_at.put(&mut event, look.reads_as.clone().into());
            look.item_at.put(&mut event, item);
            if let Some(session) = session {
                self.spec.session_at.put(&mut event, session.into());
            }
            event
        };
        let Some(otherwise) = &look.otherwise else {
            return answer.as_array().into_iter().flatten().map(|item| event(None, item.clone())).collect();
        };
        let Some(table) = answer.as_object() else { return Vec::new() };
        let own = self.session.as_deref().filter(|session| !table.contains_key(*session));
        let missing = own.map(|session| event(Some(session), otherwise.fill(&Value::Null)));
        table.iter().map(|(session, item)| event(Some(session), item.clone())).chain(missing).collect()
    }

    /// Reports evidence if the state has changed.
    fn weigh(&mut self, news: &mut Vec<ServerEvent>) {
        let evidence = self.now.evidence();
        if evidence == self.said {
            return;
        }
        match &evidence {
            Some(evidence) => news.push(ServerEvent::Evidence(evidence.clone())),
            None => news.push(ServerEvent::Withdrawn(Source::Server)),
        }
        self.said = evidence;
    }
}

fn fetch(path: &str, purpose: Purpose) -> Option<Fetch> {
    Some(Fetch { request: ServerRequest::get(path)?, purpose })
}

//! The calls to the server inside a vendor's program: following its events, delivering prompts and answers.
//! The crate `agents` reads the events and builds the requests.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agents::server::{self, PendingRequest, ServerEvent, ServerReader, ServerRequest, ServerSpec};

use tokio::sync::mpsc;

use super::http::{Answer, Endpoint, HttpError};
use super::stream::EventStream;

/// How long a call may take; a server that migrates its database takes seconds.
const CALL_LIMIT: Duration = Duration::from_secs(10);

/// The outcome of a call that gives the server a prompt or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerOutcome {
    /// The server accepted it, for this session where that matters.
    Accepted(Option<String>),
    /// The server did not accept it, and will not.
    NotAccepted(String),
    /// The outcome is unknown.
    Unknown(String),
}

/// Follows a server as long as the future lives: connects, finds out what happened before, reads events, and
/// starts again when the stream breaks. Waits while `news` is full, so that events are never dropped; returns
/// when its receiver is gone.
pub(crate) async fn follow(
    endpoint: &Endpoint,
    path: &str,
    reader: &Mutex<ServerReader>,
    news: mpsc::Sender<ServerEvent>,
) {
    while !news.is_closed() {
        let mut stream = EventStream::open(endpoint, path).await;
        let fetches = lock(reader).opened();
        let fetches = fetches.into_iter().map(ServerEvent::Fetch).collect();
        publish(endpoint, reader, fetches, &news).await;
        while let Some(data) = stream.next().await {
            let Ok(event) = serde_json::from_str(&data) else { continue };
            let found = lock(reader).event(&event);
            publish(endpoint, reader, found, &news).await;
        }
        let found = lock(reader).lost();
        publish(endpoint, reader, found, &news).await;
    }
}

/// Sends what was found and fetches what it asks for, in order. An answer never asks for the same again, so this ends.
async fn publish(
    endpoint: &Endpoint,
    reader: &Mutex<ServerReader>,
    found: Vec<ServerEvent>,
    news: &mpsc::Sender<ServerEvent>,
) {
    let mut open: VecDeque<ServerEvent> = found.into();
    while let Some(one) = open.pop_front() {
        let ServerEvent::Fetch(fetch) = one else {
            // Without a receiver the agent has ended, and `follow` ends.
            drop(news.send(one).await);
            continue;
        };
        let Some(answer) = ask(endpoint, &fetch.request).await else { continue };
        let more = lock(reader).fetched(&fetch, &answer);
        more.into_iter().rev().for_each(|one| open.push_front(one));
    }
}

/// Returns the server's response to a request; `None` when it refuses or cannot be reached.
pub(crate) async fn ask(endpoint: &Endpoint, request: &ServerRequest) -> Option<serde_json::Value> {
    match endpoint.call(request, CALL_LIMIT).await {
        Ok(answer) if answer.is_good() => Some(answer.body),
        Ok(Answer { status, .. }) => {
            tracing::debug!(status, path = request.path, "an agent's server refused to say");
            None
        }
        Err(error) => {
            tracing::debug!(%error, path = request.path, "an agent's server was not asked");
            None
        }
    }
}

/// Delivers a prompt; starts a session for it where none is known.
pub(crate) async fn hand_over(
    endpoint: &Endpoint,
    spec: &ServerSpec,
    session: Option<&str>,
    text: &str,
) -> ServerOutcome {
    let session = match session {
        Some(session) => session.to_owned(),
        None => match begin(endpoint, spec).await {
            Ok(session) => session,
            // A session that was started and not used does no harm: nothing was delivered.
            Err(reason) => return ServerOutcome::NotAccepted(reason),
        },
    };
    let Some(requests) = server::prompt(spec, &session, text) else {
        return ServerOutcome::NotAccepted("the agent's server accepts no prompts".to_owned());
    };
    for request in &requests {
        let outcome = judge(endpoint.call(request, CALL_LIMIT).await);
        if !request.is_for_show && outcome != ServerOutcome::Accepted(None) {
            return outcome;
        }
    }
    ServerOutcome::Accepted(Some(session))
}

/// Answers a request of the agent.
pub(crate) async fn answer(
    endpoint: &Endpoint,
    spec: &ServerSpec,
    ask: &PendingRequest,
    name: &str,
    text: &str,
) -> ServerOutcome {
    match server::answer(spec, ask, name, text) {
        Some(request) => judge(endpoint.call(&request, CALL_LIMIT).await),
        None => ServerOutcome::NotAccepted(format!("the agent's server takes no {name:?} here")),
    }
}

async fn begin(endpoint: &Endpoint, spec: &ServerSpec) -> Result<String, String> {
    let request: ServerRequest = server::begin(spec).ok_or("the agent's server begins no session")?;
    let answer = endpoint.call(&request, CALL_LIMIT).await.map_err(|error| error.to_string())?;
    let begun = answer.is_good().then(|| server::begun(spec, &answer.body)).flatten();
    begun.ok_or_else(|| format!("the agent's server began no session: it answered {}", answer.status))
}

fn judge(answer: Result<Answer, HttpError>) -> ServerOutcome {
    match answer {
        Ok(answer) if answer.is_good() => ServerOutcome::Accepted(None),
        // The server read and refused it, or failed before it took effect.
        Ok(Answer { status, .. }) if status < 500 => {
            ServerOutcome::NotAccepted(format!("the agent's server answered {status}"))
        }
        Ok(Answer { status, .. }) => ServerOutcome::Unknown(format!("the agent's server answered {status}")),
        Err(HttpError::Absent(error)) => ServerOutcome::NotAccepted(HttpError::Absent(error).to_string()),
        Err(HttpError::Lost(error)) => ServerOutcome::Unknown(HttpError::Lost(error).to_string()),
    }
}

fn lock(reader: &Mutex<ServerReader>) -> MutexGuard<'_, ServerReader> {
    reader.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

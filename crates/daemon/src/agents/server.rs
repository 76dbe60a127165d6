//! What is done with the server inside a vendor's program: following it, and handing things over to it.
//!
//! Owns the order of calls. Refuses meaning (the crate `agents` reads events and writes requests) and deciding: what
//! became of a call is told, and whoever asked judges it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agents::server::{self, Fetch, PendingRequest, ServerNews, ServerReader, ServerRequest, ServerSpec};

use super::http::{Answer, CallError, Endpoint};
use super::stream::{EventStream, Stop};

/// How long a call may take for each step; a server that migrates its database takes seconds.
const CALL_LIMIT: Duration = Duration::from_secs(10);

/// What became of something that was handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Handed {
    /// It was taken, by this session where that matters.
    Taken(Option<String>),
    /// It was not, and will not be.
    NotTaken(String),
    /// Nobody can say.
    Unknown(String),
}

/// Follows a server until it is told to stop: connects, learns what happened before, reads events, and begins again when
/// the stream breaks. Blocks; `tell` is called outside of the reader's lock.
pub(crate) fn follow(
    endpoint: &Endpoint,
    path: &str,
    reader: &Mutex<ServerReader>,
    stop: &Stop,
    mut tell: impl FnMut(ServerNews),
) {
    while let Some(mut stream) = EventStream::open(endpoint, path, stop) {
        let fetches = lock(reader).opened();
        fetches.into_iter().for_each(|asked| fetch(endpoint, reader, asked, &mut tell));
        while let Some(data) = stream.next() {
            let Ok(event) = serde_json::from_str(&data) else { continue };
            let news = lock(reader).event(&event);
            spread(endpoint, reader, news, &mut tell);
        }
        let news = lock(reader).lost();
        spread(endpoint, reader, news, &mut tell);
    }
}

/// Tells what is new and asks what must be asked.
fn spread(
    endpoint: &Endpoint,
    reader: &Mutex<ServerReader>,
    news: Vec<ServerNews>,
    tell: &mut impl FnMut(ServerNews),
) {
    for one in news {
        match one {
            ServerNews::Fetch(asked) => fetch(endpoint, reader, asked, tell),
            other => tell(other),
        }
    }
}

/// Asks, and what the answer asks in turn. An answer never asks the same again, so this ends.
fn fetch(endpoint: &Endpoint, reader: &Mutex<ServerReader>, asked: Fetch, tell: &mut impl FnMut(ServerNews)) {
    let mut open = vec![asked];
    while let Some(asked) = open.pop() {
        let Some(answer) = ask(endpoint, &asked.request) else { continue };
        let news = lock(reader).fetched(&asked, &answer);
        for one in news {
            match one {
                ServerNews::Fetch(next) => open.push(next),
                other => tell(other),
            }
        }
    }
}

/// Returns what the server answers to a request; none when it refuses or cannot be reached.
pub(crate) fn ask(endpoint: &Endpoint, request: &ServerRequest) -> Option<serde_json::Value> {
    match endpoint.call(request, CALL_LIMIT) {
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

/// Hands a prompt over; where no session is known, one is begun for it.
pub(crate) fn hand_over(endpoint: &Endpoint, spec: &ServerSpec, session: Option<&str>, text: &str) -> Handed {
    let session = match session {
        Some(session) => session.to_owned(),
        None => match begin(endpoint, spec) {
            Ok(session) => session,
            // A session that is begun and not used harms nobody: nothing was handed over.
            Err(reason) => return Handed::NotTaken(reason),
        },
    };
    let Some(requests) = server::prompt(spec, &session, text) else {
        return Handed::NotTaken("the agent's server takes no prompts".to_owned());
    };
    for request in &requests {
        let outcome = judge(endpoint.call(request, CALL_LIMIT));
        if !request.is_for_show && outcome != Handed::Taken(None) {
            return outcome;
        }
    }
    Handed::Taken(Some(session))
}

/// Answers a request of the agent.
pub(crate) fn answer(
    endpoint: &Endpoint,
    spec: &ServerSpec,
    ask: &PendingRequest,
    name: &str,
    text: &str,
) -> Handed {
    match server::answer(spec, ask, name, text) {
        Some(request) => judge(endpoint.call(&request, CALL_LIMIT)),
        None => Handed::NotTaken(format!("the agent's server takes no {name:?} here")),
    }
}

fn begin(endpoint: &Endpoint, spec: &ServerSpec) -> Result<String, String> {
    let request: ServerRequest = server::begin(spec).ok_or("the agent's server begins no session")?;
    let answer = endpoint.call(&request, CALL_LIMIT).map_err(|error| error.to_string())?;
    let begun = answer.is_good().then(|| server::begun(spec, &answer.body)).flatten();
    begun.ok_or_else(|| format!("the agent's server began no session: it answered {}", answer.status))
}

fn judge(answer: Result<Answer, CallError>) -> Handed {
    match answer {
        Ok(answer) if answer.is_good() => Handed::Taken(None),
        // It was read and refused, or failed before it was done.
        Ok(Answer { status, .. }) if status < 500 => {
            Handed::NotTaken(format!("the agent's server answered {status}"))
        }
        Ok(Answer { status, .. }) => Handed::Unknown(format!("the agent's server answered {status}")),
        Err(CallError::Absent(error)) => Handed::NotTaken(CallError::Absent(error).to_string()),
        Err(CallError::Lost(error)) => Handed::Unknown(CallError::Lost(error).to_string()),
    }
}

fn lock(reader: &Mutex<ServerReader>) -> MutexGuard<'_, ServerReader> {
    reader.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

//! Screens, logs and the list of processes as resources.
//!
//! Owns their addresses and contents. Refuses being another door: contents are what the tools read.

use client::Connection;
use proto::request::{Read, ReadMode, Target};
use proto::{ErrorCode, ProcessView};
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

use crate::link::{Link, Manner, Trouble};
use crate::views;

/// Most text of a screen or log.
const LIMIT: u32 = 16_000;
/// Most processes whose screens are listed; templates reach the others.
const MAX_LISTED: usize = 50;

/// One address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Address {
    /// Every process.
    Processes,
    /// What a process shows.
    Screen(String),
    /// What a process printed.
    Log(String),
}

impl Address {
    /// Reads `qd://processes`, `qd://screen/ID` or `qd://log/ID`.
    pub(crate) fn parse(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix("qd://")?;
        let named = |id: &str| (!id.is_empty() && id.len() <= 64 && !id.contains('/')).then(|| id.to_owned());
        match rest.split_once('/') {
            None if rest == "processes" => Some(Self::Processes),
            Some(("screen", id)) => named(id).map(Self::Screen),
            Some(("log", id)) => named(id).map(Self::Log),
            _ => None,
        }
    }

    /// The address as clients write it.
    pub(crate) fn uri(&self) -> String {
        match self {
            Self::Processes => "qd://processes".to_owned(),
            Self::Screen(id) => format!("qd://screen/{id}"),
            Self::Log(id) => format!("qd://log/{id}"),
        }
    }

    /// The process it is about.
    pub(crate) fn process(&self) -> Option<&str> {
        match self {
            Self::Processes => None,
            Self::Screen(id) | Self::Log(id) => Some(id),
        }
    }
}

/// What may be read now. Without a daemon there is still the list, which will say so.
pub(crate) async fn list(link: &Link) -> Vec<Resource> {
    let all = link.ask(Manner::GLANCE, Connection::list).await.unwrap_or_default();
    let list = Resource::new(Address::Processes.uri(), "processes")
        .with_description("Every process with status and state.")
        .with_mime_type("application/json");
    let screens = all.iter().take(MAX_LISTED).map(|view| {
        Resource::new(Address::Screen(view.id.to_string()).uri(), format!("screen of {}", view.name))
            .with_mime_type("text/plain")
    });
    std::iter::once(list).chain(screens).collect()
}

/// The addresses with a hole in them.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, says: &str| {
        ResourceTemplate::new(uri, name).with_description(says).with_mime_type("text/plain")
    };
    vec![
        template("qd://screen/{id}", "screen", "What a process shows now."),
        template("qd://log/{id}", "log", "The newest of what a process printed, as text."),
    ]
}

/// The contents of one.
pub(crate) async fn read(link: &Link, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let Some(address) = Address::parse(uri) else {
        let shown = views::shortened(uri, 100);
        return Err(ErrorData::resource_not_found(format!("uri: no resource is called {shown}"), None));
    };
    let contents = match &address {
        Address::Processes => {
            let all =
                link.ask(Manner::QUESTION, Connection::list).await.map_err(|trouble| refusal(&trouble))?;
            ResourceContents::text(processes(&all).to_string(), uri).with_mime_type("application/json")
        }
        Address::Screen(id) => text(link, id, ReadMode::Screen, uri).await?,
        Address::Log(id) => text(link, id, ReadMode::Stream, uri).await?,
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

fn processes(all: &[ProcessView]) -> Value {
    json!({"processes": all.iter().map(views::row).collect::<Vec<_>>()})
}

async fn text(link: &Link, id: &str, mode: ReadMode, uri: &str) -> Result<ResourceContents, ErrorData> {
    let wish = Read {
        target: Target(id.to_owned()),
        mode,
        since: None,
        limit: Some(LIMIT),
        join: mode != ReadMode::Screen,
    };
    let asked = link.ask(Manner::QUESTION, move |connection| connection.read(wish.clone())).await;
    Ok(ResourceContents::text(asked.map_err(|trouble| refusal(&trouble))?.text, uri))
}

fn refusal(trouble: &Trouble) -> ErrorData {
    let told = trouble.told(&[("target", "uri")]).to_json();
    let message = told["error"]["message"].as_str().unwrap_or_default().to_owned();
    let is_missing = matches!(trouble, Trouble::Refused(failure) if failure.code == ErrorCode::NotFound);
    if is_missing {
        ErrorData::resource_not_found(message, Some(told))
    } else {
        ErrorData::internal_error(message, Some(told))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_being_written_and_read() {
        for uri in ["qd://processes", "qd://screen/p_00000000", "qd://log/build"] {
            assert_eq!(Address::parse(uri).map(|address| address.uri()).as_deref(), Some(uri));
        }
    }

    #[test]
    fn what_only_looks_like_an_address_is_none() {
        for uri in [
            "",
            "qd://",
            "qd://screen",
            "qd://screen/",
            "qd://screen/a/b",
            "qd://log/../x",
            "file:///etc/passwd",
        ] {
            assert_eq!(Address::parse(uri), None, "{uri}");
        }
    }
}

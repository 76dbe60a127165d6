//! Resources: screens, logs, scratchpads, timers and the list of processes. They return what the tools read.

use client::{AsyncClient, CallError, CallOptions};
use proto::pads::{PadEntry, PadOutcome};
use proto::request::{Empty, Pad, PadAct, Read, ReadMode, Target};
use proto::{ErrorCode, Event, ProcessView, verb};
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

use crate::failure::ToolFailure;
use crate::tools::{ToolContext, timers};
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
    /// The screen of a process.
    Screen(String),
    /// The output of a process.
    Log(String),
    /// A scratchpad of the project.
    Pad(String),
    /// The caller's timers.
    Timers,
}

impl Address {
    /// Reads `qd://processes`, `qd://timers`, `qd://screen/ID`, `qd://log/ID` or `qd://pads/NAME`.
    pub(crate) fn parse(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix("qd://")?;
        let named = |id: &str| (!id.is_empty() && id.len() <= 64 && !id.contains('/')).then(|| id.to_owned());
        match rest.split_once('/') {
            None if rest == "processes" => Some(Self::Processes),
            Some(("screen", id)) => named(id).map(Self::Screen),
            Some(("log", id)) => named(id).map(Self::Log),
            Some(("pads", name)) => named(name).map(Self::Pad),
            None if rest == "timers" => Some(Self::Timers),
            _ => None,
        }
    }

    /// Returns the address as clients write it.
    pub(crate) fn uri(&self) -> String {
        match self {
            Self::Processes => "qd://processes".to_owned(),
            Self::Screen(id) => format!("qd://screen/{id}"),
            Self::Log(id) => format!("qd://log/{id}"),
            Self::Pad(name) => format!("qd://pads/{name}"),
            Self::Timers => "qd://timers".to_owned(),
        }
    }

    /// Returns the process whose output it is.
    pub(crate) fn process(&self) -> Option<&str> {
        match self {
            Self::Processes | Self::Pad(_) | Self::Timers => None,
            Self::Screen(id) | Self::Log(id) => Some(id),
        }
    }

    /// Returns true if this event changes the resource. `project` is the caller's, where it has one.
    pub(crate) fn is_touched_by(&self, event: &Event, project: Option<&str>) -> bool {
        match (self, event) {
            (_, Event::Resync {}) => true,
            (Self::Pad(pad), Event::PadChanged { project: key, name, .. }) => {
                name == pad && project.is_none_or(|project| project == key)
            }
            (Self::Pad(_), _) => false,
            (Self::Timers, event) => matches!(event, Event::Timer(_)),
            (Self::Processes | Self::Screen(_) | Self::Log(_), event) => !matches!(
                event,
                Event::PadChanged { .. }
                    | Event::TaskChanged { .. }
                    | Event::Timer(_)
                    | Event::Selected { .. }
            ),
        }
    }
}

/// Returns the resources that can be read now. Without a daemon there are still the lists; reading them
/// reports that it is missing.
pub(crate) async fn list(context: &ToolContext) -> Vec<Resource> {
    let (daemon, options) = (&context.daemon, CallOptions::optional());
    let all = daemon.request_with::<verb::List>(options, Empty {}).await.unwrap_or_default();
    let pads = pads(daemon).await;
    let resource =
        |address: Address, name: String, kind: &str| Resource::new(address.uri(), name).with_mime_type(kind);
    let lists = [(Address::Processes, "processes"), (Address::Timers, "timers")]
        .map(|(address, name)| resource(address, name.to_owned(), "application/json"));
    let screens = all.iter().take(MAX_LISTED).map(|view| {
        resource(Address::Screen(view.id.to_string()), format!("screen of {}", view.name), "text/plain")
    });
    let pads = pads.iter().take(MAX_LISTED).map(|pad| {
        resource(Address::Pad(pad.name.clone()), format!("scratchpad {}", pad.name), "text/markdown")
    });
    lists.into_iter().chain(screens).chain(pads).collect()
}

/// Returns the pads of the caller's own project; empty for a caller without one.
async fn pads(daemon: &AsyncClient) -> Vec<PadEntry> {
    let request = Pad { project: None, act: PadAct::List(Empty {}) };
    match daemon.request_with::<verb::Pad>(CallOptions::optional(), request).await {
        Ok(PadOutcome::Listed(entries)) => entries,
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// Returns the address templates.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, says: &str| {
        ResourceTemplate::new(uri, name).with_description(says).with_mime_type("text/plain")
    };
    vec![
        template("qd://screen/{id}", "screen", "What a process shows now."),
        template("qd://log/{id}", "log", "The newest of what a process printed, as text."),
        template("qd://pads/{name}", "scratchpad", "A scratchpad of the project.")
            .with_mime_type("text/markdown"),
    ]
}

/// Returns the error for an unknown resource.
pub(crate) fn unknown(uri: &str) -> ErrorData {
    let shown = views::shortened(uri, 100);
    let data = Some(json!({ "uri": views::shortened(uri, 4096) }));
    ErrorData::resource_not_found(format!("uri: no resource is called {shown}"), data)
}

/// Reads one resource.
pub(crate) async fn read(context: &ToolContext, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let daemon = &context.daemon;
    let Some(address) = Address::parse(uri) else {
        return Err(unknown(uri));
    };
    let contents = match &address {
        Address::Processes => {
            let asked = daemon.request::<verb::List>(Empty {}).await;
            let all = asked.map_err(|error| refusal(&error))?;
            ResourceContents::text(processes(&all).to_string(), uri).with_mime_type("application/json")
        }
        Address::Screen(id) => text(daemon, id, ReadMode::Screen, uri).await?,
        Address::Log(id) => text(daemon, id, ReadMode::Stream, uri).await?,
        Address::Pad(name) => pad(context, name, uri).await?,
        Address::Timers => {
            let asked = daemon.request::<verb::Timers>(Empty {}).await;
            let all = asked.map_err(|error| refusal(&error))?;
            let rows: Vec<_> = timers::rows(&all).map(|(_, row)| row).collect();
            ResourceContents::text(json!({ "timers": rows }).to_string(), uri)
                .with_mime_type("application/json")
        }
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

fn processes(all: &[ProcessView]) -> Value {
    json!({"processes": all.iter().map(views::row).collect::<Vec<_>>()})
}

async fn text(
    daemon: &AsyncClient,
    id: &str,
    mode: ReadMode,
    uri: &str,
) -> Result<ResourceContents, ErrorData> {
    let request = Read {
        target: Target(id.to_owned()),
        mode,
        limit: Some(LIMIT),
        join: mode != ReadMode::Screen,
        ..Read::default()
    };
    let asked = daemon.request::<verb::Read>(request).await;
    Ok(ResourceContents::text(asked.map_err(|error| refusal(&error))?.text, uri))
}

/// Reads a whole pad: a resource has no cursor.
async fn pad(context: &ToolContext, name: &str, uri: &str) -> Result<ResourceContents, ErrorData> {
    let project = context.directory().await.map_err(|failure| {
        let error = failure.to_json();
        ErrorData::internal_error(
            error["error"]["message"].as_str().unwrap_or_default().to_owned(),
            Some(error),
        )
    })?;
    let request = Pad { project, act: PadAct::Read { name: name.to_owned(), revision: None } };
    let asked = context.daemon.request::<verb::Pad>(request).await;
    match asked.map_err(|error| refusal(&error))? {
        PadOutcome::Text { content, .. } => {
            Ok(ResourceContents::text(content, uri).with_mime_type("text/markdown"))
        }
        PadOutcome::Listed(_) | PadOutcome::Changed { .. } | PadOutcome::History(_) => {
            Err(ErrorData::internal_error("the daemon answered with something else", None))
        }
    }
}

fn refusal(error: &CallError) -> ErrorData {
    let body = ToolFailure::of_call(error, &[("target", "uri"), ("name", "uri")]).to_json();
    let message = body["error"]["message"].as_str().unwrap_or_default().to_owned();
    let is_missing = matches!(error, CallError::Refused(failure) if failure.code == ErrorCode::NotFound);
    if is_missing {
        ErrorData::resource_not_found(message, Some(body))
    } else {
        ErrorData::internal_error(message, Some(body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_being_written_and_read() {
        for uri in
            ["qd://processes", "qd://timers", "qd://screen/p_00000000", "qd://log/build", "qd://pads/plan"]
        {
            assert_eq!(Address::parse(uri).map(|address| address.uri()).as_deref(), Some(uri));
        }
    }

    #[test]
    fn a_pad_is_touched_by_its_own_changes_in_its_own_project_only() {
        let pad = Address::Pad("plan".to_owned());
        let changed = |project: &str, name: &str| Event::PadChanged {
            project: project.to_owned(),
            name: name.to_owned(),
            revision: 2,
            author: "human".to_owned(),
        };
        assert!(pad.is_touched_by(&changed("ours", "plan"), Some("ours")));
        assert!(pad.is_touched_by(&changed("ours", "plan"), None), "a person has no project of their own");
        assert!(pad.is_touched_by(&Event::Resync {}, Some("ours")));
        assert!(!pad.is_touched_by(&changed("ours", "other"), Some("ours")));
        assert!(!pad.is_touched_by(&changed("theirs", "plan"), Some("ours")));
        assert!(!Address::Processes.is_touched_by(&changed("ours", "plan"), Some("ours")));
        assert!(!Address::Timers.is_touched_by(&changed("ours", "plan"), Some("ours")));
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
            "qd://pads",
            "qd://pads/",
            "qd://pads/a/b",
            "qd://timers/1",
            "file:///etc/passwd",
        ] {
            assert_eq!(Address::parse(uri), None, "{uri}");
        }
    }
}

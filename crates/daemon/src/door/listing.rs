//! `list` and `subscribe`: the engine's view of processes, joined with live numbers of the data plane, and
//! the events that a caller may see. Nothing is cached.

use std::collections::{BTreeSet, VecDeque};

use engine::{Caller, Command, CommandAnswer, RunKey};
use proto::event::{Announcement, Event};
use proto::process::LogSpan;
use proto::reply::{ServerLine, Subscribed};
use proto::{ErrorCode, Failure, ProcessId, ProcessView, Reply};
use tokio::sync::broadcast::error::RecvError;

use super::connection::Client;
use super::dispatch::unexpected;

pub(super) async fn list(client: &Client) -> Result<Reply, Failure> {
    Ok(Reply::Processes(processes(client, client.caller, Command::List).await?.0))
}

/// Returns the processes that the caller may see, with live numbers, and their revision.
pub(super) async fn processes(
    client: &Client,
    caller: Caller,
    command: Command,
) -> Result<(Vec<ProcessView>, u64), Failure> {
    match client.door.engine.ask(caller, command).await? {
        CommandAnswer::Listed { mut processes, revision } => {
            processes.iter_mut().for_each(|process| fill_live_fields(client, process));
            Ok((processes, revision))
        }
        CommandAnswer::Reply(_)
        | CommandAnswer::Hook(_)
        | CommandAnswer::Standing(_)
        | CommandAnswer::Tasks(_)
        | CommandAnswer::Located(_) => Err(unexpected("list")),
    }
}

/// Fills in what only the data plane knows.
fn fill_live_fields(client: &Client, process: &mut ProcessView) {
    let run = RunKey::new(process.id, process.run);
    if let Some(handle) = client.door.screens.find(run) {
        process.log = LogSpan { start: handle.ring.start(), end: handle.ring.end() };
    }
}

/// Sends events until the client goes. The receiver is created before the list is read, so nothing is missed
/// between.
pub(super) async fn subscribe(client: Client, id: u64) {
    let mut events = client.door.engine.events();
    let first = processes(&client, client.caller, Command::Subscribe).await;
    let mut revision = first.as_ref().map_or(0, |(_, revision)| *revision);
    let mut ear = match (&first, client.caller) {
        (Ok((processes, _)), Caller::Process(run)) => Some(EventFilter::new(run, processes)),
        _ => None,
    };
    let is_accepted = first.is_ok();
    let reply = first.map(|(processes, revision)| Reply::Subscribed(Subscribed { revision, processes }));
    if !client.answer(id, reply).await || !is_accepted {
        return;
    }
    loop {
        let announcement = match events.recv().await {
            Ok(announcement) if announcement.revision <= revision => continue,
            Ok(announcement) => Announcement::clone(&announcement),
            Err(RecvError::Lagged(skipped)) => {
                Announcement { revision: revision + skipped, what: Event::Resync {} }
            }
            Err(RecvError::Closed) => return,
        };
        revision = announcement.revision;
        let is_last = match &mut ear {
            None => false,
            Some(ear) => match ear.hears(&client, &announcement.what).await {
                Ok(true) => ear.is_end(&announcement.what),
                Ok(false) => continue,
                Err(_) => true,
            },
        };
        let announcement = match is_last {
            // A client that asks again learns that the run is over.
            true => Announcement { revision, what: Event::Resync {} },
            false => announcement,
        };
        if !client.send_line(&ServerLine::Event(announcement)).await || is_last {
            return;
        }
    }
}

/// Which events a subscribed process may get: those about what it may also ask for. People get all events.
struct EventFilter {
    run: RunKey,
    workspace: String,
    /// The processes that it has got events about.
    known: BTreeSet<ProcessId>,
    /// Removed processes, oldest first.
    gone: VecDeque<ProcessId>,
    /// The open items that it has got events about.
    items: BTreeSet<u64>,
}

/// How many removed processes are remembered: the last event about one follows its removal closely.
const MAX_GONE: usize = 256;

impl EventFilter {
    fn new(run: RunKey, processes: &[ProcessView]) -> Self {
        let own = processes.iter().find(|process| process.id == run.process);
        Self {
            run,
            workspace: own.map(|own| own.workspace.clone()).unwrap_or_default(),
            known: processes.iter().map(|process| process.id).collect(),
            gone: VecDeque::new(),
            items: BTreeSet::new(),
        }
    }

    /// Returns true if the subscriber may get this event; an error means that the subscriber is gone.
    async fn hears(&mut self, client: &Client, event: &Event) -> Result<bool, Failure> {
        let may = match event {
            Event::Changed(view) => {
                // Processes of the same workspace are always visible; the engine need not be asked about
                // each.
                let may = view.workspace == self.workspace || ask(client, event).await?;
                if may {
                    self.known.insert(view.id)
                } else {
                    self.known.remove(&view.id)
                };
                may
            }
            Event::Exited { id, .. } | Event::TurnEnded { id, .. } | Event::Selected { id } => {
                self.known.contains(id)
            }
            Event::Removed { id } => {
                let may = self.known.remove(id);
                if may {
                    self.gone.push_back(*id);
                    self.gone.drain(..self.gone.len().saturating_sub(MAX_GONE));
                }
                may
            }
            Event::Done { id } => self.known.contains(id) || self.gone.contains(id),
            Event::ItemOpened(item) => {
                let may = ask(client, event).await?;
                if may {
                    self.items.insert(item.item);
                }
                may
            }
            Event::ItemClosed { item } => self.items.remove(item),
            Event::Mail(_) | Event::Timer(_) | Event::PadChanged { .. } => ask(client, event).await?,
            Event::Resync {} => true,
        };
        Ok(may)
    }

    /// Returns true for the end of the subscriber's own run: no one listens afterwards.
    fn is_end(&self, event: &Event) -> bool {
        matches!(event, Event::Exited { id, run, .. } if RunKey::new(*id, *run) == self.run)
    }
}

/// Asks the engine whether the caller may see an event.
async fn ask(client: &Client, event: &Event) -> Result<bool, Failure> {
    match client.door.engine.ask(client.caller, Command::Knows(Box::new(event.clone()))).await {
        Ok(_) => Ok(true),
        Err(failure) if failure.code == ErrorCode::NotFound => Ok(false),
        Err(failure) => Err(failure),
    }
}

//! `list` and `subscribe`: the engine's truth with the data plane's live numbers.
//!
//! Owns joining the two. Refuses caching either.

use engine::{Answer, Caller, Command, RunKey};
use proto::event::{Announcement, Event};
use proto::process::LogSpan;
use proto::reply::{ServerLine, Subscribed};
use proto::{Failure, ProcessView, Reply};
use tokio::sync::broadcast::error::RecvError;

use super::connection::Client;
use super::dispatch::unexpected;

pub(super) async fn list(client: &Client) -> Result<Reply, Failure> {
    Ok(Reply::Processes(processes(client, client.caller, Command::List).await?.0))
}

/// What the caller may see, with live numbers, and the revision it is true at.
pub(super) async fn processes(
    client: &Client,
    caller: Caller,
    command: Command,
) -> Result<(Vec<ProcessView>, u64), Failure> {
    match client.door.desk.ask(caller, command).await? {
        Answer::Listed { mut processes, revision } => {
            processes.iter_mut().for_each(|process| enliven(client, process));
            Ok((processes, revision))
        }
        Answer::Reply(_) | Answer::Hook(_) | Answer::Located(_) => Err(unexpected("list")),
    }
}

/// Fills in what only the data plane knows.
fn enliven(client: &Client, process: &mut ProcessView) {
    let run = RunKey::new(process.id, process.run);
    if let Some(handle) = client.door.screens.find(run) {
        process.log = LogSpan { start: handle.ring.start(), end: handle.ring.end() };
    }
}

/// Sends events until the client goes. The receiver is made before the list is taken, so nothing falls between.
pub(super) async fn subscribe(client: Client, id: u64) {
    let mut events = client.door.desk.events();
    let first = processes(&client, client.caller, Command::Subscribe).await;
    let mut revision = first.as_ref().map_or(0, |(_, revision)| *revision);
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
        if !client.say(&ServerLine::Event(announcement)).await {
            return;
        }
    }
}

//! `list` and `subscribe`: the engine's view of processes, joined with live numbers of the data plane, and
//! the events that it may get. Nothing is cached, and the engine has decided who gets an event.

use engine::{Command, CommandAnswer, RunKey, Subscriber};
use proto::event::{Announcement, Event};
use proto::process::{LiveNumbers, LogSpan};
use proto::reply::{ServerLine, Subscribed};
use proto::{Failure, ProcessView, Reply};
use tokio::sync::broadcast::error::RecvError;

use super::connection::Client;
use super::dispatch::unexpected;

pub(super) async fn list(client: &Client) -> Result<Reply, Failure> {
    Ok(Reply::Processes(processes(client, Command::List).await?.0))
}

/// Returns the processes that the caller may see, with live numbers, and their revision.
pub(super) async fn processes(client: &Client, command: Command) -> Result<(Vec<ProcessView>, u64), Failure> {
    match client.ask(command).await? {
        CommandAnswer::Listed { mut processes, revision } => {
            processes.iter_mut().for_each(|process| fill_live_fields(client, process));
            Ok((processes, revision))
        }
        CommandAnswer::Reply(_)
        | CommandAnswer::Hook(_)
        | CommandAnswer::CallerIdentity(_)
        | CommandAnswer::Tasks(_)
        | CommandAnswer::Located(_) => Err(unexpected("list")),
    }
}

/// Fills in what only the data plane knows.
fn fill_live_fields(client: &Client, process: &mut ProcessView) {
    let run = RunKey::new(process.id, process.run);
    if let Some(handle) = client.door.screens.find(run) {
        let log = LogSpan { start: handle.ring.start(), end: handle.ring.end() };
        process.live = LiveNumbers { log, unread_answers: handle.answers.get() };
    }
}

/// Sends the events that the caller may get until the client goes. The receiver is created before the list is read, so
/// nothing is missed between.
pub(super) async fn subscribe(client: Client, id: u64) {
    let mut events = client.door.engine.events();
    let (processes, mut revision) = match processes(&client, Command::Subscribe).await {
        Ok(listed) => listed,
        Err(failure) => {
            client.answer(id, Err(failure)).await;
            return;
        }
    };
    let subscriber = Subscriber::new(&client.principal, &processes);
    if !client.answer(id, Ok(Reply::Subscribed(Subscribed { revision, processes }))).await {
        return;
    }
    loop {
        let (announcement, is_last) = match events.recv().await {
            Ok(event) if event.announcement.revision <= revision || !subscriber.gets(&event.audience) => {
                revision = revision.max(event.announcement.revision);
                continue;
            }
            Ok(event) if subscriber.ends_with(&event.announcement.what) => {
                // A client that asks again learns that the run is over.
                (resync(event.announcement.revision), true)
            }
            Ok(event) => (event.announcement.clone(), false),
            Err(RecvError::Lagged(skipped)) => (resync(revision + skipped), false),
            Err(RecvError::Closed) => return,
        };
        revision = announcement.revision;
        if !client.send_line(&ServerLine::Event(announcement)).await || is_last {
            return;
        }
    }
}

fn resync(revision: u64) -> Announcement {
    Announcement { revision, what: Event::Resync {} }
}

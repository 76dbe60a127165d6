//! Notifies clients that a resource has changed.
//!
//! It keeps one listener to the daemon's events and one watch per screen or log, as long as a client
//! subscribes. It does not poll: events cover the lists, and a wait for new output covers a screen.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use client::{ClientError, Connection, Incoming};
use proto::request::{Target, Until, Wait};
use rmcp::RoleServer;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, SubscriptionSink};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::link::{CallPolicy, CancelHandle, CancelOnDrop, Link};
use crate::resources::Address;

/// The shortest time between two updates of one resource: a busy screen changes hundreds of times a second.
const PACE: Duration = Duration::from_millis(250);
/// The pause before it subscribes to events again after the daemon went away.
const AGAIN: Duration = Duration::from_secs(1);
/// The length of one wait for new output; it is repeated as long as a client listens.
const PRINTED: Duration = Duration::from_secs(600);
/// Most subscriptions of one client.
const MAX_SUBSCRIPTIONS: usize = 16;

/// Where updates go.
#[derive(Clone)]
pub(crate) enum Listener {
    /// A client of the protocol version with `resources/subscribe`.
    Peer(Peer<RoleServer>),
    /// A client of the protocol version with `subscriptions/listen`.
    Sink(SubscriptionSink),
}

impl Listener {
    /// Sends one change; returns false when the client is gone.
    async fn updated(&self, address: &Address) -> bool {
        let uri = address.uri();
        match self {
            Self::Peer(peer) => {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.is_ok()
            }
            Self::Sink(sink) => sink.notify_resource_updated(uri).await.is_ok(),
        }
    }
}

/// The subscriptions of a client of the older protocol, by address.
#[derive(Clone, Default)]
pub(crate) struct Subscriptions(Arc<Mutex<HashMap<Address, AbortHandle>>>);

impl Subscriptions {
    /// Starts to send changes; returns false when there are too many subscriptions.
    pub(crate) fn add(&self, link: &Link, address: Address, listener: Listener) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, handle| !handle.is_finished());
        if all.contains_key(&address) {
            return true;
        }
        if all.len() >= MAX_SUBSCRIPTIONS {
            return false;
        }
        let task = tokio::spawn(tell_changes(link.clone(), address.clone(), listener));
        all.insert(address, task.abort_handle());
        true
    }

    /// Stops; returns true if there was a subscription.
    pub(crate) fn remove(&self, address: &Address) -> bool {
        let removed = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(address);
        removed.map(|handle| handle.abort()).is_some()
    }
}

/// Sends changes of several resources to `listener`, until dropped.
pub(crate) async fn tell_all(link: Link, addresses: Vec<Address>, listener: Listener) {
    let mut watches = tokio::task::JoinSet::new();
    for address in addresses.into_iter().take(MAX_SUBSCRIPTIONS) {
        watches.spawn(tell_changes(link.clone(), address, listener.clone()));
    }
    while watches.join_next().await.is_some() {}
}

/// Sends every change of one resource to `listener` until the client is gone.
async fn tell_changes(link: Link, address: Address, listener: Listener) {
    let (_leash, mut crew) = listen(&link, address.clone());
    let mut offset = None;
    loop {
        let is_new = match address.process() {
            None => crew.changed().await.is_ok(),
            Some(process) => match printed(&link, process, offset).await {
                Some(end) => {
                    offset = Some(end);
                    true
                }
                // The process ended or is unreachable: the next change begins with an event.
                None => {
                    offset = None;
                    crew.changed().await.is_ok()
                }
            },
        };
        if !is_new || !listener.updated(&address).await {
            return;
        }
        tokio::time::sleep(PACE).await;
    }
}

/// Waits until a process has printed something new and returns its log's end; `None` when the wait fails.
async fn printed(link: &Link, process: &str, offset: Option<u64>) -> Option<u64> {
    let wait = Wait {
        since: offset,
        timeout_ms: u64::try_from(PRINTED.as_millis()).ok(),
        ..Wait::until(vec![Target(process.to_owned())], Until::Pattern(".".to_owned()))
    };
    loop {
        let wait = wait.clone();
        let policy = CallPolicy::OPTIONAL.lasting(PRINTED);
        match link.ask(policy, move |connection| connection.wait(wait.clone())).await {
            Ok(waited) => return waited.satisfied.first().map(|satisfied| satisfied.offset),
            Err(crate::link::CallError::Refused(failure)) if failure.code == proto::ErrorCode::Timeout => {}
            Err(_) => return None,
        }
    }
}

/// Returns a value that changes with every event about `address`, as long as the handle is held.
fn listen(link: &Link, address: Address) -> (CancelOnDrop, watch::Receiver<u64>) {
    let (sender, receiver) = watch::channel(0);
    let cancel = Arc::new(CancelHandle::default());
    let cancel_on_drop = CancelOnDrop(Arc::clone(&cancel));
    let link = link.clone();
    tokio::spawn(async move {
        let sender = Arc::new(sender);
        while !sender.is_closed() {
            let (link, cancel, changes) = (link.clone(), Arc::clone(&cancel), Arc::clone(&sender));
            let address = address.clone();
            // However it ended, events were missed, so something may have changed.
            drop(tokio::task::spawn_blocking(move || hear(&link, &cancel, &address, &changes)).await);
            sender.send_modify(|revision| *revision += 1);
            tokio::select! {
                () = sender.closed() => return,
                () = tokio::time::sleep(AGAIN) => {}
            }
        }
    });
    (cancel_on_drop, receiver)
}

fn hear(
    link: &Link,
    cancel: &CancelHandle,
    address: &Address,
    sender: &watch::Sender<u64>,
) -> Result<(), ClientError> {
    let mut connection: Connection = link.open(cancel)?;
    // Pads of the same name in other projects do not concern the caller; a person has no project.
    let project = match address {
        Address::Pad(_) => Some(connection.who_am_i()?.project.key).filter(|key| !key.is_empty()),
        Address::Processes | Address::Screen(_) | Address::Log(_) | Address::Timers => None,
    };
    connection.subscribe()?;
    while let Some(incoming) = connection.receive()? {
        if let Incoming::Event(announced) = incoming
            && address.is_touched_by(&announced.what, project.as_deref())
        {
            sender.send_modify(|revision| *revision += 1);
        }
    }
    Ok(())
}

//! Notifies clients that a resource has changed.
//!
//! It keeps one listener to the daemon's events and one watch per screen or log, as long as a client
//! subscribes. It does not poll: events cover the lists, and a wait for new output covers a screen.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use client::{AsyncClient, CallError, CallOptions, ClientError};
use proto::request::{Empty, Target, Until, Wait};
use proto::{Event, verb};
use rmcp::RoleServer;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, SubscriptionSink};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::resources::Address;

/// The shortest time between two updates of one resource: a busy screen changes hundreds of times a second.
const PACE: Duration = Duration::from_millis(250);
/// The length of one wait for new output; it is repeated as long as a client listens.
const PRINTED: Duration = Duration::from_secs(600);
/// Most subscriptions of one client.
const MAX_SUBSCRIPTIONS: usize = 16;

/// Where updates go.
#[derive(Clone)]
pub(crate) enum UpdateTarget {
    /// A client of the protocol version with `resources/subscribe`.
    Peer(Peer<RoleServer>),
    /// A client of the protocol version with `subscriptions/listen`.
    Sink(SubscriptionSink),
}

impl UpdateTarget {
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
    pub(crate) fn add(&self, daemon: &AsyncClient, address: Address, listener: UpdateTarget) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, handle| !handle.is_finished());
        if all.contains_key(&address) {
            return true;
        }
        if all.len() >= MAX_SUBSCRIPTIONS {
            return false;
        }
        let task = tokio::spawn(tell_changes(daemon.clone(), address.clone(), listener));
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
pub(crate) async fn tell_all(daemon: AsyncClient, addresses: Vec<Address>, listener: UpdateTarget) {
    let mut watches = tokio::task::JoinSet::new();
    for address in addresses.into_iter().take(MAX_SUBSCRIPTIONS) {
        watches.spawn(tell_changes(daemon.clone(), address, listener.clone()));
    }
    while watches.join_next().await.is_some() {}
}

/// Sends every change of one resource to `listener` until the client is gone.
async fn tell_changes(daemon: AsyncClient, address: Address, listener: UpdateTarget) {
    let mut changes = listen(&daemon, address.clone());
    let mut offset = None;
    loop {
        let is_new = match address.process() {
            None => changes.changed().await.is_ok(),
            Some(process) => match printed(&daemon, process, offset).await {
                Some(end) => {
                    offset = Some(end);
                    true
                }
                // The process ended or is unreachable: the next change begins with an event.
                None => {
                    offset = None;
                    changes.changed().await.is_ok()
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
async fn printed(daemon: &AsyncClient, process: &str, offset: Option<u64>) -> Option<u64> {
    let wait = Wait {
        since: offset,
        timeout_ms: u64::try_from(PRINTED.as_millis()).ok(),
        ..Wait::until(vec![Target(process.to_owned())], Until::Pattern(".".to_owned()))
    };
    loop {
        let wait = wait.clone();
        let options = CallOptions::optional().lasting(PRINTED);
        match daemon.request_with::<verb::Wait>(options, wait.clone()).await {
            Ok(waited) => return waited.satisfied.first().map(|satisfied| satisfied.offset),
            Err(CallError::Refused(failure)) if failure.code == proto::ErrorCode::Timeout => {}
            Err(_) => return None,
        }
    }
}

/// Returns a value that changes with every event about `address`, as long as it is held.
fn listen(daemon: &AsyncClient, address: Address) -> watch::Receiver<u64> {
    let (sender, receiver) = watch::channel(0);
    let daemon = daemon.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = sender.closed() => {}
            _ = count_events(&daemon, &address, &sender) => {}
        }
    });
    receiver
}

/// Counts the events about `address`. Missed events count as one: something may have changed.
async fn count_events(
    daemon: &AsyncClient,
    address: &Address,
    sender: &watch::Sender<u64>,
) -> Result<(), ClientError> {
    let mut events = daemon.events();
    // It begins with `resync`, which is no change.
    events.next().await?;
    let mut project = own_project(daemon, address).await;
    loop {
        let event = events.next().await?.what;
        if matches!(event, Event::Resync {}) {
            project = own_project(daemon, address).await;
        }
        if address.is_touched_by(&event, project.as_deref()) {
            sender.send_modify(|revision| *revision += 1);
        }
    }
}

/// Returns the project of the caller, for a pad: pads of the same name in other projects do not concern it. A
/// person has no project.
async fn own_project(daemon: &AsyncClient, address: &Address) -> Option<String> {
    if !matches!(address, Address::Pad(_)) {
        return None;
    }
    let asked = daemon.request_with::<verb::WhoAmI>(CallOptions::optional(), Empty {}).await;
    asked.ok().map(|known| known.project.key).filter(|key| !key.is_empty())
}

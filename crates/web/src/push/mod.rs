//! Web Push: browsers that are not open are notified when something needs a person. Built with the feature `push` only.
//!
//! | file | what it has |
//! |---|---|
//! | `subscriptions` | which browsers want it, and which push services are called |
//! | `crypt` | encryption for one browser, and the server's signature |
//! | `sender` | one message to a push service |
//!
//! One task for each subscription follows the events that its device may see. It notifies of items that open after the browser
//! subscribed and are still open after a moment; it takes a notification back when the item is closed elsewhere.

mod crypt;
mod sender;
mod subscriptions;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::routing::{MethodRouter, get, post};
use axum::{Extension, Json};
use client::Incoming;
use client::reconnect_policy::{Attempts, RetryLimit};
use proto::request::Empty;
use proto::{Reply, Request};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::gateway::{Gateway, Shared};
use crate::identity::AccessIdentity;
use crate::problem::Problem;
use crate::socket;
use crate::verb_call::read_object;
use sender::{Delivery, PushNetwork};
use subscriptions::{PushFile, Subscription};

/// An item that is answered within this time is not worth an interruption.
const DELAY: Duration = Duration::from_secs(5);

/// What the server needs to push.
#[derive(Debug)]
pub(crate) struct Push {
    file: PushFile,
    network: PushNetwork,
    /// The URL by which push services know who sends.
    contact: String,
}

impl Push {
    pub(crate) fn open(directory: &Path, contact: String) -> io::Result<Self> {
        let network = PushNetwork::of_system().map_err(io::Error::other)?;
        Ok(Self { file: PushFile::open(directory)?, network, contact })
    }

    async fn send(&self, to: &Subscription, message: &Value) -> Result<Delivery, String> {
        let text = message.to_string();
        let sent = self.network.deliver(self.file.key(), &self.contact, to, text.as_bytes()).await;
        if sent == Ok(Delivery::Gone) {
            // The browser is gone; that its entry stays if the disk is full costs one more try.
            drop(self.file.remove(&to.identity, &to.endpoint));
        }
        sent
    }
}

#[derive(Debug, Deserialize)]
struct Keys {
    p256dh: String,
    auth: String,
}

#[derive(Debug, Deserialize)]
struct Wanted {
    endpoint: String,
    keys: Option<Keys>,
}

async fn wanted(sent: Body) -> Result<Wanted, Problem> {
    let object = read_object(sent).await?;
    serde_json::from_value(Value::Object(object)).map_err(|error| Problem::invalid("body", error))
}

/// The public key that a browser subscribes with.
pub(crate) fn key() -> MethodRouter<Shared> {
    async fn handle(State(gateway): State<Shared>) -> Json<Value> {
        Json(json!({"key": gateway.push.file.key().public()}))
    }
    get(handle)
}

/// Subscribes the calling device's browser.
pub(crate) fn subscribe() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
        sent: Body,
    ) -> Result<Json<Value>, Problem> {
        let Wanted { endpoint, keys } = wanted(sent).await?;
        let keys = keys.ok_or_else(|| Problem::invalid("keys", "they are missing"))?;
        let new = Subscription::new(&caller.id, &endpoint, &keys.p256dh, &keys.auth);
        let new = new.map_err(|why| Problem::invalid("body", why))?;
        if !gateway.push.file.add(new.clone()).map_err(Problem::internal)? {
            return Err(Problem::busy("too many browsers have subscribed"));
        }
        gateway.audit.note(&caller, "subscribed", json!({}));
        tokio::spawn(notify(gateway, caller, new));
        Ok(Json(json!({})))
    }
    post(handle)
}

/// Ends a subscription of the calling device.
pub(crate) fn unsubscribe() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
        sent: Body,
    ) -> Result<Json<Value>, Problem> {
        let Wanted { endpoint, .. } = wanted(sent).await?;
        gateway.push.file.remove(&caller.id, &endpoint).map_err(Problem::internal)?;
        Ok(Json(json!({})))
    }
    axum::routing::delete(handle)
}

/// Sends a notification to the calling device's browsers; the answer has the outcome of each.
pub(crate) fn test() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
    ) -> Json<Value> {
        let mut outcomes = Vec::new();
        for one in gateway.push.file.all().into_iter().filter(|one| one.identity == caller.id) {
            let sent = gateway.push.send(&one, &json!({"title": "Notifications work."})).await;
            outcomes.push(sent.map_or_else(|why| why, |_| "accepted".to_owned()));
        }
        Json(json!({"outcomes": outcomes}))
    }
    post(handle)
}

/// Begins to notify all browsers that have subscribed before.
pub(crate) fn start(gateway: &Shared) {
    let known = gateway.access.list().unwrap_or_default();
    for subscription in gateway.push.file.all() {
        if let Some(record) = known.iter().find(|record| record.id == subscription.identity) {
            tokio::spawn(notify(gateway.clone(), record.identity(), subscription));
        }
    }
}

/// Notifies one browser until it no longer wants it or its device is revoked.
async fn notify(gateway: Shared, device: AccessIdentity, to: Subscription) {
    let following = async {
        let attempts = || Attempts::new(RetryLimit::Endless, Instant::now().into_std());
        let mut left = attempts();
        while gateway.push.file.has(&to) {
            if follow(&gateway, &device, &to).await {
                left = attempts();
            }
            tokio::time::sleep(left.next_pause(Instant::now().into_std()).unwrap_or_default()).await;
        }
    };
    tokio::select! {
        () = following => {}
        () = socket::revoked(gateway.clone(), device.clone()) => {
            drop(gateway.push.file.remove(&to.identity, &to.endpoint));
        }
    }
}

/// Follows the events of one connection to the daemon; returns false if there was none.
async fn follow(gateway: &Gateway, device: &AccessIdentity, to: &Subscription) -> bool {
    let Ok(mut connection) = gateway.door.connect(device).await else { return false };
    let Ok(Reply::Subscribed(_)) = connection.call(Request::Subscribe(Empty {})).await else { return false };
    let mut waiting: HashMap<u64, (Instant, Value)> = HashMap::new();
    let mut shown: HashSet<u64> = HashSet::new();
    while gateway.push.file.has(to) {
        let due = waiting.values().map(|(at, _)| *at).min();
        let due = due.unwrap_or_else(|| Instant::now() + Duration::from_secs(3600));
        tokio::select! {
            incoming = connection.reader.receive() => match incoming {
                Ok(Some(Incoming::Event(event))) => {
                    let Ok(what) = serde_json::to_value(&event.what) else { continue };
                    if let Some((item, message)) = opened(&what) {
                        waiting.insert(item, (Instant::now() + DELAY, message));
                    } else if let Some(item) = what["item_closed"]["item"].as_u64() {
                        waiting.remove(&item);
                        if shown.remove(&item) {
                            drop(gateway.push.send(to, &json!({"item": item, "closed": true})).await);
                        }
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return true,
            },
            () = tokio::time::sleep_until(due) => {
                let now = Instant::now();
                for (item, (_, message)) in waiting.extract_if(|_, (at, _)| *at <= now) {
                    if gateway.push.send(to, &message).await == Ok(Delivery::Accepted) {
                        shown.insert(item);
                    }
                }
            }
        }
    }
    true
}

/// Returns the item that an event opens and the message about it: which process and what kind of question, never its text.
fn opened(what: &Value) -> Option<(u64, Value)> {
    let opened = what.get("item_opened")?;
    let item = opened["item"].as_u64()?;
    Some((item, json!({"item": item, "name": opened["name"], "kind": opened["kind"]})))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_no_text_of_the_question() {
        let what =
            json!({"item_opened": {"item": 4, "name": "fix", "kind": "permission", "title": "rm -rf /"}});
        assert_eq!(opened(&what), Some((4, json!({"item": 4, "name": "fix", "kind": "permission"}))));
        assert_eq!(opened(&json!({"item_closed": {"item": 4}})), None);
    }
}

//! The browsers that want Web Push, in one file with the key of the server. Each belongs to a device and goes with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::{Deserialize, Serialize};

use super::crypt::{BrowserKeys, ServerKey};
use crate::private_file::{read_private, write_private};

/// The most subscriptions.
const MOST: usize = 64;
/// The longest address of a push service.
const MAX_ENDPOINT: usize = 1024;

/// The push services of browsers. A server that sent to any address that a caller names could be made to call others in its
/// network.
const SERVICES: &[&str] = &[
    "fcm.googleapis.com",
    "updates.push.services.mozilla.com",
    "web.push.apple.com",
    ".push.apple.com",
    ".notify.windows.com",
];

/// One browser that wants to be notified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Subscription {
    /// The device.
    pub(crate) identity: String,
    pub(crate) endpoint: String,
    p256dh: String,
    auth: String,
}

/// Why something is no subscription.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoSubscription {
    #[error("endpoint: only the push services of Apple, Google, Microsoft and Mozilla are called")]
    Endpoint,
    #[error("keys: a public key of 65 bytes and a secret of 16, in base64")]
    Keys,
}

impl Subscription {
    /// Checks what a browser sends.
    pub(crate) fn new(
        identity: &str,
        endpoint: &str,
        p256dh: &str,
        auth: &str,
    ) -> Result<Self, NoSubscription> {
        host_of(endpoint).ok_or(NoSubscription::Endpoint)?;
        let (identity, endpoint) = (identity.to_owned(), endpoint.to_owned());
        let new = Self { identity, endpoint, p256dh: p256dh.to_owned(), auth: auth.to_owned() };
        new.keys().map(|_| new).ok_or(NoSubscription::Keys)
    }

    /// Returns the keys of the browser.
    pub(crate) fn keys(&self) -> Option<BrowserKeys> {
        let decode = |text: &str| BASE64.decode(text.trim_end_matches('=')).ok();
        let (public, auth) = (decode(&self.p256dh)?, decode(&self.auth)?);
        (public.len() == 65 && auth.len() == 16).then_some(BrowserKeys { public, auth })
    }
}

/// Returns the host of a push service's address; none if it is not one of the known ones.
pub(crate) fn host_of(endpoint: &str) -> Option<&str> {
    let rest = endpoint.strip_prefix("https://").filter(|_| endpoint.len() <= MAX_ENDPOINT)?;
    let (host, path) = rest.split_at(rest.find('/')?);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    let is_known =
        SERVICES.iter().any(|known| host == *known || known.starts_with('.') && host.ends_with(known));
    let is_path = path.chars().all(|c| c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c));
    (is_known && is_path && host.chars().all(is_plain)).then_some(host)
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    key: String,
    subscriptions: Vec<Subscription>,
}

/// The file.
#[derive(Debug)]
pub(crate) struct PushFile {
    path: PathBuf,
    key: ServerKey,
    subscriptions: Mutex<Vec<Subscription>>,
}

impl PushFile {
    /// Opens the file in `directory`, with a new key if there is none.
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join("push.json");
        let invalid = |error: super::crypt::CryptError| io::Error::new(io::ErrorKind::InvalidData, error);
        let kept = match read_private(&path) {
            Ok(text) => serde_json::from_slice(&text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = BASE64.encode(ServerKey::fresh().map_err(invalid)?);
                let kept = Kept { key, subscriptions: Vec::new() };
                write_private(&path, &serde_json::to_vec(&kept)?)?;
                kept
            }
            Err(error) => return Err(error),
        };
        let key = BASE64.decode(&kept.key).map_err(io::Error::other)?;
        let key = ServerKey::from_kept(&key).map_err(invalid)?;
        Ok(Self { path, key, subscriptions: Mutex::new(kept.subscriptions) })
    }

    /// The key with which the server signs.
    pub(crate) fn key(&self) -> &ServerKey {
        &self.key
    }

    /// Returns all subscriptions.
    pub(crate) fn all(&self) -> Vec<Subscription> {
        self.lock().clone()
    }

    /// Returns true if the subscription is still wanted.
    pub(crate) fn has(&self, subscription: &Subscription) -> bool {
        self.lock().contains(subscription)
    }

    /// Adds one; the same browser's older one goes. Returns false if there are too many.
    pub(crate) fn add(&self, new: Subscription) -> io::Result<bool> {
        let mut all = self.lock();
        all.retain(|known| known.endpoint != new.endpoint);
        if all.len() >= MOST {
            return Ok(false);
        }
        all.push(new);
        self.save(&all).map(|()| true)
    }

    /// Removes those of a device with this address.
    pub(crate) fn remove(&self, identity: &str, endpoint: &str) -> io::Result<()> {
        let mut all = self.lock();
        all.retain(|known| known.identity != identity || known.endpoint != endpoint);
        self.save(&all)
    }

    fn save(&self, all: &[Subscription]) -> io::Result<()> {
        let text = fs::read(&self.path)?;
        let mut kept: Kept = serde_json::from_slice(&text)?;
        kept.subscriptions = all.to_vec();
        write_private(&self.path, &serde_json::to_vec(&kept)?)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Subscription>> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_push_services_are_called() {
        for good in [
            "https://fcm.googleapis.com/fcm/send/abc",
            "https://web.push.apple.com/QK-x",
            "https://updates.push.services.mozilla.com/wpush/v2/x",
            "https://db5p.notify.windows.com/w/?token=x",
        ] {
            assert!(host_of(good).is_some(), "{good}");
        }
        for bad in [
            "http://fcm.googleapis.com/x",
            "https://fcm.googleapis.com.evil.example/x",
            "https://evil.example/fcm.googleapis.com/",
            "https://fcm.googleapis.com:8443/x",
            "https://user@fcm.googleapis.com/x",
            "https://127.0.0.1/x",
            "https://evil.example#.push.apple.com/x",
            "https://fcm.googleapis.com",
            "https://fcm.googleapis.com/a b",
            "https://fcm.googleapis.com/\r\nHost: x",
        ] {
            assert_eq!(host_of(bad), None, "{bad}");
        }
    }

    #[test]
    fn subscriptions_and_the_key_outlive_a_restart() {
        let root = tempfile::tempdir().unwrap();
        let file = PushFile::open(root.path()).unwrap();
        let (public, auth) = (BASE64.encode([4; 65]), BASE64.encode([1; 16]));
        let of = |path: &str| {
            Subscription::new("d_1", &format!("https://fcm.googleapis.com/{path}"), &public, &auth).unwrap()
        };
        assert!(file.add(of("a")).unwrap() && file.add(of("b")).unwrap() && file.add(of("a")).unwrap());
        let again = PushFile::open(root.path()).unwrap();
        assert_eq!(again.all(), [of("b"), of("a")]);
        assert_eq!(again.key().public(), file.key().public());
        again.remove("d_2", &of("a").endpoint).unwrap();
        assert!(again.has(&of("a")), "another device's");
        again.remove("d_1", &of("a").endpoint).unwrap();
        assert_eq!(PushFile::open(root.path()).unwrap().all(), [of("b")]);
        assert_eq!(
            Subscription::new("d_1", "https://fcm.googleapis.com/x", "short", &auth),
            Err(NoSubscription::Keys)
        );
    }
}

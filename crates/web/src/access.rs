//! The identities that may call, in one file: digests of their secrets, labels, scopes and times.
//!
//! `qd web` and `qd access` both change the file, each under its lock and by replacing it, and `qd web` reads it again
//! when it has changed. A removed identity therefore loses its rights at its next request; `revocation` closes its
//! sockets.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use proto::Limit;
use proto::limit::check_label;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::clock::{DAY, MINUTE, now_ms};
use crate::identity::{AccessIdentity, IdentityKind, Scope};
use crate::private_file::{make_private, private_file, read_private, write_private};
use crate::secrets::{Secret, SecretDigest, letters};

/// How long a device stays signed in after its last request.
const DEVICE_LIFE: u64 = 30 * DAY;
/// How old the time of the last request may become before it is written again.
const SEEN_AGE: u64 = 60 * MINUTE;
/// The most identities.
const MOST: usize = 256;

/// One identity as it is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AccessRecord {
    /// Its id.
    pub id: String,
    /// What it is.
    pub kind: IdentityKind,
    /// Its name for people.
    pub label: String,
    /// What it may do.
    #[serde(flatten)]
    pub scope: Scope,
    /// The digest of its secret.
    digest: SecretDigest,
    /// When it was made, in milliseconds since the epoch.
    pub created: u64,
    /// When it was last seen, give or take an hour.
    pub seen: u64,
    /// When it ends.
    pub expires: Option<u64>,
}

impl AccessRecord {
    /// Returns the identity.
    #[must_use]
    pub fn identity(&self) -> AccessIdentity {
        AccessIdentity {
            id: self.id.clone(),
            kind: self.kind,
            label: self.label.clone(),
            scope: self.scope.clone(),
        }
    }

    /// Returns what may be shown of it: everything but the digest.
    #[must_use]
    pub fn view(&self) -> serde_json::Value {
        let mut view = serde_json::json!(self.identity());
        for (name, time) in
            [("created", Some(self.created)), ("seen", Some(self.seen)), ("expires", self.expires)]
        {
            view[name] = serde_json::json!(time);
        }
        view
    }

    fn is_over(&self, now: u64) -> bool {
        self.expires.is_some_and(|end| end <= now)
    }
}

/// What a new identity is to be.
#[derive(Clone, Debug)]
pub struct NewIdentity {
    /// What it is.
    pub kind: IdentityKind,
    /// Its name for people.
    pub label: String,
    /// What it may do.
    pub scope: Scope,
    /// How long it lives, in milliseconds; a device without an end stays signed in for 30 days after each use.
    pub life_ms: Option<u64>,
}

/// What shows that a file is no longer the one that was read.
#[derive(Debug, PartialEq, Eq)]
struct FileStamp {
    inode: u64,
    changed_ns: i64,
    length: u64,
}

#[derive(Debug, Default)]
struct Loaded {
    /// Of the file that was read.
    stamp: Option<FileStamp>,
    records: Vec<AccessRecord>,
}

/// The file of identities.
#[derive(Debug)]
pub struct AccessFile {
    directory: PathBuf,
    loaded: Mutex<Loaded>,
}

impl AccessFile {
    /// Opens the file in `directory`, which is made for this user alone.
    pub fn open(directory: &Path) -> io::Result<Self> {
        make_private(directory)?;
        let file = Self { directory: directory.to_owned(), loaded: Mutex::default() };
        drop(file.current()?);
        Ok(file)
    }

    /// Returns the directory of the file.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns all identities that have not ended.
    pub fn list(&self) -> io::Result<Vec<AccessRecord>> {
        let now = now_ms();
        Ok(self.current()?.records.iter().filter(|record| !record.is_over(now)).cloned().collect())
    }

    /// Returns the identity with this secret.
    pub fn find(&self, shown: &str) -> io::Result<Option<AccessIdentity>> {
        let (digest, now) = (SecretDigest::of(shown), now_ms());
        let is_it = |record: &&AccessRecord| record.digest.matches(&digest) && !record.is_over(now);
        let found = self.current()?.records.iter().find(is_it).cloned();
        if let Some(record) = &found
            && now.saturating_sub(record.seen) > SEEN_AGE
        {
            self.note_seen(&record.id, now)?;
        }
        Ok(found.map(|record| record.identity()))
    }

    /// Returns true if the identity exists with the same scope and has not ended.
    pub fn is_valid(&self, identity: &AccessIdentity) -> io::Result<bool> {
        let now = now_ms();
        let is_it = |record: &AccessRecord| record.id == identity.id && record.scope == identity.scope;
        Ok(self.current()?.records.iter().any(|record| is_it(record) && !record.is_over(now)))
    }

    /// Adds an identity; returns it with its secret, which is kept nowhere. A label or a workspace that the daemon would
    /// refuse in every hello is refused here.
    pub fn add(&self, new: NewIdentity) -> io::Result<(AccessIdentity, Secret)> {
        check_label(&new.label)
            .and_then(|()| Limit::default().tightened(&new.scope.limit()))
            .map_err(|failure| io::Error::new(io::ErrorKind::InvalidInput, failure.message))?;
        let secret = Secret::fresh()?;
        let now = now_ms();
        let prefix = &new.kind.word()[..1];
        let life_ms = new.life_ms.or_else(|| (new.kind == IdentityKind::Device).then_some(DEVICE_LIFE));
        let record = AccessRecord {
            id: format!("{prefix}_{}", letters(8)?.to_ascii_lowercase()),
            kind: new.kind,
            label: new.label,
            scope: new.scope,
            digest: secret.digest(),
            created: now,
            seen: now,
            expires: life_ms.map(|life| now.saturating_add(life)),
        };
        let identity = record.identity();
        self.change(|records| {
            records.retain(|record| !record.is_over(now));
            if records.len() >= MOST {
                let what = format!("there are {MOST} devices, tokens and links, which is the limit");
                return Err(io::Error::new(io::ErrorKind::QuotaExceeded, what));
            }
            records.push(record);
            Ok(())
        })?;
        Ok((identity, secret))
    }

    /// Removes an identity; returns false if there was none.
    pub fn revoke(&self, id: &str) -> io::Result<bool> {
        let mut was_there = false;
        self.change(|records| {
            was_there = records.iter().any(|record| record.id == id);
            records.retain(|record| record.id != id);
            Ok(())
        })?;
        Ok(was_there)
    }

    /// Removes the identities of a workspace, which is gone or made anew; returns how many there were.
    pub fn revoke_workspace(&self, workspace: &str) -> io::Result<usize> {
        let is_its = |record: &AccessRecord| record.scope.workspace.as_deref() == Some(workspace);
        let count = self.current()?.records.iter().filter(|record| is_its(record)).count();
        if count > 0 {
            self.change(|records| {
                records.retain(|record| !is_its(record));
                Ok(())
            })?;
        }
        Ok(count)
    }

    /// Gives the identities of a workspace its new name. Sockets that they have open close, because their scope is another
    /// one now; they connect again.
    pub fn rename_workspace(&self, workspace: &str, to: &str) -> io::Result<()> {
        let is_its = |record: &AccessRecord| record.scope.workspace.as_deref() == Some(workspace);
        if !self.current()?.records.iter().any(is_its) {
            return Ok(());
        }
        self.change(|records| {
            for record in records.iter_mut().filter(|record| is_its(record)) {
                record.scope.workspace = Some(to.to_owned());
            }
            Ok(())
        })
    }

    fn note_seen(&self, id: &str, now: u64) -> io::Result<()> {
        self.change(|records| {
            if let Some(record) = records.iter_mut().find(|record| record.id == id) {
                record.seen = now;
                if record.kind == IdentityKind::Device {
                    record.expires = Some(now + DEVICE_LIFE);
                }
            }
            Ok(())
        })
    }

    /// Reads the file anew, changes the records and replaces the file, under its lock.
    fn change(&self, change: impl FnOnce(&mut Vec<AccessRecord>) -> io::Result<()>) -> io::Result<()> {
        let lock = private_file(&self.directory.join("access.lock"))?;
        flock(&lock, FlockOperation::LockExclusive)?;
        let mut loaded = self.current()?;
        let mut records = loaded.records.clone();
        change(&mut records)?;
        write_private(&self.path(), &serde_json::to_vec_pretty(&records)?)?;
        *loaded = Loaded { stamp: stamp(&self.path())?, records };
        Ok(())
    }

    /// Returns the records as the file has them now.
    fn current(&self) -> io::Result<MutexGuard<'_, Loaded>> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = stamp(&self.path())?;
        if stamp.is_none() {
            *loaded = Loaded::default();
        } else if stamp != loaded.stamp {
            let text = read_private(&self.path())?;
            let records = serde_json::from_slice(&text).map_err(|error| {
                let what = format!("{} cannot be read: {error}; move it away", self.path().display());
                io::Error::new(io::ErrorKind::InvalidData, what)
            })?;
            *loaded = Loaded { stamp, records };
        }
        Ok(loaded)
    }

    fn path(&self) -> PathBuf {
        self.directory.join("access.json")
    }
}

fn stamp(path: &Path) -> io::Result<Option<FileStamp>> {
    match fs::metadata(path) {
        Ok(known) => {
            let changed_ns = known.mtime().wrapping_mul(1_000_000_000).wrapping_add(known.mtime_nsec());
            Ok(Some(FileStamp { inode: known.ino(), changed_ns, length: known.len() }))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::DirBuilder;
    use std::os::unix::fs::DirBuilderExt;

    use super::*;
    use proto::Role;

    fn new(kind: IdentityKind, life_ms: Option<u64>) -> NewIdentity {
        let scope = Scope { role: Role::Type, ..Scope::default() };
        NewIdentity { kind, label: "Ana's phone".to_owned(), scope, life_ms }
    }

    #[test]
    fn w9_an_identity_survives_the_server_and_its_file_has_no_secret() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("web");
        let (identity, secret) =
            AccessFile::open(&directory).unwrap().add(new(IdentityKind::Device, None)).unwrap();
        let again = AccessFile::open(&directory).unwrap();
        assert_eq!(again.find(secret.expose()).unwrap(), Some(identity));
        assert_eq!(again.find("wrong").unwrap(), None);
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            assert!(!fs::read_to_string(&path).unwrap().contains(secret.expose()), "{}", path.display());
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600, "{}", path.display());
        }
    }

    #[test]
    fn w8_what_another_process_revokes_is_not_found_again() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("web");
        let server = AccessFile::open(&directory).unwrap();
        let (identity, secret) = server.add(new(IdentityKind::Token, None)).unwrap();
        assert!(server.is_valid(&identity).unwrap());
        assert!(AccessFile::open(&directory).unwrap().revoke(&identity.id).unwrap());
        assert_eq!(server.find(secret.expose()).unwrap(), None);
        assert!(!server.is_valid(&identity).unwrap());
    }

    #[test]
    fn w8_the_tokens_of_a_workspace_follow_its_name_and_go_with_it() {
        let root = tempfile::tempdir().unwrap();
        let file = AccessFile::open(&root.path().join("web")).unwrap();
        let scope = Scope { workspace: Some("phone".to_owned()), ..Scope::default() };
        let (own, secret) = file.add(NewIdentity { scope, ..new(IdentityKind::Token, None) }).unwrap();
        let (other, _) = file.add(new(IdentityKind::Token, None)).unwrap();
        file.rename_workspace("phone", "desk").unwrap();
        assert!(!file.is_valid(&own).unwrap(), "what it had open under the old name closes");
        let renamed = file.find(secret.expose()).unwrap().unwrap();
        assert_eq!((renamed.id, renamed.scope.workspace.as_deref()), (own.id, Some("desk")));
        assert_eq!(file.revoke_workspace("phone").unwrap(), 0);
        assert_eq!(file.revoke_workspace("desk").unwrap(), 1);
        assert_eq!(file.find(secret.expose()).unwrap(), None);
        assert!(file.is_valid(&other).unwrap());
    }

    #[test]
    fn w9_a_label_or_a_workspace_that_the_daemon_would_refuse_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let file = AccessFile::open(&root.path().join("web")).unwrap();
        let labelled =
            |label: &str| NewIdentity { label: label.to_owned(), ..new(IdentityKind::Token, None) };
        for bad in ["", "say \"hi\"", "a\nb", &"x".repeat(65)] {
            assert_eq!(file.add(labelled(bad)).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{bad:?}");
        }
        let scope = Scope { workspace: Some("a\nb".to_owned()), ..Scope::default() };
        assert!(file.add(NewIdentity { scope, ..labelled("x") }).is_err());
        assert!(file.list().unwrap().is_empty());
    }

    #[test]
    fn w9_what_has_ended_is_nobody() {
        let root = tempfile::tempdir().unwrap();
        let file = AccessFile::open(&root.path().join("web")).unwrap();
        let (_, secret) = file.add(new(IdentityKind::Link, Some(0))).unwrap();
        assert_eq!(file.find(secret.expose()).unwrap(), None);
        assert!(file.list().unwrap().is_empty());
    }

    #[test]
    fn w9_a_directory_that_others_may_enter_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let open = root.path().join("open");
        DirBuilder::new().mode(0o755).create(&open).unwrap();
        assert!(AccessFile::open(&open).is_err());
    }
}

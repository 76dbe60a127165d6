//! The audit log of the server: who signed in, minted, revoked, and opened which process for how long. It has counts,
//! never text. The server writes it, and so does `qd access`, whose caller is the person at the machine. What callers do to
//! processes is in the daemon's own audit log.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use crate::clock::now_ms;
use crate::gateway::Shared;
use crate::identity::AccessIdentity;
use crate::private_file::{appended_file, private_file};

/// When the file is this long, it becomes the older half, and an earlier older half goes.
const MAX_LENGTH: u64 = 4 << 20; // 4 MiB

/// The file: one line of JSON per fact.
#[derive(Debug)]
pub struct AuditFile {
    path: PathBuf,
}

impl AuditFile {
    /// Opens the file in the directory of the server's files.
    #[must_use]
    pub fn open(directory: &Path) -> Self {
        Self { path: directory.join("audit.jsonl") }
    }

    /// Appends what a person did at the machine.
    pub fn note_desk(&self, what: &str, more: Value) {
        self.write(json!({"at": now_ms(), "who": "desk", "what": what}), more);
    }

    /// Appends that a person at the machine has minted an identity.
    pub fn note_desk_minted(&self, new: &AccessIdentity) {
        self.note_desk("minted", minted(new));
    }

    /// Appends a fact about a caller.
    pub(crate) fn note(&self, who: &AccessIdentity, what: &str, more: Value) {
        tracing::info!(who = who.id, what, "audited");
        let line =
            json!({"at": now_ms(), "who": who.id, "label": who.label, "role": who.scope.role, "what": what});
        self.write(line, more);
    }

    /// Appends that a caller has minted an identity.
    pub(crate) fn note_minted(&self, who: &AccessIdentity, new: &AccessIdentity) {
        self.note(who, "minted", minted(new));
    }

    fn write(&self, mut line: Value, more: Value) {
        if let (Some(line), Value::Object(more)) = (line.as_object_mut(), more) {
            line.extend(more);
        }
        // A log that cannot be written stops nobody; `qd doctor` reports a full disk.
        drop(self.append(&line.to_string()));
    }

    /// Appends a line. Another process may write as well, so the file is locked by a file beside it, which is never replaced.
    fn append(&self, line: &str) -> io::Result<()> {
        let lock = private_file(&self.path.with_extension("lock"))?;
        flock(&lock, FlockOperation::LockExclusive)?;
        if std::fs::metadata(&self.path).is_ok_and(|known| known.len() >= MAX_LENGTH) {
            std::fs::rename(&self.path, self.path.with_extension("old.jsonl"))?;
        }
        let mut file = appended_file(&self.path)?;
        file.write_all(format!("{line}\n").as_bytes())
    }
}

/// Returns what is written about a new identity.
fn minted(new: &AccessIdentity) -> Value {
    let mut facts = json!({"id": new.id, "kind": new.kind, "role_given": new.scope.role});
    if let Some(workspace) = &new.scope.workspace {
        facts["workspace"] = json!(workspace);
    }
    if let Some(target) = &new.scope.target {
        facts["target"] = json!(target);
    }
    facts
}

/// A process that a caller has open. It is written down when it begins and, with its length and the number of typed bytes,
/// when it is dropped.
#[derive(Debug)]
pub(crate) struct OpenProcess {
    gateway: Shared,
    who: AccessIdentity,
    process: String,
    began: Instant,
    typed: usize,
}

impl OpenProcess {
    pub(crate) fn begin(gateway: &Shared, who: &AccessIdentity, process: String, more: Value) -> Self {
        let mut facts = more;
        facts["process"] = json!(process);
        gateway.audit.note(who, "opened", facts);
        Self { gateway: gateway.clone(), who: who.clone(), process, began: Instant::now(), typed: 0 }
    }

    /// Counts bytes that the caller has typed.
    pub(crate) fn count_typed(&mut self, bytes: usize) {
        self.typed += bytes;
    }
}

impl Drop for OpenProcess {
    fn drop(&mut self) {
        let seconds = self.began.elapsed().as_secs();
        let facts = json!({"process": self.process, "seconds": seconds, "typed": self.typed});
        self.gateway.audit.note(&self.who, "left", facts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_writers_of_a_full_log_keep_every_line() {
        let root = tempfile::tempdir().unwrap();
        let (server, desk) = (AuditFile::open(root.path()), AuditFile::open(root.path()));
        let more = json!({"why": "x".repeat(1 << 10)});
        let lines = usize::try_from(MAX_LENGTH).unwrap() / (1 << 10) + 100;
        std::thread::scope(|scope| {
            for file in [&server, &desk] {
                let more = &more;
                scope.spawn(move || (0..lines / 2).for_each(|_| file.note_desk("minted", more.clone())));
            }
        });
        let read = |name: &str| std::fs::read_to_string(root.path().join(name)).unwrap();
        let count = |name: &str| read(name).lines().filter(|line| line.contains("minted")).count();
        assert_eq!(count("audit.old.jsonl") + count("audit.jsonl"), lines / 2 * 2);
        assert!(count("audit.jsonl") < lines / 2, "the log was not put away once");
    }
}

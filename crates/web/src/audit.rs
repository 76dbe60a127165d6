//! The audit log of the server: who signed in, minted, revoked, and opened which process for how long. It has counts,
//! never text. What callers do to processes is in the daemon's own audit log.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::clock::now_ms;
use crate::identity::AccessIdentity;

/// When the file is this long, it becomes the older half, and an earlier older half goes.
const MAX_LENGTH: u64 = 4 << 20; // 4 MiB

/// The file: one line of JSON per fact.
#[derive(Debug)]
pub(crate) struct AuditFile {
    path: PathBuf,
    writing: Mutex<()>,
}

impl AuditFile {
    pub(crate) fn open(directory: &Path) -> Self {
        Self { path: directory.join("audit.jsonl"), writing: Mutex::default() }
    }

    /// Appends a fact about a caller.
    pub(crate) fn note(&self, who: &AccessIdentity, what: &str, more: Value) {
        tracing::info!(who = who.id, what, "audited");
        let mut line =
            json!({"at": now_ms(), "who": who.id, "label": who.label, "role": who.scope.role, "what": what});
        if let (Some(line), Value::Object(more)) = (line.as_object_mut(), more) {
            line.extend(more);
        }
        // A log that cannot be written stops nobody; `qd doctor` reports a full disk.
        drop(self.append(&line.to_string()));
    }

    fn append(&self, line: &str) -> io::Result<()> {
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if std::fs::metadata(&self.path).is_ok_and(|known| known.len() >= MAX_LENGTH) {
            std::fs::rename(&self.path, self.path.with_extension("old.jsonl"))?;
        }
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path)?;
        file.write_all(format!("{line}\n").as_bytes())
    }
}

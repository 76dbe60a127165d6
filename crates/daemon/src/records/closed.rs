//! Entries that were closed: their ids stay in the database until their holders are gone.
//!
//! A daemon may die after a close is recorded and before the holder has its release. The next daemon must then
//! release that holder instead of taking the entry back from it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use engine::{Effect, RunKey};
use proto::{ProcessId, RunNumber};
use serde::{Deserialize, Serialize};
use store::{Change, StoredDocument};

/// The kind of these documents.
const CLOSED: &str = "closed";
/// How many entries are closed before the daemon forgets those whose holders are gone.
const ROUND: usize = 64;

/// How an entry was closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Closed {
    /// The run whose background jobs stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keeps_background_of: Option<RunNumber>,
}

impl Closed {
    /// Returns the runs whose background jobs a decision leaves alone.
    pub(crate) fn kept_backgrounds(effects: &[Effect]) -> Vec<RunKey> {
        let kept = effects.iter().filter_map(|effect| match effect {
            Effect::Release { run, end_tree: false, .. } => Some(*run),
            _ => None,
        });
        kept.collect()
    }

    /// Returns how an entry is closed by a decision that leaves these backgrounds alone.
    pub(crate) fn new(id: ProcessId, kept_backgrounds: &[RunKey]) -> Self {
        let kept = kept_backgrounds.iter().find(|run| run.process == id);
        Self { keeps_background_of: kept.map(|run| run.run) }
    }

    /// Returns true if the holder of this run ends what is left of its tree.
    pub(crate) fn ends_tree(self, run: RunKey) -> bool {
        self.keeps_background_of != Some(run.run)
    }
}

/// Returns the changes that remove an entry.
pub(crate) fn removal(id: ProcessId, closed: Closed) -> Vec<Change> {
    let removal = Change::RemoveProcess { id: id.to_string() };
    [Some(removal), super::put(CLOSED, id.to_string(), &closed)].into_iter().flatten().collect()
}

/// Returns the changes that forget closed entries.
pub(crate) fn forget(ids: impl IntoIterator<Item = ProcessId>) -> Vec<Change> {
    ids.into_iter().map(|id| super::drop_document(CLOSED, id.to_string())).collect()
}

/// Returns the closed entries among the documents. An unreadable one counts as closed with its tree.
pub(super) fn among(documents: &[StoredDocument]) -> HashMap<ProcessId, Closed> {
    let closed = documents.iter().filter(|stored| stored.kind == CLOSED);
    let read = |stored: &StoredDocument| {
        Some((stored.id.parse().ok()?, serde_json::from_str(&stored.document).unwrap_or_default()))
    };
    closed.filter_map(read).collect()
}

/// The entries that this daemon has closed and not forgotten.
#[derive(Default)]
pub(crate) struct ClosedEntries {
    ids: Mutex<Vec<ProcessId>>,
}

impl ClosedEntries {
    /// Adds an entry. Every few entries, returns those of which no socket is left in the directory of the holders.
    pub(crate) fn add(&self, id: ProcessId, holders: &Path) -> Vec<ProcessId> {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.push(id);
        if !ids.len().is_multiple_of(ROUND) {
            return Vec::new();
        }
        let Ok(sockets) = std::fs::read_dir(holders) else { return Vec::new() };
        let sockets = sockets.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let held: Vec<String> = sockets.collect();
        let is_held = |id: &ProcessId| held.iter().any(|socket| socket.starts_with(&id.to_string()));
        let (kept, gone) = ids.drain(..).partition(is_held);
        *ids = kept;
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m7f_a_closed_entry_is_forgotten_when_its_socket_is_gone() {
        let holders = tempfile::tempdir().unwrap();
        let ids: Vec<ProcessId> = (1..=ROUND as u64).map(ProcessId::from_entropy).collect();
        std::fs::write(holders.path().join(format!("{}.2", ids[7])), "").unwrap();
        let entries = ClosedEntries::default();
        for id in &ids[..ROUND - 1] {
            assert_eq!(entries.add(*id, holders.path()), []);
        }
        let gone = entries.add(ids[ROUND - 1], holders.path());
        assert_eq!(gone.len(), ROUND - 1);
        assert!(!gone.contains(&ids[7]), "its holder may still be there");
    }

    #[test]
    fn m7f_a_close_that_keeps_the_background_keeps_it_for_that_run_alone() {
        let id = ProcessId::from_entropy(1);
        let run = |number| RunKey::new(id, RunNumber(number));
        let release = |number, end_tree| Effect::Release { run: run(number), end_tree, reason: "closed" };
        let kept = Closed::kept_backgrounds(&[release(1, true), release(2, false)]);
        let closed = Closed::new(id, &kept);
        assert_eq!((closed.ends_tree(run(1)), closed.ends_tree(run(2))), (true, false));
        assert!(Closed::new(ProcessId::from_entropy(2), &kept).ends_tree(run(2)));
        let document = serde_json::to_string(&closed).unwrap();
        let stored = StoredDocument { kind: CLOSED.to_owned(), id: id.to_string(), document };
        assert_eq!(among(&[stored]), HashMap::from([(id, closed)]));
    }
}

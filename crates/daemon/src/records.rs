//! The store's own thread: batches in, acks out, and patience with a full disk.
//!
//! Owns the database while the daemon runs. Refuses losing a record: what could not be written is kept and written
//! with the next batch, and the user is told in `status`.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::{Counters, Record, Saved};
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::{Change, Store};
use tokio::sync::oneshot;

/// Batches that may wait. Full-queue policy: the desk waits.
const BATCHES: usize = 64;
/// How often a failed write is tried again while nothing new comes.
const RETRY: Duration = Duration::from_secs(2);
/// Changes kept while the disk refuses them; older states of the same process are replaced first.
const MAX_KEPT: usize = 10_000;

struct Batch {
    changes: Vec<Change>,
    ack: oneshot::Sender<()>,
}

/// What the user should know, shown in `status`.
pub(crate) type Warnings = Arc<Mutex<Vec<String>>>;

/// The way to the store's thread.
#[derive(Clone)]
pub(crate) struct Records {
    batches: SyncSender<Batch>,
}

impl Records {
    /// Gives the database its thread.
    pub(crate) fn start(store: Store, warnings: Warnings) -> std::io::Result<Self> {
        let (batches, queue) = sync_channel(BATCHES);
        std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || Keeper { store, warnings }.work(&queue))?;
        Ok(Self { batches })
    }

    /// Makes records durable; returns when they are, or when they are kept because the disk refuses them.
    pub(crate) async fn keep(&self, records: Vec<Record>) {
        let (ack, done) = oneshot::channel();
        let changes = records.into_iter().filter_map(change).collect();
        if self.batches.send(Batch { changes, ack }).is_ok() {
            // The thread ends only with the daemon.
            let _was_done = done.await;
        }
    }
}

fn change(record: Record) -> Option<Change> {
    match record {
        Record::Put(process) => {
            let document = serde_json::to_string(&*process).ok()?;
            Some(Change::PutProcess { id: process.id.to_string(), document })
        }
        Record::Remove(id) => Some(Change::RemoveProcess { id: id.to_string() }),
        Record::PutMail(mail) => {
            let document = serde_json::to_string(&*mail).ok()?;
            Some(Change::PutMail { id: row(mail.id.0)?, document })
        }
        Record::RemoveMail(id) => Some(Change::RemoveMail { id: row(id.0)? }),
        Record::PutTurn(turn) => {
            let document = serde_json::to_string(&*turn).ok()?;
            Some(Change::PutTurn { process: turn.id.to_string(), turn: row(turn.turn)?, document })
        }
        Record::RemoveTurn { process, turn } => {
            Some(Change::RemoveTurn { process: process.to_string(), turn: row(turn)? })
        }
        Record::PutTimer(timer) => put(TIMER, timer.timer.to_string(), &*timer),
        Record::RemoveTimer(timer) => Some(drop_document(TIMER, timer.to_string())),
        Record::PutGrant(grant) => put(GRANT, grant.grant.to_string(), &grant),
        Record::RemoveGrant(grant) => Some(drop_document(GRANT, grant.to_string())),
        Record::PutTrust(trust) => put(TRUST, trust.digest.clone(), &*trust),
        Record::RemoveTrust(digest) => Some(drop_document(TRUST, digest)),
        Record::PutQuestion(question) => put(QUESTION, question.view.item.to_string(), &*question),
        Record::RemoveQuestion(item) => Some(drop_document(QUESTION, item.to_string())),
        Record::Counters(counters) => {
            let value = serde_json::to_string(&counters).ok()?;
            Some(Change::Setting { key: COUNTERS.to_owned(), value })
        }
    }
}

/// Kinds of documents.
const TIMER: &str = "timer";
const GRANT: &str = "grant";
const TRUST: &str = "trust";
const QUESTION: &str = "question";

fn put(kind: &'static str, id: String, what: &impl Serialize) -> Option<Change> {
    let document = serde_json::to_string(what).ok()?;
    Some(Change::PutDocument { kind, id, document })
}

fn drop_document(kind: &'static str, id: String) -> Change {
    Change::RemoveDocument { kind, id }
}

/// A number as the database holds it.
fn row(number: u64) -> Option<i64> {
    i64::try_from(number).ok()
}

/// The setting that holds the numbers that were given out.
const COUNTERS: &str = "counters";

/// What an earlier daemon left. A document that does not read is left where it is and told.
pub(crate) fn load(store: &Store, warnings: &Warnings) -> Result<Saved, store::StoreError> {
    let contents = store.load()?;
    let reader = Reader { warnings };
    let read = |(id, document): (String, String)| reader.read(&id, &document);
    let processes = contents.processes.into_iter().filter_map(read).collect();
    let mail = contents.mail.into_iter();
    let mail = mail.filter_map(|(id, document)| reader.read(&format!("message {id}"), &document)).collect();
    let turns = contents.turns.into_iter();
    let turns = turns
        .filter_map(|(id, turn, document)| reader.read(&format!("turn {turn} of {id}"), &document))
        .collect();
    let counters = contents.settings.iter().find(|(key, _)| key == COUNTERS);
    let counters: Option<Counters> = counters.and_then(|(key, value)| reader.read(key, value));
    let documents = contents.documents;
    Ok(Saved {
        processes,
        mail,
        turns,
        timers: reader.of_kind(&documents, TIMER),
        grants: reader.of_kind(&documents, GRANT),
        trusts: reader.of_kind(&documents, TRUST),
        questions: reader.of_kind(&documents, QUESTION),
        counters: counters.unwrap_or_default(),
    })
}

struct Reader<'a> {
    warnings: &'a Warnings,
}

impl Reader<'_> {
    fn of_kind<T: DeserializeOwned>(&self, documents: &[(String, String, String)], kind: &str) -> Vec<T> {
        let own = documents.iter().filter(|(found, _, _)| found == kind);
        own.filter_map(|(_, id, document)| self.read(&format!("{kind} {id}"), document)).collect()
    }

    fn read<T: DeserializeOwned>(&self, what: &str, document: &str) -> Option<T> {
        match serde_json::from_str(document) {
            Ok(record) => Some(record),
            Err(error) => {
                warn(self.warnings, format!("the record of {what} does not read and was skipped: {error}"));
                None
            }
        }
    }
}

/// Adds a warning once.
pub(crate) fn warn(warnings: &Warnings, text: String) {
    let mut all = warnings.lock().unwrap_or_else(PoisonError::into_inner);
    if !all.contains(&text) {
        tracing::warn!("{text}");
        all.push(text);
    }
}

struct Keeper {
    store: Store,
    warnings: Warnings,
}

impl Keeper {
    fn work(mut self, queue: &Receiver<Batch>) {
        let mut kept: Vec<Change> = Vec::new();
        loop {
            let batch = if kept.is_empty() {
                queue.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                queue.recv_timeout(RETRY)
            };
            match batch {
                Ok(batch) => {
                    kept.extend(batch.changes);
                    kept = self.write(kept);
                    // Whoever asked may have gone.
                    let _gone = batch.ack.send(());
                }
                Err(RecvTimeoutError::Timeout) => kept = self.write(kept),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Writes what it can; what is left to be tried again.
    fn write(&mut self, mut changes: Vec<Change>) -> Vec<Change> {
        match self.store.apply(&changes) {
            Ok(()) => {
                let mut all = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
                all.retain(|warning| !warning.starts_with(UNWRITTEN));
                Vec::new()
            }
            Err(error) => {
                warn(&self.warnings, format!("{UNWRITTEN}{error}"));
                let excess = changes.len().saturating_sub(MAX_KEPT);
                changes.drain(..excess);
                changes
            }
        }
    }
}

/// How the warning about a refused write begins; it goes when a write succeeds.
const UNWRITTEN: &str = "state is not being saved: ";

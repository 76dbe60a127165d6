//! The handle of the store's thread: batches in, acks out, with retries while the disk is full.
//!
//! No record is lost in silence: what could not be written is kept and written with the next batch, and
//! `status` shows a warning, also about what had to be dropped.
//!
//! | file | what it has |
//! |---|---|
//! | `store_thread` | the thread: the database, and what the disk has refused so far |
//! | `refusal_limiter` | counts refusals that repeat |
//! | `pages` | pages of the audit log for a reader, off the thread |
//! | `unsaved` | why something was not stored, and its caller's error |
//! | `closed` | ids of closed entries, kept until their holders are gone |

pub(crate) mod closed;
mod pages;
mod refusal_limiter;
mod store_thread;
mod unsaved;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};

use engine::{AuditNote, Caller, Counters, Record, Saved};
use proto::audit::AuditPage;
use proto::request::Audit;
use proto::rights::PERSON;
use proto::{ErrorCode, Failure, Printable, ProcessId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::{AuditRow, Change, Store, StoreError, StoredDocument};
use tokio::sync::{Semaphore, oneshot, watch};

use self::closed::Closed;
use self::store_thread::{StoreJob, StoreThread};
pub(crate) use self::unsaved::Unsaved;
use crate::database_origin::RecordedOrigin;
use crate::warnings::{Cause, Warnings};

/// The most batches and queries that wait. When the queue is full, the caller waits.
const JOBS: usize = 64;

/// What happens to changes that the store refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Otherwise {
    /// They are kept in memory and written with the next batch.
    Retry,
    /// They are dropped: the caller undoes the decision.
    Forget,
}

/// Changes on their way to the disk.
pub(crate) struct Saving(oneshot::Receiver<Result<(), Unsaved>>);

impl Saving {
    /// Returns when they are durable, or when the store has refused them.
    pub(crate) async fn end(self) -> Result<(), Unsaved> {
        // The thread ends only with the daemon, which stores nothing more.
        self.0.await.unwrap_or_else(|_| Err(Unsaved::ending()))
    }
}

/// The handle of the store's thread.
#[derive(Clone)]
pub(crate) struct Records {
    jobs: SyncSender<StoreJob>,
    /// Allows one reader of the audit log at a time, because checking a long chain keeps a processor busy.
    reading: Arc<Semaphore>,
    /// Whether the disk has refused changes that are not written yet.
    is_behind: watch::Receiver<bool>,
}

impl Records {
    /// Starts the database's thread.
    pub(crate) fn start(store: Store, warnings: Warnings) -> std::io::Result<Self> {
        let (jobs, queue) = sync_channel(JOBS);
        let (behind, is_behind) = watch::channel(false);
        std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || StoreThread::new(store, warnings, behind).work(&queue))?;
        Ok(Self { jobs, reading: Arc::new(Semaphore::new(1)), is_behind })
    }

    /// Waits until everything that the disk has refused is written.
    pub(crate) async fn caught_up(&self) {
        let mut is_behind = self.is_behind.clone();
        // The thread ends only with the daemon.
        let _is_written = is_behind.wait_for(|is_behind| !is_behind).await;
    }

    /// Makes changes durable; returns when they are, or when the store has refused them.
    pub(crate) async fn keep(&self, changes: Vec<Change>, otherwise: Otherwise) -> Result<(), Unsaved> {
        self.begin(changes, otherwise).await.end().await
    }

    /// Gives changes to the store's thread without waiting for it. Changes are written in the order in which they
    /// were given.
    pub(crate) async fn begin(&self, changes: Vec<Change>, otherwise: Otherwise) -> Saving {
        let (ack, done) = oneshot::channel();
        self.post(StoreJob::Batch(changes, otherwise, ack)).await;
        Saving(done)
    }

    /// Writes an audit row for a decision outside of the engine; returns when it is written.
    pub(crate) async fn note(&self, note: AuditNote) {
        // A row that the disk refuses is retried; what it records has happened.
        let _may_come_later = self.keep(vec![audit(note)], Otherwise::Retry).await;
    }

    /// The same for callers that cannot wait, because they are being dropped.
    pub(crate) fn note_soon(&self, note: AuditNote) {
        let records = self.clone();
        // Without a runtime the daemon has ended, and its store with it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            drop(runtime.spawn(async move { records.note(note).await }));
        }
    }

    /// Reads a page of the audit log.
    pub(crate) async fn audit_page(&self, request: Audit) -> Result<AuditPage, Failure> {
        let ending = || Failure::new(ErrorCode::ShuttingDown, "Quarterdeck is shutting down");
        let unreadable = |error: StoreError| Failure::new(ErrorCode::Internal, error.to_string());
        let permit = Arc::clone(&self.reading).acquire_owned().await.map_err(|_| ending())?;
        let (reply, look) = oneshot::channel();
        self.post(StoreJob::Audit(request, reply)).await;
        let look = look.await.map_err(|_| ending())?.map_err(unreadable)?;
        let page = crate::threads::run(move || {
            let page = pages::page(look, &request);
            // The caller may be gone; the next reader waits for the work, not for the caller.
            drop(permit);
            page
        });
        page.await.map_err(|error| Failure::new(ErrorCode::Internal, error.to_string()))?.map_err(unreadable)
    }

    /// Closes the database, so that its file is complete without its log. Nothing is stored after this.
    pub(crate) async fn close(&self) {
        let (ack, done) = oneshot::channel();
        self.post(StoreJob::Close(ack)).await;
        let _was_done = done.await;
    }

    /// Sends a job. If the queue is full, it waits on a thread that may block.
    async fn post(&self, job: StoreJob) {
        if let Err(TrySendError::Full(job)) = self.jobs.try_send(job) {
            let jobs = self.jobs.clone();
            // The thread ends only with the daemon.
            let _was_taken = crate::threads::run(move || jobs.send(job)).await;
        }
    }
}

/// Returns a decision as a row of the audit log, in which nothing is invisible.
pub(crate) fn audit(note: AuditNote) -> Change {
    let printable = |text: &str| Printable(text).to_string();
    let caller = match note.caller {
        None => "quarterdeck".to_owned(),
        Some(caller) if caller.is_person() && note.via.is_some() => {
            format!("person via {}", note.via.unwrap_or_default())
        }
        Some(Caller::Person | Caller::Via(_)) => PERSON.to_owned(),
        Some(Caller::Nobody) => "nobody".to_owned(),
        Some(Caller::Process(run)) => format!("{}.{}", run.process, run.run),
    };
    Change::Audit(AuditRow {
        at_ms: i64::try_from(crate::clock::now().wall_ms).unwrap_or(i64::MAX),
        caller: printable(&caller),
        verb: note.verb.to_owned(),
        target: note.target.as_deref().map(printable),
        decision: printable(&note.decision),
        detail: printable(&note.detail),
        hash: String::new(),
    })
}

/// Returns a record as a change for the store.
pub(crate) fn change(record: Record) -> Option<Change> {
    match record {
        Record::Put(process) => {
            let document = serde_json::to_string(&*process).ok()?;
            Some(Change::PutProcess { id: process.id.to_string(), document })
        }
        // Its changes come from `closed::removal`.
        Record::Remove(_) => None,
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
        Record::PutTask(task) => put(TASK, task.id.to_string(), &*task),
        Record::RemoveTask(task) => Some(drop_document(TASK, task.to_string())),
        Record::PutWorkspace(workspace) => put(WORKSPACE, workspace.name.clone(), &*workspace),
        Record::RemoveWorkspace(name) => Some(drop_document(WORKSPACE, name)),
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
const TASK: &str = "task";
const WORKSPACE: &str = "workspace";

fn put(kind: &'static str, id: String, what: &impl Serialize) -> Option<Change> {
    let document = serde_json::to_string(what).ok()?;
    Some(Change::PutDocument { kind, id, document })
}

fn drop_document(kind: &'static str, id: String) -> Change {
    Change::RemoveDocument { kind, id }
}

/// Returns a number as the database holds it.
fn row(number: u64) -> Option<i64> {
    i64::try_from(number).ok()
}

/// The setting with the counters of assigned numbers.
const COUNTERS: &str = "counters";

/// What an earlier daemon left.
pub(crate) struct Loaded {
    pub(crate) saved: Saved,
    /// Entries that were closed and whose holders may still be there.
    pub(crate) closed: HashMap<ProcessId, Closed>,
    /// Where the database was made, as far as it says so.
    pub(crate) origin: RecordedOrigin,
}

/// Loads what an earlier daemon left. A document that cannot be parsed stays where it is and becomes a
/// warning.
pub(crate) fn load(store: &Store, warnings: &Warnings) -> Result<Loaded, store::StoreError> {
    let contents = store.load()?;
    let origin = RecordedOrigin::of(&contents);
    let reader = Reader { warnings };
    let read = |(id, document): (String, String)| reader.read(&id, &document);
    let processes = contents.processes.into_iter().filter_map(read).collect();
    let mail = contents.mail.into_iter();
    let mail = mail.filter_map(|(id, document)| reader.read(&format!("message {id}"), &document)).collect();
    let turns = contents.turns.into_iter();
    let turns = turns
        .filter_map(|stored| {
            reader.read(&format!("turn {} of {}", stored.turn, stored.process), &stored.document)
        })
        .collect();
    let counters = contents.settings.iter().find(|(key, _)| key == COUNTERS);
    let counters: Option<Counters> = counters.and_then(|(key, value)| reader.read(key, value));
    let documents = contents.documents;
    let closed = closed::among(&documents);
    let saved = Saved {
        processes,
        mail,
        turns,
        timers: reader.of_kind(&documents, TIMER),
        grants: reader.of_kind(&documents, GRANT),
        trusts: reader.of_kind(&documents, TRUST),
        questions: reader.of_kind(&documents, QUESTION),
        tasks: reader.of_kind(&documents, TASK),
        workspaces: reader.of_kind(&documents, WORKSPACE),
        counters: counters.unwrap_or_default(),
    };
    Ok(Loaded { saved, closed, origin })
}

struct Reader<'a> {
    warnings: &'a Warnings,
}

impl Reader<'_> {
    fn of_kind<T: DeserializeOwned>(&self, documents: &[StoredDocument], kind: &str) -> Vec<T> {
        let own = documents.iter().filter(|stored| stored.kind == kind);
        own.filter_map(|stored| self.read(&format!("{kind} {}", stored.id), &stored.document)).collect()
    }

    fn read<T: DeserializeOwned>(&self, what: &str, document: &str) -> Option<T> {
        match serde_json::from_str(document) {
            Ok(record) => Some(record),
            Err(error) => {
                let text = format!("the record of {what} cannot be read and was skipped: {error}");
                self.warnings.set(Cause::Record(what.to_owned()), text);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;

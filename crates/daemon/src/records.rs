//! The store's own thread: batches in, acks out, and patience with a full disk.
//!
//! Owns the database while the daemon runs. Refuses losing a record: what could not be written is kept and written
//! with the next batch, and the user is told in `status`.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::{AuditNote, Caller, Counters, Record, Saved};
use proto::crew::{AuditEntry, AuditPage, AuditVerdict};
use proto::request::Audit;
use proto::{ErrorCode, Failure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::{AuditCheck, AuditRow, Change, Store, StoreError};
use tokio::sync::oneshot;

/// Batches and questions that may wait. Full-queue policy: whoever brings one waits.
const JOBS: usize = 64;
/// How often a failed write is tried again while nothing new comes.
const RETRY: Duration = Duration::from_secs(2);
/// Changes kept while the disk refuses them; older states of the same process are replaced first.
const MAX_KEPT: usize = 10_000;

/// Rows of the audit log in one answer when nothing is said, and at most.
const ROWS: std::ops::RangeInclusive<u32> = 200..=10_000;
/// Bytes of rows in one answer: a line of the protocol has at most 4 MiB.
const MAX_PAGE: usize = 3 << 20; // 3 MiB

enum Job {
    /// Make these durable, then say so.
    Batch(Vec<Change>, oneshot::Sender<()>),
    /// What the audit log says, everything before it included.
    Audit(Audit, oneshot::Sender<Result<AuditPage, StoreError>>),
    /// Close the database, then say so.
    Close(oneshot::Sender<()>),
}

/// What the user should know, shown in `status`.
pub(crate) type Warnings = Arc<Mutex<Vec<String>>>;

/// The way to the store's thread.
#[derive(Clone)]
pub(crate) struct Records {
    jobs: SyncSender<Job>,
}

impl Records {
    /// Gives the database its thread.
    pub(crate) fn start(store: Store, warnings: Warnings) -> std::io::Result<Self> {
        let (jobs, queue) = sync_channel(JOBS);
        std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || Keeper { store, warnings }.work(&queue))?;
        Ok(Self { jobs })
    }

    /// Makes changes durable; returns when they are, or when they are kept because the disk refuses them.
    pub(crate) async fn keep(&self, changes: Vec<Change>) {
        let (ack, done) = oneshot::channel();
        self.post(Job::Batch(changes, ack)).await;
        // The thread ends only with the daemon.
        let _was_done = done.await;
    }

    /// Writes down what was decided outside of the engine; returns when it is written.
    pub(crate) async fn note(&self, note: AuditNote) {
        self.keep(vec![audit(note)]).await;
    }

    /// The same for those who cannot wait, because they are being given up.
    pub(crate) fn note_soon(&self, note: AuditNote) {
        let records = self.clone();
        // Without a runtime the daemon has ended, and its store with it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            drop(runtime.spawn(async move { records.note(note).await }));
        }
    }

    /// What the audit log says.
    pub(crate) async fn audit_page(&self, wish: Audit) -> Result<AuditPage, Failure> {
        let (reply, page) = oneshot::channel();
        self.post(Job::Audit(wish, reply)).await;
        let ending = |_| Failure::new(ErrorCode::ShuttingDown, "Quarterdeck is shutting down");
        let unreadable = |error: StoreError| Failure::new(ErrorCode::Internal, error.to_string());
        page.await.map_err(ending)?.map_err(unreadable)
    }

    /// Closes the database, so that its file stands alone. Nothing is kept any more after this.
    pub(crate) async fn close(&self) {
        let (ack, done) = oneshot::channel();
        self.post(Job::Close(ack)).await;
        let _was_done = done.await;
    }

    /// Hands a job over. A full queue is waited for where waiting blocks nobody else.
    async fn post(&self, job: Job) {
        if let Err(TrySendError::Full(job)) = self.jobs.try_send(job) {
            let jobs = self.jobs.clone();
            // The thread ends only with the daemon.
            let _was_taken = tokio::task::spawn_blocking(move || jobs.send(job)).await;
        }
    }
}

/// A decision as a row of the audit log.
pub(crate) fn audit(note: AuditNote) -> Change {
    let caller = match note.caller {
        None => "quarterdeck".to_owned(),
        Some(Caller::Human) => "human".to_owned(),
        Some(Caller::Nobody) => "nobody".to_owned(),
        Some(Caller::Process(run)) => format!("{}.{}", run.process, run.run),
    };
    Change::Audit(AuditRow {
        at_ms: i64::try_from(crate::clock::now().wall_ms).unwrap_or(i64::MAX),
        caller,
        verb: note.verb.to_owned(),
        target: note.target,
        decision: note.decision,
        detail: note.detail,
        hash: String::new(),
    })
}

/// A record as the store takes it.
pub(crate) fn change(record: Record) -> Option<Change> {
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
    fn work(mut self, queue: &Receiver<Job>) {
        let mut kept: Vec<Change> = Vec::new();
        loop {
            let job = if kept.is_empty() {
                queue.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                queue.recv_timeout(RETRY)
            };
            match job {
                Ok(Job::Batch(changes, ack)) => {
                    kept.extend(changes);
                    kept = self.write(kept);
                    // Whoever asked may have gone.
                    let _gone = ack.send(());
                }
                Ok(Job::Audit(wish, reply)) => {
                    let _gone = reply.send(self.audit_page(wish));
                }
                Ok(Job::Close(ack)) => {
                    self.write(kept);
                    drop(self.store);
                    let _gone = ack.send(());
                    return;
                }
                Err(RecvTimeoutError::Timeout) => kept = self.write(kept),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn audit_page(&self, wish: Audit) -> Result<AuditPage, StoreError> {
        let since = i64::try_from(wish.since).unwrap_or(i64::MAX);
        let limit = wish.limit.unwrap_or(*ROWS.start()).min(*ROWS.end());
        let rows = self.store.audit_rows(since, limit as usize)?;
        let mut room = MAX_PAGE;
        let fits = |entry: &AuditEntry| {
            let length = serde_json::to_string(entry).map_or(0, |text| text.len());
            room.checked_sub(length).map(|left| room = left).is_some()
        };
        let newest = rows.into_iter().rev().map(entry);
        let mut rows: Vec<AuditEntry> = newest.take_while(fits).collect();
        rows.reverse();
        let verified = wish.verify.then(|| self.store.verify_audit().map(verdict)).transpose()?;
        Ok(AuditPage { rows, verified })
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

fn entry(row: AuditRow) -> AuditEntry {
    AuditEntry {
        at: u64::try_from(row.at_ms).unwrap_or(0),
        caller: row.caller,
        verb: row.verb,
        target: row.target,
        decision: row.decision,
        detail: row.detail,
        hash: row.hash,
    }
}

fn verdict(check: AuditCheck) -> AuditVerdict {
    match check {
        AuditCheck::Intact { rows, head } => AuditVerdict::Intact { rows, head },
        AuditCheck::Broken { row, reason } => AuditVerdict::Broken { row, reason },
    }
}

/// How the warning about a refused write begins; it goes when a write succeeds.
const UNWRITTEN: &str = "state is not being saved: ";

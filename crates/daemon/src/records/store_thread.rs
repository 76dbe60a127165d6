//! The body of the store's thread: the database while the daemon runs, and what could not be written yet. A
//! panic of it ends the daemon: an acknowledged record must be reliable, and the next daemon adopts
//! everything.

use std::collections::HashSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use proto::request::Audit;
use store::{AuditReader, AuditRow, Change, Store, StoreError};
use tokio::sync::{oneshot, watch};

use super::Otherwise;
use super::refusal_limiter::RefusalLimiter;
use super::unsaved::Unsaved;
use crate::clock;
use crate::failpoint::{self, Failpoint};
use crate::warnings::{Cause, Warnings};

/// How often a failed write is retried while nothing new comes.
const RETRY: Duration = Duration::from_secs(2);
/// How long a write waits for another program that has the database locked: every decision waits with it.
const LOCK_TIMEOUT: Duration = Duration::from_millis(500);
/// How long it waits after a refused write, so that the next caller gets its error soon.
const SHORT_LOCK_TIMEOUT: Duration = Duration::from_millis(50);
/// The most changes that are kept while the disk refuses them, not counting older states of the same record.
const MAX_KEPT: usize = 10_000;

/// How the warning about a refused write begins; it is removed when a write succeeds.
const UNWRITTEN: &str = "state is not being saved: ";
/// How the warning about dropped changes begins; it stays.
const GIVEN_UP: &str = "the disk refused too much for too long: ";

pub(super) enum StoreJob {
    /// Make these durable, then acknowledge; or return the reason why not.
    Batch(Vec<Change>, Otherwise, oneshot::Sender<Result<(), Unsaved>>),
    /// A reader of the audit log, with everything before it included.
    Audit(Audit, oneshot::Sender<Result<AuditQuery, StoreError>>),
    /// Close the database, then acknowledge.
    Close(oneshot::Sender<()>),
}

/// Access to the audit log.
pub(super) enum AuditQuery {
    /// For another thread, with the rows that the disk refuses so far.
    Beside(AuditReader, Vec<AuditRow>),
    /// From a database that only this thread can read: its content.
    Inside(Vec<AuditRow>, Option<store::AuditCheck>),
}

pub(super) struct StoreThread {
    pub(super) store: Store,
    pub(super) warnings: Warnings,
    pub(super) refusal_limiter: RefusalLimiter,
    /// What the disk has refused so far.
    kept: Vec<Change>,
    /// Changes dropped since the last successful write, and in all.
    given_up: (u64, u64),
    /// Whether the last write was refused.
    behind: watch::Sender<bool>,
}

impl StoreThread {
    pub(super) fn new(store: Store, warnings: Warnings, behind: watch::Sender<bool>) -> Self {
        store.wait_for_others(LOCK_TIMEOUT);
        Self {
            behind,
            store,
            warnings,
            refusal_limiter: RefusalLimiter::default(),
            kept: Vec::new(),
            given_up: (0, 0),
        }
    }

    pub(super) fn work(mut self, queue: &Receiver<StoreJob>) {
        let _guard = EndsTheDaemon;
        loop {
            let job = match self.next_look() {
                None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(pause) => queue.recv_timeout(pause),
            };
            match job {
                Ok(StoreJob::Batch(changes, otherwise, ack)) => {
                    // The caller may have gone.
                    let _gone = ack.send(self.keep(changes, otherwise));
                }
                Ok(StoreJob::Audit(request, reply)) => {
                    let _gone = reply.send(self.query_audit(&request));
                }
                Ok(StoreJob::Close(ack)) => {
                    self.kept.extend(self.refusal_limiter.all(Instant::now()));
                    self.write_or_retry();
                    drop(self.store);
                    let _gone = ack.send(());
                    return;
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.kept.extend(self.refusal_limiter.due(Instant::now()));
                    self.write_or_retry();
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Returns the time until there is something to do without a new job.
    fn next_look(&self) -> Option<Duration> {
        let due = self.refusal_limiter.due_at().map(|due| due.saturating_duration_since(Instant::now()));
        let retry = (!self.kept.is_empty()).then_some(RETRY);
        [due, retry].into_iter().flatten().min()
    }

    /// Writes a batch after everything that was refused before it.
    fn keep(&mut self, changes: Vec<Change>, otherwise: Otherwise) -> Result<(), Unsaved> {
        let before = self.kept.len();
        self.take(changes);
        let written = self.write();
        if let Err(unsaved) = &written {
            if otherwise == Otherwise::Forget {
                let forgotten = self.kept.split_off(before.min(self.kept.len()));
                self.note_refusal(forgotten, unsaved);
            }
            self.tighten();
        }
        written
    }

    /// Keeps the audit rows of a command that was not done, with the reason. There is always one, so that the
    /// store is retried and the warning goes when there is room.
    fn note_refusal(&mut self, forgotten: Vec<Change>, unsaved: &Unsaved) {
        let (decision, now) = (unsaved.decision(), Instant::now());
        let asked = forgotten.into_iter().filter_map(|change| match change {
            Change::Audit(row) => Some(AuditRow { decision: decision.to_owned(), ..row }),
            _ => None,
        });
        let mut rows: Vec<AuditRow> = asked.collect();
        rows.retain(|row| self.refusal_limiter.admits(row, now));
        if rows.is_empty() && self.kept.is_empty() {
            rows.push(save_row(decision, unsaved.to_string()));
        }
        self.kept.extend(rows.into_iter().map(Change::Audit));
    }

    /// Adds a batch. Refusals that repeat are counted instead.
    fn take(&mut self, mut changes: Vec<Change>) {
        let now = Instant::now();
        changes.retain(|change| match change {
            Change::Audit(row) => self.refusal_limiter.admits(row, now),
            _ => true,
        });
        self.kept.append(&mut changes);
    }

    fn query_audit(&mut self, request: &Audit) -> Result<AuditQuery, StoreError> {
        self.kept.extend(self.refusal_limiter.all(Instant::now()));
        self.write_or_retry();
        if let Some(reader) = self.store.audit_reader()? {
            let refused = self.kept.iter().filter_map(|change| match change {
                Change::Audit(row) => Some(row.clone()),
                _ => None,
            });
            return Ok(AuditQuery::Beside(reader, refused.collect()));
        }
        let rows = self.store.audit_rows(super::pages::since(request), super::pages::limit(request))?;
        let check = request.verify.then(|| self.store.verify_audit()).transpose()?;
        Ok(AuditQuery::Inside(rows, check))
    }

    /// Writes what is kept; what the disk refuses stays kept and is retried.
    fn write_or_retry(&mut self) {
        if self.write().is_err() {
            self.tighten();
        }
    }

    /// Writes what is kept, all of it or nothing.
    fn write(&mut self) -> Result<(), Unsaved> {
        if self.kept.is_empty() {
            return Ok(());
        }
        let loss = (self.given_up.0 > 0).then(|| loss(self.given_up.0));
        self.kept.extend(loss.clone());
        failpoint::stay("uncommitted");
        failpoint::pass(Failpoint::BeforeCommit);
        match self.store.apply(&self.kept) {
            Ok(()) => {
                failpoint::pass(Failpoint::AfterCommit);
                self.kept = Vec::new();
                self.given_up.0 = 0;
                self.warnings.clear(&Cause::StoreRefuses);
                self.store.wait_for_others(LOCK_TIMEOUT);
                self.behind.send_replace(false);
                Ok(())
            }
            Err(error) => {
                self.warn_unwritten(&error);
                if loss.is_some() {
                    self.kept.pop();
                }
                self.store.wait_for_others(SHORT_LOCK_TIMEOUT);
                self.behind.send_replace(true);
                Err(Unsaved::new(&error))
            }
        }
    }

    /// Keeps only the newest state of each record, up to the limit.
    fn tighten(&mut self) {
        newest(&mut self.kept);
        let excess = self.kept.len().saturating_sub(MAX_KEPT);
        if excess == 0 {
            return;
        }
        give_up(&mut self.kept, excess);
        let excess = excess as u64;
        self.given_up = (self.given_up.0 + excess, self.given_up.1 + excess);
        let text = format!("{GIVEN_UP}{} older changes were given up", self.given_up.1);
        self.warnings.set(Cause::StoreGaveUp, text);
    }

    /// Replaces the warning about writing by the newest reason.
    fn warn_unwritten(&self, error: &StoreError) {
        self.warnings.set(Cause::StoreRefuses, format!("{UNWRITTEN}{error}"));
    }
}

/// Returns the row that records how much the log lacks.
fn loss(count: u64) -> Change {
    let detail = format!("{count} changes and rows that the disk refused were given up");
    Change::Audit(save_row("lost", detail))
}

/// Returns a row about saving itself.
fn save_row(decision: &str, detail: String) -> AuditRow {
    AuditRow {
        at_ms: i64::try_from(clock::now().wall_ms).unwrap_or(i64::MAX),
        caller: "quarterdeck".to_owned(),
        verb: "save".to_owned(),
        target: None,
        decision: decision.to_owned(),
        detail,
        hash: String::new(),
    }
}

/// The record that a change is about: a later change to the same record replaces it.
#[derive(PartialEq, Eq, Hash)]
enum RecordKey {
    Process(String),
    Mail(i64),
    Turn(String, i64),
    Document(&'static str, String),
    Setting(String),
}

fn about(change: &Change) -> Option<RecordKey> {
    Some(match change {
        Change::PutProcess { id, .. } | Change::RemoveProcess { id } => RecordKey::Process(id.clone()),
        Change::PutMail { id, .. } | Change::RemoveMail { id } => RecordKey::Mail(*id),
        Change::PutTurn { process, turn, .. } | Change::RemoveTurn { process, turn } => {
            RecordKey::Turn(process.clone(), *turn)
        }
        Change::PutDocument { kind, id, .. } | Change::RemoveDocument { kind, id } => {
            RecordKey::Document(kind, id.clone())
        }
        Change::Setting { key, .. } => RecordKey::Setting(key.clone()),
        Change::Audit(_) => return None,
    })
}

/// Drops every state that a later one replaces. The removal of a process stays: it removes more than the
/// process itself.
fn newest(changes: &mut Vec<Change>) {
    let mut seen = HashSet::new();
    let mut kept: Vec<Change> = Vec::with_capacity(changes.len());
    for change in changes.drain(..).rev() {
        let is_newest = about(&change).is_none_or(|about| seen.insert(about));
        if is_newest || matches!(change, Change::RemoveProcess { .. }) {
            kept.push(change);
        }
    }
    kept.reverse();
    *changes = kept;
}

/// Drops the oldest: audit rows first, because the next daemon starts from states.
fn give_up(changes: &mut Vec<Change>, mut excess: usize) {
    changes.retain(|change| {
        let goes = matches!(change, Change::Audit(_)) && excess > 0;
        excess -= usize::from(goes);
        !goes
    });
    changes.drain(..excess.min(changes.len()));
}

/// A store that panics must not leave a daemon behind that acknowledges what is not stored.
struct EndsTheDaemon;

impl Drop for EndsTheDaemon {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!(
                "the store's thread has panicked: the daemon ends, and the next one adopts everything"
            );
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn put(id: &str, document: &str) -> Change {
        Change::PutProcess { id: id.to_owned(), document: document.to_owned() }
    }

    fn row(detail: &str) -> Change {
        Change::Audit(AuditRow { detail: detail.to_owned(), ..AuditRow::default() })
    }

    #[test]
    fn f3_while_the_disk_refuses_only_the_newest_state_of_each_thing_is_kept() {
        let mut changes =
            vec![put("a", "1"), row("x"), put("b", "1"), put("a", "2"), row("x"), put("a", "3")];
        newest(&mut changes);
        assert_eq!(changes, [row("x"), put("b", "1"), row("x"), put("a", "3")]);
        let gone = Change::RemoveProcess { id: "a".to_owned() };
        let turn = Change::PutTurn { process: "a".to_owned(), turn: 1, document: "t".to_owned() };
        let mut changes = vec![put("a", "1"), turn.clone(), gone.clone(), put("a", "2")];
        newest(&mut changes);
        assert_eq!(changes, [turn, gone, put("a", "2")], "its end takes its turns along");
    }

    #[test]
    fn f3_when_there_is_no_room_rows_go_before_states() {
        let mut changes = vec![put("a", "1"), row("old"), put("b", "1"), row("new")];
        give_up(&mut changes, 1);
        assert_eq!(changes, [put("a", "1"), put("b", "1"), row("new")]);
        give_up(&mut changes, 2);
        assert_eq!(changes, [put("b", "1")]);
    }

    #[test]
    fn s1_a_panic_of_the_stores_thread_ends_the_daemon() {
        const AGAIN: &str = "QD_TEST_STORE_PANICS";
        let name = "records::store_thread::tests::s1_a_panic_of_the_stores_thread_ends_the_daemon";
        if std::env::var_os(AGAIN).is_some() {
            let doomed = std::thread::spawn(|| {
                let _guard = EndsTheDaemon;
                panic!("on purpose");
            });
            drop(doomed.join());
            return;
        }
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let ended = command.args(["--exact", name]).env(AGAIN, "1").output().unwrap();
        assert_eq!(ended.status.signal(), Some(6), "{ended:?}");
    }
}

//! Reads the audit log, and writes rows for what the engine does not decide: calls of unidentified callers,
//! and typed bytes. Rows have amounts, never texts.

use std::sync::atomic::{AtomicU64, Ordering};

use engine::{AuditNote, Command, CommandAnswer, Located, RunKey, Verb};
use proto::request::Audit;
use proto::{ErrorCode, Failure, Reply};

use super::connection::Client;
use super::dispatch::unexpected;

/// Reads the log; people only.
pub(super) async fn audit(client: &Client, request: Audit) -> Result<Reply, Failure> {
    permit(client, Verb::Administer).await?;
    Ok(Reply::Audit(client.door.records.audit_page(request).await?))
}

/// Checks that the caller may do something without a target that the engine itself does not do.
pub(super) async fn permit(client: &Client, verb: Verb) -> Result<(), Failure> {
    match client.ask(Command::Permit(verb)).await? {
        CommandAnswer::Reply(_) => Ok(()),
        CommandAnswer::Located(_)
        | CommandAnswer::Hook(_)
        | CommandAnswer::CallerIdentity(_)
        | CommandAnswer::Tasks(_)
        | CommandAnswer::Listed { .. } => Err(unexpected("permit")),
    }
}

/// Audits an unidentified caller and returns the error it gets.
pub(super) async fn turn_away(client: &Client, verb: &'static str) -> Failure {
    let failure = Failure::unidentified();
    refused(client, verb, failure.code, &failure.message).await;
    failure
}

/// Audits a refusal by the door itself.
pub(super) async fn refused(client: &Client, verb: &'static str, code: ErrorCode, why: &str) {
    client.door.records.note(refusal(client, verb, None, code, why)).await;
}

/// Audits a refusal about a run.
pub(super) async fn refused_to(client: &Client, verb: &'static str, run: RunKey, code: ErrorCode, why: &str) {
    client.door.records.note(refusal(client, verb, Some(run), code, why)).await;
}

fn refusal(
    client: &Client,
    verb: &'static str,
    run: Option<RunKey>,
    code: ErrorCode,
    why: &str,
) -> AuditNote {
    let word = serde_json::to_value(code).ok().and_then(|word| word.as_str().map(str::to_owned));
    let (target, decision) = (run.map(|run| run.process.to_string()), word.unwrap_or_default());
    let (caller, via) = (Some(client.caller()), client.whereabouts());
    AuditNote { caller, via, verb, target, decision, detail: why.to_owned() }
}

/// Audits a program that attaches, because it may type from then on. People's attachments are not audited.
pub(super) async fn attached(client: &Client, located: &Located, is_read_only: bool) {
    if client.caller().is_person() {
        return;
    }
    let detail = if is_read_only { "watching" } else { "typing" };
    client.door.records.note(launch_spec(client, "attach", located.run, detail.to_owned())).await;
}

fn launch_spec(client: &Client, verb: &'static str, run: RunKey, detail: String) -> AuditNote {
    let (target, decision) = (Some(run.process.to_string()), "allowed".to_owned());
    AuditNote { caller: Some(client.caller()), via: client.whereabouts(), verb, target, decision, detail }
}

/// How much one call has typed. It is audited when the call ends, or when it is dropped because its client
/// went.
pub(super) struct Typed<'a> {
    client: &'a Client,
    run: RunKey,
    /// Reached the terminal.
    written: AtomicU64,
    /// Bytes under way that may yet reach the terminal.
    under_way: AtomicU64,
}

impl<'a> Typed<'a> {
    pub(super) fn begin(client: &'a Client, run: RunKey) -> Self {
        Self { client, run, written: AtomicU64::new(0), under_way: AtomicU64::new(0) }
    }

    /// Records bytes that were queued.
    pub(super) fn queued(&self, bytes: u64) {
        self.under_way.store(bytes, Ordering::Relaxed);
    }

    /// Records bytes that reached the terminal.
    pub(super) fn arrived(&self, bytes: u64) {
        self.under_way.store(0, Ordering::Relaxed);
        self.written.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Writes the audit row, if there is anything to record.
    pub(super) async fn flush(&self) {
        if let Some(note) = self.note() {
            self.client.door.records.note(note).await;
        }
    }

    /// Returns the audit row, once.
    fn note(&self) -> Option<AuditNote> {
        let (written, under_way) =
            (self.written.swap(0, Ordering::Relaxed), self.under_way.swap(0, Ordering::Relaxed));
        let detail = match (written, under_way) {
            (0, 0) => return None,
            (written, 0) => format!("{written} bytes"),
            (written, more) => format!("{written} bytes and up to {more} more"),
        };
        Some(launch_spec(self.client, "write", self.run, detail))
    }
}

impl Drop for Typed<'_> {
    fn drop(&mut self) {
        if let Some(note) = self.note() {
            self.client.door.records.note_soon(note);
        }
    }
}

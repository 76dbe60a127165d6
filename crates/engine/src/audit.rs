//! What of the engine's decisions is written down for good.
//!
//! The audit log keeps every refusal for want of rights and everything that was done to a process. It keeps no secrets and
//! no texts: of a message its size, of a command its digest.

use proto::request::Target;
use proto::{ErrorCode, Failure, Limit, Printable};

use crate::Engine;
use crate::command::Audited;
use crate::context::Context;
use crate::effect::{AuditNote, Effect};
use crate::input::{Caller, Command, SpawnOrder};
use crate::outbox::Outbox;

/// The decision of everything that was done.
const ALLOWED: &str = "allowed";
/// The verb of the question whether a person sits in the process that calls.
pub const PLACING: &str = "place";
/// Longest piece of a caller's own words, in characters.
const MAX_WORDS: usize = 64;

/// What will be written about a command once it is decided. It is made before: afterwards the target may be gone.
pub(crate) struct AuditDraft {
    verb: &'static str,
    audited: Audited,
    target: Option<String>,
    detail: String,
    /// The number of the next message, for verbs of which a new message is kept.
    next_mail: u64,
}

impl Outbox {
    pub(crate) fn audit(
        &mut self,
        caller: Option<Caller>,
        verb: &'static str,
        target: Option<String>,
        decision: &str,
        detail: String,
    ) {
        let decision = decision.to_owned();
        let via = self.scope.whereabouts().filter(|_| caller.is_some_and(Caller::is_person));
        self.push(Effect::Audit(AuditNote { caller, via, verb, target, decision, detail }));
    }

    /// Audits something that was done: by a caller, or by Quarterdeck itself.
    pub(crate) fn audit_deed(
        &mut self,
        caller: Option<Caller>,
        verb: &'static str,
        target: String,
        detail: String,
    ) {
        self.audit(caller, verb, Some(target), ALLOWED, detail);
    }

    /// Audits something that was not done after all.
    pub(crate) fn audit_omission(
        &mut self,
        caller: Option<Caller>,
        verb: &'static str,
        target: String,
        failure: &Failure,
    ) {
        if let Some(decision) = refusal(failure.code) {
            self.audit(caller, verb, Some(target), decision, failure.message.clone());
        }
    }
}

impl Outbox {
    /// Audits the decision about a command, if its verb declares that.
    pub(crate) fn audit_result<T>(&mut self, caller: Caller, entry: AuditDraft, result: &Result<T, Failure>) {
        let AuditDraft { verb, audited, target, detail, next_mail } = entry;
        match result {
            // The door's own question who a caller is; what the caller asks for itself is written down.
            Err(_) if verb == PLACING => {}
            Err(failure) => {
                let Some(decision) = refusal(failure.code) else { return };
                let detail = if detail.is_empty() {
                    failure.message.clone()
                } else {
                    format!("{detail}; {}", failure.message)
                };
                self.audit(Some(caller), verb, target, decision, detail);
            }
            Ok(_) => {
                let is_done = match audited {
                    Audited::Refusal => false,
                    Audited::Success => true,
                    Audited::NewMessage => self.numbers.counters.next_mail > next_mail,
                };
                if is_done {
                    self.audit(Some(caller), verb, target, ALLOWED, detail);
                }
            }
        }
    }
}

impl Context {
    /// A process in the audit log: its id, or what the caller named it where there is none.
    pub(crate) fn audited_name(&self, target: &Target) -> String {
        let known = self.processes.resolve(target, &Limit::default());
        known.map_or_else(|_| printable_words(&target.0), |process| process.id.to_string())
    }
}

/// Prepares what the audit log will keep of a command.
pub(crate) fn entry(engine: &Engine, command: &Command) -> AuditDraft {
    let declaration = command.declaration();
    let (detail, about) = engine.audited_words(command);
    AuditDraft {
        verb: declaration.word,
        audited: declaration.audited,
        target: about.or_else(|| command.target().map(|target| engine.ctx.audited_name(target))),
        detail,
        next_mail: engine.ctx.out.numbers.counters.next_mail,
    }
}

/// The word for a refusal that is kept; every other failure is the caller's own business.
fn refusal(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::Unauthorized => Some("unauthorized"),
        ErrorCode::Denied => Some("denied"),
        ErrorCode::NotRelated => Some("not_related"),
        ErrorCode::WorkspaceMismatch => Some("workspace_mismatch"),
        ErrorCode::NeedsTrust => Some("needs_trust"),
        ErrorCode::BudgetExceeded => Some("budget_exceeded"),
        _ => None,
    }
}

/// What is written about a spawn: its kind, its size and its digest.
pub(crate) fn spawn_words(order: &SpawnOrder) -> String {
    let spawn = &order.spawn;
    let bytes: usize = spawn.argv.iter().map(String::len).sum();
    let mut text = format!("{}, {} words of {bytes} bytes", spawn.kind, spawn.argv.len());
    if let Some(preset) = &spawn.preset {
        text.push_str(&format!(", preset {}", printable_words(preset)));
    }
    if let Some(trust_subject) = &order.trust_subject {
        text.push_str(&format!(", {}", digest_words(&trust_subject.digest)));
    }
    text
}

/// A digest as it may be written down; what only stands for one may hold anything.
pub(crate) fn digest_words(digest: &str) -> String {
    let is_digest = digest.len() <= MAX_WORDS && digest.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_digest { format!("digest {digest}") } else { format!("no digest, {} bytes", digest.len()) }
}

/// A caller's own words, printable and short.
pub(crate) fn printable_words(text: &str) -> String {
    let shown: String = text.chars().take(MAX_WORDS).collect();
    Printable(&shown).to_string()
}

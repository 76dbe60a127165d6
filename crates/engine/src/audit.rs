//! What of the engine's decisions is written down for good.
//!
//! Owns the choice: every refusal for want of rights, and everything that was done to somebody. Refuses secrets and
//! texts: of what was said there is a size, of what was started a digest.

use proto::request::Target;
use proto::{ErrorCode, Failure, Name, Printable};

use crate::Engine;
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
pub(crate) struct Entry {
    verb: &'static str,
    target: Option<String>,
    detail: String,
    deed: AuditPolicy,
}

/// Whether the success of a command is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AuditPolicy {
    /// It changes nobody, or whoever carries it out writes it down.
    No,
    Yes,
    /// If there is a new message: this was the next number before.
    Message(u64),
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
        let via = self.via.as_ref().filter(|_| caller.is_some_and(Caller::is_person)).map(Name::to_string);
        self.push(Effect::Audit(AuditNote { caller, via, verb, target, decision, detail }));
    }

    /// Writes down that something was done: by a caller, or by Quarterdeck itself.
    pub(crate) fn audit_deed(
        &mut self,
        caller: Option<Caller>,
        verb: &'static str,
        target: String,
        detail: String,
    ) {
        self.audit(caller, verb, Some(target), ALLOWED, detail);
    }

    /// Writes down that something was not done after all: what a caller had asked for, or Quarterdeck itself would have done.
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
    fn deed(&self, command: &Command) -> AuditPolicy {
        match command {
            Command::Kill(_)
            | Command::Close(_)
            | Command::Restart(_)
            | Command::Resume(_)
            | Command::Rename(_)
            | Command::Answer(_)
            | Command::CancelMessage(_)
            | Command::Interrupt(_)
            | Command::Grant(_)
            | Command::Revoke(_)
            | Command::Trust(_)
            | Command::Distrust(_)
            | Command::Shutdown(_) => AuditPolicy::Yes,
            Command::Tell(_) => AuditPolicy::Message(self.numbers.counters.next_mail),
            // A spawn writes itself down under the id it made; with a known key it makes none.
            _ => AuditPolicy::No,
        }
    }

    /// Writes down what was decided about a command, if that is to be kept.
    pub(crate) fn audit_verdict<T>(&mut self, caller: Caller, entry: Entry, verdict: &Result<T, Failure>) {
        let Entry { verb, target, detail, deed } = entry;
        match verdict {
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
                let is_done = match deed {
                    AuditPolicy::No => false,
                    AuditPolicy::Yes => true,
                    AuditPolicy::Message(before) => self.numbers.counters.next_mail > before,
                };
                if is_done {
                    self.audit(Some(caller), verb, target, ALLOWED, detail);
                }
            }
        }
    }
}

impl Context {
    pub(crate) fn audited_detail(&self, command: &Command) -> String {
        match command {
            Command::Spawn(order) => spawn_words(order),
            Command::Kill(kill) => kill.signal.map(|signal| format!("signal {signal}")).unwrap_or_default(),
            Command::Rename(rename) => format!("to {}", words(&rename.name)),
            Command::Tell(tell) => format!("{} bytes", tell.text.len()),
            Command::Answer(answer) => format!("item {}", answer.item),
            Command::CancelMessage(mail) => format!("message {mail}"),
            Command::Grant(grant) => {
                let to = self
                    .processes
                    .resolve(&grant.to)
                    .map_or_else(|_| words(&grant.to.0), |to| to.id.to_string());
                format!("{:?} to {to}", grant.right).to_lowercase()
            }
            Command::Revoke(revoke) => format!("grant {}", revoke.grant),
            Command::Trust(trust_subject) => digest_words(&trust_subject.digest),
            Command::Distrust(request) => digest_words(&request.digest),
            Command::Shutdown(shutdown) if shutdown.kill => "with every process".to_owned(),
            _ => String::new(),
        }
    }
}

impl Engine {
    pub(crate) fn entry(&self, command: &Command) -> Entry {
        Entry {
            verb: word(command),
            target: self.audited_target(command),
            detail: self.ctx.audited_detail(command),
            deed: self.ctx.out.deed(command),
        }
    }

    /// The ids of whom a command is about, or what was typed for them.
    fn audited_target(&self, command: &Command) -> Option<String> {
        let named = |target: &Target| match self.ctx.processes.resolve(target) {
            Ok(process) => process.id.to_string(),
            Err(_) => words(&target.0),
        };
        match command {
            Command::Wait(wait) => {
                let all: Vec<String> = wait.targets.iter().take(8).map(named).collect();
                (!all.is_empty()).then(|| all.join(" "))
            }
            Command::Answer(answer) => {
                self.inbox.items.get(&answer.item).map(|item| item.view.id.to_string())
            }
            Command::CancelMessage(mail) => self.mail.get(*mail).map(|mail| mail.to.to_string()),
            other => target(other).map(named),
        }
    }
}

/// The word for a refusal that is kept; every other failure is the caller's own business.
fn refusal(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::Unauthorized => Some("unauthorized"),
        ErrorCode::Denied => Some("denied"),
        ErrorCode::NotRelated => Some("not_related"),
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
        text.push_str(&format!(", preset {}", words(preset)));
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

fn words(text: &str) -> String {
    let shown: String = text.chars().take(MAX_WORDS).collect();
    Printable(&shown).to_string()
}

fn target(command: &Command) -> Option<&Target> {
    match command {
        Command::Locate { target, .. } => Some(target),
        Command::Attach(request) => Some(&request.target),
        Command::Resize(request) => Some(&request.target),
        Command::Kill(request) => Some(&request.target),
        Command::Close(request) => Some(&request.target),
        Command::Restart(request) => Some(&request.target),
        Command::Rename(request) => Some(&request.target),
        Command::Detach(request) => Some(&request.target),
        Command::Tell(request) => Some(&request.target),
        Command::Result(request) => Some(&request.target),
        Command::Explain(request) => Some(&request.target),
        Command::Resume(request) => Some(&request.target),
        Command::Interrupt(request) => Some(&request.target),
        Command::Select(request) => Some(&request.target),
        Command::See { see, .. } => Some(&see.target),
        Command::SetTimer(request) => request.owner.as_ref(),
        Command::Grant(request) => Some(&request.over),
        _ => None,
    }
}

fn word(command: &Command) -> &'static str {
    match command {
        Command::Spawn(_) => "spawn",
        Command::List => "list",
        Command::Subscribe => "subscribe",
        Command::Locate { verb, .. } | Command::Permit(verb) => verb.word(),
        Command::Attach(_) => "attach",
        Command::Wait(_) => "wait",
        Command::Resize(_) => "resize",
        Command::Kill(_) => "kill",
        Command::Close(_) => "close",
        Command::Restart(_) => "restart",
        Command::Rename(_) => "rename",
        Command::Viewers => "viewers",
        Command::Detach(_) => "detach",
        Command::Tell(_) => "tell",
        Command::Receipt(_) => "receipt",
        Command::CancelMessage(_) => "cancel_message",
        Command::Interrupt(_) => "interrupt",
        Command::Result(_) => "result",
        Command::Explain(_) => "explain",
        Command::Inbox => "inbox",
        Command::Answer(_) => "answer",
        Command::Resume(_) => "resume",
        Command::Hook(_) => "hook",
        Command::WhoAmI => "who_am_i",
        Command::Standing(verb) => verb,
        // It is asked on behalf of a subscription.
        Command::Knows(_) => "subscribe",
        Command::SetTimer(_) => "set_timer",
        Command::Timers => "timers",
        Command::ChangeTimer(_) => "change_timer",
        Command::Ask(_) => "ask",
        Command::Attention(_) => "attention",
        Command::Select(_) => "select",
        Command::See { .. } => "see",
        Command::Grant(_) => "grant",
        Command::Revoke(_) => "revoke",
        Command::Grants => "grants",
        Command::Trust(_) => "trust",
        Command::Distrust(_) => "distrust",
        Command::Trusted => "trusted",
        Command::Shutdown(_) => "shutdown",
    }
}

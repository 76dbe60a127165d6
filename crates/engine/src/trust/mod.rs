//! What agents may start without asking, and what a person is being asked about.
//!
//! It keeps what people trust, the open questions, and answers for one start. A trust subject is known by its digest, never
//! by its name, and only a person's answer makes it trusted.

use std::collections::BTreeSet;

use proto::agent::{DialogOption, ItemKind};
use proto::trust::TrustView;
use proto::{ErrorCode, Failure, Kind, Printable, ProcessId, Status};

use crate::Engine;
use crate::audit::digest_words;
use crate::context::Context;
use crate::effect::Effect;
use crate::inbox::{Inbox, ItemSubject, ItemText, NewItem};
use crate::input::{Caller, Rule, RunKey, SpawnOrder, TrustSubject};
use crate::outbox::{AnsweredQuestion, Signal};
use crate::process::Process;
use crate::record::{Approval, Record};
use crate::rights::registry::denied;
use crate::undo::{UndoCell, UndoMap};

/// Most questions one process may have open.
const MAX_ASKED: usize = 20;
/// Most things that are trusted at once.
pub(crate) const MAX_TRUSTED: usize = 10_000;
/// Longest description of a command that brings no trust subject: a person could not judge a longer one.
const MAX_UNREAD: usize = 16 << 10;

/// Everything that people trust, allowed once or refused.
#[derive(Debug, Default)]
pub(crate) struct TrustStore {
    /// For good, by digest.
    pub(crate) trusted: UndoMap<String, TrustView>,
    /// For one start each.
    pub(crate) once: UndoCell<BTreeSet<(ProcessId, String)>>,
    /// No, for as long as the run lasts.
    pub(crate) refused: UndoCell<BTreeSet<(RunKey, String)>>,
    /// What each open item is about. Nothing of it is written down: after a restart of the daemon it is asked again.
    pub(crate) asked: UndoMap<u64, TrustSubject>,
}

impl TrustStore {
    /// Returns true if it is known what an item is about.
    pub(crate) fn is_asked(&self, item: u64) -> bool {
        self.asked.contains_key(&item)
    }

    /// How many questions are open.
    pub(crate) fn open_questions(&self) -> usize {
        self.asked.len()
    }
}

/// The answers of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TrustAnswer {
    Once,
    Always,
    Deny,
}

const CHOICES: [(TrustAnswer, &str, &str); 3] = [
    (TrustAnswer::Once, "allow_once", "Allow once"),
    (TrustAnswer::Always, "always", "Always allow exactly this"),
    (TrustAnswer::Deny, "deny", "Deny"),
];

/// Returns the words that choose an option. `allow` means once: what is more has to be said.
fn answer_names(number: usize, name: &str) -> Vec<String> {
    let short = (name == "allow_once").then_some("allow");
    [number.to_string(), name.to_owned()].into_iter().chain(short.map(str::to_owned)).collect()
}

impl TrustStore {
    /// Checks that a caller may start this; returns the approval on which it does. Asks a person when there is none yet; an
    /// approval for one start is used up by this.
    pub(crate) fn check_trust(
        &mut self,
        caller: Caller,
        order: &SpawnOrder,
        inbox: &mut Inbox,
        ctx: &mut Context,
    ) -> Result<Option<Approval>, Failure> {
        let Caller::Process(asker) = caller else { return Ok(None) };
        match &order.trust_subject {
            Some(trust_subject) => self.ask_approval(asker, trust_subject, inbox, ctx).map(Some),
            None if order.spawn.is_plain_agent() => Ok(None),
            None => {
                let spawn = &order.spawn;
                let parts =
                    [format!("{:?}", spawn.kind), format!("{:?}", spawn.cwd), format!("{:?}", spawn.preset)];
                let env = spawn
                    .base_env
                    .iter()
                    .flatten()
                    .chain(&spawn.env)
                    .map(|(name, value)| format!("{name}={value}"));
                let digest = unread(parts.into_iter().chain(spawn.argv.iter().cloned()).chain(env))?;
                let (command, project) = (quote_command(&spawn.argv), order.project.clone());
                let preset = spawn.preset.clone();
                let trust_subject =
                    TrustSubject { digest, command, preset, project, ..TrustSubject::default() };
                self.ask_approval(asker, &trust_subject, inbox, ctx).map(Some)
            }
        }
    }

    /// Checks that a process may start an entry again. What a person started needs no approval; what an agent started needs
    /// the same approval as the first time.
    pub(crate) fn check_trust_again(
        &mut self,
        caller: Caller,
        id: ProcessId,
        inbox: &mut Inbox,
        ctx: &mut Context,
    ) -> Result<(), Failure> {
        let Caller::Process(asker) = caller else { return Ok(()) };
        let Some(process) = ctx.processes.get(&id) else { return Ok(()) };
        if self.is_trusted_still(process) {
            return Ok(());
        }
        let (digest, frame, content) = match process.launch.approval.clone() {
            Some(approval) => (approval.digest, approval.frame, approval.content),
            None => {
                let env = process.spec.environment.env.iter().map(|(name, value)| format!("{name}={value}"));
                let parts =
                    std::iter::once(process.spec.cwd.clone()).chain(process.spec.argv.iter().cloned());
                (unread(parts.chain(env))?, String::new(), String::new())
            }
        };
        let (command, project, preset) =
            (quote_command(&process.spec.argv), process.spec.project.clone(), process.spec.preset.clone());
        let agent = (process.spec.kind == Kind::Agent).then(|| process.spec.argv.first().cloned()).flatten();
        let trust_subject = TrustSubject {
            digest,
            frame,
            content,
            command,
            preset,
            agent,
            project,
            ..TrustSubject::default()
        };
        let approval = self.ask_approval(asker, &trust_subject, inbox, ctx)?;
        if let Some(process) = ctx.processes.get_mut(&id) {
            process.launch.approval = Some(approval);
            ctx.out.mark_durable(id);
        }
        Ok(())
    }

    /// Returns true if the approval on which a process was started still holds.
    pub(crate) fn is_trusted_still(&self, process: &Process) -> bool {
        match &process.launch.approval {
            Some(approval) => {
                let is_trusted = |digest: &String| self.trusted.contains_key(digest);
                approval.once
                    || is_trusted(&approval.digest)
                    || approval.listed.as_ref().is_some_and(is_trusted)
            }
            // No approval: a person started it, or it was spawned as a plain agent (`Spawn::is_plain_agent`).
            None => {
                process.spec.parent.is_none()
                    || (process.spec.kind == Kind::Agent && process.spec.argv.len() == 1)
            }
        }
    }

    pub(crate) fn ask_approval(
        &mut self,
        asker: RunKey,
        trust_subject: &TrustSubject,
        inbox: &mut Inbox,
        ctx: &mut Context,
    ) -> Result<Approval, Failure> {
        let digest = trust_subject.digest.clone();
        let once = (asker.process, digest.clone());
        if trust_subject.rule == Rule::Deny {
            return Err(Failure::new(
                ErrorCode::Denied,
                "denied: the project's rules do not let agents start this",
            )
            .hint("only a person can change that, in the rules of the project's file"));
        }
        let is_trusted = |digest: &String| self.trusted.contains_key(digest);
        let approval = Approval {
            digest: digest.clone(),
            once: false,
            frame: trust_subject.frame.clone(),
            content: trust_subject.content.clone(),
            listed: trust_subject.listed.clone().filter(is_trusted),
        };
        if approval.listed.is_some() || is_trusted(&digest) {
            return Ok(approval);
        }
        if self.once.remove(&once) {
            return Ok(Approval { once: true, ..approval });
        }
        if self.refused.contains(&(asker, digest.clone())) {
            return Err(denied(Caller::Process(asker), "a person refused to start this")
                .hint("do without it, or tell the person why it is needed"));
        }
        let item = match inbox.trust_item(asker, &digest) {
            Some(item) => item,
            None => self.ask_person(asker, trust_subject, inbox, ctx)?,
        };
        Err(Failure::new(ErrorCode::NeedsTrust, format!("a person must allow this first: item {item}"))
            .hint("ask again when the item is answered")
            .item(item))
    }

    pub(crate) fn ask_person(
        &mut self,
        asker: RunKey,
        trust_subject: &TrustSubject,
        inbox: &mut Inbox,
        ctx: &mut Context,
    ) -> Result<u64, Failure> {
        if inbox.trust_items(asker).count() >= MAX_ASKED {
            let message = format!("{MAX_ASKED} questions about starting something wait for a person already");
            return Err(Failure::new(ErrorCode::Busy, message).hint("wait until some are answered"));
        }
        let words = ItemText {
            title: format!("start {}", title(trust_subject)),
            body: trust_subject.command.clone(),
        };
        let options = CHOICES.iter().zip(1..).map(|((_, name, label), number)| DialogOption {
            names: answer_names(number, name),
            label: (*label).to_owned(),
            keys: Vec::new(),
        });
        let about = ItemSubject::Trust { asker, digest: trust_subject.digest.clone() };
        let item = NewItem { kind: ItemKind::Trust, text: words, options: options.collect(), about };
        let item = inbox.open_item(asker.process, item, ctx);
        self.asked.insert(item, trust_subject.clone());
        Ok(item)
    }

    /// Trusts something no longer.
    pub(crate) fn drop_trust(&mut self, digest: &str, ctx: &mut Context) {
        if self.trusted.remove(&digest.to_owned()).is_some() {
            ctx.out.push(Effect::Record(Record::RemoveTrust(digest.to_owned())));
        }
        self.once.retain(|(_, allowed)| allowed != digest);
    }

    /// Forgets the questions and refusals of a run that is over.
    pub(crate) fn see_end(&mut self, run: RunKey, inbox: &mut Inbox, ctx: &mut Context) {
        let open: Vec<u64> = inbox.trust_items(run).map(|(item, _)| item).collect();
        for item in open {
            inbox.close_item(item, ctx);
        }
        self.refused.retain(|(refused, _)| *refused != run);
        let (items, asked) = (&inbox.items, &mut self.asked);
        asked.retain(|item, _| items.contains_key(item));
    }

    /// Forgets what a process that is gone was allowed to start once.
    pub(crate) fn see_removal(&mut self, id: ProcessId) {
        self.once.retain(|(asker, _)| *asker != id);
    }

    /// A person answered a question about starting something; `choice` is a name of one of its options.
    pub(crate) fn answer(&mut self, item: u64, choice: &str, inbox: &mut Inbox, ctx: &mut Context) {
        let Some(ItemSubject::Trust { asker, .. }) = inbox.items.get(&item).map(|item| item.about.clone())
        else {
            return;
        };
        let Some(subject) = self.asked.get(&item).cloned() else { return };
        let Some((choice, name, _)) = CHOICES.iter().find(|(_, name, _)| *name == choice) else { return };
        let words = format!("item {item}: {name}, {}", digest_words(&subject.digest));
        ctx.out.audit_deed(Some(Caller::Person), "trust", asker.process.to_string(), words);
        match choice {
            TrustAnswer::Once => {
                self.once.insert((asker.process, subject.digest.clone()));
                self.close_asked(item, "it may be started once: ask for it again", inbox, ctx);
            }
            TrustAnswer::Always => drop(self.add_trust(subject, inbox, ctx)),
            TrustAnswer::Deny => {
                self.refused.insert((asker, subject.digest.clone()));
                self.close_asked(item, "it was refused: do without it", inbox, ctx);
            }
        }
    }

    /// Trusts something for good; every question about it is answered with that.
    pub(crate) fn add_trust(
        &mut self,
        subject: TrustSubject,
        inbox: &mut Inbox,
        ctx: &mut Context,
    ) -> TrustView {
        let TrustSubject { digest, command, preset, agent, project, .. } = subject;
        let at = ctx.out.now.wall_ms;
        let trust = TrustView { digest: digest.clone(), project, preset, agent, command, at };
        ctx.out.push(Effect::Record(Record::PutTrust(Box::new(trust.clone()))));
        self.trusted.insert(digest.clone(), trust.clone());
        self.refused.retain(|(_, refused)| *refused != digest);
        let same = self.asked.iter().filter(|(_, asked)| asked.digest == digest);
        for item in same.map(|(item, _)| *item).collect::<Vec<_>>() {
            self.close_asked(item, "it may be started from now on: ask for it again", inbox, ctx);
        }
        trust
    }

    /// Closes a question about starting something; its asker gets the answer.
    fn close_asked(&mut self, item: u64, words: &str, inbox: &mut Inbox, ctx: &mut Context) {
        let Some(subject) = self.asked.remove(&item) else { return };
        let Some(ItemSubject::Trust { asker, .. }) = inbox.items.get(&item).map(|item| item.about.clone())
        else {
            return;
        };
        let is_agent = ctx.processes.agent(asker.process).is_some();
        let text = || format!("a person answered item {item}, start {}: {words}", title(&subject));
        let message = is_agent.then(|| (text(), format!("trust {item}")));
        let answered = AnsweredQuestion { item, asker, answer: words.to_owned(), message };
        ctx.out.signal(Signal::Answered(Box::new(answered)));
        inbox.close_item(item, ctx);
    }

    pub(crate) fn restore_trust(&mut self, saved: Vec<TrustView>) {
        self.trusted = saved.into_iter().map(|trust| (trust.digest.clone(), trust)).collect();
    }
}

impl Engine {
    /// Takes the fact that a run is not what was allowed; the subject describes what it is now. Its starter needs an approval
    /// for that; without a starter it is not started.
    pub(crate) fn start_untrusted(&mut self, run: RunKey, trust_subject: &TrustSubject) {
        let is_starting = |process: &&Process| process.run.status == Status::Starting;
        let Some(process) = self.ctx.processes.get(&run.process).filter(is_starting) else { return };
        let (is_wanted, target) = (process.run.ending.is_none(), run.process.to_string());
        let verb = if process.run.number.0 <= 1 { "spawn" } else { "restart" };
        let asker =
            process.launch.starter.filter(|asker| is_wanted && self.grants.admit(*asker, &self.ctx).is_ok());
        let Some(Caller::Process(asker)) = asker else {
            let failure = Failure::new(
                ErrorCode::Denied,
                "it is not started again: what it runs has changed since it was allowed",
            )
            .hint("a person can start it as it is now: qd restart");
            self.ctx.out.audit_omission(None, verb, target, &failure);
            self.start_failed(run, failure.clone());
            return self.give_up(run, &failure);
        };
        match self.trust.ask_approval(asker, trust_subject, &mut self.inbox, &mut self.ctx) {
            Ok(approval) => {
                if let Some(process) = self.ctx.processes.get_mut(&run.process) {
                    process.launch.approval = Some(approval);
                }
                self.ctx.out.mark_durable(run.process);
                self.ctx.processes.order_start(run.process, &self.ctx.config, &mut self.ctx.out);
            }
            Err(failure) => {
                self.ctx.out.audit_omission(Some(Caller::Process(asker)), verb, target, &failure);
                self.start_failed(run, failure);
            }
        }
    }

    /// Parks a run that would have been started by itself; its leader gets a notice and the person a notification.
    pub(crate) fn give_up(&mut self, run: RunKey, failure: &Failure) {
        let Some(process) = self.ctx.processes.get_mut(&run.process) else { return };
        process.run.status = Status::Parked;
        process.run.failure = Some(failure.message.clone());
        self.ctx.processes.report_no_restart(run, &mut self.ctx.out);
        let Some(process) = self.ctx.processes.get(&run.process) else { return };
        let title = format!("{}: not started again", process.name);
        self.ctx.processes.answer_starters(run.process, &mut self.ctx.out);
        self.ctx.out.mark_durable(run.process);
        self.mail.queue.notice_parked(run.process, &self.timers, &mut self.ctx);
        self.ctx.out.push(Effect::Notify { run, title, body: failure.message.clone() });
    }
}

/// The digest of a command that came without a trust subject: the full command, not a hash, so that two commands cannot
/// collide. The length before each part keeps parts from running together.
fn unread(parts: impl Iterator<Item = String>) -> Result<String, Failure> {
    let digest = parts.fold("unread".to_owned(), |digest, part| format!("{digest}:{}:{part}", part.len()));
    if digest.len() > MAX_UNREAD {
        return Err(Failure::new(ErrorCode::Denied, "denied: the command is too long for a person to judge"));
    }
    Ok(digest)
}

/// A command for a person, with nothing hidden in it.
fn quote_command(argv: &[String]) -> String {
    let words: Vec<String> = argv.iter().map(|word| format!("{:?}", Printable(word).to_string())).collect();
    words.join(" ")
}

/// What is started, in one line: the preset's name, or how the command begins. The whole command is in the body.
fn title(trust_subject: &TrustSubject) -> String {
    const MAX: usize = 60;
    let what =
        trust_subject.preset.as_deref().or_else(|| trust_subject.command.lines().next()).unwrap_or_default();
    let mut line: String = what.chars().take(MAX).collect();
    if line.len() < what.len() {
        line.push('…');
    }
    Printable(&line).to_string()
}

/// Returns true if an entry may be started only while its manifest is built in: a process has it started, and no person has
/// allowed more.
pub(crate) fn needs_built_in(process: &Process) -> bool {
    let is_persons = process.launch.starter.map_or(process.spec.parent.is_none(), Caller::is_person);
    process.spec.kind == Kind::Agent && process.launch.approval.is_none() && !is_persons
}

/// What must be found on the disk for an entry to be started: what was allowed, unless a person starts it or no
/// approval was needed.
pub(crate) fn content_needed(process: &Process) -> Option<String> {
    let approval =
        process.launch.approval.as_ref().filter(|_| process.launch.starter != Some(Caller::Person))?;
    // The question about a first run was about its words, where the files were not read.
    let is_unread = process.run.number.0 <= 1 && approval.content.is_empty();
    (!is_unread).then(|| approval.content.clone())
}

#[cfg(test)]
mod tests;

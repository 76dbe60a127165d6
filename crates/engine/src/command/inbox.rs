//! `inbox` and `answer`: what needs a person, and what a person says to it. What was asked of the person is answered
//! by people only; dialogs and requests for permission also by the processes above.

use proto::agent::{DialogOption, InboxItem};
use proto::request::Empty;
use proto::request::{GiveAnswer, Resume, Target};
use proto::verb;
use proto::{ErrorCode, Failure, Printable, ProcessId, Role};

use super::{Asker, Audited, Command, CommandResult, Decide, Needs, Recorded, done};
use crate::Engine;
use crate::context::Context;
use crate::effect::{ComposerIs, Effect, Guard, Keystrokes};
use crate::inbox::Inbox;
use crate::inbox::{Answering, ItemSubject, OpenItem, TYPED_MS};
use crate::input::{Caller, HookDecision, Ticket};
use crate::mail::delivery::LEASE_MS;
use crate::rights::Verb;
use crate::rights::grants::Grants;
use crate::rights::registry::{denied, not_related};

/// Longest answer in a person's own words, in bytes.
const MAX_WORDS: usize = 4 << 10;

/// Stands for the person's own words among the keys of an option.
const TEXT: &str = "{text}";

/// The option of a dialog that a caller chose.
struct Chosen {
    item: u64,
    digest: String,
    option: DialogOption,
}

impl Decide for verb::Inbox {
    type Order = Empty;
    const ROLE: Role = Role::View;
    const NEEDS: Needs = Needs::AtAll(Verb::List);

    fn decide(engine: &mut Engine, asker: Asker, _: Empty) -> CommandResult {
        Ok(engine.inbox.list_or_wait(asker.caller, asker.ticket, &engine.grants, &engine.ctx))
    }
}

impl Decide for verb::Answer {
    type Order = GiveAnswer;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::AtAll(Verb::List);
    const AUDITED: Audited = Audited::Success;
    const RECORDED: Recorded = Recorded::Entrusted;

    fn detail(_: &Engine, answer: &GiveAnswer) -> String {
        format!("item {}", answer.item)
    }

    fn about(engine: &Engine, answer: &GiveAnswer) -> Option<String> {
        engine.inbox.items.get(&answer.item).map(|item| item.view.id.to_string())
    }

    fn decide(engine: &mut Engine, asker: Asker, answer: GiveAnswer) -> CommandResult {
        let Asker { caller, ticket, .. } = asker;
        let item = engine.inbox.items.get(&answer.item);
        let Some(item) = item.filter(|item| engine.ctx.covers(item.view.id)) else {
            return Err(engine.inbox.no_such_item(answer.item, &engine.ctx));
        };
        let (id, about) = (item.view.id, item.about.clone());
        if !engine.inbox.may_answer(caller, item, &engine.grants, &engine.ctx) {
            if item.asker().is_some() {
                return Err(denied(caller, "only people may answer a question to a person"));
            }
            return Err(not_related(caller, "only people and the processes above it may answer this"));
        }
        if matches!(about, ItemSubject::Trust { .. }) {
            engine.ctx.check_least_role(Role::Admin, "answering what agents may start")?;
        }
        if let ItemSubject::Question(asker) = about
            && item.view.options.is_empty()
        {
            check_words(&answer.choice)?;
            engine.inbox.answer_question(answer.item, asker, answer.choice.trim(), &mut engine.ctx);
            return done();
        }
        let option = choose(&item.view, &answer.choice)?;
        match about {
            ItemSubject::Question(asker) => {
                engine.inbox.answer_question(answer.item, asker, &option.label, &mut engine.ctx);
                done()
            }
            ItemSubject::Trust { .. } => {
                let word = option.names.iter().find(|name| name.parse::<u64>().is_err());
                let word = word.map_or("", String::as_str);
                engine.trust.answer(answer.item, word, &mut engine.inbox, &mut engine.ctx);
                done()
            }
            ItemSubject::Failure if option.names.iter().any(|name| name == "resume") => {
                let (target, offer) = (Target(id.to_string()), answer.offer);
                engine.dispatch(caller, ticket, Command::Resume(Resume { target, session: None, offer }))
            }
            ItemSubject::Failure => {
                engine.inbox.clear_failure(id, &mut engine.ctx);
                done()
            }
            ItemSubject::Shortfalls => {
                engine.inbox.dismiss_shortfalls(id, &mut engine.ctx);
                done()
            }
            ItemSubject::Permission { .. } => {
                let allows = option.names.iter().any(|name| name == "allow");
                let denial = || HookDecision::Deny("denied by a person".to_owned());
                engine.inbox.decide_permission(
                    answer.item,
                    if allows { HookDecision::Allow } else { denial() },
                    &mut engine.ctx,
                );
                done()
            }
            ItemSubject::Dialog(digest) => {
                let chosen = Chosen { item: answer.item, digest, option };
                engine.inbox.answer_dialog(caller, ticket, id, chosen, &mut engine.ctx)
            }
        }
    }
}

impl Inbox {
    pub(crate) fn no_such_item(&self, item: u64, ctx: &Context) -> Failure {
        let is_limited = ctx.out.scope.limit.workspace.is_some();
        if item >= 1 && item < ctx.out.numbers.counters.next_item && !is_limited {
            return crate::inbox::no_longer_open();
        }
        Failure::new(ErrorCode::NotFound, format!("no item {item}")).hint("qd inbox lists them")
    }

    /// Returns true if an item is shown to the caller: a person sees what they may read, a process what it may answer.
    pub(crate) fn may_see(&self, caller: Caller, item: &OpenItem, grants: &Grants, ctx: &Context) -> bool {
        let process = ctx.processes.get(&item.view.id).filter(|_| caller == Caller::Person);
        let is_read = process.is_some_and(|process| grants.may_do(caller, Verb::Read, process, ctx));
        is_read || self.may_answer(caller, item, grants, ctx)
    }

    pub(crate) fn may_answer(&self, caller: Caller, item: &OpenItem, grants: &Grants, ctx: &Context) -> bool {
        let is_persons = item.asker().is_some();
        let process = ctx.processes.get(&item.view.id).filter(|_| !is_persons || caller == Caller::Person);
        process.is_some_and(|process| grants.may_do(caller, Verb::Answer, process, ctx))
    }
}

impl Inbox {
    fn answer_dialog(
        &self,
        caller: Caller,
        ticket: Ticket,
        id: ProcessId,
        chosen: Chosen,
        ctx: &mut Context,
    ) -> CommandResult {
        let Chosen { item, digest, option } = chosen;
        let job = ctx.out.next_job();
        let now = ctx.out.now.uptime_ms;
        let Some(process) = ctx.processes.get_mut(&id) else {
            return Err(self.no_such_item(item, ctx));
        };
        let run = process.key();
        let Some(agent) = process.agent.as_deref_mut() else {
            return Err(self.no_such_item(item, ctx));
        };
        if agent.live.dialogs.answering.is_some() {
            return Err(Failure::new(ErrorCode::Conflict, "that dialog is being answered already"));
        }
        // A person may answer whenever they like; a program waits for the person who types there.
        let person_quiet_ms = if caller == Caller::Person { 0 } else { LEASE_MS };
        let guard = Guard { dialog: Some(digest.clone()), composer: ComposerIs::Any, person_quiet_ms };
        agent.live.dialogs.answering = Some(Answering {
            item,
            job,
            ticket,
            digest: digest.clone(),
            context: agent.live.screen.dialog_context,
            option: option.names.first().cloned().unwrap_or_default(),
            guard: guard.clone(),
            tries: 1,
            is_typed: false,
            typed_at: None,
            reported_by: Vec::new(),
            was_gone: false,
            until: now + TYPED_MS,
        });
        if option.keys.is_empty() {
            let choice = option.names;
            ctx.out.push(Effect::AnswerServer { run, job, dialog: digest, choice });
        } else {
            ctx.out.push(Effect::Type { run, job, what: Keystrokes::Keys(option.keys), guard });
        }
        Ok(None)
    }
}

/// The option a choice names: a number, a name or the text of an option.
fn choose(item: &InboxItem, choice: &str) -> Result<DialogOption, Failure> {
    let wanted = choice.trim().to_lowercase();
    let is_named = |option: &&DialogOption| option.names.iter().any(|name| name.to_lowercase() == wanted);
    let is_labelled = |option: &&DialogOption| option.label.trim().to_lowercase() == wanted;
    let by_number = || {
        let number = wanted.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        number.and_then(|index| item.options.get(index))
    };
    let options = || item.options.iter();
    let found = options().find(is_named).or_else(|| options().find(is_labelled)).or_else(by_number);
    let own_words = options().find(|option| takes_text(option));
    if let (None, Some(option)) = (found, own_words) {
        return with_text(option, choice.trim());
    }
    if found.is_some_and(takes_text) {
        return Err(Failure::invalid("choice", "answer with the text itself"));
    }
    found.cloned().ok_or_else(|| {
        if item.options.is_empty() {
            return Failure::new(ErrorCode::Conflict, "its options could not be read from the screen")
                .hint(format!("qd attach {} shows it", item.name));
        }
        let list: Vec<String> = item.options.iter().enumerate().map(|(n, o)| spelled(n + 1, o)).collect();
        Failure::invalid("choice", format!("\"{}\" is none of: {}", Printable(choice), list.join(", ")))
    })
}

fn takes_text(option: &DialogOption) -> bool {
    option.keys.iter().any(|key| key == TEXT)
}

/// The option with a text of the person's own, key by key.
fn with_text(option: &DialogOption, text: &str) -> Result<DialogOption, Failure> {
    check_words(text)?;
    if text.chars().any(char::is_control) {
        return Err(Failure::invalid("choice", "one line without control characters"));
    }
    let key = |character: char| if character == ' ' { "space".to_owned() } else { character.to_string() };
    let keys = option.keys.iter().flat_map(|known| match known.as_str() {
        TEXT => text.chars().map(key).collect(),
        known => vec![known.to_owned()],
    });
    Ok(DialogOption { keys: keys.collect(), ..option.clone() })
}

/// Checks whether a text may be an answer in the person's own words.
fn check_words(words: &str) -> Result<(), Failure> {
    if words.trim().is_empty() || words.len() > MAX_WORDS {
        return Err(Failure::invalid("choice", format!("between 1 and {MAX_WORDS} bytes")));
    }
    Ok(())
}

fn spelled(number: usize, option: &DialogOption) -> String {
    let word = option.names.iter().find(|name| name.parse::<u64>().is_err());
    let word = word.map(|word| format!(" ({})", Printable(word))).unwrap_or_default();
    format!("{number}{word} {}", Printable(&option.label))
}

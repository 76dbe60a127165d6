//! `ask`, `attention`, `select`: what an agent wants of the person.

use proto::agent::{DialogOption, ItemKind};
use proto::event::Event;
use proto::reply::Asked;
use proto::request::{Ask, Attention, Select};
use proto::verb;
use proto::{Failure, Reply, Role};

use super::{Asker, CommandResult, Decide, Needs, Recorded, done};
use crate::Engine;
use crate::context::Context;
use crate::effect::CommandAnswer;
use crate::inbox::Inbox;
use crate::inbox::{ItemSubject, ItemText, NewItem, option};
use crate::input::{Caller, RunKey};
use crate::mail::format as mail_format;
use crate::rights::Verb;

/// Longest question or reason, in bytes.
const MAX_TEXT: usize = 4 << 10;
/// Longest title: what fits a line of a list, in characters.
const MAX_TITLE: usize = 120;
/// Most answers to choose from.
const MAX_OPTIONS: usize = 20;
/// Longest of them, in bytes.
const MAX_OPTION: usize = 200;

impl Decide for verb::Ask {
    type Order = Ask;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::Checked;
    const RECORDED: Recorded = Recorded::Entrusted;

    fn decide(engine: &mut Engine, asker: Asker, ask: Ask) -> CommandResult {
        engine.inbox.ask(asker.caller, ask, &mut engine.ctx)
    }
}

impl Decide for verb::Attention {
    type Order = Attention;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::Checked;
    const RECORDED: Recorded = Recorded::Entrusted;

    fn decide(engine: &mut Engine, asker: Asker, attention: Attention) -> CommandResult {
        engine.inbox.attention(asker.caller, attention, &mut engine.ctx)
    }
}

impl Decide for verb::Select {
    type Order = Select;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::Over(Verb::Read);

    fn decide(engine: &mut Engine, asker: Asker, _: Select) -> CommandResult {
        let id = asker.target()?;
        engine.ctx.out.announce(Event::Selected { id, by: asker.caller.process() });
        done()
    }
}

impl Inbox {
    pub(crate) fn open_question(
        &mut self,
        run: RunKey,
        key: Option<String>,
        item: NewItem,
        ctx: &mut Context,
    ) -> CommandResult {
        let item = self.open_item(run.process, item, ctx);
        self.record_question(item, run, key, ctx);
        Ok(Some(CommandAnswer::Reply(Reply::Asked(Asked { item }))))
    }

    pub(crate) fn ask(&mut self, caller: Caller, request: Ask, ctx: &mut Context) -> CommandResult {
        if let Some(item) = self.asked_before(caller, request.key.as_deref())? {
            return Ok(Some(CommandAnswer::Reply(Reply::Asked(Asked { item }))));
        }
        let run = self.check_asker(caller, ctx)?;
        check_text("question", &request.question)?;
        let options = check_options(&request.options)?;
        let (text, about) = (title_and_body(&request.question), ItemSubject::Question(run));
        self.open_question(run, request.key, NewItem { kind: ItemKind::Question, text, options, about }, ctx)
    }

    pub(crate) fn attention(
        &mut self,
        caller: Caller,
        request: Attention,
        ctx: &mut Context,
    ) -> CommandResult {
        if let Some(item) = self.asked_before(caller, request.key.as_deref())? {
            return Ok(Some(CommandAnswer::Reply(Reply::Asked(Asked { item }))));
        }
        let run = self.check_asker(caller, ctx)?;
        check_text("reason", &request.reason)?;
        let options = vec![option(1, "dismiss", "Dismiss")];
        let (text, about) = (title_and_body(&request.reason), ItemSubject::Question(run));
        self.open_question(run, request.key, NewItem { kind: ItemKind::Attention, text, options, about }, ctx)
    }
}

fn check_text(field: &str, text: &str) -> Result<(), Failure> {
    if text.trim().is_empty() {
        return Err(Failure::invalid(field, "there is nothing in it"));
    }
    if text.len() > MAX_TEXT {
        return Err(Failure::invalid(field, format!("it has {} bytes, {MAX_TEXT} at most", text.len())));
    }
    Ok(())
}

/// The answers to choose from, each with one meaning: a number means a place, so an option that is a number stands at it.
fn check_options(options: &[String]) -> Result<Vec<DialogOption>, Failure> {
    if options.len() > MAX_OPTIONS {
        return Err(Failure::invalid("options", format!("{MAX_OPTIONS} at most")));
    }
    let mut checked: Vec<DialogOption> = Vec::new();
    for (number, text) in (1u32..).zip(options) {
        let label = mail_format::lines(text.trim()).join(" ");
        if label.is_empty() || label.len() > MAX_OPTION {
            return Err(Failure::invalid("options", format!("each has between 1 and {MAX_OPTION} bytes")));
        }
        let means_a_place =
            |place: u32| place >= 1 && usize::try_from(place).is_ok_and(|n| n <= options.len());
        if label.parse::<u32>().is_ok_and(|place| place != number && means_a_place(place)) {
            return Err(Failure::invalid("options", format!("{label} is the number of another option")));
        }
        if checked.iter().any(|other| other.label.to_lowercase() == label.to_lowercase()) {
            return Err(Failure::invalid("options", "two of them are the same"));
        }
        checked.push(DialogOption { names: vec![number.to_string()], label, keys: Vec::new() });
    }
    Ok(checked)
}

/// What is asked in one line, and all of it when that is not all. Control characters are shown, not passed on.
fn title_and_body(text: &str) -> ItemText {
    let lines = mail_format::lines(text.trim());
    let first = lines.iter().find(|line| !line.trim().is_empty()).map_or("", |line| line.trim());
    let title: String = first.chars().take(MAX_TITLE).collect();
    let body = lines.join("\n");
    let body = if body == title { String::new() } else { body };
    ItemText { title, body }
}

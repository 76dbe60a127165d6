//! Tools that address the person: a question with an answer, or a request for attention.
//!
//! It remembers open questions: asking the same again continues to wait instead of asking twice. Answers come
//! from a person, through the inbox or a form of the client.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proto::request::{Ask, Attention, Target, Until, Wait};
use proto::verb;
use serde_json::{Map, json};
use tokio::sync::Semaphore;

use super::{ServerCaller, Tool, ToolContext, ToolEffect, ToolOutcome};
use crate::arguments::{Arguments, Shape, may, must};
use crate::failure::ToolFailure;
use crate::waiting::{AfterWait, Waiting};

/// Longest question, reason or answer.
pub(crate) const MAX_WORDS: usize = 4 << 10; // 4 KiB
/// The most options of a question; a person does not read more.
const MAX_OPTIONS: usize = 20;
/// The most open questions that are remembered; the daemon allows no more.
const MAX_OPEN: usize = 20;
const ASK_FIELDS: &[(&str, &str)] = &[("question", "question"), ("options", "options")];

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "request_human_attention",
        title: "Ask a person to look",
        says: "Put a note into the person's inbox and go on.",
        fields: &[must("reason", Shape::Text(MAX_WORDS), "What they should know or do.")],
        gives: "item: integer",
        effect: ToolEffect::Adds,
        is_core: false,
        run: |context, arguments| Box::pin(attention(context, arguments)),
    },
    Tool {
        name: "ask_human",
        title: "Ask a person",
        says: "Ask the person something and wait for the answer. After still_running repeat it to wait \
               on, or go on: the answer comes as a message.",
        fields: &[
            must("question", Shape::Text(MAX_WORDS), ""),
            may("options", Shape::Texts(200), "Answers to choose from; default: any text."),
        ],
        gives: "status: answered|by_message|still_running, answer?: string, item?: integer, hint?: string",
        effect: ToolEffect::Adds,
        is_core: false,
        run: |_, arguments| Box::pin(std::future::ready(question(arguments))),
    },
];

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) question: String,
    /// The possible answers; empty means any text.
    pub(crate) options: Vec<String>,
}

/// The questions that wait in the inbox, with their items.
#[derive(Clone, Debug)]
pub(crate) struct Questions {
    open: Arc<Mutex<VecDeque<(Question, u64)>>>,
    /// Held while a question is asked: the same question waits until its item is known.
    turn: Arc<Semaphore>,
}

impl Default for Questions {
    fn default() -> Self {
        Self { open: Arc::default(), turn: Arc::new(Semaphore::new(1)) }
    }
}

impl Questions {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(Question, u64)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn item(&self, question: &Question) -> Option<u64> {
        self.lock().iter().find(|(known, _)| known == question).map(|(_, item)| *item)
    }

    fn remember(&self, question: Question, item: u64) {
        let mut open = self.lock();
        if open.len() >= MAX_OPEN {
            open.pop_front();
        }
        open.push_back((question, item));
    }

    /// Removes an item that is answered or void.
    pub(crate) fn forget(&self, item: u64) {
        self.lock().retain(|(_, known)| *known != item);
    }
}

fn question(arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let options = arguments.texts("options").unwrap_or_default();
    if options.len() > MAX_OPTIONS {
        return Err(ToolFailure::invalid("options", format!("at most {MAX_OPTIONS}")));
    }
    let is_twice = |place: usize, option: &String| options.iter().take(place).any(|before| before == option);
    if let Some((_, twice)) = options.iter().enumerate().find(|(place, option)| is_twice(*place, option)) {
        return Err(ToolFailure::invalid("options", format!("{twice} is there twice")));
    }
    Ok(ToolOutcome::Question(Question { question: arguments.required("question").to_owned(), options }))
}

/// Returns the wait for a question that is in the inbox already.
pub(crate) async fn resumed(
    context: &ToolContext,
    question: &Question,
) -> Result<Option<Waiting>, ToolFailure> {
    match context.questions.item(question) {
        Some(item) => waiting(context, item).await.map(Some),
        None => Ok(None),
    }
}

/// Puts a question into the inbox and returns the wait for its answer.
pub(crate) async fn opened(context: &ToolContext, question: Question) -> Result<Waiting, ToolFailure> {
    // The caller is looked up first: nothing slow may come between asking and waiting.
    context.caller().await?;
    // The semaphore is never closed, so acquiring it cannot fail.
    let _turn = context.questions.turn.acquire().await.ok();
    if let Some(item) = context.questions.item(&question) {
        return waiting(context, item).await;
    }
    let request = Ask { question: question.question.clone(), options: question.options.clone(), key: None };
    let item = context.request::<verb::Ask>(ASK_FIELDS, request).await?.item;
    context.questions.remember(question, item);
    waiting(context, item).await
}

async fn waiting(context: &ToolContext, item: u64) -> Result<Waiting, ToolFailure> {
    let ServerCaller::Process(asker) = context.caller().await? else {
        return Err(ToolFailure::new("wrong_kind", "only a process can ask a person"));
    };
    let wait = Wait::until(vec![Target(asker)], Until::Item(item));
    let base = Map::from_iter([("item".to_owned(), json!(item))]);
    Ok(Waiting {
        wait,
        timeout: None,
        status: format!("waiting for a person to answer item {item}"),
        fields: ASK_FIELDS,
        meanwhile: None,
        is_over_when_blocked: false,
        then: AfterWait::GiveAnswer { item, base, open: context.questions.clone() },
    })
}

async fn attention(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let request = Attention { reason: arguments.required("reason").to_owned(), key: None };
    let asked = context.request::<verb::Attention>(&[("reason", "reason")], request).await?;
    Ok(json!({"item": asked.item}).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(options: &[&str]) -> Result<ToolOutcome, ToolFailure> {
        let given = json!({"question": "Which?", "options": options});
        let tool = TOOLS.iter().find(|tool| tool.name == "ask_human").expect("it exists");
        let given = given.as_object().cloned().expect("an object");
        question(&Arguments::check(tool.fields, given)?)
    }

    #[test]
    fn options_are_few_and_each_is_there_once() {
        assert!(asked(&["a", "b"]).is_ok());
        let many: Vec<String> = (0..21).map(|number| number.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for wrong in [&["a", "b", "a"][..], &many, &[], &[""]] {
            let failure = asked(wrong).err().expect("refused").to_json();
            assert_eq!(failure["error"]["field"], json!("options"), "{wrong:?}");
        }
    }

    #[test]
    fn the_same_question_is_remembered_until_it_is_answered() {
        let open = Questions::default();
        let ask = |text: &str| Question { question: text.to_owned(), options: Vec::new() };
        open.remember(ask("Go on?"), 3);
        assert_eq!((open.item(&ask("Go on?")), open.item(&ask("Stop?"))), (Some(3), None));
        open.forget(3);
        assert_eq!(open.item(&ask("Go on?")), None);
        for item in 0..50 {
            open.remember(ask(&item.to_string()), item);
        }
        assert_eq!(open.lock().len(), MAX_OPEN);
    }
}

//! Asks the person a question: inside a run through the inbox, which people see wherever they are, with the
//! question and its options; elsewhere through a form of the client.
//!
//! A form would be seen only by a person in front of that agent's terminal, and its options by no screen.
//! Only questions go this way. A person gives permission and trust over their own connection, never through a
//! client that may belong to the asking program.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{
    CallToolResponse, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, EnumSchema, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    PrimitiveSchemaDefinition, ProtocolVersion, ServerRequest, StringSchema,
};
use rmcp::service::{PeerRequestOptions, RequestContext};
use serde_json::{Value, json};

use super::{Server, cancelled, progress, to_result};
use crate::failure::ToolFailure;
use crate::tools::asking::{self, MAX_WORDS, Question};
use crate::views;
use crate::waiting::{PROGRESS, Waiting};

/// The form's only field, and the name under which a client returns its form.
const ANSWER: &str = "answer";

/// How long a form may be open; the inbox gets the rest of the time that one answer may take.
const FORM: Duration = Duration::from_secs(40);
/// A form that was closed sooner leaves time to wait for the inbox in the same call.
const PROMPTLY: Duration = Duration::from_secs(4);

/// How the client shows the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The newer protocol: our result is the form, and the client calls again with the answer.
    Returned,
    /// The older protocol: we send the form while the call is open.
    Requested,
    /// Not at all.
    None,
}

impl Server {
    /// Asks by form or through the inbox; returns the answer or the wait for it.
    pub(super) async fn ask(
        &self,
        question: Question,
        said: Option<&InputResponses>,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResponse {
        match asking::resumed(&self.context, &question).await {
            Ok(Some(waiting)) => return self.wait(waiting, context).await,
            Ok(None) => {}
            Err(failure) => return to_result(Err(failure)).into(),
        }
        let began = Instant::now();
        let form = if self.context.is_in_run().await { Form::None } else { form_of(context) };
        let answer = match (form, said) {
            (Form::None, _) => Ok(None),
            (Form::Returned, None) => match returned(&question) {
                Some(form) => return form.into(),
                None => Ok(None),
            },
            (Form::Returned, Some(said)) => Ok(said.get(ANSWER).and_then(|said| read(&question, said))),
            (Form::Requested, _) => self.request(&question, context).await,
        };
        match answer {
            Ok(Some(answer)) => to_result(Ok(json!({"status": "answered", "answer": answer}))).into(),
            Err(failure) => to_result(Err(failure)).into(),
            // No person is there or wants to answer now: the question waits in the inbox.
            Ok(None) => match self.open(question).await {
                Ok(waiting) if began.elapsed() > PROMPTLY => to_result(Ok(waiting.still_running())).into(),
                Ok(waiting) => self.wait(waiting, context).await,
                Err(failure) => to_result(Err(failure)).into(),
            },
        }
    }

    /// Puts the question into the inbox. It continues when the call is cancelled: otherwise the item would
    /// exist and this server would not know it.
    async fn open(&self, question: Question) -> Result<Waiting, ToolFailure> {
        let context = Arc::clone(&self.context);
        let opening = tokio::spawn(async move { asking::opened(&context, question).await });
        opening.await.unwrap_or_else(|error| Err(ToolFailure::new("internal", error.to_string())))
    }

    /// Sends the form to a client of the older protocol, for no longer than one answer may take.
    async fn request(
        &self,
        question: &Question,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<String>, ToolFailure> {
        let Some(form) = form(question) else { return Ok(None) };
        let asked = requested(form, context);
        tokio::pin!(asked);
        let mut ticks = tokio::time::interval(PROGRESS);
        ticks.tick().await;
        let mut beats = 0;
        loop {
            tokio::select! {
                said = &mut asked => return Ok(said.and_then(|said| read(question, &said))),
                () = context.ct.cancelled() => return Err(cancelled()),
                () = self.is_gone() => return Err(cancelled()),
                _ = ticks.tick() => {
                    beats += 1;
                    progress(context, f64::from(beats), "waiting for a person to answer").await;
                }
            }
        }
    }
}

fn form_of(context: &RequestContext<RoleServer>) -> Form {
    let declared = context.client_capabilities().and_then(|client| client.elicitation);
    // A client that declares neither kind has forms: there was no other kind when it was written.
    let has_forms = declared.is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none());
    let is_newer = context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    match (has_forms, is_newer) {
        (true, true) => Form::Returned,
        (true, false) => Form::Requested,
        (false, _) => Form::None,
    }
}

/// Returns the client's answer to our form; `None` when there was none in time. The form is cancelled then.
async fn requested(form: ElicitRequestParams, context: &RequestContext<RoleServer>) -> Option<Value> {
    let timeout = PeerRequestOptions::with_timeout(FORM);
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
    let handle = context.peer.send_request_with_option(request, timeout).await.ok()?;
    match handle.await_response().await.ok()? {
        ClientResult::ElicitResult(result) => serde_json::to_value(result).ok(),
        _ => None,
    }
}

fn returned(question: &Question) -> Option<InputRequiredResult> {
    let request = InputRequest::Elicitation(ElicitRequest::new(form(question)?));
    Some(InputRequiredResult::from_input_requests(InputRequests::from([(ANSWER.to_owned(), request)])))
}

/// Returns the form: one field, with the options where there are some.
fn form(question: &Question) -> Option<ElicitRequestParams> {
    let field = if question.options.is_empty() {
        let most = u32::try_from(MAX_WORDS).unwrap_or(u32::MAX);
        PrimitiveSchemaDefinition::String(StringSchema::new().min_length(1).max_length(most))
    } else {
        PrimitiveSchemaDefinition::Enum(EnumSchema::builder(question.options.clone()).build())
    };
    let requested_schema = ElicitationSchema::builder().required_property(ANSWER, field).build().ok()?;
    let message = views::shortened(&question.question, usize::MAX);
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// Returns the answer, if the form was filled in with something that was asked for.
fn read(question: &Question, said: &Value) -> Option<String> {
    let result: ElicitResult = serde_json::from_value(said.clone()).ok()?;
    let answer = result.content.as_ref()?.get(ANSWER)?.as_str()?;
    let is_one = question.options.is_empty() || question.options.iter().any(|option| option == answer);
    let is_accepted = result.action == ElicitationAction::Accept;
    let fits = !answer.is_empty() && answer.len() <= MAX_WORDS;
    (is_accepted && is_one && fits).then(|| views::shortened(answer, usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(options: &[&str]) -> Question {
        Question {
            question: "Which?".to_owned(),
            options: options.iter().map(|text| (*text).to_owned()).collect(),
        }
    }

    #[test]
    fn a_form_has_one_field_with_the_options() {
        let form = serde_json::to_value(form(&question(&["a", "b"])).expect("a form")).expect("JSON");
        assert_eq!((&form["mode"], &form["message"]), (&json!("form"), &json!("Which?")));
        let schema = &form["requestedSchema"];
        assert_eq!(schema["required"], json!(["answer"]));
        assert_eq!(schema["properties"]["answer"]["enum"], json!(["a", "b"]), "{schema}");
        let free = serde_json::to_value(super::form(&question(&[])).expect("a form")).expect("JSON");
        assert_eq!(free["requestedSchema"]["properties"]["answer"]["type"], json!("string"));
    }

    #[test]
    fn only_a_filled_in_form_is_an_answer() {
        let accepted = |answer: Value| json!({"action": "accept", "content": {"answer": answer}});
        let which = question(&["a", "b"]);
        assert_eq!(read(&which, &accepted(json!("a"))).as_deref(), Some("a"));
        assert_eq!(read(&question(&[]), &accepted(json!("whatever"))).as_deref(), Some("whatever"));
        for wrong in [
            accepted(json!("c")),
            accepted(json!("")),
            accepted(json!(3)),
            accepted(json!(null)),
            json!({"action": "accept"}),
            json!({"action": "decline", "content": {"answer": "a"}}),
            json!({"action": "cancel"}),
            json!({"action": "shrug", "content": {"answer": "a"}}),
            json!("a"),
            json!(null),
            json!([]),
        ] {
            assert_eq!(read(&which, &wrong), None, "{wrong}");
        }
        let long = "x".repeat(MAX_WORDS + 1);
        assert_eq!(read(&question(&[]), &accepted(json!(long))), None);
    }
}

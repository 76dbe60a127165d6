//! The two prompts that a person can choose in a client, and the completion of their arguments.

use proto::{Kind, ProcessView};
use rmcp::ErrorData;
use rmcp::model::{
    CompleteRequestParams, CompletionInfo, GetPromptResult, Prompt, PromptArgument, PromptMessage, Reference,
    Role,
};
use serde_json::{Map, Value};

use crate::views;

/// Longest argument of a prompt.
const MAX_ARGUMENT: usize = 16 << 10; // 16 KiB

/// Returns all prompts.
pub(crate) fn list() -> Vec<Prompt> {
    let argument = |name: &str, says: &str, is_required: bool| {
        PromptArgument::new(name).with_description(says).with_required(is_required)
    };
    vec![
        Prompt::new(
            "lead_a_team",
            Some("Split a goal among agents, follow their work and bring it together."),
            Some(vec![
                argument("goal", "What is to be reached.", true),
                argument("agents", "How many agents, or which.", false),
            ]),
        )
        .with_title("Lead a team"),
        Prompt::new(
            "review_a_childs_work",
            Some("Read what one of your agents did and judge it."),
            Some(vec![argument("process", "The agent's id or name.", true)]),
        )
        .with_title("Review a child's work"),
    ]
}

/// Returns the text of one prompt.
pub(crate) fn get(name: &str, arguments: Option<&Map<String, Value>>) -> Result<GetPromptResult, ErrorData> {
    let argument = |name: &str| -> Result<Option<String>, ErrorData> {
        match arguments.and_then(|arguments| arguments.get(name)) {
            None => Ok(None),
            Some(Value::String(text)) if text.len() <= MAX_ARGUMENT => Ok(Some(text.clone())),
            Some(_) => {
                Err(ErrorData::invalid_params(format!("{name}: must be a text of at most 16 KiB"), None))
            }
        }
    };
    let needed = |name: &str| {
        argument(name)?.ok_or_else(|| ErrorData::invalid_params(format!("{name}: missing"), None))
    };
    let text = match name {
        "lead_a_team" => {
            let who = argument("agents")?
                .map(|agents| format!("Use these agents: {agents}.\n"))
                .unwrap_or_default();
            format!("Goal: {}\n{who}\n{LEAD}", needed("goal")?)
        }
        "review_a_childs_work" => format!("Agent: {}\n\n{REVIEW}", needed("process")?),
        other => {
            let shown = views::shortened(other, 64);
            return Err(ErrorData::invalid_params(format!("name: no prompt is called {shown}"), None));
        }
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}

const LEAD: &str = "\
Lead a team of agents to this goal with the Quarterdeck tools.
1. Call whoami and get_project_status: who you are, what you may use up, which agents and presets there are.
2. Split the goal into pieces that do not touch the same files. Say for each what done means, and write the plan with \
scratchpad_write so that everybody can read it.
3. spawn_agent for each piece, with a name and instructions that stand alone: the agent knows nothing of this conversation. \
Tell it the plan's name and to report findings there with scratchpad_write(append).
4. timer_set(processes, mode any) on all of them and end your turn, or wait_for_state with states idle, blocked, error, exited \
and mode any. Answer dialogs only when what they ask is part of the piece; otherwise ask_human.
5. get_result of each, check the work itself, and send_message what is missing.
6. Bring the pieces together, run the tests, close_process the agents that are done, and report.";

const REVIEW: &str = "\
Review what this agent did, with the Quarterdeck tools.
1. get_process_status: is its turn over, and how did it end?
2. get_result: what does it say it did? get_process_output with mode history shows how it got there.
3. Look at the files and the tests yourself, and at what it noted in scratchpads: what it says is a claim, not a proof.
4. Say what is right, what is wrong and what is missing. If something is, send_message it to the agent, in one message, \
with what you expect.";

/// Completions of an argument that names a process.
pub(crate) fn complete(params: &CompleteRequestParams, all: &[ProcessView]) -> CompletionInfo {
    let is_prompt = matches!(params.r#ref, Reference::Prompt(_));
    let is_process = params.argument.name == if is_prompt { "process" } else { "id" };
    let offered = all.iter().filter(|view| is_process && (!is_prompt || view.kind == Kind::Agent));
    let words = offered.flat_map(|view| [view.name.to_string(), view.id.to_string()]);
    let values: Vec<String> = words
        .filter(|word| word.starts_with(&params.argument.value))
        .take(CompletionInfo::MAX_VALUES)
        .collect();
    CompletionInfo::with_all_values(values).unwrap_or_default()
}

//! `qd answer`: answers an item of the inbox. The daemon checks that the item is still open, at the moment
//! when it types.

use std::process::ExitCode;

use clap::Args;
use proto::request::GiveAnswer;
use serde_json::json;

use crate::context::{Context, own_offer};
use crate::errors::CliError;

/// Answer an item of the inbox
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// Its number in `qd inbox`
    #[arg(value_parser = crate::text_arg::number)]
    item: u64,

    /// The answer: a number, a name such as allow, deny, allow_once or always, the text of an option, or any text for a
    /// question without options; - reads it from stdin
    #[arg(allow_hyphen_values = true, value_parser = crate::text_arg::text)]
    choice: String,
}

impl AnswerArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let Self { item, choice } = self;
        let choice = if choice == "-" { super::send::from_stdin()? } else { choice };
        let answer = GiveAnswer { item, choice: choice.clone(), offer: own_offer() };
        let answered = context.connect()?.answer_item(answer);
        answered.map_err(CliError::missing("`qd inbox` lists what is open"))?;
        context.print(&json!({ "item": item, "choice": choice }), |_, out| {
            out.line(&format!("item {item} is answered"))
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

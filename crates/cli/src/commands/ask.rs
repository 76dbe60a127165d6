//! `qd ask`: asks the person something from inside a run and waits for the answer. `qd answer` answers.

use std::process::ExitCode;

use clap::Args;
use client::{ClientError, Connection};
use proto::ErrorCode;
use proto::request::{Ask, Target, Until, Wait};
use serde_json::json;

use crate::context::Context;
use crate::errors::CliError;

/// From inside a process: ask the person a question
#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// The question; - reads it from stdin
    #[arg(allow_hyphen_values = true, value_parser = crate::text_arg::text)]
    question: String,

    /// An answer to choose from; repeat the flag for each. Without any, the answer is a text
    #[arg(long = "option", value_name = "X")]
    options: Vec<String>,

    /// Wait this many seconds for the answer and print it. If none comes, exit with 5; the question stays open
    #[arg(long, value_name = "SECS", value_parser = crate::time_arg::seconds, allow_negative_numbers = true)]
    wait: Option<u64>,

    /// A second call with the same key asks nothing new
    #[arg(long)]
    key: Option<String>,
}

impl AskArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let question = if self.question == "-" { super::send::from_stdin()? } else { self.question };
        let mut connection = context.connect()?;
        let ask = Ask { question, options: self.options, key: self.key };
        let Some(timeout_ms) = self.wait else {
            let asked = connection.ask(ask)?;
            context.print(&asked, |asked, out| out.line(&format!("item {} is in the inbox", asked.item)))?;
            return Ok(ExitCode::SUCCESS);
        };
        // The waiting process must be known before the question is asked: a question without a waiter would
        // stay behind.
        let own = own(&mut connection)?;
        let item = connection.ask(ask)?.item;
        let answer = answer(&mut connection, own, item, timeout_ms)?;
        context.print(&json!({"item": item, "answer": answer}), |_, out| out.text(&answer))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the process that this command runs in.
fn own(connection: &mut Connection) -> Result<Target, CliError> {
    let process = connection.who_am_i()?.process;
    let process = process.ok_or_else(|| CliError::usage("qd ask is for processes: run it inside of one"))?;
    Ok(Target(process.id.to_string()))
}

fn answer(connection: &mut Connection, own: Target, item: u64, timeout_ms: u64) -> Result<String, CliError> {
    let wait = Wait { timeout_ms: Some(timeout_ms), ..Wait::until(vec![own], Until::Item(item)) };
    match connection.wait(wait) {
        Ok(waited) => Ok(waited.satisfied.into_iter().find_map(|one| one.text).unwrap_or_default()),
        Err(ClientError::Failed(failure)) if failure.code == ErrorCode::Timeout => {
            let hint = format!("item {item} stays open; `qd wait NAME --item {item}` waits on");
            Err(CliError::from(ClientError::Failed(failure)).hinted(hint))
        }
        Err(error) => Err(error.into()),
    }
}

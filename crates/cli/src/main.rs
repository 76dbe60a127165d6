//! The binary `qd`: parses the command line, runs the verb and returns the exit code.

mod args;
mod commands;
mod context;
mod errors;
mod field_names;
mod output;
mod text_arg;
mod time_arg;

use std::process::ExitCode;

use proto::{ErrorCode, Failure};

fn main() -> ExitCode {
    // Before anything is read: the process that started us may have chosen all of it.
    if let Err(error) = daemon::refuse_setuid() {
        let failure = Failure::new(ErrorCode::Denied, error.to_string());
        return errors::report(&errors::CliError::Own(failure), false);
    }
    // A holder is started once per run and must neither parse arguments nor load what it never uses.
    if std::env::args_os().nth(1).is_some_and(|verb| verb == "hold") {
        return holder::hold();
    }
    match args::parse() {
        Ok(parsed) => {
            let is_json = parsed.flags.json;
            commands::run(parsed).unwrap_or_else(|error| errors::report(&error, is_json))
        }
        Err(told) => told,
    }
}

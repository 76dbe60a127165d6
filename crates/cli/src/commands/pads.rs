//! `qd pads`: a project's scratchpads. It reads their text from the command line or stdin and prints them;
//! only the daemon and a person's own editor write their files.

mod edit;
#[cfg(test)]
mod tests;

use std::io::{IsTerminal, Read};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use client::Connection;
use proto::Printable;
use proto::pads::{PadEntry, PadOutcome};
use proto::request::{Empty, Pad, PadAct, Presets};
use serde_json::json;

use crate::commands::project::ProjectArgs;
use crate::context::Context;
use crate::errors::CliError;
use crate::output::{Output, Style, Table, now_ms, span};

/// Largest scratchpad.
const MAX_PAD: u64 = 1 << 20; // 1 MiB
/// The hint when there is no scratchpad of that name.
const HINT: &str = "`qd pads` lists the project's scratchpads";

/// List, read and write the project's scratchpads
#[derive(Debug, Args)]
pub(crate) struct PadsArgs {
    #[command(subcommand)]
    verb: Option<PadsVerb>,

    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Debug, Subcommand)]
enum PadsVerb {
    /// List the scratchpads (the default)
    List,
    /// Print a scratchpad
    Show {
        /// Its name
        name: String,
        /// The revision to print [default: the newest]
        #[arg(long, value_name = "N")]
        revision: Option<u64>,
    },
    /// Replace the text of a scratchpad, or create it
    Write {
        /// Its name
        name: String,
        /// Its whole text; if it is - or left out, stdin is read
        #[arg(allow_hyphen_values = true, value_parser = crate::text_arg::text)]
        text: Option<String>,
        /// Write only if the pad still has this revision; 0 means: only if there is no such pad
        #[arg(long, value_name = "N")]
        expect: Option<u64>,
    },
    /// Append a line to a scratchpad, or create it
    Append {
        /// Its name
        name: String,
        /// The line; - reads it from stdin and adds it as it is
        #[arg(allow_hyphen_values = true, value_parser = crate::text_arg::text)]
        text: String,
    },
    /// Remove a scratchpad; its history stays
    Rm {
        /// Its name
        name: String,
        /// Remove it only if it still has this revision
        #[arg(long, value_name = "N")]
        expect: Option<u64>,
    },
    /// Rename a scratchpad
    Mv {
        /// Its name
        name: String,
        /// Its new name
        to: String,
    },
    /// List every revision that is kept, and who wrote it
    History {
        /// Its name
        name: String,
    },
    /// Edit a scratchpad in $VISUAL or $EDITOR and write it back, unless it has changed meanwhile
    Edit {
        /// Its name
        name: String,
    },
    /// Print the path of a scratchpad's file
    Path {
        /// Its name
        name: String,
    },
}

/// The operation, once its input has been read.
#[derive(Debug, PartialEq, Eq)]
enum PadAction {
    Act(PadAct),
    Edit(String),
    Path(String),
}

impl PadsArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let action = self.verb.unwrap_or(PadsVerb::List).action()?;
        let mut connection = context.connect()?;
        let project = self.project.directory(&mut connection)?;
        match action {
            PadAction::Act(act) => {
                let outcome = ask(&mut connection, project, act)?;
                show(context, outcome)?;
            }
            PadAction::Edit(name) => edit::edit(context, connection, project, &name)?,
            PadAction::Path(name) => print_path(context, connection, project, &name)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl PadsVerb {
    fn action(self) -> Result<PadAction, CliError> {
        let act = match self {
            Self::List => PadAct::List(Empty {}),
            Self::Show { name, revision } => PadAct::Read { name, revision },
            Self::Write { name, text, expect } => {
                PadAct::Write { name, content: whole(text)?, expected_revision: expect }
            }
            Self::Append { name, text } => PadAct::Append { name, text: line(text)? },
            Self::Rm { name, expect } => PadAct::Delete { name, expected_revision: expect },
            Self::Mv { name, to } => PadAct::Rename { name, to },
            Self::History { name } => PadAct::History { name },
            Self::Edit { name } => return plain(name).map(PadAction::Edit),
            Self::Path { name } => return plain(name).map(PadAction::Path),
        };
        Ok(PadAction::Act(act))
    }
}

/// Returns a whole text: as given, or all of stdin.
fn whole(text: Option<String>) -> Result<String, CliError> {
    match text {
        Some(text) if text != "-" => Ok(text),
        None if std::io::stdin().is_terminal() => {
            Err(CliError::usage("write what? give the text, or - to type it and end with Ctrl-D"))
        }
        _ => from_stdin(),
    }
}

/// Returns a line, ended by a line feed, so that the next one does not join it. Text from stdin has its own.
fn line(text: String) -> Result<String, CliError> {
    match text.as_str() {
        "-" => from_stdin(),
        ended if ended.ends_with('\n') => Ok(text),
        open => Ok(format!("{open}\n")),
    }
}

/// Reads all of stdin, byte for byte: a scratchpad that is read and written again stays the same.
fn from_stdin() -> Result<String, CliError> {
    let mut text = String::new();
    let stdin = std::io::stdin().lock();
    let read = stdin.take(MAX_PAD + 1).read_to_string(&mut text);
    read.map_err(CliError::io("stdin cannot be read as text"))?;
    if text.len() as u64 > MAX_PAD {
        return Err(CliError::usage("stdin: a scratchpad has at most 1 MiB"));
    }
    Ok(text)
}

/// A name that becomes part of a path must not be a path itself.
fn plain(name: String) -> Result<String, CliError> {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if begins && name.len() <= 64 && name.bytes().all(is_inner) {
        return Ok(name);
    }
    let shown = Printable(&name).to_string();
    Err(CliError::usage(format!("NAME: {shown} is no scratchpad's name: a-z 0-9 . _ -, at most 64 of them")))
}

fn ask(connection: &mut Connection, project: Option<String>, act: PadAct) -> Result<PadOutcome, CliError> {
    connection.pad(Pad { project, act }).map_err(CliError::missing(HINT))
}

fn show(context: &mut Context, outcome: PadOutcome) -> Result<(), CliError> {
    match outcome {
        PadOutcome::Listed(entries) => context.print(&entries, |entries, out| match entries.is_empty() {
            true => out.line("there is no scratchpad yet"),
            false => out.table(&list(entries, now_ms())),
        }),
        PadOutcome::History(entries) => {
            context.print(&entries, |entries, out| out.table(&history(entries, now_ms())))
        }
        PadOutcome::Text { name, content, revision, author } => {
            let value = json!({"name": name, "content": content, "revision": revision, "author": author});
            context.print(&value, |_, out| text(&content, out))
        }
        PadOutcome::Changed { name, revision } => {
            let value = json!({"name": name, "revision": revision});
            context.print(&value, |_, out| out.line(&changed(&name, revision)))
        }
    }
}

/// Returns the result of a change; a removed scratchpad has no revision.
fn changed(name: &str, revision: u64) -> String {
    match revision {
        0 => format!("{} is removed; its history stays", Printable(name)),
        _ => format!("{} is at revision {revision}", Printable(name)),
    }
}

/// Prints a scratchpad's text: byte for byte for programs, made safe for a terminal.
fn text(content: &str, out: &mut Output) -> Result<(), CliError> {
    if out.is_terminal() { out.text(content) } else { out.bytes(content.as_bytes()) }
}

fn list(entries: &[PadEntry], now: u64) -> Table {
    let mut table = Table::new(&["NAME", "REVISION", "BYTES", "AGE", "AUTHOR"]);
    for entry in entries {
        table.row(vec![
            (entry.name.clone(), Style::Bold),
            (entry.revision.to_string(), Style::Plain),
            (entry.bytes.to_string(), Style::Plain),
            (age(entry.at, now), Style::Plain),
            (entry.author.clone(), Style::Plain),
        ]);
    }
    table
}

fn history(entries: &[PadEntry], now: u64) -> Table {
    let mut table = Table::new(&["REVISION", "BYTES", "AGE", "AUTHOR"]);
    for entry in entries {
        table.row(vec![
            (entry.revision.to_string(), Style::Bold),
            (entry.bytes.to_string(), Style::Plain),
            (age(entry.at, now), Style::Plain),
            (entry.author.clone(), Style::Plain),
        ]);
    }
    table
}

fn age(at: u64, now: u64) -> String {
    span(now.saturating_sub(at) / 1000)
}

/// Prints the file's path, once the daemon has confirmed that it exists; only the daemon knows the project's
/// key.
fn print_path(
    context: &mut Context,
    mut connection: Connection,
    project: Option<String>,
    name: &str,
) -> Result<(), CliError> {
    ask(&mut connection, project.clone(), PadAct::Read { name: name.to_owned(), revision: None })?;
    let key = connection.presets(Presets { project, path: None })?.project.key;
    let path = context.address()?.dirs().data.join("pads").join(key).join(name);
    let path = path.to_string_lossy().into_owned();
    context.print(&json!({ "path": path }), |_, out| out.line(&path))
}

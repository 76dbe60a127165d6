//! `qd trust`: shows and changes what agents may start without approval, with the exact content.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use client::Connection;
use proto::Printable;
use proto::request::{Distrust, Empty, Presets, Trust, TrustWhat};
use proto::trust::TrustView;
use serde_json::json;

use crate::commands::project::ProjectArgs;
use crate::context::{Context, own_path};
use crate::errors::CliError;
use crate::output::{Output, Style, Table, now_ms, span};

/// How much of a digest is shown: enough to name it.
const SHOWN: usize = 12;

/// List and change what agents may start without approval
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    #[command(subcommand)]
    verb: Option<TrustVerb>,

    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Debug, Subcommand)]
enum TrustVerb {
    /// List what is trusted (the default), in every project or in the project that --project names
    List,
    /// Trust one of the project's presets as it is now; after any change you are asked again
    Preset {
        /// Its name
        name: String,
    },
    /// Trust the manifest of an agent that is not built in, as it is now; after any change you are asked again
    Agent {
        /// Its name
        name: String,
    },
    /// Trust the project's own list of commands that need no approval, as it is now
    Policy,
    /// Stop trusting something
    Rm {
        /// The digest that `qd trust` shows, or the beginning of it
        digest: String,
    },
}

impl TrustArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let mut connection = context.connect()?;
        match self.verb.unwrap_or(TrustVerb::List) {
            TrustVerb::List => {
                let trusted = listed(&mut connection, &self.project)?;
                context.print(&trusted, |trusted, out| match trusted.is_empty() {
                    true => out.line("nothing is trusted: agents ask before they start anything"),
                    false => out.table(&table(trusted, now_ms())),
                })?;
            }
            TrustVerb::Preset { name } => {
                trust(context, connection, &self.project, TrustWhat::Preset(name))?;
            }
            TrustVerb::Agent { name } => {
                trust(context, connection, &self.project, TrustWhat::Agent(name))?;
            }
            TrustVerb::Policy => trust(context, connection, &self.project, TrustWhat::Policy(Empty {}))?,
            TrustVerb::Rm { digest } => {
                let gone = connection.distrust(Distrust { digest: digest.clone() });
                gone.map_err(CliError::missing("`qd trust` lists what is trusted"))?;
                context.print(&json!({ "digest": digest }), |_, out| {
                    out.line(&format!("{} is trusted no longer", Printable(&digest)))
                })?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn listed(connection: &mut Connection, project: &ProjectArgs) -> Result<Vec<TrustView>, CliError> {
    let mut trusted = connection.trusted()?;
    if project.is_named() {
        let project = project.directory(connection)?;
        let key = connection.presets(Presets { project, path: None })?.project.key;
        trusted.retain(|view| view.project.key == key);
    }
    Ok(trusted)
}

fn trust(
    context: &mut Context,
    mut connection: Connection,
    project: &ProjectArgs,
    what: TrustWhat,
) -> Result<(), CliError> {
    let project = project.directory(&mut connection)?;
    let trusted = connection.trust(Trust { project, what, path: own_path() });
    let view = trusted
        .map_err(CliError::missing("`qd presets` lists the project's presets, `qd agents` the agents"))?;
    context.print(&view, print_trust)
}

/// Prints what was trusted, in full: a person who sees something unintended can revoke it.
fn print_trust(view: &TrustView, out: &mut Output) -> Result<(), CliError> {
    let what = match (&view.preset, &view.agent) {
        (Some(name), _) => format!("preset {name}"),
        (None, Some(name)) => format!("agent {name}"),
        (None, None) => "the policy".to_owned(),
    };
    let path = Printable(&view.project.path).to_string();
    out.line(&format!("{} of {path} is trusted as {}:", Printable(&what), digest(view)))?;
    command_lines(&view.command).iter().try_for_each(|line| out.line(&format!("  {line}")))
}

/// Returns a command line by line, with terminal control characters made visible.
pub(crate) fn command_lines(command: &str) -> Vec<String> {
    command.split('\n').map(|line| Printable(line).to_string()).collect()
}

fn digest(view: &TrustView) -> String {
    view.digest.chars().take(SHOWN).collect()
}

fn table(trusted: &[TrustView], now: u64) -> Table {
    let mut table = Table::new(&["DIGEST", "PROJECT", "PRESET", "AGENT", "AGE", "COMMAND"]);
    for view in trusted {
        let plain = |text: String| (text, Style::Plain);
        table.row(vec![
            (digest(view), Style::Bold),
            plain(view.project.path.clone()),
            plain(view.preset.clone().unwrap_or_else(|| "-".to_owned())),
            plain(view.agent.clone().unwrap_or_else(|| "-".to_owned())),
            plain(span(now.saturating_sub(view.at) / 1000)),
            plain(view.command.lines().next().unwrap_or_default().to_owned()),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::memory::Memory;

    fn view() -> TrustView {
        serde_json::from_value(
            serde_json::json!({"digest": "0123456789abcdef", "project": {"key": "00", "path": "/p"},
            "preset": "dev", "command": "npm run dev\u{1b}[2J\nin /p", "at": 1000}),
        )
        .unwrap()
    }

    #[test]
    fn b7_what_is_trusted_is_shown_whole_with_its_control_characters_visible() {
        let memory = Memory::default();
        print_trust(&view(), &mut memory.output()).unwrap();
        let expected = "preset dev of /p is trusted as 0123456789ab:\n  npm run dev\\u{1b}[2J\n  in /p\n";
        assert_eq!(memory.text(), expected);
    }

    #[test]
    fn a_list_has_one_row_for_each_with_what_it_runs() {
        let memory = Memory::default();
        memory.output().table(&table(&[view()], 3000)).unwrap();
        let expected = "DIGEST        PROJECT  PRESET  AGENT  AGE  COMMAND\n\
                        0123456789ab  /p       dev     -      2s   npm run dev\\u{1b}[2J\n";
        assert_eq!(memory.text(), expected);
    }
}

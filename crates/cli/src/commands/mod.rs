//! One file per verb, each with the same shape: arguments whose comments are the help, and `run`. This file
//! dispatches.

pub(crate) mod agents;
pub(crate) mod answer;
pub(crate) mod ask;
pub(crate) mod attach;
pub(crate) mod attention;
pub(crate) mod audit;
pub(crate) mod cancel;
pub(crate) mod close;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod daemon;
pub(crate) mod deck;
pub(crate) mod detach;
pub(crate) mod doctor;
pub(crate) mod ending;
pub(crate) mod events;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod grant;
pub(crate) mod grants;
pub(crate) mod hook;
pub(crate) mod inbox;
pub(crate) mod interrupt;
pub(crate) mod key;
pub(crate) mod kill;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod pads;
pub(crate) mod paste;
pub(crate) mod ports;
pub(crate) mod presets;
pub(crate) mod project;
pub(crate) mod prune;
pub(crate) mod ps;
pub(crate) mod read;
pub(crate) mod record;
pub(crate) mod rename;
pub(crate) mod resize;
pub(crate) mod restart;
pub(crate) mod result;
pub(crate) mod resume;
pub(crate) mod revoke;
pub(crate) mod run_args;
pub(crate) mod schema;
pub(crate) mod search;
pub(crate) mod see;
pub(crate) mod select;
pub(crate) mod send;
pub(crate) mod shutdown;
pub(crate) mod skills;
pub(crate) mod spawn;
pub(crate) mod status;
pub(crate) mod tell;
pub(crate) mod timers;
pub(crate) mod trust;
pub(crate) mod up;
pub(crate) mod viewers;
pub(crate) mod wait;
pub(crate) mod whoami;

use std::process::ExitCode;

use crate::args::{Cli, Verb};
use crate::context::Context;
use crate::errors::CliError;

/// Runs one verb.
pub(crate) fn run(cli: Cli) -> Result<ExitCode, CliError> {
    let Some(verb) = cli.verb else {
        return deck::run(&mut Context::new(cli.json, cli.quiet, cli.ephemeral));
    };
    if cli.ephemeral && is_about_what_is_there(&verb) {
        let words = "this verb looks at the daemon that is there; --ephemeral would begin another one";
        return Err(CliError::usage(words).hinted("leave --ephemeral out"));
    }
    let mut context = Context::new(cli.json, cli.quiet, cli.ephemeral);
    let context = &mut context;
    match verb {
        Verb::Spawn(args) => args.run(context),
        Verb::Exec(args) => args.run(context),
        Verb::Up(args) => args.run(context),
        Verb::Down(args) => args.run(context),
        Verb::Prune(args) => args.run(context),
        Verb::Ps(args) => args.run(context),
        Verb::Attach(args) => args.run(context),
        Verb::Viewers(args) => args.run(context),
        Verb::Detach(args) => args.run(context),
        Verb::Send(args) => args.run(context),
        Verb::Key(args) => args.run(context),
        Verb::Paste(args) => args.run(context),
        Verb::Read(args) => args.run(context),
        Verb::Search(args) => args.run(context),
        Verb::Wait(args) => args.run(context),
        Verb::Logs(args) => args.run(context),
        Verb::Events(args) => args.run(context),
        Verb::Record(args) => args.run(context),
        Verb::Tell(args) => args.run(context),
        Verb::Cancel(args) => args.run(context),
        Verb::Interrupt(args) => args.run(context),
        Verb::Result(args) => args.run(context),
        Verb::Inbox(args) => args.run(context),
        Verb::Answer(args) => args.run(context),
        Verb::Ask(args) => args.run(context),
        Verb::Attention(args) => args.run(context),
        Verb::Explain(args) => args.run(context),
        Verb::Agents(args) => args.run(context),
        Verb::Resume(args) => args.run(context),
        Verb::Restart(args) => args.run(context),
        Verb::Kill(args) => args.run(context),
        Verb::Close(args) => args.run(context),
        Verb::Rename(args) => args.run(context),
        Verb::Resize(args) => args.run(context),
        Verb::Select(args) => args.run(context),
        Verb::See(args) => args.run(context),
        Verb::Ports(args) => args.run(context),
        Verb::Pads(args) => args.run(context),
        Verb::Timers(args) => args.run(context),
        Verb::Presets(args) => args.run(context),
        Verb::Trust(args) => args.run(context),
        Verb::Grant(args) => args.run(context),
        Verb::Grants(args) => args.run(context),
        Verb::Revoke(args) => args.run(context),
        Verb::Audit(args) => args.run(context),
        Verb::Whoami(args) => args.run(context),
        Verb::Status(args) => args.run(context),
        Verb::Shutdown(args) => args.run(context),
        Verb::Doctor(args) => args.run(context),
        Verb::Hook(args) => args.run(context),
        Verb::Complete(args) => args.run(context),
        Verb::Completions(args) => args.run(context),
        Verb::Man(args) => args.run(context),
        Verb::Schema(args) => args.run(context),
        Verb::Mcp(args) => args.run(context),
        Verb::Skills(args) => args.run(context),
        Verb::Daemon(args) => args.run(context),
    }
}

/// Verbs that never start a daemon. Without this, `--ephemeral shutdown --kill` would end a daemon that is
/// not private.
fn is_about_what_is_there(verb: &Verb) -> bool {
    matches!(verb, Verb::Status(_) | Verb::Shutdown(_) | Verb::Doctor(_) | Verb::Hook(_))
}

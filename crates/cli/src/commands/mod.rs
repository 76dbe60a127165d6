//! One file per verb, each with the same shape: arguments whose comments are the help, and `run`. A new verb
//! is its file, one `mod` line and one row here.

pub(crate) mod access;
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
pub(crate) mod config;
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
pub(crate) mod import;
pub(crate) mod inbox;
pub(crate) mod interrupt;
pub(crate) mod key;
pub(crate) mod kill;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod messages;
pub(crate) mod pads;
pub(crate) mod pair;
pub(crate) mod paste;
pub(crate) mod ports;
pub(crate) mod presets;
pub(crate) mod project;
pub(crate) mod projects;
pub(crate) mod prune;
pub(crate) mod ps;
pub(crate) mod read;
pub(crate) mod record;
pub(crate) mod rename;
pub(crate) mod reset;
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
pub(crate) mod tasks;
pub(crate) mod tell;
pub(crate) mod timers;
pub(crate) mod trust;
pub(crate) mod up;
pub(crate) mod verb_groups;
pub(crate) mod viewers;
pub(crate) mod wait;
pub(crate) mod web;
pub(crate) mod whoami;
pub(crate) mod workspace;

use std::process::ExitCode;

use clap::Subcommand;
use proto::nearest_word;

use crate::args::Cli;
use crate::context::Context;
use crate::errors::CliError;

/// Makes the list of verbs for the command line and the way to each from one list. Help shows them in this order.
macro_rules! verbs {
    ($($(#[$attribute:meta])* $verb:ident($args:ty),)*) => {
        #[derive(Debug, Subcommand)]
        pub(crate) enum Verb {
            $($(#[$attribute])* $verb($args),)*
        }

        impl Verb {
            /// Returns the grammar of one verb; `None` if there is no such verb.
            pub(crate) fn grammar(name: &str) -> Option<clap::Command> {
                let names = [$(stringify!($verb)),*];
                let augment = [$(<$args as clap::Args>::augment_args),*];
                let is_named = |verb: &&str| verb.len() == name.len() && verb.to_ascii_lowercase() == name;
                let at = names.iter().position(is_named)?;
                // A grammar keeps names for the life of the process, as this one lives.
                Some(augment[at](clap::Command::new(&*names[at].to_ascii_lowercase().leak())))
            }

            fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
                match self {
                    $(Self::$verb(args) => args.run(context),)*
                }
            }
        }
    };
}

verbs! {
    Spawn(Box<spawn::SpawnArgs>),
    Exec(exec::ExecArgs),
    Up(up::UpArgs),
    Down(up::DownArgs),
    Ps(ps::PsArgs),
    Prune(prune::PruneArgs),
    Attach(attach::AttachArgs),
    Viewers(viewers::ViewersArgs),
    Detach(detach::DetachArgs),
    Send(send::SendArgs),
    Key(key::KeyArgs),
    Paste(paste::PasteArgs),
    Read(read::ReadArgs),
    Search(search::SearchArgs),
    Wait(wait::WaitArgs),
    Logs(logs::LogsArgs),
    Events(events::EventsArgs),
    Record(record::RecordArgs),
    Tell(tell::TellArgs),
    Messages(messages::MessagesArgs),
    Cancel(cancel::CancelArgs),
    Interrupt(interrupt::InterruptArgs),
    Result(result::ResultArgs),
    Inbox(inbox::InboxArgs),
    Answer(answer::AnswerArgs),
    Ask(ask::AskArgs),
    Attention(attention::AttentionArgs),
    Explain(explain::ExplainArgs),
    Agents(agents::AgentsArgs),
    Resume(resume::ResumeArgs),
    Restart(restart::RestartArgs),
    Kill(kill::KillArgs),
    Close(close::CloseArgs),
    Rename(rename::RenameArgs),
    Resize(resize::ResizeArgs),
    Select(select::SelectArgs),
    See(see::SeeArgs),
    Ports(ports::PortsArgs),
    Pads(pads::PadsArgs),
    Timers(timers::TimersArgs),
    Presets(presets::PresetsArgs),
    Trust(trust::TrustArgs),
    Grant(grant::GrantArgs),
    Grants(grants::GrantsArgs),
    Revoke(revoke::RevokeArgs),
    New(tasks::change::NewArgs),
    Tasks(tasks::list::TasksArgs),
    Run(tasks::run::RunArgs),
    Stop(tasks::run::StopArgs),
    Diff(tasks::diff::DiffArgs),
    Review(tasks::review::ReviewArgs),
    Forecast(tasks::list::ForecastArgs),
    Land(tasks::land::LandArgs),
    Drop(tasks::change::DropArgs),
    Restore(tasks::change::RestoreArgs),
    Gc(tasks::collect::GcArgs),
    Projects(projects::ProjectsArgs),
    Pick(projects::PickArgs),
    Import(import::ImportArgs),
    Audit(audit::AuditArgs),
    Whoami(whoami::WhoamiArgs),
    Status(status::StatusArgs),
    Shutdown(shutdown::ShutdownArgs),
    Doctor(doctor::DoctorArgs),
    Reset(reset::ResetArgs),
    Config(config::ConfigArgs),
    #[command(hide = true)]
    Complete(complete::CompleteArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    Schema(schema::SchemaArgs),
    Web(web::WebArgs),
    Pair(pair::PairArgs),
    Access(access::AccessArgs),
    Workspace(workspace::WorkspaceArgs),
    Mcp(mcp::McpArgs),
    Skills(skills::SkillsArgs),
    #[command(hide = true)]
    Hook(hook::HookArgs),
    #[command(hide = true)]
    Daemon(daemon::DaemonArgs),
}

/// Runs one verb.
pub(crate) fn run(Cli { flags, verb }: Cli) -> Result<ExitCode, CliError> {
    let mut context = Context::new(flags.json, flags.quiet, flags.ephemeral);
    let Some(verb) = verb else { return deck::run(&mut context) };
    if flags.ephemeral && is_about_what_is_there(&verb) {
        let words = "this verb is about the daemon that runs; --ephemeral would start another one";
        return Err(CliError::usage(words).hinted("leave --ephemeral out"));
    }
    let ends_tasks = matches!(verb, Verb::Stop(_));
    verb.run(&mut context).map_err(|error| with_nearest(&mut context, ends_tasks, error))
}

/// Adds the way out to the error that there is no such process or task: the nearest name, or that it is a process.
fn with_nearest(context: &mut Context, ends_tasks: bool, error: CliError) -> CliError {
    let text = error.to_string();
    let quoted = |before: &str| text.strip_prefix(before)?.strip_suffix('"').map(str::to_owned);
    let (process, task) = (quoted("no process \""), quoted("no task \""));
    let Some(asked) = process.as_ref().or(task.as_ref()) else { return error };
    // What is listed is what the caller may know of.
    let listed = context.connect().and_then(|mut connection| Ok(connection.list()?));
    let Ok(listed) = listed else { return error };
    let names: Vec<&str> = listed.iter().map(|process| process.name.as_str()).collect();
    let hint = match process.is_some() {
        true => nearest_word(asked, names).map(|name| format!("did you mean {name}? `qd ps` lists them")),
        false if !names.contains(&asked.as_str()) => None,
        false if ends_tasks => Some(format!(
            "{asked} is a process: `qd kill {asked}` ends it, `qd close {asked}` removes it too"
        )),
        false => Some(format!("{asked} is a process, not a task; `qd tasks` lists the tasks")),
    };
    match hint {
        Some(hint) => error.hinted(hint),
        None => error,
    }
}

/// Verbs that never start a daemon. Without this, `--ephemeral shutdown --kill` would end a daemon that is
/// not private.
fn is_about_what_is_there(verb: &Verb) -> bool {
    matches!(verb, Verb::Status(_) | Verb::Shutdown(_) | Verb::Doctor(_) | Verb::Hook(_))
}

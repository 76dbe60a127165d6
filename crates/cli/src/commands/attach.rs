//! `qd attach`: makes this terminal a viewer. It chooses the process and prints the last line; the crate
//! `client` has the loop.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use client::ClientError;
use client::attach::{AttachOptions, AttachOutcome, Clipboard, DetachKeys, Left, Terminal, attach};
use daemon::Settings;
use proto::request::{SizePolicy, Target};
use proto::{ErrorCode, Failure, Printable, ProcessView, Size};
use rustix::termios::isatty;

use super::tasks;
use crate::context::{Context, settings};
use crate::errors::CliError;
use crate::output::{Style, Table};

/// The variable that names the detach keys.
const DETACH_KEYS: &str = "QD_DETACH_KEYS";
/// The reason when the run is gone and its end is unknown.
const LOST: &str = "lost";
/// The reason when `qd detach` ended it.
const LET_GO: &str = "let_go";

/// Show a process full-screen and type into it
#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    /// Its name or id, or the name of a task, to see the task's agent [default: the task of this directory, or else the
    /// only process, or else your choice from a list]
    name: Option<String>,

    /// Watch only
    #[arg(long)]
    read_only: bool,

    /// Detach every other viewer first
    #[arg(long)]
    take_over: bool,

    /// Which viewer decides the size of the process from now on
    #[arg(long, value_enum, value_name = "POLICY")]
    size: Option<Policy>,

    /// The keys that detach, such as `ctrl-q` [default: those in QD_DETACH_KEYS, or else `ctrl-\ d`]
    #[arg(long, value_name = "KEYS")]
    detach_keys: Option<DetachKeys>,

    /// Another way to detach: `~.` at the start of a line, as in ssh
    #[arg(long, value_enum, value_name = "STYLE")]
    escape: Option<Escape>,

    /// Let the process write this terminal's clipboard (OSC 52)
    #[arg(long)]
    clipboard: bool,

    /// If the output is not a terminal: print everything as it is, terminal queries too
    #[arg(long)]
    raw: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Policy {
    /// The viewer that typed last
    Owner,
    /// No viewer decides; the size stays as it is
    Fixed,
    /// The smallest of all viewers that may type
    Smallest,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Escape {
    /// `~.` at the start of a line
    Ssh,
}

impl AttachArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let target = match self.name.clone() {
            Some(name) => Target(name),
            None => in_this_directory(context)?.map_or_else(|| only_one(context), Ok)?,
        };
        let settings = settings()?;
        let keys = self.detach_keys.map_or_else(|| usual_keys(&settings), Ok)?;
        let keys = match self.escape {
            Some(Escape::Ssh) => keys.with_tilde(),
            None => keys,
        };
        let options = AttachOptions {
            read_only: self.read_only,
            take_over: self.take_over,
            policy: self.size.map(|policy| match policy {
                Policy::Owner => SizePolicy::Owner,
                Policy::Fixed => SizePolicy::Fixed,
                Policy::Smallest => SizePolicy::Smallest,
            }),
            keys,
            clipboard: clipboard(self.clipboard || settings.attach.clipboard),
            raw: self.raw,
            ..AttachOptions::new(target)
        };
        match show(context, &options) {
            Err(error) if is_unknown(&error) => match self.name.map(|name| of_task(context, name)) {
                Some(Ok(Some(target))) => show(context, &AttachOptions { target, ..options }),
                Some(Err(other)) => Err(other),
                Some(Ok(None)) | None => Err(error),
            },
            shown => shown,
        }
    }
}

/// Returns true if no process has the name.
fn is_unknown(error: &CliError) -> bool {
    matches!(error, CliError::Client(ClientError::Failed(failure)) if failure.code == ErrorCode::NotFound)
}

/// Returns what to attach to in the task of this name; none if there is no such task.
fn of_task(context: &mut Context, name: String) -> Result<Option<Target>, CliError> {
    let task = tasks::find(&mut context.connect()?, Some(name))?;
    task.map(|task| tasks::process_to_attach(&task).map(|process| Target(process.id.to_string()))).transpose()
}

/// Returns what to attach to in the task of the current directory; none if no task of the caller's works here.
fn in_this_directory(context: &mut Context) -> Result<Option<Target>, CliError> {
    // A directory that is gone or has no name in UTF-8 is that of no task.
    if super::project::absolute(None, "NAME").is_err() {
        return Ok(None);
    }
    let task = match tasks::find(&mut context.connect()?, None) {
        Err(CliError::Client(ClientError::Failed(_))) => None,
        found => found?,
    };
    task.map(|task| tasks::process_to_attach(&task).map(|process| Target(process.id.to_string()))).transpose()
}

/// Attaches with every default of the environment and of the user's settings.
pub(crate) fn attach_to(context: &mut Context, target: Target) -> Result<ExitCode, CliError> {
    let settings = settings()?;
    let options = AttachOptions {
        keys: usual_keys(&settings)?,
        clipboard: clipboard(settings.attach.clipboard),
        ..AttachOptions::new(target)
    };
    show(context, &options)
}

/// The size of the terminal that would show a process; `None` when there is no terminal.
pub(crate) fn shown_size() -> Option<Size> {
    Terminal::size_of(rustix::stdio::stdout()).or_else(|| Terminal::size_of(rustix::stdio::stdin()))
}

fn clipboard(is_writable: bool) -> Clipboard {
    if is_writable { Clipboard::Writable } else { Clipboard::Refused }
}

/// The detach keys of the environment, else those of the settings, else the default.
fn usual_keys(settings: &Settings) -> Result<DetachKeys, CliError> {
    keys_named(std::env::var_os(DETACH_KEYS), settings.attach.detach_keys.as_deref())
}

/// A variable that is set to an empty text does not count.
fn keys_named(variable: Option<OsString>, setting: Option<&str>) -> Result<DetachKeys, CliError> {
    let variable =
        variable.filter(|value| !value.is_empty()).map(|value| value.to_string_lossy().into_owned());
    let (named, whence) = match (variable, setting) {
        (Some(variable), _) => (variable, DETACH_KEYS),
        (None, Some(setting)) => (setting.to_owned(), "detach_keys in config.toml"),
        (None, None) => return Ok(DetachKeys::default()),
    };
    named.parse().map_err(|error| CliError::usage(format!("{whence}: {error}")))
}

fn show(context: &mut Context, options: &AttachOptions) -> Result<ExitCode, CliError> {
    let outcome = attach(context.address()?, options)?;
    if let Some(words) = last_words(&outcome).filter(|_| !context.quiet) {
        // Printed after the terminal is restored; there may be no reader left.
        drop(writeln!(std::io::stderr(), "[{words}]"));
    }
    Ok(ExitCode::from(exit_code(&outcome.left)))
}

fn only_one(context: &mut Context) -> Result<Target, CliError> {
    let processes = context.connect()?.list()?;
    match processes.as_slice() {
        [only] => Ok(Target(only.id.to_string())),
        [] => Err(CliError::Own(
            Failure::new(ErrorCode::NotFound, "there is no process").hint("`qd spawn -- PROGRAM` starts one"),
        )),
        several => pick(context, several),
    }
}

/// Asks on the terminal which of several processes is meant; without a terminal the error lists them.
fn pick(context: &mut Context, several: &[ProcessView]) -> Result<Target, CliError> {
    let mut several: Vec<&ProcessView> = several.iter().collect();
    several.sort_by_key(|process| (process.times.started_at, process.id));
    if !context.out.is_terminal() || !isatty(rustix::stdio::stdin()) {
        let names: Vec<&str> = several.iter().map(|process| process.name.as_str()).collect();
        let message = format!("there are {} processes: {}", several.len(), names.join(", "));
        return Err(CliError::usage(message).hinted("name one of them: qd attach NAME"));
    }
    let mut table = Table::new(&["", "NAME", "KIND", "STATUS", "COMMAND"]);
    for (number, process) in several.iter().enumerate() {
        table.row(vec![
            ((number + 1).to_string(), Style::Dim),
            (process.name.to_string(), Style::Bold),
            (process.kind.to_string(), Style::Plain),
            (process.status.to_string(), Style::Plain),
            (process.program.argv.join(" "), Style::Plain),
        ]);
    }
    context.out.clipped_table(&table)?;
    context.out.bytes(b"which one? (number, name or the beginning of a name) ")?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(CliError::io("nothing can be read from the terminal"))?;
    picked(&answer, &several)
}

/// The process that an answer names, or the only one whose name begins with it.
fn picked(answer: &str, several: &[&ProcessView]) -> Result<Target, CliError> {
    let answer = answer.trim();
    let by_number = answer.parse::<usize>().ok().and_then(|number| several.get(number.checked_sub(1)?));
    let by_name = || several.iter().find(|process| process.name.as_str() == answer);
    let is_begun = |process: &&&ProcessView| !answer.is_empty() && process.name.as_str().starts_with(answer);
    let begun: Vec<&&ProcessView> = several.iter().filter(is_begun).collect();
    let by_beginning = || if let [only] = begun[..] { Some(only) } else { None };
    let found = by_number.or_else(by_name).or_else(by_beginning);
    found.map(|process| Target(process.id.to_string())).ok_or_else(|| {
        let wrong = if begun.is_empty() { "is none of them" } else { "is the beginning of several names" };
        CliError::usage(format!("\"{}\" {wrong}", Printable(answer))).hinted("qd ps lists them")
    })
}

fn last_words(outcome: &AttachOutcome) -> Option<String> {
    let name = &outcome.name;
    match &outcome.left {
        Left::Detached => Some(format!("detached from {name}")),
        Left::Exited(exit) => Some(format!("{name}: {}", super::wait::exit_words(exit))),
        Left::Ended(reason) if reason == "taken_over" => {
            Some(format!("{name} was taken over by another viewer"))
        }
        Left::Ended(reason) if reason == LET_GO => Some(format!("detached from {name} by another command")),
        Left::Ended(reason) if reason == LOST => Some(format!("{name} was lost: how it ended is not known")),
        Left::Ended(reason) => Some(format!("{name}: {}", Printable(reason))),
        Left::HungUp | Left::Signalled(_) => None,
    }
}

fn exit_code(left: &Left) -> u8 {
    match left {
        Left::Exited(exit) => exit.shell_code(),
        Left::Signalled(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        Left::Ended(reason) if reason == LOST => 1,
        Left::Detached | Left::HungUp | Left::Ended(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::{Exit, ExitReason};

    #[test]
    fn the_exit_code_is_the_childs_or_zero_on_detach() {
        let exit = |code, signal| Left::Exited(Exit { code, signal, reason: ExitReason::Exited });
        assert_eq!(exit_code(&exit(Some(3), None)), 3);
        assert_eq!(exit_code(&exit(None, Some(9))), 137);
        assert_eq!(exit_code(&Left::Detached), 0);
        assert_eq!(exit_code(&Left::Signalled(15)), 143);
        for (reason, code) in
            [("lost", 1), ("closed", 0), ("taken_over", 0), ("restarted", 0), ("shutdown", 0)]
        {
            assert_eq!(exit_code(&Left::Ended(reason.to_owned())), code, "{reason}");
        }
    }

    #[test]
    fn a_variable_that_is_set_to_nothing_names_no_detach_keys() {
        let named = |value: &str| keys_named(Some(value.into()), None);
        assert_eq!(named("").unwrap(), DetachKeys::default());
        assert_eq!(keys_named(None, None).unwrap(), DetachKeys::default());
        assert_eq!(named("ctrl-q").unwrap().to_string(), "Ctrl-Q");
        assert!(named("q").unwrap_err().to_string().contains(DETACH_KEYS));
    }

    #[test]
    fn m15_detach_keys_of_the_settings_count_unless_the_environment_names_others() {
        let keys = |variable: &str| keys_named(Some(variable.into()), Some("ctrl-a d")).unwrap().to_string();
        assert_eq!(keys(""), "Ctrl-A d");
        assert_eq!(keys("ctrl-q"), "Ctrl-Q");
        let wrong = keys_named(None, Some("q")).unwrap_err().to_string();
        assert!(wrong.contains("config.toml"), "{wrong}");
    }

    #[test]
    fn m15_a_picker_takes_a_number_or_a_name() {
        let process = |id: &str, name: &str| -> ProcessView {
            serde_json::from_value(serde_json::json!({
                "id": id, "name": name, "kind": "command", "status": "running", "pid": 7, "run": 1,
                "state": null, "parent": null, "task": null, "workspace": "local", "owner": "user",
                "size": {"cols": 80, "rows": 24}, "viewers": 0, "log": {"start": 0, "end": 9},
                "argv": ["x"], "cwd": "/", "started_at": 0, "active_at": 0}))
            .unwrap()
        };
        let (one, two) = (process("p_00000000", "one"), process("p_00000001", "two"));
        let several = [&one, &two];
        assert_eq!(picked("2\n", &several).unwrap().0, "p_00000001");
        assert_eq!(picked(" one\n", &several).unwrap().0, "p_00000000");
        assert_eq!(picked("tw\n", &several).unwrap().0, "p_00000001");
        for wrong in ["", "0", "3", "three", "o n"] {
            assert!(picked(wrong, &several).is_err(), "{wrong}");
        }
        let (three, both) = (process("p_00000002", "three"), |error: CliError| error.to_string());
        let several = [&one, &two, &three];
        assert!(picked("t", &several).map_err(both).unwrap_err().contains("several"));
        assert!(picked("x", &several).map_err(both).unwrap_err().contains("none"));
    }

    #[test]
    fn a_lost_run_is_called_lost() {
        let outcome =
            |reason: &str| AttachOutcome { name: "x".to_owned(), left: Left::Ended(reason.to_owned()) };
        let words = last_words(&outcome("lost")).unwrap();
        assert!(words.starts_with("x was lost"), "{words}");
        assert_eq!(last_words(&outcome("closed")).unwrap(), "x: closed");
    }
}

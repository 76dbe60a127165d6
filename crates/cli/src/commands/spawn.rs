//! `qd spawn`: starts a process. It decides what the process inherits from this shell.

mod spawn_limits;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use proto::inherited_variables::{Variables, is_allowed, is_inheritable};
use proto::reply::Spawned;
use proto::request::{AgentRequest, OnTimeout, PermissionMode, PermissionWait, SizeRequest, Spawn, Target};
use proto::{Kind, Printable, Size};

use crate::commands::{attach, project};
use crate::context::Context;
use crate::errors::CliError;
use crate::output::Output;

use spawn_limits::SpawnLimits;

/// Start a process in a terminal of its own
#[derive(Debug, Args)]
pub(crate) struct SpawnArgs {
    /// What it is: command, terminal or agent
    #[arg(long, default_value = "command")]
    kind: Kind,

    /// Its name [default: KIND-N, for example command-1]
    #[arg(long)]
    pub(super) name: Option<String>,

    /// The directory it runs in [default: this one]; with --preset, a directory of the preset's project
    #[arg(long, value_name = "DIR")]
    pub(super) cwd: Option<String>,

    /// The size of its terminal [default: 80x24; with --attach, the size of this terminal]
    #[arg(long, value_name = "COLSxROWS")]
    pub(super) size: Option<Size>,

    /// Set a variable for it. K alone copies the value from this shell, which keeps secrets out of command lines
    #[arg(long, value_name = "K=V")]
    pub(super) env: Vec<String>,

    /// Give it only the harmless part of this shell's environment: paths, locale, editor [default: all of it]
    #[arg(long)]
    pub(super) clean_env: bool,

    /// The task it works for
    #[arg(long)]
    task: Option<String>,

    /// The workspace it belongs to
    #[arg(long)]
    workspace: Option<String>,

    /// Start it again when it fails
    #[arg(long)]
    auto_restart: bool,

    /// End it after this long without input, output or viewers
    #[arg(long, value_name = "SECS", value_parser = crate::time_arg::seconds)]
    idle_timeout: Option<u64>,

    /// Attach to it at once
    #[arg(long)]
    attach: bool,

    /// For agents: the first message, delivered as soon as the agent accepts one; - reads it from stdin
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = crate::text_arg::text)]
    prompt: Option<String>,

    /// For agents: continue this session; the ID is the vendor's
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// For agents: the model, in the vendor's own words
    #[arg(long)]
    model: Option<String>,

    /// For agents: what it may do without asking: plan (changes nothing), ask, edit (edits files) or auto
    /// (everything)
    #[arg(long)]
    mode: Option<PermissionMode>,

    /// For agents: permission requests wait in the inbox for this many seconds
    #[arg(long, alias = "park", value_name = "SECS", value_parser = crate::time_arg::seconds)]
    permission_wait: Option<u64>,

    /// For agents: what happens to a request that nobody answers in that time: deny, allow or ask
    #[arg(long, value_name = "ANSWER", default_value = "deny", requires = "permission_wait", value_parser = on_timeout)]
    on_timeout: OnTimeout,

    #[command(flatten)]
    pub(super) spawn_limits: SpawnLimits,

    /// With --kind agent: the agent to start; `qd agents` lists them
    agent: Option<String>,

    /// The program and its arguments. A terminal without them runs your shell; an agent gets them as further arguments
    #[arg(last = true, value_name = "ARGV")]
    pub(crate) argv: Vec<String>,
}

impl SpawnArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let attach = self.attach;
        self.check()?;
        let size = self.size.or_else(|| attach.then(attach::shown_size).flatten());
        let request = Self { size, ..self };
        let request = request.request(std::env::vars_os().collect())?;
        let spawned = client::reconnecting::spawn(context.address()?, request)?;
        if attach && !context.json {
            return attach::attach_to(context, Target(spawned.id.to_string()));
        }
        context.confirm(&spawned, print_spawned)?;
        if attach {
            attach::attach_to(context, Target(spawned.id.to_string()))
        } else {
            Ok(ExitCode::SUCCESS)
        }
    }

    /// Creates arguments with only a kind, for verbs that set the rest themselves.
    pub(super) fn of_kind(kind: Kind) -> Self {
        Self {
            kind,
            name: None,
            cwd: None,
            size: None,
            env: Vec::new(),
            clean_env: false,
            task: None,
            workspace: None,
            auto_restart: false,
            idle_timeout: None,
            attach: false,
            prompt: None,
            session: None,
            model: None,
            mode: None,
            permission_wait: None,
            on_timeout: OnTimeout::Deny,
            spawn_limits: SpawnLimits::default(),
            agent: None,
            argv: Vec::new(),
        }
    }

    fn check(&self) -> Result<(), CliError> {
        self.spawn_limits.check(self.kind)?;
        match (self.kind, &self.agent) {
            (Kind::Agent, None) if self.argv.is_empty() => {
                Err(CliError::usage("which agent? qd spawn --kind agent NAME; qd agents lists them"))
            }
            (Kind::Command, None) if self.argv.is_empty() && self.spawn_limits.preset.is_none() => Err(
                CliError::usage("a command needs something to run: qd spawn -- PROGRAM, or --preset NAME")
                    .hinted("`qd spawn --kind terminal --attach` opens your shell"),
            ),
            (Kind::Command | Kind::Terminal, Some(word)) => Err(CliError::usage(format!(
                "put -- before the program: qd spawn -- {}; to start an agent, add --kind agent",
                Printable(word)
            ))),
            (Kind::Command | Kind::Terminal, None)
                if self.prompt.is_some()
                    || self.session.is_some()
                    || self.permission_wait.is_some()
                    || self.model.is_some()
                    || self.mode.is_some() =>
            {
                let words = "--prompt, --session, --model, --mode and --permission-wait are for --kind agent";
                Err(CliError::usage(words))
            }
            _ => Ok(()),
        }
    }

    fn agent_request(&self) -> Result<AgentRequest, CliError> {
        let prompt = match self.prompt.as_deref() {
            Some("-") => Some(super::send::from_stdin()?),
            other => other.map(str::to_owned),
        };
        let wait = |timeout_ms| PermissionWait { timeout_ms, on_timeout: self.on_timeout };
        let (session, model) = (self.session.clone(), self.model.clone());
        Ok(AgentRequest {
            prompt,
            session,
            permissions: self.permission_wait.map(wait),
            model,
            mode: self.mode,
        })
    }

    pub(super) fn request(self, own: Vec<(OsString, OsString)>) -> Result<Spawn, CliError> {
        let env = declared(&self.env, &Variables::of(own.iter().cloned(), |_| true).text)?;
        let agent = self.agent_request()?;
        let is_taken = if self.clean_env { is_allowed } else { is_inheritable };
        let taken = Variables::of(own.into_iter(), is_taken);
        let spawn = Spawn {
            kind: self.kind,
            name: self.name,
            argv: self.agent.into_iter().chain(self.argv).collect(),
            cwd: Some(project::existing(self.cwd, "--cwd")?),
            size: self.size.map_or_else(SizeRequest::default, SizeRequest::from),
            base_env: Some(taken.text),
            base_env_hex: taken.hex,
            env,
            task: self.task,
            workspace: self.workspace,
            auto_restart: self.auto_restart,
            idle_timeout_ms: self.idle_timeout,
            agent,
            ..Spawn::default()
        };
        Ok(self.spawn_limits.applied_to(spawn))
    }
}

/// Prints beside the output what differs from what a person may expect; there may be no reader left.
pub(crate) fn warn(spawned: &Spawned) {
    if let Some(warning) = &spawned.warning {
        drop(writeln!(std::io::stderr(), "warning: {}: {warning}", spawned.name));
    }
}

/// Prints a started process in words.
pub(crate) fn print_spawned(spawned: &Spawned, out: &mut Output) -> Result<(), CliError> {
    warn(spawned);
    let pid = spawned.pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
    out.line(&format!("{} ({}) is {}{pid}", spawned.name, spawned.id, spawned.status))?;
    for shortfall in &spawned.shortfalls {
        out.line(&format!("warning: {}", Printable(shortfall)))?;
    }
    Ok(())
}

fn on_timeout(word: &str) -> Result<OnTimeout, String> {
    match word {
        "deny" => Ok(OnTimeout::Deny),
        "allow" => Ok(OnTimeout::Allow),
        "ask" => Ok(OnTimeout::Ask),
        _ => Err("deny, allow or ask".to_owned()),
    }
}

/// Returns `K=V` as it is, and `K` with the value this shell has.
fn declared(words: &[String], own: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, CliError> {
    let pair = |word: &String| match word.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        None if !word.is_empty() => own
            .get(word)
            .map(|value| (word.clone(), value.clone()))
            .ok_or_else(|| CliError::usage(format!("--env {}: not set in this shell", Printable(word)))),
        _ => Err(CliError::usage("--env takes K=V, or K to take its value from this shell")),
    };
    words.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Vec<(OsString, OsString)> {
        [("PATH", "/bin"), ("GITHUB_TOKEN", "s3cret"), ("TERM", "x"), ("QD_RUNTIME_DIR", "/r")]
            .map(|(name, value)| (name.into(), value.into()))
            .into()
    }

    fn own_text() -> BTreeMap<String, String> {
        Variables::of(own().into_iter(), |_| true).text
    }

    fn args(kind: Kind) -> SpawnArgs {
        let argv = vec!["true".to_owned()];
        SpawnArgs { cwd: Some("/".to_owned()), argv, ..SpawnArgs::of_kind(kind) }
    }

    #[test]
    fn m11_every_kind_takes_over_this_shells_environment_and_a_clean_one_only_the_list() {
        let names = |kind, clean_env| -> Vec<String> {
            let args = SpawnArgs { clean_env, ..args(kind) };
            args.request(own()).unwrap().base_env.unwrap().into_keys().collect()
        };
        for kind in [Kind::Command, Kind::Terminal, Kind::Agent] {
            assert_eq!(names(kind, false), ["GITHUB_TOKEN", "PATH"]);
            assert_eq!(names(kind, true), ["PATH"]);
        }
    }

    #[test]
    fn a_variable_without_a_value_takes_this_shells() {
        let words = ["A=b=c".to_owned(), "GITHUB_TOKEN".to_owned()];
        let declared = declared(&words, &own_text()).unwrap();
        assert_eq!(declared["A"], "b=c");
        assert_eq!(declared["GITHUB_TOKEN"], "s3cret");
        assert!(super::declared(&["MISSING".to_owned()], &own_text()).is_err());
        assert!(super::declared(&["=x".to_owned()], &own_text()).is_err());
    }

    #[test]
    fn a_preset_stands_for_what_is_run() {
        use crate::args::Cli;
        use crate::commands::Verb;
        use clap::Parser;
        let parsed = |words: &[&str]| {
            let cli = Cli::try_parse_from(["qd", "spawn"].iter().chain(words));
            let Some(Verb::Spawn(spawn)) = cli.unwrap().verb else { panic!("not a spawn") };
            spawn.check().map(|()| spawn)
        };
        let spawn = parsed(&["--preset", "dev", "--ready-pattern", "up", "--budget", "live=2"]).unwrap();
        let request = spawn.request(own()).unwrap();
        assert_eq!((request.preset.as_deref(), request.argv.len()), (Some("dev"), 0));
        assert_eq!(request.ready, Some(proto::process::Ready::Pattern("up".into())));
        assert_eq!(request.budget.and_then(|budget| budget.live), Some(2));
        assert!(parsed(&["--key", "k"]).unwrap_err().to_string().contains("--preset"));
        for (bad, flag) in [
            (&["--ready-port", "0"][..], "--ready-port"),
            (&["--ready-port", "70000"], "--ready-port"),
            (&["--ready-port", "1", "--ready-pattern", "x"], "--ready-pattern"),
            (&["--budget", "hours=1"], "--budget"),
        ] {
            let error = Cli::try_parse_from(["qd", "spawn"].iter().chain(bad)).unwrap_err().to_string();
            assert!(error.contains(flag), "{error}");
        }
    }

    #[test]
    fn m15_times_are_seconds_with_fractions() {
        use crate::args::Cli;
        use crate::commands::Verb;
        use clap::Parser;
        let cli = Cli::try_parse_from(["qd", "spawn", "--idle-timeout", "1.5", "--", "true"]);
        let Some(Verb::Spawn(spawn)) = cli.unwrap().verb else { panic!("not a spawn") };
        assert_eq!(spawn.request(own()).unwrap().idle_timeout_ms, Some(1500));
    }
}

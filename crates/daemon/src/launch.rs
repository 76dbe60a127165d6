//! Starts a run: turns the engine's description into a hosted holder, or into a failure that a person
//! understands. It runs on a thread that may block, and checks that the run is what was approved.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use engine::{RunFact, RunKey, StartRun};
use holder::{LaunchError, Launcher, RunConfig};
use proto::error::Cause;
use proto::inherited_variables::from_hex;
use proto::{Dirs, ErrorCode, Failure, Kind, Printable};

use crate::agents::{Agents, ForeignManifest};
use crate::failpoint::{self, Failpoint};
use crate::screens::{AnsweredHolder, NewRun, Screens};
use crate::trust_subject;

/// The descriptors that the daemon keeps for one run.
const OF_A_RUN: usize = 4;
/// The descriptors that stay free when a run has its own: without them no person could connect and end something.
const SPARE: usize = 6;

/// Returns where a run's holder listens for later daemons.
pub(crate) fn socket_path(dirs: &Dirs, run: RunKey) -> PathBuf {
    dirs.holders().join(format!("{}.{}", run.process, run.run))
}

/// Starts a run and hosts it. The worker that hosts the run reports the start, so that no fact about the run
/// can come before it; only a failure is returned as a fact.
pub(crate) fn start(
    launcher: &Launcher,
    dirs: &Dirs,
    umask: u32,
    screens: &Screens,
    agents: &Agents,
    mut start: StartRun,
) -> Option<RunFact> {
    failpoint::stay("unstarted");
    let run = start.run;
    let token = start.record.run.token.clone();
    match trust_subject::changed(&start, foreign_manifest(agents, &start).as_ref()) {
        Ok(None) => {}
        Ok(Some(now)) => return Some(RunFact::Untrusted(Box::new(now))),
        Err(failure) => return Some(RunFact::StartFailed(failure)),
    }
    let is_resumed = start.agent.as_ref().is_some_and(|agent| agent.resume.is_some());
    let agent_run = match agents.prepare(&mut start) {
        Ok(agent_run) => agent_run,
        Err(failure) => return Some(RunFact::StartFailed(failure)),
    };
    let started = check_descriptors()
        .map_err(failure)
        .and_then(|()| config(dirs, umask, start))
        .and_then(|config| launcher.start(&config).map_err(failure));
    match started {
        Ok(started) => {
            failpoint::pass(Failpoint::HolderStarted);
            failpoint::stay("unhosted");
            let pid = started.hello.fields.child_pid;
            let socket = socket_path(dirs, run);
            let holder = AnsweredHolder { link: started.link, socket, hello: started.hello };
            let mut new = NewRun::new(run, token, holder, screens.limits(), true);
            new.agent = agent_run.map(|agent_run| agents.begin(&agent_run, pid, !is_resumed));
            screens.host(new);
            None
        }
        Err(failure) => {
            agents.release(run);
            Some(RunFact::StartFailed(failure))
        }
    }
}

/// Checks that the daemon has enough descriptors for one more run and for connections.
fn check_descriptors() -> Result<(), LaunchError> {
    let take = || {
        let first = File::open("/dev/null")?;
        let more = (1..OF_A_RUN + SPARE).map(|_| first.try_clone());
        more.collect::<io::Result<Vec<File>>>().map(drop)
    };
    take().map_err(|source| LaunchError::Limit { what: "open files per process (ulimit -n)", source })
}

/// Returns the manifest of an agent that is about to be started, unless it is built in or needs no trust.
fn foreign_manifest(agents: &Agents, start: &StartRun) -> Option<ForeignManifest> {
    let is_judged =
        start.record.spec.kind == Kind::Agent && (start.content.is_some() || start.needs_built_in);
    let name = start.argv.first().filter(|_| is_judged)?;
    agents.foreign_manifest(name, Path::new(&start.cwd))
}

fn config(dirs: &Dirs, umask: u32, start: StartRun) -> Result<RunConfig, Failure> {
    let meta = serde_json::to_vec(&start.record).map_err(|error| {
        Failure::new(ErrorCode::Internal, format!("the record does not serialise: {error}"))
    })?;
    let argv: Vec<OsString> = start.argv.into_iter().map(OsString::from).collect();
    let mut config = RunConfig::new(argv, PathBuf::from(start.cwd), socket_path(dirs, start.run));
    config.env = start.env.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    let odd = start.env_hex.iter().filter_map(|(name, value)| Some((from_hex(name)?, from_hex(value)?)));
    config.env.extend(odd);
    config.cols = start.size.cols;
    config.rows = start.size.rows;
    config.umask = Some(umask);
    config.meta = meta;
    Ok(config)
}

/// Returns the error for a run that cannot start.
fn failure(error: LaunchError) -> Failure {
    let text = error.to_string();
    let message = Printable(&text).to_string();
    let spawn = |cause| Failure::new(ErrorCode::SpawnFailed, message.clone()).cause(cause);
    match error {
        LaunchError::NotFound { .. } => {
            spawn(Cause::NotFound).hint("check its name and PATH, or give its full path")
        }
        LaunchError::InterpreterMissing { .. } => {
            spawn(Cause::NotFound).hint("install it, or correct the program's first line")
        }
        LaunchError::PermissionDenied { .. } => spawn(Cause::Permission),
        LaunchError::WorkdirDenied { .. } => {
            spawn(Cause::Permission).hint("give a directory you may enter with --cwd")
        }
        LaunchError::WorkdirGone { .. } => Failure::new(ErrorCode::WorkdirGone, message),
        LaunchError::Limit { .. } => spawn(Cause::Limit).hint("close some processes, or raise the limit"),
        LaunchError::Unsupported => spawn(Cause::UnsupportedOs),
        LaunchError::SocketPathTooLong { .. } | LaunchError::Link(_) | LaunchError::Io(_) => {
            spawn(Cause::Other)
        }
    }
}

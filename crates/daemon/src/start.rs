//! Starts the daemon: the order of its start, the signals and the ready line. `daemon_lock` makes it the only
//! one, `sockets` opens the sockets. It refuses other users' directories and set-user-id programs.

use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::sync::Arc;

use engine::{Caller, Command, Config, Engine, Principal, ProcessRecord, Saved};
use holder::Launcher;
use proto::request::Shutdown;
use proto::{Dirs, ProcessId, inherited_variables};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use store::{PrivateDirError, Store, ensure_own_dir, ensure_private_dir};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::adopt::{Adoption, PendingHolders, Search};
use crate::agents::Agents;
use crate::daemon_lock::{Locks, Race};
use crate::door::{self, Server, ServerParts};
use crate::effect_runner::EffectRunner;
use crate::engine_task::{Channels, EngineHandle, EngineTask};
use crate::failpoint::{self, Failpoint};
use crate::records::closed::{self, ClosedEntries};
use crate::records::{self, Loaded, Otherwise, Records};
use crate::screens::{KeptRuns, Screens};
use crate::settings::Settings;
use crate::sockets::Kept;
use crate::warnings::{Cause, Warnings};
use crate::{DaemonError, DaemonOptions, database_origin, log, threads};

/// The smallest limit of file sizes with which a daemon starts.
const FILE_SIZE: u64 = 64 << 20; // 64 MiB
/// The number of descriptors wanted: four per run, one per viewer, and room.
const DESCRIPTORS: u64 = 16_384;

/// Runs the daemon until it stops. First writes `ready PID` or `error TEXT` to standard output.
pub fn run(options: DaemonOptions) -> Result<(), DaemonError> {
    let result = prepare(&options);
    match &result {
        Ok((Race::Won(_), _)) => {}
        Ok((Race::Lost(pid), _)) => say_ready(&format!("ready {pid}")),
        Err(error) => say_ready(&format!("error {error}")),
    }
    let (Race::Won(daemon_lock), umask) = result? else { return Ok(()) };
    failpoint::pass(Failpoint::Locked);
    serve(options, *daemon_lock, umask)
}

/// Makes the directories private, then this process the only daemon; also returns the umask of the user's
/// shell, which children get back.
fn prepare(options: &DaemonOptions) -> Result<(Race, u32), DaemonError> {
    refuse_setuid()?;
    holder::run_mark::remember_own_limit();
    if !holder::run_mark::can_mark() {
        return Err(DaemonError::LockLimit);
    }
    let umask = holder::user_umask::make_private();
    let dirs = &options.dirs;
    let has_runtime = has_runtime(dirs)?;
    check_file_size()?;
    for dir in [&dirs.data, &dirs.holders()] {
        ensure_private_dir(dir)?;
    }
    ensure_own_dir(&dirs.config)?;
    if !options.ephemeral {
        database_origin::check_mark(dirs, holder::run_mark::is_inside_a_run())?;
    }
    Ok((Locks::acquire(dirs, has_runtime)?, umask))
}

/// Returns true if the runtime directory can be used. One that cannot be created (its login is over, or it is
/// another user's) is no reason not to serve: clients find the socket in the data directory. One that others
/// could have prepared is refused.
fn has_runtime(dirs: &Dirs) -> Result<bool, DaemonError> {
    match ensure_private_dir(&dirs.runtime) {
        Ok(()) => Ok(true),
        Err(PrivateDirError::Io { .. }) if dirs.data_socket().is_some() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Refuses to run with another user's identity: not as a daemon, and not as a client either, which the other
/// user's daemon would take for that user.
pub fn refuse_setuid() -> Result<(), DaemonError> {
    let same_user = rustix::process::getuid() == rustix::process::geteuid();
    let same_group = rustix::process::getgid() == rustix::process::getegid();
    if same_user && same_group { Ok(()) } else { Err(DaemonError::Setuid) }
}

fn serve(options: DaemonOptions, daemon_lock: Locks, umask: u32) -> Result<(), DaemonError> {
    log::start(&options.dirs.daemon_log());
    raise_descriptors();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(DaemonError::system("cannot start the async runtime"))
        .and_then(|runtime| {
            let started = threads::start().map_err(DaemonError::system("cannot start a thread"));
            started.map(|()| runtime)
        });
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            say_ready(&format!("error {error}"));
            return Err(error);
        }
    };
    let result = runtime.block_on(live(options, daemon_lock, umask));
    if let Err(error) = &result {
        say_ready(&format!("error {error}"));
    }
    runtime.shutdown_background();
    result
}

/// Does everything between taking the lock and the end.
async fn live(options: DaemonOptions, daemon_lock: Locks, umask: u32) -> Result<(), DaemonError> {
    let dirs = Arc::new(options.dirs.clone());
    let warnings = Warnings::default();
    let (store, Loaded { saved, closed: closed_entries, .. }) = open_database(&options, &warnings)?;
    let system = |what: &str| DaemonError::system(what.to_owned());
    let channels = Channels::new();
    let limits = term::Limits { history_lines: Settings::read(&dirs).0.history() };
    let kept = kept_runs(&dirs, &saved, limits);
    let screens = Screens::start(&channels.handle.facts, &warnings, limits, kept)
        .map_err(system("cannot start the screens"))?;
    let agents = Agents::start(
        Arc::clone(&dirs),
        options.exe.clone(),
        screens.clone(),
        channels.handle.facts.clone(),
        warnings.clone(),
    )
    .map_err(system("cannot watch agents' files"))?;
    let records = Records::start(store, warnings.clone()).map_err(system("cannot start the store"))?;
    let pending = PendingHolders::default();
    let launcher =
        Arc::new(Launcher::for_exe(&options.exe).map_err(system("cannot open our own executable"))?);
    let runner = EffectRunner {
        screens: screens.clone(),
        agents: agents.clone(),
        records: records.clone(),
        launcher: Arc::clone(&launcher),
        dirs: Arc::clone(&dirs),
        umask,
        facts: channels.handle.facts.clone(),
        pending: pending.clone(),
        events: channels.events(),
        closed: ClosedEntries::default(),
    };
    let known: HashSet<ProcessId> = saved.processes.iter().map(|entry| entry.id).collect();
    let engine = Engine::restore(config(&dirs), saved);
    let expected = engine.expected_runs();
    let unfinished = engine::unfinished_tasks(&engine);
    let handle = channels.handle.clone();
    let mut engine =
        EngineTask::new(engine, runner, channels, warnings.clone()).map_err(system("cannot set an alarm"))?;
    let search = Search {
        dirs: Arc::clone(&dirs),
        screens: screens.clone(),
        agents: agents.clone(),
        warnings: warnings.clone(),
        facts: handle.facts.clone(),
        pending,
        known: Arc::new(known),
        closed: Arc::new(closed_entries),
        former: daemon_lock.former.as_ref().map(|former| former.runtime.clone()),
    };
    adopt(search, expected, &mut engine, &records).await;
    watch_signals(&handle, options.ephemeral).map_err(system("cannot watch signals"))?;
    let server = Server::new(ServerParts {
        engine: handle,
        screens: screens.clone(),
        agents,
        launcher,
        records: records.clone(),
        warnings: warnings.clone(),
        dirs: Arc::clone(&dirs),
    });
    let sockets = Kept::open(&dirs, daemon_lock, &warnings, &server)
        .map_err(|source| DaemonError::NoSocket { dirs: dirs.data.clone(), source })?;
    door::resume_tasks(&server, unfinished);
    failpoint::pass(Failpoint::SocketUnserved);
    say_ready(&format!("ready {}", std::process::id()));
    engine.work().await;
    failpoint::pass(Failpoint::EngineEnded);
    screens.finish().await;
    server.close().await;
    failpoint::pass(Failpoint::ServingEnded);
    records.close().await;
    failpoint::pass(Failpoint::StoreClosed);
    sockets.remove();
    Ok(())
}

/// Takes over the runs of an earlier daemon. Returns when every holder that answers at once is known to the engine;
/// those that answer later follow by themselves.
async fn adopt(search: Search, expected: Vec<ProcessRecord>, engine: &mut EngineTask, records: &Records) {
    let mut adoption = Adoption::begin(search, expected);
    let forgotten = closed::forget(adoption.closed_without_holder());
    if !forgotten.is_empty() {
        // A store that refuses has its own warning, and the next daemon forgets them.
        drop(records.keep(forgotten, Otherwise::Retry).await);
    }
    let adopted = adoption.first_results().await;
    failpoint::pass(Failpoint::Adopted);
    for input in adopted {
        engine.decide(input).await;
    }
    failpoint::pass(Failpoint::BeforeSocket);
    drop(tokio::spawn(adoption.adopt_late()));
}

/// Opens the database and loads what an earlier daemon left in it, unless it was made on the other side of a run.
fn open_database(options: &DaemonOptions, warnings: &Warnings) -> Result<(Store, Loaded), DaemonError> {
    let dirs = &options.dirs;
    let mut store = if options.ephemeral { Store::in_memory()? } else { Store::open(&dirs.database())? };
    warn_of_damage(&store, warnings);
    let loaded = records::load(&store, warnings)?;
    if !options.ephemeral {
        let is_inside = holder::run_mark::is_inside_a_run();
        database_origin::check(&mut store, &loaded.origin, dirs, is_inside, warnings)?;
    }
    Ok((store, loaded))
}

/// Opens the logs of former runs and removes those of processes that are gone.
fn kept_runs(dirs: &Dirs, saved: &Saved, limits: term::Limits) -> Arc<KeptRuns> {
    let kept = KeptRuns::new(dirs.kept_runs(), limits);
    kept.retain(&saved.processes.iter().map(|entry| entry.id.to_string()).collect());
    Arc::new(kept)
}

/// Warns about damage that was found when the database was opened.
fn warn_of_damage(store: &Store, warnings: &Warnings) {
    if let Some(aside) = store.recovered() {
        let text = format!("the database was damaged; it was put aside as {}", aside.display());
        warnings.set(Cause::DamagedDatabase, text);
    }
    if let Some(kept) = store.damaged_log() {
        let kept = kept.display();
        let text = format!("the newest changes to the database were lost; its damaged log is kept as {kept}");
        warnings.set(Cause::DamagedLog, text);
    }
}

fn config(dirs: &Dirs) -> Config {
    let base_env: BTreeMap<String, String> =
        std::env::vars().filter(|(name, _)| inherited_variables::is_allowed(name)).collect();
    let home =
        base_env.get("HOME").cloned().filter(|home| home.starts_with('/')).unwrap_or_else(|| "/".to_owned());
    let shell = base_env.get("SHELL").cloned().filter(|shell| !shell.is_empty());
    let mut seed = [0u8; 8];
    // Without entropy ids would repeat across daemons; the clock is the only other thing that differs.
    let is_random = rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty()).is_ok();
    let seed = if is_random { u64::from_ne_bytes(seed) } else { crate::clock::now().wall_ms };
    let (shell, dirs) = (shell.unwrap_or_else(|| "/bin/sh".to_owned()), Some(dirs.clone()));
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Config { base_env, dirs, home, shell, boot: boot.trim().to_owned(), seed, ..Config::default() }
}

/// Raises the limit of file sizes as far as possible. With too small a limit neither the database nor rings
/// work.
fn check_file_size() -> Result<(), DaemonError> {
    let limit = getrlimit(Resource::Fsize);
    match limit.maximum {
        Some(most) if most < FILE_SIZE => Err(DaemonError::SmallFiles(most)),
        most if limit.current != most => {
            let raised = Rlimit { current: most, maximum: most };
            setrlimit(Resource::Fsize, raised).map_err(|error| {
                DaemonError::system("the limit of file sizes cannot be raised")(error.into())
            })
        }
        _ => Ok(()),
    }
}

/// Raises the limit of descriptors as far as possible, up to what 1,000 runs need.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(DESCRIPTORS, |most| most.min(DESCRIPTORS));
    if limit.current.is_some_and(|current| current < wanted) {
        let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!(%error, "the limit of open files could not be raised");
        }
    }
}

/// TERM ends the daemon and leaves every process running. An ephemeral daemon ends with its standard input
/// and ends every process. HUP of the terminal in which it was started is ignored.
fn watch_signals(engine: &EngineHandle, is_ephemeral: bool) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    // SIGXFSZ is handled, so that a write beyond the limit of file sizes fails instead of ending the daemon.
    let mut too_large = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?;
    let asker = engine.clone();
    drop(tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
                _ = hangup.recv() => {}
                _ = too_large.recv() => {}
            }
        }
        let shutdown = Shutdown { kill: is_ephemeral, stop: proto::Stop::default() };
        drop(asker.ask(Principal::unlimited(Caller::Person), Command::Shutdown(shutdown)).await);
    }));
    if is_ephemeral {
        let asker = engine.clone();
        let (report, ended) = oneshot::channel();
        let reading = move || {
            drop(std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
            let _ended = report.send(());
        };
        std::thread::Builder::new().name("stdin".to_owned()).spawn(reading)?;
        drop(tokio::spawn(async move {
            drop(ended.await);
            drop(
                asker
                    .ask(
                        Principal::unlimited(Caller::Person),
                        Command::Shutdown(Shutdown { kill: true, stop: proto::Stop::default() }),
                    )
                    .await,
            );
        }));
    }
    Ok(())
}

/// Writes one line to the program that started us; it may not be reading.
fn say_ready(line: &str) {
    let mut out = std::io::stdout();
    let _unread = writeln!(out, "{line}").and_then(|()| out.flush());
}

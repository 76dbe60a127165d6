//! Becoming the daemon: the only one, in private places, in front of whatever an earlier one left.
//!
//! Owns the lock, the socket's birth, the signals and the ready line. Refuses a second daemon, other people's
//! directories and changed user ids.

use std::collections::{BTreeMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::{Caller, Command, Config, Engine, NoTasks};
use holder::Launcher;
use proto::request::Shutdown;
use proto::{Places, ProcessId, environment};
use rustix::fs::{FlockOperation, Mode, flock};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use store::{Store, ensure_private_dir};
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::adopt::{Adoption, Search, Unheard};
use crate::agents::Agents;
use crate::desk::{Channels, Desk, DeskHandle};
use crate::door::Doorway;
use crate::effects::Hands;
use crate::failpoint::{self, Failpoint};
use crate::records::{self, Records, Warnings};
use crate::screens::Screens;
use crate::{DaemonError, Options, clock, log, threads};

/// How long a daemon that lost the race looks for the winner's socket.
const LOSER_PATIENCE: Duration = Duration::from_secs(10);
/// How often it looks.
const LOSER_LOOK: Duration = Duration::from_millis(5);
/// Descriptors wanted: four a run, one a viewer, and room.
const DESCRIPTORS: u64 = 16_384;

/// Runs the daemon until it is told to stop. Writes `ready PID` or `error TEXT` to standard output first.
pub fn run(options: Options) -> Result<(), DaemonError> {
    let result = prepare(&options);
    match &result {
        Ok(Role::Winner { .. }) => {}
        Ok(Role::Loser(pid)) => say_ready(&format!("ready {pid}")),
        Err(error) => say_ready(&format!("error {error}")),
    }
    let Role::Winner { lock, umask } = result? else { return Ok(()) };
    failpoint::pass(Failpoint::Locked);
    let served = serve(options, umask);
    drop(lock);
    served
}

/// What the lock made of this process.
enum Role {
    Winner {
        /// Held for life.
        lock: File,
        /// What the user's shell had: children get it back.
        umask: u32,
    },
    /// Another daemon has this pid and answers.
    Loser(String),
}

fn prepare(options: &Options) -> Result<Role, DaemonError> {
    refuse_setuid()?;
    let umask = rustix::process::umask(Mode::from_raw_mode(0o077)).as_raw_mode();
    let places = &options.places;
    for dir in [&places.runtime, &places.data, &places.config, &places.holders()] {
        ensure_private_dir(dir)?;
    }
    let mut lock =
        open_private(&places.lock()).map_err(DaemonError::system("cannot open the daemon's lock"))?;
    if let Some(winner) = find_winner(places, &mut lock)? {
        return Ok(Role::Loser(winner));
    }
    let pid = std::process::id().to_string();
    let written = lock.set_len(0).and_then(|()| lock.rewind()).and_then(|()| lock.write_all(pid.as_bytes()));
    written.map_err(DaemonError::system("cannot write the daemon's lock"))?;
    Ok(Role::Winner { lock, umask })
}

/// A file that was given somebody else's identity must not act with it: not as a daemon, and not as a client either,
/// whom its owner's daemon would take for the owner.
pub fn refuse_setuid() -> Result<(), DaemonError> {
    let same_user = rustix::process::getuid() == rustix::process::geteuid();
    let same_group = rustix::process::getgid() == rustix::process::getegid();
    if same_user && same_group { Ok(()) } else { Err(DaemonError::Setuid) }
}

fn open_private(path: &std::path::Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// The daemon that won, once it answers; none: the lock is ours. It is tried for again at each look, because whoever
/// had it may have died before it answered.
fn find_winner(places: &Places, lock: &mut File) -> Result<Option<String>, DaemonError> {
    let deadline = std::time::Instant::now() + LOSER_PATIENCE;
    loop {
        if flock(&*lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Ok(None);
        }
        let mut pid = String::new();
        let _read = lock.rewind().and_then(|()| lock.read_to_string(&mut pid));
        if std::os::unix::net::UnixStream::connect(places.socket()).is_ok() {
            return Ok(Some(pid));
        }
        if std::time::Instant::now() >= deadline {
            return Err(DaemonError::Held { lock: places.lock(), pid });
        }
        // Nothing announces a socket's birth to a stranger; a poll on nothing is the shortest honest wait.
        let look = rustix::event::Timespec { tv_sec: 0, tv_nsec: LOSER_LOOK.subsec_nanos().into() };
        let _timeout = rustix::event::poll(&mut [], Some(&look));
    }
}

fn serve(options: Options, umask: u32) -> Result<(), DaemonError> {
    log::start(&options.places.daemon_log());
    raise_descriptors();
    clock::learn();
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
    let result = runtime.block_on(live(options, umask));
    if let Err(error) = &result {
        say_ready(&format!("error {error}"));
    }
    runtime.shutdown_background();
    result
}

/// Everything between the lock and the end.
async fn live(options: Options, umask: u32) -> Result<(), DaemonError> {
    let places = Arc::new(options.places.clone());
    let warnings: Warnings = Arc::new(Mutex::new(Vec::new()));
    let store = if options.ephemeral { Store::in_memory()? } else { Store::open(&places.database())? };
    warn_of_damage(&store, &warnings);
    let saved = records::load(&store, &warnings)?;
    let system = |what: &str| DaemonError::system(what.to_owned());
    let channels = Channels::new();
    let screens =
        Screens::start(&channels.handle.facts, &warnings).map_err(system("cannot start the screens"))?;
    let facts = channels.handle.facts.clone();
    let own = (Arc::clone(&places), options.exe.clone(), screens.clone());
    let agents = Agents::start(own.0, own.1, own.2, facts, Arc::clone(&warnings))
        .map_err(system("cannot watch agents' files"))?;
    let records = Records::start(store, Arc::clone(&warnings)).map_err(system("cannot start the store"))?;
    let unheard = Unheard::default();
    let hands = Hands {
        screens: screens.clone(),
        agents: agents.clone(),
        records: records.clone(),
        launcher: Arc::new(
            Launcher::for_exe(&options.exe).map_err(system("cannot open our own executable"))?,
        ),
        places: Arc::clone(&places),
        umask,
        facts: channels.handle.facts.clone(),
        unheard: unheard.clone(),
        events: channels.events(),
    };
    let known: HashSet<ProcessId> = saved.processes.iter().map(|entry| entry.id).collect();
    let engine = Engine::restore(config(&places), Box::new(NoTasks), saved);
    let expected = engine.expected_runs();
    let handle = channels.handle.clone();
    let mut desk = Desk::new(engine, hands, channels).map_err(system("cannot set an alarm"))?;
    let search = Search {
        places: Arc::clone(&places),
        screens: screens.clone(),
        agents: agents.clone(),
        warnings: Arc::clone(&warnings),
        facts: handle.facts.clone(),
        unheard,
        known: Arc::new(known),
    };
    let mut adoption = Adoption::begin(search, expected);
    let adopted = adoption.first_words().await;
    failpoint::pass(Failpoint::Adopted);
    for input in adopted {
        desk.decide(input).await;
    }
    failpoint::pass(Failpoint::DoorClosed);
    drop(tokio::spawn(adoption.go_on()));
    let listener = listen(&places).map_err(system("cannot open the door"))?;
    failpoint::pass(Failpoint::DoorUnserved);
    watch_signals(&handle, options.ephemeral).map_err(system("cannot watch signals"))?;
    let doorway =
        Doorway::new(handle, screens.clone(), agents, records.clone(), warnings, Arc::clone(&places));
    drop(tokio::spawn(doorway.clone().serve(listener)));
    say_ready(&format!("ready {}", std::process::id()));
    desk.work().await;
    failpoint::pass(Failpoint::DeskClosed);
    screens.finish().await;
    doorway.close().await;
    failpoint::pass(Failpoint::DoorLeft);
    records.close().await;
    failpoint::pass(Failpoint::StoreClosed);
    let _gone = std::fs::remove_file(places.socket());
    Ok(())
}

/// What was wrong with the database when it was opened.
fn warn_of_damage(store: &Store, warnings: &Warnings) {
    if let Some(aside) = store.recovered() {
        let text = format!("the database was damaged; it was put aside as {}", aside.display());
        records::warn(warnings, text);
    }
    if let Some(kept) = store.damaged_log() {
        let kept = kept.display();
        let text = format!("the newest changes to the database were lost; its damaged log is kept as {kept}");
        records::warn(warnings, text);
    }
}

/// Opens the door. The lock is held, so an old socket belongs to nobody; the directory is private, so nobody else can
/// reach the new one at any moment.
fn listen(places: &Places) -> std::io::Result<UnixListener> {
    match std::fs::remove_file(places.socket()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    UnixListener::bind(places.socket())
}

fn config(places: &Places) -> Config {
    let base_env: BTreeMap<String, String> =
        std::env::vars().filter(|(name, _)| environment::is_allowed(name)).collect();
    let home =
        base_env.get("HOME").cloned().filter(|home| home.starts_with('/')).unwrap_or_else(|| "/".to_owned());
    let shell = base_env.get("SHELL").cloned().filter(|shell| !shell.is_empty());
    let mut seed = [0u8; 8];
    // Without entropy ids would repeat across daemons; the clock is the only other thing that differs.
    let is_random = rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty()).is_ok();
    let seed = if is_random { u64::from_ne_bytes(seed) } else { crate::clock::now().wall_ms };
    let (shell, places) = (shell.unwrap_or_else(|| "/bin/sh".to_owned()), Some(places.clone()));
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Config { base_env, places, home, shell, boot: boot.trim().to_owned(), seed, ..Config::default() }
}

/// As many descriptors as we may have, up to what 1,000 runs need.
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

/// Terminate means: end the daemon, leave every process running. An ephemeral daemon ends with its standard input and
/// takes everything with it. A hang-up of the terminal it was started from means nothing.
fn watch_signals(desk: &DeskHandle, is_ephemeral: bool) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let asker = desk.clone();
    drop(tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
                _ = hangup.recv() => {}
            }
        }
        let shutdown = Shutdown { kill: is_ephemeral };
        drop(asker.ask(Caller::Human, Command::Shutdown(shutdown)).await);
    }));
    if is_ephemeral {
        let asker = desk.clone();
        let (told, ended) = oneshot::channel();
        let reading = move || {
            drop(std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
            let _ended = told.send(());
        };
        std::thread::Builder::new().name("stdin".to_owned()).spawn(reading)?;
        drop(tokio::spawn(async move {
            drop(ended.await);
            drop(asker.ask(Caller::Human, Command::Shutdown(Shutdown { kill: true })).await);
        }));
    }
    Ok(())
}

/// One line to whoever started us; nobody may be reading.
fn say_ready(line: &str) {
    let mut out = std::io::stdout();
    let _unread = writeln!(out, "{line}").and_then(|()| out.flush());
}

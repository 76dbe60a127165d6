//! Looks for one holder until it has answered or is certainly gone.
//!
//! It waits for the answer to a greeting, or, if the holder could not be greeted, tries again with growing
//! pauses. Silence, a full descriptor table, a run that cannot be watched and an unreadable answer do not
//! count as the run's end.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::input::ChildExit;
use engine::{Input, ProcessRecord, RunKey};
use holder::{ExitStatus, HolderHello, LinkError, PendingHello, ToHolder};
use proto::Size;
use rustix::process::{Resource, getrlimit};
use tokio::net::UnixStream;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Instant, sleep, sleep_until};

use super::{LostRun, Search, WantedHolder};
use crate::screens::{AnsweredHolder, NewRun, name_survivors};
use crate::warnings::Cause;

/// How long a holder that has begun to answer may take to finish.
const ANSWER: Duration = Duration::from_secs(2);
/// The least time that a holder gets when it is greeted late.
const LATE_TIMEOUT: Duration = Duration::from_millis(50);
/// The first and the longest pause before a holder is greeted again.
const PAUSES: std::ops::RangeInclusive<Duration> = Duration::from_millis(250)..=Duration::from_secs(60);
/// Descriptors that adoption leaves free for the door and for new runs: a daemon that has every run and
/// accepts no connection is of no use.
const SPARE: u64 = 32;
/// The most descriptors that holders greeted at the same time may use.
const ON_THE_WAY: u64 = 4 * super::GREETED as u64;

/// The results of a probe: one soon, and after silence one more when the fate of the run is certain.
pub(super) enum ProbeResult {
    /// The holder has answered: the run to host, and the input for the engine.
    Found(Box<NewRun>, Box<Input>),
    /// The holder is gone, and what it left running was ended as far as possible.
    Lost(LostRun),
    /// The holder may exist; the probe waits for it.
    Silent,
    /// There is no run: a socket was left over, or what answers is not a holder.
    Nobody,
}

/// The result of one greeting.
enum Greeting {
    Found(Box<NewRun>, Box<Input>),
    /// A request ends the run, whatever its holder answers.
    Unwanted(PendingHello),
    /// The holder of a closed entry has received its release.
    Released,
    Failed(LinkError),
}

/// Looks for one holder.
pub(super) struct HolderProbe {
    search: Search,
    path: PathBuf,
    run: Option<RunKey>,
    record: Option<ProcessRecord>,
    results: mpsc::Sender<ProbeResult>,
    /// Fires when the run is to end.
    end: Arc<Notify>,
    /// A permit to greet; dropping it lets the next probe greet its holder.
    turn: Option<OwnedSemaphorePermit>,
    has_spoken: bool,
}

impl HolderProbe {
    pub(super) fn new(
        search: Search,
        path: PathBuf,
        (run, record): WantedHolder,
        results: mpsc::Sender<ProbeResult>,
        end: Option<Arc<Notify>>,
    ) -> Self {
        let end = end.unwrap_or_default();
        Self { search, path, run, record, results, end, turn: None, has_spoken: false }
    }

    /// Probes until the fate of the run is certain.
    pub(super) async fn probe(mut self, deadline: Instant, turns: Arc<Semaphore>) {
        self.turn = turns.acquire_owned().await.ok();
        let deadline = deadline.max(Instant::now() + LATE_TIMEOUT);
        let mut pause = *PAUSES.start();
        loop {
            let greeting = match PendingHello::at(&self.path) {
                Ok(pending) => self.hear(pending, deadline).await,
                Err(error) => Greeting::Failed(error),
            };
            match greeting {
                Greeting::Found(new, input) => return self.conclude(ProbeResult::Found(new, input)).await,
                Greeting::Released => return self.conclude(ProbeResult::Nobody).await,
                Greeting::Unwanted(pending) => return self.end_run(Some(pending)).await,
                // Whatever else failed, something has answered: it is greeted again.
                Greeting::Failed(LinkError::Gone) if self.is_gone().await => return self.end_run(None).await,
                Greeting::Failed(error) => self.doubt(&error).await,
            }
            tokio::select! {
                () = sleep(pause) => pause = (pause * 2).min(*PAUSES.end()),
                () = self.end.notified() => {
                    let pending = PendingHello::at(&self.path).ok();
                    return self.end_run(pending).await;
                }
            }
        }
    }

    /// Returns the release that the holder of a closed entry did not receive.
    fn missed_release(&self) -> Option<ToHolder> {
        let run = self.run.filter(|_| self.record.is_none())?;
        let closed = self.search.closed.get(&run.process)?;
        Some(ToHolder::Release { end_tree: closed.ends_tree(run) })
    }

    /// Waits for the answer to a greeting, without a limit.
    async fn hear(&mut self, pending: PendingHello, deadline: Instant) -> Greeting {
        let stream = match UnixStream::from_std(pending.into()) {
            Ok(stream) => stream,
            Err(error) => return Greeting::Failed(error.into()),
        };
        let end = Arc::clone(&self.end);
        let is_wanted = loop {
            tokio::select! {
                // Reading the answer returns the same error.
                _ = stream.readable() => break true,
                () = end.notified() => break false,
                () = sleep_until(deadline), if !self.has_spoken => self.doubt(&LinkError::TimedOut).await,
            }
        };
        let pending = match stream.into_std() {
            Ok(stream) => PendingHello::from(stream),
            Err(error) => return Greeting::Failed(error.into()),
        };
        if !is_wanted {
            return Greeting::Unwanted(pending);
        }
        if let Some(release) = self.missed_release() {
            let released = crate::threads::run(move || send_release(pending, &release)).await;
            return match released.map_err(|error| LinkError::Io(std::io::Error::other(error))) {
                Ok(Ok(())) => Greeting::Released,
                Ok(Err(error)) | Err(error) => Greeting::Failed(error),
            };
        }
        let (search, record, path) = (self.search.clone(), self.record.clone(), self.path.clone());
        let answered = crate::threads::run(move || take_over(&search, pending, path, record)).await;
        match answered.map_err(|error| LinkError::Io(std::io::Error::other(error))) {
            Ok(Ok((new, input))) => Greeting::Found(new, input),
            Ok(Err(error)) | Err(error) => Greeting::Failed(error),
        }
    }

    /// Returns true if no process holds the run; false if that cannot be found out.
    async fn is_gone(&self) -> bool {
        let path = self.path.clone();
        let is_held = crate::threads::run(move || holder::is_held(&path)).await;
        matches!(is_held, Ok(Ok(false)))
    }

    /// Ends what a lost or unwanted run has left running. Without its holder nothing pins its pids: then only
    /// processes with the run's own mark are ended.
    async fn end_run(self, holder: Option<PendingHello>) {
        let (path, token) = (self.path.clone(), self.record.as_ref().map(|record| record.run.token.clone()));
        let ended = crate::threads::run(move || {
            let below = holder.map(|holder| holder.end_holder()).unwrap_or_default();
            let swept = token.map(|token| holder::sweep_lost_run(&token, 0, 0)).unwrap_or_default();
            remove_stale(&path);
            name_survivors(below.into_iter().chain(swept.left))
        });
        let survivors = ended.await.unwrap_or_default();
        if !survivors.is_empty() {
            tracing::warn!(?survivors, run = ?self.run, "descendants survived the end of their holder");
        }
        let result = match (self.run, &self.record) {
            (Some(run), Some(_)) => ProbeResult::Lost(LostRun { run, survivors }),
            _ => ProbeResult::Nobody,
        };
        self.conclude(result).await;
    }

    /// Reports that the holder is silent, and warns the user with the reason.
    async fn doubt(&mut self, error: &LinkError) {
        let who = match &self.record {
            Some(record) => format!("{} ({})", record.name, record.id),
            None => format!("what listens at {}", self.path.display()),
        };
        let text = format!("{who} cannot be reached: {error}; it is left alone and asked again");
        self.search.warnings.set(Cause::SilentHolder(self.path.clone()), text);
        self.turn = None;
        if !self.has_spoken {
            self.has_spoken = true;
            // The receiver is gone only when the daemon is ending.
            drop(self.results.send(ProbeResult::Silent).await);
        }
    }

    async fn conclude(self, result: ProbeResult) {
        self.search.warnings.clear(&Cause::SilentHolder(self.path.clone()));
        if let (ProbeResult::Nobody, Some(run)) = (&result, self.run) {
            self.search.pending.remove(run);
        }
        drop(self.results.send(result).await);
    }
}

/// Reads a holder's answer and releases the holder.
fn send_release(pending: PendingHello, release: &ToHolder) -> Result<(), LinkError> {
    let (mut link, _hello) = pending.answer(std::time::Instant::now() + ANSWER)?;
    Ok(link.send(release)?)
}

/// Reads a holder's answer. The database's record replaces parts of the answer that cannot be read.
fn take_over(
    search: &Search,
    pending: PendingHello,
    path: PathBuf,
    known: Option<ProcessRecord>,
) -> Result<(Box<NewRun>, Box<Input>), LinkError> {
    let (link, hello) = pending.answer(std::time::Instant::now() + ANSWER)?;
    // Checked after the answer was read, because others read theirs at the same time.
    check_room()?;
    let mut record = record_of(&hello, known)?;
    // The record is as old as the run; the size may have changed.
    record.size = Size { cols: hello.fields.cols, rows: hello.fields.rows };
    make_run(search, record, AnsweredHolder { link, socket: path, hello })
}

fn record_of(hello: &HolderHello, known: Option<ProcessRecord>) -> Result<ProcessRecord, LinkError> {
    let own: Result<ProcessRecord, _> = serde_json::from_slice(&hello.fields.meta);
    let key = |record: &ProcessRecord| RunKey::new(record.id, record.run.number);
    match (own, known) {
        (Ok(own), None) => Ok(own),
        (Ok(own), Some(known)) if key(&own) == key(&known) => Ok(own),
        (_, Some(known)) => Ok(known),
        (Err(error), None) => {
            Err(LinkError::Io(std::io::Error::other(format!("its record cannot be read: {error}"))))
        }
    }
}

fn make_run(
    search: &Search,
    record: ProcessRecord,
    holder: AnsweredHolder,
) -> Result<(Box<NewRun>, Box<Input>), LinkError> {
    let run = RunKey::new(record.id, record.run.number);
    let pid = holder.hello.fields.child_pid;
    let exit = holder.hello.fields.exited.map(|exit| match exit.status {
        ExitStatus::Code(code) => (ChildExit::Code(code), exit.final_offset),
        ExitStatus::Signal(signal) => (ChildExit::Signal(signal), exit.final_offset),
    });
    let mut new = NewRun::new(run, record.run.token.clone(), holder, search.screens.limits(), false);
    // Before the run is reported: one that the kernel will not watch is not ours yet.
    search.screens.watch(&mut new)?;
    new.agent = search.agents.adopt(&record, pid);
    Ok((Box::new(new), Box::new(Input::Adopted { record: Box::new(record), pid, exit })))
}

/// Returns an error if the open descriptors leave too few for the door.
fn check_room() -> Result<(), LinkError> {
    let Some(limit) = getrlimit(Resource::Nofile).current else { return Ok(()) };
    // The lowest free number; descriptors above it are in use by greetings.
    let lowest = File::open("/dev/null")?.as_raw_fd();
    if u64::try_from(lowest).unwrap_or(0) + ON_THE_WAY + SPARE <= limit {
        return Ok(());
    }
    // Close to the limit, exact counting is worth its cost.
    let open = std::fs::read_dir("/proc/self/fd")?.count() as u64;
    if open + SPARE > limit { Err(LinkError::Io(rustix::io::Errno::MFILE.into())) } else { Ok(()) }
}

fn remove_stale(path: &std::path::Path) {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::debug!(%error, socket = %path.display(), "a stale socket could not be removed");
        }
        _ => {}
    }
}

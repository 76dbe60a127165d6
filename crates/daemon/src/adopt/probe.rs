//! Looking for one holder until it has answered or is certainly gone.
//!
//! Owns what counts as certain, and the waiting: for the holder's own answer where it was greeted, with longer and longer
//! pauses where it could not even be. Refuses taking silence, a full table of descriptors, a run that nobody can watch or
//! words that do not read for an end.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use engine::input::ChildExit;
use engine::{Input, ProcessRecord, RunKey};
use holder::{ExitStatus, HolderHello, Link, LinkError, PendingHello};
use proto::Size;
use rustix::process::{Resource, getrlimit};
use tokio::net::UnixStream;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Instant, sleep, sleep_until};

use super::{Search, Wanted};
use crate::records;
use crate::screens::NewRun;

/// How long a holder that has begun to answer may take to finish.
const ANSWER: Duration = Duration::from_secs(2);
/// How long whoever is greeted late is waited for at least.
const LATE_PATIENCE: Duration = Duration::from_millis(50);
/// The first pause before a holder is greeted again, and the longest.
const PAUSES: std::ops::RangeInclusive<Duration> = Duration::from_millis(250)..=Duration::from_secs(60);
/// Descriptors that adoption leaves for the door and for starting something: a daemon that has every run and cannot be
/// spoken to is of no use.
const SPARE: u64 = 32;
/// Descriptors that those who are greeted at the same time may hold at most.
const ON_THE_WAY: u64 = 4 * super::GREETED as u64;

/// What a seeker says: one thing soon, and after silence one more when it is certain.
pub(super) enum ProbeResult {
    /// The holder has answered: what is to be hosted, and what the engine is to be told.
    Found(Box<NewRun>, Box<Input>),
    /// The holder is gone, and what it left was ended.
    Lost(RunKey),
    /// It may be there; it is waited for.
    Silent,
    /// There is no run to tell of: a socket was left over, or what answers is nothing we understand.
    Nobody,
}

/// How one greeting went.
enum Greeting {
    Found(Box<NewRun>, Box<Input>),
    /// Somebody wants the run to end, whatever its holder says.
    Unwanted(PendingHello),
    Failed(LinkError),
}

/// Looks for one holder.
pub(super) struct HolderProbe {
    search: Search,
    path: PathBuf,
    run: Option<RunKey>,
    record: Option<ProcessRecord>,
    words: mpsc::Sender<ProbeResult>,
    /// Told when the run is to end.
    end: Arc<Notify>,
    /// Lets the next one greet its holder.
    turn: Option<OwnedSemaphorePermit>,
    has_spoken: bool,
    /// What the user was told.
    warning: Option<String>,
}

impl HolderProbe {
    pub(super) fn new(
        search: Search,
        path: PathBuf,
        (run, record): Wanted,
        words: mpsc::Sender<ProbeResult>,
        end: Option<Arc<Notify>>,
    ) -> Self {
        let end = end.unwrap_or_default();
        Self { search, path, run, record, words, end, turn: None, has_spoken: false, warning: None }
    }

    /// Looks until something is certain.
    pub(super) async fn probe(mut self, patience: Instant, turns: Arc<Semaphore>) {
        self.turn = turns.acquire_owned().await.ok();
        let patience = patience.max(Instant::now() + LATE_PATIENCE);
        let mut pause = *PAUSES.start();
        loop {
            let heard = match PendingHello::at(&self.path) {
                Ok(knock) => self.hear(knock, patience).await,
                Err(error) => Greeting::Failed(error),
            };
            match heard {
                Greeting::Found(new, input) => return self.conclude(ProbeResult::Found(new, input)).await,
                Greeting::Unwanted(knock) => return self.end_run(Some(knock)).await,
                Greeting::Failed(_) if self.is_gone().await => return self.end_run(None).await,
                Greeting::Failed(error) => self.doubt(&error).await,
            }
            tokio::select! {
                () = sleep(pause) => pause = (pause * 2).min(*PAUSES.end()),
                () = self.end.notified() => {
                    let knock = PendingHello::at(&self.path).ok();
                    return self.end_run(knock).await;
                }
            }
        }
    }

    /// Waits for the answer to a greeting, as long as it takes.
    async fn hear(&mut self, knock: PendingHello, patience: Instant) -> Greeting {
        let stream = match UnixStream::from_std(knock.into()) {
            Ok(stream) => stream,
            Err(error) => return Greeting::Failed(error.into()),
        };
        let end = Arc::clone(&self.end);
        let is_wanted = loop {
            tokio::select! {
                // An error is met again when the answer is taken.
                _ = stream.readable() => break true,
                () = end.notified() => break false,
                () = sleep_until(patience), if !self.has_spoken => self.doubt(&LinkError::TimedOut).await,
            }
        };
        let knock = match stream.into_std() {
            Ok(stream) => PendingHello::from(stream),
            Err(error) => return Greeting::Failed(error.into()),
        };
        if !is_wanted {
            return Greeting::Unwanted(knock);
        }
        let (search, record, path) = (self.search.clone(), self.record.clone(), self.path.clone());
        let answered = crate::threads::run(move || take_over(&search, knock, path, record)).await;
        match answered.map_err(|error| LinkError::Io(std::io::Error::other(error))) {
            Ok(Ok((new, input))) => Greeting::Found(new, input),
            Ok(Err(error)) | Err(error) => Greeting::Failed(error),
        }
    }

    /// Whether nobody holds the run. Whoever cannot tell says no.
    async fn is_gone(&self) -> bool {
        let path = self.path.clone();
        let is_held = crate::threads::run(move || holder::is_held(&path)).await;
        matches!(is_held, Ok(Ok(false)))
    }

    /// Ends what a lost or unwanted run has left. Without its holder nothing pins its pids: then only what carries the
    /// run's own mark is ended.
    async fn end_run(self, holder: Option<PendingHello>) {
        let (path, token) = (self.path.clone(), self.record.as_ref().map(|record| record.run.token.clone()));
        let ended = crate::threads::run(move || {
            let _was_there = holder.is_some_and(|holder| holder.end_holder());
            token.map_or(Ok(0), |token| holder::sweep_lost_run(&token, 0, 0)).map(|_| remove_stale(&path))
        });
        if let Ok(Err(error)) = ended.await {
            tracing::warn!(%error, run = ?self.run, "could not sweep after a lost holder");
        }
        let word = match (self.run, &self.record) {
            (Some(run), Some(_)) => ProbeResult::Lost(run),
            _ => ProbeResult::Nobody,
        };
        self.conclude(word).await;
    }

    /// Says that the holder is silent, and tells the user why.
    async fn doubt(&mut self, error: &LinkError) {
        let who = match &self.record {
            Some(record) => format!("{} ({})", record.name, record.id),
            None => format!("what listens at {}", self.path.display()),
        };
        let text = format!("{who} cannot be reached: {error}; it is left alone and asked again");
        if self.warning.as_ref() != Some(&text) {
            self.withdraw_warning();
            records::warn(&self.search.warnings, text.clone());
            self.warning = Some(text);
        }
        self.turn = None;
        if !self.has_spoken {
            self.has_spoken = true;
            // The daemon is ending when nobody listens.
            drop(self.words.send(ProbeResult::Silent).await);
        }
    }

    async fn conclude(mut self, word: ProbeResult) {
        self.withdraw_warning();
        if let (ProbeResult::Nobody, Some(run)) = (&word, self.run) {
            self.search.pending.remove(run);
        }
        drop(self.words.send(word).await);
    }

    fn withdraw_warning(&mut self) {
        if let Some(told) = self.warning.take() {
            let mut all = self.search.warnings.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|warning| *warning != told);
        }
    }
}

/// Takes a holder's answer. What the database has of the run stands in for words of the holder that do not read.
fn take_over(
    search: &Search,
    knock: PendingHello,
    path: PathBuf,
    known: Option<ProcessRecord>,
) -> Result<(Box<NewRun>, Box<Input>), LinkError> {
    let (link, hello) = knock.answer(std::time::Instant::now() + ANSWER)?;
    // With the answer in hand, because others take theirs at the same time.
    check_room()?;
    let mut record = record_of(&hello, known)?;
    // The record is as old as the run; the size is not.
    record.size = Size { cols: hello.cols, rows: hello.rows };
    make_run(search, record, (link, path), hello)
}

fn record_of(hello: &HolderHello, known: Option<ProcessRecord>) -> Result<ProcessRecord, LinkError> {
    let own: Result<ProcessRecord, _> = serde_json::from_slice(&hello.meta);
    let key = |record: &ProcessRecord| RunKey::new(record.id, record.run.number);
    match (own, known) {
        (Ok(own), None) => Ok(own),
        (Ok(own), Some(known)) if key(&own) == key(&known) => Ok(own),
        (_, Some(known)) => Ok(known),
        (Err(error), None) => {
            Err(LinkError::Io(std::io::Error::other(format!("what it holds does not read: {error}"))))
        }
    }
}

fn make_run(
    search: &Search,
    record: ProcessRecord,
    link: (Link, PathBuf),
    hello: HolderHello,
) -> Result<(Box<NewRun>, Box<Input>), LinkError> {
    let run = RunKey::new(record.id, record.run.number);
    let pid = hello.child_pid;
    let exit = hello.exited.map(|exit| match exit.status {
        ExitStatus::Code(code) => (ChildExit::Code(code), exit.final_offset),
        ExitStatus::Signal(signal) => (ChildExit::Signal(signal), exit.final_offset),
    });
    let mut new = NewRun::new(run, record.run.token.clone(), link, hello, search.screens.limits(), false);
    // Before anybody hears of it: one that the kernel will not watch is not ours yet.
    search.screens.watch(&mut new)?;
    new.agent = search.agents.adopt(&record, pid);
    Ok((Box::new(new), Box::new(Input::Adopted { record: Box::new(record), pid, exit })))
}

/// Whether what is open now leaves room for what the door needs.
fn check_room() -> Result<(), LinkError> {
    let Some(limit) = getrlimit(Resource::Nofile).current else { return Ok(()) };
    // The lowest number that is free; what is taken above it is on its way.
    let lowest = File::open("/dev/null")?.as_raw_fd();
    if u64::try_from(lowest).unwrap_or(0) + ON_THE_WAY + SPARE <= limit {
        return Ok(());
    }
    // Close to the limit it is worth counting.
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

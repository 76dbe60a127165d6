//! Stores what is kept of a run when another run of its process follows: the last output, the last screen
//! with its history, and how it ended. The files are below the data directory, so they survive the daemon.
//!
//! A file is one line of JSON, the screen's checkpoint, the times of the log, and the log.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{FormerRun, RunKey};
use holder::ReadOutcome;
use proto::{Exit, ProcessId, RunNumber, Size};
use serde::{Deserialize, Serialize};
use store::RunFiles;
use term::{Depth, Limits, Screen};
use tokio::sync::watch;

use super::handle::{Progress, ScreenHandle};
use super::log_times::LogTimes;
use super::readable::{Log, ReadableRun};

/// The earlier runs of one process that are kept.
const MOST_RUNS: usize = 3;
/// Bytes of one run's log that are kept, the newest ones.
const MOST_LOG: u64 = 512 << 10; // 512 KiB
/// Bytes of one run's screen with its history; a longer one is kept without its history.
const MOST_SCREEN: usize = 512 << 10; // 512 KiB
/// A file longer than this is not ours: log, screen, times and a line.
const MOST_FILE: u64 = 2 << 20; // 2 MiB

/// The first line of a file.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    started_at: u64,
    exit: Option<Exit>,
    /// Where the kept log begins.
    log_start: u64,
    /// Bytes of each part.
    screen: usize,
    times: usize,
    log: usize,
}

/// The earlier runs of all processes.
pub(crate) struct KeptRuns {
    files: RunFiles,
    limits: Limits,
    /// Runs that are about to be written. One whose process is removed meanwhile is taken out and not
    /// written.
    pending: Mutex<HashSet<RunKey>>,
    /// Allows one writer or remover at a time.
    writing: Mutex<()>,
}

impl KeptRuns {
    pub(crate) fn new(directory: std::path::PathBuf, limits: Limits) -> Self {
        let files = RunFiles::new(directory, MOST_RUNS);
        Self { files, limits, pending: Mutex::default(), writing: Mutex::default() }
    }

    /// Announces that a run is going to be stored.
    pub(crate) fn expect(&self, run: RunKey) {
        locked(&self.pending).insert(run);
    }

    /// Stores a run that was announced. Blocks as long as the disk takes.
    pub(crate) fn keep(&self, handle: &ScreenHandle, former: FormerRun) {
        let _one_at_a_time = locked(&self.writing);
        if !locked(&self.pending).remove(&former.run) {
            return;
        }
        let (RunKey { process, run }, parts) = (former.run, Parts::of(handle, former));
        let Ok(mut header) = serde_json::to_vec(&parts.header) else { return };
        header.push(b'\n');
        let written = self.files.write(
            &process.to_string(),
            run.0,
            &[&header, &parts.screen, &parts.times, &parts.log],
        );
        if let Err(error) = written {
            tracing::warn!(%error, run = ?former.run, "the output of an earlier run could not be kept");
        }
    }

    /// Removes everything of a process whose entry is removed.
    pub(crate) fn forget(self: &Arc<Self>, process: ProcessId) {
        locked(&self.pending).retain(|run| run.process != process);
        let kept = Arc::clone(self);
        drop(crate::threads::run(move || {
            let _one_at_a_time = locked(&kept.writing);
            kept.files.remove(&process.to_string());
        }));
    }

    /// Removes every process but these.
    pub(crate) fn retain(&self, known: &HashSet<String>) {
        self.files.retain(|process| known.contains(process));
    }

    /// Returns the kept runs of a process, oldest first.
    pub(crate) fn runs(&self, process: ProcessId) -> Vec<u32> {
        self.files.runs(&process.to_string())
    }

    /// Reads a kept run.
    pub(crate) fn read(&self, key: RunKey) -> Option<KeptRun> {
        let file = self.files.read(&key.process.to_string(), key.run.0, MOST_FILE);
        let file =
            file.inspect_err(|error| tracing::warn!(%error, "an earlier run cannot be read")).ok()??;
        KeptRun::parse(key, &file, self.limits)
    }
}

/// The parts of a file.
struct Parts {
    header: Header,
    screen: Vec<u8>,
    times: Vec<u8>,
    log: Vec<u8>,
}

impl Parts {
    fn of(handle: &ScreenHandle, former: FormerRun) -> Self {
        let (log_start, log) = newest(&*handle.ring);
        let mut screen = handle.screen().checkpoint(Depth::Full);
        if screen.len() > MOST_SCREEN {
            screen = handle.screen().checkpoint(Depth::Screen);
        }
        let mut times = handle.times().clone();
        times.forget_before(log_start);
        let times = times.encode();
        let header = Header {
            started_at: former.started_at,
            exit: former.exit,
            log_start,
            screen: screen.len(),
            times: times.len(),
            log: log.len(),
        };
        Self { header, screen, times, log }
    }
}

/// Returns the newest bytes of a log, and where they begin.
fn newest(log: &dyn Log) -> (u64, Vec<u8>) {
    let end = log.end();
    let mut start = log.start().max(end.saturating_sub(MOST_LOG));
    let mut bytes = vec![0; usize::try_from(end - start).unwrap_or(0)];
    let mut at = start;
    while at < end {
        let offset = usize::try_from(at - start).unwrap_or(0);
        let Some(rest) = bytes.get_mut(offset..) else { break };
        match log.read(at, rest) {
            ReadOutcome::Bytes(0) => break,
            ReadOutcome::Bytes(count) => at += count as u64,
            ReadOutcome::Missed { resume_at } => {
                bytes.truncate(usize::try_from(end.saturating_sub(resume_at)).unwrap_or(0));
                (start, at) = (resume_at, resume_at);
            }
        }
    }
    bytes.truncate(usize::try_from(at - start).unwrap_or(0));
    (start, bytes)
}

/// One kept run, read back.
pub(crate) struct KeptRun {
    key: RunKey,
    progress: watch::Sender<Progress>,
    screen: Mutex<Screen>,
    times: Mutex<LogTimes>,
    log: KeptLog,
}

struct KeptLog {
    start: u64,
    bytes: Vec<u8>,
}

impl KeptRun {
    /// Parses a file; `None` when it is damaged. A screen that this version cannot read is drawn from the
    /// log.
    fn parse(key: RunKey, file: &[u8], limits: Limits) -> Option<Self> {
        let line = file.iter().position(|byte| *byte == b'\n')?;
        let header: Header = serde_json::from_slice(file.get(..line)?).ok()?;
        let (screen, rest) = file.get(line + 1..)?.split_at_checked(header.screen)?;
        let (times, log) = rest.split_at_checked(header.times)?;
        let log = KeptLog { start: header.log_start, bytes: log.get(..header.log)?.to_vec() };
        let screen = Screen::restore(screen, limits).unwrap_or_else(|_| {
            let mut screen = Screen::new(term::GridSize::clamped(80, 24), limits);
            screen.feed(&log.bytes);
            screen
        });
        let (end, size) = (log.end(), screen.size());
        let progress = Progress {
            seen: end,
            version: screen.version(),
            size: Some(Size { cols: size.cols, rows: size.rows }),
            exited_at: Some(end),
            reported_exit: header.exit.map(|exit| (exit, end)),
            is_over: true,
            is_ready: true,
        };
        Some(Self {
            key,
            progress: watch::Sender::new(progress),
            screen: Mutex::new(screen),
            times: Mutex::new(LogTimes::decode(times).unwrap_or_default()),
            log,
        })
    }
}

impl Log for KeptLog {
    fn start(&self) -> u64 {
        self.start
    }

    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    fn read(&self, from: u64, buffer: &mut [u8]) -> ReadOutcome {
        let Some(offset) = from.checked_sub(self.start) else {
            return ReadOutcome::Missed { resume_at: self.start };
        };
        let rest =
            usize::try_from(offset).ok().and_then(|offset| self.bytes.get(offset..)).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        ReadOutcome::Bytes(count)
    }
}

impl ReadableRun for KeptRun {
    fn key(&self) -> RunKey {
        self.key
    }

    fn screen(&self) -> MutexGuard<'_, Screen> {
        locked(&self.screen)
    }

    fn log(&self) -> &dyn Log {
        &self.log
    }

    fn times(&self) -> MutexGuard<'_, LogTimes> {
        locked(&self.times)
    }

    fn progress(&self) -> &watch::Sender<Progress> {
        &self.progress
    }

    fn version(&self, screen: &Screen, _seen: u64) -> u64 {
        screen.version()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the newest existing run before this one.
pub(crate) fn newest_before(present: RunNumber, kept: &[u32], hosted: Option<u32>) -> Option<u32> {
    kept.iter().copied().chain(hosted).filter(|run| *run < present.0).max()
}

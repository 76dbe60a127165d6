//! The daemon's own log, without keystrokes and without output of children. It keeps at most two files of one
//! size, because it is beside the sockets, which is memory on many systems. Repeated warnings that others can
//! cause are rate-limited.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock;

/// Bytes of one file; then the next one begins, and the one before the last is deleted.
const MAX_FILE: u64 = 1 << 20; // 1 MiB
/// How often one warning that others cause is written.
const SELDOM_MS: u64 = 60_000;

/// Starts logging. Without a file nothing is logged: that is no reason not to serve.
pub(crate) fn start(path: &Path) {
    let filter = tracing_subscriber::EnvFilter::try_from_env("QD_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    if let Ok(file) = Rotating::open(path, MAX_FILE) {
        let builder = tracing_subscriber::fmt().with_ansi(false).with_env_filter(filter);
        // A second daemon in one process (tests) keeps the first one's log.
        let _already = builder.with_writer(Mutex::new(file)).try_init();
    }
}

/// A file that is rotated when it is full.
struct Rotating {
    path: PathBuf,
    file: File,
    length: u64,
    limit: u64,
}

impl Rotating {
    fn open(path: &Path, limit: u64) -> io::Result<Self> {
        let file = append(path)?;
        let length = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, length, limit })
    }

    /// Rotates the file. If that fails, the old one is overwritten from its beginning: it must not grow.
    fn turn_over(&mut self) -> io::Result<()> {
        let aside = self.path.with_extension("log.1");
        match std::fs::rename(&self.path, aside).and_then(|()| append(&self.path)) {
            Ok(file) => self.file = file,
            Err(_) => self.file.set_len(0)?,
        }
        self.length = 0;
        Ok(())
    }
}

impl Write for Rotating {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Each event is one write, so that no line is split.
        if self.length > 0 && self.length + bytes.len() as u64 > self.limit {
            self.turn_over()?;
        }
        let count = self.file.write(bytes)?;
        self.length += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// A warning that others can cause as often as they like: written once per interval, with the number of
/// suppressed ones.
#[derive(Debug)]
pub(crate) struct RateLimited {
    /// Milliseconds since boot, plus one; zero is never.
    written_ms: AtomicU64,
    unwritten: AtomicU64,
}

impl RateLimited {
    pub(crate) const fn new() -> Self {
        Self { written_ms: AtomicU64::new(0), unwritten: AtomicU64::new(0) }
    }

    /// Returns the number of suppressed warnings if it is to be written now.
    pub(crate) fn is_due(&self) -> Option<u64> {
        self.is_due_at(clock::uptime_ms())
    }

    fn is_due_at(&self, now_ms: u64) -> Option<u64> {
        let last = self.written_ms.load(Ordering::Relaxed);
        let is_early = last != 0 && now_ms < last - 1 + SELDOM_MS;
        let now = now_ms + 1;
        // If two come at the same moment, one writes.
        if is_early
            || self.written_ms.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            self.unwritten.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(self.unwritten.swap(0, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_bounded_while_the_daemon_runs_and_no_line_is_cut() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("qd.log");
        std::fs::write(&path, "from an earlier daemon\n").unwrap();
        let mut log = Rotating::open(&path, 1000).unwrap();
        for n in 0..1000 {
            log.write_all(format!("line {n:04} {}\n", "x".repeat(50)).as_bytes()).unwrap();
        }
        let mut names: Vec<_> =
            std::fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["qd.log", "qd.log.1"]);
        let texts =
            ["qd.log.1", "qd.log"].map(|name| std::fs::read_to_string(directory.path().join(name)).unwrap());
        assert!(texts.iter().all(|text| text.len() <= 1000 && text.ends_with('\n')), "{texts:?}");
        let lines: Vec<&str> = texts.iter().flat_map(|text| text.lines()).collect();
        let last: Vec<String> =
            (1000 - lines.len()..1000).map(|n| format!("line {n:04} {}", "x".repeat(50))).collect();
        assert_eq!(lines, last, "the newest lines, whole and in order");
    }

    #[test]
    fn a_warning_that_others_cause_is_written_once_a_minute_with_its_count() {
        let seldom = RateLimited::new();
        assert_eq!(seldom.is_due_at(0), Some(0));
        assert!((0..SELDOM_MS).all(|now| seldom.is_due_at(now).is_none()));
        assert_eq!(seldom.is_due_at(SELDOM_MS), Some(SELDOM_MS));
    }
}

//! The daemon's own log, without keystrokes and without output of children. It keeps at most two files of one
//! size, because it is beside the sockets, which is memory on many systems. Repeated warnings that others can
//! cause are rate-limited.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing_subscriber::EnvFilter;

use crate::clock;

/// Bytes of one file; then the next one begins, and the one before the last is deleted.
const MAX_FILE: u64 = 1 << 20; // 1 MiB
/// Opening never waits, and never follows a link: the daemon would write into a file of somebody's choice.
const OPENING: i32 = rustix::fs::OFlags::NONBLOCK.union(rustix::fs::OFlags::NOFOLLOW).bits().cast_signed();
/// How often one warning that others cause is written.
const SELDOM_MS: u64 = 60_000;

/// The directive that silences the emulator.
const EMULATOR_OFF: &str = "rio_vt=off";

/// Starts logging. Without a file nothing is logged: that is no reason not to serve.
pub(crate) fn start(path: &Path) {
    let filter = filter(std::env::var("QD_LOG").ok().as_deref());
    if let Ok(file) = Rotating::open(path, MAX_FILE) {
        let builder = tracing_subscriber::fmt().with_ansi(false).with_env_filter(filter);
        // A second daemon in one process (tests) keeps the first one's log.
        let _already = builder.with_writer(Mutex::new(file)).try_init();
    }
}

/// Returns what is logged: what `QD_LOG` says, or everything from `info` on. The emulator logs nothing in any case. It
/// warns of each byte that it does not know and quotes it, so a child could put its output into the log, push every other
/// line out of it, and delay its neighbours by the writing.
fn filter(requested: Option<&str>) -> EnvFilter {
    let chosen = requested
        .and_then(|requested| EnvFilter::try_new(requested).ok())
        .unwrap_or_else(|| EnvFilter::new("info"));
    EMULATOR_OFF.parse().map_or_else(|_| EnvFilter::new("off"), |directive| chosen.add_directive(directive))
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

/// Opens the file for appending. What is no plain file, a link included, is replaced by one: opening or writing a pipe would
/// wait for its reader, and the daemon with it.
fn append(path: &Path) -> io::Result<File> {
    let open = || {
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600).custom_flags(OPENING);
        options.open(path)
    };
    match open() {
        Ok(file) if file.metadata()?.is_file() => return Ok(file),
        Err(error) if std::fs::symlink_metadata(path).map_or(true, |found| found.is_file()) => {
            return Err(error);
        }
        _ => std::fs::remove_file(path)?,
    }
    open()
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
    use std::sync::Arc;

    use super::*;

    #[test]
    fn m8_a_pipe_in_place_of_the_log_is_replaced_and_nobody_waits_for_its_reader() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("qd.log");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let make_pipe =
            || rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        make_pipe();
        let mut log = Rotating::open(&path, 100).unwrap();
        log.write_all(b"first\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "first\n");
        std::fs::remove_file(&path).unwrap();
        make_pipe();
        let _reader = OpenOptions::new().read(true).custom_flags(OPENING).open(&path).unwrap();
        assert!(append(&path).unwrap().metadata().unwrap().is_file(), "nor one that somebody reads");
    }

    #[test]
    fn m8_a_link_in_place_of_the_log_is_replaced_and_what_it_names_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (path, named) = (directory.path().join("qd.log"), directory.path().join("named"));
        for exists in [false, true] {
            if exists {
                std::fs::write(&named, "somebody's\n").unwrap();
            }
            let _former = std::fs::remove_file(&path);
            std::os::unix::fs::symlink(&named, &path).unwrap();
            Rotating::open(&path, 100).unwrap().write_all(b"ours\n").unwrap();
            assert!(path.symlink_metadata().unwrap().is_file());
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "ours\n");
            assert_eq!(std::fs::read_to_string(&named).ok().as_deref(), exists.then_some("somebody's\n"));
        }
    }

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

    /// Collects what a subscriber writes.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(requested: Option<&str>, action: impl FnOnce()) -> String {
        let written = Written::default();
        let writer = written.clone();
        let builder = tracing_subscriber::fmt().with_ansi(false).with_env_filter(filter(requested));
        tracing::subscriber::with_default(builder.with_writer(move || writer.clone()).finish(), action);
        let bytes = written.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn m5e_a_child_that_prints_unknown_bytes_writes_nothing_into_the_log() {
        for requested in [None, Some("debug"), Some("rio_vt=trace"), Some("not a = filter [")] {
            let log = logged(requested, || {
                let mut screen = term::Screen::new(term::GridSize::DEFAULT, term::Limits::default());
                screen.feed("x\u{80}\u{9b}\u{fffd}\x01\x1b[99999z\x1bP1$zsecret\x1b\\".as_bytes());
                tracing::warn!("this line is ours");
            });
            let ours = usize::from(requested != Some("rio_vt=trace"));
            assert_eq!(log.lines().count(), ours, "{requested:?}: {log}");
        }
    }

    #[test]
    fn a_warning_that_others_cause_is_written_once_a_minute_with_its_count() {
        let seldom = RateLimited::new();
        assert_eq!(seldom.is_due_at(0), Some(0));
        assert!((0..SELDOM_MS).all(|now| seldom.is_due_at(now).is_none()));
        assert_eq!(seldom.is_due_at(SELDOM_MS), Some(SELDOM_MS));
    }
}

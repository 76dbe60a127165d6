//! `qd record`: writes a process's output as an asciicast file. Input is not recorded, because passwords are
//! typed.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::{Args, ValueEnum};
use client::{Chunk, Next, ReconnectingFollow, Stops, StreamEnd};
use proto::request::{Follow, Target};
use proto::terminal::{Clipboard, Filter};
use proto::{ErrorCode, Failure, Printable, Size};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use serde_json::json;

use crate::context::Context;
use crate::errors::CliError;

/// Ctrl-C, the usual end of a recording.
const INTERRUPTED: StreamEnd = StreamEnd::Signal(rustix::process::Signal::INT.as_raw());

/// Record the output of a process as an asciicast, until it ends or you press Ctrl-C
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Its name or id
    name: String,

    /// The file to write; - is stdout
    file: String,

    /// The format
    #[arg(long, value_enum, default_value = "v2")]
    format: Format,

    /// Start with what the log still has, all at time 0 [default: start with the present screen]
    #[arg(long)]
    from_start: bool,

    /// Overwrite the file if it exists
    #[arg(long)]
    force: bool,
}

/// An asciicast version.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Format {
    /// Times since the start
    V2,
    /// Times since the event before
    V3,
}

impl RecordArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        self.check_file()?;
        let connection = context.connect()?;
        let (target, screen) = (Target(self.name.clone()), !self.from_start);
        let follow = Follow { target, live: true, screen, ..Follow::default() };
        // From here on Ctrl-C ends the recording, not the program in the middle of a line.
        let mut stops = Stops::default().signals().map_err(CliError::io("signals cannot be received"))?;
        if self.file == "-" {
            stops = stops.unread(rustix::stdio::stdout());
        }
        let mut log = ReconnectingFollow::begin(connection, follow, stops)?;
        let unwritable = |error| self.unwritable(error);
        let out: Box<dyn Write> = match self.file.as_str() {
            "-" => Box::new(io::stdout().lock()),
            path => Box::new(BufWriter::new(self.create(path)?)),
        };
        let mut cast = Cast::begin(out, self.format, log.began.size).map_err(unwritable)?;
        let start = Instant::now();
        let mut ended = None;
        loop {
            let chunk = match log.next(context.address()?)? {
                Next::Came(chunk) => chunk,
                Next::Over => return super::logs::known_end(&self.name, ended),
                Next::Stopped(stop) => {
                    cast.spill(start.elapsed()).map_err(unwritable)?;
                    return if stop == INTERRUPTED {
                        Ok(ExitCode::SUCCESS)
                    } else {
                        super::logs::stopped(stop)
                    };
                }
            };
            match &chunk {
                Chunk::Exit(exit) => ended = Some(*exit),
                Chunk::Gap { from, to } => super::logs::tell_gap(*from, *to),
                Chunk::Screen(_) | Chunk::Bytes { .. } | Chunk::Time(_) | Chunk::Resized(_) => {}
            }
            cast.event(&chunk, start.elapsed()).map_err(unwritable)?;
        }
    }

    /// Refuses to overwrite a recording before the daemon is called.
    fn check_file(&self) -> Result<(), CliError> {
        let is_there = std::fs::metadata(&self.file).is_ok_and(|found| found.is_file());
        match is_there && !self.force && self.file != "-" {
            true => Err(self.exists()),
            false => Ok(()),
        }
    }

    fn create(&self, path: &str) -> Result<File, CliError> {
        // A pipe or another special file is written into; nothing is lost.
        let may_be_there = self.force || std::fs::metadata(path).is_ok_and(|found| !found.is_file());
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).create_new(!may_be_there);
        // A pipe that nobody reads would hold up its opening, before a signal could end this command.
        let waitless = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
        let file = options.custom_flags(waitless).open(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => self.exists(),
            _ if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => self.unread(),
            _ => self.unwritable(error),
        })?;
        let flags = fcntl_getfl(&file).map_err(|error| self.unwritable(error.into()))?;
        fcntl_setfl(&file, flags - OFlags::NONBLOCK).map_err(|error| self.unwritable(error.into()))?;
        Ok(file)
    }

    fn unread(&self) -> CliError {
        let message = format!("{} is a pipe that nobody reads", Printable(&self.file));
        CliError::Own(Failure::new(ErrorCode::Conflict, message).hint("start its reader first"))
    }

    fn exists(&self) -> CliError {
        let message = format!("{} exists", Printable(&self.file));
        CliError::Own(Failure::new(ErrorCode::Conflict, message).hint("--force overwrites it"))
    }

    fn unwritable(&self, error: io::Error) -> CliError {
        match error.kind() {
            io::ErrorKind::BrokenPipe => CliError::BrokenPipe,
            _ => CliError::io(format!("{} cannot be written", Printable(&self.file)))(error),
        }
    }
}

/// A file being written, one event per line and each flushed, so that it is valid whenever it is cut off.
struct Cast {
    out: Box<dyn Write>,
    format: Format,
    last: Duration,
    /// A recording is played on a terminal, so it contains what a viewer's terminal would show.
    filter: Filter,
    /// The beginning of a character whose rest has not arrived: the format holds text.
    partial: Vec<u8>,
}

impl Cast {
    fn begin(out: Box<dyn Write>, format: Format, size: Size) -> io::Result<Self> {
        let timestamp = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let header = match format {
            Format::V2 => {
                json!({"version": 2, "width": size.cols, "height": size.rows, "timestamp": timestamp,
                "env": {"TERM": "xterm-256color"}})
            }
            Format::V3 => json!({"version": 3, "timestamp": timestamp,
                "term": {"cols": size.cols, "rows": size.rows, "type": "xterm-256color"}}),
        };
        let mut cast = Self {
            out,
            format,
            last: Duration::ZERO,
            filter: Filter::new(Clipboard::Refused),
            partial: Vec::new(),
        };
        cast.line(&header)?;
        Ok(cast)
    }

    fn event(&mut self, chunk: &Chunk, now: Duration) -> io::Result<()> {
        if matches!(chunk, Chunk::Gap { .. } | Chunk::Exit(_)) {
            self.spill(now)?;
            self.filter.abandon();
        }
        match chunk {
            Chunk::Screen(bytes) | Chunk::Bytes { bytes, .. } => {
                let text = self.text(bytes);
                if text.is_empty() { Ok(()) } else { self.write(now, "o", &text) }
            }
            Chunk::Time(_) => Ok(()),
            Chunk::Resized(size) => self.write(now, "r", &size.to_string()),
            Chunk::Gap { from, to } => {
                self.write(now, "m", &format!("{} bytes are gone", to.saturating_sub(*from)))
            }
            Chunk::Exit(exit) if self.format == Format::V3 => {
                self.write(now, "x", &exit.shell_code().to_string())
            }
            Chunk::Exit(_) => Ok(()),
        }
    }

    /// Writes the beginning of a character whose rest will not arrive.
    fn spill(&mut self, now: Duration) -> io::Result<()> {
        let partial = std::mem::take(&mut self.partial);
        if partial.is_empty() { Ok(()) } else { self.write(now, "o", &String::from_utf8_lossy(&partial)) }
    }

    fn write(&mut self, now: Duration, code: &str, data: &str) -> io::Result<()> {
        let time = match self.format {
            Format::V2 => now,
            Format::V3 => now.saturating_sub(self.last),
        };
        self.last = now;
        let time = (time.as_secs_f64() * 1e6).round() / 1e6;
        self.line(&json!([time, code, data]))
    }

    fn line(&mut self, value: &serde_json::Value) -> io::Result<()> {
        writeln!(self.out, "{value}")?;
        self.out.flush()
    }

    /// Returns the text so far; an unfinished character at the end waits for its rest.
    fn text(&mut self, bytes: &[u8]) -> String {
        self.partial.extend_from_slice(&self.filter.pass(bytes));
        let end = match std::str::from_utf8(&self.partial) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => unfinished_from(&self.partial),
        };
        let rest = self.partial.split_off(end);
        let whole = std::mem::replace(&mut self.partial, rest);
        String::from_utf8_lossy(&whole).into_owned()
    }
}

/// Returns where an unfinished character at the end begins, in bytes that may have errors before it.
fn unfinished_from(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    let starts = (tail..bytes.len()).filter(|at| bytes[*at] >= 0xc0);
    let is_open =
        |at: &usize| std::str::from_utf8(&bytes[*at..]).is_err_and(|error| error.error_len().is_none());
    starts.filter(is_open).min().unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn recorded(format: Format, chunks: &[(u64, Chunk)]) -> Vec<serde_json::Value> {
        let shared = Shared::default();
        let mut cast = Cast::begin(Box::new(shared.clone()), format, Size::DEFAULT).unwrap();
        for (millis, chunk) in chunks {
            cast.event(chunk, Duration::from_millis(*millis)).unwrap();
        }
        let bytes = shared.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn m6c_a_recording_holds_nothing_that_a_viewers_terminal_is_not_shown() {
        let chunks = [(0, bytes(b"a\x1b]5")), (1, bytes(b"2;c;aGk=\x07\x1b[c\xc2\x9b6nb\x1b[31m"))];
        let shown: String = recorded(Format::V2, &chunks)[1..]
            .iter()
            .map(|event| event[2].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(shown, "a6nb\x1b[31m");
    }

    fn bytes(bytes: &[u8]) -> Chunk {
        Chunk::Bytes { offset: 0, bytes: bytes.to_vec() }
    }

    #[test]
    fn version_2_counts_from_the_start_and_v3_from_the_event_before() {
        let exit = proto::Exit { code: Some(3), signal: None, reason: proto::ExitReason::Exited };
        let chunks =
            [(500, bytes(b"a")), (750, Chunk::Resized(Size { cols: 9, rows: 8 })), (1000, Chunk::Exit(exit))];
        let v2 = recorded(Format::V2, &chunks);
        assert_eq!((&v2[0]["version"], &v2[0]["width"]), (&json!(2), &json!(80)));
        assert_eq!(v2[1..], [json!([0.5, "o", "a"]), json!([0.75, "r", "9x8"])]);
        let v3 = recorded(Format::V3, &chunks);
        assert_eq!(v3[0]["term"]["rows"], 24);
        assert_eq!(v3[1..], [json!([0.5, "o", "a"]), json!([0.25, "r", "9x8"]), json!([0.25, "x", "3"])]);
    }

    #[test]
    fn a_character_cut_in_two_is_recorded_whole() {
        let chunks = [(0, bytes(b"\xff \xe6\x97")), (1, bytes(b"\xa5!"))];
        let events = recorded(Format::V2, &chunks);
        assert_eq!(events[1..], [json!([0.0, "o", "\u{fffd} "]), json!([0.001, "o", "\u{65e5}!"])]);
    }

    #[test]
    fn half_a_character_before_a_gap_is_not_joined_with_what_comes_after_it() {
        let chunks = [(0, bytes(b"a\xe6\x97")), (1, Chunk::Gap { from: 3, to: 5 }), (2, bytes(b"\xa5!"))];
        let events = recorded(Format::V2, &chunks);
        let expected = [
            json!([0.0, "o", "a"]),
            json!([0.001, "m", "2 bytes are gone"]),
            json!([0.002, "o", "\u{fffd}!"]),
        ];
        assert_eq!(events[1..], expected);
    }
}

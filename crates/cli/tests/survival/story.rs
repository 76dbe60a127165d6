//! A scripted child with a reference: everything that it prints is also fed to an emulator of the test's own,
//! and a client that reconnects after every kill follows it. Every byte and every cell is compared.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use client::follow::{Chunk, FollowStream};
use client::{DaemonAddress, Incoming};
use proto::frame::DataKind;
use proto::request::{Attach, Follow, Read, ReadMode, Resize, SizeRequest, Until, Wait};
use proto::{Dirs, Size};
use term::{Limits, LineId, Screen, Wraps};
use testkit::process_scan::pause;
use testkit::{DEADLINE, Mark, ScriptedChild, TestDaemon};

/// History that is compared, in bytes.
const HISTORY: u32 = 12_000;

/// A sequence of numbers that looks random and is the same in every run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 11) % limit as u64).unwrap()
    }
}

/// A child, what it was ordered to print, and what its screen must be.
pub(crate) struct Story {
    pub(crate) name: String,
    pub(crate) pid: i32,
    pub(crate) size: Size,
    scripted_child: ScriptedChild,
    told: Vec<u8>,
    model: Screen,
    dice: Dice,
    step: u32,
    count: u64,
    follower: Option<JoinHandle<Followed>>,
}

impl Story {
    pub(crate) fn begin(daemon: &TestDaemon, mark: &Mark, name: &str, seed: u64) -> Self {
        let scripted_child = ScriptedChild::new(daemon.root(), name);
        let pid = daemon.client().spawn(mark.spawn(name, scripted_child.argv())).unwrap().pid.unwrap();
        let dirs = daemon.dirs();
        let target = name.to_owned();
        let follower = std::thread::spawn(move || follow_to_the_end(&dirs, &target));
        Self {
            name: name.to_owned(),
            pid,
            size: Size::DEFAULT,
            scripted_child,
            told: Vec::new(),
            model: Screen::new(term::GridSize::DEFAULT, Limits::default()),
            dice: Dice::new(seed),
            step: 0,
            count: 0,
            follower: Some(follower),
        }
    }

    /// Orders about this much output, which ends with a known line.
    pub(crate) fn tell(&mut self, bytes: usize) {
        let mut text = Vec::with_capacity(bytes + 256);
        while text.len() < bytes {
            self.paragraph(&mut text);
        }
        self.step += 1;
        text.extend_from_slice(format!("\x1b[0m\x1b[r\x1b[999;1H\r\n=step {}=", self.step).as_bytes());
        self.scripted_child.tell(&text);
        self.model.feed(&text);
        self.told.extend_from_slice(&text);
    }

    /// One thing that programs do to terminals.
    fn paragraph(&mut self, text: &mut Vec<u8>) {
        self.count += 1;
        let (count, colour) = (self.count, self.dice.below(256));
        let row = self.dice.below(usize::from(self.size.rows)) + 1;
        let piece = match self.dice.below(12) {
            0..=4 => format!("\x1b[38;5;{colour}mline {count} {}\x1b[0m\r\n", "word ".repeat(colour % 40)),
            5 => format!("\x1b[1;4;48;2;{colour};9;99mcount {count}\x1b[22;24m tail\r\n"),
            6 => {
                let rows: String = (1..=row)
                    .map(|row| format!("\x1b[{row};1H\x1b[2K\x1b[3{}m{count}/{row}", row % 8))
                    .collect();
                format!("\x1b[?2026h\x1b[H{rows}\x1b[?2026l")
            }
            7 if self.dice.below(2) == 0 => format!("\x1b[?1049h\x1b[2J\x1b[{row};3Hfull screen {count}"),
            7 => "\x1b[?1049l".to_owned(),
            8 => format!("wide 漢字 e\u{301} 👍 {count}\r\n"),
            9 => format!(
                "\x1b[{};{}r\x1b[{row};1H\x1b[{}L{count}\x1b[M\x1b[r",
                1 + row / 2,
                row + 2,
                1 + row % 4
            ),
            10 => format!(
                "\x1b]2;title {count}\x07\x1b[{row};{}H\x1b[{}X{count}\x1b[1K",
                1 + colour % 70,
                colour % 9
            ),
            _ => {
                let on = if colour % 2 == 0 { 'h' } else { 'l' };
                format!("\x1b[?25{on}\x1b[?2004{on}\x1b[?1{on}\x1b[?1006{on}\x1b[?7h{count}\r\n")
            }
        };
        text.extend_from_slice(piece.as_bytes());
    }

    /// Waits until everything ordered so far is on the daemon's screen.
    pub(crate) fn wait_told(&self, daemon: &TestDaemon) {
        let since = (self.told.len() as u64).saturating_sub(64);
        let until = Until::Pattern(format!("=step {}=", self.step));
        let timeout_ms = u64::try_from(DEADLINE.as_millis()).ok();
        let targets = vec![self.name.as_str().into()];
        let wait = Wait { since: Some(since), timeout_ms, ..Wait::until(targets, until) };
        if let Err(error) = daemon.client().wait(wait) {
            let end = daemon.process(&self.name).live.log.end;
            daemon.fail(&format!("{}: {error}; log {end} of {}", self.name, self.told.len()));
        }
    }

    /// Resizes the quiet terminal and waits until it has the size.
    pub(crate) fn resize(&mut self, daemon: &TestDaemon, size: Size) {
        self.ask_for_size(daemon, size);
        let has_it = || (daemon.read(&self.name, ReadMode::Screen).size == size).then_some(());
        testkit::process_scan::eventually("the new size", has_it);
    }

    /// Resizes the quiet terminal, which may get the size a moment later.
    pub(crate) fn ask_for_size(&mut self, daemon: &TestDaemon, size: Size) {
        daemon
            .client()
            .resize(Resize { target: self.name.as_str().into(), size: SizeRequest::from(size) })
            .unwrap();
        self.size = size;
        self.model.resize(term::GridSize { cols: size.cols, rows: size.rows });
    }

    /// Text, cursor, title and the newest history are what an emulator makes of the same bytes.
    pub(crate) fn check_text(&self, daemon: &TestDaemon) {
        let read = |mode, limit| {
            let read =
                Read { target: self.name.as_str().into(), mode, limit: Some(limit), ..Read::default() };
            daemon.client().read(read).unwrap()
        };
        let seen = read(ReadMode::Screen, 65_536);
        let name = &self.name;
        assert_eq!(seen.size, self.size, "{name}");
        assert_eq!(seen.text, self.model.text(Wraps::Keep), "{name} at {}", self.told.len());
        let cursor = self.model.cursor();
        assert_eq!(
            (seen.cursor.col, seen.cursor.row, seen.cursor.visible),
            (cursor.col, cursor.row, cursor.visible)
        );
        assert_eq!((seen.alternate, seen.title.as_str()), (self.model.is_alternate(), self.model.title()));
        assert_eq!(seen.offset, self.told.len() as u64, "{name}: the log's end");
        let history = read(ReadMode::History, HISTORY);
        assert_eq!(tail(&history.text), tail(&self.model_history()), "{name}: the newest history");
    }

    fn model_history(&self) -> String {
        let written = self.model.written();
        let first = LineId(written.end.0.saturating_sub(u64::from(HISTORY)).max(written.start.0));
        self.model
            .lines(first..written.end, Wraps::Keep)
            .iter()
            .map(|line| format!("{}\n", line.text))
            .collect()
    }

    /// A new viewer sees every cell, colour and mode as an emulator fed the same bytes has it.
    pub(crate) fn check_cells(&self, daemon: &TestDaemon) {
        let mut connection = daemon.client();
        let attach = Attach {
            target: self.name.as_str().into(),
            size: SizeRequest::from(self.size),
            read_only: true,
            ..Attach::default()
        };
        connection.attach(attach).unwrap();
        let mut shown =
            Screen::new(term::GridSize { cols: self.size.cols, rows: self.size.rows }, Limits::default());
        loop {
            match connection.receive_before(Instant::now() + DEADLINE).unwrap().expect("a viewer is painted")
            {
                Incoming::Data(data) if data.kind == DataKind::Repaint => break shown.feed(&data.bytes),
                _ => {}
            }
        }
        for row in 0..self.size.rows {
            assert_eq!(shown.row_cells(row), self.model.row_cells(row), "{}: row {row}", self.name);
        }
        assert_eq!(shown.modes(), self.model.modes(), "{}", self.name);
        assert_eq!(shown.cursor(), self.model.cursor(), "{}", self.name);
    }

    /// Ends the child and accounts for every byte that was ever ordered.
    pub(crate) fn end(mut self, daemon: &TestDaemon) -> Followed {
        self.scripted_child.end();
        let waited = daemon.wait_exit(&self.name);
        let exit = waited.satisfied[0].exit.unwrap();
        assert_eq!(
            (exit.code, waited.satisfied[0].offset),
            (Some(7), self.told.len() as u64),
            "{}",
            self.name
        );
        let followed = self.follower.take().unwrap().join().expect("the follower accounts for every byte");
        followed.check(&self.told);
        followed
    }
}

/// Returns the newest of a text, from a line's beginning on: two texts cut at different places compare from
/// there.
fn tail(text: &str) -> &str {
    let mut cut = text.len().saturating_sub(8_000);
    while !text.is_char_boundary(cut) {
        cut += 1;
    }
    if cut == 0 { text } else { &text[cut + text[cut..].find('\n').unwrap()..] }
}

/// What a follower that reconnects after every kill has received.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    pieces: Vec<(u64, Vec<u8>)>,
    pub(crate) received: u64,
    pub(crate) gaps: u64,
    /// How often the connection broke.
    pub(crate) broken: usize,
}

impl Followed {
    fn at(&self) -> u64 {
        self.received + self.gaps
    }

    fn take(&mut self, chunk: Chunk) {
        match chunk {
            Chunk::Bytes { offset, bytes } => {
                assert_eq!(offset, self.at(), "bytes come in order, once");
                self.received += bytes.len() as u64;
                self.pieces.push((offset, bytes));
            }
            Chunk::Gap { from, to } => {
                assert!(from == self.at() && to > from, "a gap from {from} to {to} at {}", self.at());
                self.gaps += to - from;
            }
            Chunk::Screen(_) | Chunk::Time(_) | Chunk::Resized(_) | Chunk::Exit(_) => {}
        }
    }

    /// Received bytes and gaps are exactly what was produced, byte by byte.
    pub(crate) fn check(&self, produced: &[u8]) {
        assert_eq!(
            self.at(),
            produced.len() as u64,
            "received {} + gaps {} = produced",
            self.received,
            self.gaps
        );
        for (offset, bytes) in &self.pieces {
            let begin = usize::try_from(*offset).unwrap();
            assert!(produced[begin..begin + bytes.len()] == bytes[..], "other bytes at {offset}");
        }
    }
}

/// Follows from the first byte to the child's end, reconnecting to every new daemon.
pub(crate) fn follow_to_the_end(dirs: &Dirs, name: &str) -> Followed {
    let mut followed = Followed::default();
    let until = Instant::now() + DEADLINE * 20;
    loop {
        match follow_once(dirs, name, &mut followed) {
            Ok(()) => return followed,
            Err(error) => assert!(Instant::now() < until, "{name} never ended: {error}"),
        }
        followed.broken += 1;
        // No event announces the next daemon to a client that may not start one.
        pause(Duration::from_millis(3));
    }
}

fn follow_once(dirs: &Dirs, name: &str, followed: &mut Followed) -> Result<(), client::ClientError> {
    let mut connection = DaemonAddress::without_start(dirs.clone()).connect_if_running()?;
    connection.hello()?;
    let follow = Follow { target: name.into(), from: Some(followed.at()), live: true, ..Follow::default() };
    for chunk in FollowStream::begin(connection, follow)? {
        followed.take(chunk?);
    }
    Ok(())
}

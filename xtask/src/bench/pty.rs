//! A terminal of our own with a program in it, like a person's terminal emulator: the master side and waits
//! on it. It does not interpret what it reads, but for the questions that `answers` knows.

use std::io::Error;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::answers::Answers;
use super::process_scan;

/// A slow link brings its bytes so often.
const SLICE: Duration = Duration::from_millis(10);

/// Columns and rows.
#[derive(Clone, Copy)]
pub(crate) struct Size(pub(crate) u16, pub(crate) u16);

impl Size {
    pub(crate) const NORMAL: Self = Self(80, 24);
    pub(crate) const LARGE: Self = Self(200, 50);
}

/// How a program ended whose terminal went away.
pub(crate) struct HungUp {
    /// After how long it was gone.
    pub(crate) gone: Duration,
    /// The processor time that this took.
    pub(crate) effort: Duration,
}

/// A program on the slave side of a PTY. Dropping it kills the program and waits for it.
pub(crate) struct Client {
    child: Child,
    master: OwnedFd,
    /// None where nobody answers.
    answers: Option<Mutex<Answers>>,
}

impl Client {
    /// Starts `command` as the leader of a new session whose terminal is a new PTY.
    ///
    /// `setsid --ctty` does what would otherwise need code between fork and exec.
    pub(crate) fn start(command: &Command, size: Size) -> Result<Self, String> {
        let (master, slave) = open_pair(size).map_err(|error| format!("cannot open a PTY: {error}"))?;
        let mut wrapped = Command::new("setsid");
        wrapped.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
        for (name, value) in command.get_envs() {
            wrapped.env(name, value.unwrap_or_default());
        }
        if let Some(directory) = command.get_current_dir() {
            wrapped.current_dir(directory);
        }
        let copy =
            || slave.try_clone().map(Stdio::from).map_err(|error| format!("cannot copy the slave: {error}"));
        wrapped.stdin(copy()?).stdout(copy()?).stderr(copy()?);
        let child = wrapped.spawn().map_err(|error| format!("cannot start setsid: {error}"))?;
        Ok(Self { child, master, answers: None })
    }

    /// Answers when it is asked, as a person's terminal does, as soon as the question was read.
    pub(crate) fn answering(mut self) -> Self {
        self.answers = Some(Mutex::default());
        self
    }

    fn answer(&self, piece: &[u8]) -> Result<(), String> {
        let Some(answers) = &self.answers else { return Ok(()) };
        let answers = answers.lock().unwrap_or_else(PoisonError::into_inner).to(piece);
        if answers.is_empty() { Ok(()) } else { self.write(&answers) }
    }

    /// Reads with plain blocking reads until `marker` has come. The marker's first byte must be rare in the
    /// stream, because only pieces that contain it are searched: the search must not slow the reader that it
    /// measures.
    pub(crate) fn read_until(&self, marker: &[u8], timeout: Duration) -> Result<(), String> {
        let _watchdog = Watchdog::over(&self.child, timeout);
        let mut buffer = vec![0; 64 * 1024];
        let mut tail: Vec<u8> = Vec::new();
        loop {
            let count = rustix::io::read(&self.master, &mut buffer[..])
                .ok()
                .filter(|count| *count > 0)
                .ok_or_else(|| format!("no end marker; the last output was {:?}", printable(&tail)))?;
            let piece = &buffer[..count];
            if tail.contains(&marker[0]) || piece.contains(&marker[0]) {
                tail.extend_from_slice(piece);
                if find(&tail, marker) {
                    return Ok(());
                }
                tail.drain(..tail.len().saturating_sub(marker.len() - 1));
            } else {
                tail.clear();
                tail.extend_from_slice(&piece[count.saturating_sub(marker.len() - 1)..]);
            }
        }
    }

    /// Reads until every needle has been seen, keeping everything; for short outputs.
    pub(crate) fn read_all_of(&self, needles: &[&[u8]], timeout: Duration) -> Result<(), String> {
        let deadline = Instant::now() + timeout;
        let mut seen = Vec::new();
        while !needles.iter().all(|needle| find(&seen, needle)) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.read_some(left, &mut seen)? {
                let end = &seen[seen.len().saturating_sub(200)..];
                return Err(format!("the screen did not appear; its end was {:?}", printable(end)));
            }
        }
        Ok(())
    }

    /// Writes one key and waits until it comes back.
    pub(crate) fn echo(&self, key: u8, timeout: Duration) -> Result<Duration, String> {
        self.settle(Duration::from_millis(1))?;
        let mut seen = Vec::with_capacity(4096);
        let start = Instant::now();
        self.write(&[key])?;
        while !seen.contains(&key) {
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() || !self.read_some(left, &mut seen)? {
                return Err(format!("key {:?} did not come back in {timeout:?}", char::from(key)));
            }
        }
        Ok(start.elapsed())
    }

    /// Waits until the program has taken its terminal over. Before that the kernel itself sends keys back, and they
    /// would be measured as echoes.
    pub(crate) fn until_raw(&self, timeout: Duration) -> Result<(), String> {
        let deadline = Instant::now() + timeout;
        while Instant::now() < deadline {
            let modes = tcgetattr(&self.master).map_err(|error| format!("terminal modes: {error}"))?;
            if !modes.local_modes.intersects(LocalModes::ECHO | LocalModes::ICANON) {
                return Ok(());
            }
            pass(Duration::from_millis(2));
        }
        Err(format!("the client did not set its terminal to raw within {timeout:?}"))
    }

    /// Returns its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns how many bytes are drawn within a window.
    pub(crate) fn drawn_within(&self, window: Duration) -> Result<usize, String> {
        let end = Instant::now() + window;
        let mut drawn = 0;
        let mut piece = Vec::new();
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            self.read_some(left, &mut piece)?;
            drawn += std::mem::take(&mut piece).len();
        }
        Ok(drawn)
    }

    /// Reads until a moment, at most so many bytes a second.
    pub(crate) fn read_slowly(&self, until: Instant, rate: usize) -> Result<(), String> {
        while Instant::now() < until {
            self.read_piece(rate, &mut Vec::new())?;
        }
        Ok(())
    }

    /// Reads at most so many bytes a second until these have come.
    pub(crate) fn read_slowly_until(
        &self,
        wanted: &[u8],
        deadline: Instant,
        rate: usize,
    ) -> Result<(), String> {
        let mut seen = Vec::new();
        while !find(&seen, wanted) {
            if Instant::now() > deadline {
                return Err(format!("the last change did not come; its end was {:?}", printable(&seen)));
            }
            self.read_piece(rate, &mut seen)?;
        }
        Ok(())
    }

    /// Reads what a link of this rate brings in a hundredth of a second, and lets that time pass.
    fn read_piece(&self, rate: usize, into: &mut Vec<u8>) -> Result<(), String> {
        let next = Instant::now() + SLICE;
        if is_readable(&self.master, SLICE) {
            let mut buffer = vec![0; rate / 100];
            let count = rustix::io::read(&self.master, &mut buffer[..]).unwrap_or(0);
            if count == 0 {
                return Err(format!("the client ended; it said {:?}", printable(into)));
            }
            self.answer(&buffer[..count])?;
            into.extend_from_slice(&buffer[..count]);
        }
        pass(next.saturating_duration_since(Instant::now()));
        Ok(())
    }

    /// Discards output until there has been none for `quiet`.
    pub(crate) fn settle(&self, quiet: Duration) -> Result<(), String> {
        let mut sink = Vec::new();
        while self.read_some(quiet, &mut sink)? {
            sink.clear();
        }
        Ok(())
    }

    /// Takes the terminal away and waits until the program is gone.
    pub(crate) fn hang_up(mut self, timeout: Duration) -> Result<HungUp, String> {
        let failed = |error: Error| format!("cannot wait for the client: {error}");
        let pidfd = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty());
        let pidfd = pidfd.map_err(|error| failed(error.into()))?;
        let nothing = std::fs::File::open("/dev/null").map_err(failed)?;
        // What was used is still there to read when it has ended, as long as nobody has waited for it.
        let pid = self.child.id();
        let used = || Duration::from_nanos(process_scan::effort(&[pid]).nanoseconds);
        let before = used();
        let start = Instant::now();
        drop(std::mem::replace(&mut self.master, nothing.into()));
        if !is_readable(&pidfd, timeout) {
            return Err(format!("the client was not gone after {timeout:?}"));
        }
        let gone = start.elapsed();
        Ok(HungUp { gone, effort: used().saturating_sub(before) })
    }

    /// Types.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), String> {
        rustix::io::write(&self.master, bytes).map(|_| ()).map_err(|error| format!("cannot type: {error}"))
    }

    /// Appends available output, waiting at most `timeout`; returns false when nothing came.
    fn read_some(&self, timeout: Duration, into: &mut Vec<u8>) -> Result<bool, String> {
        if !is_readable(&self.master, timeout) {
            return Ok(false);
        }
        let mut buffer = [0; 16 * 1024];
        match rustix::io::read(&self.master, &mut buffer) {
            Ok(count) if count > 0 => {
                self.answer(&buffer[..count])?;
                into.extend_from_slice(&buffer[..count]);
                Ok(true)
            }
            _ => Err(format!("the client ended; it said {:?}", printable(into))),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Already gone is as good as killed.
        let _killed = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Kills a client that takes longer than its time limit, so that a blocking read on its terminal ends.
struct Watchdog {
    _stop: mpsc::SyncSender<()>,
}

impl Watchdog {
    fn over(child: &Child, timeout: Duration) -> Self {
        let (stop, stopped) = mpsc::sync_channel::<()>(0);
        let pid = Pid::from_child(child);
        std::thread::spawn(move || {
            // The sender is only ever dropped; a time-out means that the client still runs.
            if stopped.recv_timeout(timeout) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _gone = kill_process(pid, Signal::KILL);
            }
        });
        Self { _stop: stop }
    }
}

/// Runs a command to its end within `timeout`, as a shell would in the background of this terminal.
pub(crate) fn run_within(mut command: Command, timeout: Duration) -> Result<(), String> {
    let shown = show(&command);
    let mut child = command.spawn().map_err(|error| format!("cannot start {shown}: {error}"))?;
    if !ends_within(&child, timeout) {
        let _killed = child.kill();
        let _status = child.wait();
        return Err(format!("{shown} took longer than {timeout:?}"));
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown}: {status}")),
        Err(error) => Err(format!("{shown}: {error}")),
    }
}

/// Returns the program's name and arguments, without its environment, which is always ours.
fn show(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program()).file_name().unwrap_or_default();
    let words =
        std::iter::once(program).chain(command.get_args()).map(|word| word.to_string_lossy().into_owned());
    format!("`{}`", words.collect::<Vec<_>>().join(" "))
}

fn ends_within(child: &Child, timeout: Duration) -> bool {
    pidfd_open(Pid::from_child(child), PidfdFlags::empty()).map_or(true, |pidfd| is_readable(&pidfd, timeout))
}

/// Waits until something can be read.
pub(crate) fn is_readable(descriptor: &impl AsFd, timeout: Duration) -> bool {
    let mut entries = [PollFd::new(descriptor, PollFlags::IN)];
    let timeout = Timespec::try_from(timeout).ok();
    matches!(poll(&mut entries, timeout.as_ref()), Ok(count) if count > 0)
}

/// Lets time pass, for measurements over a window; not for waiting until something has happened.
pub(crate) fn pass(window: Duration) {
    let timeout = Timespec::try_from(window).ok();
    let _nothing = poll(&mut [], timeout.as_ref());
}

fn open_pair(size: Size) -> Result<(OwnedFd, OwnedFd), Error> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let slave = rustix::fs::open(name.as_c_str(), flags, Mode::empty())?;
    tcsetwinsize(&slave, Winsize { ws_col: size.0, ws_row: size.1, ws_xpixel: 0, ws_ypixel: 0 })?;
    Ok((master, slave))
}

fn find(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|window| window == wanted)
}

fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(400)..]).into_owned()
}

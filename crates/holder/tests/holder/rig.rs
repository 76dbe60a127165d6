//! The harness of the holder tests: starts holders in a directory of their own, plays the daemon, and leaves
//! nothing behind.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use holder::{
    ArmOutcome, ExitStatus, FromHolder, HolderHello, LaunchError, Launcher, Link, ReadOutcome, RunConfig,
    RunExit, Started, ToHolder,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Long enough for any machine; a test that needs it has failed.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

static LAUNCHER: LazyLock<Launcher> = LazyLock::new(launcher);

/// Where this process's sockets and files are; below the build's own directory for such things.
static DIRECTORY: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("holder-{}", identity()));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).unwrap();
    path
});

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Returns a value that no other process running these tests has: in a pid namespace it may have another's
/// pid.
fn identity() -> String {
    let world = testkit::pid_namespace::name().map(|world| format!("{world}-")).unwrap_or_default();
    format!("{world}{}", std::process::id())
}

/// Returns a value that no other run of any test has.
pub(crate) fn marker() -> String {
    format!("{}-{}", identity(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Returns a configuration for this command line, with a socket of its own and a marked environment.
pub(crate) fn config(argv: &[&str]) -> RunConfig {
    let marker = marker();
    let socket = DIRECTORY.join(&marker);
    let argv = argv.iter().map(OsString::from).collect();
    let mut config = RunConfig::new(argv, PathBuf::from("/"), socket);
    config.env = vec![
        ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
        ("TERM".into(), "xterm-256color".into()),
        (holder::RUN_TOKEN_VARIABLE.into(), marker.into()),
    ];
    config
}

pub(crate) fn shell(script: &str) -> RunConfig {
    config(&["sh", "-c", script])
}

/// Returns a launcher with a forkserver of its own, for tests that do something to it.
pub(crate) fn launcher() -> Launcher {
    Launcher::for_exe(Path::new(env!("CARGO_BIN_EXE_qd-hold-test"))).unwrap()
}

pub(crate) fn launch(config: &RunConfig) -> Result<Run, LaunchError> {
    launch_from(&LAUNCHER, config)
}

pub(crate) fn launch_from(launcher: &Launcher, config: &RunConfig) -> Result<Run, LaunchError> {
    launcher.start(config).map(|started| Run::new(config, started))
}

pub(crate) fn start(config: &RunConfig) -> Run {
    launch(config).expect("the holder starts")
}

/// Returns a directory for this test's files.
pub(crate) fn scratch() -> PathBuf {
    let path = DIRECTORY.join(format!("d{}", marker()));
    fs::create_dir(&path).unwrap();
    path
}

/// Polls for something that has no event.
pub(crate) fn eventually(what: &str, mut fact: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !fact() {
        assert!(Instant::now() < deadline, "never happened: {what}");
        pause(Duration::from_millis(5));
    }
}

pub(crate) fn pause(time: Duration) {
    let timeout = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
    poll(&mut [], Some(&timeout)).unwrap();
}

/// Returns the living processes that carry this run's marker; zombies have no environment.
pub(crate) fn marked(marker: &str) -> Vec<i32> {
    let entry = format!("{}={marker}", holder::RUN_TOKEN_VARIABLE).into_bytes();
    let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        fs::read(format!("/proc/{pid}/environ")).is_ok_and(|all| all.split(|b| *b == 0).any(|e| e == entry))
    })
    .collect()
}

pub(crate) fn exists(pid: i32) -> bool {
    holder::proc_stat::stat(pid).is_some_and(|stat| stat.state != b'Z')
}

pub(crate) fn kill(pid: i32, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Returns a descriptor that becomes readable when the process has ended, even if its pid is used again.
pub(crate) fn pin(pid: i32) -> OwnedFd {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap()
}

pub(crate) fn wait_for_end(pinned: &OwnedFd) {
    let timeout = Timespec { tv_sec: TIMEOUT.as_secs() as i64, tv_nsec: 0 };
    let ready = poll(&mut [PollFd::new(pinned, PollFlags::IN)], Some(&timeout));
    assert_eq!(ready, Ok(1), "the process does not end");
}

/// Waits until no process can write into a pipe any more; returns false if that does not happen.
pub(crate) fn hangs_up(reader: &OwnedFd) -> bool {
    let timeout = Timespec { tv_sec: TIMEOUT.as_secs() as i64, tv_nsec: 0 };
    matches!(poll(&mut [PollFd::new(reader, PollFlags::empty())], Some(&timeout)), Ok(1..))
}

/// A run as a daemon sees it.
pub(crate) struct Run {
    /// A pidfd of the holder, until it is known to be gone.
    pub(crate) holder: Option<OwnedFd>,
    pub(crate) holder_pid: i32,
    pub(crate) child_pid: i32,
    pub(crate) link: Option<Link>,
    pub(crate) hello: HolderHello,
    pub(crate) socket: PathBuf,
    pub(crate) marker: String,
    /// Everything read so far, without the gaps.
    pub(crate) log: Vec<u8>,
    /// Where reading goes on.
    pub(crate) offset: u64,
    /// Bytes that were missed.
    pub(crate) gaps: u64,
    /// True if reading allows the holder to overwrite.
    pub(crate) keeps: bool,
    exit: Option<RunExit>,
    tree_gone: Option<u32>,
    done: Vec<(u64, u64, u64)>,
    /// The last `KeyState` that the holder sent.
    pub(crate) key_state: Option<holder::KeyState>,
}

impl Run {
    fn new(config: &RunConfig, started: Started) -> Run {
        let marker =
            config.env.iter().find(|(name, _)| name == holder::RUN_TOKEN_VARIABLE).unwrap().1.clone();
        Run {
            holder_pid: started.hello.fields.holder_pid,
            child_pid: started.hello.fields.child_pid,
            holder: Some(pin(started.hello.fields.holder_pid)),
            link: Some(started.link),
            hello: started.hello,
            socket: config.socket.clone(),
            marker: marker.into_string().unwrap(),
            log: Vec::new(),
            offset: 0,
            gaps: 0,
            keeps: true,
            exit: None,
            tree_gone: None,
            done: Vec::new(),
            key_state: None,
        }
    }

    pub(crate) fn send(&mut self, message: &ToHolder) {
        self.link.as_mut().unwrap().send(message).unwrap();
    }

    /// Forgets the link, as a killed daemon does.
    pub(crate) fn disconnect(&mut self) {
        self.link = None;
    }

    /// Connects as the next daemon; log and offset go on.
    pub(crate) fn reconnect(&mut self) {
        let (link, hello) = Link::connect(&self.socket, TIMEOUT).unwrap();
        self.exit = self.exit.or(hello.fields.exited);
        self.link = Some(link);
        self.hello = hello;
    }

    /// Reads what is available and handles messages; returns false when the holder is gone.
    pub(crate) fn turn(&mut self) -> bool {
        self.read_ring();
        let Some(link) = self.link.as_mut() else { return false };
        link.flush().ok();
        loop {
            match link.receive() {
                Ok(None) => break,
                Ok(Some(FromHolder::Exited(exit))) => self.exit = Some(exit),
                Ok(Some(FromHolder::TreeGone { survivors })) => self.tree_gone = Some(survivors),
                Ok(Some(FromHolder::InputDone { id, written, of })) => self.done.push((id, written, of)),
                Ok(Some(FromHolder::KeyState(state))) => self.key_state = Some(state),
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{error}");
                    self.read_ring();
                    return false;
                }
            }
        }
        self.read_ring();
        true
    }

    pub(crate) fn read_ring(&mut self) {
        let mut buf = vec![0; 64 << 10];
        loop {
            match self.hello.ring.read(self.offset, &mut buf) {
                ReadOutcome::Bytes(0) => break,
                ReadOutcome::Bytes(count) => {
                    self.log.extend_from_slice(&buf[..count]);
                    self.offset += count as u64;
                }
                ReadOutcome::Missed { resume_at } => {
                    self.gaps += resume_at - self.offset;
                    self.offset = resume_at;
                }
            }
        }
        if self.keeps
            && self.hello.ring.keep_from(self.offset)
            && let Some(link) = self.link.as_mut()
        {
            link.send(&ToHolder::Resume).ok();
        }
    }

    /// Waits for the next event of link or ring.
    pub(crate) fn wait(&mut self, deadline: Instant) {
        if self.hello.ring.arm(self.offset) != ArmOutcome::Armed {
            return;
        }
        let link = self.link.as_ref().unwrap();
        let mut interests = PollFlags::IN;
        interests.set(PollFlags::OUT, link.wants_write());
        let mut fds =
            [PollFd::from_borrowed_fd(link.as_fd(), interests), PollFd::new(&self.hello.wake, PollFlags::IN)];
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        poll(&mut fds, Some(&timeout)).unwrap();
        rustix::io::read(&self.hello.wake, &mut [0u8; 8]).ok();
    }

    /// Plays the daemon until the condition holds.
    pub(crate) fn until(&mut self, what: &str, mut fact: impl FnMut(&mut Run) -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let alive = self.turn();
            if fact(self) {
                return;
            }
            assert!(alive, "holder gone before: {what}; log {:?}", String::from_utf8_lossy(&self.log));
            assert!(
                Instant::now() < deadline,
                "never happened: {what}; log {:?}",
                String::from_utf8_lossy(&self.log[self.log.len().saturating_sub(500)..])
            );
            self.wait(deadline);
        }
    }

    pub(crate) fn until_text(&mut self, text: &str) {
        self.until(text, |run| run.log.windows(text.len()).any(|window| window == text.as_bytes()));
    }

    pub(crate) fn until_exit(&mut self) -> RunExit {
        self.until("exit", |run| run.exit.is_some());
        self.exit.unwrap()
    }

    pub(crate) fn until_tree_gone(&mut self) -> u32 {
        self.until("the tree is gone", |run| run.tree_gone.is_some());
        self.tree_gone.unwrap()
    }

    /// Returns the answer to this input: written, of.
    pub(crate) fn until_done(&mut self, id: u64) -> (u64, u64) {
        self.until("input done", |run| run.done.iter().any(|done| done.0 == id));
        let at = self.done.iter().position(|done| done.0 == id).unwrap();
        let (_, written, of) = self.done.remove(at);
        (written, of)
    }

    pub(crate) fn has_exited(&self) -> bool {
        self.exit.is_some()
    }

    /// Returns the oldest answer that has not been taken: written, of.
    pub(crate) fn take_done(&mut self) -> (u64, u64) {
        let (_, written, of) = self.done.remove(0);
        (written, of)
    }

    pub(crate) fn done_count(&self) -> usize {
        self.done.len()
    }

    /// Waits until the holder itself is gone and has removed its socket.
    pub(crate) fn until_holder_gone(&mut self) {
        self.link = None;
        self.until_holder_dead();
        assert!(!self.socket.exists(), "the socket stays behind");
    }

    /// Waits until the holder is gone in any way.
    pub(crate) fn until_holder_dead(&mut self) {
        wait_for_end(&self.holder.take().unwrap());
    }

    /// Ends everything.
    pub(crate) fn close(mut self) {
        self.send(&ToHolder::Release { end_tree: true });
        self.until("sent", |run| run.link.as_ref().is_none_or(|link| !link.wants_write()));
        self.until_holder_gone();
        assert_eq!(marked(&self.marker), Vec::<i32>::new(), "survivors");
    }
}

impl Drop for Run {
    /// A failed test must not leave a tree behind either.
    fn drop(&mut self) {
        let Some(holder) = self.holder.take() else { return };
        rustix::process::pidfd_send_signal(&holder, rustix::process::Signal::KILL).ok();
        wait_for_end(&holder);
        holder::sweep_lost_run(&self.marker, self.child_pid, self.hello.fields.child_start_time);
        fs::remove_file(&self.socket).ok();
    }
}

pub(crate) fn code(code: i32) -> ExitStatus {
    ExitStatus::Code(code)
}

/// Returns a field of a process's status file.
pub(crate) fn status_field(pid: i32, field: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {field} in {text}")).trim().to_owned()
}

/// Returns the processor time that a process has used, in clock ticks.
pub(crate) fn ticks(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

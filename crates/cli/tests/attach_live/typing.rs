//! Keys for children that read late, slowly or never: they wait where they were typed, none is lost, other
//! processes are not affected, and the person can leave.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use proto::Size;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use testkit::process_scan::parent;
use testkit::{DEADLINE, MarkedDaemon, child};

use super::window::Window;
use super::{sh, stage};

/// More than is kept for a child that does not read.
const PASTE: usize = 4 << 20;
const QD: &str = env!("CARGO_BIN_EXE_qd");
const ATTACH: [&str; 3] = [QD, "attach", "x"];
/// After this long without a key accepted, the rest waits.
const STILL: Duration = Duration::from_millis(500);

/// Returns what a terminal types when this many bytes are pasted; no two positions look alike.
fn paste(length: usize) -> Vec<u8> {
    let mut bytes = b"\x1b[200~".to_vec();
    let mut line = 0;
    while bytes.len() < length {
        line += 1;
        bytes.extend_from_slice(format!("line {line} of a text that somebody pastes\r").as_bytes());
    }
    bytes.extend_from_slice(b"\x1b[201~");
    bytes
}

/// A keyboard at a terminal with `qd` in it. Every wait has an end: keys that are never accepted fail a test.
struct Keyboard {
    master: OwnedFd,
    qd: Child,
}

impl Keyboard {
    /// Returns a keyboard at a terminal with this program, which is attached to `x` and has drawn `ready`.
    fn attached(stage: &MarkedDaemon, program: &[&str]) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let end = || File::options().read(true).write(true).open(&path).unwrap();
        let mut command = Command::new("setsid");
        command.arg("--ctty").args(program).envs(stage.variables());
        let qd = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        fcntl_setfl(&master, OFlags::RDWR | OFlags::NONBLOCK).unwrap();
        let keyboard = Self { master, qd };
        let mut drawn = Vec::new();
        while !drawn.windows(5).any(|bytes| bytes == b"ready") {
            assert!(keyboard.is_ready(PollFlags::IN, DEADLINE), "{}", drawn.escape_ascii());
            let mut buffer = [0; 4096];
            let count = rustix::io::read(&keyboard.master, &mut buffer).unwrap();
            drawn.extend_from_slice(&buffer[..count]);
        }
        keyboard
    }

    fn is_ready(&self, flags: PollFlags, within: Duration) -> bool {
        let mut fds = [PollFd::new(&self.master, flags)];
        poll(&mut fds, Some(&within.try_into().unwrap())).unwrap() > 0
    }

    /// Types until the terminal has accepted nothing for `timeout`; returns how much it accepted.
    fn type_keys(&self, keys: &[u8], timeout: Duration) -> usize {
        let mut taken = 0;
        while taken < keys.len() && self.is_ready(PollFlags::OUT, timeout) {
            match rustix::io::write(&self.master, &keys[taken..]) {
                Ok(count) => taken += count,
                Err(error) => assert_eq!(error, rustix::io::Errno::AGAIN),
            }
        }
        taken
    }

    fn detach(mut self) {
        assert_eq!(self.type_keys(b"\x1cd", DEADLINE), 2);
        assert_eq!(testkit::wait_for_end(&mut self.qd, DEADLINE).code(), Some(0));
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        drop(self.qd.kill());
        drop(self.qd.wait());
    }
}

/// Returns a child that reads nothing until a line comes through `gate`, then a few pages at a time, into
/// `got`.
fn late_reader(length: usize) -> Vec<String> {
    let pages = length.div_ceil(65_536);
    sh(&format!(
        "mkfifo gate; stty raw -echo; echo ready; read -r line <gate; i=0; while [ $i -lt {pages} ]; do i=$((i+1)); \
         left=$(({length} - (i-1)*65536)); [ $left -gt 65536 ] && left=65536; head -c $left; sleep 0.01; done >got; \
         echo all of it; exec sleep 1000000"
    ))
}

fn open_gate(root: &Path) {
    std::fs::write(root.join("gate"), "go\n").unwrap();
}

/// Pastes into a child that begins to read when every buffer before it is full.
fn pastes_whole(program: &[&str]) {
    let (stage, keys) = (stage(), paste(PASTE));
    stage.run("x", late_reader(keys.len()));
    stage.wait_pattern("x", "ready");
    let keyboard = Keyboard::attached(&stage, program);
    let waiting = keyboard.type_keys(&keys, STILL);
    assert!(waiting > 0 && waiting < PASTE, "{waiting} bytes are kept");
    open_gate(stage.root());
    let rest = keyboard.type_keys(&keys[waiting..], DEADLINE);
    assert_eq!(waiting + rest, keys.len(), "it is never read again");
    stage.wait_pattern("x", "all of it");
    let got = std::fs::read(stage.root().join("got")).unwrap();
    assert_eq!(got.len(), keys.len());
    let wrong = got.iter().zip(&keys).position(|(got, typed)| got != typed);
    assert_eq!(wrong, None, "another byte came");
    keyboard.detach();
}

#[test]
fn a_paste_into_a_child_that_reads_late_and_slowly_arrives_whole() {
    pastes_whole(&ATTACH);
}

#[test]
fn a_paste_through_the_connection_arrives_whole_too() {
    pastes_whole(&["sh", "-c", "\"$0\" attach x | cat", QD]);
}

#[test]
fn a_paste_that_nobody_reads_delays_nobody_and_its_person_can_leave() {
    let stage = never_reading();
    let keyboard = Keyboard::attached(&stage, &ATTACH);
    let keys = paste(1 << 20);
    assert_eq!(keyboard.type_keys(&keys, DEADLINE), keys.len());
    // As many as there are workers and more: one of them is on the same worker.
    for number in 0..5 {
        let name = format!("beside-{number}");
        stage.run(&name, child::repeat_lines());
        stage.wait_pattern(&name, "ready");
        let mut beside = Window::open(&stage, Size::DEFAULT, &["attach", &name]);
        beside.until_shows("ready");
        beside.type_keys("echo\r");
        beside.until_shows("got:echo");
    }
    let mut other = Window::attached(&stage, "ready");
    keyboard.detach();
    assert_eq!(other.detach().code(), Some(0));
}

/// Returns a terminal with `qd attach x` in it, full of keys that are no longer read.
fn held_back(stage: &MarkedDaemon) -> Keyboard {
    let keyboard = Keyboard::attached(stage, &ATTACH);
    let taken = keyboard.type_keys(&paste(PASTE), STILL);
    assert!(taken > 1 << 20 && taken < PASTE, "{taken} bytes are kept");
    keyboard
}

fn never_reading() -> MarkedDaemon {
    let stage = stage();
    stage.run("x", child::never_read());
    stage.wait_pattern("x", "ready");
    stage
}

#[test]
fn a_terminal_that_is_held_back_ends_with_its_window() {
    let stage = never_reading();
    let mut keyboard = held_back(&stage);
    keyboard.master = OwnedFd::from(File::open("/dev/null").unwrap());
    testkit::wait_for_end(&mut keyboard.qd, DEADLINE);
    stage.until_view("x", |view| view.terminal.viewers == 0);
}

#[test]
fn a_client_whose_terminal_is_held_back_ends_when_it_is_told_to() {
    let stage = never_reading();
    let mut keyboard = held_back(&stage);
    signal(i32::try_from(keyboard.qd.id()).unwrap(), Signal::TERM);
    testkit::wait_for_end(&mut keyboard.qd, DEADLINE);
    stage.until_view("x", |view| view.terminal.viewers == 0);
}

#[test]
fn an_attachment_that_is_held_back_ends_with_the_child_and_costs_no_time_before() {
    let stage = never_reading();
    let mut keyboard = held_back(&stage);
    // Other viewers work as before.
    let mut other = Window::attached(&stage, "ready");
    let before = cpu_ticks(stage.pid());
    stage.json(&["wait", "x", "--silence", "1", "--timeout", "30"]);
    let spent = cpu_ticks(stage.pid()) - before;
    assert!(spent < 30, "{spent} ticks in a second of nothing");
    stage.json(&["kill", "x"]);
    testkit::wait_for_end(&mut keyboard.qd, DEADLINE);
    assert!(other.wait_exit().code().is_some());
}

/// Returns the processor time a process has used, in hundredths of a second.
fn cpu_ticks(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn a_write_to_a_holder_that_does_not_answer_ends_and_says_what_is_not_known() {
    let stage = stage();
    let spawned = stage.run("x", child::repeat_lines());
    stage.wait_pattern("x", "ready");
    let holder = parent(spawned.pid.unwrap());
    signal(holder, Signal::STOP);
    // The second gets its turn: the first did not keep it.
    for line in ["one", "two"] {
        let mut command = stage.command(&["send", "x", line, "--timeout", "1"]);
        let mut qd = command.stderr(Stdio::piped()).spawn().unwrap();
        assert_eq!(testkit::wait_for_end(&mut qd, DEADLINE).code(), Some(5));
        let mut told = String::new();
        qd.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        assert!(told.contains("the holder of x does not answer"), "{told}");
    }
    signal(holder, Signal::CONT);
    stage.type_text("x", "three\n");
    // After what the others had on the way.
    stage.wait_pattern("x", "got:.*three");
}

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

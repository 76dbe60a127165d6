//! Viewers that do not keep up: they are skipped ahead, without an effect on others.

use std::time::Instant;

use client::{Connection, Incoming};
use proto::request::Attach;
use proto::{Notice, Size};
use term::{Limits, Screen, Wraps};
use testkit::{MarkedDaemon, scaled};

use super::window::Window;
use super::{sh, stage};

/// Prints 100 MB and reports it.
const FLOOD: &str = "stty raw -echo; echo ready; read l; yes 'all work and no play makes a dull line of text' | \
                     head -c 100000000; printf '\\r\\nthe end\\r\\n'; exec sleep 1000000";

fn attach(stage: &MarkedDaemon, size: Size) -> Connection {
    let mut viewer = stage.client();
    let request = Attach { target: "x".into(), size: size.into(), read_only: true, ..Attach::default() };
    viewer.attach(request).unwrap();
    viewer
}

#[test]
fn a8_a_viewer_that_never_reads_does_not_stall_the_child_and_later_shows_the_same_screen() {
    let stage = stage();
    stage.run("x", sh(FLOOD.replace("read l", "head -n 1 >/dev/null").as_str()));
    stage.wait_pattern("x", "ready");
    let mut window = Window::attached(&stage, "ready");
    let composed_size = Size { cols: 100, rows: 30 };
    let mut composed = Window::open(&stage, composed_size, &["attach", "x", "--read-only"]);
    composed.until_shows("ready");
    stage.type_text("x", "\n");
    // Neither window is read until the child is finished.
    stage.json(&["wait", "x", "--silence", "1.5", "--timeout", "120"]);
    assert!(stage.screen("x").contains("the end"), "it stalled");
    assert!(stage.process("x").live.log.end > 100_000_000);
    window.until_shows("the end");
    composed.until_shows("the end");
    assert_eq!(window.text(), stage.screen("x").trim_end());
    assert_eq!(composed.text(), stage.screen("x").trim_end());
    let skipped = window.drawn.len();
    assert!(skipped < 50_000_000, "{skipped} bytes were drawn: nothing was skipped");
}

#[test]
fn a8_a_viewer_that_reads_only_after_a_burst_is_shown_the_end_of_it() {
    let stage = stage();
    // Too short to be skimmed, more than a terminal accepts, and nothing comes after it.
    stage.run(
        "x",
        sh("stty -echo; echo ready; while read -r l; do seq -s ' ' 1 12000; echo \"got:$l\"; done"),
    );
    stage.wait_pattern("x", "ready");
    let mut window = Window::attached(&stage, "ready");
    for round in 0..scaled(5) {
        stage.type_text("x", &format!("round {round}.\n"));
        stage.wait_pattern("x", &format!("got:round {round}\\.$"));
        stage.json(&["wait", "x", "--silence", "0.2", "--timeout", "30"]);
        window.until_shows(&format!("got:round {round}."));
        assert_eq!(window.text(), stage.screen("x").trim_end());
    }
}

#[test]
fn a_flood_of_repaints_costs_a_viewer_less_than_the_flood_itself() {
    // Cuts fall into the middle of sequences all the time here; a repaint that leaves one unfinished still
    // counts.
    let frames = "stty raw -echo; echo ready; head -n 1 >/dev/null; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); \
                  printf '\\033[H\\033[38;5;%dm%s\\033[0m\\033[12;40H\\033[1;44m frame %d \\033[0m' $((i%256)) \
                  'a line of text that is painted over and over again' $i; done; printf '\\r\\nthe end'; exec sleep 1000000";
    let stage = stage();
    stage.run("x", sh(frames));
    stage.wait_pattern("x", "ready");
    let mut window = Window::attached(&stage, "ready");
    stage.type_text("x", "\n");
    window.until_shows("the end");
    assert_eq!(window.text(), stage.screen("x").trim_end());
    let (drawn, produced) = (window.drawn.len() as u64, stage.process("x").live.log.end);
    assert!(drawn < produced + 200_000, "{drawn} bytes were drawn for {produced}");
}

/// What a viewer was sent, on a screen of its own.
struct Seen {
    connection: Connection,
    screen: Screen,
    /// The offset at which it joined, and how far it has come: every byte was received, or reported as
    /// missing.
    came: Option<(u64, u64)>,
    received: u64,
    missed: u64,
}

impl Seen {
    fn new(connection: Connection) -> Self {
        let screen = Screen::new(term::GridSize::clamped(80, 24), Limits::default());
        Self { connection, screen, came: None, received: 0, missed: 0 }
    }

    fn until_shows(&mut self, text: &str) {
        let until = Instant::now() + testkit::DEADLINE;
        while !self.screen.text(Wraps::Keep).contains(text) {
            self.take(&format!("`{text}`"), until);
        }
    }

    /// Reads what comes next.
    fn take(&mut self, awaited: &str, until: Instant) {
        match self.connection.receive_before(until).unwrap() {
            Some(Incoming::Data(data)) => {
                let (joined, at) = self.came.unwrap_or((data.offset, data.offset));
                assert_eq!(at, data.offset, "a hole that was not reported");
                if data.kind == proto::frame::DataKind::Output {
                    self.received += data.bytes.len() as u64;
                }
                self.came = Some((joined, joined + self.received + self.missed));
                self.screen.feed(&data.bytes);
            }
            Some(Incoming::Notice(Notice::Gap { from, to, .. })) => {
                let (joined, at) = self.came.expect("a gap before anything was shown");
                assert_eq!(at, from, "a gap that begins elsewhere");
                self.missed += to - from;
                self.came = Some((joined, to));
            }
            Some(_) => {}
            None => panic!("never {awaited} but:\n{}", self.screen.text(Wraps::Keep)),
        }
    }

    /// Received bytes and reported gaps are everything that was produced since it joined.
    fn assert_complete(&mut self, produced: u64) {
        let until = Instant::now() + testkit::DEADLINE;
        while self.came.is_none_or(|(_, at)| at < produced) {
            self.take(&format!("byte {produced}"), until);
        }
        let (joined, _) = self.came.expect("it was shown something");
        let (received, missed) = (self.received, self.missed);
        assert_eq!(joined + received + missed, produced, "{received} received, {missed} missed");
    }
}

#[test]
fn e4_what_a_viewer_receives_and_what_it_is_told_to_miss_is_all_there_was() {
    let stage = stage();
    let bytes = scaled(20_000_000);
    let flood = FLOOD.replace("read l", "head -n 1 >/dev/null").replace("100000000", &bytes.to_string());
    stage.run("x", sh(&flood));
    stage.wait_pattern("x", "ready");
    let mut viewers: Vec<_> = (0..3).map(|_| Seen::new(attach(&stage, Size::DEFAULT))).collect();
    viewers.iter_mut().for_each(|viewer| viewer.until_shows("ready"));
    stage.type_text("x", "\n");
    // One reads along, one begins when it is over, and one has also asked for a repaint in between.
    let repaint = proto::request::View::Repaint(proto::request::Empty {});
    viewers[2].connection.send(proto::Request::View(repaint)).unwrap();
    for viewer in &mut viewers {
        viewer.until_shows("the end");
    }
    stage.json(&["wait", "x", "--silence", "0.3", "--timeout", "60"]);
    let produced = stage.process("x").live.log.end;
    assert!(produced > bytes as u64);
    viewers.iter_mut().for_each(|viewer| viewer.assert_complete(produced));
    assert!(viewers[1].missed > 0, "no viewer fell behind: the test proves nothing");
}

#[test]
fn a9_one_stalled_viewer_costs_three_others_nothing() {
    let stage = stage();
    let script = "stty -echo; echo ready; while read -r l; do seq -s ' ' 1 1000; echo \"got:$l\"; done";
    stage.run("x", sh(script));
    stage.wait_pattern("x", "ready");
    let stalled = attach(&stage, Size::DEFAULT);
    let mut fast: Vec<_> = (0..3).map(|_| Seen::new(attach(&stage, Size::DEFAULT))).collect();
    // Enough to fill everything that is kept for the stalled one long before the end.
    for round in 0..scaled(150) {
        stage.type_text("x", &format!("round {round}.\n"));
        for seen in &mut fast {
            seen.until_shows(&format!("got:round {round}."));
        }
    }
    assert!(fast.iter().all(|seen| seen.missed == 0), "a fast viewer lost bytes");
    let last = format!("got:round {}.", scaled(150) - 1);
    let mut late = Seen::new(stalled);
    late.until_shows(&last);
    stage.json(&["wait", "x", "--silence", "0.3", "--timeout", "30"]);
    let produced = stage.process("x").live.log.end;
    fast.iter_mut().chain([&mut late]).for_each(|seen| seen.assert_complete(produced));
    assert_eq!(late.screen.text(Wraps::Keep).trim_end(), stage.screen("x").trim_end());
}

#[test]
fn a8_a_viewer_that_never_reads_and_never_stops_asking_costs_bounded_memory() {
    let stage = stage();
    stage.run(
        "x",
        sh("stty raw -echo; echo ready; yes 'something to paint' | head -n 30; exec sleep 1000000"),
    );
    stage.wait_pattern("x", "ready");
    let mut viewer = attach(&stage, Size::DEFAULT);
    let before = resident(&stage);
    for round in 0..scaled(20_000) {
        let view = match round % 3 {
            0 => proto::request::View::Repaint(proto::request::Empty {}),
            1 => proto::request::View::Size(Size { cols: 80, rows: 20 }.into()),
            _ => proto::request::View::Size(Size::DEFAULT.into()),
        };
        viewer.send(proto::Request::View(view)).unwrap();
        if round % 10 == 0 {
            viewer.send(proto::Request::List(proto::request::Empty {})).unwrap();
        }
    }
    // Another viewer is served meanwhile.
    Seen::new(attach(&stage, Size::DEFAULT)).until_shows("something");
    let after = resident(&stage);
    assert!(after < before + (32 << 20), "{before} bytes became {after}");
    let mut late = Seen::new(viewer);
    stage.type_text("x", "");
    late.until_shows("something to paint");
}

/// Returns the daemon's resident memory in bytes.
fn resident(stage: &MarkedDaemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", stage.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() * 1024
}

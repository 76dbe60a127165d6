//! The options of an attach request: an offset to continue from, every byte, the process's own size, a slower
//! pace.

use std::time::Instant;

use client::{Connection, Incoming};
use proto::frame::DataKind;
use proto::request::{Attach, Resize, SizeRequest, View};
use proto::{Exit, Notice, Outcome, Request, Size};
use testkit::{DEADLINE, MarkedDaemon, ScriptedChild, child};

use super::stage;
use super::window::Window;

/// What one viewer got.
struct Viewer {
    connection: Connection,
    /// Output bytes, and the offset of the first.
    bytes: Vec<u8>,
    start: Option<u64>,
    repaints: Vec<(u64, Vec<u8>)>,
    gaps: Vec<(u64, u64)>,
    sizes: Vec<(Size, bool)>,
    failures: Vec<String>,
    exit: Option<(Exit, u64)>,
    end: Option<String>,
}

impl Viewer {
    fn attach(stage: &MarkedDaemon, attach: Attach) -> Self {
        let mut connection = stage.client();
        let size = Size::DEFAULT.into();
        connection.attach(Attach { target: "x".into(), size, ..attach }).unwrap();
        let (bytes, repaints, gaps, sizes, failures) = Default::default();
        Self { connection, bytes, start: None, repaints, gaps, sizes, failures, exit: None, end: None }
    }

    /// Reads one thing.
    fn step(&mut self, awaited: &str) {
        let incoming = self.connection.receive_before(Instant::now() + DEADLINE).unwrap();
        match incoming.unwrap_or_else(|| panic!("never {awaited}: {} bytes", self.bytes.len())) {
            Incoming::Data(data) if data.kind == DataKind::Output => {
                let start = *self.start.get_or_insert(data.offset);
                assert_eq!(start + self.bytes.len() as u64, data.offset, "a hole in the output");
                assert!(self.exit.is_none(), "bytes after the exit");
                self.bytes.extend_from_slice(&data.bytes);
            }
            Incoming::Data(data) => self.repaints.push((data.offset, data.bytes)),
            Incoming::Notice(Notice::Gap { from, to, .. }) => self.gaps.push((from, to)),
            Incoming::Notice(Notice::Resized { size, fits, .. }) => self.sizes.push((size, fits)),
            Incoming::Notice(Notice::Exit { exit, offset, .. }) => self.exit = Some((exit, offset)),
            Incoming::Notice(Notice::End { reason, .. }) => self.end = Some(reason),
            Incoming::Answer(answer) => match answer.outcome {
                Outcome::Error(failure) => self.failures.push(failure.to_string()),
                Outcome::Ok(_) => {}
            },
            _ => {}
        }
    }

    fn until(&mut self, what: &str, wanted: impl Fn(&Self) -> bool) {
        while !wanted(self) {
            self.step(what);
        }
    }
}

/// Returns a child that prints what the test orders.
fn told(stage: &MarkedDaemon) -> ScriptedChild {
    let scripted_child = ScriptedChild::new(stage.root(), "orders");
    stage.run("x", scripted_child.argv());
    scripted_child
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

/// Bytes in which every position differs from those near it.
fn numbered(length: usize) -> Vec<u8> {
    (0..).flat_map(|n: u32| format!("{n:08}\r\n").into_bytes()).take(length).collect()
}

#[test]
fn n1_a_viewer_goes_on_at_its_offset_byte_for_byte_without_a_repaint() {
    let stage = stage();
    let mut scripted_child = told(&stage);
    let bytes = numbered(600_000);
    scripted_child.tell(&bytes[..500_000]);
    let mut first = Viewer::attach(&stage, Attach { from: Some(0), exact: true, ..Attach::default() });
    first.until("the first half", |viewer| viewer.bytes.len() == 500_000);
    drop(first);
    scripted_child.tell(&bytes[500_000..]);
    stage.wait_pattern("x", "00059999");
    // More than a viewer may otherwise fall behind.
    let mut second = Viewer::attach(&stage, Attach { from: Some(123_457), ..Attach::default() });
    second.until("the rest", |viewer| viewer.bytes.len() == 600_000 - 123_457);
    assert_eq!(second.start, Some(123_457));
    assert!(second.bytes == bytes[123_457..], "other bytes");
    assert_eq!((second.repaints.len(), second.gaps.len()), (0, 0));
    scripted_child.tell(b"live");
    // So soon after a flood it may be repainted instead.
    let is_drawn = |viewer: &Viewer| viewer.repaints.iter().any(|(_, drawn)| contains(drawn, b"live"));
    second.until("what follows", |viewer| viewer.bytes.ends_with(b"live") || is_drawn(viewer));
}

#[test]
fn n1_bytes_that_the_log_has_lost_are_a_gap_and_one_repaint_or_for_an_exact_viewer_a_gap_alone() {
    let stage = stage();
    let mut scripted_child = told(&stage);
    let bytes = numbered(6_000_000);
    scripted_child.tell(&bytes);
    stage.wait_pattern("x", "00599999");
    assert!(stage.process("x").live.log.start > 10, "nothing was lost");
    let mut drawn = Viewer::attach(&stage, Attach { from: Some(10), ..Attach::default() });
    drawn.until("a repaint", |viewer| !viewer.repaints.is_empty());
    assert_eq!(drawn.gaps, [(10, 6_000_000)]);
    assert_eq!(drawn.repaints[0].0, 6_000_000);
    let mut exact = Viewer::attach(&stage, Attach { from: Some(10), exact: true, ..Attach::default() });
    exact.until("the end", |viewer| {
        viewer.start.is_some_and(|at| at + viewer.bytes.len() as u64 == 6_000_000)
    });
    let (from, to) = exact.gaps[0];
    assert_eq!((exact.gaps.len(), from, Some(to)), (1, 10, exact.start));
    assert!(exact.bytes == bytes[usize::try_from(to).unwrap()..], "other bytes");
    assert!(exact.repaints.is_empty());
}

#[test]
fn n1_an_exact_viewer_of_any_size_gets_every_byte_of_a_flood_and_then_the_exit() {
    let stage = stage();
    let mut scripted_child = told(&stage);
    let exact = Attach { exact: true, from: Some(0), ..Attach::default() };
    let mut viewer = Viewer::attach(&stage, exact);
    let mut other = stage.client();
    let size = SizeRequest { cols: Some(33), rows: Some(7) };
    other.resize(Resize { target: "x".into(), size }).unwrap();
    let bytes = numbered(3_000_000);
    scripted_child.tell(&bytes);
    scripted_child.end();
    viewer.until("the end", |viewer| viewer.end.is_some());
    assert!(viewer.bytes == bytes, "{} of {} bytes", viewer.bytes.len(), bytes.len());
    assert_eq!((viewer.gaps.len(), viewer.repaints.len()), (0, 0));
    assert_eq!(viewer.exit.map(|(exit, offset)| (exit.code, offset)), Some((Some(7), 3_000_000)));
    assert_eq!(viewer.sizes.last(), Some(&(Size { cols: 33, rows: 7 }, false)));
    // A viewer that attaches to the ended run with an offset gets the rest first, too.
    let mut late =
        Viewer::attach(&stage, Attach { from: Some(2_999_000), mirror: true, ..Attach::default() });
    late.until("the end", |viewer| viewer.end.is_some());
    assert!(late.bytes == bytes[2_999_000..], "other bytes");
    assert_eq!(late.exit, viewer.exit);
}

#[test]
fn n1_a_mirror_follows_every_size_and_its_keys_never_decide_one() {
    let stage = stage();
    stage.run("x", child::repeat_lines());
    stage.wait_pattern("x", "ready");
    let mut mirror = Viewer::attach(&stage, Attach { mirror: true, ..Attach::default() });
    let mut window = Window::open(&stage, Size { cols: 100, rows: 30 }, &["attach", "x"]);
    window.until_shows("ready");
    window.type_keys("one\r");
    let (large, small) = (Size { cols: 100, rows: 30 }, Size { cols: 70, rows: 20 });
    mirror.until("the window's size", |mirror| mirror.sizes.last() == Some(&(large, true)));
    mirror.connection.send_data(1, 0, b"typed\r").unwrap();
    window.until_shows("got:typed");
    for view in [View::Size(small.into()), View::OwnSize(proto::request::Empty {})] {
        mirror.connection.send(Request::View(view)).unwrap();
    }
    mirror.until("two refusals", |mirror| mirror.failures.len() == 2);
    assert!(mirror.failures[0].contains("a mirror always has the process's size"), "{:?}", mirror.failures);
    assert_eq!(stage.process("x").terminal.size, large);
    window.resize(small);
    mirror.until("the next size", |mirror| mirror.sizes.last() == Some(&(small, true)));
    window.type_keys("two\r");
    mirror.until("live bytes", |mirror| String::from_utf8_lossy(&mirror.bytes).contains("got:two"));
}

#[test]
fn n1_a_paced_viewer_gets_one_drawing_in_its_time_and_then_only_the_newest() {
    let stage = stage();
    let mut scripted_child = told(&stage);
    let mut paced = Viewer::attach(&stage, Attach { pace_ms: Some(60_000), ..Attach::default() });
    paced.until("the first drawing", |viewer| viewer.repaints.len() == 1);
    for number in 0..20 {
        scripted_child.tell(format!("line {number}.\r\n").as_bytes());
        stage.wait_pattern("x", &format!("line {number}\\."));
    }
    // The answer to this call comes after everything that was sent before it.
    paced.connection.send(Request::View(View::PaceMs(0))).unwrap();
    paced.until("the next drawing", |viewer| viewer.repaints.len() == 2);
    assert!(String::from_utf8_lossy(&paced.repaints[1].1).contains("line 19."));
    assert!(paced.bytes.is_empty());
    scripted_child.tell(b"live again");
    paced.until("bytes", |viewer| viewer.bytes.ends_with(b"live again"));
    let contradiction = Attach { target: "x".into(), exact: true, pace_ms: Some(100), ..Attach::default() };
    let failure = stage.refusal(Request::Attach(contradiction));
    assert!(failure.to_string().contains("pace_ms"), "{failure}");
}

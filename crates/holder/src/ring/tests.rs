//! The guarantees of the ring, with a pipe in place of the PTY.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::map::{Access, Map};
use super::{ArmOutcome, Flow, ReadOutcome, RingReader, RingWriter};

const CAPACITY: u32 = 64 << 10;

fn ring() -> (RingWriter, RingReader) {
    let writer = RingWriter::create(CAPACITY).unwrap();
    let file = writer.file().try_clone_to_owned().unwrap();
    (writer, RingReader::open(file, CAPACITY).unwrap())
}

/// Writes bytes whose values follow from their offsets.
fn write(writer: &mut RingWriter, mut count: usize) {
    let (reading, writing) = rustix::pipe::pipe().unwrap();
    while count > 0 {
        let piece: Vec<u8> = (0..count.min(4096)).map(|at| value(writer.end() + at as u64)).collect();
        rustix::io::write(&writing, &piece).unwrap();
        count -= drain(writer, &reading, piece.len());
    }
}

fn drain(writer: &mut RingWriter, source: &OwnedFd, count: usize) -> usize {
    let mut read = 0;
    while read < count {
        read += writer.fill(source.as_fd()).unwrap();
    }
    read
}

fn value(offset: u64) -> u8 {
    (offset % 251) as u8
}

fn check(reader: &RingReader, from: u64, count: usize) {
    let mut buf = vec![0; count];
    assert_eq!(reader.read(from, &mut buf), ReadOutcome::Bytes(count));
    for (at, byte) in buf.iter().enumerate() {
        assert_eq!(*byte, value(from + at as u64), "at {at}");
    }
}

#[test]
fn bytes_are_read_by_offset_across_the_seam() {
    let (mut writer, reader) = ring();
    let mut offset = 0;
    for _ in 0..40 {
        write(&mut writer, 5000);
        check(&reader, offset, 5000);
        offset += 5000;
        reader.keep_from(offset);
    }
    assert_eq!((reader.end(), reader.lost()), (200_000, 0));
    assert!(reader.start() >= reader.end() - u64::from(CAPACITY));
}

#[test]
fn a_read_before_the_start_says_where_to_go_on() {
    let (mut writer, reader) = ring();
    reader.keep_from(u64::MAX);
    write(&mut writer, 200_000);
    let ReadOutcome::Missed { resume_at } = reader.read(0, &mut [0; 10]) else { panic!("it is gone") };
    assert_eq!(resume_at, reader.start());
    check(&reader, resume_at, (reader.end() - resume_at) as usize);
    assert_eq!(reader.lost(), 0, "what was kept is not lost");
}

#[test]
fn a_read_at_or_beyond_the_end_is_empty() {
    let (mut writer, reader) = ring();
    write(&mut writer, 10);
    assert_eq!(reader.read(10, &mut [0; 10]), ReadOutcome::Bytes(0));
    assert_eq!(reader.read(u64::MAX, &mut [0; 10]), ReadOutcome::Bytes(0));
    assert_eq!(reader.read(5, &mut []), ReadOutcome::Bytes(0));
}

#[test]
fn arming_sees_what_came_before_it() {
    let (mut writer, reader) = ring();
    assert_eq!(reader.arm(0), ArmOutcome::Armed);
    assert!(writer.take_armed());
    assert!(!writer.take_armed(), "one wake-up per wait");
    write(&mut writer, 3);
    assert_eq!(reader.arm(0), ArmOutcome::MovedTo(3));
    assert!(!writer.take_armed());
    assert_eq!(reader.arm(3), ArmOutcome::Armed);
}

#[test]
fn a_full_ring_stalls_then_gives_up_the_oldest_and_counts_them() {
    let limit = Duration::from_secs(60);
    let (mut writer, reader) = ring();
    let mut flow = Flow::new(limit);
    let now = Instant::now();
    write(&mut writer, CAPACITY as usize);
    assert!(!flow.may_read(&writer, now));
    assert_eq!(flow.deadline(), Some(now + limit));
    assert!(!flow.may_read(&writer, now + limit / 2));
    assert!(flow.may_read(&writer, now + limit));
    assert_eq!(
        (reader.start(), reader.lost()),
        (0, 0),
        "nothing is given up before there is something to read"
    );
    flow.make_room(&mut writer);
    write(&mut writer, 100);
    assert_eq!(reader.lost(), reader.start());
    check(&reader, reader.start(), 1000);
    // A daemon that moves gets back-pressure again.
    reader.keep_from(reader.end());
    assert!(flow.may_read(&writer, now + limit));
    write(&mut writer, CAPACITY as usize);
    assert!(!flow.may_read(&writer, now + limit));
}

#[test]
fn a_daemon_is_asked_to_resume_when_a_quarter_is_free() {
    let (mut writer, reader) = ring();
    let mut flow = Flow::new(Duration::from_secs(60));
    let now = Instant::now();
    write(&mut writer, CAPACITY as usize);
    assert!(!flow.may_read(&writer, now));
    assert!(!reader.keep_from(u64::from(CAPACITY) / 4 - 1), "too little");
    assert!(!flow.may_read(&writer, now));
    assert!(reader.keep_from(u64::from(CAPACITY) / 4));
    assert!(reader.is_stalled());
    assert!(flow.may_read(&writer, now));
    assert!(!reader.is_stalled());
    assert!(!flow.is_stalled());
}

#[test]
fn a_daemon_that_lives_but_is_slow_is_never_overrun() {
    let limit = Duration::from_secs(60);
    let (mut writer, reader) = ring();
    let mut flow = Flow::new(limit);
    let now = Instant::now();
    write(&mut writer, CAPACITY as usize);
    assert!(!flow.may_read(&writer, now));
    reader.keep_from(1000);
    assert!(flow.may_read(&writer, now + limit), "what room there is may be used");
    flow.make_room(&mut writer);
    write(&mut writer, 1000);
    assert!(!flow.may_read(&writer, now + limit));
    assert_eq!(reader.lost(), 0);
}

#[test]
fn a_mad_daemon_cannot_make_the_holder_touch_other_memory() {
    let (mut writer, reader) = ring();
    reader.keep_from(u64::MAX);
    write(&mut writer, 300_000);
    assert_eq!(reader.end(), 300_000);
    assert!(reader.end() - reader.start() <= u64::from(CAPACITY));
}

#[test]
fn what_is_not_a_ring_is_refused() {
    let (writer, _reader) = ring();
    let file = || writer.file().try_clone_to_owned().unwrap();
    for capacity in [0, 3, CAPACITY - 1, CAPACITY * 2, u32::MAX] {
        assert!(RingReader::open(file(), capacity).is_err(), "{capacity}");
    }
    let null = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
    assert!(RingReader::open(null, CAPACITY).is_err());
}

/// Overwrites the shared end and start as another process of the user can.
fn smash(writer: &RingWriter, end: u64, start: u64) {
    let map = Map::new(writer.file(), CAPACITY as usize, Access::Reader).unwrap();
    map.control().end.store(end, Ordering::Release);
    map.control().start.store(start, Ordering::Release);
}

#[test]
fn m5h_a_ring_that_another_process_has_smashed_has_no_bytes_and_can_be_waited_for() {
    for (end, start) in
        [(5, 0), (u64::MAX, 0), (9_000, 8_999_999), (1 << 40, 0), (u64::MAX, u64::MAX), (0, 7)]
    {
        let (mut writer, reader) = ring();
        write(&mut writer, 5_000);
        check(&reader, 0, 5_000);
        smash(&writer, end, start);
        assert_eq!(
            (reader.end(), reader.start(), reader.is_damaged()),
            (5_000, 5_000, true),
            "{end} {start}"
        );
        assert_eq!(reader.read(5_000, &mut [0; 64]), ReadOutcome::Bytes(0));
        assert_eq!(reader.read(0, &mut [0; 64]), ReadOutcome::Missed { resume_at: 5_000 });
        assert_eq!(reader.arm(5_000), ArmOutcome::Armed);
        // The holder goes on with its own offsets; nothing is believed any more.
        write(&mut writer, 100);
        assert_eq!((reader.end(), writer.end(), reader.arm(5_000)), (5_000, 5_100, ArmOutcome::Armed));
    }
}

#[test]
fn m5h_offsets_that_a_holder_writes_while_they_are_read_are_never_damage() {
    let (mut writer, reader) = ring();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                let (start, end) = (reader.start(), reader.end());
                assert!(start <= end && !reader.is_damaged());
                reader.keep_from(end);
            }
        });
        write(&mut writer, 20 * CAPACITY as usize);
        is_over.store(true, Ordering::Release);
    });
    assert_eq!((reader.end(), reader.is_damaged()), (20 * u64::from(CAPACITY), false));
}

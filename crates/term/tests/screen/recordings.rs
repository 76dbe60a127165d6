//! Streams of real programs, recorded in an 80×24 terminal, with the screens they must leave. The expected
//! screens were checked against another terminal. A recording is a pair `name.bytes` and `name.txt`; adding
//! the pair adds the test.

use std::fs;
use std::path::PathBuf;

use term::{Depth, GridSize, Limits, PaintView, Screen, Wraps};

use crate::streams::Picture;

/// The least number of recordings; a directory that cannot be read must not pass.
const RECORDINGS_MIN: usize = 10;

fn recordings() -> Vec<(String, Vec<u8>, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut found: Vec<_> = fs::read_dir(folder)
        .expect("the recordings are there")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "bytes"))
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let expected = fs::read_to_string(path.with_extension("txt")).expect("an expected screen");
            (name, fs::read(&path).expect("a readable recording"), expected)
        })
        .collect();
    found.sort();
    assert!(found.len() >= RECORDINGS_MIN);
    found
}

fn fresh() -> Screen {
    Screen::new(GridSize::DEFAULT, Limits::default())
}

#[test]
fn programs_leave_the_screens_they_were_recorded_with() {
    for (name, bytes, expected) in recordings() {
        let mut screen = fresh();
        screen.feed(&bytes);
        assert_eq!(screen.text(Wraps::Keep) + "\n", expected, "{name}");
    }
}

#[test]
fn s1_a_program_can_be_adopted_at_every_byte() {
    for (name, bytes, _) in recordings() {
        let mut whole = fresh();
        whole.feed(&bytes);
        let mut head = fresh();
        for offset in 0..bytes.len() {
            head.feed(&bytes[offset..=offset]);
            if offset % 37 != 0 {
                continue;
            }
            let mut adopted = Screen::restore(&head.checkpoint(Depth::Screen), Limits::default()).unwrap();
            adopted.feed(&bytes[offset + 1..]);
            assert_eq!(Picture::of(&adopted), Picture::of(&whole), "{name} at {offset}");
            assert_eq!(
                adopted.repaint(PaintView::Whole),
                whole.repaint(PaintView::Whole),
                "{name} at {offset}"
            );
        }
    }
}

#[test]
fn a_viewer_that_comes_late_sees_the_same_program() {
    for (name, bytes, expected) in recordings() {
        let (head, tail) = bytes.split_at(bytes.len() / 2);
        let mut program = fresh();
        program.feed(head);
        // A viewer joins between sequences: the daemon feeds it from the repaint's offset.
        let mut viewer = Screen::restore(&program.checkpoint(Depth::Screen), Limits::default()).unwrap();
        viewer.feed(tail);
        program.feed(tail);
        let mut painted = fresh();
        painted.feed(&program.repaint(PaintView::Whole));
        for screen in [&viewer, &painted] {
            assert_eq!(screen.text(Wraps::Keep) + "\n", expected, "{name}");
        }
        assert_eq!(Picture::of(&painted), Picture::of(&program), "{name}");
    }
}

//! A repaint turns any terminal into the screen, and live bytes go on from there.

use proptest::prelude::*;
use term::{GridSize, PaintView, Screen};

use crate::streams::{Picture, Step, apply, config, screen, size, steps};

proptest! {
    #![proptest_config(config(1_500))]

    #[test]
    fn a_repaint_of_any_screen_gives_the_same_picture(size in size(), steps in steps(), before in steps()) {
        let mut original = screen(size);
        apply(&mut original, &in_one_cluster_mode(&steps));
        let bytes = original.repaint(PaintView::Whole);
        // A terminal in whatever state, then brought to the size and painted.
        let mut viewer = screen(size);
        apply(&mut viewer, &in_one_cluster_mode(&before));
        viewer.feed(b"\x18\x1b\\");
        viewer.resize(original.size());
        viewer.take_replies();
        viewer.feed(&bytes);
        let (mut shown, mut wanted) = (Picture::of(&viewer), Picture::of(&original));
        // A wrap mark in the last row, or before a row that was cleared since, has nothing to hang on to.
        shown.joined.clear();
        wanted.joined.clear();
        prop_assert_eq!(shown, wanted);
        prop_assert_eq!(viewer.take_replies(), b"", "a repaint must not ask");
    }

    #[test]
    fn live_bytes_go_on_after_a_repaint(size in size(), steps in steps(), more in steps()) {
        let mut original = screen(size);
        apply(&mut original, &in_one_cluster_mode(&steps));
        original.feed(b"\x18\x1b\\");
        let mut viewer = screen(original.size());
        viewer.feed(&original.repaint(PaintView::Whole));
        let live: Vec<Step> = in_one_cluster_mode(&more).into_iter().filter(is_plain).take(1).collect();
        apply(&mut original, &live);
        apply(&mut viewer, &live);
        prop_assert_eq!(Picture::of(&viewer).text, Picture::of(&original).text);
    }

    #[test]
    fn a_window_of_any_size_shows_the_cursor(size in size(), window in size(), steps in steps()) {
        let mut original = screen(size);
        apply(&mut original, &in_one_cluster_mode(&steps));
        let mut viewer = screen(window);
        viewer.feed(&original.repaint(PaintView::Window(window)));
        let (shown, wanted) = (viewer.cursor(), original.cursor());
        prop_assert_eq!((shown.visible, shown.shape), (wanted.visible, wanted.shape));
        let left = wanted.col - shown.col;
        let top = wanted.row - shown.row;
        for row in 0..window.rows {
            let cells = viewer.row_cells(row);
            let source = original.row_cells(top + row);
            for (col, cell) in cells.iter().enumerate() {
                let Some(wanted) = source.get(usize::from(left) + col) else { continue };
                if cell.width == wanted.width && wanted.width == 1 {
                    prop_assert_eq!(&cell.text, &wanted.text);
                    prop_assert_eq!(cell.style, wanted.style);
                }
            }
        }
        let (mut shown, mut wanted) = (viewer.modes(), original.modes());
        for modes in [&mut shown, &mut wanted] {
            (modes.origin, modes.insert, modes.line_wrap, modes.linefeed_newline) = (false, false, true, false);
        }
        prop_assert_eq!(shown, wanted);
    }
}

/// Streams of characters that never join others. Moves and edits can split a cluster into neighbouring cells,
/// which no terminal draws apart again. Another test below checks that whole clusters survive.
fn in_one_cluster_mode(steps: &[Step]) -> Vec<Step> {
    let may_join = |character: char| !character.is_ascii() && !"日本é\u{1f600}─한".contains(character);
    let without = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).replace("?2027", "?2004");
        text.replace(may_join, "").into_bytes()
    };
    let step = |step: &Step| match step {
        Step::Feed(bytes) => Step::Feed(without(bytes)),
        Step::Resize(size) => Step::Resize(*size),
    };
    steps.iter().map(step).collect()
}

/// Returns true for bytes without REP: what the terminal printed last is the repaint, not what the child
/// printed last.
fn is_plain(step: &Step) -> bool {
    matches!(step, Step::Feed(bytes) if !bytes.contains(&b'b'))
}

#[test]
fn a_repaint_clears_rows_one_by_one_and_pushes_nothing_into_history() {
    let mut original = screen(GridSize::clamped(20, 5));
    original.feed(b"hello");
    let mut viewer = screen(GridSize::clamped(20, 5));
    viewer.feed(b"old 1\r\nold 2\r\nold 3");
    for _ in 0..3 {
        viewer.feed(&original.repaint(PaintView::Whole));
    }
    assert_eq!(viewer.next_line().0 - viewer.first_line().0, 5);
    assert_eq!(viewer.text(Default::default()), "hello");
}

#[test]
fn leaving_the_alternate_screen_after_a_repaint_shows_the_main_one() {
    let mut original = screen(GridSize::clamped(20, 5));
    original.feed(b"shell$ vi\r\n\x1b[?1049h\x1b[Hediting");
    let mut viewer = screen(GridSize::clamped(20, 5));
    viewer.feed(&original.repaint(PaintView::Whole));
    assert_eq!(viewer.text(Default::default()), "editing");
    viewer.feed(b"\x1b[?1049ldone");
    original.feed(b"\x1b[?1049ldone");
    assert_eq!(Picture::of(&viewer), Picture::of(&original));
    assert_eq!(viewer.text(Default::default()), "shell$ vi\ndone");
}

#[test]
fn wrapped_lines_stay_wrapped_in_a_viewer() {
    let mut original = screen(GridSize::clamped(10, 5));
    original.feed("a line longer than ten columns 日本語日本語".as_bytes());
    let mut viewer = screen(GridSize::clamped(10, 5));
    viewer.feed(&original.repaint(PaintView::Whole));
    assert_eq!(Picture::of(&viewer), Picture::of(&original));
    assert_eq!(viewer.text(term::Wraps::Join), "a line longer than ten columns 日本語日本語");
}

#[test]
fn clusters_stay_together_in_a_viewer() {
    let mut original = screen(GridSize::clamped(12, 5));
    original.feed("\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\u{1f1e9}\u{1f1ea}\u{2764}\u{fe0f}e\u{301}\u{302} 한日x\u{1f1e9}\u{1f1ea}".as_bytes());
    let mut viewer = screen(GridSize::clamped(12, 5));
    viewer.feed(&original.repaint(PaintView::Whole));
    assert_eq!(Picture::of(&viewer), Picture::of(&original));
}

#[test]
fn only_web_links_are_painted() {
    let mut original = screen(GridSize::clamped(40, 2));
    original.feed(b"\x1b]8;;https://example.com/x\x1b\\good\x1b]8;;\x1b\\ \x1b]8;;file:///etc/passwd\x1b\\bad\x1b]8;;\x1b\\");
    let bytes = original.repaint(PaintView::Whole);
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("https://example.com/x"));
    assert!(!text.contains("passwd"));
    assert_eq!(original.row_cells(0)[0].link.as_deref(), Some("https://example.com/x"));
    assert_eq!(original.row_cells(0)[5].link, None);
}

#[test]
fn the_title_cannot_break_out_of_a_repaint() {
    let mut original = screen(GridSize::clamped(40, 2));
    original.feed("\x1b]2;a\u{9c}b\u{7f}c\u{202e}d\x1b\\".as_bytes());
    assert_eq!(original.title(), "abcd");
    let painted: Screen = {
        let mut viewer = screen(GridSize::clamped(40, 2));
        viewer.feed(&original.repaint(PaintView::Whole));
        viewer
    };
    assert_eq!(painted.text(Default::default()), "");
}

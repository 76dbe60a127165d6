//! The format of recordings: what is written reads back, and no secret is written.

use super::*;

fn manifest() -> Manifest {
    toml::from_str("name = \"probe\"\n[[rule]]\nid = \"busy\"\nregion = \"bottom(3)\"\npattern = \"busy\"\nverdict = \"working\"\n")
        .unwrap()
}

fn screen(bytes: &str) -> Screen {
    let mut screen = Screen::new(GridSize { cols: 40, rows: 6 }, Limits::default());
    screen.feed(bytes.as_bytes());
    screen
}

#[test]
fn a_recording_reads_back_as_it_was_written() {
    let screen =
        screen("\x1b]0;a title\x07one \\ two\r\n\x1b[2mfaint\x1b[0m \x1b[7minverse\x1b[0m\r\n日本 busy");
    let (sample, masked) = RecordedScreen::record(&manifest(), "1.2", &screen, None).unwrap();
    let read = RecordedScreen::parse(&sample.to_string()).unwrap();
    assert_eq!((&read, masked), (&sample, 0));
    assert_eq!(read.header.expect.state, "working");
    assert_eq!(read.screen().text(term::Wraps::Keep), screen.text(term::Wraps::Keep));
    assert_eq!(read.screen().title(), "a title");
    let faint =
        |screen: &Screen| screen.row_cells(1).iter().map(|cell| cell.style.attributes).collect::<Vec<_>>();
    assert_eq!(faint(&read.screen()), faint(&screen));
}

#[test]
fn a_recording_has_no_secret_in_it() {
    let screen = screen("\x1b]0;/home/ada\x07key sk-ant-api03-abcdef123456\r\nbusy");
    let (sample, masked) = RecordedScreen::record(&manifest(), "", &screen, None).unwrap();
    assert_eq!(masked, 2);
    assert!(!sample.to_string().contains("abcdef"), "{sample}");
    assert!(!sample.to_string().contains("ada"), "{sample}");
}

#[test]
fn a_person_knows_the_state_better_than_the_rules() {
    let (sample, _) =
        RecordedScreen::record(&manifest(), "", &screen("busy"), Some(AgentState::Idle)).unwrap();
    assert_eq!(sample.header.expect.state, "idle");
    assert_ne!(sample.outcome(&manifest()).unwrap(), sample.header.expect);
}

#[test]
fn a_text_without_a_header_is_no_recording() {
    assert_eq!(RecordedScreen::parse("hello"), Err(SampleError::NoHeader));
    assert!(matches!(RecordedScreen::parse("+++\nmanifest = 3\n+++\n"), Err(SampleError::Header(_))));
}

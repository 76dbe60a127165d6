//! Facts: what the stream says about its program.

use term::{ClipboardTarget, Fact, GridSize, NotificationSource, ProgramState, Progress, PromptMark, Screen};

use crate::streams::screen;

fn facts(bytes: &[u8]) -> Vec<Fact> {
    let mut screen = screen(GridSize::DEFAULT);
    screen.feed(bytes);
    screen.take_facts()
}

fn notification(source: NotificationSource, title: &str, body: &str) -> Fact {
    Fact::Notification { source, title: title.to_owned(), body: body.to_owned() }
}

#[test]
fn each_sequence_becomes_its_fact() {
    use NotificationSource::{Osc9, Osc99, Osc777};
    let cases: Vec<(&[u8], Fact)> = vec![
        (b"\x1b]0;both\x07", Fact::Title("both".into())),
        ("\x1b]2;✳ idle\x1b\\".as_bytes(), Fact::Title("✳ idle".into())),
        (b"\x07", Fact::Bell),
        (b"\x1b]7;file://host/home/me/a%20b\x1b\\", Fact::WorkingDirectory("/home/me/a b".into())),
        (b"\x1b]7;kitty-shell-cwd://host/a%20b\x07", Fact::WorkingDirectory("/a%20b".into())),
        (b"\x1b]9;9;\"/srv/x\"\x07", Fact::WorkingDirectory("/srv/x".into())),
        (b"\x1b]9;Build done\x07", notification(Osc9, "", "Build done")),
        (b"\x1b]99;i=1;Hello\x1b\\", notification(Osc99, "Hello", "")),
        (b"\x1b]99;i=1:p=body:e=1;aGk=\x1b\\", notification(Osc99, "", "hi")),
        (b"\x1b]777;notify;Title;Body; more\x07", notification(Osc777, "Title", "Body; more")),
        (b"\x1b]9;4;1;42\x07", Fact::Progress { state: Progress::Running, percent: Some(42) }),
        (b"\x1b]9;4;2;900\x07", Fact::Progress { state: Progress::Error, percent: Some(100) }),
        (b"\x1b]9;4;3\x1b\\", Fact::Progress { state: Progress::Indeterminate, percent: None }),
        (b"\x1b]9;4;0\x07", Fact::Progress { state: Progress::None, percent: None }),
        (b"\x1b]133;A\x07", Fact::PromptMark(PromptMark::PromptStart)),
        (b"\x1b]133;B\x07", Fact::PromptMark(PromptMark::InputStart)),
        (b"\x1b]133;C;x=y\x07", Fact::PromptMark(PromptMark::OutputStart)),
        (b"\x1b]133;D;130\x07", Fact::PromptMark(PromptMark::CommandEnd { exit: Some(130) })),
        (b"\x1b]133;D\x07", Fact::PromptMark(PromptMark::CommandEnd { exit: None })),
        (
            b"\x1b]52;c;aGVsbG8=\x07",
            Fact::Clipboard { target: ClipboardTarget::Clipboard, data: b"hello".to_vec() },
        ),
        (b"\x1b]52;p;\x07", Fact::Clipboard { target: ClipboardTarget::Selection, data: Vec::new() }),
        (b"\x1b[?1049h", Fact::AlternateScreen(true)),
    ];
    for (bytes, expected) in cases {
        assert_eq!(facts(bytes), [expected], "{}", bytes.escape_ascii());
    }
}

#[test]
fn nothing_is_made_of_what_is_not_understood() {
    for bytes in [
        &b"\x1b]7;http://host/x\x07"[..],
        b"\x1b]7;file://host/%zz\x07",
        b"\x1b]7;file://host/a%0ab\x07",
        b"\x1b]9;4;9;1\x07",
        b"\x1b]9;2;box\x07",
        b"\x1b]52;c;?\x07",
        b"\x1b]52;c;%%%\x07",
        b"\x1b]133;Z\x07",
        b"\x1b]777;other;a;b\x07",
        b"\x1b]7501;state=dancing\x07",
        b"\x1b]99;p=icon;x\x1b\\",
        b"\x1b]12345;x\x07",
        b"\x1b]\x07",
    ] {
        assert_eq!(facts(bytes), [], "{}", bytes.escape_ascii());
    }
}

#[test]
fn only_the_newest_counts_where_only_the_newest_matters() {
    let seen = facts(b"\x1b]2;a\x07\x07\x1b]9;4;1;1\x07\x1b]2;b\x07\x07\x1b]9;4;1;2\x07");
    assert_eq!(
        seen,
        [Fact::Title("b".into()), Fact::Bell, Fact::Progress { state: Progress::Running, percent: Some(2) }]
    );
}

#[test]
fn facts_nobody_takes_stay_bounded() {
    let mut screen = screen(GridSize::DEFAULT);
    for number in 0..5_000 {
        screen.feed(format!("\x1b]9;message {number}\x07").as_bytes());
    }
    let facts = screen.take_facts();
    assert_eq!(facts.len(), 256);
    assert_eq!(facts.last(), Some(&notification(NotificationSource::Osc9, "", "message 4999")));
    assert!(screen.take_facts().is_empty());
}

#[test]
fn text_in_facts_has_no_control_characters() {
    let seen = facts("\x1b]9;a\u{8}b\u{9b}31mc\u{202e}d\x07".as_bytes());
    assert_eq!(seen, [notification(NotificationSource::Osc9, "", "ab31mcd")]);
}

fn states(screen: &Screen) -> Vec<(&str, Option<ProgramState>)> {
    screen.program_status().iter().map(|report| (report.id.as_str(), report.state)).collect()
}

#[test]
fn program_status_is_kept_per_id_and_follows_prompts_and_resets() {
    let mut screen = screen(GridSize::DEFAULT);
    screen.feed(b"\x1b]7501;state=working:app=crew\x1b\\\x1b]7501;state=done:id=sub\x1b\\");
    screen.feed(b"\x1b]7501;state=blocked:kind=permission:msg=cm0gLXJm\x07");
    assert_eq!(states(&screen), [("sub", Some(ProgramState::Done)), ("", Some(ProgramState::Blocked))]);
    let facts = screen.take_facts();
    assert_eq!(facts.len(), 2, "the newest per id");
    let Fact::ProgramStatus(report) = &facts[1] else { panic!("{facts:?}") };
    assert_eq!((report.kind.as_deref(), report.message.as_deref()), (Some("permission"), Some("rm -rf")));
    screen.feed(b"\x1b]133;A\x07");
    assert_eq!(states(&screen), [("sub", Some(ProgramState::Done))]);
    screen.feed(b"\x1bc");
    assert_eq!(states(&screen), []);
}

#[test]
fn titles_can_be_pushed_and_popped_but_not_read_back() {
    let mut screen = screen(GridSize::DEFAULT);
    screen.feed(b"\x1b]2;one\x07\x1b[22;0t\x1b]2;two\x07");
    assert_eq!(screen.title(), "two");
    screen.feed(b"\x1b[23;0t\x1b[21t");
    assert_eq!(screen.title(), "one");
    assert_eq!(screen.take_replies(), b"");
    for _ in 0..100 {
        screen.feed(b"\x1b[22t");
    }
    screen.feed(b"\x1bc");
    assert_eq!(screen.title(), "");
}

//! Reading screens: what counts as live, which rule wins, what a report of a part means.

use std::sync::LazyLock;

use proptest::prelude::*;
use proto::agent::{AgentState, BlockedKind, Composer, Source};
use term::{GridSize, Limits, Screen};

use super::*;

const RULES: &str = r#"
name = "probe"

[[rule]]
id = "busy"
region = "above_prompt(4)"
pattern = '^\* (?<what>\S+)\.\.\.$'
verdict = "working"
message = "what"

[[rule]]
id = "prompt"
region = "bottom(3)"
pattern = '^> ?'
verdict = "idle"

[[rule]]
id = "failed"
region = "whole"
pattern = '^FAILED'
verdict = "error"

[[rule]]
id = "picker"
region = "bottom(2)"
pattern = '^pick one'
verdict = "hold"

[[rule]]
id = "title-idle"
region = "title"
pattern = '^ready'
verdict = "idle"

[[rule]]
id = "title-busy"
region = "title"
pattern = '^busy'
verdict = "working"

[[rule]]
id = "title-hand"
region = "title"
pattern = '^hand'
verdict = "blocked"
without_composer = true

[[rule]]
id = "bell"
region = "osc"
pattern = '^bell$'
verdict = "idle"
max_age_ms = 1000

[[dialog]]
id = "permission"
kind = "permission"
region = "bottom(12)"
anchors = ['^May I\?', '^esc to refuse']
begin = '^-{5,}'
title = '^(?<title>May I\?)'
body = '(?s)^-+\n(?<body>.*)\nMay I'
options = { style = "lines", line = '^(?<pointer>#| ) (?<number>\d)\. (?<label>.*)$', press = "digit" }
below = 1

[dialog.names]
allow = '^Yes'

[composer]
region = "bottom(6)"
prompt = '^> ?(?<text>[^\n]*)(?:\n[^\n]*)?\z'
placeholders = ['^Say something$']
faint_is_empty = true

[[background]]
id = "shells"
region = "bottom(1)"
pattern = '(?<count>\d+) shells?'
"#;

fn detector() -> Detector {
    Detector::new(&toml::from_str(RULES).unwrap()).unwrap()
}

fn screen(text: &str) -> Screen {
    sized(text, GridSize { cols: 60, rows: 24 })
}

fn sized(text: &str, size: GridSize) -> Screen {
    let mut screen = Screen::new(size, Limits::default());
    screen.feed(text.replace('\n', "\r\n").as_bytes());
    screen
}

fn look(text: &str) -> ScreenSeen {
    detector().look(&screen(text)).unwrap().seen
}

fn state(evidence: Option<Evidence>) -> Option<AgentState> {
    evidence.and_then(|evidence| evidence.state)
}

const DIALOG: &str = "-----\nrm -rf build\nMay I?\n# 1. Yes\n  2. No\nesc to refuse";

#[test]
fn a_screen_that_has_not_changed_is_not_looked_at() {
    let (mut detector, mut screen) = (detector(), screen("> "));
    assert!(detector.look(&screen).is_some());
    assert_eq!(detector.look(&screen), None);
    screen.feed(b"\x1b]0;busy\x07");
    assert_eq!(state(detector.look(&screen).unwrap().seen.title), Some(AgentState::Working));
    screen.feed(b"x");
    assert!(detector.look(&screen).is_some());
}

#[test]
fn a_visible_prompt_is_not_idle_while_work_shows_above_it() {
    let look = look("* reading...\n\n> ");
    assert_eq!(state(look.screen.clone()), Some(AgentState::Working));
    assert_eq!(look.screen.unwrap().message, "reading");
    assert_eq!(look.composer, Composer::Empty);
}

#[test]
fn blocked_beats_working_beats_idle_at_the_same_instant() {
    let rule = |verdict: &str| {
        format!("[[rule]]\nid = '{verdict}'\nregion = 'whole'\npattern = 'x'\nverdict = '{verdict}'\n")
    };
    let rules: String = ["idle", "hold", "working", "blocked", "error", "waiting"].map(rule).concat();
    let winner = |rules: &str| {
        let manifest: Manifest = toml::from_str(rules).unwrap();
        Detector::new(&manifest).unwrap().look(&screen("x")).unwrap().seen.screen.unwrap().rule
    };
    assert_eq!(winner(&rules), "blocked");
    assert_eq!(winner(&[rule("idle"), rule("error"), rule("working")].concat()), "working");
    assert_eq!(winner(&[rule("idle"), rule("error")].concat()), "error");
    assert_eq!(winner(&format!("{}priority = 1\n{rules}", rule("idle"))), "idle");
}

#[test]
fn a_dialog_at_the_bottom_is_live_and_says_how_to_answer_it() {
    let evidence = look(&format!("some text\n{DIALOG}")).dialog.unwrap();
    assert_eq!((evidence.source, evidence.state), (Source::Dialog, Some(AgentState::Blocked)));
    assert_eq!(evidence.kind, Some(BlockedKind::Permission));
    let dialog = evidence.dialog.unwrap();
    assert_eq!((dialog.title.as_str(), dialog.body.as_str()), ("May I?", "rm -rf build"));
    assert_eq!(dialog.options[0].names, ["1", "allow"]);
    assert_eq!((dialog.options[1].label.as_str(), &dialog.options[1].keys), ("No", &vec!["2".to_owned()]));
}

#[test]
fn c10_a_dialog_quoted_above_the_composer_is_not_a_dialog() {
    assert_eq!(look(&format!("{DIALOG}\n\n> ")).dialog, None);
}

#[test]
fn a_dialog_with_a_transcript_below_it_is_not_live() {
    assert_eq!(look(&format!("{DIALOG}\nand so on\nand on")).dialog, None);
}

#[test]
fn a_dialog_that_has_scrolled_up_is_not_live() {
    let rest: String = (0..14).map(|row| format!("\nrow {row}")).collect();
    assert_eq!(look(&format!("{DIALOG}{rest}")).dialog, None);
}

#[test]
fn c10_hidden_words_are_no_dialog() {
    let hidden = format!("\x1b[8m{}\x1b[0m", DIALOG);
    assert_eq!(look(&hidden).dialog, None);
}

#[test]
fn a_moved_pointer_is_the_same_dialog_and_another_command_is_another() {
    let digest = |text: &str| look(text).dialog.unwrap().dialog.unwrap().digest;
    let moved = DIALOG.replace("# 1. Yes\n  2. No", "  1. Yes\n# 2. No");
    assert_ne!(moved, DIALOG);
    assert_eq!(digest(DIALOG), digest(&moved));
    assert_eq!(digest(DIALOG), digest(&format!("more text above\n{DIALOG}")));
    assert_ne!(digest(DIALOG), digest(&DIALOG.replace("build", "src")));
    assert_ne!(digest(DIALOG), digest(&DIALOG.replace("Yes", "Yes, always")));
}

#[test]
fn m20j_a_program_that_has_gone_on_shows_other_words_above_a_dialog_that_reads_the_same() {
    let context = |text: &str| look(text).dialog_context.unwrap();
    let first = format!("* 3s waiting\n{DIALOG}");
    let moved = DIALOG.replace("# 1. Yes\n  2. No", "  1. Yes\n# 2. No");
    assert_eq!(context(&first), context(&format!(". 1m 14s waiting\n{moved}")), "only time has passed");
    assert_ne!(context(&first), context(&format!("* 3s waiting\nremoved build\n{DIALOG}")));
    assert_eq!(look("> ").dialog_context, None);
}

#[test]
fn options_chosen_with_arrows_count_from_the_pointer() {
    let manifest: Manifest = toml::from_str(&RULES.replace("press = \"digit\"", "press = \"move\"")).unwrap();
    let keys = |text: &str| {
        let look = Detector::new(&manifest).unwrap().look(&screen(text)).unwrap().seen;
        let options = look.dialog.unwrap().dialog.unwrap().options;
        options.into_iter().map(|option| option.keys.join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(keys(DIALOG), ["enter", "down enter"]);
    assert_eq!(keys(&DIALOG.replace("# 1. Yes\n  2. No", "  1. Yes\n# 2. No")), ["up enter", "enter"]);
    assert_eq!(keys(&DIALOG.replace('#', " ")), Vec::<String>::new(), "the distance is unknown");
}

#[test]
fn a_wrapped_label_is_one_label() {
    let text = DIALOG.replace("  2. No", "  2. No, and tell me\n     what to do");
    let dialog = look(&text).dialog.unwrap().dialog.unwrap();
    assert_eq!(dialog.options[1].label, "No, and tell me what to do");
}

#[test]
fn a_picker_holds_the_state_and_hides_the_composer() {
    let look = look("> 1. red\npick one");
    assert_eq!(look.screen.as_ref().map(|evidence| evidence.state), Some(None));
    assert_eq!(look.composer, Composer::Unknown);
}

#[test]
fn a_screen_nobody_knows_says_nothing() {
    assert_eq!(look("hello"), ScreenSeen::default());
    assert_eq!(look(""), ScreenSeen::default());
}

#[test]
fn c3_a_draft_is_told_from_a_hint() {
    assert_eq!(look("> ").composer, Composer::Empty);
    assert_eq!(look("> Say something").composer, Composer::Empty);
    assert_eq!(look("> \x1b[2mtry this\x1b[0m").composer, Composer::Empty);
    assert_eq!(look("> try this").composer, Composer::Draft);
    assert_eq!(look("> t\x1b[2mry this\x1b[0m").composer, Composer::Draft);
    assert_eq!(look("> 日本\x1b[2m語\x1b[0m").composer, Composer::Draft);
    assert_eq!(look("> \x1b[2m日本語\x1b[0m").composer, Composer::Empty);
    assert_eq!(look("nothing").composer, Composer::Unknown);
}

#[test]
fn idle_with_something_in_the_background_is_both() {
    let look = look("> \n2 shells");
    assert_eq!((state(look.screen), look.background), (Some(AgentState::Idle), 2));
}

#[test]
fn a_title_that_knows_only_work_and_rest_hides_no_failure() {
    let with_title = |title: &str, text: &str| {
        let mut screen = screen(text);
        screen.feed(format!("\x1b]0;{title}\x07").as_bytes());
        detector().look(&screen).unwrap().seen
    };
    assert_eq!(with_title("ready", "FAILED\n\n> ").title, None);
    assert_eq!(with_title("ready", "pick one").title, None);
    assert_eq!(state(with_title("ready", "* reading...\n\n> ").title), Some(AgentState::Idle));
    assert_eq!(state(with_title("busy", "FAILED\n\n> ").title), Some(AgentState::Working));
}

#[test]
fn a_raised_hand_above_an_open_composer_is_a_false_one() {
    let with_title = |text: &str| {
        let mut screen = screen(text);
        screen.feed(b"\x1b]0;hand\x07");
        detector().look(&screen).unwrap().seen.title
    };
    assert_eq!(with_title("> "), None);
    assert_eq!(state(with_title("something")), Some(AgentState::Blocked));
}

#[test]
fn a_dialog_is_found_at_every_size() {
    for (cols, rows) in [(80, 24), (200, 50), (20, 8), (500, 200)] {
        let screen = sized(DIALOG, GridSize { cols, rows });
        assert!(detector().look(&screen).unwrap().seen.dialog.is_some(), "{cols}×{rows}");
    }
}

/// Returns the evidence from sequences that a program writes, in order.
fn heard(detector: &mut Detector, bytes: &str) -> Vec<StreamEvidence> {
    let mut screen = screen(bytes);
    screen.take_facts().iter().filter_map(|fact| detector.hear(fact)).collect()
}

fn spoken(heard: Option<StreamEvidence>) -> Option<(AgentState, u32, String)> {
    match heard? {
        StreamEvidence::Evidence(evidence) => {
            Some((evidence.state?, evidence.background.unwrap_or(0), evidence.message))
        }
        StreamEvidence::Withdrawn(_) => None,
    }
}

fn report(fields: &str) -> String {
    format!("\x1b]7501;{fields}\x1b\\")
}

#[test]
fn a_programs_own_report_says_what_it_needs() {
    // "approve it" in base 64.
    let blocked = heard(&mut detector(), &report("state=blocked:kind=permission:msg=YXBwcm92ZSBpdA=="));
    let [StreamEvidence::Evidence(evidence)] = blocked.as_slice() else { panic!("{blocked:?}") };
    assert_eq!((evidence.source, evidence.kind), (Source::ProgramStatus, Some(BlockedKind::Permission)));
    assert_eq!((evidence.state, evidence.message.as_str()), (Some(AgentState::Blocked), "approve it"));
    for (word, state) in
        [("idle", AgentState::Idle), ("done", AgentState::Idle), ("error", AgentState::Error)]
    {
        let heard = heard(&mut detector(), &report(&format!("state={word}"))).pop();
        assert_eq!(spoken(heard).map(|(state, ..)| state), Some(state));
    }
}

#[test]
fn a_part_of_a_program_counts_as_background_and_decides_nothing() {
    let mut detector = detector();
    heard(&mut detector, &report("state=idle"));
    let parts = heard(&mut detector, &(report("state=working:id=a/1") + &report("state=blocked:id=b")));
    assert_eq!(spoken(parts.last().cloned()), Some((AgentState::Idle, 2, String::new())));
    let ended = heard(&mut detector, &report("state=done:id=a/1")).pop();
    assert_eq!(spoken(ended), Some((AgentState::Idle, 1, String::new())));
}

#[test]
fn a_program_that_reports_under_names_speaks_through_the_busiest() {
    let mut detector = detector();
    heard(&mut detector, &(report("state=idle:id=main") + &report("state=working:id=main/1")));
    let busy = heard(&mut detector, &report("state=working:id=other")).pop();
    assert_eq!(spoken(busy), Some((AgentState::Working, 1, String::new())));
}

#[test]
fn a_withdrawn_report_says_nothing_any_more() {
    let mut detector = detector();
    heard(&mut detector, &(report("state=working") + &report("state=working:id=a/1")));
    assert_eq!(
        heard(&mut detector, &report("state=clear")),
        [StreamEvidence::Withdrawn(Source::ProgramStatus)]
    );
}

#[test]
fn a_shells_prompt_ends_a_report_of_work() {
    let mut detector = detector();
    heard(&mut detector, &report("state=working"));
    assert_eq!(heard(&mut detector, "\x1b]133;A\x07"), [StreamEvidence::Withdrawn(Source::ProgramStatus)]);
    heard(&mut detector, &report("state=error"));
    assert_eq!(heard(&mut detector, "\x1b]133;A\x07"), []);
}

#[test]
fn progress_that_moves_is_work_and_no_progress_says_nothing() {
    let state_of = |bytes: &str| spoken(heard(&mut detector(), bytes).pop()).map(|(state, ..)| state);
    assert_eq!(state_of("\x1b]9;4;1;30\x07"), Some(AgentState::Working));
    assert_eq!(state_of("\x1b]9;4;3\x07"), Some(AgentState::Working));
    assert_eq!(state_of("\x1b]9;4;2;0\x07"), Some(AgentState::Error));
    assert_eq!(heard(&mut detector(), "\x1b]9;4;0\x07"), [StreamEvidence::Withdrawn(Source::Progress)]);
}

#[test]
fn a_bell_speaks_only_by_a_rule_and_only_for_a_while() {
    let rung = heard(&mut detector(), "\x07");
    let [StreamEvidence::Evidence(evidence)] = rung.as_slice() else { panic!("{rung:?}") };
    assert_eq!((evidence.rule.as_str(), evidence.max_age_ms), ("bell", Some(1000)));
    let silent = toml::from_str::<Manifest>("name = 'silent'").unwrap();
    assert_eq!(heard(&mut Detector::new(&silent).unwrap(), "\x07"), []);
}

#[test]
fn work_reported_only_for_the_background_is_rest() {
    let (mut detector, mut screen) = (detector(), screen(""));
    heard(&mut detector, &report("state=working"));
    let mut after = |text: &str| {
        screen.feed(format!("\x1b[2J\x1b[H{}", text.replace('\n', "\r\n")).as_bytes());
        detector.look(&screen);
        (spoken(detector.revised()), detector.revised())
    };
    assert_eq!(after("* reading...\n\n> \n1 shell"), (None, None), "its turn is under way");
    assert_eq!(after("> \n1 shell"), (Some((AgentState::Idle, 1, String::new())), None), "said once");
    assert_eq!(after("> \n1 shell still"), (None, None));
    assert_eq!(after("* reading...\n\n> \n1 shell").0.map(|(state, ..)| state), Some(AgentState::Working));
}

#[test]
fn a_manifest_that_contradicts_itself_is_refused_with_the_reason() {
    let fault = |from: &str, to: &str| {
        assert!(RULES.contains(from), "{from}");
        let manifest: Manifest = toml::from_str(&RULES.replace(from, to)).unwrap();
        Detector::new(&manifest).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(
        fault("message = \"what\"", "message = \"who\""),
        "the pattern of `busy` has no capture `who`"
    );
    assert_eq!(fault("(?<number>\\d)", "\\d"), "the pattern of `permission` has no capture `number`");
    assert_eq!(
        fault("region = \"bottom(12)\"", "region = \"title\""),
        "`permission` cannot look at the region `title`"
    );
    assert_eq!(
        fault("region = \"bottom(6)\"", "region = \"osc\""),
        "`composer` cannot look at the region `osc`"
    );
    let keys = fault("press = \"digit\"", "press = \"digit\", then = [\"warp\"]");
    assert!(keys.starts_with("`permission`: no key is called"), "{keys}");
}

/// Returns the probe and every built-in manifest, compiled once.
fn manifests() -> &'static [Manifest] {
    static MANIFESTS: LazyLock<Vec<Manifest>> = LazyLock::new(|| {
        let catalogue = crate::Catalogue::built_in();
        let shipped =
            catalogue.names().filter_map(|name| catalogue.get(name)).map(|manifest| (**manifest).clone());
        shipped.chain([toml::from_str(RULES).unwrap()]).collect()
    });
    &MANIFESTS
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn looking_never_panics(
        bytes in proptest::collection::vec(any::<u8>(), 0..600),
        rows in proptest::collection::vec("[#> 12.*\\-a-zA-Z?日\u{a0}─│●]{0,40}", 0..30),
        (cols, height) in (1u16..120, 1u16..60),
    ) {
        let mut screen = Screen::new(GridSize { cols, rows: height }, Limits::default());
        for manifest in manifests() {
            let mut detector = Detector::new(manifest).unwrap();
            screen.feed(rows.join("\r\n").as_bytes());
            detector.look(&screen);
            screen.feed(&bytes);
            detector.look(&screen);
            detector.revised();
            for fact in screen.take_facts() {
                detector.hear(&fact);
            }
        }
    }
}

#[test]
fn c17_an_empty_composer_of_a_program_whose_views_are_not_all_known_must_show_its_placeholder() {
    let rules = RULES.replace("faint_is_empty = true", "needs_placeholder = true");
    let manifest: Manifest = toml::from_str(&rules).unwrap();
    let composer = |text: &str| Detector::new(&manifest).unwrap().look(&screen(text)).unwrap().seen.composer;
    assert_eq!(composer("> "), Composer::Unknown);
    assert_eq!(composer("> Say something"), Composer::Empty);
    assert_eq!(composer("> and then"), Composer::Draft);
}

#[test]
fn c17_a_box_with_words_in_its_edge_is_not_taken_for_amps_composer() {
    let catalogue = crate::Catalogue::built_in();
    let composer = |edge: &str| {
        let (line, blank) = ("─".repeat(40), " ".repeat(40));
        let text = format!("╭{edge}{line}╮\r\n│{blank}│\r\n╰{line}╯");
        let mut detector = Detector::new(catalogue.get("amp").unwrap()).unwrap();
        detector.look(&screen(&text)).unwrap().seen.composer
    };
    assert_eq!(composer(""), Composer::Empty);
    assert_eq!(composer("── shell mode "), Composer::Unknown);
}

#[test]
fn c17_a_draft_that_enter_would_run_as_a_command_is_a_shell_mode() {
    let composer = |keys: &str, text: &str| {
        let rules = RULES.replace("faint_is_empty = true", &format!("faint_is_empty = true\n{keys}"));
        let manifest: Manifest = toml::from_str(&rules).unwrap();
        Detector::new(&manifest).unwrap().look(&screen(text)).unwrap().seen.composer
    };
    let prefix = "shell_prefix = '!'";
    assert_eq!(composer(prefix, "> !touch x"), Composer::Shell);
    assert_eq!(composer(prefix, "> !"), Composer::Shell);
    assert_eq!(composer(prefix, "> wow!"), Composer::Draft);
    assert_eq!(composer(prefix, "> "), Composer::Empty);
    let pattern = "shell_prefix = '!'\nshell = '^\\$ '";
    assert_eq!(composer(pattern, "> !touch x"), Composer::Draft, "the pattern decides");
    assert_eq!(composer(pattern, "$ touch x"), Composer::Shell);
}

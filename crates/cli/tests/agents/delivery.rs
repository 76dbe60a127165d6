//! Messages reach an agent once, and never interfere with what a person types.

use std::ffi::OsStr;

use proto::agent::Delivery;
use proto::request::Tell;
use proto::{AgentState, Size};
use testkit::process_scan::eventually;
use testkit::{Pty, scaled};

use crate::{attach, crew, run_boss};

fn queued(name: &str, text: &str) -> Tell {
    Tell { target: name.into(), text: text.to_owned(), key: None, wait_ms: Some(0), expires_ms: None }
}

#[test]
fn a_message_is_submitted_once_and_its_result_can_be_read() {
    let crew = crew();
    crew.enlist("a", &[]);
    let turn = crew.submit("a", "say forty-two");
    assert_eq!(turn, 1);
    let result = crew.result("a", turn);
    assert_eq!(result.text.trim(), "forty-two");
    assert_eq!(crew.prompts("a"), ["say forty-two"]);
}

#[test]
fn c21_what_nobody_can_know_is_unknown_with_an_exit_code_of_its_own() {
    let crew = crew();
    crew.enlist("a", &[]);
    // The prompt itself ends the agent, before anything shows that it was accepted.
    let told = crew.command(&["--json", "tell", "a", "exit 3"]).output().unwrap();
    let said = String::from_utf8_lossy(&told.stderr);
    assert_eq!(told.status.code(), Some(8), "{said}");
    assert!(said.contains("unknown_outcome") && said.contains("is unknown: the agent ended"), "{said}");
    assert_eq!(crew.prompts("a"), ["exit 3"]);
}

#[test]
fn c4_an_enter_that_would_be_swallowed_comes_late_enough() {
    let crew = crew();
    crew.enlist("a", &["--paste-window", "140"]);
    for round in 1..=scaled(3) {
        crew.submit("a", &format!("round {round}\nof several lines"));
    }
    assert_eq!(crew.prompts("a").len(), scaled(3));
    assert!(crew.log("a").iter().all(|line| line.get("swallowed").is_none()), "{:?}", crew.log("a"));
}

#[test]
fn u10_a_paste_ends_its_lines_with_the_manifests_key_where_the_agent_accepts_no_brackets() {
    let crew = crew();
    let manifest = "argv = ['sh', '-c', 'stty raw -echo; echo ready; exec cat -v']\n\
                    [deliver]\nnew_line = 'alt-enter'\n";
    std::fs::write(crew.dirs().config.join("agents/plain.toml"), manifest).unwrap();
    crew.spawn_as(crew.agent_spec("plain", "a", &[]));
    crew.wait_pattern("a", "ready");
    let pasted = crew.command(&["paste", "a", "one\ntwo"]).output().unwrap();
    assert!(pasted.status.success(), "{}", String::from_utf8_lossy(&pasted.stderr));
    crew.wait_pattern("a", r"one\^\[\^Mtwo");
    assert_eq!(crew.agent("a").new_line.as_deref(), Some("alt-enter"));
}

#[test]
fn c4_many_deliveries_are_each_submitted_exactly_once() {
    const AGENTS: usize = 8;
    let each = scaled(25);
    let crew = crew();
    let names: Vec<String> = (0..AGENTS).map(|number| format!("a{number}")).collect();
    for name in &names {
        crew.spawn_as(crew.agent_spec("fake", name, &[]));
    }
    std::thread::scope(|scope| {
        for name in &names {
            let crew = &crew;
            scope.spawn(move || {
                crew.until_state(name, AgentState::Idle);
                for number in 0..each {
                    crew.submit(name, &format!("message {number} for {name}\nwork 5"));
                }
            });
        }
    });
    for name in &names {
        let expected: Vec<String> =
            (0..each).map(|number| format!("message {number} for {name}\nwork 5")).collect();
        assert_eq!(crew.prompts(name), expected);
        assert!(
            crew.log(name).iter().all(|line| line["busy"] != true),
            "{name} was typed into while it worked"
        );
    }
}

#[test]
fn c3_a_persons_draft_is_not_touched_and_the_message_comes_when_it_is_gone() {
    let crew = crew();
    crew.enlist("a", &[]);
    let mut person = attach(&crew, "a", b">");
    person.type_keys(b"rm -rf");
    person.expect(b"rm -rf");
    let receipt = crew.tell_as(queued("a", "from a program"));
    assert!(matches!(receipt.delivery, Delivery::Queued { .. }), "{:?}", receipt.delivery);
    // Longer than the lease after a person's last key: only the draft holds the message back.
    let mut events = crew.subscriber();
    crew.wait_until("a", proto::request::Until::Silence(4_000));
    assert_eq!(crew.prompts("a"), Vec::<String>::new());
    assert!(crew.screen("a").contains("> rm -rf"), "{}", crew.screen("a"));
    person.type_keys(b"\x15");
    let is_done = |event: &proto::Event| matches!(event, proto::Event::Mail(told) if told.mail == receipt.mail && told.delivery.is_final());
    crew.until_event(&mut events, is_done);
    assert_eq!(crew.prompts("a"), ["from a program"]);
}

#[test]
fn m23_explain_prints_what_the_composer_holds() {
    let crew = crew();
    crew.enlist("a", &[]);
    let shown = |word: &str| {
        eventually("explain prints the composer", || {
            let printed = String::from_utf8(crew.qd(&["explain", "a"]).stdout).unwrap();
            printed.lines().any(|line| line == format!("composer: {word}")).then_some(())
        });
    };
    shown("empty");
    let mut person = attach(&crew, "a", b">");
    person.type_keys(b"not yet");
    person.expect(b"not yet");
    shown("draft");
    person.type_keys(b"\x15");
    shown("empty");
    person.type_keys(b"\x12");
    person.expect(b"search:");
    shown("unknown");
}

#[test]
fn c3_nothing_is_typed_into_a_password() {
    let crew = crew();
    crew.enlist("a", &[]);
    // It is seen working that long: nothing else would show that the prompt was accepted.
    let go_on = crew.root().join("go-on");
    let prompt = format!("until {}\nsecret", go_on.display());
    crew.submit("a", &prompt);
    std::fs::write(go_on, "").unwrap();
    crew.wait_pattern("a", "Password:");
    let receipt = crew.tell_as(queued("a", "not a password"));
    assert!(!receipt.delivery.is_final(), "{:?}", receipt.delivery);
    crew.type_text("a", "hunter2\n");
    crew.wait_until("a", proto::request::Until::Turn(1));
    let until_told = Tell { wait_ms: Some(30_000), key: None, ..queued("a", "after it") };
    assert!(matches!(crew.tell_as(until_told).delivery, Delivery::Submitted { .. }));
    let secrets: Vec<_> = crew.log("a").into_iter().filter(|line| line.get("secret").is_some()).collect();
    assert_eq!(secrets.len(), 1);
    assert_eq!(secrets[0]["secret"], "hunter2");
    assert_eq!(crew.prompts("a"), [&prompt, "not a password", "after it"]);
}

#[test]
fn a_program_that_types_by_itself_meets_the_same_firewall() {
    let crew = crew();
    // A shell makes its child agent open a dialog, and tries to type into it.
    run_boss(
        &crew,
        "$qd wait child --state idle; $qd tell child 'ask Really?'; $qd wait child --state blocked; \
         $qd key child 3; echo key=$?; $qd send child no; echo send=$?",
    );
    crew.wait_pattern("boss", "send=[0-9]+");
    let shown = crew.screen("boss");
    assert!(shown.contains("a dialog is open"), "{shown}");
    assert_eq!((crew.answers("child"), crew.strays("child")), (Vec::new(), Vec::new()));
}

/// A person opens a view with these keys; nothing is typed into it, the receipt names it, and the message
/// comes after it.
fn is_not_typed_into(keys: &[u8], shown: &[u8], said: &str, leave: &[u8]) {
    let crew = crew();
    crew.enlist("a", &["--status"]);
    crew.submit("a", "say first");
    crew.until_state("a", AgentState::Idle);
    let mut person = attach(&crew, "a", b">");
    person.type_keys(keys);
    person.expect(shown);
    let before = crew.log("a").len();
    // Longer than the lease after a person's last key: only the view holds the message back.
    let receipt = crew.tell_as(Tell { wait_ms: Some(4_000), ..queued("a", "rm -rf $(pwd)") });
    let told = format!("{:?}", receipt.delivery);
    assert!(matches!(&receipt.delivery, Delivery::Queued { reason } if reason.contains(said)), "{told}");
    assert_eq!(crew.log("a").len(), before, "{:?}", crew.log("a"));
    person.type_keys(leave);
    assert!(matches!(crew.final_delivery(receipt.mail), Delivery::Submitted { .. }));
    assert_eq!(crew.prompts("a"), ["say first", "rm -rf $(pwd)"]);
}

#[test]
fn c17_nothing_is_typed_into_a_shell_mode() {
    is_not_typed_into(b"!ls", b"! ls", "shell mode", b"\x15");
}

#[test]
fn c17_nothing_is_typed_into_a_search_among_old_prompts() {
    is_not_typed_into(b"\x12", b"search:", "composer is not on the screen", b"\x12");
}

#[test]
fn c17_a_leaders_text_with_enter_is_refused_while_its_child_searches_among_old_prompts() {
    let crew = crew();
    let go = crew.root().join("go");
    let send = "$qd send child 'rm -rf x'; echo code=$?";
    run_boss(&crew, &format!("echo begun; until [ -e {} ]; do sleep 0.05; done; {send}", go.display()));
    crew.wait_pattern("boss", "begun");
    crew.until_state("child", AgentState::Idle);
    let mut person = attach(&crew, "child", b">");
    person.type_keys(b"\x12");
    person.expect(b"search:");
    let before = crew.log("child").len();
    // Longer than the lease after a person's last key: only the search is in the way.
    crew.wait_until("child", proto::request::Until::Silence(4_000));
    std::fs::write(go, "").unwrap();
    crew.wait_pattern("boss", "composer is not on the screen");
    crew.wait_pattern("boss", "code=[1-9]");
    assert_eq!(crew.log("child").len(), before, "{:?}", crew.log("child"));
    assert!(!crew.screen("child").contains("rm -rf"), "{}", crew.screen("child"));
}

#[test]
fn c17_a_message_that_is_a_shell_command_to_the_agent_is_refused() {
    let crew = crew();
    crew.enlist("a", &[]);
    let receipt = crew.tell("a", "!touch x");
    assert!(matches!(&receipt.delivery, Delivery::Refused { reason } if reason.contains("shell command")));
    assert!(crew.log("a").is_empty(), "{:?}", crew.log("a"));
}

#[test]
fn a_person_who_waits_for_a_receipt_sees_what_for() {
    let crew = crew();
    crew.enlist("a", &[]);
    crew.submit("a", "ask Really?");
    crew.until_state("a", AgentState::Blocked);
    let mut pty = Pty::open(Size { cols: 120, rows: 24 });
    let variables = crew.variables();
    let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    pty.spawn(OsStr::new(env!("CARGO_BIN_EXE_qd")), &["tell", "a", "say more"], &variables);
    pty.expect(b"waiting until a takes it; qd messages says why it does not");
    crew.answer(crew.item("a").item, "1").unwrap();
    pty.expect(b"submitted");
    assert!(pty.wait_exit(testkit::DEADLINE).success());
}

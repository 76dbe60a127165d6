//! What a person has open in a vendor's program is not typed into: shell mode, searches, editors, lists of sessions.

use std::time::{Duration, Instant};

use proto::AgentState;
use proto::agent::{Composer, Delivery};
use proto::request::{Explain, TypedInput, Write};
use testkit::vendor::Vendor;

use crate::vendor_stage::{FakeAgents, NAME, PATIENCE};

/// Longer than programs wait after a person's key: only the view holds a message back.
const BEYOND_THE_LEASE: Duration = Duration::from_millis(4_500);

/// One view: what opens it, its name, and what closes it.
struct View {
    text: &'static str,
    keys: &'static [&'static str],
    is: Composer,
    leave: &'static [&'static str],
}

const SHELL: View = View { text: "!echo", keys: &[], is: Composer::Shell, leave: &["ctrl-u", "backspace"] };
const SEARCH: View = View { text: "", keys: &["ctrl-r"], is: Composer::Unknown, leave: &["escape"] };
const EDITOR: View =
    View { text: "", keys: &["ctrl-g"], is: Composer::Unknown, leave: &[":", "q", "!", "enter"] };

fn write(crew: &FakeAgents, input: TypedInput) {
    let write = Write { target: NAME.into(), input, submit: false, timeout_ms: None, key: None };
    crew.daemon.client().write(write).unwrap();
}

fn wait_composer(crew: &FakeAgents, wanted: Composer) {
    let until = Instant::now() + PATIENCE;
    loop {
        let seen = crew.daemon.client().explain(Explain { target: NAME.into() }).unwrap().composer;
        match seen {
            seen if seen == wanted => return,
            _ if Instant::now() < until => testkit::process_scan::pause(Duration::from_millis(20)),
            seen => crew.fail(&format!("the composer is {seen:?}, not {wanted:?}")),
        }
    }
}

fn is_not_typed_into(vendor: Vendor, views: &[&View]) {
    let crew = FakeAgents::seeded(vendor);
    crew.wait_state(&[AgentState::Idle]);
    let turn = crew.tell("please\n@say old-answer");
    crew.wait_turn(turn);
    for (number, view) in views.iter().enumerate() {
        crew.wait_state(&[AgentState::Idle]);
        if !view.text.is_empty() {
            write(&crew, TypedInput::Text(view.text.to_owned()));
        }
        if !view.keys.is_empty() {
            crew.press(view.keys);
        }
        wait_composer(&crew, view.is);
        let answer = format!("answer-{number}");
        let text = format!("$(touch pwned-{number})\n@say {answer}");
        let receipt = crew.tell_within(&text, BEYOND_THE_LEASE);
        if !matches!(receipt.delivery, Delivery::Queued { .. }) || crew.server.submissions(&answer) != 0 {
            crew.fail(&format!("{:?} although view {number} is open", receipt.delivery));
        }
        if crew.server.submissions("old-answer") != 1 {
            crew.fail("an old prompt was submitted again");
        }
        crew.press(view.leave);
        crew.server.wait_request(|request| !request.is_side && request.prompt.contains(&answer), PATIENCE);
        assert!(!crew.home.workdir().join(format!("pwned-{number}")).exists(), "it ran as a command");
    }
}

#[test]
fn c17_claude_is_not_typed_into_while_another_view_is_open() {
    is_not_typed_into(Vendor::Claude, &[&SHELL, &SEARCH, &EDITOR]);
}

#[test]
fn c17_codex_is_not_typed_into_while_another_view_is_open() {
    is_not_typed_into(Vendor::Codex, &[&SHELL, &SEARCH, &EDITOR]);
}

#[test]
fn c17_gemini_is_not_typed_into_while_another_view_is_open() {
    let shell = View { leave: &["ctrl-u", "escape"], ..SHELL };
    is_not_typed_into(Vendor::Gemini, &[&shell, &SEARCH]);
}

//! What a person has open in a vendor's program is not typed into: shell mode, searches, editors, lists of sessions.

use std::time::{Duration, Instant};

use proto::AgentState;
use proto::agent::{Composer, Delivery};
use proto::request::{Explain, TypedInput, Write};
use testkit::model::ModelRequest;
use testkit::vendor::Vendor;

use crate::vendor_stage::{FakeAgents, NAME, TIMEOUT};

/// Longer than programs wait after a person's key: only the view holds a message back.
const BEYOND_THE_LEASE: Duration = Duration::from_millis(4_500);

/// One view: what opens it, what only it shows, what its composer counts as, and what closes it.
struct View {
    text: &'static str,
    keys: &'static [&'static str],
    shows: &'static str,
    is: Composer,
    leave: &'static [&'static str],
}

const SHELL: View =
    View { text: "!echo", keys: &[], shows: "", is: Composer::Shell, leave: &["ctrl-u", "backspace"] };
const SEARCH: View =
    View { text: "", keys: &["ctrl-r"], shows: "", is: Composer::Unknown, leave: &["escape"] };
const EDITOR: View =
    View { text: "", keys: &["ctrl-g"], shows: "", is: Composer::Unknown, leave: &[":", "q", "!", "enter"] };
/// In it Enter begins another session.
const CLAUDES_AGENTS: View = View {
    text: "",
    keys: &["left"],
    shows: "describe a task for a new session",
    is: Composer::Unknown,
    leave: &["escape"],
};
/// In it Enter goes on with another session.
const CODEX_RESUME: View = View {
    text: "/resume",
    keys: &["enter"],
    shows: "Resume a previous session",
    is: Composer::Unknown,
    leave: &["escape"],
};
const OPENCODES_SHELL: View = View { shows: "┃  echo", leave: &["ctrl-u", "escape"], ..SHELL };
const OPENCODES_SESSIONS: View =
    View { text: "", keys: &["ctrl-x", "l"], shows: "pin/unpin", is: Composer::Unknown, leave: &["escape"] };
const OPENCODES_EDITOR: View = View { keys: &["ctrl-x", "e"], shows: ".md\" 0L", ..EDITOR };

fn write(crew: &FakeAgents, input: TypedInput) {
    let write = Write { target: NAME.into(), input, submit: false, timeout_ms: None, key: None };
    crew.daemon.client().write(write).unwrap();
}

fn wait_composer(crew: &FakeAgents, wanted: Composer) {
    let until = Instant::now() + TIMEOUT;
    loop {
        let seen = crew.daemon.client().explain(Explain { target: NAME.into() }).unwrap().composer;
        match seen {
            seen if seen == wanted => return,
            _ if Instant::now() < until => testkit::process_scan::pause(Duration::from_millis(20)),
            seen => crew.fail(&format!("the composer is {seen:?}, not {wanted:?}")),
        }
    }
}

fn open(crew: &FakeAgents, view: &View) {
    crew.wait_state(&[AgentState::Idle]);
    if !view.text.is_empty() {
        write(crew, TypedInput::Text(view.text.to_owned()));
    }
    if !view.text.is_empty() && !view.keys.is_empty() {
        // Keys that come together with a text may count as a part of it.
        wait_composer(crew, Composer::Draft);
    }
    if !view.keys.is_empty() {
        crew.press(view.keys);
    }
    wait_composer(crew, view.is);
    is_shown(crew, view);
}

/// Waits until the screen has what only this view shows.
fn is_shown(crew: &FakeAgents, view: &View) {
    let until = Instant::now() + TIMEOUT;
    while !crew.daemon.screen(NAME).contains(view.shows) {
        if Instant::now() > until {
            crew.fail(&format!("{:?} is not shown", view.shows));
        }
        testkit::process_scan::pause(Duration::from_millis(20));
    }
}

/// Closes a view. One of them refuses to be closed for a moment after it was opened: then the keys are pressed again.
fn leave(crew: &FakeAgents, view: &View) {
    let until = Instant::now() + TIMEOUT;
    while Instant::now() < until {
        crew.press(view.leave);
        let again = Instant::now() + Duration::from_secs(3);
        while Instant::now() < again {
            if view.shows.is_empty() || !crew.daemon.screen(NAME).contains(view.shows) {
                return;
            }
            testkit::process_scan::pause(Duration::from_millis(50));
        }
    }
    crew.fail(&format!("{:?} is still shown", view.shows));
}

fn session(crew: &FakeAgents) -> Option<String> {
    crew.view().agent.and_then(|agent| agent.session)
}

fn is_not_typed_into(vendor: Vendor, views: &[&View]) {
    let crew = FakeAgents::seeded(vendor);
    crew.wait_state(&[AgentState::Idle]);
    let turn = crew.tell("please\n@say old-answer");
    crew.wait_turn(turn);
    for (number, view) in views.iter().enumerate() {
        open(&crew, view);
        let answer = format!("answer-{number}");
        let text = format!("$(touch pwned-{number})\n@say {answer}");
        let receipt = crew.tell_within(&text, BEYOND_THE_LEASE);
        if !matches!(receipt.delivery, Delivery::Queued { .. }) || crew.server.submissions(&answer) != 0 {
            crew.fail(&format!("{:?} although view {number} is open", receipt.delivery));
        }
        if crew.server.submissions("old-answer") != 1 {
            crew.fail("an old prompt was submitted again");
        }
        leave(&crew, view);
        crew.server.wait_request(|request| !request.is_side && request.prompt.contains(&answer), TIMEOUT);
        assert!(!crew.home.workdir().join(format!("pwned-{number}")).exists(), "it ran as a command");
        // One of the views gives the conversation a new id; its content stays.
        let is_own = |request: &ModelRequest| !request.is_side && request.prompt.contains(&answer);
        let request = crew.server.wait_request(is_own, TIMEOUT);
        if !request.texts.iter().any(|text| text.contains("old-answer")) {
            crew.fail("another conversation has it");
        }
    }
}

#[test]
fn c17_claude_is_not_typed_into_while_another_view_is_open() {
    is_not_typed_into(Vendor::Claude, &[&SHELL, &SEARCH, &EDITOR, &CLAUDES_AGENTS]);
}

#[test]
fn c17_codex_is_not_typed_into_while_another_view_is_open() {
    is_not_typed_into(Vendor::Codex, &[&SHELL, &SEARCH, &EDITOR, &CODEX_RESUME]);
}

#[test]
fn c17_gemini_is_not_typed_into_while_another_view_is_open() {
    let shell = View { leave: &["ctrl-u", "escape"], ..SHELL };
    is_not_typed_into(Vendor::Gemini, &[&shell, &SEARCH]);
}

/// Its server takes messages, so nothing has to be typed: what a person has open stays as it is.
#[test]
fn c17_opencode_takes_a_message_by_its_server_while_another_view_is_open() {
    let crew = FakeAgents::seeded(Vendor::Opencode);
    crew.wait_state(&[AgentState::Idle]);
    let turn = crew.tell("please\n@say old-answer");
    crew.wait_turn(turn);
    let own = session(&crew);
    for (number, view) in [&OPENCODES_SHELL, &OPENCODES_SESSIONS, &OPENCODES_EDITOR].iter().enumerate() {
        open(&crew, view);
        let answer = format!("answer-{number}");
        let turn = crew.tell(&format!("$(touch pwned-{number})\n@say {answer}"));
        let result = crew.wait_turn(turn);
        if result.text.trim() != answer || crew.server.submissions(&answer) != 1 || session(&crew) != own {
            crew.fail(&format!("view {number}: {result:?} in {:?}, not {own:?}", session(&crew)));
        }
        wait_composer(&crew, view.is);
        is_shown(&crew, view);
        assert!(!crew.home.workdir().join(format!("pwned-{number}")).exists(), "it ran as a command");
        leave(&crew, view);
        wait_composer(&crew, Composer::Empty);
    }
    assert_eq!(crew.server.submissions("old-answer"), 1, "an old prompt was submitted again");
}

/// The view makes a copy of the conversation in another process and shows that one from then on: state, session and
/// results are the copy's, also for the next daemon.
#[test]
fn c18_claude_is_followed_into_the_session_that_its_agents_view_makes() {
    let crew = FakeAgents::seeded(Vendor::Claude);
    crew.wait_state(&[AgentState::Idle]);
    let turn = crew.tell("please\n@say old-answer");
    crew.wait_turn(turn);
    let former = session(&crew);
    open(&crew, &CLAUDES_AGENTS);
    leave(&crew, &CLAUDES_AGENTS);
    wait_composer(&crew, Composer::Empty);
    for (number, dies) in [false, true].into_iter().enumerate() {
        let (gate, words) = (format!("gate-{number}"), format!("answer-{number}"));
        let turn = crew.tell(&format!("@gate {gate}\n@say {words}"));
        if dies {
            crew.daemon.kill_9();
        }
        crew.wait_state(&[AgentState::Working, AgentState::Thinking]);
        crew.server.open(&gate);
        let result = crew.wait_turn(turn);
        if result.text.trim() != words || result.from == "screen" || session(&crew) == former {
            crew.fail(&format!("dies: {dies}; {result:?} in {:?}, before {former:?}", session(&crew)));
        }
        crew.wait_state(&[AgentState::Idle]);
    }
}

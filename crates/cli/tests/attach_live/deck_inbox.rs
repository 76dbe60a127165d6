//! The inbox of the deck: an agent that asks is seen and answered by keys that are on the screen.

use proto::AgentState;
use proto::request::Until;
use testkit::FakeAgents;

use super::deck::SIZE;
use super::shown_keys::ShownKeys;
use super::window::Window;

fn crew() -> FakeAgents {
    FakeAgents::start(env!("CARGO_BIN_EXE_qd"), env!("CARGO_BIN_EXE_qd-agent-test"))
}

#[test]
fn u25_an_agent_that_asks_is_seen_in_the_rail_and_answered_from_the_inbox() {
    let crew = crew();
    crew.enlist("a", &[]);
    let mut window = Window::open(&crew, SIZE, &[]);
    let keys = ShownKeys::read(&mut window);
    window.until_shows("CREW");
    let turn = crew.submit("a", "ask Delete everything?\nsay done then");
    crew.until_state("a", AgentState::Blocked);
    window.until_shows("NEEDS YOU");
    keys.press_in_menu(&mut window, "a", "inbox");
    window.until_shows("a: Delete everything?");
    keys.press(&mut window, "3", "No");
    window.until_shows("answered");
    crew.wait_until("a", Until::Turn(turn));
    assert_eq!(crew.answers("a"), ["3"]);
    // Its turn is over: next goes there, and looking at it is enough.
    keys.press(&mut window, "q", "back");
    keys.press_in_menu(&mut window, "n", "next that needs you");
    window.until_shows("done then");
    keys.press_in_menu(&mut window, "d", "leave");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn u18_a_dialog_that_is_gone_leaves_the_inbox_and_no_key_answers_it() {
    let crew = crew();
    crew.enlist("a", &[]);
    let mut window = Window::open(&crew, SIZE, &[]);
    window.until_shows("CREW");
    crew.submit("a", "ask First?\nask Second?");
    window.type_keys("\u{1c}a");
    window.until_shows("a: First?");
    crew.answer(crew.item("a").item, "1").unwrap();
    window.until_shows("a: Second?");
    window.type_keys("9");
    window.until_shows("a has no answer 9");
    window.type_keys("3");
    window.until_shows("answered");
    crew.until_state("a", AgentState::Idle);
    assert_eq!((crew.answers("a"), crew.strays("a")), (vec!["1".to_owned(), "3".to_owned()], Vec::new()));
    window.type_keys("q\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn a_terminal_without_focus_is_asked_for_a_notice_when_an_agent_asks() {
    let crew = crew();
    crew.enlist("a", &[]);
    let mut window = Window::open(&crew, SIZE, &[]);
    window.until_shows("CREW");
    window.type_keys("\u{1b}[O");
    crew.submit("a", "ask Delete everything?");
    // The notice on the screen goes by itself after a while; the terminal was asked for one all the same.
    window.until_drawn(b"\x1b]9;qd: a needs you: Delete everything?\x1b\\");
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

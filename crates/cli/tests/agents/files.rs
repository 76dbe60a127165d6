//! Agents' files: the transcript gives results and context, the state file gives the state.

use proto::AgentState;
use proto::agent::Source;

use crate::crew;

fn percent(crew: &testkit::FakeAgents, name: &str) -> Option<u8> {
    crew.agent(name).context.and_then(|context| context.percent())
}

#[test]
fn a_transcript_gives_the_result_and_how_full_the_context_is() {
    let crew = crew();
    crew.enlist_filed("a", &[]);
    for (number, expected) in [(1, 10), (2, 20)] {
        let turn = crew.submit("a", &format!("say answer {number}"));
        let result = crew.result("a", turn);
        assert_eq!((result.text, result.from.as_str()), (format!("answer {number}"), "transcript"));
        crew.until_view("a", |view| {
            view.agent.as_ref().is_some_and(|agent| agent.context.and_then(|c| c.percent()) == Some(expected))
        });
    }
}

#[test]
fn c18_a_result_that_is_only_the_screen_says_so() {
    let crew = crew();
    let printed = |name: &str| String::from_utf8(crew.qd(&["result", name]).stdout).unwrap();
    let words = "(this is the screen at the end of the turn: the agent's own words could not be read)";
    crew.enlist("seen", &[]);
    let turn = crew.submit("seen", "say hello");
    assert_eq!(crew.result("seen", turn).from, "screen");
    assert!(printed("seen").contains(words), "{}", printed("seen"));
    crew.enlist_filed("read", &[]);
    let turn = crew.submit("read", "say hello");
    assert_eq!(crew.result("read", turn).from, "transcript");
    assert_eq!(printed("read").trim_end(), "hello");
}

#[test]
fn a_state_file_speaks_for_as_long_as_its_process_lives() {
    let crew = crew();
    crew.enlist_filed("a", &[]);
    crew.submit("a", "work 300");
    crew.until_view("a", |view| {
        view.agent.as_ref().and_then(|agent| agent.evidence.as_ref()).is_some_and(|winner| {
            winner.evidence.source == Source::StateFile && winner.evidence.state == Some(AgentState::Working)
        })
    });
    crew.until_state("a", AgentState::Idle);
    assert!(crew.explain("a").opinions.iter().any(|opinion| opinion.evidence.source == Source::StateFile));
}

#[test]
fn s1_context_and_state_file_are_known_to_the_next_daemon() {
    let crew = crew();
    crew.enlist_filed("a", &[]);
    let turn = crew.submit("a", "say before");
    crew.result("a", turn);
    crew.kill_9();
    crew.until_view("a", |view| view.agent.as_ref().is_some_and(|agent| agent.context.is_some()));
    assert_eq!(percent(&crew, "a"), Some(10));
    let turn = crew.submit("a", "say after");
    assert_eq!(crew.result("a", turn).text, "after");
    assert_eq!(crew.prompts("a"), ["say before", "say after"]);
}

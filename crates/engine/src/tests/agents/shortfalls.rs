//! What a launch lacks, and what a program said that ended before it took a prompt.

use proto::agent::{Composer, ItemKind};
use proto::request::{Explain, GiveAnswer};
use proto::{AgentState, Reply};

use super::scene::{Scene, agent};
use crate::{Command, Launched, RunFact};

const LACK: &str = "it runs without hooks";

fn lacking() -> Launched {
    Launched { shortfalls: vec![LACK.to_owned()], ..Launched::default() }
}

#[test]
fn c19_what_a_launch_lacks_is_in_the_view_and_in_the_inbox_until_it_is_dismissed() {
    let mut scene = Scene::with(agent("a"), lacking());
    assert_eq!(scene.view().shortfalls, [LACK]);
    let open = scene.item().unwrap();
    assert_eq!((open.kind, open.body.as_str()), (ItemKind::Failure, LACK));
    scene.fact(RunFact::Launched(lacking()));
    assert_eq!(scene.item().unwrap(), open, "the same launch opens nothing new");
    let answer = GiveAnswer { item: open.item, choice: "dismiss".to_owned(), ..GiveAnswer::default() };
    let ticket = scene.stage.ask(Command::Answer(answer));
    assert!(matches!(scene.stage.reply(ticket), Reply::Done(_)));
    scene.fact(RunFact::Launched(lacking()));
    assert_eq!(scene.item(), None, "what was dismissed once stays away");
    assert_eq!(scene.view().shortfalls, [LACK], "and is still shown with the agent");
}

#[test]
fn c22_a_program_that_ends_before_it_took_a_prompt_leaves_its_last_words_in_the_inbox() {
    let mut scene = Scene::with(agent("a"), lacking());
    scene.stage.exit(scene.run, 2);
    scene.fact(RunFact::LastLines("error: unexpected argument '--new'".to_owned()));
    let item = scene.item().unwrap();
    assert_eq!(item.title, "it ended before it took a prompt");
    for words in ["code 2", "unexpected argument '--new'", LACK] {
        assert!(item.body.contains(words), "{}", item.body);
    }
}

#[test]
fn c22_a_program_that_ends_behind_a_dialog_is_over_and_not_blocked_and_the_reason_is_its_exit() {
    let mut scene = Scene::with(agent("a"), Launched::default());
    scene.show_dialog("d");
    assert_eq!(scene.state(), AgentState::Blocked);
    scene.stage.exit(scene.run, 4);
    // The last look at its screen may come later than its end.
    scene.show_dialog("d");
    scene.look(Composer::Draft);
    assert_eq!(scene.state(), AgentState::Exited);
    let target = crate::tests::stage::target(scene.run);
    let ticket = scene.stage.ask(Command::Explain(Explain { target }));
    let Reply::Explanation(explanation) = scene.stage.reply(ticket) else { panic!("no explanation") };
    assert_eq!(explanation.why, "exited: its program exited with code 4");
    assert_eq!(explanation.composer, Composer::default());
}

//! Dialogs of programs on small screens, in forms and before their first prompt: all of them can be answered
//! from the inbox.

use std::time::{Duration, Instant};

use proto::agent::{BlockedKind, InboxItem, ItemKind};
use proto::request::{AgentRequest, GiveAnswer, PermissionMode, SizeRequest, Spawn};
use proto::{AgentState, Size};
use testkit::vendor::{Home, Vendor};
use testkit::{ModelServer, TestDaemon};

use crate::QD;
use crate::vendor_stage::{FakeAgents, TIMEOUT, shell_script};

/// Returns a program in this home, not started yet.
fn waiting(vendor: Vendor, home: impl Fn(Vendor, &ModelServer) -> Home) -> FakeAgents {
    let server = ModelServer::start();
    let home = home(vendor, &server);
    FakeAgents { daemon: TestDaemon::start(QD), home, server }
}

/// Returns a seeded program that gets its hooks whatever it demands of their file's place, not started yet.
fn waiting_with_hooks(vendor: Vendor) -> FakeAgents {
    let server = ModelServer::start();
    let home = Home::seeded(vendor, &server);
    FakeAgents { daemon: TestDaemon::start_below(QD, home.outside_tmp()), home, server }
}

fn small() -> SizeRequest {
    SizeRequest::from(Size { cols: 60, rows: 18 })
}

/// Answers the item that matches; one that is redrawn at that very moment is answered again.
fn answer(crew: &FakeAgents, choice: &str, is_it: impl Fn(&InboxItem) -> bool) -> InboxItem {
    let until = Instant::now() + TIMEOUT;
    loop {
        let item = item_about(crew, &is_it);
        let answer = GiveAnswer { item: item.item, choice: choice.to_owned(), ..GiveAnswer::default() };
        match crew.daemon.client().answer_item(answer) {
            Ok(()) => return item,
            Err(error) if Instant::now() > until => {
                crew.fail(&format!("{item:?} did not take {choice:?}: {error}"))
            }
            Err(_) => testkit::process_scan::pause(Duration::from_millis(100)),
        }
    }
}

/// Returns the item of the inbox that matches, once it is there.
fn item_about(crew: &FakeAgents, is_it: impl Fn(&InboxItem) -> bool) -> InboxItem {
    let until = Instant::now() + TIMEOUT;
    loop {
        match crew.daemon.client().inbox().unwrap().into_iter().find(|item| is_it(item)) {
            Some(item) => return item,
            None if Instant::now() < until => testkit::process_scan::pause(Duration::from_millis(20)),
            None => crew.fail(&format!("the inbox has {:?}", crew.daemon.client().inbox())),
        }
    }
}

fn is_onboarding(crew: &FakeAgents) {
    let kind = crew.view().agent.and_then(|agent| agent.evidence).and_then(|evidence| evidence.evidence.kind);
    if kind != Some(BlockedKind::Onboarding) {
        crew.fail(&format!("it is blocked by {kind:?}"));
    }
}

/// A text without spaces: where a line is broken says nothing about its content.
fn bare(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Starts a program on a small screen and has it ask for permission; returns the command.
fn asks_for_a_long_command(crew: &FakeAgents) -> String {
    crew.start(Spawn { size: small(), ..crew.spec(AgentRequest::default()) });
    crew.wait_state(&[AgentState::Idle]);
    let steps: Vec<String> = (0..60).map(|number| format!("echo step-{number}")).collect();
    let command = format!("touch made-by-agent && {}", steps.join(" && "));
    let script = shell_script(crew.home.vendor(), &command, "after-leave");
    crew.tell_within(&script, Duration::from_secs(1));
    command
}

/// Returns true if the item can be allowed and refused.
fn offers_both(item: &InboxItem) -> bool {
    let has = |name: &str| item.options.iter().any(|option| option.names.iter().any(|own| own == name));
    has("allow") && has("deny")
}

/// A long command on a screen of 60 columns and 18 rows: the whole command and every answer are in the inbox.
fn asks_on_a_small_screen(vendor: Vendor) {
    let crew = waiting_with_hooks(vendor);
    let command = asks_for_a_long_command(&crew);
    // The screen may show the dialog before the hook, the server or the rest of the screen has the command.
    let is_whole = |item: &InboxItem| bare(&item.body).contains(&bare(&command));
    answer(&crew, "deny", |item| offers_both(item) && is_whole(item));
    crew.wait_turn(1);
    assert!(!crew.home.workdir().join("made-by-agent").exists(), "it was refused");
}

#[test]
fn m20g_claude_on_a_small_screen_is_answered_from_the_inbox() {
    asks_on_a_small_screen(Vendor::Claude);
}

#[test]
fn m20g_codex_on_a_small_screen_is_answered_from_the_inbox() {
    asks_on_a_small_screen(Vendor::Codex);
}

#[test]
fn m20g_gemini_on_a_small_screen_is_answered_from_the_inbox() {
    asks_on_a_small_screen(Vendor::Gemini);
}

#[test]
fn m20g_opencode_on_a_small_screen_is_answered_from_the_inbox() {
    asks_on_a_small_screen(Vendor::Opencode);
}

/// Without hooks only the screen has the command while the dialog is open, and the program hides a part of it: the item says
/// so. Its transcript has a request only after the answer.
#[test]
fn m20g_gemini_without_hooks_says_that_its_small_screen_cannot_show_the_whole_command() {
    let crew = waiting(Vendor::Gemini, Home::seeded);
    let command = asks_for_a_long_command(&crew);
    let says_it = |item: &InboxItem| item.body.ends_with("hides a part of it: attach to read it)");
    let item = answer(&crew, "deny", |item| offers_both(item) && says_it(item));
    assert!(!bare(&item.body).contains(&bare(&command)), "{item:?}");
    crew.wait_turn(1);
    assert!(!crew.home.workdir().join("made-by-agent").exists(), "it was refused");
}

/// Returns claude with Quarterdeck's tools allowed, on a small screen, ready for a prompt.
fn claude_with_tools() -> FakeAgents {
    let crew = waiting(Vendor::Claude, Home::seeded);
    let spec = crew.spec(AgentRequest::default());
    let argv = vec!["claude".to_owned(), "--allowedTools=mcp__quarterdeck".to_owned()];
    crew.start(Spawn { argv, size: small(), ..spec });
    crew.wait_state(&[AgentState::Idle]);
    crew
}

fn offers(item: &InboxItem, label: &str) -> bool {
    item.options.iter().any(|option| option.label == label)
}

#[test]
fn m20h_what_claude_asks_by_its_own_tool_is_in_the_inbox_with_its_answers() {
    let crew = claude_with_tools();
    let tool = "AskUserQuestion {\"questions\":[{\"question\":\"Which database?\",\"header\":\"Database\",\
        \"multiSelect\":false,\"options\":[{\"label\":\"red\",\"description\":\"a\"},\
        {\"label\":\"blue\",\"description\":\"b\"}]}]}";
    // The dialog may be there before the message counts as submitted.
    crew.tell_within(&format!("@tool {tool}\n@say thanks"), Duration::from_secs(1));
    answer(&crew, "blue", |item| item.title == "Which database?" && offers(item, "blue"));
    crew.wait_turn(1);
}

#[test]
fn m20h_what_claude_asks_through_ask_human_is_in_the_inbox_with_its_options() {
    let crew = claude_with_tools();
    let ask = "mcp__quarterdeck__ask_human {\"question\":\"Which colour?\",\"options\":[\"red\",\"blue\"]}";
    crew.tell_within(&format!("@tool {ask}\n@say thanks"), Duration::from_secs(1));
    let item = answer(&crew, "blue", |item| item.title == "Which colour?" && offers(item, "blue"));
    assert_eq!((item.kind, item.options.len()), (ItemKind::Question, 2), "{item:?}");
    // The answer has reached the model, as the tool's result or as a message. The program may also move a call that
    // waits to the background: then it shows that the call is over, and brings the result with its next request.
    let is_told = |text: &String| text.contains("blue") && !text.contains("@tool");
    let has_answer =
        |request: &testkit::model::ModelRequest| request.results.iter().chain(&request.texts).any(is_told);
    testkit::process_scan::eventually("the answer at the model", || {
        let is_over = crew.daemon.screen("fix").contains("ask_human) completed");
        (is_over || crew.server.requests().iter().any(has_answer)).then_some(())
    });
    assert_eq!(crew.daemon.client().inbox().unwrap(), Vec::new());
}

#[test]
fn m20i_codexs_folder_trust_is_answered_from_the_inbox() {
    let crew = waiting(Vendor::Codex, Home::untrusted);
    // The program asks only about a folder with something in it.
    std::fs::create_dir(crew.home.workdir().join(".git")).unwrap();
    std::fs::write(crew.home.workdir().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    crew.start(Spawn { size: small(), ..crew.spec(AgentRequest::default()) });
    item_about(&crew, |item| item.title == "Trust this folder?" && item.options.len() == 2);
    is_onboarding(&crew);
    answer(&crew, "trust", |item| item.title == "Trust this folder?");
    crew.wait_state(&[AgentState::Idle]);
}

#[test]
fn m20i_claudes_first_dialogs_are_answered_from_the_inbox() {
    let crew = waiting(Vendor::Claude, Home::empty);
    std::fs::remove_file(crew.home.home().join(".claude/.claude.json")).unwrap();
    let mut spec = crew.spec(AgentRequest::default());
    // With this provider it does not look for the vendor in the network first.
    spec.env.remove("CLAUDE_CODE_OAUTH_TOKEN");
    for (name, value) in [("CLAUDE_CODE_USE_BEDROCK", "1"), ("AWS_REGION", "us-east-1")] {
        spec.env.insert(name.to_owned(), value.to_owned());
    }
    crew.start(Spawn { size: small(), ..spec });
    let item = item_about(&crew, |item| item.title.starts_with("Choose the text style"));
    is_onboarding(&crew);
    assert_eq!(item.options.len(), 7, "all of them, although the screen shows three: {item:?}");
    answer(&crew, "Light mode (ANSI colors only)", |item| item.title.starts_with("Choose the text style"));
    answer(&crew, "continue", |item| item.title == "Security notes:");
    answer(&crew, "trust", |item| item.title.starts_with("Quick safety check"));
}

#[test]
fn m20i_geminis_form_for_a_key_is_answered_from_the_inbox() {
    let crew = waiting(Vendor::Gemini, Home::seeded);
    let mut spec = crew.spec(AgentRequest::default());
    spec.env.remove("GEMINI_API_KEY");
    crew.start(Spawn { size: small(), ..spec });
    item_about(&crew, |item| item.title == "Enter Gemini API Key");
    is_onboarding(&crew);
    answer(&crew, "sk-scripted-0001", |item| item.title == "Enter Gemini API Key");
    assert!(!crew.daemon.screen("fix").contains("sk-scripted"), "a key is not shown");
}

#[test]
fn m20i_claudes_warning_before_it_asks_nothing_is_answered_from_the_inbox() {
    let crew = waiting(Vendor::Claude, Home::seeded);
    let mut spec = crew.spec(AgentRequest { mode: Some(PermissionMode::Auto), ..AgentRequest::default() });
    // As root it starts in this mode only where it takes the system for a sandbox.
    spec.env.insert("IS_SANDBOX".to_owned(), "1".to_owned());
    crew.start(Spawn { size: small(), ..spec });
    let is_warning =
        |item: &InboxItem| item.title.starts_with("By proceeding, you accept all responsibility");
    let item = item_about(&crew, is_warning);
    is_onboarding(&crew);
    assert!(item.body.contains("will not ask for"), "{item:?}");
    answer(&crew, "accept", is_warning);
    crew.wait_state(&[AgentState::Idle]);
}

/// The model wants the same command twice, one after the other: the two dialogs read the same.
#[test]
fn m20j_an_answer_to_claudes_first_dialog_is_not_taken_for_one_to_the_same_that_follows() {
    let crew = waiting(Vendor::Claude, Home::seeded);
    crew.start(crew.spec(AgentRequest::default()));
    crew.wait_state(&[AgentState::Idle]);
    let once = shell_script(Vendor::Claude, "echo ran >> made-by-agent", "over");
    let (tool, say) = once.split_once('\n').unwrap();
    crew.tell_within(&format!("{tool}\n{tool}\n{say}"), Duration::from_secs(1));
    let asks = |item: &InboxItem| item.body.contains("made-by-agent") && !item.options.is_empty();
    let first = answer(&crew, "allow", asks);
    let second = answer(&crew, "deny", |item| asks(item) && item.item != first.item);
    assert_ne!(first.item, second.item);
    let ran = || std::fs::read_to_string(crew.home.workdir().join("made-by-agent")).unwrap_or_default();
    crew.wait_turn(1);
    assert_eq!(ran(), "ran\n", "the second one was refused");
}

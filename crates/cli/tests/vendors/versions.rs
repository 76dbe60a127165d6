//! What must work with every supported version of a vendor's program, as a list of scenarios. CI runs them with the
//! pinned versions; `cargo xtask vendors` runs them with others and collects what they write into `QD_VENDOR_REPORT`.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use proto::agent::{ItemKind, Turn, TurnEnd};
use proto::request::{AgentRequest, AskResult, Kill, Resume, Spawn, Until, Wait};
use proto::{AgentState, Size};
use testkit::vendor::{Home, Vendor};
use testkit::{ModelServer, TestDaemon};

use crate::QD;
use crate::vendor_stage::{self, FakeAgents, NAME, shell_script};

/// What fits a terminal as it is opened by most programs.
const SMALL: Size = Size { cols: 80, rows: 24 };
/// The first answer takes long to come and then streams, each for longer than a hook alone counts.
const STREAM: &str =
    "@slow 4\n@drip 4 one two three four five six seven eight nine ten eleven streamed-answer";
/// A version that does not do something at all is not waited for as long as a busy machine would need.
const TIMEOUT: Duration = Duration::from_secs(60);

type Scenario = (&'static str, fn(&FakeAgents));

const SCENARIOS: [Scenario; 7] = [
    ("starts", starts),
    ("working while it streams", works_while_it_streams),
    ("prompt at spawn has its result", answers_the_prompt_at_spawn),
    ("dialog answered", has_a_dialog_answered),
    ("failure seen", shows_a_failure),
    ("interrupted", is_interrupted),
    ("resumed", is_resumed),
];

/// The first start of one of them in a fresh home takes long.
fn starts(crew: &FakeAgents) {
    let is_first = |request: &testkit::model::ModelRequest| request.prompt.contains("streamed-answer");
    if crew
        .server
        .find_request(|request| !request.is_side && is_first(request), vendor_stage::TIMEOUT)
        .is_none()
    {
        crew.fail("the prompt of the spawn never reached the model");
    }
}

/// From its request to its end the turn never counts as over.
fn works_while_it_streams(crew: &FakeAgents) {
    let is_streaming = || {
        let requests = crew.server.requests();
        let own = requests.iter().rev().find(|request| !request.is_side);
        own.is_some_and(|request| request.outcome.is_none())
    };
    wait_state(crew, &[AgentState::Working, AgentState::Thinking]);
    while is_streaming() {
        let state = crew.view().state;
        if is_streaming() && !matches!(state, Some(AgentState::Working | AgentState::Thinking)) {
            crew.fail(&format!("it is {state:?} while it streams"));
        }
        testkit::process_scan::pause(Duration::from_millis(50));
    }
}

fn wait(crew: &FakeAgents, until: Until, told: &str) {
    let timeout_ms = u64::try_from(TIMEOUT.as_millis()).ok();
    let wait = Wait { timeout_ms, ..Wait::until(vec![NAME.into()], until) };
    if let Err(error) = crew.daemon.client().wait(wait) {
        crew.fail(&format!("{told}: {error}"));
    }
}

fn wait_state(crew: &FakeAgents, states: &[AgentState]) {
    wait(crew, Until::State(states.to_vec()), &format!("state {states:?}"));
}

fn turn_of(crew: &FakeAgents, turn: u64) -> Turn {
    wait(crew, Until::Turn(turn), &format!("end of turn {turn}"));
    let result = crew.daemon.client().result(AskResult { target: NAME.into(), turn: Some(turn) });
    result.unwrap_or_else(|error| crew.fail(&format!("no result of turn {turn}: {error}")))
}

fn answers_the_prompt_at_spawn(crew: &FakeAgents) {
    let result = turn_of(crew, 1);
    if !result.text.contains("eleven streamed-answer") || result.end != TurnEnd::Done {
        crew.fail(&format!("the result is {result:?}"));
    }
}

fn has_a_dialog_answered(crew: &FakeAgents) {
    wait_state(crew, &[AgentState::Idle]);
    let turn = crew.tell(&shell_script(crew.home.vendor(), "touch made-by-agent", "after-leave"));
    let item = crew.wait_item();
    if crew.view().state != Some(AgentState::Blocked) {
        crew.fail("it asks and is not blocked");
    }
    crew.answer(item.item, "allow");
    let result = turn_of(crew, turn);
    if !result.text.contains("after-leave") || !crew.home.workdir().join("made-by-agent").exists() {
        crew.fail(&format!("the result is {result:?}"));
    }
}

fn shows_a_failure(crew: &FakeAgents) {
    wait_state(crew, &[AgentState::Idle]);
    let turn = crew.tell("@fail 400");
    wait_state(crew, &[AgentState::Error]);
    let result = turn_of(crew, turn);
    if result.end != TurnEnd::Failed {
        crew.fail(&format!("the turn ended as {result:?}"));
    }
    carries_the_vendors_words(crew);
}

/// The item of a failure has what the program shows of it, which is what its server said.
fn carries_the_vendors_words(crew: &FakeAgents) {
    let until = Instant::now() + TIMEOUT;
    loop {
        let inbox = crew.daemon.client().inbox().unwrap();
        let mut failures = inbox.iter().filter(|item| item.kind == ItemKind::Failure);
        if failures.any(|item| format!("{} {}", item.title, item.body).contains("scripted failure")) {
            return;
        }
        if Instant::now() > until {
            crew.fail(&format!("the failure is not in the vendor's words: {inbox:?}"));
        }
        testkit::process_scan::pause(Duration::from_millis(50));
    }
}

fn is_interrupted(crew: &FakeAgents) {
    wait_state(crew, &[AgentState::Idle, AgentState::Error]);
    let turn = crew.tell("@hang now");
    wait_state(crew, &[AgentState::Working, AgentState::Thinking]);
    crew.server.wait_request(|request| request.prompt.contains("@hang"), TIMEOUT);
    let interrupt = proto::request::Interrupt { target: NAME.into() };
    if let Err(error) = crew.daemon.client().interrupt(interrupt) {
        crew.fail(&format!("it is not interrupted: {error}"));
    }
    let result = turn_of(crew, turn);
    if result.end != TurnEnd::Interrupted {
        crew.fail(&format!("the turn ended as {result:?}"));
    }
}

fn is_resumed(crew: &FakeAgents) {
    let Some(session) = crew.view().agent.and_then(|agent| agent.session) else {
        crew.fail("its session is not known")
    };
    crew.daemon.client().kill(Kill { target: NAME.into(), signal: None, grace_ms: None }).unwrap();
    crew.wait_exit();
    crew.daemon.client().resume(Resume { target: NAME.into(), ..Resume::default() }).unwrap();
    wait_state(crew, &[AgentState::Idle]);
    let turn = crew.tell_resumed("@say resumed-answer");
    let result = turn_of(crew, turn);
    if !result.text.contains("resumed-answer") {
        crew.fail(&format!("the result is {result:?}"));
    }
    let request = crew.server.wait_request(|request| request.prompt.contains("resumed-answer"), TIMEOUT);
    let is_continued = request.texts.iter().any(|text| text.contains("streamed-answer"));
    if !is_continued || crew.view().agent.and_then(|agent| agent.session) != Some(session) {
        crew.fail("the resumed session is another one");
    }
}

/// Returns a program that gets everything, wherever its files must be for that.
fn unrestricted(vendor: Vendor) -> FakeAgents {
    let server = ModelServer::start();
    let home = Home::seeded(vendor, &server);
    FakeAgents { daemon: TestDaemon::start_below(QD, home.outside_tmp()), home, server }
}

/// Runs every scenario, also after one that failed, and records each; returns the names of those that failed.
fn run_all(crew: &FakeAgents, record: impl Fn(&str, bool)) -> Vec<&'static str> {
    let agent = AgentRequest { prompt: Some(STREAM.to_owned()), ..AgentRequest::default() };
    crew.start(Spawn { size: SMALL.into(), ..crew.spec(agent) });
    let mut failed = Vec::new();
    for (name, scenario) in SCENARIOS {
        let outcome = catch_unwind(AssertUnwindSafe(|| scenario(crew)));
        record(name, outcome.is_ok());
        if outcome.is_err() {
            failed.push(name);
        }
    }
    failed
}

/// Appends one line to the report, if one is wanted.
fn report(vendor: Vendor, scenario: &str, is_met: bool) {
    let Some(path) = std::env::var_os("QD_VENDOR_REPORT") else { return };
    let line = serde_json::json!({
        "vendor": vendor.name(), "version": vendor.version(), "scenario": scenario, "met": is_met,
    });
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    writeln!(file, "{line}").unwrap();
}

fn meets_every_scenario(vendor: Vendor) {
    let failed = run_all(&unrestricted(vendor), |scenario, is_met| report(vendor, scenario, is_met));
    assert!(failed.is_empty(), "{} {} fails: {failed:?}", vendor.name(), vendor.version());
}

#[test]
fn c22_claude_meets_every_scenario() {
    meets_every_scenario(Vendor::Claude);
}

#[test]
fn c22_codex_meets_every_scenario() {
    meets_every_scenario(Vendor::Codex);
}

#[test]
fn c22_opencode_meets_every_scenario() {
    meets_every_scenario(Vendor::Opencode);
}

#[test]
fn c22_c19_gemini_meets_every_scenario() {
    meets_every_scenario(Vendor::Gemini);
}

/// Below a directory that others may write to it gets neither hooks nor tools: its screen, its title and its transcript
/// are all there is.
#[test]
fn c19_gemini_without_hooks_meets_every_scenario() {
    let server = ModelServer::start();
    let home = Home::seeded(Vendor::Gemini, &server);
    let crew = FakeAgents { daemon: TestDaemon::start(QD), home, server };
    let failed = run_all(&crew, |_, _| {});
    let shortfalls = crew.view().agent.map(|agent| agent.shortfalls).unwrap_or_default();
    assert!(shortfalls.iter().any(|lack| lack.contains("without hooks")), "it has them: {shortfalls:?}");
    assert!(failed.is_empty(), "it fails: {failed:?}");
}

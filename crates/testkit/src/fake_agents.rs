//! A daemon with agents whose program is a fake one: their manifests, their logs and waits for their states.
//! `vendor` has the real programs.

use std::fs::DirBuilder;
use std::ops::Deref;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use client::ClientError;
use proto::agent::{AgentView, Delivery, Explanation, InboxItem, ItemKind, MailId, Receipt, Turn};
use proto::reply::Spawned;
use proto::request::{AskReceipt, AskResult, Empty, Explain, GiveAnswer, Spawn, Target, Tell, Until, Wait};
use proto::{AgentState, Event, Failure, Kind, Reply, Request};
use serde_json::Value;

use crate::{DEADLINE, MarkedDaemon, TestDaemon};

/// A daemon with fake agents.
#[derive(Debug)]
pub struct FakeAgents {
    stage: MarkedDaemon,
}

impl FakeAgents {
    /// Starts a daemon of the `qd` at `exe` with the agents `fake` (known only by its screen), `hooked`
    /// (which also runs hooks) and `filed` (which also writes a transcript and its state), all with the
    /// program at `program`.
    #[must_use]
    pub fn start(exe: impl Into<PathBuf>, program: impl Into<PathBuf>) -> Self {
        let daemon = TestDaemon::without_start(exe);
        let agents = daemon.dirs().config.join("agents");
        DirBuilder::new().recursive(true).mode(0o700).create(&agents).expect("a directory can be made");
        let program = program.into();
        write(&agents.join("fake.toml"), &fake(&program, ""));
        write(&agents.join("hooked.toml"), &fake(&program, HOOKS));
        write(&agents.join("filed.toml"), &fake(&program, FILES));
        Self { stage: MarkedDaemon::around(daemon) }
    }

    /// Trusts the manifests of the fake agents as a person, so that processes may start them.
    pub fn trust_agents(&self) {
        for name in ["fake", "hooked", "filed"] {
            self.trust_agent(name, self.root());
        }
    }

    /// Returns the spawn request of an agent.
    #[must_use]
    pub fn agent_spec(&self, manifest: &str, name: &str, words: &[&str]) -> Spawn {
        let log = self.log_path(name).display().to_string();
        let own = [manifest, "--log", &log];
        let argv = own.iter().chain(words).map(|word| (*word).to_owned()).collect();
        Spawn { kind: Kind::Agent, ..self.stage.spec(name, argv) }
    }

    /// Starts a fake agent and waits until it accepts prompts.
    pub fn enlist(&self, name: &str, words: &[&str]) -> Spawned {
        let spawned = self.spawn_as(self.agent_spec("fake", name, words));
        self.until_state(name, AgentState::Idle);
        spawned
    }

    /// Starts a fake agent that runs hooks and waits until it accepts prompts.
    pub fn enlist_hooked(&self, name: &str, words: &[&str]) -> Spawned {
        let spawned = self.spawn_as(self.agent_spec("hooked", name, words));
        self.until_state(name, AgentState::Idle);
        spawned
    }

    /// Starts a fake agent that leaves files and waits until it accepts prompts.
    pub fn enlist_filed(&self, name: &str, words: &[&str]) -> Spawned {
        let mut spec = self.agent_spec("filed", name, words);
        spec.env.insert("FAKE_HOME".to_owned(), self.root().join("fake").display().to_string());
        let spawned = self.spawn_as(spec);
        self.until_state(name, AgentState::Idle);
        spawned
    }

    /// Waits until the delivery of a message is final and returns it.
    #[must_use]
    pub fn final_delivery(&self, mail: MailId) -> Delivery {
        let mut events = self.subscriber();
        let now = match self.client().call(Request::Receipt(AskReceipt { mail })) {
            Ok(Reply::Receipt(receipt)) => receipt.delivery,
            other => self.fail(&format!("{other:?}")),
        };
        if now.is_final() {
            return now;
        }
        let is_final = |event: &Event| matches!(event, Event::Mail(told) if told.mail == mail && told.delivery.is_final());
        match self.until_event(&mut events, is_final).pop() {
            Some(Event::Mail(told)) => told.delivery,
            other => self.fail(&format!("{other:?}")),
        }
    }

    /// Waits until the agent is in this state.
    pub fn until_state(&self, name: &str, state: AgentState) {
        self.wait_until(name, Until::State(vec![state]));
    }

    /// Waits until the agent meets a condition.
    pub fn wait_until(&self, name: &str, until: Until) {
        let timeout_ms = u64::try_from(DEADLINE.as_millis()).ok();
        let wait = Wait { timeout_ms, ..Wait::until(vec![Target::from(name)], until.clone()) };
        if let Err(error) = self.client().wait(wait) {
            self.fail(&format!("{name} {until:?}: {error}\n{}\n{}", self.screen(name), self.explained(name)));
        }
    }

    /// Returns the agent's view.
    #[must_use]
    pub fn agent(&self, name: &str) -> AgentView {
        *self.process(name).agent.unwrap_or_else(|| self.fail(&format!("{name} is no agent")))
    }

    /// Sends the agent a message and waits until its delivery is known.
    pub fn tell(&self, name: &str, text: &str) -> Receipt {
        let wait_ms = u64::try_from(DEADLINE.as_millis()).ok();
        self.tell_as(Tell {
            target: name.into(),
            text: text.to_owned(),
            key: None,
            wait_ms,
            expires_ms: None,
        })
    }

    /// Gives a message.
    pub fn tell_as(&self, tell: Tell) -> Receipt {
        match self.ask(Request::Tell(tell)) {
            Reply::Receipt(receipt) => receipt,
            other => self.fail(&format!("tell was answered with {other:?}")),
        }
    }

    /// Sends the agent a message that must be submitted; returns the turn that it began.
    pub fn submit(&self, name: &str, text: &str) -> u64 {
        let receipt = self.tell(name, text);
        match receipt.delivery {
            Delivery::Submitted { turn } => turn,
            other => self.fail(&format!(
                "{text:?} was not submitted but {other:?}\n{}\n{}",
                self.screen(name),
                self.explained(name)
            )),
        }
    }

    /// Returns a finished turn.
    pub fn result(&self, name: &str, turn: u64) -> Turn {
        self.wait_until(name, Until::Turn(turn));
        match self.ask(Request::Result(AskResult { target: name.into(), turn: Some(turn) })) {
            Reply::Turn(turn) => turn,
            other => self.fail(&format!("result was answered with {other:?}")),
        }
    }

    /// Returns the inbox.
    pub fn inbox(&self) -> Vec<InboxItem> {
        match self.ask(Request::Inbox(Empty {})) {
            Reply::Inbox(items) => items,
            other => self.fail(&format!("inbox was answered with {other:?}")),
        }
    }

    /// Waits until the inbox has a dialog of this agent.
    pub fn item(&self, name: &str) -> InboxItem {
        self.item_of(name, ItemKind::Dialog)
    }

    /// Waits until the inbox has something of this kind about this agent.
    pub fn item_of(&self, name: &str, kind: ItemKind) -> InboxItem {
        let is_meant = |item: &InboxItem| item.name.as_str() == name && item.kind == kind;
        let mut subscriber = self.subscriber();
        let known = self.inbox().into_iter().find(is_meant);
        known.unwrap_or_else(|| {
            let is_it = |event: &Event| matches!(event, Event::ItemOpened(item) if is_meant(item));
            match self.until_event(&mut subscriber, is_it).pop() {
                Some(Event::ItemOpened(item)) => *item,
                other => self.fail(&format!("no item but {other:?}")),
            }
        })
    }

    /// Answers an item; returns the daemon's error if it refuses.
    pub fn answer(&self, item: u64, choice: &str) -> Result<(), Failure> {
        match self.client().call(Request::Answer(GiveAnswer {
            item,
            choice: choice.to_owned(),
            ..GiveAnswer::default()
        })) {
            Ok(_) => Ok(()),
            Err(ClientError::Failed(failure)) => Err(failure),
            Err(other) => self.fail(&format!("not answered: {other}")),
        }
    }

    /// Returns all evidence about the agent.
    pub fn explain(&self, name: &str) -> Explanation {
        match self.ask(Request::Explain(Explain { target: name.into() })) {
            Reply::Explanation(explanation) => *explanation,
            other => self.fail(&format!("explain was answered with {other:?}")),
        }
    }

    fn explained(&self, name: &str) -> String {
        serde_json::to_string_pretty(&self.explain(name)).unwrap_or_default()
    }

    /// Returns the log of the agent's program, one value per line.
    #[must_use]
    pub fn log(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.log_path(name)).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Returns the prompts that it accepted, in order.
    #[must_use]
    pub fn prompts(&self, name: &str) -> Vec<String> {
        let text = |line: &Value| line["prompt"].as_str().map(str::to_owned);
        self.log(name).iter().filter_map(text).collect()
    }

    /// Returns the answers it got, in order.
    #[must_use]
    pub fn answers(&self, name: &str) -> Vec<String> {
        let text = |line: &Value| line["answer"].as_str().map(str::to_owned);
        self.log(name).iter().filter_map(text).collect()
    }

    /// Keys typed into its dialogs that are no answer.
    #[must_use]
    pub fn strays(&self, name: &str) -> Vec<Value> {
        self.log(name).into_iter().filter(|line| line.get("stray").is_some()).collect()
    }

    fn log_path(&self, name: &str) -> PathBuf {
        self.stage.root().join(format!("{name}.log"))
    }

    fn ask(&self, request: Request) -> Reply {
        let told = format!("{request:?}");
        self.client().call(request).unwrap_or_else(|error| self.fail(&format!("{told}: {error}")))
    }
}

impl Deref for FakeAgents {
    type Target = MarkedDaemon;

    fn deref(&self) -> &MarkedDaemon {
        &self.stage
    }
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a file can be written");
}

/// Returns a manifest of the fake agent's program.
fn fake(program: &Path, more: &str) -> String {
    let program = program.display();
    let confirm = match more {
        "" => "screen",
        FILES => "state_file",
        _ => "hook",
    };
    format!(
        r#"argv = ["{program}"]
version_argv = ["{program}", "--version"]
unset = ["FAKE_SESSION"]

[session]
choose = ["--session-id", "{{session}}"]
resume = ["--resume", "{{session}}"]

[deliver]
interrupt = ["esc"]
confirm = ["{confirm}"]
{SCREEN}{more}"#
    )
}

/// The rules for its screen.
const SCREEN: &str = r"
[composer]
region = 'bottom(3)'
prompt = '^>(?: (?<text>.*))?$'
shell = '^! '
shell_prefix = '!'
folds = ['^\[Pasted [0-9]+ lines\]$']

[[rule]]
id = 'working'
region = 'bottom(4)'
pattern = '^\* Working…'
verdict = 'working'

[[rule]]
id = 'ready'
region = 'bottom(3)'
pattern = '^>'
verdict = 'idle'

[[rule]]
id = 'failed'
region = 'bottom(4)'
pattern = '^Error: (?<message>.*)$'
message = 'message'
verdict = 'error'

[[dialog]]
id = 'ask'
kind = 'permission'
region = 'bottom(6)'
anchors = ['^\[\?\] ', '^  1\. ']
title = '^\[\?\] (?<title>.*)$'
options = { style = 'lines', line = '^  (?<number>[0-9])\. (?<label>.+)$', press = 'digit' }
names = { allow = '^Yes$', always = 'always', deny = '^No$' }

[[background]]
id = 'shells'
region = 'bottom(1)'
pattern = '^(?<count>[0-9]+) shells running'

[trim]
rows = ['^>', '^\* Working…', '^you: ']
";

/// Its hooks.
const HOOKS: &str = r#"
[hooks]
inject = "flag"
argument = ["--settings={file}"]
file = "settings.json"
under = "hooks"
entry = [{ hooks = [{ type = "command", command = "{hook}", timeout = "{timeout}" }] }]
event_at = "/hook_event_name"
session_at = "/session_id"
text_at = "/last_assistant_message"
child_at = ["/agent_id"]

[hooks.answer.allow]
decision = "allow"

[hooks.answer.deny]
decision = "deny"
reason = "{text}"

[hooks.answer.continue]
decision = "block"
reason = "{text}"

[[hooks.event]]
id = "session-start"
event = "SessionStart"
state = "idle"

[[hooks.event]]
id = "prompt"
event = "UserPromptSubmit"
state = "working"
moment = "prompt_submitted"

[[hooks.event]]
id = "permission"
event = "PermissionRequest"
state = "blocked"
kind = "permission"
moment = "permission_asked"
title = "{/tool_name}"
body = "{/tool_input/command}"

[[hooks.event]]
id = "stop"
event = "Stop"
state = "idle"
moment = "turn_ended"
"#;

/// The files that it leaves.
const FILES: &str = r#"
[context]
default = 200000

[transcript]
root = { env = "FAKE_HOME", below_home = ".fake" }
path = "sessions/{session}.jsonl"

[[transcript.line]]
id = "prompt"
when = { "/type" = "prompt" }
prompt = true
session = "/session"

[[transcript.line]]
id = "answer"
when = { "/type" = "answer" }
text = "/text"
used = ["/used"]

[[transcript.line]]
id = "over"
when = { "/type" = "over" }
end = "done"

[state_file]
root = { env = "FAKE_HOME", below_home = ".fake" }
path = "state/{pid}.json"
pid = "/pid"
started = "/started"

[[state_file.state]]
id = "working"
when = { "/status" = "working" }
state = "working"

[[state_file.state]]
id = "idle"
when = { "/status" = ["idle", "done"] }
state = "idle"
"#;

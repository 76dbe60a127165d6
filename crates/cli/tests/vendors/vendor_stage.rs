//! One real program in one private daemon, and the operations that every test uses. A failure shows the state
//! with its evidence and the screen.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use proto::agent::{Delivery, InboxItem, Receipt, Turn};
use proto::request::{
    AgentRequest, AskResult, Close, Empty, Explain, GiveAnswer, ReadMode, SizeRequest, Spawn, Tell,
    TypedInput, Until, Wait, Write,
};
use proto::{AgentState, Kind, ProcessView, Size};
use testkit::vendor::{Home, Vendor};
use testkit::{ModelServer, TestDaemon};

use crate::QD;

/// The slowest of them needs ten seconds to its first prompt, and the machine may be busy.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);
/// The name of every agent here.
pub(crate) const NAME: &str = "fix";

/// A daemon with one vendor's program.
pub(crate) struct FakeAgents {
    // Dropped in this order: the daemon ends its agents before their home and their model are removed.
    pub(crate) daemon: TestDaemon,
    pub(crate) home: Home,
    pub(crate) server: ModelServer,
}

impl FakeAgents {
    /// Returns a program whose user has used it before, running.
    pub(crate) fn seeded(vendor: Vendor) -> Self {
        let server = ModelServer::start();
        let home = Home::seeded(vendor, &server);
        let crew = Self { daemon: TestDaemon::start(QD), home, server };
        crew.spawn(AgentRequest::default());
        crew
    }

    /// Returns a program that starts for the first time, running.
    pub(crate) fn newcomer(vendor: Vendor) -> Self {
        let server = ModelServer::start();
        let home = Home::empty(vendor, &server);
        let crew = Self { daemon: TestDaemon::start(QD), home, server };
        crew.spawn(AgentRequest::default());
        crew
    }

    /// Starts the program as `qd spawn --kind agent` does.
    pub(crate) fn spawn(&self, agent: AgentRequest) {
        self.start(self.spec(agent));
    }

    /// Returns the request of such a start.
    pub(crate) fn spec(&self, agent: AgentRequest) -> Spawn {
        let argv = vec![self.home.vendor().name().to_owned()];
        Spawn {
            kind: Kind::Agent,
            name: Some(NAME.to_owned()),
            argv,
            cwd: Some(self.home.workdir().display().to_string()),
            size: SizeRequest::from(Size { cols: 120, rows: 40 }),
            env: self.environment(),
            agent,
            ..Spawn::default()
        }
    }

    /// Starts the program like this.
    pub(crate) fn start(&self, spawn: Spawn) {
        if let Err(error) = self.daemon.client().spawn(spawn) {
            self.daemon.fail(&format!("{} does not start: {error}", self.home.vendor().name()));
        }
    }

    /// Returns the environment of the program's user.
    pub(crate) fn environment(&self) -> BTreeMap<String, String> {
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", self.home.vendor().bin().display());
        let mut env: BTreeMap<String, String> =
            [("PATH", path), ("LANG", "C.UTF-8".to_owned()), ("EDITOR", "vi".to_owned())]
                .map(|(name, value)| (name.to_owned(), value))
                .into();
        for (name, value) in self.home.env() {
            env.insert(name.to_owned(), value.into_string().unwrap());
        }
        env
    }

    /// Returns its view.
    pub(crate) fn view(&self) -> ProcessView {
        self.daemon.process(NAME)
    }

    /// Waits until it is in one of these states.
    pub(crate) fn wait_state(&self, states: &[AgentState]) {
        self.wait(Until::State(states.to_vec()), &format!("state {states:?}"));
    }

    /// Waits until this turn is over; returns it.
    pub(crate) fn wait_turn(&self, turn: u64) -> Turn {
        self.wait(Until::Turn(turn), &format!("end of turn {turn}"));
        let result = self.daemon.client().result(AskResult { target: NAME.into(), turn: Some(turn) });
        result.unwrap_or_else(|error| self.fail(&format!("no result of turn {turn}: {error}")))
    }

    /// Waits until the program has ended.
    pub(crate) fn wait_exit(&self) {
        self.wait(Until::Exit(Empty {}), "exit");
    }

    fn wait(&self, until: Until, told: &str) {
        let timeout_ms = u64::try_from(TIMEOUT.as_millis()).ok();
        let targets = vec![NAME.into()];
        let wait = Wait { timeout_ms, ..Wait::until(targets, until) };
        if let Err(error) = self.daemon.client().wait(wait) {
            self.fail(&format!("{told}: {error}"));
        }
    }

    /// Sends it a message, which must be submitted; returns the turn that it began.
    pub(crate) fn tell(&self, text: &str) -> u64 {
        match self.delivery_of(text) {
            Delivery::Submitted { turn } | Delivery::Delivered { turn } => turn,
            other => self.fail(&format!("{text:?} was not submitted but {other:?}")),
        }
    }

    /// Sends a message to a program that was just resumed. One of them redraws its prompt while it restores a
    /// session and loses what was pasted; the receipt then reports it, and the message is sent again.
    pub(crate) fn tell_resumed(&self, text: &str) -> u64 {
        for _ in 0..4 {
            match self.delivery_of(text) {
                Delivery::Submitted { turn } | Delivery::Delivered { turn } => return turn,
                Delivery::Unknown { .. } | Delivery::Refused { .. } => {}
                other => self.fail(&format!("{text:?} was not submitted but {other:?}")),
            }
        }
        self.fail(&format!("{text:?} was refused four times"));
    }

    /// Returns the delivery of a message.
    fn delivery_of(&self, text: &str) -> Delivery {
        self.tell_within(text, TIMEOUT).delivery
    }

    /// Returns the delivery of a message within this time.
    pub(crate) fn tell_within(&self, text: &str, timeout: Duration) -> Receipt {
        let tell = Tell {
            target: NAME.into(),
            text: text.to_owned(),
            key: None,
            wait_ms: u64::try_from(timeout.as_millis()).ok(),
            expires_ms: None,
        };
        match self.daemon.client().tell(tell) {
            Ok(receipt) => receipt,
            Err(error) => self.fail(&format!("{text:?} was not submitted: {error}")),
        }
    }

    /// Returns the one item of the inbox, once it is there with its options.
    pub(crate) fn wait_item(&self) -> InboxItem {
        let until = Instant::now() + TIMEOUT;
        loop {
            let items = self.daemon.client().inbox().unwrap();
            let is_open =
                |item: &InboxItem| item.kind != proto::agent::ItemKind::Failure && !item.options.is_empty();
            match items.into_iter().find(is_open) {
                Some(item) => return item,
                None if Instant::now() < until => testkit::process_scan::pause(Duration::from_millis(20)),
                None => self.fail("nothing in the inbox"),
            }
        }
    }

    /// Answers an item.
    pub(crate) fn answer(&self, item: u64, choice: &str) {
        if let Err(error) = self.daemon.client().answer_item(GiveAnswer {
            item,
            choice: choice.to_owned(),
            ..GiveAnswer::default()
        }) {
            self.fail(&format!("item {item} did not take {choice:?}: {error}"));
        }
    }

    /// Presses keys, as a person does.
    pub(crate) fn press(&self, keys: &[&str]) {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        let write = Write {
            target: NAME.into(),
            input: TypedInput::Keys(keys),
            submit: false,
            timeout_ms: None,
            key: None,
        };
        self.daemon.client().write(write).unwrap();
    }

    /// Removes the entry.
    pub(crate) fn close(&self) {
        self.daemon
            .client()
            .close(Close { target: NAME.into(), keep_background: false, stop: proto::Stop::default() })
            .unwrap();
    }

    /// Fails with everything known about the agent.
    pub(crate) fn fail(&self, what: &str) -> ! {
        let mut connection = self.daemon.client();
        let explained = connection.explain(Explain { target: NAME.into() });
        let explained = explained.map_or_else(
            |error| error.to_string(),
            |known| {
                let opinions: Vec<String> =
                    known.opinions.iter().map(|opinion| format!("{opinion:?}")).collect();
                format!("{}\n{:?}\n{}", known.why, known.agent, opinions.join("\n"))
            },
        );
        let requests: Vec<String> = self
            .server
            .requests()
            .iter()
            .map(|request| {
                let prompt: String =
                    request.prompt.chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
                format!("{} …{prompt:?} {:?}", request.number, request.outcome)
            })
            .collect();
        let screen = self.daemon.read(NAME, ReadMode::Screen).text;
        self.daemon.fail(&format!("{what}\n{explained}\nmodel: {requests:#?}\nscreen:\n{screen}"));
    }
}

/// Returns a script that runs a shell command and then says something.
pub(crate) fn shell_script(vendor: Vendor, command: &str, say: &str) -> String {
    let (tool, input) = match vendor {
        Vendor::Claude => ("Bash", serde_json::json!({"command": command, "description": "run it"})),
        // Its sandbox allows this unless the model itself asks to leave it.
        Vendor::Codex => {
            let escalated = "require_escalated";
            (
                "exec_command",
                serde_json::json!({"cmd": command, "sandbox_permissions": escalated, "justification": "it must"}),
            )
        }
        Vendor::Opencode => ("bash", serde_json::json!({"command": command, "description": "run it"})),
        Vendor::Gemini => ("run_shell_command", serde_json::json!({"command": command})),
    };
    format!("@tool {tool} {input}\n@say {say}")
}

//! A daemon in a person's own environment, in which one real program leads others, and the operations that
//! every such test uses. There are no variables for a single launch: agents are started as the leader's tool
//! starts them. A failure shows every agent's state and screen and the requests to the model.

use std::collections::{BTreeMap, BTreeSet};

use proto::agent::Delivery;
use proto::request::{Close, Explain, Pad, PadAct, ReadMode, SizeRequest, Spawn, Tell, Until, Wait};
use proto::{AgentState, Kind, Size};
use serde_json::Value;
use testkit::model::{ModelOutcome, ModelRequest};
use testkit::process_scan::{command_line, eventually};
use testkit::vendor::{Vendor, VendorHomes};
use testkit::{ModelServer, TestDaemon};

use crate::QD;
use crate::vendor_stage::TIMEOUT;

/// The leader's name.
pub(crate) const LEAD: &str = "lead";

/// A daemon, a home for all vendors and a model.
pub(crate) struct Leading {
    // Dropped in this order: the daemon ends its agents before their home and their model are removed.
    pub(crate) daemon: TestDaemon,
    pub(crate) homes: VendorHomes,
    pub(crate) server: ModelServer,
    /// Processes that used the home before the leader.
    before: BTreeSet<i32>,
}

impl Leading {
    /// Returns the leader's program at its prompt.
    pub(crate) fn by(vendor: Vendor) -> Self {
        let server = ModelServer::start();
        let homes = VendorHomes::seeded(&server);
        let daemon = TestDaemon::without_start(QD);
        let mut first = daemon.command(&["ps"]);
        let started = first.envs(homes.env()).output().unwrap();
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        let before = homes.living().into_iter().collect();
        let leading = Self { daemon, homes, server, before };
        leading.enlist(vendor);
        leading
    }

    /// Returns the environment that `qd spawn` of this person sends.
    fn persons_environment(&self) -> BTreeMap<String, String> {
        let path = std::env::var("PATH").ok().map(|path| ("PATH".to_owned(), path));
        let own = self.homes.env().into_iter();
        path.into_iter()
            .chain(own.map(|(name, value)| (name, value.to_string_lossy().into_owned())))
            .collect()
    }

    fn enlist(&self, vendor: Vendor) {
        let spawn = Spawn {
            kind: Kind::Agent,
            name: Some(LEAD.to_owned()),
            argv: vec![vendor.name().to_owned()],
            cwd: Some(self.homes.workdir().display().to_string()),
            size: SizeRequest::from(Size { cols: 120, rows: 40 }),
            base_env: Some(self.persons_environment()),
            ..Spawn::default()
        };
        if let Err(error) = self.daemon.client().spawn(spawn) {
            self.daemon.fail(&format!("{} does not start: {error}", vendor.name()));
        }
        self.wait(LEAD, Until::State(vec![AgentState::Idle]));
    }

    /// Waits until an agent meets a condition.
    pub(crate) fn wait(&self, name: &str, until: Until) {
        let timeout_ms = u64::try_from(TIMEOUT.as_millis()).ok();
        let told = format!("{name}: {until:?}");
        let targets = vec![name.into()];
        let wait = Wait { timeout_ms, ..Wait::until(targets, until) };
        if let Err(error) = self.daemon.client().wait(wait) {
            self.fail(&format!("{told}: {error}"));
        }
    }

    /// Sends the leader a person's message, which must be submitted; returns the turn that it began.
    pub(crate) fn tell(&self, text: &str) -> u64 {
        let wait_ms = u64::try_from(TIMEOUT.as_millis()).ok();
        let tell = Tell { target: LEAD.into(), text: text.to_owned(), key: None, wait_ms, expires_ms: None };
        match self.daemon.client().tell(tell).map(|receipt| receipt.delivery) {
            Ok(Delivery::Submitted { turn } | Delivery::Delivered { turn }) => turn,
            other => self.fail(&format!("the leader was not told: {other:?}")),
        }
    }

    /// Returns the first request of a turn that matches.
    pub(crate) fn request(&self, what: &str, matches: impl Fn(&ModelRequest) -> bool) -> ModelRequest {
        let is_it = |request: &ModelRequest| !request.is_side && matches(request);
        self.server
            .find_request(is_it, TIMEOUT)
            .unwrap_or_else(|| self.fail(&format!("the model was never asked: {what}")))
    }

    /// Returns the same once it was answered completely.
    pub(crate) fn answered(&self, what: &str, matches: impl Fn(&ModelRequest) -> bool) -> ModelRequest {
        self.request(what, |request| request.outcome == Some(ModelOutcome::Answered) && matches(request))
    }

    /// Returns the names of all processes.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.daemon.list().iter().map(|process| process.name.to_string()).collect();
        names.sort();
        names
    }

    /// Returns the parent of a process.
    pub(crate) fn parent(&self, name: &str) -> Option<String> {
        let all = self.daemon.list();
        let parent = all.iter().find(|process| process.name.as_str() == name)?.parent?;
        all.iter().find(|process| process.id == parent).map(|process| process.name.to_string())
    }

    /// Returns a scratchpad's text and who wrote it.
    pub(crate) fn pad(&self, name: &str) -> (String, String) {
        let project = Some(self.homes.workdir().display().to_string());
        let act = PadAct::Read { name: name.to_owned(), revision: None };
        match self.daemon.client().pad(Pad { project, act }) {
            Ok(proto::pads::PadOutcome::Text { content, author, .. }) => (content, author),
            other => self.fail(&format!("the pad {name}: {other:?}")),
        }
    }

    /// Closes the leader, as a person does; no process and nothing of it is left.
    pub(crate) fn close(&self) {
        let close = Close { target: LEAD.into(), keep_background: false, stop: proto::Stop::default() };
        if let Err(error) = self.daemon.client().close(close) {
            self.fail(&format!("the leader does not close: {error}"));
        }
        // The reply comes when the leader itself is gone; its agents follow.
        eventually("what it led is closed with it", || self.daemon.list().is_empty().then_some(()));
        eventually("no holder is left", || {
            let holders = std::fs::read_dir(self.daemon.dirs().holders()).unwrap();
            (holders.count() == 0).then_some(())
        });
        let left: BTreeSet<i32> = self.homes.living().into_iter().collect();
        let left: Vec<String> = left.difference(&self.before).map(|pid| command_line(*pid)).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }

    /// Fails with everything that is known.
    pub(crate) fn fail(&self, what: &str) -> ! {
        let agents: Vec<String> = self.names().iter().map(|name| self.told(name)).collect();
        let requests: Vec<String> = self.server.requests().iter().map(asked).collect();
        self.daemon.fail(&format!("{what}\n{}\nmodel:\n{}", agents.join("\n"), requests.join("\n")));
    }

    fn told(&self, name: &str) -> String {
        let known = self.daemon.client().explain(Explain { target: name.into() });
        let known = known.map_or_else(
            |error| error.to_string(),
            |known| format!("{}\n{:?}\n{:?}", known.why, known.agent, known.opinions),
        );
        let screen = self.daemon.read(name, ReadMode::Screen).text;
        format!("=== {name} ===\n{known}\n{screen}")
    }
}

/// Returns a request in a few words.
fn asked(request: &ModelRequest) -> String {
    let short = |text: &str| text.chars().take(200).collect::<String>();
    let ModelRequest { number, api, position, is_side, outcome, prompt, results, .. } = request;
    let result = results.last().map(|result| short(result));
    format!(
        "{number} {api:?} side={is_side} at {position} of {:?} → {outcome:?}, last result {result:?}",
        short(prompt)
    )
}

/// Returns a line of a script that calls one of our tools, by the name the vendor's model knows it under.
pub(crate) fn call(vendor: Vendor, tool: &str, arguments: Value) -> String {
    let group = match vendor {
        Vendor::Claude => "mcp__quarterdeck__",
        Vendor::Codex => "mcp__quarterdeck::",
        Vendor::Opencode => "quarterdeck_",
        Vendor::Gemini => "mcp_quarterdeck_",
    };
    format!("@tool {group}{tool} {arguments}")
}

//! The verbs for timers, pads, questions, grants and trust, through the real program: its requests, against a
//! fake daemon, and their effects, against a real one.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up has failed")]

mod asking;
mod editing;
mod pads;
mod rights;
mod spoken;
mod starting;
mod timers;
mod trust;

use std::cell::Cell;
use std::process::Output;

use proto::Kind;
use proto::request::Spawn;
use serde_json::Value;
use testkit::{FakeAgents, MarkedDaemon};

const QD: &str = env!("CARGO_BIN_EXE_qd");
const AGENT: &str = env!("CARGO_BIN_EXE_qd-agent-test");

/// An agent that is a shell: it runs what the test types, and accepts no messages.
const SHELLED: &str = r"
argv = ['/bin/sh']
version_argv = ['/bin/true']

[composer]
region = 'bottom(3)'
prompt = '^never> (?<text>.*)$'

[[rule]]
id = 'ready'
region = 'bottom(3)'
pattern = '.'
verdict = 'idle'
";

fn crew() -> FakeAgents {
    FakeAgents::start(QD, AGENT)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Returns the output of `qd`, which must have succeeded.
fn told(output: &Output) -> &str {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// A shell in a process of the daemon: what it runs is a request of that process.
struct Inside<'a> {
    stage: &'a MarkedDaemon,
    name: &'static str,
    count: Cell<u32>,
}

/// The result of a command in there.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    /// Returns its output as JSON; it must have succeeded.
    fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{}", self.err);
        serde_json::from_str(&self.out).unwrap()
    }

    /// Returns the error it printed as JSON, with its exit code.
    fn error(&self) -> (i32, Value) {
        let all: Value = serde_json::from_str(&self.err).unwrap_or_else(|_| panic!("{}", self.err));
        (self.code, all["error"].clone())
    }
}

impl<'a> Inside<'a> {
    /// Starts it in a command.
    fn start(stage: &'a MarkedDaemon, name: &'static str) -> Self {
        Self::start_as(stage, name, |script| {
            stage.run(name, testkit::child::shell(script));
        })
    }

    /// Starts it in an agent, whose program is the shell.
    fn start_agent(crew: &'a FakeAgents, name: &'static str) -> Self {
        let manifest = crew.dirs().config.join("agents").join("shelled.toml");
        std::fs::write(manifest, SHELLED).unwrap();
        Self::start_as(crew, name, |script| {
            let argv = ["shelled", "-c", script].map(str::to_owned).to_vec();
            crew.spawn_as(Spawn { kind: Kind::Agent, ..crew.spec(name, argv) });
        })
    }

    /// Starts it in what `launch` makes of the script, in the test's own directory.
    fn start_as(stage: &'a MarkedDaemon, name: &'static str, launch: impl FnOnce(&str)) -> Self {
        let exports: String = stage
            .variables()
            .iter()
            .map(|(name, value)| format!("export {name}='{}'; ", value.display()))
            .collect();
        let script = format!("{exports}stty -echo; echo inside; exec sh");
        launch(&script);
        stage.wait_pattern(name, "inside");
        Self { stage, name, count: Cell::new(0) }
    }

    /// Starts `qd` with these words, as a shell parses them.
    fn begin(&self, words: &str) -> u32 {
        self.count.set(self.count.get() + 1);
        let number = self.count.get();
        let file = format!("{}.{number}", self.name);
        let line = format!("'{QD}' {words} > {file}.out 2> {file}.err; echo over-$(({number}+0)):$?\n");
        self.stage.type_text(self.name, &line);
        number
    }

    /// Returns its result.
    fn end(&self, number: u32) -> Ran {
        let waited = self.stage.wait_pattern(self.name, &format!("over-{number}:[0-9]+"));
        let line = waited.satisfied.first().and_then(|one| one.text.clone()).unwrap();
        let code = line.rsplit(':').next().unwrap().trim().parse().unwrap();
        let read = |ending: &str| {
            std::fs::read_to_string(self.stage.root().join(format!("{}.{number}.{ending}", self.name)))
                .unwrap()
        };
        Ran { code, out: read("out"), err: read("err") }
    }

    /// Runs `qd` with these words to its end.
    fn qd(&self, words: &str) -> Ran {
        self.end(self.begin(words))
    }
}

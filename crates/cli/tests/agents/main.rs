//! Agents, end to end: over the real socket, with a fake agent's program in a real terminal. Each test is named after
//! the row of the guarantee or hazard it proves.

mod delivery;
mod dialogs;
mod files;
mod hooks;
mod killed;
mod launch;
mod seen;
mod spoofing;
mod unsaved;

use std::ffi::OsStr;

use proto::Size;
use proto::agent::ItemKind;
use testkit::{FakeAgents, Pty};

/// Returns a daemon with fake agents.
fn crew() -> FakeAgents {
    FakeAgents::start(env!("CARGO_BIN_EXE_qd"), env!("CARGO_BIN_EXE_qd-agent-test"))
}

/// Returns a person's terminal, attached to a process that has shown this.
fn attach(crew: &FakeAgents, name: &str, shown: &[u8]) -> Pty {
    let mut pty = Pty::open(Size { cols: 80, rows: 24 });
    let variables = crew.variables();
    let variables: Vec<(&str, &OsStr)> =
        variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    pty.spawn(OsStr::new(env!("CARGO_BIN_EXE_qd")), &["attach", name], &variables);
    pty.expect(shown);
    pty
}

/// A shell named `boss` that asks to start a fake agent `child` with words of its own, starts it once a
/// person has approved that, and continues with `then`, where `$qd` is the program.
fn run_boss(crew: &FakeAgents, then: &str) {
    let script = format!(
        "export QD_RUNTIME_DIR={run} QD_DATA_DIR={data} QD_CONFIG_DIR={config}; qd={qd}; \
         child() {{ $qd spawn --kind agent --name child -- fake --log {root}/child.log; }}; \
         child; echo asked; read answered; child; {then}; exec sleep 1000",
        run = crew.dirs().runtime.display(),
        data = crew.dirs().data.display(),
        config = crew.dirs().config.display(),
        root = crew.root().display(),
        qd = env!("CARGO_BIN_EXE_qd"),
    );
    crew.run("boss", testkit::child::shell(&script));
    crew.wait_pattern("boss", "asked");
    crew.answer(crew.item_of("boss", ItemKind::Trust).item, "allow_once").expect("a person may allow it");
    crew.type_text("boss", "yes\r");
}

//! An agent that leads: a run of the daemon with both a fake agent and a proxy. It passes the proxy's lines
//! out of the run to the test.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use testkit::FakeAgents;

use crate::proxy::Proxy;
use crate::{AGENT, QD};

/// Returns a daemon whose agents first run the file in `LEAD_SETUP` and then become the fake program.
pub(crate) fn crew() -> FakeAgents {
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("lead-agent-{}", unique()));
    // When asked for its version it is no run, and a second proxy would take the first one's lines.
    let script = format!(
        "#!/bin/sh\n[ -z \"$LEAD_SETUP\" ] || [ \"$1\" = --version ] || . \"$LEAD_SETUP\"\nexec '{AGENT}' \"$@\"\n"
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    FakeAgents::start(QD, program)
}

fn unique() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Starts an agent of this name with a proxy in its run; the proxy has been greeted in the older protocol.
pub(crate) fn enlist(crew: &FakeAgents, name: &str) -> Proxy {
    let mut proxy = start(crew, name);
    proxy.initialize("2025-11-25");
    proxy
}

/// Returns the same in the newer protocol, with its client's capabilities.
pub(crate) fn enlist_modern(crew: &FakeAgents, name: &str, capabilities: Value) -> Proxy {
    let proxy = start(crew, name);
    proxy.speaking_modern(capabilities)
}

fn start(crew: &FakeAgents, name: &str) -> Proxy {
    crew.trust_agents();
    let directory = crew.root().join(format!("{name}-pipes"));
    std::fs::create_dir(&directory).unwrap();
    for pipe in ["in", "out"] {
        assert!(Command::new("mkfifo").arg(directory.join(pipe)).status().unwrap().success());
    }
    let exports: String = crew
        .variables()
        .iter()
        .map(|(name, value)| format!("export {name}='{}'\n", value.display()))
        .collect();
    let setup = directory.join("setup");
    let pipes = directory.display();
    std::fs::write(
        &setup,
        format!("{exports}'{QD}' mcp < '{pipes}/in' > '{pipes}/out' 2> '{pipes}/err' &\n"),
    )
    .unwrap();
    let mut relay = Command::new("sh");
    relay.args(["-c", "cat \"$1/out\" & exec cat > \"$1/in\"", "relay"]).arg(&directory);
    let proxy = Proxy::run(relay);
    let mut spec = crew.agent_spec("fake", name, &[]);
    spec.env.insert("LEAD_SETUP".to_owned(), setup.display().to_string());
    crew.spawn_as(spec);
    crew.until_state(name, proto::AgentState::Idle);
    proxy
}

/// Returns the proxy's identity, as a tool in this run returns it.
pub(crate) fn identity(proxy: &mut Proxy) -> Value {
    let who = proxy.tool("whoami", json!({}));
    assert_eq!(who["caller"], json!("process"), "{who}");
    who
}

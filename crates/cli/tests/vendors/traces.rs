//! What a launch leaves: nothing. The user's own settings stay byte for byte, and no process, file or port
//! outlives the entry, for leaders and led agents.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proto::AgentState;
use testkit::vendor::Vendor;

use crate::vendor_stage::FakeAgents;

/// Returns the settings files that a user of each owns; what the programs write by themselves (histories,
/// caches) is theirs.
fn settings(vendor: Vendor) -> &'static [&'static str] {
    match vendor {
        Vendor::Claude => &[".claude/settings.json"],
        Vendor::Codex => &[".codex/config.toml"],
        Vendor::Opencode => &[".config/opencode/opencode.json", ".config/opencode/package.json"],
        Vendor::Gemini => &[".gemini/settings.json"],
    }
}

fn contents(home: &Path, vendor: Vendor) -> BTreeMap<PathBuf, Vec<u8>> {
    settings(vendor)
        .iter()
        .map(|name| home.join(name))
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect()
}

fn leaves_nothing(vendor: Vendor) {
    let server = testkit::ModelServer::start();
    let home = testkit::vendor::Home::seeded(vendor, &server);
    let before = contents(&home.home(), vendor);
    let crew = FakeAgents { daemon: testkit::TestDaemon::start(crate::QD), home, server };
    crew.spawn(Default::default());
    crew.wait_state(&[AgentState::Idle]);
    let turn = crew.tell("@say hello-there");
    crew.wait_turn(turn);
    assert!(!crew.home.living().is_empty(), "the process_scan sees it while it lives");
    crew.close();
    assert!(crew.home.living().is_empty(), "left behind: {:?}", crew.home.living());
    assert_eq!(contents(&crew.home.home(), vendor), before, "the user's settings are as they were");
    let launch = crew.daemon.dirs().launches();
    testkit::process_scan::eventually("the launch's own files are gone", || {
        std::fs::read_dir(&launch).into_iter().flatten().flatten().next().is_none().then_some(())
    });
    let project: Vec<_> =
        std::fs::read_dir(crew.home.workdir()).unwrap().flatten().map(|one| one.file_name()).collect();
    assert!(project.is_empty(), "written into the project: {project:?}");
}

#[test]
fn claude_leaves_nothing() {
    leaves_nothing(Vendor::Claude);
}

#[test]
fn codex_leaves_nothing() {
    leaves_nothing(Vendor::Codex);
}

#[test]
fn opencode_leaves_nothing() {
    leaves_nothing(Vendor::Opencode);
}

#[test]
fn gemini_leaves_nothing() {
    leaves_nothing(Vendor::Gemini);
}

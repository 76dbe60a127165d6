//! The documents made from the tools, as the command line gives them.

use testkit::TestDaemon;

use crate::QD;

#[test]
fn the_skill_is_installed_where_agents_look_and_a_strangers_file_is_kept() {
    let daemon = TestDaemon::without_start(QD);
    let written = daemon.json(&["skills", "install", "--directory", daemon.root().to_str().unwrap()]);
    let paths = written["written"].as_array().unwrap();
    assert_eq!(paths.len(), 2, "{written}");
    for path in paths {
        let text = std::fs::read_to_string(path.as_str().unwrap()).unwrap();
        assert!(
            text.contains(
                "`spawn_agent(agent, name?, instructions?, model?, mode?, size?, task?, working_dir?)`"
            ),
            "{text}"
        );
    }
    let taken = paths[0].as_str().unwrap();
    std::fs::write(taken, "somebody else's").unwrap();
    let refused = daemon.qd(&["skills", "install", "--directory", daemon.root().to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(taken).unwrap(), "somebody else's");
    assert!(!daemon.dirs().socket().exists(), "it needs no daemon");
}

#[test]
fn the_reference_is_printed_without_a_daemon() {
    let daemon = TestDaemon::without_start(QD);
    let printed = String::from_utf8(daemon.qd(&["mcp", "--reference"]).stdout).unwrap();
    assert!(printed.starts_with("# MCP tools\n") && printed.contains("### wait_for_state\n"));
}

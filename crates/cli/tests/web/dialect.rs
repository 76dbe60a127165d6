//! The `terminal.*` dialect with a client in another language, which dials, authenticates and closes as existing ones do.

use testkit::{TestDaemon, scaled};

use crate::QD;
use crate::server::{As, Server};

const CLIENT: &str = include_str!("dialect.py");

#[test]
fn w22_t1_t2_t3_t5_t6_t7_h1_h2_h3_the_dialect_works_with_a_plain_client() {
    let daemon = TestDaemon::start(QD);
    let server = Server::start(&daemon);
    let As::Token(token) = Server::token(&daemon, "type") else { panic!("no token") };
    let directory = daemon.root().join("work");
    std::fs::create_dir(&directory).unwrap();
    let made = daemon.command(&["new", "fix"]).current_dir(&directory).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let rounds = scaled(10).to_string();
    let output = std::process::Command::new("python3")
        .args(["-c", CLIENT, &server.host, &token, "local", &rounds, "fix"])
        .arg(&directory)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().count(), 8, "{said}");
}

//! The `terminal.*` dialect with a client in another language, which dials, authenticates and closes as existing ones do.

use testkit::{TestDaemon, scaled};

use crate::QD;
use crate::server::{As, Server};

const CLIENT: &str = include_str!("dialect.py");

#[test]
fn w22_t5_t6_t7_h1_h2_h3_the_dialect_works_with_a_plain_client() {
    let daemon = TestDaemon::start(QD);
    let server = Server::start(&daemon);
    let As::Token(token) = Server::token(&daemon, "type") else { panic!("no token") };
    let rounds = scaled(10).to_string();
    let output = std::process::Command::new("python3")
        .args(["-c", CLIENT, &server.host, &token, "local", &rounds])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().count(), 7, "{said}");
}

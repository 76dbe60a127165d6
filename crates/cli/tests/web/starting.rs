//! Who may start a server, and where it may listen.

use testkit::{MarkedDaemon, TestDaemon, child};

use crate::QD;
use crate::server::{As, Server, traced_daemon};

#[test]
fn w10_an_address_of_the_network_is_refused_with_three_ways_out() {
    let daemon = TestDaemon::without_start(QD);
    let refused = daemon.qd(&["web", "--bind", "0.0.0.0:0"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    for way in ["tailscale serve", "--behind-proxy", "SSH tunnel"] {
        assert!(said.contains(way), "{said}");
    }
    assert!(!daemon.dirs().socket().exists(), "no daemon was started for it");
}

#[test]
fn w10_no_server_code_or_token_is_made_inside_a_run() {
    let daemon = MarkedDaemon::start(QD);
    for (name, verb) in [("web", "web --bind 127.0.0.1:0"), ("pair", "pair"), ("access", "access token x")] {
        // The first is a command, which is a process of its own; the second a terminal, which acts for its person.
        daemon.run(name, child::shell(&format!("{QD} {verb}; echo code=$?")));
        daemon.wait_pattern(name, "code=4");
        let terminal = format!("{name}-terminal");
        daemon.run_terminal(&terminal, child::shell(&format!("{QD} {verb}; echo code=$?; exec sleep 1000")));
        daemon.wait_pattern(&terminal, "code=4");
    }
    assert!(!daemon.dirs().data.join("web/code.json").exists());
}

#[test]
fn a_server_answers_health_and_gives_its_page_to_everybody() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    assert_eq!(server.ask("GET", "/healthz", &As::Nobody, b"").json(), serde_json::json!({"ok": true}));
    let page = server.ask("GET", "/", &As::Nobody, b"");
    let policy = page.header("content-security-policy").unwrap();
    let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    let text = String::from_utf8_lossy(&page.body);
    assert!(page.status == 200 && text.contains(nonce) && !text.contains("{{"), "{text}");
    let again = server.ask("GET", "/", &As::Nobody, b"");
    assert_ne!(again.header("content-security-policy"), Some(policy), "each answer has a nonce of its own");
}

#[test]
fn a_person_at_an_unknown_address_gets_the_page_and_a_program_an_error() {
    let daemon = traced_daemon();
    let server = Server::start_with(&daemon, &["--base", "/deck/"]);
    let ask = |path: &str, accept: &str| {
        let headers = [("Host", server.host.as_str()), ("Accept", accept)];
        server.send("GET", path, &headers.map(|(name, value)| (name.to_owned(), value.to_owned())), b"")
    };
    for path in ["/no/such/path", "/deck/no/such/path", "/typo", "/deck/typo"] {
        let page = ask(path, "text/html,*/*;q=0.8");
        assert!(
            page.status == 404 && page.header("content-type") == Some("text/html; charset=utf-8"),
            "{page:?}"
        );
        assert!(String::from_utf8_lossy(&page.body).contains("<base href=\"/deck/\">"), "{path}");
        assert_eq!(ask(path, "*/*").json()["error"]["code"], "not_found", "{path}");
    }
    for path in ["/api/v1/typo", "/deck/api/v1/typo", "/ws/typo"] {
        assert_eq!(ask(path, "text/html").json()["error"]["code"], "not_found", "{path}");
    }
}

#[test]
fn w29_below_a_base_the_page_and_the_api_are_there_with_and_without_it() {
    let daemon = traced_daemon();
    let server = Server::start_with(&daemon, &["--base", "/deck/"]);
    for path in ["/deck/", "/deck/healthz", "/healthz", "/deck/p/p_00000000", "/deck/sw.js"] {
        assert_eq!(server.ask("GET", path, &As::Nobody, b"").status, 200, "{path}");
    }
    let page = server.ask("GET", "/deck/", &As::Nobody, b"");
    assert!(String::from_utf8_lossy(&page.body).contains("<base href=\"/deck/\">"));
    assert_eq!(server.ask("GET", "/deck/api/v1/me", &As::Nobody, b"").status, 401);
}

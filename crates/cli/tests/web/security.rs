//! The security matrix, made from the table of routes: what is tested is what is registered.

use std::io::Write;

use proto::Role;
use serde_json::json;
use testkit::child;
use web::{Access, HttpMethod, ROUTES, Route};

use crate::door_watch::DoorWatch;
use crate::server::{As, Server, traced_daemon};
use crate::socket::Socket;

/// Origins that are not the server's.
const FOREIGN: &[&str] = &[
    "http://evil.example",
    "https://evil.example",
    "null",
    "",
    "*",
    "http://localhost",
    "http://127.0.0.1",
    "http://127.0.0.1:1",
    "http://localhost:1",
    "https://HOST",
    "http://HOST/",
    "http://HOST.evil",
    "http://evil@HOST",
    "http://HOST@evil",
    "http://HOST#x",
    "http://HOST, http://evil.example",
    "HTTP://HOST",
    "http://localhost.evil",
    "http://127.0.0.1.evil",
    "http://[::1]",
    "http://[::ffff:127.0.0.1]",
    "http://2130706433",
    "http://0177.0.0.1",
    "http://xn--lcalhost-1ya",
    "file://",
    "ws://HOST",
];

fn path_of(route: &Route) -> String {
    let fill = |part: &str| if part.starts_with('{') { "p_00000000" } else { part }.to_owned();
    route.path.split('/').map(fill).collect::<Vec<_>>().join("/")
}

fn header(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// Returns the status of a request; for a WebSocket that of its upgrade, 101 if it was opened.
fn status(server: &Server, route: &Route, headers: &[(String, String)]) -> u16 {
    if route.access == Access::Socket {
        return Socket::upgrade(server, &path_of(route), headers).map_or_else(|status| status, |_| 101);
    }
    server.send(route.method.word(), &path_of(route), headers, b"{}").status
}

#[test]
fn w2_a3_a_foreign_host_is_refused_on_every_route() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let page = server.sign_in();
    let mut tested = 0;
    for route in ROUTES {
        for host in ["evil.example", "localhost", "127.0.0.1", "LOCALHOST:1", ""] {
            let mut headers = vec![header("Host", host)];
            headers.extend(server.headers(&page));
            assert_eq!(status(&server, route, &headers), 403, "{route:?} {host}");
        }
        tested += 1;
    }
    assert_eq!(tested, ROUTES.len());
    let unknown = server.send("GET", "/no/such/path", &[header("Host", "evil.example")], b"");
    assert_eq!(unknown.status, 403);
}

#[test]
fn w1_a1_an_unlisted_origin_is_refused_on_every_route_whatever_is_shown_with_it() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let As::Page(cookie) = server.sign_in() else { panic!("no cookie") };
    let As::Token(token) = Server::token(&daemon, "admin") else { panic!("no token") };
    let shown = [
        Vec::new(),
        vec![header("Cookie", &cookie), header("X-Qd", "1")],
        vec![header("Authorization", &format!("Bearer {token}"))],
    ];
    assert!(FOREIGN.len() >= 24);
    let door = DoorWatch::begin(&daemon);
    for route in ROUTES {
        for origin in FOREIGN {
            for credentials in &shown {
                let origin = header("Origin", &origin.replace("HOST", &server.host));
                let headers = [vec![header("Host", &server.host), origin], credentials.clone()].concat();
                assert_eq!(status(&server, route, &headers), 403, "{route:?} {headers:?}");
            }
        }
        let twice = [
            header("Host", &server.host),
            header("Origin", &server.origin()),
            header("Origin", &server.origin()),
        ];
        assert_eq!(status(&server, route, &twice), 403, "{route:?}: two origins");
    }
    assert_eq!(door.connections(), 0, "the daemon was not even connected to");
    // A request that is let through does connect.
    let line = format!(
        "GET /api/v1/status HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n",
        server.host
    );
    let mut allowed = server.connect();
    allowed.write_all(line.as_bytes()).unwrap();
    door.wait_connection();
    drop(door);
    assert_eq!(daemon.client().viewers().unwrap().len(), 0, "no door was opened");
    assert!(daemon.list().is_empty(), "nothing was started");
}

#[test]
fn w5_without_an_origin_a_cookie_counts_for_nothing_and_a_token_does() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let As::Page(cookie) = server.sign_in() else { panic!("no cookie") };
    let As::Token(token) = Server::token(&daemon, "admin") else { panic!("no token") };
    for route in ROUTES.iter().filter(|route| !matches!(route.access, Access::Public)) {
        let by_cookie = [header("Host", &server.host), header("Cookie", &cookie), header("X-Qd", "1")];
        let refused = status(&server, route, &by_cookie);
        // The dialect authenticates in its first frame, so its upgrade needs nothing yet.
        let is_dialect = route.path.ends_with("/terminal");
        assert!(is_dialect || [401, 403].contains(&refused), "{route:?}: {refused}");
    }
    let by_token = [header("Host", &server.host), header("Authorization", &format!("Bearer {token}"))];
    assert_eq!(server.send("GET", "/api/v1/processes", &by_token, b"").status, 200);
    assert!(Socket::upgrade(&server, "/ws/events", &by_token).is_ok());
    let same =
        [header("Host", &server.host), header("Cookie", &cookie), header("Sec-Fetch-Site", "same-origin")];
    assert_eq!(
        server.send("GET", "/api/v1/processes", &same, b"").status,
        200,
        "the page reads without an origin"
    );
    assert_eq!(server.send("POST", "/api/v1/processes", &same, b"{}").status, 403, "and changes nothing");
    let cross =
        [header("Host", &server.host), header("Cookie", &cookie), header("Sec-Fetch-Site", "same-site")];
    assert_eq!(server.send("GET", "/api/v1/processes", &cross, b"").status, 403, "another port of this host");
}

#[test]
fn w4_a_page_of_another_port_with_the_cookie_opens_no_socket_and_changes_nothing() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let As::Page(cookie) = server.sign_in() else { panic!("no cookie") };
    let other = "http://127.0.0.1:1";
    for route in
        ROUTES.iter().filter(|route| route.method != HttpMethod::Get || route.access == Access::Socket)
    {
        let simple = [header("Host", &server.host), header("Origin", other), header("Cookie", &cookie)];
        assert_eq!(status(&server, route, &simple), 403, "{route:?}");
    }
    let own = [header("Host", &server.host), header("Origin", &server.origin()), header("Cookie", &cookie)];
    assert_eq!(
        server.send("POST", "/api/v1/processes", &own, b"{}").status,
        403,
        "without X-Qd a form could do it"
    );
    assert_eq!(
        Socket::upgrade(&server, "/ws/events", &own).err(),
        Some(401),
        "a cookie alone opens no socket"
    );
}

#[test]
fn w6_each_role_reaches_exactly_its_own_routes() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let roles = [("view", Role::View), ("type", Role::Type), ("admin", Role::Admin)];
    for (word, role) in roles {
        let token = Server::token(&daemon, word);
        let headers = [vec![header("Host", &server.host)], server.headers(&token)].concat();
        for route in ROUTES {
            let Access::Role(needed) = route.access else { continue };
            let got = status(&server, route, &headers);
            assert_eq!(got == 403, role < needed, "{route:?} as {word}: {got}");
        }
    }
    for route in ROUTES.iter().filter(|route| !matches!(route.access, Access::Public | Access::Socket)) {
        let got = status(&server, route, &[header("Host", &server.host)]);
        assert!([401, 403].contains(&got), "{route:?} as nobody: {got}");
    }
}

#[test]
fn w3_a_ticket_opens_what_it_was_issued_for_and_once() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let page = server.sign_in();
    let (cat, other) =
        (daemon.spawn("cat", child::shell("exec cat")), daemon.spawn("other", child::shell("exec cat")));
    let issue = |what: serde_json::Value| {
        let answer = server.ask("POST", "/api/v1/tickets", &page, what.to_string().as_bytes());
        answer.json()["ticket"].as_str().unwrap().to_owned()
    };
    let view = |id: &dyn std::fmt::Display| format!("/ws/view/{id}");
    let ticket = issue(json!({"for": "view", "process": cat.id, "mode": "type"}));
    assert!(Socket::by_ticket(&server, &view(&cat.id), &page, &ticket).is_ok());
    assert_eq!(Socket::by_ticket(&server, &view(&cat.id), &page, &ticket).err(), Some(401), "a second time");
    let ticket = issue(json!({"for": "view", "process": cat.id}));
    assert_eq!(
        Socket::by_ticket(&server, &view(&other.id), &page, &ticket).err(),
        Some(403),
        "another process"
    );
    assert_eq!(
        Socket::by_ticket(&server, &view(&cat.id), &page, &ticket).err(),
        Some(401),
        "which used it up"
    );
    let ticket = issue(json!({"for": "events"}));
    assert_eq!(
        Socket::by_ticket(&server, &view(&cat.id), &page, &ticket).err(),
        Some(403),
        "a ticket for events"
    );
    assert_eq!(
        Socket::by_ticket(&server, "/ws/events", &page, &"0".repeat(64)).err(),
        Some(401),
        "none of ours"
    );
    let code = daemon.json(&["pair"])["code"].as_str().unwrap().to_owned();
    let other_device = server.sign_in_by(&code);
    for stranger in [other_device, As::Nobody] {
        let ticket = issue(json!({"for": "events"}));
        let opened = Socket::by_ticket(&server, "/ws/events", &stranger, &ticket);
        assert_eq!(opened.err(), Some(401), "another device: {stranger:?}");
        assert_eq!(
            Socket::by_ticket(&server, "/ws/events", &page, &ticket).err(),
            Some(401),
            "which used it up"
        );
    }
}

#[test]
fn w12_every_answer_has_a_strict_policy() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    for route in ROUTES.iter().filter(|route| route.access != Access::Socket) {
        let answer = server.ask(route.method.word(), &path_of(route), &As::Nobody, b"");
        let policy = answer.header("content-security-policy").unwrap_or_default();
        assert!(
            policy.starts_with("default-src 'none'") && !policy.contains("unsafe-inline"),
            "{route:?}: {policy}"
        );
        assert!(
            policy.contains("connect-src 'self';") && policy.contains("require-trusted-types-for 'script'")
        );
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{route:?}");
        }
    }
}

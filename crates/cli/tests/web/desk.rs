//! What a person at the machine sees: who was paired, a browser that opens, and whether a public URL works.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use testkit::process_scan::eventually;
use testkit::{DEADLINE, Pty, TestDaemon};

use crate::QD;
use crate::server::{Server, traced_daemon};

/// Starts `qd` in a terminal, with these variables besides those of the daemon.
fn at_the_desk(daemon: &TestDaemon, words: &[&str], more: &[(&str, &OsStr)]) -> Pty {
    let mut desk = Pty::open(proto::Size { cols: 120, rows: 50 });
    let own = daemon.variables();
    let own = own.iter().map(|(name, value)| (*name, value.as_os_str()));
    let variables: Vec<_> = own.chain(more.iter().copied()).collect();
    desk.spawn(QD.as_ref(), words, &variables);
    desk
}

#[test]
fn w7_who_shows_a_code_sees_which_device_has_used_it_and_how_to_undo_that() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let mut desk = at_the_desk(&daemon, &["pair", "--role", "view"], &[]);
    let shown = String::from_utf8_lossy(&desk.expect(b"waiting for the device")).into_owned();
    let code = shown.split("    good for").next().unwrap().trim().to_owned();
    let page = server.sign_in_by(&code);
    let id = server.ask("GET", "/api/v1/me", &page, b"").json()["id"].as_str().unwrap().to_owned();
    desk.expect(format!("test is paired; undo: qd access revoke {id}").as_bytes());
    assert!(desk.wait_exit(DEADLINE).success());
    assert!(daemon.qd(&["access", "revoke", &id]).status.success());
    assert_eq!(server.ask("GET", "/api/v1/me", &page, b"").status, 401);
}

#[test]
fn a_phone_gets_a_code_for_its_camera_and_a_link_a_whole_address_because_the_server_says_its_own() {
    let daemon = traced_daemon();
    assert_eq!(daemon.json(&["pair"])["link"], Value::Null, "no server runs");
    let local = Server::start(&daemon);
    let shown = daemon.json(&["pair"]);
    let link = format!("{}#c={}", local.url, shown["code"].as_str().unwrap());
    assert_eq!(shown["link"], link.as_str());
    let mut desk = at_the_desk(&daemon, &["pair"], &[]);
    let words = String::from_utf8_lossy(&desk.expect(b"waiting for the device")).into_owned();
    assert!(words.contains("browsers of this machine") && !words.contains('\u{2588}'), "{words}");
    drop(desk.hang_up());
    let public = "https://desk.example/qd/";
    let server = Server::start_with(&daemon, &["--behind-proxy", "https://desk.example", "--base", "/qd/"]);
    let mut desk = at_the_desk(&daemon, &["pair"], &[]);
    let words = String::from_utf8_lossy(&desk.expect(b"waiting for the device")).into_owned();
    assert!(words.contains(&format!("{public}#c=")) && words.contains('\u{2588}'), "{words}");
    drop(desk.hang_up());
    daemon.spawn("cat", testkit::child::shell("exec cat"));
    let printed = daemon.qd(&["access", "link", "cat"]).stdout;
    assert!(printed.starts_with(format!("{public}#l=").as_bytes()), "{}", String::from_utf8_lossy(&printed));
    let elsewhere = daemon.qd(&["access", "link", "cat", "--url", "https://other.example"]).stdout;
    assert!(elsewhere.starts_with(b"https://other.example/#l="), "{}", String::from_utf8_lossy(&elsewhere));
    drop(server);
    assert_eq!(daemon.json(&["pair"])["link"], Value::Null, "that server has ended");
}

#[test]
fn w11_the_browser_that_qd_web_opens_gets_the_address_and_no_code() {
    let daemon = traced_daemon();
    let (programs, opened) = (daemon.root().join("programs"), daemon.root().join("opened"));
    std::fs::create_dir(&programs).unwrap();
    let opener = programs.join("xdg-open");
    let script = format!("#!/bin/sh\necho \"$@\" > {0}.part && mv {0}.part {0}\n", opened.display());
    std::fs::write(&opener, script).unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let more = [("PATH", OsStr::new(&path)), ("DISPLAY", OsStr::new(":7"))];
    let mut desk = at_the_desk(&daemon, &["web", "--bind", "127.0.0.1:0"], &more);
    let shown = String::from_utf8_lossy(&desk.expect(b"another device")).into_owned();
    let words = eventually("a browser", || std::fs::read_to_string(&opened).ok());
    let url = shown.split("listening at ").nth(1).unwrap().lines().next().unwrap().trim();
    assert_eq!(words.trim(), url);
    drop(desk.hang_up());
}

/// Returns the checks of the doctor about a URL, by name.
fn checks(daemon: &TestDaemon, url: &str) -> Vec<(String, String, String)> {
    let output = daemon.qd(&["--json", "doctor", "--web", url]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = report["checks"].as_array().unwrap().iter();
    let text = |check: &Value, field: &str| check[field].as_str().unwrap_or_default().to_owned();
    all.map(|check| (text(check, "name"), text(check, "status"), text(check, "hint")))
        .filter(|(name, _, _)| name.starts_with("web"))
        .collect()
}

#[test]
fn w29_the_doctor_asks_a_public_url_for_its_page_its_base_and_its_sockets() {
    let daemon = traced_daemon();
    let server = Server::start_with(&daemon, &["--base", "/deck/"]);
    let root = format!("http://{}", server.host);
    let well = checks(&daemon, &format!("{root}/deck/"));
    let named = |name: &str| (name.to_owned(), "ok".to_owned(), String::new());
    assert_eq!(well, ["web address", "web page", "web sockets"].map(named));
    let above = checks(&daemon, &root);
    assert_eq!((above[1].1.as_str(), above[1].2.as_str()), ("fail", "`qd web --base /`"), "{above:?}");
    let port = server.host.rsplit(':').next().unwrap();
    let foreign = checks(&daemon, &format!("http://127.0.0.2:{port}"));
    assert_eq!((foreign.len(), foreign[0].1.as_str()), (1, "fail"), "nothing listens there: {foreign:?}");
    let usage = daemon.qd(&["doctor", "--web", "desk.example"]);
    assert_eq!(usage.status.code(), Some(2));
    assert!(daemon.list().is_empty(), "nothing was started");
}

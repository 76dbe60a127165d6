//! Files that a browser sends for a process: who may send them, how long they may be, and where they are.

use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;

use testkit::child;
use testkit::process_scan::{eventually, files, vitals};

use crate::server::{As, Server, traced_daemon};

fn store(server: &Server, who: &As, name: &str, body: &[u8]) -> crate::server::Answer {
    server.ask("POST", &format!("/api/v1/processes/cat/files?name={name}"), who, body)
}

#[test]
fn w14_a_file_is_stored_for_this_user_alone_and_served_to_nobody() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let page = server.sign_in();
    let cat = daemon.spawn("cat", child::shell("exec cat"));
    let answer = store(&server, &page, "..%2F..%2Fevil%20photo.jpg", b"bytes of a photo");
    assert_eq!(answer.status, 200, "{answer:?}");
    let stored = answer.json();
    let path = std::path::PathBuf::from(stored["path"].as_str().unwrap());
    let directory = daemon.dirs().data.join("web/files").join(cat.id.to_string());
    assert_eq!(path, directory.join("evil-photo.jpg"));
    assert_eq!(std::fs::read(&path).unwrap(), b"bytes of a photo");
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    for way in [format!("/files/{}/evil-photo.jpg", cat.id), "/assets/../files".to_owned()] {
        assert_ne!(server.ask("GET", &way, &page, b"").status, 200, "{way}");
    }
    assert_eq!(server.ask("GET", "/api/v1/processes/cat/files", &page, b"").status, 405);
    let audit = std::fs::read_to_string(daemon.dirs().data.join("web/audit.jsonl")).unwrap();
    assert!(audit.contains("\"attached\"") && !audit.contains("photo"), "{audit}");
}

#[test]
fn w14_a_viewer_a_stranger_and_a_file_for_nothing_are_refused_before_a_byte_is_stored() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let (viewer, typist) = (Server::token(&daemon, "view"), Server::token(&daemon, "type"));
    assert_eq!(store(&server, &typist, "x", b"x").status, 404, "there is no such process");
    daemon.spawn("cat", child::shell("exec cat"));
    assert_eq!(store(&server, &viewer, "x", b"x").status, 403);
    assert_eq!(store(&server, &As::Nobody, "x", b"x").status, 401);
    assert!(!daemon.dirs().data.join("web/files").exists());
}

#[test]
fn w14_a_giant_file_is_refused_within_16_mib_and_a_broken_one_leaves_nothing() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let token = Server::token(&daemon, "type");
    daemon.spawn("cat", child::shell("exec cat"));
    let As::Token(secret) = &token else { panic!("no token") };
    let head = format!(
        "POST /api/v1/processes/cat/files?name=giant HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {secret}\r\n",
        server.host
    );
    let before = vitals(server.pid()).rss_kib;
    let mut declared = server.connect();
    declared.write_all(format!("{head}Content-Length: {}\r\n\r\n", 1_u64 << 30).as_bytes()).unwrap();
    let mut answer = [0; 12];
    declared.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413", "its length alone is enough");
    // One that does not say how long it is.
    let mut chunked = server.connect();
    chunked.write_all(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes()).unwrap();
    let piece = [b"100000\r\n".as_slice(), &vec![b'x'; 1 << 20], b"\r\n"].concat();
    let sent = (0..1024).take_while(|_| chunked.write_all(&piece).is_ok()).count();
    assert!(sent < 64, "the server read {sent} MiB");
    let after = vitals(server.pid()).rss_kib;
    assert!(after < before + (16 << 10), "{before} KiB became {after}");
    let mut broken = server.connect();
    broken.write_all(format!("{head}Content-Length: 1000\r\n\r\nhalf of it").as_bytes()).unwrap();
    let stored = || files(&daemon.dirs().data.join("web/files")).iter().filter(|path| path.is_file()).count();
    eventually("the beginning of a file", || (stored() == 1).then_some(()));
    drop(broken);
    eventually("no part of a file", || (stored() == 0).then_some(()));
    assert_eq!(store(&server, &token, "small", b"x").status, 200, "others are served");
}

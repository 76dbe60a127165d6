//! A server that encrypts by itself, with a certificate that it made and with one that it was given.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};
use testkit::TestDaemon;

use crate::server::{Server, traced_daemon};

/// The certificate that a server made, as it is kept.
struct Kept {
    certificate: String,
    key: String,
}

fn kept(daemon: &TestDaemon) -> Kept {
    let text = std::fs::read(daemon.dirs().data.join("web/self-signed.json")).unwrap();
    let kept: Value = serde_json::from_slice(&text).unwrap();
    let text = |name: &str| kept[name].as_str().unwrap().to_owned();
    Kept { certificate: text("certificate"), key: text("key") }
}

/// A client that trusts this certificate and no other.
struct Client {
    config: Arc<ClientConfig>,
    address: String,
}

impl Client {
    fn new(server: &Server, certificate: &str) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap();
        let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
        Self { config, address: server.host.clone() }
    }

    fn connect(&self) -> StreamOwned<ClientConnection, TcpStream> {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(testkit::DEADLINE)).unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        StreamOwned::new(ClientConnection::new(Arc::clone(&self.config), name).unwrap(), stream)
    }

    /// Sends a request with these further lines; returns the whole answer.
    fn ask(&self, method: &str, path: &str, lines: &[&str], body: &str) -> String {
        let mut stream = self.connect();
        let host = if lines.iter().any(|line| line.starts_with("Host:")) {
            String::new()
        } else {
            format!("Host: {}\r\n", self.address)
        };
        let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{host}Connection: close\r\nContent-Length: {length}\r\n{lines}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn sign_in(&self, server: &Server) -> String {
        let origin = format!("Origin: https://{}", self.address);
        let body = json!({"code": server.code, "name": "test"}).to_string();
        let answer = self.ask("POST", "/api/v1/login", &[&origin, "X-Qd: 1"], &body);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let line = answer.lines().find(|line| line.to_lowercase().starts_with("set-cookie:")).unwrap();
        let cookie = line.split_once(": ").unwrap().1.to_owned();
        server.secrets.add_from_headers(&[("Set-Cookie".to_owned(), cookie.clone())]);
        cookie
    }
}

#[test]
fn w4_w10_a_self_signed_server_speaks_tls_alone_and_its_cookie_never_travels_in_the_clear() {
    let daemon = traced_daemon();
    let server = Server::start_with(&daemon, &["--self-signed"]);
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
    let client = Client::new(&server, &kept(&daemon).certificate);
    let cookie = client.sign_in(&server);
    for part in ["__Host-qd=", "; Path=/", "; HttpOnly", "; SameSite=Strict", "; Secure"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
    let own = format!("Origin: https://{}", server.host);
    let me = client.ask("GET", "/api/v1/me", &[&cookie, &own], "");
    assert!(me.starts_with("HTTP/1.1 200") && !me.to_lowercase().contains("strict-transport"), "{me}");
    let clear = format!("Origin: http://{}", server.host);
    let foreign = client.ask("GET", "/api/v1/me", &[&cookie, &clear], "");
    assert!(foreign.starts_with("HTTP/1.1 403"), "a page of the clear scheme is another site: {foreign}");
    let mut plain = server.connect();
    plain.write_all(format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", server.host).as_bytes()).unwrap();
    let mut answer = Vec::new();
    drop(plain.read_to_end(&mut answer));
    assert!(!answer.starts_with(b"HTTP"), "{}", String::from_utf8_lossy(&answer));
}

#[test]
fn w10_a_websocket_is_encrypted_as_well() {
    let daemon = traced_daemon();
    let server = Server::start_with(&daemon, &["--self-signed"]);
    let client = Client::new(&server, &kept(&daemon).certificate);
    let token = daemon.json(&["access", "token", "test"])["secret"].as_str().unwrap().to_owned();
    server.secrets.add(&token);
    let mut stream = client.connect();
    let lines = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                 Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n";
    let request = format!(
        "GET /ws/events HTTP/1.1\r\nHost: {}\r\n{lines}Authorization: Bearer {token}\r\n\r\n",
        server.host
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut got = Vec::new();
    while !got.windows(8).any(|part| part == b"snapshot") {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&got));
        got.extend_from_slice(&piece[..count]);
    }
    assert!(got.starts_with(b"HTTP/1.1 101"));
}

#[test]
fn w9_the_fingerprint_is_printed_and_outlives_a_restart() {
    let daemon = traced_daemon();
    let first = Server::start_with(&daemon, &["--self-signed"]);
    let fingerprint = first.ready["fingerprint"].as_str().unwrap().to_owned();
    assert_eq!(fingerprint.split(':').count(), 32, "{fingerprint}");
    drop(first);
    let second = Server::start_with(&daemon, &["--self-signed"]);
    assert_eq!(second.ready["fingerprint"].as_str(), Some(fingerprint.as_str()));
}

#[test]
fn w10_a_given_certificate_is_served_and_a_wrong_key_is_refused_by_name() {
    let daemon = traced_daemon();
    let made = Server::start_with(&daemon, &["--self-signed"]);
    let port = made.host.rsplit(':').next().unwrap().to_owned();
    let (kept, file) = (kept(&daemon), |name: &str| daemon.root().join(name));
    drop(made);
    std::fs::write(file("cert.pem"), &kept.certificate).unwrap();
    std::fs::write(file("key.pem"), &kept.key).unwrap();
    std::fs::write(file("wrong.pem"), "no key").unwrap();
    let path = |name: &str| file(name).display().to_string();
    let refused = daemon.qd(&[
        "web",
        "--bind",
        "127.0.0.1:0",
        "--cert",
        &path("cert.pem"),
        "--key",
        &path("wrong.pem"),
    ]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("wrong.pem"), "{said}");
    let alone = daemon.qd(&["web", "--cert", &path("cert.pem")]);
    assert_eq!(alone.status.code(), Some(2), "a certificate without its key");
    let bind = format!("127.0.0.1:{port}");
    let arguments = [
        "--bind",
        &bind,
        "--cert",
        &path("cert.pem"),
        "--key",
        &path("key.pem"),
        "--public-url",
        "https://desk.example",
    ];
    let mut server = Server::start_with(&daemon, &arguments);
    assert_eq!(server.host, "desk.example");
    server.host = bind;
    let client = Client::new(&server, &kept.certificate);
    let strict = |host: &str| {
        let answer = client.ask("GET", "/healthz", &[&format!("Host: {host}")], "").to_lowercase();
        assert!(answer.starts_with("http/1.1 200"), "{answer}");
        answer.contains("strict-transport-security: max-age=")
    };
    assert!(strict("desk.example"));
    assert!(!strict(&server.host), "the address itself has other ports");
}

#[test]
fn w14_connections_that_never_finish_a_handshake_keep_nobody_out() {
    let daemon = traced_daemon();
    let server = Server::start_with(&daemon, &["--self-signed"]);
    let client = Client::new(&server, &kept(&daemon).certificate);
    let silent: Vec<_> = (0..100).map(|_| server.connect()).collect();
    assert!(client.ask("GET", "/healthz", &[], "").starts_with("HTTP/1.1 200"));
    drop(silent);
}

//! A running `qd web`, and requests to it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use testkit::{DEADLINE, TestDaemon};

use crate::QD;
use crate::shown_secrets::ShownSecrets;

/// Starts a daemon that logs everything.
pub(crate) fn traced_daemon() -> TestDaemon {
    let daemon = TestDaemon::without_start(QD);
    let started = daemon.command(&["ps"]).env("QD_LOG", "trace").output().unwrap();
    assert!(started.status.success(), "{started:?}");
    daemon
}

/// A server of one daemon. It logs everything; when it is dropped, no file of the test may have a secret of it.
pub(crate) struct Server {
    child: Child,
    pub(crate) secrets: ShownSecrets,
    pub(crate) host: String,
    pub(crate) code: String,
    pub(crate) url: String,
    /// Everything that it printed.
    pub(crate) ready: Value,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&self.body)))
    }

    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) enum As {
    Nobody,
    /// The page, with its cookie.
    Page(String),
    /// A program, with its token.
    Token(String),
}

impl Server {
    pub(crate) fn start(daemon: &TestDaemon) -> Self {
        Self::start_with(daemon, &[])
    }

    pub(crate) fn start_with(daemon: &TestDaemon, more: &[&str]) -> Self {
        let bind: &[&str] = if more.contains(&"--bind") { &[] } else { &["--bind", "127.0.0.1:0"] };
        let arguments = [&["--json", "web"], bind, more].concat();
        Self::launch(daemon, daemon.command(&arguments))
    }

    /// Starts a server with a variable in its environment.
    pub(crate) fn start_with_variable(daemon: &TestDaemon, more: &[&str], variable: (&str, &str)) -> Self {
        let mut command = daemon.command(&[&["--json", "web", "--bind", "127.0.0.1:0"], more].concat());
        command.env(variable.0, variable.1);
        Self::launch(daemon, command)
    }

    /// Starts a server that leaves every check of a role to the daemon.
    pub(crate) fn start_unchecked(daemon: &TestDaemon) -> Self {
        let mut command = daemon.command(&["--json", "web", "--bind", "127.0.0.1:0"]);
        command.env("QD_TEST_UNCHECKED_ROLES", "1");
        Self::launch(daemon, command)
    }

    pub(crate) fn launch(daemon: &TestDaemon, mut command: Command) -> Self {
        let secrets = ShownSecrets::of(daemon.root());
        // A test with very many messages asks for less.
        if !command.get_envs().any(|(name, value)| name == "QD_LOG" && value.is_some()) {
            command.env("QD_LOG", "trace");
        }
        command.stderr(File::create(secrets.log()).unwrap());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut text = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        while serde_json::from_str::<Value>(&text).is_err() {
            assert!(stdout.read_line(&mut text).unwrap() > 0, "qd web ended: {text}{}", secrets.log_text());
        }
        let ready: Value = serde_json::from_str(&text).unwrap();
        let url = ready["url"].as_str().unwrap().to_owned();
        let host = url.split("://").nth(1).unwrap().split('/').next().unwrap().to_owned();
        let code = ready["code"].as_str().unwrap().to_owned();
        secrets.add(&code);
        Self { child, secrets, host, code, url, ready }
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.host)
    }

    /// Returns a new connection.
    pub(crate) fn connect(&self) -> TcpStream {
        let address = self.host.clone();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream
    }

    /// Signs a browser in with the first code; returns its cookie.
    pub(crate) fn sign_in(&self) -> As {
        self.sign_in_by(&self.code.clone())
    }

    pub(crate) fn sign_in_by(&self, code: &str) -> As {
        let body = serde_json::json!({"code": code, "name": "test"}).to_string();
        let answer = self.ask("POST", "/api/v1/login", &As::Page(String::new()), body.as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap();
        As::Page(cookie.to_owned())
    }

    /// Mints a token at the machine.
    pub(crate) fn token(daemon: &TestDaemon, role: &str) -> As {
        let minted = daemon.json(&["access", "token", "test", "--role", role]);
        As::Token(minted["secret"].as_str().unwrap().to_owned())
    }

    /// Sends one request as a page or a program would.
    pub(crate) fn ask(&self, method: &str, path: &str, who: &As, body: &[u8]) -> Answer {
        let mut headers = vec![("Host".to_owned(), self.host.clone())];
        headers.extend(self.headers(who));
        self.send(method, path, &headers, body)
    }

    /// Returns the headers by which the caller is known.
    pub(crate) fn headers(&self, who: &As) -> Vec<(String, String)> {
        let header = |name: &str, value: String| (name.to_owned(), value);
        match who {
            As::Nobody => Vec::new(),
            As::Page(cookie) => vec![
                header("Cookie", cookie.clone()),
                header("Origin", self.origin()),
                header("X-Qd", "1".to_owned()),
            ],
            As::Token(token) => vec![header("Authorization", format!("Bearer {token}"))],
        }
    }

    /// Sends one request with exactly these headers.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(String, String)], body: &[u8]) -> Answer {
        self.send_over(self.connect(), method, path, headers, body)
    }

    /// Sends one request over this connection.
    pub(crate) fn send_over(
        &self,
        mut stream: TcpStream,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Answer {
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        stream.write_all(request.as_bytes()).unwrap();
        // A body that is too long may be refused before it was read.
        drop(stream.write_all(body));
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(answer.len());
        let head = String::from_utf8_lossy(&answer[..end]).into_owned();
        let status =
            head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{head:?}"));
        let received = answer.get(end + 4..).unwrap_or_default().to_vec();
        let answer = Answer { status, body: unchunked(&head, received), head };
        self.secrets.add_from_headers(headers);
        self.secrets.add_from_exchange(path, body, &answer);
        answer
    }
}

/// Returns a body without the lengths of its chunks.
fn unchunked(head: &str, body: Vec<u8>) -> Vec<u8> {
    if !head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        return body;
    }
    let (mut whole, mut rest) = (Vec::new(), &body[..]);
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let length = usize::from_str_radix(&String::from_utf8_lossy(&rest[..end]), 16).unwrap();
        whole.extend_from_slice(&rest[end + 2..end + 2 + length]);
        rest = &rest[(end + 4 + length).min(rest.len())..];
    }
    whole
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        // A test that has failed has said why.
        if !std::thread::panicking() {
            self.secrets.assert_in_no_file();
        }
    }
}

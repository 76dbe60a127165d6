//! Every secret that one server has issued or was shown, and the check that no file of its test has one: neither the logs of
//! the server and the daemon, which log everything, nor what they keep.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;
use testkit::process_scan;

use crate::server::Answer;

/// Shorter texts are no secrets but guesses of a test, which may stand in a file by chance.
const SHORTEST: usize = 16;
/// Longer bodies are no sign-ins.
const LONGEST_BODY: usize = 64 << 10; // 64 KiB

static NEXT: AtomicU32 = AtomicU32::new(0);

/// The secrets of one server.
pub(crate) struct ShownSecrets {
    root: PathBuf,
    log: PathBuf,
    all: Mutex<BTreeSet<String>>,
}

impl ShownSecrets {
    /// Returns none yet, for a server whose files are below `root`.
    pub(crate) fn of(root: &Path) -> Self {
        let log = root.join(format!("web-{}.log", NEXT.fetch_add(1, Ordering::Relaxed)));
        Self { root: root.to_owned(), log, all: Mutex::default() }
    }

    /// Returns the file of the server's log.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    pub(crate) fn log_text(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub(crate) fn add(&self, secret: &str) {
        self.all.lock().unwrap().insert(secret.to_owned());
    }

    fn add_long(&self, text: &str) {
        if text.len() >= SHORTEST {
            self.add(text);
        }
    }

    /// Adds the tokens, cookies and tickets of a request.
    pub(crate) fn add_from_headers(&self, headers: &[(String, String)]) {
        for (name, value) in headers {
            let secret = match name.to_ascii_lowercase().as_str() {
                "authorization" => value.split_once(' '),
                "cookie" | "set-cookie" => value.split_once('='),
                "sec-websocket-protocol" => value.split_once("qd.ticket."),
                _ => None,
            };
            if let Some((_, secret)) = secret {
                self.add_long(secret.split(';').next().unwrap());
            }
        }
    }

    /// Adds what a request to the API and its answer have: passphrases, links, codes that were right, and what was issued.
    pub(crate) fn add_from_exchange(&self, path: &str, sent: &[u8], answer: &Answer) {
        if let Some(cookie) = answer.header("set-cookie") {
            self.add_from_headers(&[("set-cookie".to_owned(), cookie.to_owned())]);
        }
        if !path.contains("/api/v1/") || sent.len().max(answer.body.len()) > LONGEST_BODY {
            return;
        }
        let parse = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap_or_default();
        let (sent, received) = (parse(sent), parse(&answer.body));
        for (value, name) in
            [(&sent, "passphrase"), (&sent, "link"), (&received, "secret"), (&received, "ticket")]
        {
            self.add_long(value[name].as_str().unwrap_or_default());
        }
        // A wrong code is any eight letters.
        if let Some(code) = sent["code"].as_str().filter(|_| answer.status == 200) {
            self.add(code);
        }
    }

    /// Fails if a file of the test has one of the secrets, or if the server has logged nothing.
    pub(crate) fn assert_in_no_file(&self) {
        assert!(self.log_text().contains("listening"), "the server has no log");
        let all = self.all.lock().unwrap().clone();
        // Pipes of scripted children would be waited for.
        let is_plain = |path: &PathBuf| std::fs::symlink_metadata(path).is_ok_and(|known| known.is_file());
        for path in process_scan::files(&self.root).into_iter().filter(is_plain) {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
            for secret in &all {
                assert!(!text.contains(secret.as_str()), "{} has the secret {secret}", path.display());
            }
        }
    }
}

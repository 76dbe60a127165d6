//! The fake agent's files, below `FAKE_HOME`: a transcript that grows and a file with its state. Nothing is
//! kept open: each line is one write, each state a new file.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

/// The tokens of every turn.
const TURN_TOKENS: u64 = 20_000;

/// Where the files lie.
#[derive(Default)]
pub(crate) struct Files {
    home: Option<PathBuf>,
    session: String,
    used: u64,
}

impl Files {
    pub(crate) fn new(session: &str) -> Self {
        let home = std::env::var_os("FAKE_HOME").map(PathBuf::from);
        for part in ["sessions", "state"] {
            let made = home.as_ref().map(|home| std::fs::create_dir_all(home.join(part)));
            drop(made);
        }
        Self { home, session: session.to_owned(), used: 0 }
    }

    pub(crate) fn prompted(&self) {
        self.append(&json!({ "type": "prompt", "session": self.session }));
    }

    pub(crate) fn answered(&mut self, text: &str) {
        self.used += TURN_TOKENS;
        self.append(&json!({ "type": "answer", "text": text, "used": self.used }));
        self.append(&json!({ "type": "over" }));
    }

    pub(crate) fn status(&self, word: &str) {
        let Some(home) = &self.home else { return };
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let started =
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19)?.parse::<u64>().ok());
        let pid = std::process::id();
        let text = json!({ "pid": pid, "started": started, "status": word }).to_string();
        let (new, path) = (home.join(format!("state/{pid}.new")), home.join(format!("state/{pid}.json")));
        let _lost = std::fs::write(&new, text).and_then(|()| std::fs::rename(new, path));
    }

    fn append(&self, line: &Value) {
        let Some(home) = &self.home else { return };
        let path = home.join(format!("sessions/{}.jsonl", self.session));
        let file = OpenOptions::new().append(true).create(true).open(path);
        let _lost = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    }
}

//! A user who is not root starts an agent whose vendor reads only root's files: every output shows what the
//! launch lacks.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::QD;

/// The user that owns nothing on most systems.
const NOBODY: u32 = 65_534;

/// A `qd` of another user, with its own daemon. Without root it is the user of the test, who is not root either.
struct AnotherUser {
    root: tempfile::TempDir,
}

impl AnotherUser {
    fn new() -> Self {
        let root = tempfile::Builder::new().prefix("qdu").tempdir().unwrap();
        std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        testkit::child::copy_program(QD, root.path().join("qd"));
        let program = root.path().join("gemini");
        std::fs::write(
            &program,
            "#!/bin/sh\n[ \"$1\" = --version ] && { echo 0.61.0; exit; }\nexec sleep 1000\n",
        )
        .unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let user = Self { root };
        for name in ["home", "run", "data", "config"] {
            user.make_private(&user.place(name));
        }
        user
    }

    fn place(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn make_private(&self, directory: &Path) {
        std::fs::create_dir(directory).unwrap();
        std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700)).unwrap();
        if is_root() {
            chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    fn qd(&self, arguments: &[&str]) -> Output {
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            let (user, group) = (format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"));
            command.args([user.as_str(), group.as_str(), "--clear-groups"]).arg(self.place("qd"));
            command
        } else {
            Command::new(self.place("qd"))
        };
        let path = format!("{}:/usr/bin:/bin", self.root.path().display());
        command.args(arguments).env_clear().env("PATH", path).env("HOME", self.place("home"));
        command.env("QD_RUNTIME_DIR", self.place("run")).env("QD_DATA_DIR", self.place("data"));
        command.env("QD_CONFIG_DIR", self.place("config")).current_dir(self.place("home"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_slice(&self.qd(&[&["--json"], arguments].concat()).stdout).unwrap()
    }
}

impl Drop for AnotherUser {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.qd(&["shutdown", "--kill"]);
        }
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn says_it(value: &Value) -> bool {
    value.to_string().contains("runs without Quarterdeck's tools (MCP) and without hooks")
}

#[test]
fn c19_another_user_is_told_what_gemini_lacks() {
    let user = AnotherUser::new();
    let offers = user.json(&["agents"]);
    let offer = offers.as_array().unwrap().iter().find(|offer| offer["name"] == "gemini").unwrap();
    assert!(says_it(&offer["problems"]) && !offer["abilities"].to_string().contains("mcp"), "{offer}");
    let spawn = ["spawn", "--kind", "agent", "--name"];
    let spawned = user.qd(&[&spawn[..], &["first", "--", "gemini"]].concat());
    assert!(says_it(&String::from_utf8_lossy(&spawned.stdout).into_owned().into()));
    assert!(says_it(&user.json(&[&spawn[..], &["second", "--", "gemini"]].concat())["shortfalls"]));
    let processes = user.json(&["ps"]);
    let second = processes.as_array().unwrap().iter().find(|process| process["name"] == "second").unwrap();
    assert!(says_it(&second["agent"]["shortfalls"]), "{second}");
    assert!(says_it(&user.json(&["explain", "second"])));
    let inbox = user.json(&["inbox"]);
    let open = inbox.as_array().unwrap().iter().filter(|item| says_it(&item["body"])).count();
    assert_eq!(open, 2, "{inbox}");
}

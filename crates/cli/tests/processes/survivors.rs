//! A descendant that became another user cannot be ended: the error names it, and the call fails. It needs
//! root, who can make a program that others run as root.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use testkit::process_scan::{eventually, is_alive, parent};

const QD: &str = env!("CARGO_BIN_EXE_qd");

/// The user that the daemon runs as.
const NOBODY: u32 = 65_534;

/// A directory of an ordinary user, with a program that makes them root.
struct UserDirectory {
    dir: tempfile::TempDir,
}

impl UserDirectory {
    fn new() -> Self {
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).unwrap();
        for name in ["run", "data", "config"] {
            let path = dir.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let rootly = dir.path().join("rootly");
        testkit::child::copy_program(setpriv(), &rootly);
        fs::set_permissions(&rootly, fs::Permissions::from_mode(0o4755)).unwrap();
        testkit::child::copy_program(QD, dir.path().join("qd"));
        Self { dir }
    }

    fn qd(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(setpriv());
        let user = NOBODY.to_string();
        command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
        command.arg(self.dir.path().join("qd")).args(arguments);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.dir.path()).current_dir("/");
        for (variable, name) in
            [("QD_RUNTIME_DIR", "run"), ("QD_DATA_DIR", "data"), ("QD_CONFIG_DIR", "config")]
        {
            command.env(variable, self.dir.path().join(name));
        }
        command.output().unwrap()
    }
}

fn setpriv() -> PathBuf {
    let found = ["/usr/bin/setpriv", "/bin/setpriv"].iter().map(Path::new).find(|path| path.exists());
    found.expect("setpriv is part of util-linux").to_owned()
}

fn expect_named(output: &Output, pid: i32) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("web was not ended") && said.contains(&format!("sleep (pid {pid}, user 0)")),
        "{said}"
    );
}

#[test]
fn m7a_a_descendant_that_became_root_is_named_by_close_kill_and_shutdown() {
    if !geteuid().is_root() {
        return;
    }
    let place = UserDirectory::new();
    let said = place.dir.path().join("data/pid");
    let script = format!(
        "setsid {}/rootly --reuid 0 sh -c 'echo $$ >{}; exec sleep 1000000' & wait",
        place.dir.path().display(),
        said.display()
    );
    assert!(place.qd(&["spawn", "--name", "web", "--", "sh", "-c", &script]).status.success());
    let pid = eventually("it runs as root", || fs::read_to_string(&said).ok()?.trim().parse::<i32>().ok());
    eventually("it sleeps", || {
        fs::read_to_string(format!("/proc/{pid}/comm")).ok().filter(|name| name == "sleep\n").map(|_| ())
    });
    expect_named(&place.qd(&["kill", "web", "--grace", "0.1"]), pid);
    expect_named(&place.qd(&["close", "web", "--now"]), pid);
    let listed = String::from_utf8(place.qd(&["ps"]).stdout).unwrap();
    assert!(listed.contains("web"), "its entry stays: {listed}");
    assert!(is_alive(pid) && parent(pid) > 1);
    expect_named(&place.qd(&["shutdown", "--kill", "--now"]), pid);
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    assert!(place.qd(&["close", "web"]).status.success(), "the next daemon closes what is left");
    assert!(place.qd(&["shutdown", "--kill"]).status.success());
}

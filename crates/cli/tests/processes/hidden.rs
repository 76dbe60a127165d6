//! A `/proc` that hides other users' processes (hidepid): runs work, and `qd doctor` reports what does not.
//! It needs root, who can mount such a `/proc` in a namespace of its own.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

use rustix::process::geteuid;

const QD: &str = env!("CARGO_BIN_EXE_qd");

/// The user for everything: root sees everything whatever is hidden.
const NOBODY: u32 = 65_534;

/// The script's exit code when this machine does not allow mounts.
const NO_MOUNT: i32 = 97;

const AS_NOBODY: &str = "mount -t proc -o hidepid=2 proc /proc || exit 97\n\
    exec setpriv --reuid 65534 --regid 65534 --clear-groups sh -ec \"$1\"";

/// The usual operations in short: identity inside and outside a run, a killed daemon, an end of the whole
/// tree.
const DAY: &str = r#"
test ! -e /proc/1
qd spawn --name web -- sh -c 'setsid sleep 1000000 & echo $! >$PLACE/data/child; $PLACE/qd whoami --json; echo ready; wait'
qd wait web --pattern ready
qd read web | grep -q '"process"' && echo "inside it is the process"
qd whoami --json | grep -q '"human"' && echo "outside it is the person"
kill -9 $(qd status --json | sed 's/.*"pid":\([0-9]*\).*/\1/')
qd ps | grep web | grep -q running && echo "adopted"
qd close web && test ! -e /proc/$(cat $PLACE/data/child) && echo "closed with its family"
qd doctor | grep -q 'hidepid' && echo "doctor tells"
qd shutdown --kill
"#;

#[test]
fn m8_a_proc_that_hides_other_users_works_and_doctor_tells() {
    if !geteuid().is_root() {
        println!("not checked: only root mounts a /proc of its own");
        return;
    }
    let place = tempfile::tempdir_in("/tmp").unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o711)).unwrap();
    for name in ["run", "data", "config"] {
        let path = place.path().join(name);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    testkit::child::copy_program(QD, place.path().join("qd"));
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", AS_NOBODY, "sh", DAY]).env_clear().current_dir("/");
    command.env("PATH", format!("{}:/usr/bin:/bin", place.path().display()));
    command.env("HOME", place.path()).env("PLACE", place.path());
    for (variable, name) in [("QD_RUNTIME_DIR", "run"), ("QD_DATA_DIR", "data"), ("QD_CONFIG_DIR", "config")]
    {
        command.env(variable, place.path().join(name));
    }
    let output = command.output().unwrap();
    let said = format!("{}{}", super::text(&output.stdout), super::text(&output.stderr));
    if output.status.code() == Some(NO_MOUNT) {
        println!("not checked: mounting is not allowed here");
        return;
    }
    assert!(output.status.success(), "{said}");
    for fact in [
        "inside it is the process",
        "outside it is the person",
        "adopted",
        "closed with its family",
        "doctor tells",
    ] {
        assert!(said.contains(fact), "{fact}: {said}");
    }
}

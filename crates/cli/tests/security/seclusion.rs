//! What other users and children can see of us: file modes, masks, descriptors, logs.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use proto::Request;
use proto::request::{Hook, Pad, PadAct};
use serde_json::json;
use testkit::process_scan::files;
use testkit::{FakeAgents, Mark, TestDaemon, child};

use crate::{AGENT, QD, said};

/// Texts that were typed, printed, sent and noted: each once, and nowhere else in the test.
const SECRETS: [&str; 5] = ["typed-7f3a91", "printed-91bc04", "told-55de62", "noted-aa10c8", "hooked-0e4b17"];

/// Passes each of them through the daemon: a shell, an agent with its hooks, a scratchpad, and a refused
/// hook, which writes to the log.
fn pass_secrets(crew: &FakeAgents, mask: &Path) {
    let [typed, printed, told, noted, hooked] = SECRETS;
    // Printed in two halves, so that it is in no argument either.
    let (left, right) = printed.split_at(5);
    let script = format!(
        "umask > '{}'; printf '%s%s\\n' {left} {right}; while read -r line; do echo \"got:$line\"; done",
        mask.display()
    );
    crew.run("masked", child::shell(&script));
    crew.wait_pattern("masked", printed);
    crew.type_text("masked", &format!("{typed}\r"));
    crew.wait_pattern("masked", &format!("got:{typed}"));
    crew.run("over", child::print_and_exit("x", 1));
    crew.wait_exit("over");
    crew.enlist_hooked("agent", &[]);
    let turn = crew.submit("agent", &format!("say {told}"));
    assert_eq!(crew.result("agent", turn).text, told);
    let act = PadAct::Append { name: "notes".to_owned(), text: noted.to_owned() };
    let project = Some(crew.root().display().to_string());
    crew.client().call(Request::Pad(Pad { project, act })).unwrap();
    crew.refusal(Request::Hook(Hook {
        payload: json!({ "prompt": hooked }),
        event: Some("stop".to_owned()),
    }));
}

#[test]
fn b12_under_an_open_mask_nothing_of_ours_is_open_and_children_keep_the_users_mask() {
    let crew = FakeAgents::start(QD, AGENT);
    let dirs = crew.dirs();
    let users_own = files(&dirs.config);
    let script = "umask 000; exec \"$0\" ps";
    let mut start = Command::new("sh");
    let started =
        start.args(["-c", script, QD]).envs(crew.variables()).env("QD_LOG", "trace").output().unwrap();
    assert!(started.status.success(), "{}", said(&started));
    let mask = crew.root().join("mask");
    pass_secrets(&crew, &mask);
    assert_eq!(std::fs::read_to_string(mask).unwrap().trim(), "0000", "the user's own mask");
    let assert_private = |when: &str| {
        for root in [&dirs.runtime, &dirs.data, &dirs.config] {
            let ours = files(root).into_iter().filter(|path| !users_own.contains(path));
            for path in ours.chain([root.clone()]) {
                // A short-lived file may be gone.
                let Ok(found) = std::fs::symlink_metadata(&path) else { continue };
                let mode = found.permissions().mode();
                assert_eq!(mode & 0o077, 0, "{when}: {} is {mode:o}", path.display());
            }
        }
    };
    assert_private("while it runs");
    assert!(files(&dirs.data).iter().any(|path| path.ends_with("notes")), "{:?}", files(&dirs.data));
    assert!(crew.qd(&["shutdown"]).status.success());
    assert_private("when it has ended");
    assert_eq!(crew.list().len(), 3);
}

#[test]
fn b12_what_is_typed_and_printed_is_in_no_log_of_ours_however_much_it_says() {
    let crew = FakeAgents::start(QD, AGENT);
    assert!(crew.command(&["ps"]).env("QD_LOG", "trace").output().unwrap().status.success());
    pass_secrets(&crew, &crew.root().join("mask"));
    assert!(crew.qd(&["shutdown"]).status.success());
    let dirs = crew.dirs();
    let is_log =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".log"));
    let roots = [&dirs.runtime, &dirs.data, &dirs.config];
    let logs: Vec<PathBuf> = roots.into_iter().flat_map(|root| files(root)).filter(is_log).collect();
    assert!(logs.contains(&dirs.daemon_log()), "{logs:?}");
    for log in logs {
        let text = String::from_utf8_lossy(&std::fs::read(&log).unwrap()).into_owned();
        for secret in SECRETS {
            let line = text.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "{} holds what went by", log.display());
        }
    }
    let text = std::fs::read_to_string(dirs.daemon_log()).unwrap();
    assert!(text.contains("a hook from outside"), "it was asked to say everything: {text:?}");
}

#[test]
fn b10_children_have_three_descriptors_however_many_start_at_once() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let mut connection = daemon.client();
    let argv = || vec!["sleep".to_owned(), "1000000".to_owned()];
    let calls: Vec<u64> = (0..40)
        .map(|n| connection.send(Request::Spawn(Box::new(mark.spawn(&format!("fd{n}"), argv())))).unwrap())
        .collect();
    for call in calls {
        connection.answer(call).unwrap();
    }
    let children = mark.expect(40);
    for pid in children {
        let open = testkit::process_scan::descriptors(pid);
        assert_eq!(open.keys().copied().collect::<Vec<i32>>(), [0, 1, 2], "{open:?}");
        assert!(open.values().all(|path| path.starts_with("/dev/pts")), "{open:?}");
    }
}

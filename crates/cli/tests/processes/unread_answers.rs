//! Answers of the terminal that a process asks for and does not read.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;

use serde_json::Value;
use testkit::process_scan::eventually;

use super::stage;

/// Enough that the kernel's buffers, the holder's and the daemon's are full.
const QUESTIONS: usize = 50_000;
/// They are asked in so many rounds with a pause after each. Asked at once, most could be dropped before the holder had written any, and
/// the terminal had room for the others.
const ROUNDS: usize = 100;

#[test]
fn m10h_answers_that_a_process_does_not_read_are_shown_by_ps_and_explain_until_it_reads() {
    let stage = stage();
    let (asked, go) = (stage.root().join("asked"), stage.root().join("go"));
    std::fs::write(&asked, b"\x1b[6n".repeat(QUESTIONS / ROUNDS)).unwrap();
    let agents = stage.dirs().config.join("agents");
    DirBuilder::new().recursive(true).mode(0o700).create(&agents).unwrap();
    let script = format!(
        "stty raw -echo; for i in $(seq {ROUNDS}); do cat {}; sleep 0.02; done; printf asked; until [ -e {} ]; do sleep 0.05; done; exec cat >/dev/null",
        asked.display(),
        go.display()
    );
    std::fs::write(agents.join("asker.toml"), format!("argv = ['sh', '-c', '''{script}''']\n")).unwrap();
    let spawned = stage.qd(&["spawn", "--kind", "agent", "--name", "asks", "--", "asker"]);
    assert!(spawned.status.success(), "{}", String::from_utf8_lossy(&spawned.stderr));
    stage.wait_pattern("asks", "asked");
    let listed = || stage.json(&["ps"])[0]["unread_answers"].clone();
    let number = |unread: &Value, name: &str| unread[name].as_u64().unwrap();
    // What the holder has taken is counted a moment later, so the numbers count when they stay as they are.
    let unread = eventually("unread answers", || {
        let unread = Some(listed()).filter(|unread| !unread.is_null())?;
        let is_some = |name| number(&unread, name) > 0;
        (is_some("waiting") && is_some("dropped") && listed() == unread).then_some(unread)
    });
    let (waiting, dropped) = (number(&unread, "waiting"), number(&unread, "dropped"));
    assert!(waiting + dropped < QUESTIONS as u64, "some were written before the terminal was full: {unread}");
    assert_eq!(stage.json(&["explain", "asks"])["unread_answers"], unread);
    let words = format!(
        "it sends queries to its terminal and does not read the answers: {waiting} wait, {dropped} were dropped"
    );
    for verb in [&["ps"][..], &["explain", "asks"]] {
        let printed = String::from_utf8(stage.qd(verb).stdout).unwrap();
        assert!(printed.contains(&words), "{verb:?}: {printed}");
    }
    std::fs::write(&go, "").unwrap();
    let read = eventually("all are read", || Some(listed()).filter(|unread| number(unread, "waiting") == 0));
    assert_eq!(number(&read, "dropped"), dropped, "what was dropped stays known");
}

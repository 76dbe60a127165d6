//! Kill -9 of the daemon while it types a text. The next daemon types the rest or reports exactly how much
//! was typed.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use daemon::Failpoint;
use testkit::process_scan::{eventually, pause, scale};
use testkit::{MarkedDaemon, child};

use crate::QD;
use crate::story::Dice;

/// Longer than what a daemon hands to the holder at once.
const LONG: usize = 700_000;

/// A daemon that dies at the place a file names, and a child that records its input.
struct Scene {
    stage: MarkedDaemon,
    /// The file that names the place where the daemon dies.
    order: PathBuf,
    /// The file in which the child records its input.
    typed: PathBuf,
}

impl Scene {
    /// Starts a child that reads raw and records every byte. The child's shell runs `first` before.
    fn set(first: &str) -> Self {
        let stage = MarkedDaemon::around(testkit::TestDaemon::without_start(QD));
        let (order, typed) = (stage.root().join("die"), stage.root().join("typed"));
        let started = stage.command(&["ps"]).env("QD_TEST_FAILPOINTS", &order).output().unwrap();
        assert!(started.status.success());
        let script = format!("stty raw -echo; printf ready; {first} exec cat > {}", typed.display());
        stage.run("x", child::shell(&script));
        stage.wait_pattern("x", "ready");
        Self { stage, order, typed }
    }

    fn dies_at(&self, place: Failpoint) {
        let new = self.order.with_extension("new");
        std::fs::write(&new, place.name()).unwrap();
        std::fs::rename(new, &self.order).unwrap();
    }

    /// Runs `qd` with these bytes on its standard input.
    fn qd(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut command = self.stage.command(arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // `qd` does not read a paste to its end if it gives it up early, so this write may fail.
        drop(stdin.write_all(input));
        drop(stdin);
        child.wait_with_output().unwrap()
    }

    /// Waits until this many bytes have been typed into the child.
    fn until_typed(&self, length: usize) -> Vec<u8> {
        eventually("all of it is typed", || read(&self.typed).filter(|typed| typed.len() >= length))
    }
}

fn read(path: &Path) -> Option<Vec<u8>> {
    std::fs::read(path).ok()
}

fn text(length: usize) -> Vec<u8> {
    (0..length).map(|n| b'a' + (n % 23) as u8).collect()
}

#[test]
fn m7d_a_send_that_a_kill_tears_is_finished_by_the_next_daemon() {
    for place in [Failpoint::InputQueued, Failpoint::InputTyped] {
        let scene = Scene::set("");
        scene.dies_at(place);
        let expected = [text(LONG).as_slice(), b"\r"].concat();
        let sent = scene.qd(&["send", "x", "-", "--timeout", "100"], &text(LONG));
        assert!(sent.status.success(), "{place:?}: {}", String::from_utf8_lossy(&sent.stderr));
        assert!(!scene.order.exists(), "the daemon died at {place:?}");
        let typed = scene.until_typed(expected.len());
        assert!(typed == expected, "{place:?}: {} bytes of {}", typed.len(), expected.len());
    }
}

#[test]
fn m7d_enter_is_pressed_once_when_a_kill_comes_between_the_text_and_enter() {
    // Constant output delays Enter, which waits for a stable screen.
    let scene = Scene::set("(while :; do printf .; sleep 0.05; done) &");
    let mut sending = scene.stage.command(&["paste", "x", "a prompt", "--submit"]).spawn().unwrap();
    scene.until_typed("a prompt".len());
    scene.stage.kill_9();
    assert!(testkit::wait_for_end(&mut sending, testkit::DEADLINE).success());
    assert_eq!(scene.until_typed(9), b"a prompt\r");
}

#[test]
fn m7d_a_torn_paste_from_a_pipe_says_exactly_how_much_was_typed_and_is_closed() {
    for (first, brackets) in [("", false), ("printf '\\033[?2004h';", true)] {
        let scene = Scene::set(first);
        scene.dies_at(Failpoint::InputTyped);
        let pasted = scene.qd(&["paste", "x", "-", "--submit"], &text(LONG));
        assert_eq!(pasted.status.code(), Some(1));
        let told = String::from_utf8_lossy(&pasted.stderr).into_owned();
        let said: usize = told.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
        assert!(told.contains("bytes of the paste") && said > 0 && said < LONG, "{told}");
        let expected = match brackets {
            true => [b"\x1b[200~", &text(said - 6)[..], b"\x1b[201~"].concat(),
            false => text(said),
        };
        let typed = scene.until_typed(expected.len());
        assert!(typed == expected, "{} bytes, and it said: {told}", typed.len());
    }
}

#[test]
fn m7d_a_torn_send_to_a_child_that_does_not_read_says_exactly_how_much_was_typed() {
    let scene = Scene::set("while [ ! -e go ]; do sleep 0.05; done;");
    scene.dies_at(Failpoint::InputQueued);
    let sent = scene.qd(&["send", "x", "-", "--timeout", "2"], &text(LONG));
    let told = String::from_utf8_lossy(&sent.stderr).into_owned();
    assert_eq!(sent.status.code(), Some(1), "{told}");
    let numbers: Vec<usize> = told.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(matches!(numbers[..], [_, LONG]), "{told}");
    std::fs::write(scene.stage.root().join("go"), "").unwrap();
    let typed = scene.until_typed(numbers[0]);
    assert!(typed == text(numbers[0]), "{} bytes, and it said: {told}", typed.len());
}

#[test]
fn m7d_lines_that_are_sent_while_the_daemon_is_killed_arrive_once_and_in_order() {
    let scene = Scene::set("");
    let mut dice = Dice::new(11);
    let mut expected = Vec::new();
    for round in 0..8 * scale() {
        let line = format!("<line {round}>");
        let mut sending = scene.stage.command(&["send", "x", &line]).spawn().unwrap();
        pause(Duration::from_micros(dice.below(400_000) as u64));
        scene.stage.kill_9();
        assert!(testkit::wait_for_end(&mut sending, testkit::DEADLINE).success(), "{line}");
        expected.extend_from_slice(format!("{line}\r").as_bytes());
    }
    let typed = scene.until_typed(expected.len());
    assert_eq!(String::from_utf8_lossy(&typed), String::from_utf8_lossy(&expected));
}

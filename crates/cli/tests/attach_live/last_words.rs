//! What a process that has ended, or ends repeatedly, leaves on a person's terminal.

use proto::Size;
use proto::request::Spawn;

use super::window::Window;
use super::{sh, stage};

#[test]
fn m13_attaching_to_an_ended_process_shows_its_last_screen_and_how_it_ended() {
    let stage = stage();
    stage.run("x", sh("echo first words; echo last words; exit 3"));
    stage.wait_exit("x");
    let mut window = Window::open(&stage, Size::DEFAULT, &["attach", "x"]);
    assert_eq!(window.wait_exit().code(), Some(3));
    window.until_shows("first words\nlast words\n[x: exit 3]");
}

#[test]
fn m13_short_output_stays_above_the_message_about_the_end() {
    let stage = stage();
    let mark = stage.mark();
    let words = ["spawn", "--name", "x", "--env", &mark, "--attach", "--", "sh", "-c", "echo one; echo two"];
    let mut window = Window::open(&stage, Size { cols: 60, rows: 10 }, &words);
    assert_eq!(window.wait_exit().code(), Some(0));
    window.until_shows("one\ntwo\n[x: exit 0]");
}

#[test]
fn m13_a_detached_viewers_screen_is_not_pushed_away_either() {
    let stage = stage();
    stage.run("x", sh("echo one; echo two; exec sleep 1000"));
    stage.wait_pattern("x", "two");
    let mut window = Window::attached(&stage, "two");
    assert_eq!(window.detach().code(), Some(0));
    window.until_shows("one\ntwo\n[detached from x]");
}

#[test]
fn m13_what_a_killed_program_showed_on_the_alternate_screen_is_seen() {
    let stage = stage();
    stage.run("x", sh("printf '\\033[?1049h\\033[2;3Hin full screen'; kill -9 $$"));
    stage.wait_exit("x");
    let mut window = Window::open(&stage, Size { cols: 60, rows: 10 }, &["attach", "x"]);
    assert_eq!(window.wait_exit().code(), Some(137));
    window.until_shows("  in full screen\n[x:");
}

#[test]
fn m13_a_viewer_stays_attached_across_automatic_restarts() {
    let stage = stage();
    let count = stage.root().join("count");
    let script = format!(
        "n=$(($(cat '{count}' 2>/dev/null) + 1)); echo $n > '{count}'; echo \"this is run $n\"; read -r l; exit 4",
        count = count.display()
    );
    stage.spawn_as(Spawn { auto_restart: true, ..stage.spec("x", sh(&script)) });
    stage.wait_pattern("x", "this is run 1");
    let mut window = Window::attached(&stage, "this is run 1");
    for run in 1..=2 {
        window.type_keys("\r");
        window.until_shows("[exit 4; starts again in");
        window.until_shows(&format!("this is run {}", run + 1));
        assert!(!window.text().contains("starts again"), "{}", window.text());
    }
    // A process that is ended while it waits is not restarted.
    window.type_keys("\r");
    window.until_shows("[exit 4; starts again in");
    assert!(stage.qd(&["kill", "x"]).status.success());
    assert_eq!(window.wait_exit().code(), Some(4));
    window.until_shows("[x: exit 4]");
}

#[test]
fn m15_viewers_are_listed_and_let_go_by_command() {
    let stage = stage();
    stage.run("x", sh("echo ready; exec sleep 1000"));
    stage.wait_pattern("x", "ready");
    let mut types = Window::attached(&stage, "ready");
    let mut watches = Window::open(&stage, Size { cols: 60, rows: 10 }, &["attach", "x", "--read-only"]);
    watches.until_shows("ready");
    stage.until_view("x", |view| view.terminal.viewers == 2);
    let views = stage.json(&["viewers"]);
    let told: Vec<_> = views
        .as_array()
        .unwrap()
        .iter()
        .map(|view| (view["name"].as_str().unwrap(), view["by"].as_str().unwrap(), view["read_only"] == true))
        .collect();
    assert_eq!(told, [("x", "person", false), ("x", "person", true)]);
    assert_eq!((&views[0]["owns_size"], &views[1]["size"]["cols"]), (&true.into(), &60.into()));
    assert!(views[0]["pid"].as_i64().is_some_and(|pid| pid > 1), "{views}");
    let second = format!("v{}", views[1]["viewer"]);
    assert!(stage.qd(&["detach", &second]).status.success());
    assert_eq!(watches.wait_exit().code(), Some(0));
    watches.until_shows("[detached from x by another command]");
    stage.until_view("x", |view| view.terminal.viewers == 1);
    assert!(stage.qd(&["detach", "x"]).status.success());
    assert_eq!(types.wait_exit().code(), Some(0));
    assert_eq!(stage.qd(&["detach", "v999"]).status.code(), Some(3));
    assert_eq!(stage.process("x").status, proto::Status::Running);
}

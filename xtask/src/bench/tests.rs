//! The harness itself: terminals, gates and the door's lines, each against something known, so that a wrong figure in
//! the table is not the harness's doing.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use super::pty::{Client, Size, run_within};
use super::stream;
use super::subprocess::{END, Subprocess};
use super::wire::Connection;

const TIMEOUT: Duration = Duration::from_secs(30);

/// A directory that goes away with the test.
struct Bench(PathBuf);

impl Bench {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("qdbench-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // A leftover in the temporary directory is no failure of the test.
        let _left = std::fs::remove_dir_all(&self.0);
    }
}

fn shell(subprocess: &Subprocess) -> Command {
    let mut command = Command::new("sh");
    command.args(&subprocess.argv()[1..]).env("PATH", std::env::var_os("PATH").unwrap());
    command
}

#[test]
fn a_child_waits_for_its_gate_and_its_end_is_seen_on_the_terminal() {
    let bench = Bench::new("gate");
    let file = stream::write(&bench.0, stream::Kind::Colour, 300_000).unwrap();
    let subprocess = Subprocess::print(&bench.0, "one", &file).unwrap();
    let client = Client::start(&shell(&subprocess), Size::NORMAL).unwrap();
    assert!(subprocess.done.wait(Duration::from_millis(200)).is_err(), "it began before its gate was opened");
    subprocess.start.open();
    client.read_until(END, TIMEOUT).unwrap();
    subprocess.done.wait(TIMEOUT).unwrap();
}

#[test]
fn a_key_comes_back_through_a_bare_terminal() {
    let bench = Bench::new("echo");
    let subprocess = Subprocess::echo(&bench.0, "one").unwrap();
    let client = Client::start(&shell(&subprocess), Size::NORMAL).unwrap();
    subprocess.done.wait(TIMEOUT).unwrap();
    client.until_raw(TIMEOUT).unwrap();
    for key in *b"#@%" {
        assert!(client.echo(key, TIMEOUT).unwrap() < TIMEOUT);
    }
}

#[test]
fn the_child_has_the_terminal_as_its_own_at_the_size_we_said() {
    let mut command = Command::new("sh");
    command.args(["-c", "stty size </dev/tty; printf '~QD%s~' END"]);
    command.env("PATH", std::env::var_os("PATH").unwrap());
    let client = Client::start(&command, Size::LARGE).unwrap();
    client.read_all_of(&[b"50 200", END], TIMEOUT).unwrap();
}

#[test]
fn a_client_without_an_end_marker_is_given_up() {
    let mut command = Command::new("sleep");
    command.arg("1000").env("PATH", std::env::var_os("PATH").unwrap());
    let client = Client::start(&command, Size::NORMAL).unwrap();
    assert!(client.read_until(END, Duration::from_millis(200)).is_err());
}

#[test]
fn a_terminal_that_still_echoes_by_itself_is_not_ready_for_keys() {
    let mut command = Command::new("sleep");
    command.arg("1000").env("PATH", std::env::var_os("PATH").unwrap());
    let client = Client::start(&command, Size::NORMAL).unwrap();
    assert!(client.until_raw(Duration::from_millis(100)).is_err());
}

#[test]
fn a_command_that_hangs_is_killed_and_named() {
    let mut command = Command::new("sleep");
    command.arg("1000");
    let error = run_within(command, Duration::from_millis(100)).unwrap_err();
    assert!(error.contains("`sleep 1000` took longer"), "{error}");
}

#[test]
fn the_doors_lines_are_spoken_as_the_protocol_says() {
    let bench = Bench::new("door");
    let listener = UnixListener::bind(bench.0.join("qd.sock")).unwrap();
    let door = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut writer = stream.try_clone().unwrap();
        let mut asked = Vec::new();
        for line in BufReader::new(stream).lines().map(Result::unwrap) {
            let call: serde_json::Value = serde_json::from_str(&line).unwrap();
            let outcome = match asked.len() {
                0 | 1 => serde_json::json!({"ok": {"done": {}}}),
                _ => serde_json::json!({"error": {"code": "conflict", "message": "taken"}}),
            };
            let answer = serde_json::json!({"reply": {"id": call["id"], "outcome": outcome}});
            // An event in between must not be taken for the answer.
            write!(writer, "{{\"event\":{{\"revision\":1}}}}\n{answer}\n").unwrap();
            asked.push(call["request"].as_object().unwrap().keys().next().unwrap().clone());
        }
        asked
    });
    let mut connection = Connection::open(&bench.0).unwrap();
    let argv = ["true".to_owned()];
    connection.spawn("a", &bench.0, &argv).unwrap();
    assert!(connection.spawn("a", &bench.0, &argv).unwrap_err().contains("taken"));
    drop(connection);
    assert_eq!(door.join().unwrap(), ["hello", "spawn", "spawn"]);
}

#[test]
fn a_goal_that_is_not_reached_is_a_failure_unless_only_a_report_is_wanted() {
    let options = |line: &str| {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        super::options::parse(&words, &[]).unwrap()
    };
    let empty = super::report::Report::new(vec!["qd"]);
    let failed = super::goals::judge(&empty, &["cold"]);
    assert_eq!(super::outcome(&options(""), &failed), Err("1 of 1 goals not reached".to_owned()));
    assert_eq!(super::outcome(&options("--report-only"), &failed), Ok(()));
    assert_eq!(super::outcome(&options(""), &[]), Ok(()));
}

#[test]
fn a_place_that_is_emptied_keeps_its_program_and_nothing_of_earlier_rows() {
    let bench = Bench::new("place");
    let shell = crate::step::find_program("sh").unwrap();
    let place = super::contender::Place::new(bench.0.join("one"), &shell).unwrap();
    std::fs::write(place.root.join("data/state"), "a thousand entries").unwrap();
    std::fs::write(place.root.join("run/socket"), "").unwrap();
    place.empty().unwrap();
    for directory in ["home", "run", "data", "config"] {
        assert_eq!(std::fs::read_dir(place.root.join(directory)).unwrap().count(), 0, "{directory}");
    }
    let mut command = place.command();
    command.args(["-c", "exit 0"]);
    place.run(command).unwrap();
}

#[test]
fn a_paced_child_prints_at_its_speed_and_counts_its_seconds() {
    let bench = Bench::new("paced");
    let file = stream::write(&bench.0, stream::Kind::Plain, 20_000).unwrap();
    let count = bench.0.join("one.count");
    let subprocess = Subprocess::paced(&bench.0, "one", &file, 100_000, &count).unwrap();
    let client = Client::start(&shell(&subprocess), Size::NORMAL).unwrap();
    subprocess.start.open();
    let start = Instant::now();
    std::thread::scope(|scope| {
        // Its output must be read, or the terminal fills up and the child stands still.
        scope.spawn(|| client.settle(TIMEOUT));
        super::stalled::until_counted(&count, 1.0, TIMEOUT).unwrap();
        subprocess.hold.open();
    });
    assert!(start.elapsed() > Duration::from_millis(900), "a second's worth came too soon");
}

//! How a caller is identified that tries to pass for another: by a recycled pid, or as a program that the
//! daemon runs itself.

use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use testkit::pid_namespace::with_few_pids;
use testkit::{MarkedDaemon, child};

use crate::QD;
use crate::inside::{Inside, with_shell_agents};

/// Connects, leaves the connection to a child and exits. The child sends lines on demand.
const CUCKOO: &str = r#"use Socket;
my ($path, $dir) = @ARGV;
socket(S, AF_UNIX, SOCK_STREAM, 0) or die;
connect(S, sockaddr_un($path)) or die "no connection";
my $pid = $$;
if (fork) { exit 0 }
open(O, ">", "$dir/left.new"); print O $pid; close O; rename "$dir/left.new", "$dir/left";
select(undef, undef, undef, 0.01) until -e "$dir/go";
for my $line ('{"id":1,"request":{"hello":{"protocol":1,"client":"cuckoo"}}}', '{"id":2,"request":{"who_am_i":{}}}') {
    syswrite(S, "$line\n");
    my $answer = <S>;
    open(O, ">>", "$dir/heard"); print O $answer // "closed\n"; close O;
}
rename "$dir/heard", "$dir/said";
"#;

fn appears(path: &Path) -> String {
    testkit::process_scan::eventually("a file", || std::fs::read_to_string(path).ok())
}

/// Starts programs of a person until one has this pid.
fn take_pid(pid: i32) -> std::process::Child {
    // There are 400 pids: a thousand programs cover each free one.
    for _ in 0..1000 {
        let mut person = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        if i32::try_from(person.id()).unwrap() == pid {
            return person;
        }
        person.kill().unwrap();
        person.wait().unwrap();
    }
    panic!("{pid} is not used again");
}

fn leave_a_connection(is_pid_taken: bool) {
    if is_pid_taken {
        // The first three hundred pids are used only once.
        let used = Command::new("perl").args(["-e", "for (1..310) { fork or exit; wait }"]).status().unwrap();
        assert!(used.success());
    }
    let stage = MarkedDaemon::start(QD);
    let mut inside = Inside::command(&stage, "cuckoo");
    std::fs::write(inside.directory.join("cuckoo.pl"), CUCKOO).unwrap();
    let daemon = Pid::from_raw(stage.pid()).unwrap();
    let socket = stage.dirs().socket();
    let job = format!("until [ -e stopped ]; do sleep 0.01; done; perl cuckoo.pl '{}' .", socket.display());
    let (code, out) = inside.run(&format!("({job}) > /dev/null 2>&1 &"));
    assert_eq!(code, 0, "{out}");
    kill_process(daemon, Signal::STOP).unwrap();
    std::fs::write(inside.directory.join("stopped"), "").unwrap();
    let pid: i32 = appears(&inside.directory.join("left")).parse().unwrap();
    let person = is_pid_taken.then(|| take_pid(pid));
    kill_process(daemon, Signal::CONT).unwrap();
    std::fs::write(inside.directory.join("go"), "").unwrap();
    let said = appears(&inside.directory.join("said"));
    assert!(!said.contains("\"human\""), "{said}");
    assert!(said.contains("unauthorized"), "{said}");
    if let Some(mut person) = person {
        person.kill().unwrap();
        person.wait().unwrap();
    }
}

#[test]
fn m4a_a_caller_that_is_gone_is_nobody_even_when_a_person_has_its_pid() {
    let name = "origin::m4a_a_caller_that_is_gone_is_nobody_even_when_a_person_has_its_pid";
    with_few_pids(name, || leave_a_connection(true), || leave_a_connection(false));
}

#[test]
fn m4b_what_the_daemon_runs_is_nobody_and_stays_nobody_when_the_daemon_is_gone() {
    let stage = with_shell_agents();
    let (dirs, root) = (stage.dirs(), stage.root().to_owned());
    let exports: String = stage
        .variables()
        .iter()
        .map(|(name, value)| format!("export {name}='{}'; ", value.display()))
        .collect();
    let script = format!(
        "{exports} cd '{}'; '{QD}' whoami > at-once 2>&1; '{QD}' close victim >> at-once 2>&1; \
         setsid sh -c \"mv at-once told; until [ -e go ]; do sleep 0.01; done; \
         '{QD}' close victim > late 2>&1; mv late told-late\" > /dev/null 2>&1 & \
         until [ -e told ]; do sleep 0.01; done",
        root.display()
    );
    let command: Vec<String> = ["sh", "-c", &script, "notify"].map(str::to_owned).to_vec();
    let config = format!("[notify]\ncommand = {}\ndesktop = false\n", serde_json::json!(command));
    std::fs::write(dirs.config.join("config.toml"), config).unwrap();
    stage.run("victim", child::run_for_ever());
    let mut inside = Inside::agent(&stage, "writer");
    let (code, out) = inside.run(&format!("'{QD}' attention 'look here'"));
    assert_eq!(code, 0, "{out}");
    let told = appears(&root.join("told"));
    assert!(told.contains("could not be identified"), "{told}");
    stage.kill_9();
    drop(stage.client());
    std::fs::write(root.join("go"), "").unwrap();
    let late = appears(&root.join("told-late"));
    assert!(late.contains("could not be identified"), "{late}");
    assert!(stage.process("victim").exit.is_none());
}

#[test]
fn m4b_a_filter_that_git_runs_for_the_daemon_is_nobody_also_when_git_is_gone() {
    let stage = MarkedDaemon::start(QD);
    let (root, repository) = (stage.root().to_owned(), stage.root().join("app"));
    std::fs::create_dir(&repository).unwrap();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(&repository).args(["-c", "user.name=ana", "-c", "user.email=ana@example.org"]);
        assert!(git.args(arguments).status().unwrap().success(), "{arguments:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    std::fs::write(repository.join("file"), "text\n").unwrap();
    git(&["add", "file"]);
    git(&["commit", "-q", "-m", "first"]);
    // What a run may write into the repository that it works in.
    let exports: String = stage
        .variables()
        .iter()
        .map(|(name, value)| format!("export {name}='{}'; ", value.display()))
        .collect();
    let filter = root.join("filter.sh");
    let script = format!(
        "#!/bin/sh\n{exports} cd '{}'; setsid sh -c \"until [ -e go ]; do sleep 0.01; done; \
         '{QD}' whoami > late 2>&1; mv late told\" > /dev/null 2>&1 & exec cat\n",
        root.display()
    );
    std::fs::write(&filter, script).unwrap();
    std::fs::set_permissions(&filter, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    git(&["config", "filter.planted.smudge", filter.to_str().unwrap()]);
    std::fs::write(repository.join(".git/info/attributes"), "* filter=planted\n").unwrap();
    let made = stage.command(&["new", "task", "-w"]).current_dir(&repository).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    std::fs::write(root.join("go"), "").unwrap();
    let told = appears(&root.join("told"));
    assert!(told.contains("could not be identified"), "{told}");
}

#[cfg(debug_assertions)]
#[test]
fn m4a_a_program_that_calls_before_its_run_is_known_waits_until_it_is() {
    let daemon = testkit::TestDaemon::without_start(QD);
    let order = daemon.root().join("order");
    let started = daemon.command(&["ps"]).env("QD_TEST_FAILPOINTS", &order).output().unwrap();
    assert!(started.status.success(), "{started:?}");
    let stage = MarkedDaemon::around(daemon);
    let (calls, told) = (stage.root().join("calls"), stage.root().join("told"));
    let script = format!(
        "echo now > '{calls}.new'; mv '{calls}.new' '{calls}'; '{QD}' whoami > '{told}.new' 2>&1; \
         mv '{told}.new' '{told}'; exec sleep 1000000",
        calls = calls.display(),
        told = told.display()
    );
    std::fs::write(&order, "unhosted").unwrap();
    std::thread::scope(|scope| {
        let spawned = scope.spawn(|| stage.run("early", child::shell(&script)));
        appears(&calls);
        // Time for the call to arrive; if it comes later, the test shows less and does not fail.
        testkit::process_scan::pause(std::time::Duration::from_millis(300));
        std::fs::remove_file(&order).unwrap();
        spawned.join().unwrap();
    });
    let told = appears(&told);
    assert!(told.contains("early") && !told.contains("could not be identified"), "{told}");
}

#[test]
fn m4h_a_process_of_one_daemon_is_nobody_at_another_of_the_same_person() {
    let (own, other) = (with_shell_agents(), MarkedDaemon::start(QD));
    let there: String =
        other.variables().iter().map(|(name, value)| format!("{name}='{}' ", value.display())).collect();
    let mut inside = Inside::agent(&own, "writer");
    for words in ["whoami", "spawn -- sleep 1000", "shutdown --kill"] {
        let (code, out) = inside.run(&format!("env {there} '{QD}' {words}"));
        assert!(code != 0 && out.contains("could not be identified"), "{words}: {out}");
    }
    assert_eq!(other.list(), []);
    // A person is one at both.
    for daemon in [&own, &other] {
        assert!(daemon.qd(&["whoami"]).stdout.starts_with(b"human"), "{:?}", daemon.qd(&["whoami"]));
    }
}

#[test]
fn m4b_what_git_runs_for_a_persons_fetch_is_nobody() {
    let stage = MarkedDaemon::start(QD);
    let (root, repository) = (stage.root().to_owned(), stage.root().join("app"));
    std::fs::create_dir(&repository).unwrap();
    let git = |arguments: &[&str]| {
        assert!(Command::new("git").current_dir(&repository).args(arguments).status().unwrap().success());
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["remote", "add", "origin", "ssh://nobody.invalid/app"]);
    let variables: String =
        stage.variables().iter().map(|(name, value)| format!("{name}='{}' ", value.display())).collect();
    // What a run may write into the repository that it works in.
    git(&[
        "config",
        "core.sshCommand",
        &format!(
            "{variables} '{QD}' whoami > '{0}/new' 2>&1; mv '{0}/new' '{0}/told'; false",
            root.display()
        ),
    ]);
    let fetched = stage.command(&["new", "task", "-w", "--fetch"]).current_dir(&repository).output().unwrap();
    assert!(!fetched.status.success(), "{fetched:?}");
    let told = appears(&root.join("told"));
    assert!(told.contains("could not be identified"), "{told}");
}

#[test]
fn m4b_the_daemon_runs_no_program_to_know_the_time() {
    let daemon = testkit::TestDaemon::without_start(QD);
    let planted = daemon.root().join("bin");
    std::fs::create_dir(&planted).unwrap();
    let told = daemon.root().join("told");
    let program = planted.join("date");
    std::fs::write(&program, format!("#!/bin/sh\necho run > '{}'\n", told.display())).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", planted.display(), std::env::var("PATH").unwrap());
    let started = daemon.command(&["ps"]).env("PATH", path).output().unwrap();
    assert!(started.status.success());
    let stage = MarkedDaemon::around(daemon);
    // A whole life, and then an end: every request that it causes has been made.
    stage.run("one", child::print_and_exit("x", 0));
    stage.wait_exit("one");
    assert!(!told.exists(), "the daemon ran a program from the user's path");
}

/// Greets a holder as a daemon would, and keeps its answer.
const SPY: &str = r#"use Socket;
my ($path) = @ARGV;
socket(S, AF_UNIX, SOCK_STREAM, 0) or die;
connect(S, sockaddr_un($path)) or die "no connection";
syswrite(S, pack("VCv", 3, 2, 1));
my $count = sysread(S, my $answer, 65536);
print "heard " . ($count // "nothing") . "\n";
"#;

#[test]
fn m4c_a_run_cannot_link_to_the_holder_of_another() {
    let stage = MarkedDaemon::start(QD);
    let victim = stage.run("victim", child::shell("read line; echo got $line; sleep 1000000"));
    let socket = stage.dirs().holders().join(format!("{}.1", victim.id));
    let mut inside = Inside::command(&stage, "spy");
    std::fs::write(inside.directory.join("spy.pl"), SPY).unwrap();
    for leaving in ["", "setsid -w "] {
        let (code, out) = inside.run(&format!("{leaving}perl spy.pl '{}'", socket.display()));
        assert_eq!((code, out.trim()), (0, "heard 0"), "the holder hangs up");
    }
    assert!(stage.qd(&["send", "victim", "hello"]).status.success());
    stage.wait_pattern("victim", "got hello");
}

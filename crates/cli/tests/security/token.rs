//! Tokens of agents' runs: missing, another run's, an old one; where they can be seen, and what they survive.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use client::DaemonAddress;
use proto::audit::AuditEntry;
use proto::request::{Audit, Hello, Request, Restart};
use serde_json::{Value, json};
use testkit::process_scan::{eventually, files};
use testkit::{MarkedDaemon, RawClient, child};

use crate::inside::{Inside, with_shell_agents};
use crate::verbs::every_verb;
use crate::{QD, said};

/// Returns a hello and then every verb, as lines.
fn everything(token: Option<&str>) -> Vec<Value> {
    let hello = Hello {
        protocol: proto::version::PROTOCOL,
        client: "test".to_owned(),
        token: token.map(str::to_owned),
        ..Hello::default()
    };
    let all = std::iter::once(Request::Hello(hello)).chain(every_verb());
    all.zip(1u64..).map(|(request, id)| json!({"id": id, "request": request})).collect()
}

fn audited(stage: &MarkedDaemon) -> Vec<AuditEntry> {
    let page = stage.client().audit(Audit { since: 0, limit: Some(10_000), verify: true }).unwrap();
    let verified = page.verified.unwrap();
    assert!(matches!(verified, proto::audit::AuditVerdict::Intact { .. }), "{verified:?}");
    page.rows
}

/// A caller that sent everything was nobody: it was greeted, learned that a daemon runs, and was refused the
/// rest.
fn assert_got_nothing(who: &str, answers: &[Value], rows: &[AuditEntry]) {
    let verbs = every_verb();
    assert_eq!(answers.len(), verbs.len() + 1, "{who}");
    let outcome = |n: usize| &answers[n]["reply"]["outcome"];
    assert!(outcome(0)["ok"]["welcome"].is_object(), "{who}: {}", answers[0]);
    let status = &outcome(1)["ok"]["status"];
    assert_eq!((&status["processes"], &status["viewers"]), (&json!(0), &json!(0)), "{who}: {status}");
    for (n, verb) in verbs.iter().enumerate().skip(1) {
        let code = &outcome(n + 1)["error"]["code"];
        assert_eq!(code, "unauthorized", "{who} {}: {}", verb.verb(), answers[n + 1]);
    }
    let refused = rows.iter().filter(|row| row.decision == "unauthorized");
    let told: Vec<&str> = refused.map(|row| row.verb.as_str()).collect();
    let expected = verbs.len() - 1;
    let calls = told.iter().filter(|verb| !["hello", "status"].contains(verb)).count();
    // A caller whose run is over is refused even the list in `status`, and that is audited like any other.
    assert!(
        calls == expected || (calls == expected + 1 && told[0] == "list"),
        "{who}: {calls} rows {told:?}"
    );
}

#[test]
fn b5_a_wrong_token_makes_nobody_of_anybody_and_every_refusal_is_written_down_once() {
    let stage = with_shell_agents();
    stage.run("sibling", child::run_for_ever());
    let mut agent = Inside::agent(&stage, "agent");
    let mut thief = Inside::agent(&stage, "thief");
    let (_, first) = agent.token();
    stage.client().restart(Restart { target: "agent".into(), ..Restart::default() }).unwrap();
    agent.restarted();
    let (_, second) = agent.token();
    let gone = Inside::agent(&stage, "gone");
    let (_, over) = gone.token();
    end_program(&stage, &gone);
    let welcome = agent.say(&everything(Some(&second))[..1]);
    let id = stage.process("agent").id;
    assert_eq!(
        welcome[0]["reply"]["outcome"]["ok"]["welcome"]["caller"],
        json!(id),
        "its own token is its own"
    );
    let mut seen = audited(&stage).len();
    let mut check = |who: &str, answers: &[Value], brought: &str| {
        let rows = audited(&stage).split_off(seen);
        seen += rows.len();
        assert_got_nothing(who, answers, &rows);
        let hellos: Vec<&AuditEntry> = rows.iter().filter(|row| row.verb == "hello").collect();
        assert_eq!(hellos.len(), 1, "{who}: {rows:?}");
        assert!(hellos[0].detail.contains(brought), "{who}: {:?}", hellos[0]);
    };
    for (who, token, brought) in [
        ("garbage", "garbage", "no living run"),
        ("an empty token", "", "no living run"),
        ("its previous run's", &first, "no living run"),
        ("an ended run's", &over, "no living run"),
    ] {
        check(who, &agent.say(&everything(Some(token))), brought);
    }
    check("a sibling with a stolen token", &thief.say(&everything(Some(&second))), "another run");
    let mut person = RawClient::connect(&stage.dirs());
    let lines = everything(Some(&second));
    let answers: Vec<Value> =
        lines.iter().map(|line| json!({"reply": person.call(line["request"].clone())})).collect();
    check("a person with a stolen token", &answers, "another run");
    let (path, _) = agent.token();
    let (code, out) = thief.run(&format!("QD_TOKEN_FILE='{}' '{QD}' ps", path.display()));
    assert_eq!(code, 4, "the thief's own qd brings it too: {out}");
    assert!(stage.process("sibling").exit.is_none());
    assert_eq!(agent.json("ps").as_array().unwrap().len(), 4, "the rightful bearer is served all the while");
}

/// Ends the program of a process; what it left running stays.
fn end_program(stage: &MarkedDaemon, inside: &Inside<'_>) {
    let pid = stage.process(inside.name()).pid.unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    stage.wait_exit(inside.name());
}

#[test]
fn b5_what_a_run_leaves_behind_is_nobody_with_and_without_its_token() {
    let stage = with_shell_agents();
    stage.run("sibling", child::run_for_ever());
    for has_token in [false, true] {
        let name = if has_token { "bearer" } else { "bare" };
        let mut inside = Inside::agent(&stage, name);
        let token = inside.token().1;
        let saying = inside.saying(&everything(has_token.then_some(token.as_str())));
        inside.stay_behind(&saying);
        end_program(&stage, &inside);
        let before = audited(&stage).len();
        std::fs::write(inside.directory.join("go"), "").unwrap();
        let answers = inside.answers();
        let rows = audited(&stage).split_off(before);
        assert_got_nothing(name, &answers, &rows);
        assert_eq!(rows.iter().filter(|row| row.verb == "hello").count(), usize::from(has_token), "{rows:?}");
    }
    assert!(stage.process("sibling").exit.is_none());
}

#[test]
fn b5_what_hides_its_holder_from_the_next_daemon_is_nobody_and_not_a_person() {
    let stage = MarkedDaemon::start(QD);
    stage.run("sibling", child::run_for_ever());
    let files = Inside::command(&stage, "files");
    let directory = files.directory.display();
    // Without our marks it is not found when a lost run is swept. A stopped holder without its socket is not
    // found at all: it cannot make another one.
    let script = format!(
        "cd '{directory}'; echo ready; until [ -e go ]; do sleep 0.01; done; {}; exec sleep 1000000",
        files.saying(&everything(None))
    );
    stage.run("hidden", ["env", "-i", "sh", "-c", &script].map(str::to_owned).to_vec());
    stage.wait_pattern("hidden", "ready");
    let process = stage.process("hidden");
    let holder = testkit::process_scan::parent(process.pid.unwrap());
    let holder = rustix::process::Pid::from_raw(holder).unwrap();
    rustix::process::kill_process(holder, rustix::process::Signal::STOP).unwrap();
    std::fs::remove_file(stage.dirs().holders().join(format!("{}.{}", process.id, process.run))).unwrap();
    stage.kill_9();
    let before = audited(&stage).len();
    std::fs::write(files.directory.join("go"), "").unwrap();
    let answers = files.answers();
    assert_eq!(answers[0]["reply"]["outcome"]["ok"]["welcome"]["caller"], json!("nobody"));
    assert_got_nothing("hidden", &answers, &audited(&stage).split_off(before));
    rustix::process::kill_process(holder, rustix::process::Signal::KILL).unwrap();
}

/// Kills a process that is not our child.
fn kill_9(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// Lowers a process's limit to that of the processes of a run, as every process of the same user may.
fn lower_limit_of_locks(pid: i32) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let lowest = Rlimit { current: Some(1 << 40), maximum: Some(1 << 40) };
    prlimit(Pid::from_raw(pid), Resource::Locks, lowest).unwrap();
}

#[test]
fn b5_what_has_killed_its_holder_and_all_above_it_is_nobody_and_not_a_person() {
    let ways =
        ["holder", "holder and forkserver", "holder, forkserver and daemon", "holder, all limits lowered"];
    for killed in ways {
        let stage = MarkedDaemon::start(QD);
        stage.run("sibling", child::run_for_ever());
        let files = Inside::command(&stage, "files");
        let directory = files.directory.display();
        let say = files.saying(&everything(None));
        // Without our marks in its environment it is not found when the lost run is swept, and in a session
        // of its own it gets no hang-up.
        let job = format!(
            "cd '{directory}'; echo $$ > pid.new; mv pid.new pid; until [ -e go ]; do sleep 0.01; done; {say}"
        );
        let script = "setsid env -i PATH=\"$PATH\" sh -c \"$1\" & exec sleep 1000000";
        stage.run("escaping", ["sh", "-c", script, "sh", &job].map(str::to_owned).to_vec());
        let pid = eventually("the one that escapes", || {
            std::fs::read_to_string(files.directory.join("pid")).ok()?.trim().parse::<i32>().ok()
        });
        let holder = testkit::process_scan::parent(stage.process("escaping").pid.unwrap());
        let forkserver = testkit::process_scan::parent(holder);
        let is_adopted = |pid: i32, by: i32| {
            eventually("another parent", || (testkit::process_scan::parent(pid) != by).then_some(()))
        };
        if killed.contains("limits") {
            lower_limit_of_locks(stage.pid());
            lower_limit_of_locks(forkserver);
        }
        if killed.contains("forkserver") {
            kill_9(forkserver);
            is_adopted(holder, forkserver);
        }
        let above = testkit::process_scan::parent(pid);
        kill_9(holder);
        is_adopted(pid, above);
        if killed.contains("daemon") {
            stage.kill_9();
        }
        eventually("the run to be over", || stage.process("escaping").exit.map(drop));
        let before = audited(&stage).len();
        std::fs::write(files.directory.join("go"), "").unwrap();
        let answers = files.answers();
        assert_eq!(answers[0]["reply"]["outcome"]["ok"]["welcome"]["caller"], json!("nobody"), "{killed}");
        assert_got_nothing(killed, &answers, &audited(&stage).split_off(before));
        assert!(stage.process("sibling").exit.is_none());
    }
}

#[test]
fn b5_one_who_brings_wrong_tokens_again_and_again_is_not_heard_any_more() {
    let stage = MarkedDaemon::start(QD);
    let hello = |token: Option<&str>| {
        let mut client = RawClient::connect(&stage.dirs());
        let answer = client.call(everything(token)[0]["request"].clone());
        answer["outcome"]["ok"]["welcome"]["caller"].clone()
    };
    for n in 0..9 {
        assert_eq!(hello(Some(&format!("guess {n}"))), json!("nobody"));
    }
    let rows = audited(&stage);
    let hellos: Vec<_> = rows.iter().filter(|row| row.verb == "hello").collect();
    assert_eq!(hellos.len(), 5, "{hellos:?}");
    assert!(hellos[4].detail.contains("no more are looked at"), "{hellos:?}");
    let log = std::fs::read_to_string(stage.dirs().daemon_log()).unwrap();
    assert_eq!(log.matches("too many wrong tokens").count(), 1, "{log}");
    assert_eq!(hello(None), json!("human"), "who brings none is who it is");
}

#[test]
fn f11_a_refusal_in_a_loop_is_a_few_rows_and_a_count() {
    let stage = MarkedDaemon::start(QD);
    stage.run("sibling", child::run_for_ever());
    let mut inside = Inside::command(&stage, "looping");
    let mut lines = everything(None);
    lines.truncate(1);
    let close = json!({"close": {"target": "sibling"}});
    lines.extend((2..502).map(|id| json!({"id": id, "request": close})));
    let before = audited(&stage).len();
    let answers = inside.say(&lines);
    assert!(
        answers[1..].iter().all(|answer| answer["reply"]["outcome"]["error"].is_object()),
        "{}",
        answers[1]
    );
    let rows = audited(&stage).split_off(before);
    let refused: Vec<&AuditEntry> = rows.iter().filter(|row| row.verb == "close").collect();
    assert_eq!(refused.len(), 17, "rows of their own, and one with a count");
    assert!(refused[16].detail.contains("484 more of the same"), "{:?}", refused[16]);
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn b8_a_token_is_in_one_private_file_and_nowhere_else() {
    let stage = with_shell_agents();
    // The process that starts the daemon decides how much it logs.
    let started = stage.command(&["ps"]).env("QD_LOG", "trace").output().unwrap();
    assert!(started.status.success(), "{}", said(&started));
    let mut agent = Inside::agent(&stage, "agent");
    let mut command = Inside::command(&stage, "command");
    let (path, token) = agent.token();
    assert_eq!(token.len(), 64, "256 bits");
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    // A failure message must not show other processes' command lines.
    let (_, lines) = command.run("cat /proc/*/cmdline 2> /dev/null | tr '\\0' ' '");
    assert!(
        lines.contains("hold") && !lines.contains(&token),
        "a command line has the token, or none was seen"
    );
    let (_, variables) = command.run("env");
    assert!(variables.contains("QD_RUN_TOKEN=") && !variables.contains("QD_TOKEN_FILE"), "{variables}");
    let (_, own) = agent.run("env; tr '\\0' ' ' < /proc/$PPID/cmdline");
    assert!(own.contains(&format!("QD_TOKEN_FILE={}", path.display())) && !own.contains(&token), "{own}");
    // Everything that is done with tokens, right and wrong, and nothing of it is left anywhere.
    agent.json("ps");
    agent.say(&everything(Some("wrong-but-long-enough-to-be-found")));
    command.say(&everything(Some(&token)));
    stage.kill_9();
    let restarted = stage.command(&["ps"]).env("QD_LOG", "trace").output().unwrap();
    assert!(restarted.status.success(), "{}", said(&restarted));
    agent.json("ps");
    let dirs = stage.dirs();
    for root in [&dirs.runtime, &dirs.data, &dirs.config] {
        for file in files(root).iter().filter(|file| **file != path && file.is_file()) {
            let text = String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned();
            for secret in [token.as_str(), "wrong-but-long-enough-to-be-found"] {
                assert!(!text.contains(secret), "{} holds a token", file.display());
            }
        }
    }
    assert!(stage.qd(&["close", "agent"]).status.success());
    eventually("the launch's directory to go", || (!path.parent().unwrap().exists()).then_some(()));
}

#[test]
fn b5_a_token_ends_with_its_run_and_the_next_daemon_does_not_take_it_up_again() {
    let stage = with_shell_agents();
    let inside = Inside::agent(&stage, "agent");
    let (path, _) = inside.token();
    end_program(&stage, &inside);
    eventually("the token to go", || (!path.exists()).then_some(()));
    assert!(stage.list().iter().any(|process| process.name.as_str() == "agent"), "the entry stays");
}

#[test]
fn b5_a_token_outlives_the_daemon_and_nobody_inside_a_run_starts_another() {
    let stage = with_shell_agents();
    let mut agent = Inside::agent(&stage, "agent");
    let mut thief = Inside::agent(&stage, "thief");
    let id = stage.process("agent").id;
    let token = agent.token().1;
    let caller = |answers: &[Value]| answers[0]["reply"]["outcome"]["ok"]["welcome"]["caller"].clone();
    // Commands whose daemon is gone are typed before it goes: they wait for a file.
    let attempt = format!(
        "until [ -e go ]; do sleep 0.01; done; '{QD}' ps > ps.out 2>&1; echo $? > ps.code.new; mv ps.code.new ps.code"
    );
    agent.run(&format!("({attempt}) > /dev/null 2>&1 &"));
    stage.kill_9();
    std::fs::write(agent.directory.join("go"), "").unwrap();
    let code = eventually("the attempt", || std::fs::read_to_string(agent.directory.join("ps.code")).ok());
    let out = std::fs::read_to_string(agent.directory.join("ps.out")).unwrap();
    assert_ne!(code.trim(), "0", "{out}");
    assert!(out.contains("inside a process"), "it says why: {out}");
    assert!(
        DaemonAddress::without_start(stage.dirs()).connect_if_running().is_err(),
        "no daemon was started from inside"
    );
    drop(stage.client());
    assert_eq!(caller(&agent.say(&everything(Some(&token))[..1])), json!(id));
    assert_eq!(caller(&thief.say(&everything(Some(&token))[..1])), json!("nobody"));
    assert_eq!(agent.token().1, token, "a new daemon makes no new token");
}

#[test]
fn b5_an_agents_proxy_keeps_its_identity_across_daemons() {
    let stage = with_shell_agents();
    let mut agent = Inside::agent(&stage, "agent");
    let id = stage.process("agent").id.to_string();
    let proxy = format!(
        "mkfifo in; ('{QD}' mcp < in > out 2>&1 &) ; exec 3> in; (while :; do sleep 1000; done) >&3 & echo begun"
    );
    let (code, out) = agent.run(&proxy);
    assert!(code == 0 && out.contains("begun"), "{out}");
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let ask = |n: u64| {
        let call = json!({"jsonrpc": "2.0", "id": n, "method": "tools/call",
            "params": {"name": "whoami", "arguments": {}}});
        let lines = if n == 1 { format!("{hello}\n{call}\n") } else { format!("{call}\n") };
        // The shell inside keeps the pipe open; the test writes into it as any process of this user could.
        let mut input = std::fs::OpenOptions::new().write(true).open(agent.directory.join("in")).unwrap();
        std::io::Write::write_all(&mut input, lines.as_bytes()).unwrap();
        let answer = eventually("the proxy's answer", || {
            let said = std::fs::read_to_string(agent.directory.join("out")).unwrap_or_default();
            let lines: Vec<Value> = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            lines.into_iter().find(|line: &Value| line["id"] == json!(n))
        });
        answer.to_string()
    };
    assert!(ask(1).contains(&id));
    for n in 2..4 {
        stage.kill_9();
        drop(stage.client());
        let answer = ask(n);
        assert!(answer.contains(&id), "{answer}");
    }
    let refused = audited(&stage).into_iter().filter(|row| row.decision == "unauthorized");
    assert_eq!(refused.count(), 0, "its token was right every time");
}

//! Who a caller is, as the kernel tells it: a `qd` inside a process is that process and has only its rights.

use std::path::PathBuf;

use proto::ExitReason;
use serde_json::Value;
use testkit::{Mark, TestDaemon, child};

use crate::QD;

/// A process in which commands of the test are run as a shell would run them there.
struct Inside<'a> {
    daemon: &'a TestDaemon,
    directory: PathBuf,
    next: u32,
}

impl<'a> Inside<'a> {
    fn begin(daemon: &'a TestDaemon, mark: &Mark, name: &str) -> Self {
        let directory = daemon.root().join(name);
        std::fs::create_dir(&directory).unwrap();
        let exports: String = daemon
            .variables()
            .iter()
            .map(|(name, value)| format!("export {name}='{}'; ", value.display()))
            .collect();
        // Each line typed is a command; its output and its code are left in files, the code last.
        let script = format!(
            "stty -echo; {exports}cd '{}'; n=0; echo ready; while IFS= read -r line; do \
             sh -c \"$line\" > $n.out 2>&1; echo $? > $n.code; echo \"done $n\"; n=$((n+1)); done",
            directory.display()
        );
        daemon.client().spawn(mark.spawn(name, child::shell(&script))).unwrap();
        daemon.wait_pattern(name, "ready");
        Self { daemon, directory, next: 0 }
    }

    /// Runs a command there; its exit code and what it said.
    fn run(&mut self, command: &str) -> (i32, String) {
        let name = self.directory.file_name().unwrap().to_str().unwrap().to_owned();
        let n = self.next;
        self.next += 1;
        assert!(self.daemon.qd(&["send", &name, command]).status.success());
        self.daemon.wait_pattern(&name, &format!("done {n}"));
        let read = |end: &str| std::fs::read_to_string(self.directory.join(format!("{n}.{end}"))).unwrap();
        (read("code").trim().parse().unwrap(), read("out"))
    }

    fn json(&mut self, arguments: &str) -> Value {
        let (code, out) = self.run(&format!("'{QD}' --json {arguments}"));
        assert_eq!(code, 0, "{out}");
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }
}

#[test]
fn b6_a_process_sees_its_neighbours_and_drives_only_what_is_below_it() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    daemon.client().spawn(mark.spawn("sibling", child::run_for_ever())).unwrap();
    let mut inside = Inside::begin(&daemon, &mark, "parent");
    let own = daemon.process("parent");
    let listed = inside.json("ps");
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|process| process["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    inside.json("spawn --name kid -- sleep 1000000");
    assert_eq!(daemon.process("kid").parent, Some(own.id), "its parent is who asked");
    for forbidden in
        ["close sibling", "kill sibling", "send sibling x", "read sibling", "restart sibling", "shutdown"]
    {
        let (code, out) = inside.run(&format!("'{QD}' {forbidden}"));
        assert_eq!(code, 4, "{forbidden}: {out}");
    }
    // Leaving the session, or losing the parent in between, changes nobody's identity.
    let (code, out) = inside.run(&format!("setsid -w '{QD}' close sibling"));
    assert_eq!(code, 4, "{out}");
    let (code, _) = inside.run(&format!("(setsid sh -c \"'{QD}' close sibling; echo \\$? > orphan\" &) ; until [ -s orphan ]; do sleep 0.01; done; exit $(cat orphan)"));
    assert_eq!(code, 4, "an orphan is still below its holder");
    assert!(daemon.process("sibling").exit.is_none());
    inside.json("close kid");
    assert!(daemon.list().iter().all(|process| process.name.as_str() != "kid"));
}

#[test]
fn t7_the_death_of_a_parent_takes_its_children_at_any_depth() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let mut inside = Inside::begin(&daemon, &mark, "top");
    let mut exports = String::new();
    for (name, value) in daemon.variables() {
        exports.push_str(&format!("export {name}={}; ", value.display()));
    }
    inside.json(&format!(
        "spawn --name middle -- sh -c '{exports} {QD} spawn --name bottom -- sleep 1000000; exec sleep 1000000'"
    ));
    let bottom = testkit::census::eventually("the grandchild", || {
        daemon.list().iter().find(|process| process.name.as_str() == "bottom").and_then(|bottom| bottom.pid)
    });
    let bottom = testkit::census::pin(bottom);
    let top = daemon.process("top");
    assert_eq!(daemon.process("bottom").parent, Some(daemon.process("middle").id));
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(top.pid.unwrap()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    let waited = daemon.wait_exit("top");
    assert_eq!(waited.satisfied[0].exit.unwrap().reason, ExitReason::Signalled);
    testkit::census::wait_gone(&bottom);
    testkit::census::eventually("the entries to go", || (daemon.list().len() == 1).then_some(()));
}

#[test]
fn b5_an_older_run_of_a_process_is_nobody_to_the_newer_one() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    daemon.client().spawn(mark.spawn("sibling", child::run_for_ever())).unwrap();
    let mut inside = Inside::begin(&daemon, &mark, "again");
    // A job that stays behind when its run ends by itself is still not a person.
    let job = format!(
        "setsid sh -c \"until [ -e go ]; do sleep 0.01; done; '{QD}' close sibling; echo \\$? > late.new; mv late.new late\" > /dev/null 2>&1 &"
    );
    inside.run(&job);
    let directory = inside.directory.clone();
    let leader = daemon.process("again").pid.unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(leader).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    daemon.wait_exit("again");
    std::fs::write(directory.join("go"), "").unwrap();
    let code = testkit::census::eventually("the late caller", || {
        std::fs::read_to_string(directory.join("late")).ok()
    });
    assert_eq!(code.trim(), "4");
    assert!(daemon.process("sibling").exit.is_none());
}

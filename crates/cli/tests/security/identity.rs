//! A caller's identity, by the kernel: a `qd` inside a process is that process and has only its rights.

use proto::ExitReason;
use testkit::{MarkedDaemon, child};

use crate::QD;
use crate::inside::{Inside, allow};

#[test]
fn b6_a_process_sees_its_neighbours_and_drives_only_what_is_below_it() {
    let daemon = MarkedDaemon::start(QD);
    daemon.run("sibling", child::run_for_ever());
    let mut inside = Inside::command(&daemon, "parent");
    let own = daemon.process("parent");
    let listed = inside.json("ps");
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|process| process["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    inside.spawn("--name kid -- sleep 1000000");
    assert_eq!(daemon.process("kid").parent, Some(own.id), "its parent is who asked");
    for forbidden in
        ["close sibling", "kill sibling", "send sibling x", "read sibling", "restart sibling", "shutdown"]
    {
        let (code, out) = inside.run(&format!("'{QD}' {forbidden}"));
        assert_eq!(code, 4, "{forbidden}: {out}");
    }
    // Neither leaving the session nor losing the parent in between changes the identity.
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
    let daemon = MarkedDaemon::start(QD);
    let mut inside = Inside::command(&daemon, "top");
    let mut exports = String::new();
    for (name, value) in daemon.variables() {
        exports.push_str(&format!("export {name}={}; ", value.display()));
    }
    inside.spawn(&format!(
        "--name middle -- sh -c '{exports} until {QD} spawn --name bottom -- sleep 1000000; do sleep 0.05; done; \
         exec sleep 1000000'"
    ));
    allow(&daemon);
    let bottom = testkit::process_scan::eventually("the grandchild", || {
        daemon.list().iter().find(|process| process.name.as_str() == "bottom").and_then(|bottom| bottom.pid)
    });
    let bottom = testkit::process_scan::pin(bottom);
    let top = daemon.process("top");
    assert_eq!(daemon.process("bottom").parent, Some(daemon.process("middle").id));
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(top.pid.unwrap()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    let waited = daemon.wait_exit("top");
    assert_eq!(waited.satisfied[0].exit.unwrap().reason, ExitReason::Signalled);
    testkit::process_scan::wait_gone(&bottom);
    testkit::process_scan::eventually("the entries to go", || (daemon.list().len() == 1).then_some(()));
}

#[test]
fn b5_an_older_run_of_a_process_is_nobody_to_the_newer_one() {
    let daemon = MarkedDaemon::start(QD);
    daemon.run("sibling", child::run_for_ever());
    let mut inside = Inside::command(&daemon, "again");
    // A job that stays behind when its run ends by itself is still not a person.
    inside.stay_behind(&format!("'{QD}' close sibling; echo \\$? > late.new; mv late.new late"));
    let directory = inside.directory.clone();
    let leader = daemon.process("again").pid.unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(leader).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    daemon.wait_exit("again");
    std::fs::write(directory.join("go"), "").unwrap();
    let code = testkit::process_scan::eventually("the late caller", || {
        std::fs::read_to_string(directory.join("late")).ok()
    });
    assert_eq!(code.trim(), "4");
    assert!(daemon.process("sibling").exit.is_none());
}

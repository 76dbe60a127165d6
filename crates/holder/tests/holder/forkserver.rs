//! The forkserver: killing it loses nothing, it leaves no zombie, and the holders that it forks share only
//! memory.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use holder::{Launcher, ToHolder};
use rustix::process::Signal;
use testkit::scaled;

use crate::rig::{
    Run, config, eventually, exists, kill, launch_from, launcher, pause, pin, shell, status_field,
    wait_for_end,
};

fn forkserver_of(run: &Run) -> i32 {
    holder::proc_stat::stat(run.holder_pid).unwrap().parent
}

fn kill_forkserver_of(run: &Run) {
    let forkserver = forkserver_of(run);
    let pinned = pin(forkserver);
    kill(forkserver, Signal::KILL);
    wait_for_end(&pinned);
}

fn start_from(launcher: &Launcher, argv: &[&str]) -> Run {
    launch_from(launcher, &config(argv)).expect("the holder starts")
}

fn echoes(run: &mut Run, id: u64, word: &str) {
    run.send(&ToHolder::Input { id, bytes: format!("{word}\n").into_bytes() });
    run.until_text(&format!("{word}\r\n{word}"));
}

#[test]
fn holders_of_one_launcher_have_one_forkserver_and_sessions_of_their_own() {
    let launcher = launcher();
    let runs: Vec<_> = (0..5).map(|_| start_from(&launcher, &["cat"])).collect();
    let forkserver = forkserver_of(&runs[0]);
    assert_eq!(status_field(forkserver, "Name"), "qd-forkserver");
    assert!(fs::read(format!("/proc/{forkserver}/environ")).unwrap().is_empty());
    assert_eq!(holder::proc_stat::stat(forkserver).unwrap().session, forkserver);
    for run in runs {
        let stat = holder::proc_stat::stat(run.holder_pid).unwrap();
        assert_eq!((stat.parent, stat.session, stat.group), (forkserver, run.holder_pid, run.holder_pid));
        run.close();
    }
}

#[test]
fn a_killed_forkserver_is_replaced() {
    let launcher = launcher();
    let mut run = start_from(&launcher, &["cat"]);
    for _ in 0..scaled(20) {
        let former = forkserver_of(&run);
        kill_forkserver_of(&run);
        let next = start_from(&launcher, &["cat"]);
        assert_ne!(forkserver_of(&next), former);
        assert!(holder::proc_stat::stat(former).is_none(), "the dead forkserver was reaped");
        std::mem::replace(&mut run, next).close();
    }
    run.close();
}

#[test]
fn starts_that_race_with_the_forkservers_death_are_made_good() {
    let launcher = launcher();
    for round in 0..scaled(40) {
        let witness = start_from(&launcher, &["cat"]);
        // One death per round, at another moment of the starts each time: a start is retried once.
        thread::scope(|scope| {
            let starters: Vec<_> = (0..4).map(|_| scope.spawn(|| start_from(&launcher, &["cat"]))).collect();
            pause(Duration::from_micros(100 * (round as u64 % 20)));
            kill(forkserver_of(&witness), Signal::KILL);
            for starter in starters {
                let mut run = starter.join().unwrap();
                echoes(&mut run, 1, "well");
                run.close();
            }
        });
        witness.close();
    }
}

/// Returns the living holders of a forkserver.
fn children_of(forkserver: i32) -> Vec<i32> {
    let children = fs::read_to_string(format!("/proc/{forkserver}/task/{forkserver}/children")).unwrap();
    children.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// Waits until a forkserver has this many holders; returns those that are not the witness.
fn until_beside(witness: &Run, count: usize) -> Vec<i32> {
    let forkserver = forkserver_of(witness);
    let beside = || -> Vec<i32> {
        children_of(forkserver).into_iter().filter(|pid| *pid != witness.holder_pid).collect()
    };
    eventually("as many holders as expected", || beside().len() == count);
    beside()
}

#[test]
fn an_announced_start_uses_the_holder_that_was_forked_for_it() {
    let launcher = Arc::new(launcher());
    let witness = start_from(&launcher, &["cat"]);
    let announced = launcher.announce();
    let waiting = until_beside(&witness, 1);
    let mut run = start_from(&launcher, &["cat"]);
    assert_eq!(waiting, [run.holder_pid]);
    drop(announced);
    echoes(&mut run, 1, "well");
    assert_eq!(until_beside(&witness, 1), [run.holder_pid], "only a holder that waits is let go");
    run.close();
    witness.close();
}

#[test]
fn a_holder_whose_start_does_not_come_ends() {
    let launcher = Arc::new(launcher());
    drop(launcher.announce());
    let witness = start_from(&launcher, &["cat"]);
    let (first, second) = (launcher.announce(), launcher.announce());
    until_beside(&witness, 2);
    drop(first);
    let waiting = until_beside(&witness, 1);
    drop(second);
    until_beside(&witness, 0);
    assert!(waiting.iter().all(|pid| !exists(*pid)));
    witness.close();
}

#[test]
fn announced_starts_are_made_good_when_what_was_forked_for_them_is_killed() {
    let launcher = Arc::new(launcher());
    let witness = start_from(&launcher, &["cat"]);
    let announced: Vec<_> = (0..2).map(|_| launcher.announce()).collect();
    let waiting = until_beside(&witness, 2);
    waiting.iter().for_each(|pid| kill(*pid, Signal::KILL));
    let mut run = start_from(&launcher, &["cat"]);
    echoes(&mut run, 1, "after the holder");
    kill_forkserver_of(&witness);
    let mut other = start_from(&launcher, &["cat"]);
    echoes(&mut other, 1, "after the forkserver");
    drop(announced);
    [run, other, witness].into_iter().for_each(Run::close);
}

#[test]
fn more_announced_starts_than_holders_that_may_wait_all_come() {
    let launcher = Arc::new(launcher());
    let witness = start_from(&launcher, &["cat"]);
    let announced: Vec<_> = (0..12).map(|_| launcher.announce()).collect();
    until_beside(&witness, 8);
    let runs: Vec<Run> = (0..12).map(|_| start_from(&launcher, &["cat"])).collect();
    drop(announced);
    until_beside(&witness, 12);
    runs.into_iter().for_each(Run::close);
    witness.close();
}

#[test]
fn holders_outlive_the_forkserver() {
    let launcher = launcher();
    let mut runs: Vec<_> = (0..10).map(|_| start_from(&launcher, &["cat"])).collect();
    kill_forkserver_of(&runs[0]);
    for run in &mut runs {
        echoes(run, 1, "after the kill");
        run.reconnect();
    }
    // When the launcher ends, the forkserver ends, but no holder.
    runs.push(start_from(&launcher, &["cat"]));
    let pinned = pin(forkserver_of(&runs[10]));
    drop(launcher);
    wait_for_end(&pinned);
    for (id, run) in runs.iter_mut().enumerate() {
        echoes(run, 2 + id as u64, "after the end");
        assert!(exists(run.child_pid));
    }
    runs.into_iter().for_each(Run::close);
}

#[test]
fn no_zombie_is_left_by_ended_holders() {
    let launcher = launcher();
    let witness = start_from(&launcher, &["cat"]);
    let forkserver = forkserver_of(&witness);
    for round in 0..30 {
        let mut run = start_from(&launcher, &["true"]);
        run.until_exit();
        if round % 3 == 0 {
            kill(run.holder_pid, Signal::KILL);
            run.until_holder_dead();
            fs::remove_file(&run.socket).unwrap();
        } else {
            run.close();
        }
    }
    let children = || fs::read_to_string(format!("/proc/{forkserver}/task/{forkserver}/children")).unwrap();
    eventually("the living holder is the only child", || children().trim() == witness.holder_pid.to_string());
    witness.close();
}

/// Returns what identifies an open file across processes, as far as the kernel tells: sockets, pipes and
/// memory files by their inode, PTY masters by their number.
fn identities(pid: i32) -> BTreeSet<String> {
    let fds = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let numbers = fds.map(|fd| fd.unwrap().file_name().into_string().unwrap());
    numbers.filter_map(|fd| identity(pid, &fd)).collect()
}

fn identity(pid: i32, fd: &str) -> Option<String> {
    let target = fs::read_link(format!("/proc/{pid}/fd/{fd}")).unwrap().to_str().unwrap().to_owned();
    if target.ends_with("ptmx") {
        let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).unwrap();
        return info.lines().find(|line| line.starts_with("tty-index")).map(str::to_owned);
    }
    let file = fs::metadata(format!("/proc/{pid}/fd/{fd}")).unwrap();
    // All anonymous inodes (signalfd, pidfd) are one; /dev/null is shared.
    let is_own = ["socket:", "pipe:", "/memfd:", "/dev/pts/"].iter().any(|kind| target.starts_with(kind));
    is_own.then(|| format!("{target} {}:{}", file.dev(), file.ino()))
}

#[test]
fn forked_holders_share_no_descriptors() {
    let launcher = launcher();
    let runs: Vec<_> = (0..20).map(|_| start_from(&launcher, &["cat"])).collect();
    let forkserver = forkserver_of(&runs[0]);
    let open = |pid: i32| fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    eventually("the forkserver has 0, 1, 2 and its control socket", || open(forkserver) == 4);
    let mut seen = identities(forkserver);
    assert_eq!(seen.len(), 1, "{seen:?}");
    let usual = open(runs[0].holder_pid);
    for run in &runs {
        assert_eq!(open(run.holder_pid), usual, "a later holder has no more than the first");
        let own = identities(run.holder_pid);
        assert!(own.len() >= 5, "link, door, ring, master, slave: {own:?}");
        for identity in own {
            assert!(seen.insert(identity.clone()), "shared: {identity}");
        }
    }
    runs.into_iter().for_each(Run::close);
}

#[test]
fn b10_parallel_first_starts_share_one_forkserver_and_leak_nothing() {
    let launcher = launcher();
    let nurseries: BTreeSet<i32> = thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| (0..25).map(|_| clean_start(&launcher)).collect::<Vec<_>>()))
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(nurseries.len(), 1, "{nurseries:?}");
}

/// Starts a run, checks what its child has open, ends it; returns its forkserver.
fn clean_start(launcher: &Launcher) -> i32 {
    let mut run = launch_from(launcher, &shell("echo ready; read -r line")).unwrap();
    run.until_text("ready");
    let fds = fs::read_dir(format!("/proc/{}/fd", run.child_pid)).unwrap();
    let names: BTreeSet<_> = fds.map(|fd| fd.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, BTreeSet::from(["0", "1", "2"].map(str::to_owned)));
    let forkserver = forkserver_of(&run);
    run.close();
    forkserver
}

//! Pids that are used again at once, and pids that are used up. A process with the pid of an ended one is
//! never signalled in its place, and a start without a free pid reports that.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use holder::{LaunchError, SignalTarget, ToHolder};
use rustix::process::Signal;
use testkit::pid_namespace::{FIGURE, with_few_pids};
use testkit::scaled;

use crate::rig::{Run, config, kill, launch_from, launcher, shell, start};

/// Guards that report every signal. Three stay; sixteen come and go all the time, and so get the pids that
/// others had a moment before. A guard that ends otherwise than by itself was hit. Closing its input ends the
/// watch.
const GUARDS: &str = r#"
    use Config; use POSIX ':sys_wait_h';
    $| = 1;
    pipe(my $kept, my $keeper) or die;
    my @signals = grep { !/^(ZERO|KILL|STOP|CHLD|CLD|NUM\d+)$/ } split ' ', $Config{sig_name};
    sub guard {
        my $task = shift;
        my $pid = fork;
        die "no guard: $!" unless defined $pid;
        return $pid if $pid;
        for my $name (@signals) { $SIG{$name} = sub { syswrite STDOUT, "hit by $name\n"; POSIX::_exit(1) } }
        close $keeper;
        $task->();
        POSIX::_exit(0);
    }
    my %standing = map { guard(sub { sysread $kept, my $byte, 1 }) => 1 } 1..3;
    my ($changing, $total, $over) = (0, 3, 0);
    print "posted\n";
    until ($over && !$changing) {
        while (!$over && $changing < 16) {
            guard(sub { select undef, undef, undef, 0.002 + rand 0.01 });
            $changing++; $total++;
        }
        my $pid = waitpid -1, WUNTRACED;
        print "hit: $pid ended with $?\n" if $?;
        if ($standing{$pid}) { print "hit: a standing guard is gone\n" } else { $changing-- }
        vec(my $input = '', 0, 1) = 1;
        $over ||= select $input, undef, undef, 0;
    }
    close $keeper;
    for (1..3) { waitpid -1, 0; print "hit: $?\n" if $? }
    print "guards $total\n";
"#;

struct Watch {
    guards: Child,
    input: Option<ChildStdin>,
    lines: BufReader<std::process::ChildStdout>,
}

impl Watch {
    fn begin() -> Watch {
        use std::os::unix::process::CommandExt;
        let mut perl = Command::new("perl");
        perl.args(["-e", GUARDS]).process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut guards = perl.spawn().unwrap();
        let mut lines = BufReader::new(guards.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert_eq!(line, "posted\n");
        Watch { input: guards.stdin.take(), guards, lines }
    }

    /// Ends the watch; returns how many guards there were, none of which was hit.
    fn end(mut self) -> usize {
        drop(self.input.take());
        let told: Vec<String> = self.lines.lines().map(Result::unwrap).collect();
        assert!(self.guards.wait().unwrap().success(), "{told:?}");
        let [count] = &told[..] else { panic!("another process was signalled: {told:?}") };
        count.strip_prefix("guards ").unwrap().parse().unwrap()
    }
}

/// Runs that end by themselves at about the moment at which they are ended.
const SHORT: [&str; 4] = [
    "exit 0",
    "sleep 0.003 & sleep 0.002; exit 0",
    "(setsid sleep 0.004 &); (sleep 0.002 &); exit 0",
    "trap '' HUP TERM; for i in 1 2 3 4; do sleep 0.001 & done; wait",
];

/// Start times have a resolution of a hundredth of a second: a leader must be older than that to differ from
/// a process that gets its pid.
const OLD_ENOUGH: &str = "sleep 0.03; sleep 1000 & echo ready; wait";

fn end_while_it_ends(round: usize) -> i32 {
    let way = round / SHORT.len() % 6;
    if way == 5 {
        return crash(start(&shell(OLD_ENOUGH)));
    }
    let mut run = start(&shell(SHORT[round % SHORT.len()]));
    let child = run.child_pid;
    let foreground = ToHolder::Signal { signal: Signal::INT.as_raw(), to: SignalTarget::ForegroundGroup };
    let tree = ToHolder::Signal { signal: Signal::TERM.as_raw(), to: SignalTarget::Tree };
    match way {
        0 => run.send(&ToHolder::Kill { grace_ms: 0 }),
        1 => run.send(&ToHolder::Kill { grace_ms: 3 }),
        2 => run.send(&foreground),
        3 => run.send(&tree),
        _ => run.send(&ToHolder::Hangup),
    }
    // A run that was hung up may have gone already.
    run.link.as_mut().unwrap().send(&ToHolder::Release { end_tree: true }).ok();
    run.until_holder_gone();
    child
}

/// A killed holder's run is swept by the leader's pid and start time, beside its mark.
fn crash(mut run: Run) -> i32 {
    run.until_text("ready");
    kill(run.holder_pid, Signal::KILL);
    run.until_holder_dead();
    holder::sweep_lost_run(&run.marker, run.child_pid, run.hello.fields.child_start_time);
    std::fs::remove_file(&run.socket).unwrap();
    run.child_pid
}

/// Ends this many short runs from four threads, watched by guards; returns how often a leader had the pid of
/// an earlier one.
fn end_many(count: usize) -> usize {
    let watch = Watch::begin();
    let next = AtomicUsize::new(0);
    let pids = Mutex::new(std::collections::BTreeSet::new());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let round = next.fetch_add(1, Ordering::Relaxed);
                    if round >= count {
                        return;
                    }
                    let pid = end_while_it_ends(round);
                    pids.lock().unwrap().insert(pid);
                }
            });
        }
    });
    let (guards, again) = (watch.end(), count - pids.lock().unwrap().len());
    println!("{FIGURE}{count} runs ended beside {guards} guards, {again} of them with an earlier one's pid");
    again
}

#[test]
fn d4_p1_whoever_has_the_pid_of_somebody_who_has_gone_is_never_signalled() {
    let inside = || {
        let count = scaled(1000);
        let again = end_many(count);
        assert!(again > count - 300, "pids were not used again: {again} of {count}");
    };
    with_few_pids(
        "recycled::d4_p1_whoever_has_the_pid_of_somebody_who_has_gone_is_never_signalled",
        inside,
        || assert_eq!(end_many(scaled(100)), 0, "nothing is known of pids used again"),
    );
}

/// Returns a process outside every run that the kernel gives this pid as soon as it is free: a child of the
/// shell.
fn stranger_with(pid: i32) -> Child {
    loop {
        std::fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).unwrap();
        let mut child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        if i32::try_from(child.id()) == Ok(pid) {
            return child;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn d4_p1_a_stranger_with_a_known_pid_is_neither_signalled_nor_swept() {
    let inside = || {
        let mut run = start(&shell(OLD_ENOUGH));
        run.until_text("ready");
        let (root, leader, started) = (run.holder_pid, run.child_pid, run.hello.fields.child_start_time);
        let job = *holder::descendants::descendants(root).last().unwrap();
        assert_ne!(job, leader);
        run.send(&ToHolder::Kill { grace_ms: 500 });
        run.until_tree_gone();
        let mut strangers = [stranger_with(leader), stranger_with(job)];
        for pid in [leader, job] {
            assert!(
                !holder::descendants::signal_descendant(pid, root, Signal::KILL),
                "{pid} descends from nobody here"
            );
        }
        assert_ne!(holder::proc_stat::start_time(leader), Some(started));
        assert!(holder::proc_stat::open_checked(leader, started).is_none());
        assert_eq!(holder::sweep_lost_run(&run.marker, leader, started).killed, 0);
        // A holder that ends a tree that has already gone signals no process either.
        run.send(&ToHolder::Signal { signal: Signal::KILL.as_raw(), to: SignalTarget::Leader });
        run.send(&ToHolder::Signal { signal: Signal::KILL.as_raw(), to: SignalTarget::Tree });
        run.send(&ToHolder::Kill { grace_ms: 0 });
        run.send(&ToHolder::Release { end_tree: true });
        run.until_holder_gone();
        for stranger in &mut strangers {
            assert!(stranger.try_wait().unwrap().is_none(), "another process was ended");
            stranger.kill().unwrap();
            stranger.wait().unwrap();
        }
    };
    let test = "recycled::d4_p1_a_stranger_with_a_known_pid_is_neither_signalled_nor_swept";
    // The unit tests of the lineage show the same of pids that are not used again.
    with_few_pids(test, inside, || {});
}

/// Takes pids until there are none.
fn take_all_pids() -> Vec<Child> {
    let mut taken = Vec::new();
    loop {
        match Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn() {
            Ok(child) => taken.push(child),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{error}");
                return taken;
            }
        }
    }
}

/// Returns the children of the forkserver, dead ones that it has not reaped included.
fn holders_of(forkserver: i32) -> Vec<i32> {
    let parent = |pid: i32| holder::proc_stat::stat(pid).map(|stat| stat.parent);
    testkit::process_scan::all_pids().into_iter().filter(|pid| parent(*pid) == Some(forkserver)).collect()
}

fn give_back(taken: &mut Vec<Child>) {
    let mut child = taken.pop().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn d10_without_a_free_pid_the_limit_is_named_and_the_forkserver_goes_on() {
    let inside = || {
        let launcher = launcher();
        let first = launch_from(&launcher, &config(&["cat"])).unwrap();
        let forkserver = holder::proc_stat::stat(first.holder_pid).unwrap().parent;
        let mut taken = take_all_pids();
        // With none free there is no holder, with one free it cannot start its child.
        for free in 0..2 {
            let config = config(&["cat"]);
            let error = launch_from(&launcher, &config).err().expect("there is no pid for it");
            assert!(matches!(error, LaunchError::Limit { .. }), "{free} free: {error:?}");
            assert!(error.to_string().contains("processes (ulimit -u or pids.max)"), "{error}");
            assert!(!config.socket.exists(), "{free} free: a door stays behind");
            // A holder that failed keeps its pid until the forkserver has reaped it.
            testkit::process_scan::eventually("the failed holder is reaped", || {
                (holders_of(forkserver) == [first.holder_pid]).then_some(())
            });
            give_back(&mut taken);
        }
        let mut next = launch_from(&launcher, &config(&["cat"])).expect("two pids are enough");
        assert_eq!(
            holder::proc_stat::stat(next.holder_pid).unwrap().parent,
            forkserver,
            "the same forkserver"
        );
        next.send(&ToHolder::Input { id: 1, bytes: b"well\n".to_vec() });
        next.until_text("well\r\nwell");
        next.close();
        while !taken.is_empty() {
            give_back(&mut taken);
        }
        first.close();
    };
    with_few_pids(
        "recycled::d10_without_a_free_pid_the_limit_is_named_and_the_forkserver_goes_on",
        inside,
        // The unit tests of launcher and forkserver show this error without such a namespace.
        || {},
    );
}

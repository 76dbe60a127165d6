//! Neither one run nor a person's own programs can use up the connections: others and people can always connect.

use std::os::unix::net::UnixStream;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use testkit::process_scan::eventually;
use testkit::{MarkedDaemon, TestDaemon, child};

use crate::QD;
use crate::inside::Inside;

/// Opens as many connections as it gets, prints how many were refused, and stays.
const CROWD: &str = r#"use Socket;
my ($path, $count) = @ARGV;
$SIG{PIPE} = 'IGNORE';
my @all;
for (1..$count) {
    socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die "no socket: $!";
    connect($s, sockaddr_un($path)) or die "no connection: $!";
    push @all, $s;
}
my $refused = 0;
for my $s (@all) {
    syswrite($s, qq({"id":1,"request":{"status":{}}}\n));
    my $line = <$s>;
    $refused++ if !defined $line || $line =~ /"limit"/;
}
open(O, ">", "crowd.new"); print O $refused; close O; rename "crowd.new", "crowd";
sleep 1000;
"#;

#[test]
fn m5_a_thousand_idle_connections_of_one_run_lock_nobody_out() {
    let stage = MarkedDaemon::start(QD);
    stage.run("other", child::run_for_ever());
    let mut inside = Inside::command(&stage, "crowd");
    std::fs::write(inside.directory.join("crowd.pl"), CROWD).unwrap();
    let socket = stage.dirs().socket();
    let job = format!("ulimit -n 4096; perl crowd.pl '{}' 1100", socket.display());
    let (code, out) = inside.run(&format!("({job}) > /dev/null 2>&1 &"));
    assert_eq!(code, 0, "{out}");
    let refused = testkit::process_scan::eventually("the crowd to be in", || {
        std::fs::read_to_string(inside.directory.join("crowd")).ok()
    });
    let refused: usize = refused.parse().unwrap();
    assert!((1100 - 128..1100).contains(&refused), "{refused} of 1100 were refused");
    assert_eq!(stage.json(&["ps"]).as_array().unwrap().len(), 2);
    let mut neighbour = Inside::command(&stage, "neighbour");
    assert_eq!(neighbour.json("ps").as_array().unwrap().len(), 3, "another run has its own share");
    let ended = stage.qd(&["shutdown", "--kill"]);
    assert!(ended.status.success(), "{}", crate::said(&ended));
}

#[test]
fn m5_a_thousand_idle_connections_of_a_person_lock_nobody_out() {
    let daemon = TestDaemon::start(QD);
    daemon.spawn("other", child::run_for_ever());
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).unwrap();
    let crowd: Vec<UnixStream> =
        (0..1_100).map(|_| UnixStream::connect(daemon.dirs().socket()).unwrap()).collect();
    eventually("short calls get through", || daemon.qd(&["ps", "--json"]).status.success().then_some(()));
    let viewer = daemon.qd(&["wait", "other", "--exit", "--timeout", "1"]);
    assert!(crate::said(&viewer).contains("for short calls of people"), "{}", crate::said(&viewer));
    let ended = daemon.qd(&["shutdown", "--kill"]);
    assert!(ended.status.success(), "{}", crate::said(&ended));
    drop(crowd);
}

/// Asks on so many connections, on each again as soon as it is answered, and counts the answers in a file.
const ASKERS: &str = r#"use Socket;
my ($path, $count) = @ARGV;
my $ask = qq({"id":1,"request":{"status":{}}}\n);
my (%all, $wait);
for (1..$count) {
    socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die "no socket: $!";
    connect($s, sockaddr_un($path)) or die "no connection: $!";
    $all{fileno($s)} = $s;
    vec($wait, fileno($s), 1) = 1;
    syswrite($s, $ask);
}
open(my $o, "+>", "answers");
my $answers = 0;
while (1) {
    select(my $ready = $wait, undef, undef, undef);
    for my $number (keys %all) {
        next unless vec($ready, $number, 1);
        sysread($all{$number}, my $answer, 65536) or die "closed";
        $answers += ($answer =~ tr/\n//);
        syswrite($all{$number}, $ask) if $answer =~ /\n\z/;
        sysseek($o, 0, 0); syswrite($o, sprintf("%012d", $answers));
    }
}
"#;

/// Counted in answers and not in time: how many the run gets while one call of a person is under way. In a queue for all
/// it would be one for each of its connections.
#[test]
fn m5_calls_of_one_run_without_pause_do_not_hold_up_a_persons() {
    const ASKING: u64 = 100;
    let stage = MarkedDaemon::start(QD);
    let mut inside = Inside::command(&stage, "askers");
    std::fs::write(inside.directory.join("askers.pl"), ASKERS).unwrap();
    let socket = stage.dirs().socket();
    let job = format!("perl askers.pl '{}' {ASKING}", socket.display());
    let (code, out) = inside.run(&format!("({job}) > /dev/null 2> askers.err &"));
    assert_eq!(code, 0, "{out}");
    let file = inside.directory.join("answers");
    let answers = || std::fs::read_to_string(&file).ok()?.parse::<u64>().ok();
    eventually("the run gets its answers", || answers().filter(|answers| *answers > 10 * ASKING));
    let mut person = stage.client();
    let mut meanwhile: Vec<u64> = (0..101)
        .map(|_| {
            let before = answers().unwrap();
            person.list().unwrap();
            answers().unwrap() - before
        })
        .collect();
    meanwhile.sort_unstable();
    let (median, last) = (meanwhile[50], answers().unwrap());
    println!("answers of the run during one call of a person: {meanwhile:?}");
    assert!(median < ASKING / 2, "{meanwhile:?}");
    eventually("the run is still answered", || answers().filter(|answers| *answers > last + ASKING));
}

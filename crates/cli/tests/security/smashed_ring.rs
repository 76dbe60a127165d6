//! A process of the user writes into the shared memory of another run's holder: that run alone is damaged, and it can be ended.

use proto::Status;
use testkit::process_scan::{eventually, parent};
use testkit::{MarkedDaemon, child};

use crate::{QD, said};

const TICKING: &str = "i=0; while :; do i=$((i+1)); echo tick $i; sleep 0.1; done";

/// Overwrites the control area of a ring through the holder's descriptors, ten times a second until it is killed.
const SMASHER: &str = r#"
import mmap, os, sys, time
holder = sys.argv[1]
names = {name: os.readlink(f"/proc/{holder}/fd/{name}") for name in os.listdir(f"/proc/{holder}/fd")}
ring = next(name for name, target in names.items() if "qd-ring" in target)
area = mmap.mmap(os.open(f"/proc/{holder}/fd/{ring}", os.O_RDWR), 4096)
while True:
    area[16:4096] = os.urandom(4080)
    print("smashed", flush=True)
    time.sleep(0.1)
"#;

#[test]
fn m5h_a_run_whose_shared_memory_is_overwritten_harms_no_other_and_can_be_ended() {
    let stage = MarkedDaemon::start(QD);
    // As many victims as there may be workers, and one more.
    let victims: Vec<String> = (0..4).map(|number| format!("victim-{number}")).collect();
    for victim in &victims {
        let pid = stage.run(victim, child::shell(TICKING)).pid.unwrap();
        stage.wait_pattern(victim, "tick 1");
        let holder = parent(pid).to_string();
        let script = ["python3", "-c", SMASHER, &holder].map(str::to_owned).to_vec();
        stage.run(&format!("smasher-of-{victim}"), script);
        stage.wait_pattern(&format!("smasher-of-{victim}"), "smashed");
    }
    eventually("the damage to be told", || {
        let warnings = stage.json(&["status"])["warnings"].to_string();
        warnings.contains("is damaged").then_some(())
    });
    for neighbour in 0..4 {
        let name = format!("neighbour-{neighbour}");
        stage.run(&name, child::shell("echo well; cat"));
        stage.wait_pattern(&name, "well");
    }
    let killed = stage.qd(&["kill", &victims[0], "--now"]);
    assert!(killed.status.success(), "{}", said(&killed));
    stage.until_view(&victims[0], |view| view.status == Status::Exited);
    let closed = stage.qd(&["close", &victims[1], "--now"]);
    assert!(closed.status.success(), "{}", said(&closed));
    let ended = stage.qd(&["shutdown", "--kill", "--now"]);
    assert!(ended.status.success(), "{}", said(&ended));
    stage.assert_nobody_left();
}

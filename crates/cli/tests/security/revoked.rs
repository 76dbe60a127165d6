//! A right that a person has taken back: what a process read or waited for by it ends.

use proto::request::{Grant, Revoke, Target};
use proto::rights::Right;
use proto::{Reply, Request};
use testkit::process_scan::eventually;
use testkit::{MarkedDaemon, child};

use crate::QD;
use crate::inside::Inside;

#[test]
fn b6_what_a_process_reads_and_waits_for_by_a_grant_ends_with_the_grant() {
    let stage = MarkedDaemon::start(QD);
    stage.run("secret", child::repeat_lines());
    stage.wait_pattern("secret", "ready");
    let mut spy = Inside::command(&stage, "spy");
    let grant = Grant { to: Target("spy".into()), right: Right::Read, over: Target("secret".into()) };
    let Ok(Reply::Granted(view)) = stage.client().call(Request::Grant(grant)) else { panic!("no grant") };
    let watching = format!(
        "('{QD}' logs -f secret > heard 2> told; echo $? > logs.code) > /dev/null 2>&1 & \
         ('{QD}' wait secret --pattern got:later > waited 2>&1; echo $? > wait.code) > /dev/null 2>&1 &"
    );
    assert_eq!(spy.run(&watching).0, 0);
    let file = |name: &str| std::fs::read_to_string(spy.directory.join(name)).unwrap_or_default();
    eventually("it reads", || file("heard").contains("ready").then_some(()));
    stage.client().call(Request::Revoke(Revoke { grant: view.grant.grant })).unwrap();
    for code in ["logs.code", "wait.code"] {
        let code = eventually("it ends", || Some(file(code)).filter(|code| code.ends_with('\n')));
        assert_eq!(code, "4\n", "{} {}", file("told"), file("waited"));
    }
    assert!(stage.qd(&["send", "secret", "later"]).status.success());
    stage.wait_pattern("secret", "got:later");
    assert!(!file("heard").contains("later") && !file("waited").contains("later"));
    assert_eq!(spy.run(&format!("'{QD}' whoami")).0, 0, "it may still ask for what is its own");
}

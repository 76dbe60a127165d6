//! `qd grant`, `qd grants`, `qd revoke`, `qd whoami` and `qd audit`.

use serde_json::json;
use testkit::{MarkedDaemon, child};

use crate::{Inside, QD, text, told};

#[test]
fn b6_a_right_is_given_used_and_taken_back() {
    let stage = MarkedDaemon::start(QD);
    stage.run("web", child::print_and_exit("hello", 0));
    stage.wait_exit("web");
    let lead = Inside::start(&stage, "lead");
    let (code, error) = lead.qd("read web --json").error();
    assert_eq!((code, &error["code"]), (4, &json!("not_related")), "{error}");
    let grant = stage.json(&["grant", "lead", "read", "web"]);
    assert_eq!((&grant["to_name"], &grant["right"]), (&json!("lead"), &json!("read")));
    assert!(lead.qd("read web --json").json()["text"].as_str().unwrap().contains("hello"));
    assert_eq!(lead.qd("whoami --json").json()["grants"][0]["grant"], grant["grant"]);
    assert_eq!(lead.qd("close web --json").error().0, 4, "reading is not driving");
    assert_eq!(stage.json(&["grants"]), json!([grant]));
    let number = grant["grant"].to_string();
    assert_eq!(told(&stage.qd(&["revoke", &number])), format!("grant {number} is revoked\n"));
    assert_eq!(lead.qd("read web --json").error().1["code"], "not_related");
    let gone = stage.qd(&["revoke", &number]);
    assert_eq!(gone.status.code(), Some(3), "{}", text(&gone.stderr));
}

#[test]
fn b6_a_process_gives_nobody_a_right() {
    let stage = MarkedDaemon::start(QD);
    stage.run("web", child::run_for_ever());
    let lead = Inside::start(&stage, "lead");
    for words in ["grant lead drive web", "revoke 1", "audit"] {
        assert_eq!(lead.qd(&format!("{words} --json")).error().0, 4, "{words}");
    }
    assert_eq!(stage.json(&["grants"]), json!([]));
}

#[test]
fn everybody_hears_whom_the_daemon_takes_them_for() {
    let stage = MarkedDaemon::start(QD);
    assert_eq!(told(&stage.qd(&["whoami"])).lines().next(), Some("human"));
    let lead = Inside::start(&stage, "lead");
    let who = lead.qd("whoami --json").json();
    assert_eq!(who["caller"], json!(stage.process("lead").id), "{who}");
    assert_eq!(who["project"]["path"], json!(stage.root().canonicalize().unwrap()), "{who}");
    assert!(lead.qd("whoami").out.starts_with("lead (p_"));
}

#[test]
fn f11_what_was_done_and_refused_is_in_the_log_and_the_chain_holds() {
    let stage = MarkedDaemon::start(QD);
    stage.run("web", child::run_for_ever());
    let lead = Inside::start(&stage, "lead");
    lead.qd("kill web --json").error();
    told(&stage.qd(&["kill", "web"]));
    let page = stage.json(&["audit", "--verify", "--since", "10m"]);
    let rows = page["rows"].as_array().unwrap();
    let web = json!(stage.process("web").id);
    let kills: Vec<_> = rows.iter().filter(|row| row["verb"] == "kill").collect();
    assert_eq!(kills.len(), 2, "{page}");
    assert!(
        kills[0]["caller"].as_str().unwrap().starts_with("p_") && kills[0]["decision"] == "not_related",
        "{page}"
    );
    assert_eq!((&kills[1]["caller"], &kills[1]["decision"]), (&json!("human"), &json!("allowed")), "{page}");
    assert!(kills[1]["target"].as_str().unwrap().contains(web.as_str().unwrap()), "{page}");
    assert!(page["verified"]["intact"]["rows"].as_u64().unwrap() >= 2, "{page}");
    assert_eq!(stage.json(&["audit", "--limit", "1"])["rows"].as_array().map(Vec::len), Some(1));
    let output = stage.qd(&["audit"]);
    assert!(told(&output).starts_with("TIME ") && told(&output).contains("not_related"), "{}", told(&output));
    assert_eq!(stage.json(&["audit", "--since", "2999-01-01"])["rows"], json!([]));
}

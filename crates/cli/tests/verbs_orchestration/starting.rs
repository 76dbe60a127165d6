//! `qd spawn` with presets, keys, readiness and budgets; `qd ports` and `qd select`.

use proto::Event;
use serde_json::json;
use testkit::{MarkedDaemon, child};

use crate::{Inside, QD, text, told};

#[test]
fn f4_the_same_key_starts_nothing_twice() {
    let stage = MarkedDaemon::start(QD);
    let mark = stage.mark();
    let words = ["spawn", "--env", &mark, "--key", "k", "--", "sleep", "1000"];
    let first = stage.json(&words);
    let second = stage.json(&words);
    assert_eq!((&first["id"], &first["pid"]), (&second["id"], &second["pid"]));
    assert_eq!(stage.list().len(), 1);
}

#[test]
fn a_preset_is_started_by_its_name_alone() {
    let stage = MarkedDaemon::start(QD);
    let file = "[preset.dev]\nshell = \"echo up $GREETING; exec sleep 1000\"\nenv = { GREETING = \"hello\" }\n\
                ready = { pattern = \"up hello\" }\n";
    std::fs::write(stage.root().join(".quarterdeck.toml"), file).unwrap();
    let below = stage.root().join("below");
    std::fs::create_dir(&below).unwrap();
    let mark = stage.mark();
    let words = ["spawn", "--preset", "dev", "--name", "web", "--env", &mark];
    told(&stage.command(&words).current_dir(&below).output().unwrap());
    told(&stage.qd(&["wait", "web", "--ready", "--timeout", "30"]));
    let process = stage.process("web");
    assert_eq!((process.program.preset.as_deref(), process.ready), (Some("dev"), Some(true)));
    assert_eq!(
        process.program.cwd,
        stage.root().canonicalize().unwrap().to_str().unwrap(),
        "the project's directory"
    );
    let ps = stage.qd(&["ps"]);
    assert!(told(&ps).contains(" ready ") && told(&ps).contains(" dev "), "{}", told(&ps));
    let unknown = stage.command(&["spawn", "--preset", "nope"]).current_dir(&below).output().unwrap();
    assert_eq!(unknown.status.code(), Some(3), "{}", text(&unknown.stderr));
}

#[test]
fn a_process_is_ready_when_it_says_so_and_a_wait_hears_it() {
    let stage = MarkedDaemon::start(QD);
    let mark = stage.mark();
    let words = ["spawn", "--name", "web", "--env", &mark, "--ready-pattern", "serving [0-9]+", "--"];
    let argv = child::shell("read line; echo serving 80; exec sleep 1000");
    told(&stage.command(&words).args(argv).output().unwrap());
    assert_eq!(stage.process("web").ready, Some(false));
    let late = stage.qd(&["wait", "web", "--ready", "--timeout", "0.1"]);
    assert_eq!(late.status.code(), Some(5), "{}", text(&late.stderr));
    stage.type_text("web", "go\n");
    told(&stage.qd(&["wait", "web", "--ready", "--timeout", "30"]));
    assert_eq!(stage.process("web").ready, Some(true));
    told(&stage.qd(&["spawn", "--name", "mute", "--env", &mark, "--", "sleep", "1000"]));
    let mute = stage.qd(&["wait", "mute", "--ready", "--timeout", "1"]);
    assert!(!mute.status.success() && mute.status.code() != Some(5), "{}", text(&mute.stderr));
}

#[test]
fn f10_a_budget_bounds_the_tree_and_names_its_limit() {
    let stage = MarkedDaemon::start(QD);
    let mark = stage.mark();
    let words = ["spawn", "--name", "lead", "--env", &mark, "--budget", "spawns=0,minutes=30", "--"];
    let lead = Inside::start_as(&stage, "lead", |script| {
        let mut spawn = stage.command(&words);
        told(&spawn.args(child::shell(script)).current_dir(stage.root()).output().unwrap());
    });
    let budget = &lead.qd("whoami --json").json()["budget"];
    assert_eq!(budget["limits"]["wall_ms"], 30 * 60_000, "{budget}");
    let (code, error) = lead.qd("spawn --json --kind agent nobody").error();
    assert_eq!((code, &error["code"]), (4, &json!("budget_exceeded")), "{error}");
    assert!(error["message"].as_str().unwrap().contains("spawns 0 of 0"), "{error}");
}

#[test]
fn ports_are_listed_and_a_port_makes_ready() {
    let stage = MarkedDaemon::start(QD);
    let mark = stage.mark();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let serve = "import socket,sys,time\ns=socket.socket()\ns.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1)\n\
                 s.bind(('127.0.0.1',int(sys.argv[1])))\ns.listen()\ntime.sleep(1000)";
    let port = free.to_string();
    let words = ["spawn", "--name", "web", "--env", &mark, "--ready-port", &port, "--"];
    told(&stage.command(&words).args(["python3", "-c", serve, &port]).output().unwrap());
    told(&stage.qd(&["wait", "web", "--ready", "--timeout", "30"]));
    let ports = stage.json(&["ports", "web"]);
    assert_eq!(
        (&ports["ports"][0]["port"], &ports["ports"][0]["address"]),
        (&json!(free), &json!("127.0.0.1")),
        "{ports}"
    );
    assert!(told(&stage.qd(&["ports", "web"])).starts_with("PORT "));
    assert_eq!(stage.qd(&["ports", "nobody"]).status.code(), Some(3));
}

#[test]
fn a_selection_is_announced_to_every_face() {
    let stage = MarkedDaemon::start(QD);
    stage.run("web", child::run_for_ever());
    let mut subscriber = stage.subscriber();
    assert_eq!(told(&stage.qd(&["select", "web"])), "web is selected\n");
    let id = stage.process("web").id;
    stage.until_event(
        &mut subscriber,
        |event| matches!(event, Event::Selected { id: shown, .. } if *shown == id),
    );
    let lead = Inside::start(&stage, "lead");
    assert_eq!(lead.qd("select web --json").error().0, 4, "not what it may read");
}

#[test]
fn t7_h6_when_a_leader_is_closed_or_killed_its_family_is_gone_too() {
    let stage = MarkedDaemon::start(QD);
    for verb in ["close", "kill", "close"] {
        let lead = Inside::start(&stage, "lead");
        // It outlives its leader by a grace: it ignores every signal that it can.
        let kid = "spawn --json --name kid -- sh -c \"trap '' HUP INT TERM; echo deaf; sleep 1000\"";
        let item = lead.qd(kid).error().1["item"].to_string();
        told(&stage.qd(&["answer", &item, "allow_once"]));
        lead.qd(kid).json();
        stage.wait_pattern("kid", "deaf");
        told(&stage.qd(&[verb, "lead"]));
        let left: Vec<String> = stage.list().iter().map(|process| process.name.to_string()).collect();
        assert_eq!(left, if verb == "kill" { vec!["lead"] } else { vec![] }, "{verb}");
        stage.assert_nobody_left();
        if verb == "kill" {
            told(&stage.qd(&["close", "lead"]));
        }
    }
}

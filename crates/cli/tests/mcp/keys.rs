//! Calls with an idempotency key: repeated after the daemon went away, done once.

use proto::reply::{Spawned, Wrote};
use proto::{Kind, ProcessId, Reply, Request, RunNumber, Status};
use serde_json::{Value, json};
use testkit::{FakeDaemon, MarkedDaemon, TestDaemon, child};

use crate::QD;
use crate::proxy::Proxy;

fn with_fake() -> (TestDaemon, FakeDaemon, Proxy) {
    let dirs = TestDaemon::without_start(QD);
    let fake = FakeDaemon::listen(dirs.root());
    let proxy = Proxy::greeted(&dirs);
    (dirs, fake, proxy)
}

fn spawned() -> Reply {
    Reply::Spawned(Spawned {
        id: ProcessId::from_entropy(1),
        name: "a".parse().unwrap(),
        kind: Kind::Command,
        status: Status::Running,
        pid: Some(7),
        run: RunNumber(1),
        warning: None,
        shortfalls: Vec::new(),
    })
}

#[test]
fn a_spawn_that_was_cut_off_is_asked_again_under_the_same_key() {
    for (tool, arguments) in [
        ("spawn_process", json!({"kind": "command", "argv": ["true"]})),
        ("spawn_agent", json!({"agent": "fake"})),
    ] {
        let (_places, fake, mut proxy) = with_fake();
        let id = proxy.begin("tools/call", json!({"name": tool, "arguments": arguments}));
        let mut keys = Vec::new();
        for _ in 0..3 {
            let mut peer = fake.accept_welcome();
            let Request::Spawn(spawn) = peer.call().request else { panic!("not a spawn") };
            keys.push(spawn.key.unwrap());
        }
        let mut peer = fake.accept_welcome();
        let call = peer.call();
        peer.reply(call.id, spawned());
        assert_eq!(proxy.answer(id)["result"]["isError"], json!(false), "{tool}");
        assert!(keys[0].len() >= 32 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        let second = proxy.begin("tools/call", json!({"name": tool, "arguments": arguments}));
        let call = peer.call();
        let Request::Spawn(spawn) = call.request else { panic!("not a spawn") };
        assert_ne!(spawn.key.unwrap(), keys[0], "another call is another deed");
        peer.reply(call.id, spawned());
        proxy.answer(second);
    }
}

#[test]
fn a_call_for_attention_that_was_cut_off_is_made_again_under_the_same_key() {
    let (_places, fake, mut proxy) = with_fake();
    let request = json!({"name": "request_human_attention", "arguments": {"reason": "look"}});
    let id = proxy.begin("tools/call", request);
    let key = |call: &proto::Call| match &call.request {
        Request::Attention(request) => request.key.clone().unwrap(),
        other => panic!("{other:?}"),
    };
    let first = key(&fake.accept_welcome().call());
    let mut peer = fake.accept_welcome();
    let call = peer.call();
    assert!(first.len() >= 32 && key(&call) == first, "{first} and {call:?}");
    peer.reply(call.id, Reply::Asked(proto::reply::Asked { item: 5 }));
    let answer = proxy.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["item"], json!(5), "{answer}");
}

#[test]
fn m7d_typing_that_was_cut_off_is_asked_again_under_the_same_key() {
    let (_places, fake, mut proxy) = with_fake();
    let typed = json!({"name": "send_input", "arguments": {"process": "a", "kind": "text", "text": "x"}});
    let id = proxy.begin("tools/call", typed);
    let key = |call: &proto::Call| match &call.request {
        Request::Write(write) => write.key.clone().unwrap(),
        other => panic!("{other:?}"),
    };
    let first = key(&fake.accept_welcome().call());
    let mut peer = fake.accept_welcome();
    let call = peer.call();
    let second = key(&call);
    assert_eq!((first.again, second.again, &first.id), (false, true, &second.id));
    peer.reply(call.id, Reply::Wrote(Wrote { written: 1, of: 1, submitted: None }));
    let answer = proxy.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["written"], json!(1), "{answer}");
}

#[test]
fn m7d_typing_across_a_killed_daemon_happens_once() {
    let daemon = TestDaemon::without_start(QD);
    let order = daemon.root().join("die");
    assert!(daemon.command(&["ps"]).env("QD_TEST_FAILPOINTS", &order).output().unwrap().status.success());
    daemon.spawn("echo", child::repeat_lines());
    daemon.wait_pattern("echo", "ready");
    let mut proxy = Proxy::greeted(&daemon);
    assert_eq!(proxy.tool("list_processes", json!({}))["processes"][0]["name"], json!("echo"));
    std::fs::write(&order, daemon::Failpoint::InputTyped.name()).unwrap();
    let typed = proxy.tool("send_input", json!({"process": "echo", "kind": "text", "text": "word\n"}));
    assert!(!order.exists(), "the daemon died");
    assert_eq!((&typed["written"], &typed["of"]), (&json!(5), &json!(5)));
    proxy.tool("send_input", json!({"process": "echo", "kind": "text", "text": "fence\n"}));
    daemon.wait_pattern("echo", "got:fence");
    let log = String::from_utf8(daemon.qd(&["logs", "echo"]).stdout).unwrap();
    assert_eq!(log.matches("got:word").count(), 1, "{log}");
}

#[test]
fn what_has_no_key_has_an_unknown_outcome_and_is_not_repeated() {
    for (tool, arguments) in [
        ("restart_process", json!({"process": "a"})),
        ("close_process", json!({"process": "a"})),
        ("answer_prompt", json!({"dialog_id": 1, "choice": "allow"})),
        ("timer_change", json!({"timer": 1, "action": "cancel"})),
    ] {
        let (_places, fake, mut proxy) = with_fake();
        let id = proxy.begin("tools/call", json!({"name": tool, "arguments": arguments}));
        let mut peer = fake.accept_welcome();
        drop(peer.call());
        drop(peer);
        let answer = proxy.answer(id);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        let error: Value = serde_json::from_str(text).unwrap();
        assert_eq!(error["error"]["code"], json!("retry_unknown_outcome"), "{tool}: {error}");
        assert!(error["error"]["request_id"].as_str().unwrap().starts_with("r_"), "{error}");
        // The next thing that the daemon gets is the next call, not the same one again.
        let id = proxy.begin("tools/call", json!({"name": "list_processes", "arguments": {}}));
        let mut peer = fake.accept_welcome();
        let call = peer.call();
        assert!(matches!(call.request, Request::List(_)), "{call:?}");
        peer.reply(call.id, Reply::Processes(Vec::new()));
        assert_eq!(proxy.answer(id)["result"]["structuredContent"]["processes"], json!([]));
    }
}

#[test]
fn a_spawn_repeated_across_a_killed_daemon_makes_one_process() {
    let stage = MarkedDaemon::start(QD);
    let mut proxy = Proxy::greeted(&stage);
    assert_eq!(proxy.tool("list_processes", json!({}))["processes"], json!([]));
    for number in 0..testkit::scaled(12) {
        let name = format!("made-{number}");
        let request = json!({"kind": "command", "argv": child::run_for_ever(), "name": name});
        let id = proxy.begin("tools/call", json!({"name": "spawn_process", "arguments": request}));
        // At any point of the spawn: before, in the middle, after.
        let mut spin = 0u64;
        while spin < (number as u64) * 400_000 {
            spin = std::hint::black_box(spin + 1);
        }
        stage.kill_9();
        let answer = proxy.answer(id);
        assert_eq!(answer["result"]["isError"], json!(false), "{answer}");
        let given = &answer["result"]["structuredContent"]["id"];
        let made: Vec<_> = stage.list().into_iter().filter(|view| view.name.as_str() == name).collect();
        assert_eq!(made.len(), 1, "{made:?}");
        assert_eq!(json!(made[0].id), *given);
    }
    assert_eq!(stage.list().len(), testkit::scaled(12), "nothing was made twice under another name");
}

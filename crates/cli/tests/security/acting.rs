//! A terminal that a person opened acts for that person: `qd` typed in it has the person's rights. Nothing
//! else does unless the person says so, and nothing that an agent opened ever does.

use proto::request::{Audit, Grant, Revoke, Spawn, Target};
use proto::rights::Right;
use proto::{Kind, Reply, Request};
use testkit::{MarkedDaemon, child};

use crate::QD;
use crate::inside::{Inside, with_shell_agents};

fn callers(stage: &MarkedDaemon) -> Vec<(String, String)> {
    let audit = Audit { limit: Some(1000), ..Audit::default() };
    let Ok(Reply::Audit(page)) = stage.client().call(Request::Audit(audit)) else { panic!("no audit") };
    page.rows.iter().map(|row| (row.caller.clone(), row.verb.clone())).collect()
}

#[test]
fn m12_a_terminal_that_a_person_opened_acts_for_that_person() {
    let stage = MarkedDaemon::start(QD);
    stage.run("other", child::run_for_ever());
    let mut desk = Inside::terminal(&stage, "desk");
    let (code, out) = desk.run(&format!("'{QD}' whoami"));
    assert_eq!((code, out.trim()), (0, "human, via desk: this terminal acts for you"));
    assert_eq!(desk.json("ps").as_array().unwrap().len(), 2);
    desk.json("spawn --name mine -- sleep 1000000");
    assert_eq!(stage.process("mine").parent, None, "a person's process has no parent");
    for allowed in
        ["read other", "rename other another", "send another x", "close another", "close mine", "grants"]
    {
        let (code, out) = desk.run(&format!("'{QD}' {allowed}"));
        assert_eq!(code, 0, "{allowed}: {out}");
    }
    let (code, out) = desk.run(&format!("'{QD}' attach desk < /dev/null"));
    assert_ne!(code, 0, "it would show itself: {out}");
    let rows = callers(&stage);
    for verb in ["spawn", "rename", "write", "close"] {
        assert!(rows.contains(&("person via desk".to_owned(), verb.to_owned())), "{verb}: {rows:?}");
    }
}

#[test]
fn m12_a_terminal_acts_for_its_person_after_the_daemon_was_killed() {
    let stage = MarkedDaemon::start(QD);
    stage.run("other", child::run_for_ever());
    let mut desk = Inside::terminal(&stage, "desk");
    stage.kill_9();
    drop(stage.client());
    let (code, out) = desk.run(&format!("'{QD}' close other"));
    assert_eq!(code, 0, "{out}");
}

#[test]
fn m12_commands_act_for_a_person_only_when_the_person_says_so() {
    let stage = MarkedDaemon::start(QD);
    stage.run("other", child::run_for_ever());
    let mut plain = Inside::command(&stage, "plain");
    let (code, out) = plain.run(&format!("'{QD}' read other"));
    assert_eq!(code, 4, "{out}");
    let (code, out) = plain.run(&format!("'{QD}' spawn --as-me -- sleep 1000000"));
    assert_eq!(code, 4, "a process cannot give a person's rights away: {out}");
    let mut mine = Inside::command_as_me(&stage, "mine");
    let (code, out) = mine.run(&format!("'{QD}' read other"));
    assert_eq!(code, 0, "{out}");
    let agent = stage.qd(&["spawn", "--kind", "agent", "--as-me", "--", "generic"]);
    assert_eq!(agent.status.code(), Some(2), "{}", crate::said(&agent));
}

#[test]
fn m12_what_an_agent_opens_keeps_its_own_rights_and_so_does_a_terminal_that_others_drive() {
    let stage = with_shell_agents();
    stage.run("other", child::run_for_ever());
    let mut agent = Inside::agent(&stage, "agent");
    agent.spawn("--kind terminal --name nook -- sleep 1000000");
    let nook = stage.process("nook");
    assert_eq!((nook.kind, nook.parent), (Kind::Terminal, Some(stage.process("agent").id)));
    let (code, _) = agent.run(&format!("'{QD}' read other"));
    assert_eq!(code, 4);
    // A caller that may type in a person's terminal would have that person's rights.
    let mut desk = Inside::terminal(&stage, "desk");
    assert_eq!(desk.run(&format!("'{QD}' read other")).0, 0);
    let grant = Grant { to: Target("agent".into()), right: Right::Drive, over: Target("desk".into()) };
    let Ok(Reply::Granted(view)) = stage.client().call(Request::Grant(grant)) else { panic!("no grant") };
    assert_eq!(
        desk.run(&format!("'{QD}' read other")).0,
        4,
        "it acts for itself while an agent may type in it"
    );
    // What the agent left there must not become a person when the person takes the right back.
    stage.client().call(Request::Revoke(Revoke { grant: view.grant.grant })).unwrap();
    assert_eq!(desk.run(&format!("'{QD}' read other")).0, 4, "nor afterwards");
    stage.kill_9();
    drop(stage.client());
    assert_eq!(desk.run(&format!("'{QD}' read other")).0, 4, "nor under the next daemon");
    assert_eq!(Inside::terminal(&stage, "another").run(&format!("'{QD}' read other")).0, 0);
}

#[test]
fn m12_the_setting_own_leaves_terminals_their_own_rights() {
    let stage = with_shell_agents();
    std::fs::write(stage.dirs().config.join("config.toml"), "terminals = \"own\"\n").unwrap();
    stage.run("other", child::run_for_ever());
    let mut desk = Inside::terminal(&stage, "desk");
    assert_eq!(desk.run(&format!("'{QD}' read other")).0, 4);
    let asked =
        Spawn { as_me: Some(true), kind: Kind::Terminal, ..stage.spec("asked", child::run_for_ever()) };
    stage.spawn_as(asked);
}

#[test]
fn m12_a_person_attaches_to_others_from_inside_a_terminal_and_comes_back() {
    let stage = MarkedDaemon::start(QD);
    stage.run("other", child::repeat_lines());
    stage.wait_pattern("other", "ready");
    let mut desk = Inside::terminal(&stage, "desk");
    std::thread::scope(|scope| {
        let attached = scope.spawn(|| desk.run(&format!("'{QD}' attach other > /dev/tty 2>&1")));
        stage.until_view("other", |view| view.terminal.viewers == 1);
        stage.type_text("desk", "typed at the desk\r");
        stage.wait_pattern("other", "got:typed at the desk");
        stage.wait_pattern("desk", "got:typed at the desk");
        stage.type_text("desk", "\x1cd");
        assert_eq!(attached.join().unwrap().0, 0);
    });
    stage.until_view("other", |view| view.terminal.viewers == 0);
}

#[test]
fn m12_a_person_answers_a_question_of_trust_from_inside_a_terminal() {
    let stage = with_shell_agents();
    let mut agent = Inside::agent(&stage, "agent");
    let spawn = format!("'{QD}' spawn --name kept -- sleep 1000000");
    let (code, out) = agent.run(&spawn);
    assert_ne!(code, 0, "nobody has approved it yet: {out}");
    let mut desk = Inside::terminal(&stage, "desk");
    let items = desk.json("inbox");
    let item = items.as_array().unwrap().iter().find(|item| item["kind"] == "trust").unwrap();
    let answer = format!("'{QD}' answer {} allow_once", item["item"]);
    let (code, out) = agent.run(&answer);
    assert_eq!(code, 4, "an agent does not answer for a person: {out}");
    let (code, out) = desk.run(&answer);
    assert_eq!(code, 0, "{out}");
    assert_eq!(agent.run(&spawn).0, 0);
    assert_eq!(stage.process("kept").parent, Some(stage.process("agent").id));
    let rows = callers(&stage);
    assert!(rows.contains(&("person via desk".to_owned(), "answer".to_owned())), "{rows:?}");
}

//! What is written down: every refusal once, every deed once, and never a text or a secret.

use proto::Kind;
use proto::request::{Distrust, GiveAnswer, Grant, Kill, Rename, Resume, Revoke, Shutdown, Spawn};
use proto::rights::Right;

use super::agents::scene::{agent, tell};
use super::stage::{Stage, close, command, kill, order, restart, shutdown, target, terminal, trust_subject};
use crate::{AuditNote, Caller, Command, Rule, RunFact, RunKey, SpawnOrder, Verb};

const SECRET: &str = "hunter2-correct-horse";

/// The rows a command adds.
fn rows(stage: &mut Stage, caller: Caller, command: Command) -> Vec<AuditNote> {
    let before = stage.audited().len();
    stage.ask_as(caller, command);
    stage.audited().split_off(before)
}

fn decision(rows: &[AuditNote]) -> (&'static str, &str) {
    assert_eq!(rows.len(), 1, "{rows:?}");
    (rows[0].verb, rows[0].decision.as_str())
}

fn locate(run: RunKey, verb: Verb) -> Command {
    Command::Locate { target: target(run), verb }
}

#[test]
fn f11_every_refusal_is_written_once_with_caller_target_and_code() {
    let mut stage = Stage::new();
    let (one, two) = (stage.spawn(agent("one")), stage.spawn(agent("two")));
    let over = stage.spawn(command("over"));
    stage.exit(over, 0);
    let by = Caller::Process(one);
    let bare = || Command::Spawn(Box::new(Spawn { name: None, ..command("x") }.into()));
    let denied = Command::Spawn(Box::new(SpawnOrder {
        trust_subject: Some(trust_subject("aa", Rule::Deny)),
        ..Spawn { name: None, ..command("x") }.into()
    }));
    for (caller, command, verb, code) in [
        (Caller::Nobody, Command::List, "list", "unauthorized"),
        (Caller::Process(over), Command::WhoAmI, "who_am_i", "unauthorized"),
        (by, locate(two, Verb::Read), "read", "not_related"),
        (by, locate(two, Verb::Drive), "drive", "not_related"),
        (by, kill(two), "kill", "not_related"),
        (by, close(two), "close", "not_related"),
        (by, restart(two), "restart", "not_related"),
        (by, Command::Tell(tell(two, SECRET)), "tell", "not_related"),
        (by, shutdown(true), "shutdown", "denied"),
        (by, Command::Permit(Verb::Administer), "administer", "denied"),
        (by, Command::Trusted, "trusted", "denied"),
        (by, denied, "spawn", "denied"),
        (by, bare(), "spawn", "needs_trust"),
        (by, bare(), "spawn", "needs_trust"),
    ] {
        let rows = rows(&mut stage, caller, command);
        assert_eq!(decision(&rows), (verb, code));
        assert_eq!(rows[0].caller, Some(caller));
    }
    let kills: Vec<_> = stage.audited().into_iter().filter(|note| note.verb == "kill").collect();
    assert_eq!(kills[0].target, Some(two.process.to_string()));
}

#[test]
fn f11_over_budget_is_written_down() {
    let mut stage = Stage::new();
    let budget = Some(proto::rights::Budget { spawns: Some(0), ..Default::default() });
    let root = stage.spawn(Spawn { budget, ..agent("root") });
    let rows = rows(&mut stage, Caller::Process(root), order(Caller::Process(root), agent("x")));
    assert_eq!(decision(&rows), ("spawn", "budget_exceeded"));
}

#[test]
fn f11_every_deed_is_written_once() {
    let mut stage = Stage::new();
    let (one, two) = (stage.spawn(agent("one")), stage.spawn(agent("two")));
    let human = Caller::Person;
    let grant = Grant { to: target(one), right: Right::Read, over: target(two) };
    let signal = Kill { target: target(two), signal: Some(15), grace_ms: None };
    for (command, verb) in [
        (order(human, agent("three")), "spawn"),
        (Command::Kill(signal), "kill"),
        (Command::Rename(Rename { target: target(two), name: "deux".to_owned() }), "rename"),
        (Command::Tell(tell(two, "hello")), "tell"),
        (Command::Grant(grant), "grant"),
        (Command::Revoke(Revoke { grant: 1 }), "revoke"),
        (Command::Trust(Box::new(trust_subject("ab12", Rule::Ask))), "trust"),
        (Command::Distrust(Distrust { digest: "ab12".to_owned() }), "distrust"),
        (restart(two), "restart"),
    ] {
        let rows = rows(&mut stage, human, command);
        assert_eq!(decision(&rows), (verb, "allowed"));
        assert_eq!(rows[0].caller, Some(human));
    }
    stage.die(two);
    let third = stage.starts().iter().find(|start| start.record.name.as_str() == "three").unwrap().run;
    stage.fact(third, RunFact::Started { pid: 3 });
    stage.fact(third, RunFact::Session("s1".to_owned()));
    stage.exit(third, 0);
    let resumed =
        rows(&mut stage, human, Command::Resume(Resume { target: target(third), ..Resume::default() }));
    assert_eq!(decision(&resumed), ("resume", "allowed"));
    let closed = rows(&mut stage, human, close(one));
    assert_eq!(decision(&closed), ("close", "allowed"));
    let ended =
        rows(&mut stage, human, Command::Shutdown(Shutdown { kill: true, stop: proto::Stop::default() }));
    assert_eq!(decision(&ended), ("shutdown", "allowed"));
}

#[test]
fn what_changes_nobody_is_not_written() {
    let mut stage = Stage::new();
    let run = stage.spawn(agent("a"));
    for command in [Command::List, Command::Inbox, Command::WhoAmI, Command::Grants, locate(run, Verb::Drive)]
    {
        assert!(rows(&mut stage, Caller::Process(run), command).is_empty());
    }
    let missing = Command::Kill(Kill { target: "nobody".into(), signal: None, grace_ms: None });
    assert!(rows(&mut stage, Caller::Person, missing).is_empty(), "a mistake is no refusal");
}

#[test]
fn the_same_key_is_one_deed() {
    let mut stage = Stage::new();
    let lead = stage.spawn(agent("lead"));
    let keyed = || order(Caller::Person, Spawn { key: Some("k".to_owned()), ..agent("x") });
    assert_eq!(rows(&mut stage, Caller::Person, keyed()).len(), 1);
    assert!(rows(&mut stage, Caller::Person, keyed()).is_empty());
    let message = || {
        let mut tell = tell(lead, "hello");
        tell.key = Some("k".to_owned());
        Command::Tell(tell)
    };
    assert_eq!(rows(&mut stage, Caller::Person, message()).len(), 1);
    assert!(rows(&mut stage, Caller::Person, message()).is_empty());
}

#[test]
fn an_answer_about_trust_says_what_was_decided() {
    let mut stage = Stage::new();
    let lead = stage.spawn(agent("lead"));
    let ticket = stage.order_as(lead, command("x"), trust_subject("feed01", Rule::Ask));
    let item = stage.failure(ticket).item.unwrap();
    let answer = Command::Answer(GiveAnswer { item, choice: "always".to_owned(), ..GiveAnswer::default() });
    let rows = rows(&mut stage, Caller::Person, answer);
    let verbs: Vec<&str> = rows.iter().map(|row| row.verb).collect();
    assert_eq!(verbs, ["trust", "answer"]);
    assert!(rows[0].detail.contains("always") && rows[0].detail.contains("feed01"), "{:?}", rows[0]);
    assert_eq!(rows[1].target, Some(lead.process.to_string()));
}

#[test]
fn what_quarterdeck_does_by_itself_has_no_caller() {
    let mut stage = Stage::new();
    let run = stage.spawn(Spawn { auto_restart: true, ..command("loop") });
    stage.exit(run, 1);
    stage.pass(2_000);
    let idle = stage.spawn(Spawn { idle_timeout_ms: Some(50), ..command("idle") });
    stage.pass(100);
    let own: Vec<_> = stage.audited().into_iter().filter(|note| note.caller.is_none()).collect();
    let verbs: Vec<_> = own.iter().map(|note| (note.verb, note.target.clone())).collect();
    let named = |run: RunKey| Some(run.process.to_string());
    assert_eq!(verbs, [("restart", named(run)), ("kill", named(idle))]);
}

#[test]
fn f11_no_text_and_no_secret_is_ever_written() {
    let mut stage = Stage::new();
    let lead = stage.spawn(agent("lead"));
    let other = stage.spawn(agent("other"));
    let secret = || SECRET.to_owned();
    let mut spawn = Spawn { name: None, argv: vec!["run".to_owned(), secret()], ..command("x") };
    spawn.env.insert("TOKEN".to_owned(), secret());
    let mut prompted = Spawn { name: None, ..agent("x") };
    prompted.agent.prompt = Some(secret());
    let shown = crate::TrustSubject { command: secret(), ..trust_subject("aa", Rule::Ask) };
    for caller in [
        Caller::Person,
        Caller::Process(lead),
        Caller::Process(RunKey::new(lead.process, proto::RunNumber(9))),
    ] {
        for kind in [Kind::Command, Kind::Terminal] {
            stage.ask_as(caller, Command::Spawn(Box::new(Spawn { kind, ..spawn.clone() }.into())));
        }
        let trusted = SpawnOrder { trust_subject: Some(shown.clone()), ..spawn.clone().into() };
        stage.ask_as(caller, Command::Spawn(Box::new(trusted)));
        stage.ask_as(caller, Command::Spawn(Box::new(prompted.clone().into())));
        stage.ask_as(caller, Command::Tell(tell(other, SECRET)));
        stage.ask_as(caller, Command::Trust(Box::new(shown.clone())));
        stage.ask_as(
            caller,
            Command::Ask(proto::request::Ask { question: secret(), options: Vec::new(), key: None }),
        );
        stage.ask_as(
            caller,
            Command::Answer(GiveAnswer { item: 1, choice: secret(), ..GiveAnswer::default() }),
        );
        stage.ask_as(caller, Command::Attention(proto::request::Attention { reason: secret(), key: None }));
    }
    // A digest that is none holds the whole command.
    let ticket = stage.ask_as(Caller::Process(other), Command::Spawn(Box::new(spawn.into())));
    let item = stage.failure(ticket).item.unwrap();
    stage.ask(Command::Answer(GiveAnswer { item, choice: "always".to_owned(), ..GiveAnswer::default() }));
    let rows = stage.audited();
    assert!(rows.len() > 12, "{}", rows.len());
    for row in rows {
        assert!(!format!("{row:?}").contains(SECRET), "{row:?}");
    }
}

#[test]
fn c7_no_control_character_reaches_a_row() {
    let mut stage = Stage::new();
    let hostile = "\u{1b}]0;x\u{7}\u{1b}[2J\u{202e}\r\n";
    let one = stage.spawn(terminal("one"));
    let order = SpawnOrder { trust_subject: Some(trust_subject(hostile, Rule::Deny)), ..command("x").into() };
    stage.ask_as(Caller::Process(one), Command::Spawn(Box::new(order)));
    stage
        .ask_as(Caller::Nobody, Command::Rename(Rename { target: hostile.into(), name: hostile.to_owned() }));
    stage.ask_as(Caller::Nobody, Command::Distrust(Distrust { digest: hostile.to_owned() }));
    let rows = stage.audited();
    assert_eq!(rows.len(), 4);
    for row in rows {
        let text = format!("{}{}{}", row.target.unwrap_or_default(), row.decision, row.detail);
        assert!(!text.chars().any(|c| c.is_control() || c == '\u{202e}'), "{text:?}");
    }
}

//! Connections with a limit: where they start things, what they may type into, what they see and answer, and how the
//! audit log names them.

use proto::request::{AskReceipt, Attach, GiveAnswer, Grant, Restart, Revoke, Spawn, Target};
use proto::rights::Right;
use proto::{ErrorCode, Event, Kind, Limit, Reply, Role};

use super::agents::scene::{agent, tell};
use super::stage::{Stage, command, kill, order, target, terminal};
use crate::{
    Caller, Command, CommandAnswer, Effect, Input, Principal, RunFact, RunKey, Subscriber, Ticket, Verb,
    ViewerId,
};

fn within(workspace: Option<&str>, role: Role) -> Principal {
    let limit = Limit { workspace: workspace.map(str::to_owned), role };
    Principal { caller: Caller::Person, label: Some("Ana's phone".to_owned()), limit }
}

fn refused(stage: &mut Stage, principal: &Principal, command: Command) -> ErrorCode {
    let ticket = stage.ask_within(principal.clone(), command);
    stage.failure(ticket).code
}

fn locate(run: RunKey, verb: Verb) -> Command {
    Command::Locate { target: target(run), verb }
}

fn spawned(stage: &mut Stage, principal: &Principal, spawn: Spawn) -> RunKey {
    stage.ask_within(principal.clone(), order(Caller::Person, spawn));
    let run = stage.starts().last().expect("nothing was started").run;
    stage.fact(run, RunFact::Started { pid: 100 });
    run
}

fn pad_changed(project: &str) -> Event {
    let (project, name, author) = (project.to_owned(), "n".to_owned(), "human".to_owned());
    Event::PadChanged { project, name, revision: 1, author }
}

fn items(stage: &mut Stage, principal: &Principal) -> Vec<u64> {
    let ticket = stage.ask_within(principal.clone(), Command::Inbox);
    let Reply::Inbox(items) = stage.reply(ticket) else { panic!("no inbox") };
    items.iter().map(|item| item.item).collect()
}

#[test]
fn n5_t3_what_a_limited_connection_starts_is_in_its_workspace_and_nothing_starts_in_another() {
    let mut stage = Stage::new();
    let phone = within(Some("w2"), Role::Type);
    let run = spawned(&mut stage, &phone, command("mine"));
    assert_eq!(stage.view(run.process).unwrap().workspace, "w2");
    let elsewhere = Spawn { workspace: Some("w1".to_owned()), ..command("x") };
    let of_task = Spawn { task: Some("fix".to_owned()), ..command("x") };
    let keyed = Spawn { key: Some("k".to_owned()), ..command("keyed") };
    stage.spawn(keyed.clone());
    for spawn in [elsewhere, of_task] {
        let (starts, rows) = (stage.starts().len(), stage.audited().len());
        let order = order(Caller::Person, Spawn { key: Some("k".to_owned()), ..spawn });
        assert_eq!(refused(&mut stage, &phone, order), ErrorCode::WorkspaceMismatch);
        assert_eq!((stage.starts().len(), stage.engine.snapshot().len()), (starts, 2));
        assert_eq!(
            stage.audited()[rows..].iter().map(|row| row.decision.as_str()).collect::<Vec<_>>(),
            ["workspace_mismatch"]
        );
    }
    // The key of somebody in another workspace stands for nothing here.
    let own = spawned(&mut stage, &phone, Spawn { name: None, ..keyed });
    assert_eq!(stage.view(own.process).unwrap().workspace, "w2");
}

#[test]
fn n5_nothing_that_a_limited_connection_starts_or_types_into_acts_for_the_person() {
    let mut stage = Stage::new();
    let desk = stage.spawn(terminal("desk"));
    let type_attach = |run: RunKey| Command::Attach(Attach { target: target(run), ..Attach::default() });
    let watch =
        |run: RunKey| Command::Attach(Attach { target: target(run), read_only: true, ..Attach::default() });
    for phone in
        [within(None, Role::Type), within(Some("local"), Role::Admin), within(Some("local"), Role::Type)]
    {
        for command in [locate(desk, Verb::Drive), type_attach(desk)] {
            assert_eq!(refused(&mut stage, &phone, command), ErrorCode::Denied, "{:?}", phone.limit);
        }
        let ticket = stage.ask_within(phone.clone(), watch(desk));
        assert!(matches!(stage.answer(ticket), Some(Ok(CommandAnswer::Located(_)))));
        let as_me = Spawn { as_me: Some(true), name: None, ..terminal("x") };
        assert_eq!(refused(&mut stage, &phone, order(Caller::Person, as_me)), ErrorCode::Denied);
        let own = spawned(&mut stage, &phone, Spawn { name: None, ..terminal("x") });
        let sits = stage.ask_as(Caller::Via(own), Command::Trusted);
        assert_eq!(stage.failure(sits).code, ErrorCode::Unauthorized, "nobody sits in it as the person");
        let ticket = stage.ask_within(phone, locate(own, Verb::Drive));
        assert!(matches!(stage.answer(ticket), Some(Ok(CommandAnswer::Located(_)))));
    }
    let server = stage.spawn(Spawn { as_me: Some(true), ..command("server") });
    let restart = || Command::Restart(Restart { target: target(server), ..Restart::default() });
    assert_eq!(refused(&mut stage, &within(Some("local"), Role::Admin), restart()), ErrorCode::Denied);
    let whole = within(None, Role::Admin);
    let ticket = stage.ask_within(whole.clone(), restart());
    assert!(!matches!(stage.answer(ticket), Some(Err(_))));
    let ticket = stage.ask_within(whole, type_attach(desk));
    assert!(matches!(stage.answer(ticket), Some(Ok(CommandAnswer::Located(_)))));
}

#[test]
fn n5_who_may_look_sees_the_inbox_and_answers_nothing_and_trust_is_for_admins() {
    let mut stage = Stage::new();
    let boss = stage.spawn(agent("boss"));
    let bare = Spawn { name: None, ..command("x") };
    let subject = super::stage::trust_subject("aa", crate::Rule::Ask);
    let ticket = stage.order_as(boss, bare, subject);
    let item = stage.failure(ticket).item.expect("a person is asked");
    let answer = |choice: &str| {
        Command::Answer(GiveAnswer { item, choice: choice.to_owned(), ..GiveAnswer::default() })
    };
    for role in [Role::View, Role::Type] {
        assert_eq!(items(&mut stage, &within(Some("local"), role)), [item]);
        assert_eq!(refused(&mut stage, &within(Some("local"), role), answer("deny")), ErrorCode::Denied);
    }
    let stranger = within(Some("w2"), Role::Admin);
    assert_eq!(items(&mut stage, &stranger), [0; 0]);
    assert_eq!(refused(&mut stage, &stranger, answer("deny")), ErrorCode::NotFound);
    let ticket = stage.ask_within(within(Some("local"), Role::Admin), answer("deny"));
    assert!(stage.answer(ticket).unwrap().is_ok());
}

#[test]
fn n5_what_is_of_another_workspace_is_not_there() {
    let mut stage = Stage::new();
    let (here, there) = (
        stage.spawn(Spawn { workspace: Some("w2".to_owned()), ..agent("here") }),
        stage.spawn(agent("there")),
    );
    let phone = within(Some("w2"), Role::Admin);
    let ticket = stage.ask(Command::Tell(tell(there, "secret plan")));
    let Reply::Receipt(receipt) = stage.reply(ticket) else { panic!("no receipt") };
    let grant = Grant { to: target(here), right: Right::Read, over: target(there) };
    let ticket = stage.ask(Command::Grant(grant));
    let Reply::Granted(grant) = stage.reply(ticket) else { panic!("no grant") };
    for command in [
        locate(there, Verb::Read),
        Command::Locate { target: Target("there".to_owned()), verb: Verb::List },
        kill(there),
        Command::Receipt(AskReceipt { mail: receipt.mail }),
        Command::Revoke(Revoke { grant: grant.grant.grant }),
    ] {
        assert_eq!(refused(&mut stage, &phone, command), ErrorCode::NotFound);
    }
    let ticket = stage.ask_within(phone.clone(), Command::Grants);
    assert_eq!(stage.reply(ticket), Reply::Grants(Vec::new()));
    let view = |run: RunKey| Box::new(stage.view(run.process).unwrap());
    let events = [
        (Event::Changed(view(here)), true),
        (Event::Changed(view(there)), false),
        (Event::Selected { id: there.process, by: None }, false),
        (Event::Mail(receipt), false),
        (pad_changed("other"), false),
        (Event::Resync {}, true),
    ];
    for (event, is_known) in events {
        let shown = format!("{event:?}");
        stage.input(Input::Announce(Box::new(event)));
        let Some(Effect::Announce(sent)) = stage.effects.last() else { panic!("it was announced") };
        assert_eq!(Subscriber::new(&phone, &[]).gets(&sent.audience), is_known, "{shown}");
    }
    assert_eq!(refused(&mut stage, &phone, super::stage::shutdown(false)), ErrorCode::Denied);
}

#[test]
fn n5_f11_the_audit_log_and_the_list_of_viewers_name_the_device() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("one"));
    let phone = within(Some("local"), Role::View);
    assert_eq!(refused(&mut stage, &phone, kill(run)), ErrorCode::Denied);
    let row = stage.audited().pop().expect("a refusal is written down");
    assert_eq!((row.verb, row.decision.as_str()), ("kill", "denied"));
    assert_eq!(row.via.as_deref(), Some("\"Ana's phone\""));
    assert!(row.detail.contains("limited to view in local"), "{}", row.detail);
    // A process has no label, whatever its hello says.
    let labelled = Principal { caller: Caller::Process(run), ..phone.clone() };
    assert_eq!(refused(&mut stage, &labelled, kill(run)), ErrorCode::Denied);
    assert_eq!(stage.audited().pop().unwrap().via, None);
    let (size, label) = (proto::Size { cols: 80, rows: 24 }, phone.label.clone());
    let by = Caller::Person;
    let viewer = ViewerId(7);
    let joined = RunFact::ViewerJoined { viewer, size, read_only: true, mirrors: true, by, label, pid: None };
    stage.fact(run, joined);
    let ticket: Ticket = stage.ask_within(phone, Command::Viewers);
    let Reply::Viewers(viewers) = stage.reply(ticket) else { panic!("no viewers") };
    assert_eq!(viewers[0].by, "person via \"Ana's phone\"");
    assert_eq!(stage.view(run.process).unwrap().kind, Kind::Command);
}

//! B7: ways around a person's word. Each case changes one thing after a command was trusted; all of them must end in a
//! refusal or in a new question, and what changes nothing must not.

mod cases;
mod yard;

use cases::{HARMLESS, LISTED, REFUSED, STEALTHY};
use yard::{Verdict, Yard};

#[test]
fn b7_every_way_around_a_trusted_command_is_asked_about_anew() {
    assert!(STEALTHY.len() >= 60, "{}", STEALTHY.len());
    let mut refused = Vec::new();
    for (name, begin, change) in STEALTHY {
        let yard = Yard::new();
        let mut spawn = begin(&yard);
        let trusted = yard.trusted(&spawn);
        change(&yard, &mut spawn);
        match yard.verdict(spawn, &trusted) {
            Verdict::Refused => refused.push(*name),
            verdict => assert_eq!(verdict, Verdict::Asked, "{name}"),
        }
    }
    assert_eq!(refused, REFUSED, "what needs no question because it cannot be");
}

#[test]
fn b7_a_trusted_list_covers_what_it_says_and_no_more() {
    for (name, begin, change) in LISTED {
        let yard = Yard::new();
        let mut spawn = begin(&yard);
        let trusted = yard.trusted_list();
        assert_eq!(yard.verdict(spawn.clone(), &trusted), Verdict::Allowed, "{name}: it is listed at first");
        change(&yard, &mut spawn);
        assert_eq!(yard.verdict(spawn, &trusted), Verdict::Asked, "{name}");
    }
}

#[test]
fn what_does_not_touch_a_trusted_command_asks_nobody() {
    for (name, begin, change) in HARMLESS {
        let yard = Yard::new();
        let mut spawn = begin(&yard);
        let trusted = yard.trusted(&spawn);
        change(&yard, &mut spawn);
        assert_eq!(yard.verdict(spawn, &trusted), Verdict::Allowed, "{name}");
    }
}

#[test]
fn b7_a_list_that_nobody_trusted_covers_nothing() {
    let yard = Yard::new();
    assert_eq!(yard.verdict(yard.free(&["tool", "check"]), &[]), Verdict::Asked);
    yard.edit("free = \"allow\"", "free = \"deny\"");
    assert_eq!(yard.verdict(yard.free(&["tool", "check"]), &yard.trusted_list()), Verdict::Denied);
    let preset = yard.preset("test");
    let trusted = yard.trusted(&preset);
    assert_eq!(yard.verdict(preset, &trusted), Verdict::Allowed, "a preset is no free command");
}

#[test]
fn b7_only_an_agent_as_its_manifest_has_it_needs_no_leave() {
    let yard = Yard::new();
    assert_eq!(yard.verdict(yard.agent(&["any"]), &[]), Verdict::Free);
    assert_eq!(yard.verdict(yard.agent(&["any", "--dangerous"]), &[]), Verdict::Asked);
    let mut with_env = yard.agent(&["any"]);
    with_env.env.insert("A".to_owned(), "b".to_owned());
    assert_eq!(yard.verdict(with_env, &[]), Verdict::Asked);
    let mut yes = yard.agent(&["any"]);
    yes.agent.permissions =
        Some(proto::request::PermissionDesk { timeout_ms: 1, on_timeout: proto::request::OnTimeout::Allow });
    assert_eq!(yard.verdict(yes, &[]), Verdict::Asked, "it would grant itself leave");
}

#[test]
fn b7_a_process_brings_no_environment_of_its_own() {
    let yard = Yard::new();
    let mut spawn = yard.agent(&["any"]);
    spawn.base_env = Some([("PATH".to_owned(), "/evil".to_owned())].into());
    assert_eq!(yard.judged(spawn).unwrap().spawn.base_env, None);
}

#[test]
fn b7_what_runs_is_what_was_judged_wherever_the_link_leads_by_then() {
    let yard = Yard::new();
    let mut spawn = yard.free(&["tool", "check"]);
    yard.link("web", "here");
    spawn.cwd = Some(yard.app.join("here").display().to_string());
    let order = yard.judged(spawn).unwrap();
    assert_eq!(order.spawn.cwd, Some(yard.app.join("web").display().to_string()));
}

#[test]
fn an_unknown_preset_and_a_missing_program_are_told_before_anybody_is_asked() {
    use proto::ErrorCode;
    let yard = Yard::new();
    let code = |spawn| yard.judged(spawn).map(|_| ()).unwrap_err().code;
    assert_eq!(code(yard.preset("none")), ErrorCode::NotFound);
    assert_eq!(code(yard.free(&["no-such-program"])), ErrorCode::SpawnFailed);
    let mut nowhere = yard.free(&["tool"]);
    nowhere.cwd = Some("/no/such/place".to_owned());
    assert_eq!(code(nowhere), ErrorCode::WorkdirGone);
    let mut relative = yard.free(&["tool"]);
    relative.cwd = Some("web".to_owned());
    assert_eq!(code(relative), ErrorCode::InvalidArgs);
    assert_eq!(code(yard.free(&["tool", &"x".repeat(20_000)])), ErrorCode::InvalidArgs);
}

#[test]
fn what_a_person_says_beside_a_preset_wins() {
    let yard = Yard::new();
    let mut spawn = yard.preset("test");
    spawn.env.insert("MODE".to_owned(), "mine".to_owned());
    spawn.env.insert("MORE".to_owned(), "1".to_owned());
    spawn.argv = vec!["other".to_owned()];
    let order = super::persons(spawn, &yard.config).unwrap();
    assert_eq!((order.spawn.argv, order.spawn.env["MODE"].as_str()), (vec!["other".to_owned()], "mine"));
    assert_eq!((order.spawn.env["MORE"].as_str(), order.warrant), ("1", None));
    assert_eq!(order.spawn.cwd, Some(yard.app.join("web").display().to_string()));
    assert_eq!(order.project.path, yard.app.display().to_string());
    let plain = super::persons(yard.preset("test"), &yard.config).unwrap().spawn;
    assert_eq!((plain.argv[0].as_str(), plain.preset.as_deref()), ("./run.sh", Some("test")));
}

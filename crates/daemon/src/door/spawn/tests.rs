//! B7: ways around a person's word. Each case changes one thing after a command was trusted; all of them must end in a
//! refusal or in a new question, and what changes nothing must not.

mod cases;
mod yard;

use std::path::{Path, PathBuf};

use proto::request::Spawn;

use cases::{HARMLESS, LISTED, REFUSED, STEALTHY};
use yard::{Verdict, Yard, relink};

use crate::presets::Shelf;
use crate::project::Site;

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

#[test]
fn m4d_a_manifest_that_is_not_built_in_needs_leave_and_any_change_asks_again() {
    type Change = fn(&Yard);
    let changes: [(&str, Change); 4] = [
        ("a comment", |yard| yard.manifest("mine", "argv = ['tool', 'serve'] # as before\n")),
        ("another word", |yard| yard.manifest("mine", "argv = ['tool', 'steal']\n")),
        ("another program behind the name", |yard| relink(Path::new("other-tool"), &yard.bin.join("tool"))),
        ("a program earlier on the search path", |yard| {
            yard.program(&yard.top().join("early/tool"), "\x7fELF early");
        }),
    ];
    for (name, change) in changes {
        let yard = Yard::new();
        yard.manifest("mine", "argv = ['tool', 'serve']\n");
        let spawn = yard.agent(&["mine"]);
        assert_eq!(yard.verdict(spawn.clone(), &[]), Verdict::Asked, "{name}");
        let trusted = yard.trusted(&spawn);
        assert_eq!(yard.verdict(spawn.clone(), &trusted), Verdict::Allowed, "{name}");
        let mut below = spawn.clone();
        below.cwd = Some(yard.app.join("web").display().to_string());
        assert_eq!(yard.verdict(below, &trusted), Verdict::Allowed, "anywhere in the project");
        let words = yard.agent(&["mine", "--more"]);
        assert_eq!(yard.verdict(words, &trusted), Verdict::Asked, "words of the process are more");
        change(&yard);
        assert_eq!(yard.verdict(spawn, &trusted), Verdict::Asked, "{name}");
    }
}

#[test]
fn m4d_no_file_changes_a_built_in_manifest_for_processes_unless_a_person_trusts_it() {
    for place in ["../config/agents/generic.toml", ".quarterdeck/agents/generic.toml"] {
        let yard = Yard::new();
        let spawn = yard.agent(&["generic"]);
        assert_eq!(yard.verdict(spawn.clone(), &[]), Verdict::Free);
        yard.write(place, "quota = []\n");
        assert_eq!(yard.verdict(spawn.clone(), &[]), Verdict::Asked, "{place}");
        let order = yard.judged(spawn.clone()).unwrap();
        let warrant = order.warrant.unwrap();
        assert_eq!(warrant.agent.as_deref(), Some("generic"));
        assert!(warrant.command.contains("generic.toml"), "{}", warrant.command);
        assert_eq!(yard.verdict(spawn, &[warrant.digest]), Verdict::Allowed, "{place}");
    }
}

/// A second project beside the first, with the same file.
fn other_project(yard: &Yard) -> PathBuf {
    let other = yard.top().join("other");
    std::fs::create_dir_all(other.join("web")).unwrap();
    let text = std::fs::read_to_string(yard.app.join(".quarterdeck.toml")).unwrap();
    std::fs::write(other.join(".quarterdeck.toml"), text).unwrap();
    yard.program(&other.join("web/run.sh"), "#!/bin/sh\necho tests\n");
    other
}

fn there(mut spawn: Spawn, dir: &Path) -> Spawn {
    spawn.cwd = Some(dir.display().to_string());
    spawn
}

#[test]
fn m4e_in_another_project_neither_its_trust_nor_ones_own_counts() {
    let yard = Yard::new();
    let other = other_project(&yard);
    let site = Site::of(&other).unwrap();
    let path = format!("{}:{}", yard.top().join("early").display(), yard.bin.display());
    let list = Shelf::read(&site, &yard.config).policy.digest(&site, Some(&path));
    for own in [yard.free(&["tool", "check"]), yard.free(&["tool", "free"]), yard.preset("test")] {
        let spawn = there(own.clone(), &other);
        let digest_of = |from: &Path| yard.judged_from(from, spawn.clone()).unwrap().warrant.unwrap().digest;
        let of_all = [list.clone(), digest_of(&other), yard.trusted(&own)[0].clone()];
        let trusted = [&of_all[..], &yard.trusted_list()].concat();
        assert_eq!(yard.verdict_from(&other, spawn.clone(), &trusted), Verdict::Allowed, "its own process");
        assert_eq!(yard.verdict_from(&yard.app, spawn.clone(), &trusted), Verdict::Asked);
        let exactly = [digest_of(&yard.app)];
        assert_eq!(yard.verdict_from(&yard.app, spawn.clone(), &exactly), Verdict::Allowed);
        assert_eq!(yard.verdict_from(&other, spawn.clone(), &exactly), Verdict::Asked, "nor back again");
    }
}

#[test]
fn m4e_a_rule_that_forbids_counts_in_both_projects() {
    for is_own in [true, false] {
        let yard = Yard::new();
        let other = other_project(&yard);
        let denying = if is_own { &yard.app } else { &other };
        let file = denying.join(".quarterdeck.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("free = \"allow\"", "free = \"deny\"")).unwrap();
        let spawn = there(yard.free(&["tool", "check"]), &other);
        assert_eq!(yard.verdict_from(&yard.app, spawn, &[]), Verdict::Denied, "is_own: {is_own}");
    }
}

#[test]
fn m4e_an_agent_in_another_project_is_asked_about_and_one_below_ones_own_is_not() {
    let yard = Yard::new();
    let other = other_project(&yard);
    std::fs::create_dir_all(yard.app.join("part/.git")).unwrap();
    relink(&other, &yard.app.join("linked"));
    let verdict = |dir: &Path| yard.verdict_from(&yard.app, there(yard.agent(&["generic"]), dir), &[]);
    for (dir, expected) in [
        (yard.app.clone(), Verdict::Free),
        (yard.app.join("web"), Verdict::Free),
        (other.clone(), Verdict::Asked),
        (other.join("web"), Verdict::Asked),
        (yard.app.join("linked"), Verdict::Asked),
        (yard.app.join("part"), Verdict::Asked),
        (yard.top(), Verdict::Asked),
    ] {
        assert_eq!(verdict(&dir), expected, "{}", dir.display());
    }
    let plain = yard.top().join("elsewhere");
    let below = plain.join("below");
    std::fs::create_dir(&below).unwrap();
    let spawn = there(yard.agent(&["generic"]), &below);
    assert_eq!(yard.verdict_from(&plain, spawn, &[]), Verdict::Free, "a part of a project without a mark");
}

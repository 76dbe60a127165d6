//! B7: ways around a person's approval. Each case changes one thing after a command was trusted; all of them
//! must end in a refusal or in a new question, and harmless changes must not.

mod cases;
mod fixture;

use std::path::{Path, PathBuf};

use proto::request::Spawn;

use cases::{HARMLESS, LISTED, REFUSED, STEALTHY};
use fixture::{SpawnFixture, SpawnRuling, relink};

use crate::presets::PresetSet;
use crate::project::ProjectDir;

#[test]
fn b7_every_way_around_a_trusted_command_is_asked_about_anew() {
    assert!(STEALTHY.len() >= 60, "{}", STEALTHY.len());
    let mut refused = Vec::new();
    for (name, begin, change) in STEALTHY {
        let fixture = SpawnFixture::new();
        let mut spawn = begin(&fixture);
        let trusted = fixture.trusted(&spawn);
        change(&fixture, &mut spawn);
        match fixture.verdict(spawn, &trusted) {
            SpawnRuling::Refused => refused.push(*name),
            verdict => assert_eq!(verdict, SpawnRuling::Asked, "{name}"),
        }
    }
    assert_eq!(refused, REFUSED, "what needs no question because it cannot be");
}

#[test]
fn b7_a_trusted_list_covers_what_it_says_and_no_more() {
    for (name, begin, change) in LISTED {
        let fixture = SpawnFixture::new();
        let mut spawn = begin(&fixture);
        let trusted = fixture.trusted_list();
        assert_eq!(
            fixture.verdict(spawn.clone(), &trusted),
            SpawnRuling::Allowed,
            "{name}: it is listed at first"
        );
        change(&fixture, &mut spawn);
        assert_eq!(fixture.verdict(spawn, &trusted), SpawnRuling::Asked, "{name}");
    }
}

#[test]
fn what_does_not_touch_a_trusted_command_asks_nobody() {
    for (name, begin, change) in HARMLESS {
        let fixture = SpawnFixture::new();
        let mut spawn = begin(&fixture);
        let trusted = fixture.trusted(&spawn);
        change(&fixture, &mut spawn);
        assert_eq!(fixture.verdict(spawn, &trusted), SpawnRuling::Allowed, "{name}");
    }
}

#[test]
fn b7_a_list_that_nobody_trusted_covers_nothing() {
    let fixture = SpawnFixture::new();
    assert_eq!(fixture.verdict(fixture.free(&["tool", "check"]), &[]), SpawnRuling::Asked);
    fixture.edit("free = \"allow\"", "free = \"deny\"");
    assert_eq!(
        fixture.verdict(fixture.free(&["tool", "check"]), &fixture.trusted_list()),
        SpawnRuling::Denied
    );
    let preset = fixture.preset("test");
    let trusted = fixture.trusted(&preset);
    assert_eq!(fixture.verdict(preset, &trusted), SpawnRuling::Allowed, "a preset is no free command");
}

#[test]
fn b7_only_an_agent_as_its_manifest_has_it_needs_no_leave() {
    let fixture = SpawnFixture::new();
    assert_eq!(fixture.verdict(fixture.agent(&["any"]), &[]), SpawnRuling::CommandRule);
    assert_eq!(fixture.verdict(fixture.agent(&["any", "--dangerous"]), &[]), SpawnRuling::Asked);
    let mut with_env = fixture.agent(&["any"]);
    with_env.env.insert("A".to_owned(), "b".to_owned());
    assert_eq!(fixture.verdict(with_env, &[]), SpawnRuling::Asked);
    let mut yes = fixture.agent(&["any"]);
    yes.agent.permissions =
        Some(proto::request::PermissionWait { timeout_ms: 1, on_timeout: proto::request::OnTimeout::Allow });
    assert_eq!(fixture.verdict(yes, &[]), SpawnRuling::Asked, "it would grant itself leave");
}

#[test]
fn b7_a_process_brings_no_environment_of_its_own() {
    let fixture = SpawnFixture::new();
    let mut spawn = fixture.agent(&["any"]);
    spawn.base_env = Some([("PATH".to_owned(), "/evil".to_owned())].into());
    assert_eq!(fixture.judged(spawn).unwrap().spawn.base_env, None);
}

#[test]
fn b7_what_runs_is_what_was_judged_wherever_the_link_leads_by_then() {
    let fixture = SpawnFixture::new();
    let mut spawn = fixture.free(&["tool", "check"]);
    fixture.link("web", "here");
    spawn.cwd = Some(fixture.app.join("here").display().to_string());
    let order = fixture.judged(spawn).unwrap();
    assert_eq!(order.spawn.cwd, Some(fixture.app.join("web").display().to_string()));
}

#[test]
fn an_unknown_preset_and_a_missing_program_are_told_before_anybody_is_asked() {
    use proto::ErrorCode;
    let fixture = SpawnFixture::new();
    let code = |spawn| fixture.judged(spawn).map(|_| ()).unwrap_err().code;
    assert_eq!(code(fixture.preset("none")), ErrorCode::NotFound);
    assert_eq!(code(fixture.free(&["no-such-program"])), ErrorCode::SpawnFailed);
    let mut nowhere = fixture.free(&["tool"]);
    nowhere.cwd = Some("/no/such/place".to_owned());
    assert_eq!(code(nowhere), ErrorCode::WorkdirGone);
    let mut relative = fixture.free(&["tool"]);
    relative.cwd = Some("web".to_owned());
    assert_eq!(code(relative), ErrorCode::InvalidArgs);
    assert_eq!(code(fixture.free(&["tool", &"x".repeat(20_000)])), ErrorCode::InvalidArgs);
}

#[test]
fn what_a_person_says_beside_a_preset_wins() {
    let fixture = SpawnFixture::new();
    let mut spawn = fixture.preset("test");
    spawn.env.insert("MODE".to_owned(), "mine".to_owned());
    spawn.env.insert("MORE".to_owned(), "1".to_owned());
    spawn.argv = vec!["other".to_owned()];
    let order = super::persons(spawn, &fixture.config).unwrap();
    assert_eq!((order.spawn.argv, order.spawn.env["MODE"].as_str()), (vec!["other".to_owned()], "mine"));
    assert_eq!((order.spawn.env["MORE"].as_str(), order.trust_subject), ("1", None));
    assert_eq!(order.spawn.cwd, Some(fixture.app.join("web").display().to_string()));
    assert_eq!(order.project.path, fixture.app.display().to_string());
    let plain = super::persons(fixture.preset("test"), &fixture.config).unwrap().spawn;
    assert_eq!((plain.argv[0].as_str(), plain.preset.as_deref()), ("./run.sh", Some("test")));
}

#[test]
fn m4d_a_manifest_that_is_not_built_in_needs_leave_and_any_change_asks_again() {
    type Change = fn(&SpawnFixture);
    let changes: [(&str, Change); 4] = [
        ("a comment", |fixture| fixture.manifest("mine", "argv = ['tool', 'serve'] # as before\n")),
        ("another word", |fixture| fixture.manifest("mine", "argv = ['tool', 'steal']\n")),
        ("another program behind the name", |fixture| {
            relink(Path::new("other-tool"), &fixture.bin.join("tool"))
        }),
        ("a program earlier on the search path", |fixture| {
            fixture.program(&fixture.top().join("early/tool"), "\x7fELF early");
        }),
    ];
    for (name, change) in changes {
        let fixture = SpawnFixture::new();
        fixture.manifest("mine", "argv = ['tool', 'serve']\n");
        let spawn = fixture.agent(&["mine"]);
        assert_eq!(fixture.verdict(spawn.clone(), &[]), SpawnRuling::Asked, "{name}");
        let trusted = fixture.trusted(&spawn);
        assert_eq!(fixture.verdict(spawn.clone(), &trusted), SpawnRuling::Allowed, "{name}");
        let mut below = spawn.clone();
        below.cwd = Some(fixture.app.join("web").display().to_string());
        assert_eq!(fixture.verdict(below, &trusted), SpawnRuling::Allowed, "anywhere in the project");
        let words = fixture.agent(&["mine", "--more"]);
        assert_eq!(fixture.verdict(words, &trusted), SpawnRuling::Asked, "words of the process are more");
        change(&fixture);
        assert_eq!(fixture.verdict(spawn, &trusted), SpawnRuling::Asked, "{name}");
    }
}

#[test]
fn m4d_no_file_changes_a_built_in_manifest_for_processes_unless_a_person_trusts_it() {
    for place in ["../config/agents/generic.toml", ".quarterdeck/agents/generic.toml"] {
        let fixture = SpawnFixture::new();
        let spawn = fixture.agent(&["generic"]);
        assert_eq!(fixture.verdict(spawn.clone(), &[]), SpawnRuling::CommandRule);
        fixture.write(place, "quota = []\n");
        assert_eq!(fixture.verdict(spawn.clone(), &[]), SpawnRuling::Asked, "{place}");
        let order = fixture.judged(spawn.clone()).unwrap();
        let trust_subject = order.trust_subject.unwrap();
        assert_eq!(trust_subject.agent.as_deref(), Some("generic"));
        assert!(trust_subject.command.contains("generic.toml"), "{}", trust_subject.command);
        assert_eq!(fixture.verdict(spawn, &[trust_subject.digest]), SpawnRuling::Allowed, "{place}");
    }
}

/// Returns a second project beside the first, with the same file.
fn other_project(fixture: &SpawnFixture) -> PathBuf {
    let other = fixture.top().join("other");
    std::fs::create_dir_all(other.join("web")).unwrap();
    let text = std::fs::read_to_string(fixture.app.join(".quarterdeck.toml")).unwrap();
    std::fs::write(other.join(".quarterdeck.toml"), text).unwrap();
    fixture.program(&other.join("web/run.sh"), "#!/bin/sh\necho tests\n");
    other
}

fn there(mut spawn: Spawn, dir: &Path) -> Spawn {
    spawn.cwd = Some(dir.display().to_string());
    spawn
}

#[test]
fn m4e_in_another_project_neither_its_trust_nor_ones_own_counts() {
    let fixture = SpawnFixture::new();
    let other = other_project(&fixture);
    let project_dir = ProjectDir::of(&other).unwrap();
    let path = format!("{}:{}", fixture.top().join("early").display(), fixture.bin.display());
    let list = PresetSet::read(&project_dir, &fixture.config).policy.digest(&project_dir, Some(&path));
    for own in [fixture.free(&["tool", "check"]), fixture.free(&["tool", "free"]), fixture.preset("test")] {
        let spawn = there(own.clone(), &other);
        let digest_of =
            |from: &Path| fixture.judged_from(from, spawn.clone()).unwrap().trust_subject.unwrap().digest;
        let of_all = [list.clone(), digest_of(&other), fixture.trusted(&own)[0].clone()];
        let trusted = [&of_all[..], &fixture.trusted_list()].concat();
        assert_eq!(
            fixture.verdict_from(&other, spawn.clone(), &trusted),
            SpawnRuling::Allowed,
            "its own process"
        );
        assert_eq!(fixture.verdict_from(&fixture.app, spawn.clone(), &trusted), SpawnRuling::Asked);
        let exactly = [digest_of(&fixture.app)];
        assert_eq!(fixture.verdict_from(&fixture.app, spawn.clone(), &exactly), SpawnRuling::Allowed);
        assert_eq!(
            fixture.verdict_from(&other, spawn.clone(), &exactly),
            SpawnRuling::Asked,
            "nor back again"
        );
    }
}

#[test]
fn m4e_a_rule_that_forbids_counts_in_both_projects() {
    for is_own in [true, false] {
        let fixture = SpawnFixture::new();
        let other = other_project(&fixture);
        let denying = if is_own { &fixture.app } else { &other };
        let file = denying.join(".quarterdeck.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("free = \"allow\"", "free = \"deny\"")).unwrap();
        let spawn = there(fixture.free(&["tool", "check"]), &other);
        assert_eq!(fixture.verdict_from(&fixture.app, spawn, &[]), SpawnRuling::Denied, "is_own: {is_own}");
    }
}

#[test]
fn m4e_an_agent_in_another_project_is_asked_about_and_one_below_ones_own_is_not() {
    let fixture = SpawnFixture::new();
    let other = other_project(&fixture);
    std::fs::create_dir_all(fixture.app.join("part/.git")).unwrap();
    relink(&other, &fixture.app.join("linked"));
    let verdict =
        |dir: &Path| fixture.verdict_from(&fixture.app, there(fixture.agent(&["generic"]), dir), &[]);
    for (dir, expected) in [
        (fixture.app.clone(), SpawnRuling::CommandRule),
        (fixture.app.join("web"), SpawnRuling::CommandRule),
        (other.clone(), SpawnRuling::Asked),
        (other.join("web"), SpawnRuling::Asked),
        (fixture.app.join("linked"), SpawnRuling::Asked),
        (fixture.app.join("part"), SpawnRuling::Asked),
        (fixture.top(), SpawnRuling::Asked),
    ] {
        assert_eq!(verdict(&dir), expected, "{}", dir.display());
    }
    let plain = fixture.top().join("elsewhere");
    let below = plain.join("below");
    std::fs::create_dir(&below).unwrap();
    let spawn = there(fixture.agent(&["generic"]), &below);
    assert_eq!(
        fixture.verdict_from(&plain, spawn, &[]),
        SpawnRuling::CommandRule,
        "a part of a project without a mark"
    );
}

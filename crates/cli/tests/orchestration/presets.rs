//! Presets as people and processes see them.

use proto::presets::PresetList;
use proto::request::{Empty, Presets, Spawn, Trust, TrustWhat};
use proto::{ErrorCode, Reply, Request};
use testkit::MarkedDaemon;

use crate::inside::Inside;
use crate::{ask, items, project};

const FILE: &str = "[preset.hello]\nargv = [\"sh\", \"-c\", \"echo $WORD in $(pwd); exec sleep 1000000\"]\n\
                    working_dir = \"web\"\nenv = { WORD = \"salut\" }\n\
                    [preset.typo]\nargv = [\"true\"]\nagrv = 1\n";

fn list(stage: &MarkedDaemon, dir: &std::path::Path) -> PresetList {
    let request = Presets { project: Some(dir.display().to_string()), path: None };
    match ask(stage, Request::Presets(request)).unwrap() {
        Reply::Presets(list) => list,
        other => stage.fail(&format!("presets was answered with {other:?}")),
    }
}

#[test]
fn presets_are_listed_with_their_origin_their_faults_and_whether_they_are_trusted() {
    let (stage, app) = project(FILE);
    let config = stage.dirs().config;
    std::fs::write(
        config.join("presets.toml"),
        "[preset.hello]\nargv = [\"x\"]\n[preset.mine]\nshell = \"true\"\n",
    )
    .unwrap();
    let seen = list(&stage, &app.join("web"));
    assert_eq!(seen.project.path, app.display().to_string());
    let origins: Vec<(&str, bool)> = seen
        .presets
        .iter()
        .map(|preset| (preset.name.as_str(), preset.origin.starts_with(&seen.project.path)))
        .collect();
    assert_eq!(origins, [("hello", true), ("mine", false)]);
    assert!(
        seen.faults.len() == 1 && seen.faults[0].contains(".quarterdeck.toml, line 7"),
        "{:?}",
        seen.faults
    );
    assert!(seen.presets.iter().all(|preset| !preset.trusted));
    let trust =
        Trust { project: Some(seen.project.path), what: TrustWhat::Preset("hello".to_owned()), path: None };
    let Reply::Trust(trusted) = ask(&stage, Request::Trust(trust)).unwrap() else { panic!("no trust") };
    assert!(trusted.command.contains("salut") && trusted.digest.len() == 64, "{trusted:?}");
    let is_trusted =
        |name: &str| list(&stage, &app).presets.iter().find(|preset| preset.name == name).unwrap().trusted;
    assert!(is_trusted("hello") && !is_trusted("mine"));
    let file = app.join(".quarterdeck.toml");
    std::fs::write(&file, FILE.replace("salut", "hallo")).unwrap();
    assert!(!is_trusted("hello"), "it is another one now");
}

#[test]
fn a_person_starts_a_preset_without_being_asked_and_may_add_to_it() {
    let (stage, app) = project(FILE);
    let request = |name: &str| Spawn {
        preset: Some("hello".to_owned()),
        argv: Vec::new(),
        cwd: Some(app.display().to_string()),
        ..stage.spec(name, Vec::new())
    };
    stage.spawn_as(request("one"));
    stage.wait_pattern("one", &format!("salut in {}/web", app.display()));
    let view = stage.process("one");
    assert_eq!((view.program.preset.as_deref(), view.program.project.len()), (Some("hello"), 16));
    let mut other = request("two");
    other.env.insert("WORD".to_owned(), "mine".to_owned());
    stage.spawn_as(other);
    stage.wait_pattern("two", "mine in");
    assert_eq!(items(&stage), []);
    let refused = stage
        .refusal(Request::Spawn(Box::new(Spawn { preset: Some("none".to_owned()), ..request("three") })));
    assert_eq!(refused.code, ErrorCode::NotFound);
}

#[test]
fn a_process_sees_its_own_projects_presets_and_no_others() {
    let (stage, app) = project(FILE);
    let mut inside = Inside::begin(&stage, "worker", &app.join("web"));
    let seen = inside.json("presets");
    assert_eq!(seen["presets"][0]["name"], "hello", "{seen}");
    let (code, told) = inside.refused("presets --project /");
    assert_eq!(code, "not_related", "{told}");
    let (code, told) = inside.refused("trust preset hello");
    assert!(matches!(code.as_str(), "denied" | "unauthorized"), "{told}");
    assert_eq!(ask(&stage, Request::Trusted(Empty {})).unwrap(), Reply::Trusted(Vec::new()));
    assert_eq!(items(&stage), []);
}

//! What an agent could have written and a person must therefore trust: manifests that are not built in, and
//! the content of another project than the agent's own.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use proto::Kind;
use proto::request::Spawn;
use testkit::MarkedDaemon;

use crate::inside::Inside;
use crate::script::trust_preset;
use crate::{answer, items, project};

const FILE: &str = "[preset.job]\nargv = [\"sleep\", \"1000000\"]\n";
const MINE: &str = "argv = [\"sleep\", \"1000000\"]\n";

/// Returns a daemon with a project, and a manifest in the user's configuration.
fn workshop() -> (MarkedDaemon, PathBuf) {
    let (stage, app) = project(FILE);
    manifest(&stage, MINE);
    (stage, app)
}

fn manifest(stage: &MarkedDaemon, text: &str) {
    let agents = stage.dirs().config.join("agents");
    DirBuilder::new().recursive(true).mode(0o700).create(&agents).unwrap();
    std::fs::write(agents.join("mine.toml"), text).unwrap();
}

/// Returns a second project with the same preset.
fn neighbour(app: &Path) -> PathBuf {
    let other = app.with_file_name("other");
    std::fs::create_dir_all(other.join("web")).unwrap();
    std::fs::write(other.join(".quarterdeck.toml"), FILE).unwrap();
    other
}

/// Returns the item of a refusal that waits for a person.
fn asked(inside: &mut Inside<'_>, arguments: &str) -> u64 {
    let (code, told) = inside.refused(arguments);
    assert_eq!(code, "needs_trust", "{arguments}: {told}");
    told["item"].as_u64().unwrap()
}

#[test]
fn m4d_an_agent_starts_a_manifest_of_ones_own_only_when_a_person_trusts_it_as_it_is() {
    let (stage, app) = workshop();
    let mut inside = Inside::begin(&stage, "worker", &app);
    let spawn = "spawn --kind agent mine --name";
    let item = asked(&mut inside, &format!("{spawn} kid"));
    let body = items(&stage)[0].body.clone();
    assert!(body.contains("runs: sleep 1000000") && body.contains("mine.toml"), "{body}");
    let persons = Spawn { kind: Kind::Agent, ..stage.spec("persons", vec!["mine".to_owned()]) };
    stage.spawn_as(persons);
    answer(&stage, item, "allow_once");
    inside.json(&format!("{spawn} once"));
    asked(&mut inside, &format!("{spawn} kid"));
    let dir = app.display().to_string();
    let granted = stage.json(&["trust", "--project", &dir, "agent", "mine"]);
    assert_eq!(granted["agent"], "mine", "{granted}");
    assert_eq!(items(&stage), [], "the question was answered by that");
    inside.json(&format!("{spawn} kid"));
    assert_eq!(stage.json(&["trust", "list"])[0]["agent"], "mine");

    manifest(&stage, "argv = [\"sleep\", \"999999\"]\n");
    asked(&mut inside, &format!("{spawn} other"));
    asked(&mut inside, "restart kid");
    assert_eq!(stage.process("kid").pid, None, "it did not start as something else");
    assert!(stage.qd(&["restart", "kid"]).status.success(), "a person needs no approval");
    manifest(&stage, MINE);
    inside.json(&format!("{spawn} third"));
    let digest = granted["digest"].as_str().unwrap().to_owned();
    stage.json(&["trust", "rm", &digest]);
    asked(&mut inside, &format!("{spawn} fourth"));
    asked(&mut inside, "restart third");
}

#[test]
fn m4d_a_manifest_that_was_overridden_later_is_asked_about() {
    let (stage, app) = workshop();
    let agents = stage.dirs().config.join("agents");
    let mut inside = Inside::begin(&stage, "worker", &app);
    // The built-in one names no program, which is the only reason not to start it.
    assert_ne!(inside.refused("spawn --kind agent generic").0, "needs_trust");
    std::fs::write(agents.join("generic.toml"), "argv = [\"sleep\", \"1000000\"]\n").unwrap();
    asked(&mut inside, "spawn --kind agent generic");
    let own = app.join(".quarterdeck/agents");
    std::fs::remove_file(agents.join("generic.toml")).unwrap();
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("generic.toml"), "quota = []\n").unwrap();
    asked(&mut inside, "spawn --kind agent generic");
}

#[test]
fn m4e_trust_in_another_project_is_not_the_callers() {
    let (stage, app) = workshop();
    let other = neighbour(&app);
    trust_preset(&stage, &other, "job");
    let dir = other.display().to_string();
    let mut native = Inside::begin(&stage, "native", &other);
    native.json("spawn --preset job --name theirs");
    let mut inside = Inside::begin(&stage, "worker", &app);
    let item = asked(&mut inside, &format!("spawn --preset job --cwd {dir}"));
    let body = items(&stage)[0].body.clone();
    let from = format!("asked for from the project: {}", app.display());
    assert!(body.contains(&from), "{body}");
    for arguments in [
        format!("spawn --cwd {dir}/web -- sleep 1000000"),
        format!("spawn --kind terminal --cwd {dir} -- sleep 1000000"),
        format!("spawn --kind agent generic --cwd {dir}"),
        format!("spawn --kind agent mine --cwd {dir}"),
    ] {
        asked(&mut inside, &arguments);
    }
    answer(&stage, item, "always");
    inside.json(&format!("spawn --preset job --cwd {dir} --name allowed"));
    trust_preset(&stage, &app, "job");
    inside.json("spawn --preset job --name own");
    // Trust for the one does not cover the other's processes.
    asked(&mut native, &format!("spawn --preset job --cwd {}", app.display()));
}

#[test]
fn m4e_rules_that_forbid_hold_wherever_the_command_would_run() {
    let (stage, app) = workshop();
    let other = neighbour(&app);
    let mut inside = Inside::begin(&stage, "worker", &app);
    let dir = other.display().to_string();
    asked(&mut inside, &format!("spawn --cwd {dir} -- sleep 1000000"));
    std::fs::write(app.join(".quarterdeck.toml"), "[policy]\nfree = \"deny\"\n").unwrap();
    for place in [app.display().to_string(), dir, "/".to_owned()] {
        let (code, told) = inside.refused(&format!("spawn --cwd {place} -- sleep 1000000"));
        assert_eq!(code, "denied", "{place}: {told}");
    }
}

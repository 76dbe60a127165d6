//! Names of processes that are started from presets: unique over all projects, and found by preset and project.

use proto::project::Project;
use proto::request::Spawn;
use proto::{ErrorCode, Failure};

use super::stage::{Stage, command};
use crate::{Command, Effect, RunFact, RunKey, SpawnOrder};

fn preset(name: Option<&str>, preset: &str) -> Spawn {
    let (name, preset) = (name.map(str::to_owned), Some(preset.to_owned()));
    Spawn { name, preset, ..command("") }
}

fn order(path: &str, spawn: Spawn) -> Command {
    let project = Project { key: format!("key of {path}"), path: path.to_owned() };
    Command::Spawn(Box::new(SpawnOrder { project, ..spawn.into() }))
}

/// Starts a preset in a project; returns the run and the name.
fn start(stage: &mut Stage, path: &str, spawn: Spawn) -> (RunKey, String) {
    stage.ask(order(path, spawn));
    let run = stage.starts().last().expect("nothing was started").run;
    stage.fact(run, RunFact::Started { pid: 100 });
    (run, stage.view(run.process).expect("it is listed").name.to_string())
}

fn refused(stage: &mut Stage, path: &str, spawn: Spawn) -> Failure {
    let ticket = stage.ask(order(path, spawn));
    stage.failure(ticket)
}

#[test]
fn presets_of_two_projects_with_one_name_are_two_processes_with_two_names() {
    let mut stage = Stage::new();
    let (_, name) = start(&mut stage, "/src/acme", preset(Some("dev"), "dev"));
    assert_eq!(name, "dev");
    let (_, name) = start(&mut stage, "/src/shop", preset(Some("dev"), "dev"));
    assert_eq!(name, "shop-dev");
    let (_, name) = start(&mut stage, "/other/shop", preset(None, "dev"));
    assert_eq!(name, "dev-2");
    // A directory whose name no process may have.
    let (_, name) = start(&mut stage, "/src/my shop", preset(None, "dev"));
    assert_eq!(name, "dev-3");
}

#[test]
fn a_preset_that_runs_already_is_named_instead_of_started_again() {
    let mut stage = Stage::new();
    start(&mut stage, "/src/acme", preset(None, "dev"));
    start(&mut stage, "/src/shop", preset(None, "dev"));
    for name in [None, Some("dev")] {
        let failure = refused(&mut stage, "/src/shop", preset(name, "dev"));
        assert_eq!(failure.code, ErrorCode::Conflict);
        assert_eq!(failure.message, "preset dev runs already, as shop-dev");
        assert!(failure.hint.unwrap_or_default().contains("qd attach shop-dev"));
    }
    let failure = refused(&mut stage, "/src/acme", preset(None, "dev"));
    assert_eq!(failure.message, "preset dev runs already");
    // A name of its own says that a second one is meant, and a name that is taken stays refused.
    assert_eq!(start(&mut stage, "/src/shop", preset(Some("second"), "dev")).1, "second");
    let failure = refused(&mut stage, "/src/shop", preset(Some("second"), "dev"));
    assert_eq!(failure.message, "there is a process named second already");
}

#[test]
fn a_preset_that_has_ended_may_run_beside_its_old_entry() {
    let mut stage = Stage::new();
    let (run, _) = start(&mut stage, "/src/acme", preset(None, "check"));
    stage.exit(run, 0);
    assert_eq!(start(&mut stage, "/src/acme", preset(None, "check")).1, "check-2");
    // The longest name has no room for a number.
    let long = "x".repeat(40);
    assert_eq!(start(&mut stage, "/src/acme", preset(None, &long)).1, long);
    assert_eq!(start(&mut stage, "/src/shop", preset(None, &long)).1, "command-1");
    assert!(
        stage.effects.iter().all(|effect| !matches!(effect, Effect::Reply { result, .. } if result.is_err()))
    );
}

//! The content on the disk when an agent restarts something: what was approved, or a person is asked.

use std::path::Path;

use proto::agent::ItemKind;
use proto::request::{Distrust, Restart, Trust, TrustWhat};
use proto::{Reply, Request, Status};
use testkit::MarkedDaemon;
use testkit::marked_daemon::target;

use crate::inside::Inside;
use crate::script::{script, trust_preset};
use crate::{answer, ask, items, project};

const FILE: &str = "[preset.job]\nargv = [\"./job.sh\"]\nworking_dir = \"web\"\n\
                    [preset.given]\nargv = [\"sh\", \"web/job.sh\"]\n\
                    [preset.loop]\nargv = [\"./loop.sh\"]\nworking_dir = \"web\"\nauto_restart = true\n";
const JOB: &str = "#!/bin/sh\nexec sleep 1000000\n";
const LOOP: &str = "#!/bin/sh\necho reads\nread line\nexit 1\n";

/// Returns the same with other content, which leaves a trace.
fn evil(app: &Path) -> String {
    format!("#!/bin/sh\ntouch '{}'/ran\nexec sleep 1000000\n", app.display())
}

fn workshop() -> (MarkedDaemon, std::path::PathBuf) {
    let (stage, app) = project(FILE);
    script(&app.join("web/job.sh"), JOB);
    script(&app.join("web/loop.sh"), LOOP);
    for name in ["job", "given", "loop"] {
        trust_preset(&stage, &app, name);
    }
    (stage, app)
}

/// Returns the item that a refused restart opened.
fn asked(inside: &mut Inside<'_>, name: &str) -> u64 {
    let (code, told) = inside.refused(&format!("restart {name}"));
    assert_eq!(code, "needs_trust", "{told}");
    told["item"].as_u64().unwrap()
}

#[test]
fn b7_an_edited_script_is_not_started_again_by_an_agent_without_a_question() {
    let (stage, app) = workshop();
    let mut inside = Inside::begin(&stage, "worker", &app);
    for preset in ["job", "given"] {
        script(&app.join("web/job.sh"), JOB);
        inside.json(&format!("spawn --preset {preset} --name {preset}"));
        inside.json(&format!("restart {preset}"));
        script(&app.join("web/job.sh"), &evil(&app));
        let item = asked(&mut inside, preset);
        let open = items(&stage);
        assert_eq!((open.len(), open[0].item, open[0].kind), (1, item, ItemKind::Trust));
        assert_eq!(open[0].title, format!("start {preset}"));
        assert!(open[0].body.contains("job.sh") && open[0].body.contains("changed"), "{}", open[0].body);
        assert_eq!(asked(&mut inside, preset), item, "the same question is asked once");
        assert_eq!(stage.process(preset).status, Status::Failed);
        assert!(!app.join("ran").exists());
        answer(&stage, item, "deny");
        assert_eq!(inside.refused(&format!("restart {preset}")).0, "denied");
        // What was approved still is.
        script(&app.join("web/job.sh"), JOB);
        inside.json(&format!("restart {preset}"));
        assert!(!app.join("ran").exists());
    }
    assert_eq!(items(&stage), []);
}

#[test]
fn b7_leave_for_the_edited_script_is_for_that_script() {
    let (stage, app) = workshop();
    let mut inside = Inside::begin(&stage, "worker", &app);
    inside.json("spawn --preset job --name job");
    script(&app.join("web/job.sh"), &evil(&app));
    let item = asked(&mut inside, "job");
    answer(&stage, item, "allow_once");
    inside.json("restart job");
    testkit::process_scan::eventually("the edited script to run", || app.join("ran").exists().then_some(()));
    inside.json("restart job");
    script(&app.join("web/job.sh"), "#!/bin/sh\n# once more\nexec sleep 1000000\n");
    let item = asked(&mut inside, "job");
    stage.kill_9();
    drop(stage.client());
    let again = asked(&mut inside, "job");
    assert!(again > item, "the next daemon asks again and knows what was allowed");
    // Trusting the preset as it is now is trusting what the restart finds.
    trust_preset(&stage, &app, "job");
    inside.json("restart job");
}

#[test]
fn b7_a_directory_that_leads_elsewhere_by_now_is_asked_about() {
    let (stage, app) = workshop();
    let mut inside = Inside::begin(&stage, "worker", &app);
    let item = inside.refused("spawn --name plain --cwd web -- sleep 1000000").1["item"].as_u64().unwrap();
    answer(&stage, item, "always");
    inside.json("spawn --name plain --cwd web -- sleep 1000000");
    inside.json("restart plain");
    std::fs::rename(app.join("web"), app.join("old")).unwrap();
    std::fs::create_dir(app.join("other")).unwrap();
    std::os::unix::fs::symlink("other", app.join("web")).unwrap();
    asked(&mut inside, "plain");
}

#[test]
fn a_person_starts_an_edited_script_again_and_leaves_the_agents_leave_as_it_was() {
    let (stage, app) = workshop();
    let mut inside = Inside::begin(&stage, "worker", &app);
    inside.json("spawn --preset job --name job");
    script(&app.join("web/job.sh"), &evil(&app));
    let restarted =
        ask(&stage, Request::Restart(Restart { target: target("job"), ..Restart::default() })).unwrap();
    assert!(matches!(restarted, Reply::Spawned(_)), "{restarted:?}");
    testkit::process_scan::eventually("the edited script to run", || app.join("ran").exists().then_some(()));
    asked(&mut inside, "job");
}

#[test]
fn f10_an_edited_script_is_parked_instead_of_being_started_again_by_itself() {
    let (stage, app) = workshop();
    let mut inside = Inside::begin(&stage, "worker", &app);
    inside.json("spawn --preset loop --name loop");
    stage.type_text("loop", "go\r");
    stage.until_view("loop", |view| view.run.0 == 2 && view.status == Status::Running);
    // Its shell has opened the script by then: it runs what was checked.
    stage.wait_pattern("loop", "reads");
    script(&app.join("web/loop.sh"), &evil(&app));
    stage.type_text("loop", "go\r");
    stage.until_view("loop", |view| view.status == Status::Parked);
    let view = stage.process("loop");
    assert!(view.failure.is_some_and(|why| why.contains("changed")) && !app.join("ran").exists());
    asked(&mut inside, "loop");
}

#[test]
fn f10_what_a_projects_list_allowed_is_asked_about_when_the_list_is_trusted_no_longer() {
    let (stage, app) = project("[policy]\nfree = \"allow\"\nallow = [[\"sleep\", \"1000001\"]]\n");
    let request = Trust {
        project: Some(app.display().to_string()),
        what: TrustWhat::Policy(proto::request::Empty {}),
        path: None,
    };
    let Reply::Trust(list) = ask(&stage, Request::Trust(request)).unwrap() else { panic!("no trust") };
    let mut inside = Inside::begin(&stage, "worker", &app);
    inside.json("spawn --name listed -- sleep 1000001");
    inside.json("restart listed");
    ask(&stage, Request::Distrust(Distrust { digest: list.digest.clone() })).unwrap();
    let item = asked(&mut inside, "listed");
    assert_eq!(stage.process("listed").status, Status::Running, "it was not touched");
    answer(&stage, item, "always");
    let Reply::Trusted(all) = ask(&stage, Request::Trusted(proto::request::Empty {})).unwrap() else {
        panic!("no list")
    };
    assert!(all.len() == 1 && all[0].digest != list.digest, "the command is trusted, not the list: {all:?}");
    inside.json("restart listed");
}

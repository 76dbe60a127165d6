//! Trust: an agent starts exactly what a person approved, and only a person approves it.

use std::os::unix::fs::symlink;
use std::path::Path;

use proto::agent::ItemKind;
use proto::request::{Trust, TrustWhat};
use proto::{Reply, Request};
use testkit::MarkedDaemon;

use crate::inside::Inside;
use crate::script::{script, trust_preset};
use crate::{QD, answer, ask, items, project};

const FILE: &str = "[preset.job]\nargv = [\"./job.sh\"] # the job\nworking_dir = \"web\"\n\
                    [preset.other]\nargv = [\"sleep\", \"1000000\"]\n\
                    [preset.linked]\nargv = [\"sleep\", \"1000000\"]\nworking_dir = \"here\"\n";
const SCRIPT: &str = "#!/bin/sh\nexec sleep 1000000\n";

/// Returns a daemon, a project with a script, and a worker in it.
fn workshop() -> (MarkedDaemon, std::path::PathBuf) {
    let (stage, app) = project(FILE);
    script(&app.join("web/job.sh"), SCRIPT);
    symlink("web", app.join("here")).unwrap();
    std::fs::create_dir(app.join("docs")).unwrap();
    (stage, app)
}

fn edit(app: &Path, from: &str, to: &str) {
    let path = app.join(".quarterdeck.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from}");
    std::fs::write(path, text.replacen(from, to, 1)).unwrap();
}

/// Returns the item of a refusal that waits for a person.
fn asked(inside: &mut Inside<'_>, arguments: &str) -> u64 {
    let (code, told) = inside.refused(arguments);
    assert_eq!(code, "needs_trust", "{arguments}: {told}");
    told["item"].as_u64().unwrap()
}

#[test]
fn an_unknown_preset_is_not_found_before_anybody_is_asked() {
    let (stage, app) = workshop();
    let mut inside = Inside::begin(&stage, "worker", &app);
    assert_eq!(inside.refused("spawn --preset none").0, "not_found");
    assert_eq!(inside.refused("spawn -- no-such-program").0, "spawn_failed");
    assert_eq!(inside.refused("spawn --preset job --env A=b").0, "invalid_args");
    assert_eq!(items(&stage), []);
}

#[test]
fn a_persons_answer_decides_once_always_or_never() {
    let (stage, app) = workshop();
    let mut inside = Inside::begin(&stage, "worker", &app);
    let item = asked(&mut inside, "spawn --preset job");
    let open = items(&stage);
    assert_eq!((open.len(), open[0].item, open[0].kind), (1, item, ItemKind::Trust));
    assert!(open[0].body.contains("./job.sh") && open[0].body.contains("web"), "{}", open[0].body);
    assert_eq!(asked(&mut inside, "spawn --preset job"), item, "the same question is asked once");
    answer(&stage, item, "allow_once");
    inside.json("spawn --preset job --name first");
    assert_eq!(stage.process("first").parent, Some(stage.process("worker").id));
    let item = asked(&mut inside, "spawn --preset job");
    answer(&stage, item, "always");
    inside.json("spawn --preset job --name second");
    inside.json("spawn --preset job --name third");
    assert_eq!(items(&stage), []);
    let item = asked(&mut inside, "spawn -- sleep 999999");
    assert_eq!(items(&stage)[0].title, "start sleep 999999", "the rest stands in its body");
    answer(&stage, item, "deny");
    assert_eq!(inside.refused("spawn -- sleep 999999").0, "denied");
    assert_eq!(items(&stage), [], "a refused thing is not asked for again");
    asked(&mut inside, "spawn -- sleep 999998");
}

#[test]
fn questions_queue_and_each_answer_is_for_its_own() {
    let (stage, app) = workshop();
    let mut inside = Inside::begin(&stage, "worker", &app);
    let first = asked(&mut inside, "spawn --preset job");
    let second = asked(&mut inside, "spawn --preset other");
    let mut other = Inside::begin(&stage, "colleague", &app);
    let third = asked(&mut other, "spawn --preset other");
    assert_eq!(items(&stage).len(), 3);
    answer(&stage, second, "allow_once");
    inside.json("spawn --preset other --name mine");
    assert_eq!(asked(&mut other, "spawn --preset other"), third, "what one may, another does not");
    assert_eq!(asked(&mut inside, "spawn --preset job"), first);
    answer(&stage, first, "deny");
    assert_eq!(inside.refused("spawn --preset job").0, "denied");
    answer(&stage, third, "always");
    other.json("spawn --preset other --name theirs");
    inside.json("spawn --preset other --name ours");
}

#[test]
fn b7_only_a_person_answers() {
    let (stage, app) = workshop();
    let mut inside = Inside::begin(&stage, "worker", &app);
    let item = asked(&mut inside, "spawn --preset job");
    let mut other = Inside::begin(&stage, "colleague", &app);
    for inside in [&mut inside, &mut other] {
        let (code, told) = inside.refused(&format!("answer {item} always"));
        assert!(matches!(code.as_str(), "denied" | "not_related" | "unauthorized" | "not_found"), "{told}");
    }
    assert_eq!(asked(&mut inside, "spawn --preset job"), item);
    answer(&stage, item, "always");
    inside.json("spawn --preset job --name job");
}

#[test]
fn b7_ways_around_a_trusted_preset_are_asked_about_anew_through_the_socket() {
    let (stage, app) = workshop();
    for name in ["job", "other", "linked"] {
        trust_preset(&stage, &app, name);
    }
    let mut inside = Inside::begin(&stage, "worker", &app);
    let mut started = 0;
    let mut starts = |inside: &mut Inside<'_>, arguments: &str| {
        started += 1;
        inside.json(&format!("spawn --name n{started} {arguments}"));
    };
    starts(&mut inside, "--preset job");
    starts(&mut inside, "--preset linked");
    // Edits that do not touch it.
    edit(&app, "[preset.other]\nargv", "[preset.other]\n# more\nargv");
    starts(&mut inside, "--preset job");
    // Edits that do, and back again.
    asked(&mut inside, "spawn --preset other");
    edit(&app, "# the job", "# a job");
    asked(&mut inside, "spawn --preset job");
    edit(&app, "# a job", "# the job");
    starts(&mut inside, "--preset job");
    edit(&app, "[preset.job]", "[preset.work]");
    asked(&mut inside, "spawn --preset work");
    edit(&app, "[preset.work]", "[preset.job]");
    script(&app.join("web/job.sh"), "#!/bin/sh\n# evil\nexec sleep 1000000\n");
    asked(&mut inside, "spawn --preset job");
    std::fs::rename(app.join("web/job.sh"), app.join("docs/job.sh")).unwrap();
    script(&app.join("docs/job.sh"), SCRIPT);
    symlink("../docs/job.sh", app.join("web/job.sh")).unwrap();
    asked(&mut inside, "spawn --preset job");
    script(&app.join("web/job.sh"), SCRIPT);
    starts(&mut inside, "--preset job");
    std::fs::remove_file(app.join("here")).unwrap();
    symlink("docs", app.join("here")).unwrap();
    asked(&mut inside, "spawn --preset linked");
    let copy = stage.root().join("copy");
    std::fs::create_dir_all(copy.join("web")).unwrap();
    for file in [".quarterdeck.toml", "web/job.sh"] {
        std::fs::copy(app.join(file), copy.join(file)).unwrap();
    }
    asked(&mut inside, &format!("spawn --preset job --cwd '{}'", copy.display()));
    assert!(items(&stage).iter().all(|item| item.kind == ItemKind::Trust));
}

#[test]
fn b7_ways_around_trusted_words_are_asked_about_anew_through_the_socket() {
    let (stage, app) = workshop();
    let mut inside = Inside::begin(&stage, "worker", &app);
    let item = asked(&mut inside, "spawn -- sleep 1000000");
    answer(&stage, item, "always");
    inside.json("spawn --name plain -- sleep 1000000");
    let evil = stage.root().join("evil");
    std::fs::create_dir(&evil).unwrap();
    script(&evil.join("sleep"), "#!/bin/sh\ntouch \"$(dirname \"$0\")\"/ran\nexec /bin/sleep 1000000\n");
    for around in [
        "-- sleep '1000000 '",
        "-- sleep 1000000 ''",
        "-- Sleep 1000000",
        "-- sh -c 'sleep 1000000'",
        "-- env X=1 sleep 1000000",
        "-- timeout 5 sleep 1000000",
        "-- nice sleep 1000000",
        "-- find / -maxdepth 0 -exec sleep 1000000 ';'",
        "-- xargs sleep 1000000",
        "--kind terminal -- sleep 1000000",
        "--kind terminal",
        "--env LD_PRELOAD=/x.so -- sleep 1000000",
        "--env BASH_ENV=/x -- sleep 1000000",
        "--cwd docs -- sleep 1000000",
        "--auto-restart -- sleep 1000000",
    ] {
        let (code, told) = inside.refused(&format!("spawn {around}"));
        assert!(matches!(code.as_str(), "needs_trust" | "spawn_failed"), "{around}: {told}");
    }
    let line = format!("'{QD}' --json spawn --env PATH='{}' -- sleep 1000000", evil.display());
    assert_eq!(inside.refused_by(&line).0, "needs_trust");
    // A search path that the caller brings is not used at all.
    let line =
        format!("PATH='{}':\"$PATH\" '{QD}' --json spawn --name swapped -- sleep 1000000", evil.display());
    assert_eq!(inside.run(&line).0, 0);
    assert!(stage.process("swapped").pid.is_some() && !evil.join("ran").exists());
}

#[test]
fn b7_a_projects_list_counts_only_as_a_person_trusted_it() {
    let (stage, app) = workshop();
    let policy = "[policy]\nfree = \"allow\"\nallow = [[\"sleep\", \"1000001\"], [\"sh\", \"*\"]]\n";
    std::fs::write(app.join(".quarterdeck.toml"), policy).unwrap();
    let mut inside = Inside::begin(&stage, "worker", &app);
    asked(&mut inside, "spawn -- sleep 1000001");
    let project = Some(app.display().to_string());
    let request = Trust { project, what: TrustWhat::Policy(proto::request::Empty {}), path: None };
    let Reply::Trust(trusted) = ask(&stage, Request::Trust(request)).unwrap() else { panic!("no trust") };
    assert!(trusted.command.contains("sleep 1000001") && !trusted.command.contains("sh *"), "{trusted:?}");
    inside.json("spawn --name listed -- sleep 1000001");
    asked(&mut inside, "spawn -- sleep 1000002");
    asked(&mut inside, "spawn -- sh -c 'sleep 1000000'");
    std::fs::write(app.join(".quarterdeck.toml"), policy.replace("1000001", "1000003")).unwrap();
    asked(&mut inside, "spawn -- sleep 1000003");
    std::fs::write(app.join(".quarterdeck.toml"), policy.replace("allow\"", "deny\"")).unwrap();
    assert_eq!(inside.refused("spawn -- sleep 1000001").0, "denied");
}

#[test]
fn trust_survives_the_daemon_and_questions_are_asked_again() {
    let (stage, app) = workshop();
    trust_preset(&stage, &app, "job");
    let mut inside = Inside::begin(&stage, "worker", &app);
    asked(&mut inside, "spawn --preset other");
    stage.kill_9();
    drop(stage.client());
    assert_eq!(items(&stage), []);
    inside.json("spawn --preset job --name job");
    asked(&mut inside, "spawn --preset other");
}

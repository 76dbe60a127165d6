//! What a launch leaves on the machine, and what it does not.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use proto::request::{Close, Kill, Restart};
use proto::{AgentState, ErrorCode, Request};
use testkit::MarkedDaemon;

use crate::crew;

/// Returns every file and directory below a directory, itself included.
fn below(dir: &Path) -> Vec<PathBuf> {
    let mut found = vec![dir.to_owned()];
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            found.extend(below(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

fn launches(stage: &MarkedDaemon) -> Vec<PathBuf> {
    let dir = stage.dirs().launches();
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Waits until there are this many launch directories: they are removed a moment after the entry.
fn until_launches(stage: &MarkedDaemon, count: usize) {
    let until = std::time::Instant::now() + testkit::DEADLINE;
    while launches(stage).len() != count {
        assert!(std::time::Instant::now() < until, "{:?}", launches(stage));
        std::thread::yield_now();
    }
}

#[test]
fn an_agent_is_idle_once_its_program_shows_that_it_takes_prompts() {
    let crew = crew();
    crew.enlist("a", &[]);
    let agent = crew.agent("a");
    assert_eq!((agent.manifest.as_str(), agent.state, agent.turn), ("fake", AgentState::Idle, 0));
    assert!(agent.session.is_some_and(|session| session.len() == 36));
    let evidence = agent.evidence.expect("a state has its evidence").evidence;
    assert_eq!(evidence.rule, "ready");
}

#[test]
fn b12_a_launchs_files_are_private_and_go_with_the_run() {
    let crew = crew();
    crew.enlist_hooked("a", &[]);
    let [directory] = &launches(&crew)[..] else { panic!("{:?}", launches(&crew)) };
    for path in below(directory) {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} is {mode:o}", path.display());
    }
    assert!(directory.join("settings.json").exists());
    crew.client().kill(Kill { target: "a".into(), signal: None, grace_ms: None }).unwrap();
    assert_eq!(launches(&crew).len(), 1, "the last screen and its launch stay until the entry goes");
    crew.client().restart(Restart { target: "a".into(), ..Restart::default() }).unwrap();
    crew.until_state("a", AgentState::Idle);
    until_launches(&crew, 1);
    crew.client()
        .close(Close { target: "a".into(), keep_background: false, stop: proto::Stop::default() })
        .unwrap();
    until_launches(&crew, 0);
}

#[test]
fn directories_of_runs_that_a_daemon_did_not_survive_are_swept_by_the_next() {
    let crew = crew();
    crew.enlist("a", &[]);
    let kept = launches(&crew);
    let stale = crew.dirs().launches().join("p_aaaaaaaa.7");
    std::fs::create_dir(&stale).unwrap();
    crew.kill_9();
    drop(crew.client());
    assert_eq!(launches(&crew), kept);
}

#[test]
fn the_users_own_files_are_not_touched() {
    let crew = crew();
    let config = crew.dirs().config;
    let before: Vec<_> = below(&config)
        .into_iter()
        .filter(|path| path.is_file())
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    crew.enlist_hooked("a", &[]);
    crew.submit("a", "hello");
    let after: Vec<_> = below(&config)
        .into_iter()
        .filter(|path| path.is_file())
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    assert_eq!(before, after);
}

#[test]
fn an_agent_that_is_not_installed_says_so() {
    let crew = crew();
    let manifest = crew.dirs().config.join("agents/absent.toml");
    std::fs::write(manifest, "argv = ['no-such-agent-anywhere']").unwrap();
    let failure = crew.refusal(Request::Spawn(Box::new(crew.agent_spec("absent", "a", &[]))));
    assert_eq!(failure.code, ErrorCode::SpawnFailed);
    assert!(failure.message.contains("absent is not installed"), "{}", failure.message);
    assert!(failure.hint.is_some_and(|hint| hint.contains("qd agents")));
    let failure = crew.refusal(Request::Spawn(Box::new(crew.agent_spec("nobody", "a", &[]))));
    assert!(failure.message.contains("no agent called nobody"), "{}", failure.message);
    assert!(launches(&crew).is_empty());
}

#[test]
fn b9_variables_that_the_manifest_names_do_not_reach_the_agent() {
    let crew = crew();
    let mut spec = crew.agent_spec("fake", "a", &[]);
    spec.env.insert("FAKE_SESSION".to_owned(), "another".to_owned());
    spec.env.insert("FAKE_KEPT".to_owned(), "yes".to_owned());
    let spawned = crew.spawn_as(spec);
    let environ = std::fs::read(format!("/proc/{}/environ", spawned.pid.unwrap())).unwrap();
    let names: Vec<_> = environ.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    assert!(names.iter().any(|pair| pair == "FAKE_KEPT=yes"));
    assert!(!names.iter().any(|pair| pair.starts_with("FAKE_SESSION=")));
    assert!(names.iter().any(|pair| pair.starts_with("QD_RUNTIME_DIR=")));
}

#[test]
fn a_project_teaches_how_to_read_a_screen_and_not_what_to_run() {
    let crew = crew();
    let project = crew.root().join(".quarterdeck/agents");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(
        project.join("fake.toml"),
        "[[rule]]\nid = 'ready'\nregion = 'bottom(3)'\npattern = '^>'\nverdict = 'waiting'\n",
    )
    .unwrap();
    // A weaker layer than the user's own: the user's rule of the same name stays.
    crew.enlist("a", &[]);
    std::fs::write(project.join("evil.toml"), "argv = ['sh', '-c', 'true']").unwrap();
    let failure = crew.refusal(Request::Spawn(Box::new(crew.agent_spec("evil", "b", &[]))));
    assert!(failure.message.contains("the manifest of evil cannot be used"), "{}", failure.message);
    let warnings = crew.client().status().unwrap().warnings;
    assert!(warnings.iter().any(|warning| warning.contains("may not set argv")), "{warnings:?}");
}

#[test]
fn a_broken_manifest_is_a_warning_and_the_sound_one_before_it_stays() {
    let crew = crew();
    crew.enlist("a", &[]);
    let manifest = crew.dirs().config.join("agents/fake.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, format!("{text}\nbroken =\n")).unwrap();
    crew.enlist("b", &[]);
    let warnings = || crew.client().status().unwrap().warnings;
    assert!(warnings().iter().any(|warning| warning.contains("fake.toml:")), "{:?}", warnings());
    std::fs::write(&manifest, text).unwrap();
    crew.enlist("c", &[]);
    assert_eq!(warnings(), Vec::<String>::new(), "a repaired file has no warning any more");
}

#[test]
fn a_changed_manifest_reaches_agents_that_run() {
    let crew = crew();
    crew.enlist("a", &[]);
    let manifest = crew.dirs().config.join("agents/fake.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let changed = text.replace("verdict = 'idle'", "verdict = 'waiting'");
    assert_ne!(text, changed);
    std::fs::write(&manifest, changed).unwrap();
    crew.until_state("a", AgentState::Waiting);
}

//! Trust subjects: what makes one, and which changes are found before the next start.

use std::os::unix::fs::{PermissionsExt, symlink};

use engine::{Approval, ProcessRecord, RunKey};
use serde_json::json;

use super::*;

const JOB: &str = "#!/bin/sh\necho job\n";

/// A project with a script, and a directory for programs.
struct ScriptProject {
    _root: tempfile::TempDir,
    project_dir: ProjectDir,
    bin: PathBuf,
}

impl ScriptProject {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let top = root.path().canonicalize().unwrap();
        for dir in ["app/web", "bin"] {
            std::fs::create_dir_all(top.join(dir)).unwrap();
        }
        let project =
            Self { _root: root, project_dir: ProjectDir::at(&top.join("app")), bin: top.join("bin") };
        project.put("web/job.sh", JOB);
        project.put("../bin/tool", "\x7fELF tool");
        project.put("../bin/sh", "\x7fELF shell");
        project
    }

    /// Puts a program there, by its path from the project.
    fn put(&self, path: &str, text: &str) {
        let path = self.project_dir.dir.join(path);
        drop(std::fs::remove_file(&path));
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    fn cwd(&self) -> String {
        self.project_dir.dir.join("web").display().to_string()
    }

    /// Returns the trust subject for these words in the project's directory `web`.
    fn trust_subject(&self, kind: Kind, argv: &[String]) -> TrustSubject {
        let (cwd, env) = (self.cwd(), BTreeMap::from([("A".to_owned(), "b c".to_owned())]));
        let launch_spec = LaunchSpec {
            project_dir: &self.project_dir,
            kind,
            argv,
            cwd: &cwd,
            env: &env,
            preset: None,
            auto_restart: false,
            allows_on_timeout: false,
            manifest: None,
            from: None,
        };
        draw(&launch_spec, Some(&self.bin.display().to_string())).unwrap().0
    }

    /// Returns a run that was approved by that trust subject and is about to be started again.
    fn start(&self, kind: Kind, argv: &[String]) -> StartRun {
        let TrustSubject { digest, frame, content, .. } = self.trust_subject(kind, argv);
        let env = [("A", "b c".to_owned()), ("PATH", self.bin.display().to_string())];
        let env: BTreeMap<String, String> = env.map(|(name, value)| (name.to_owned(), value)).into();
        let record: ProcessRecord = serde_json::from_value(json!({
            "id": proto::ProcessId::from_entropy(1), "name": "job", "kind": kind, "workspace": "local",
            "argv": argv, "cwd": self.cwd(), "env": env, "declared": ["A"], "size": proto::Size::DEFAULT, "status": "exited",
            "run": 2, "project": self.project_dir.project,
        }))
        .unwrap();
        let approval = Approval { digest, once: true, frame, content: content.clone(), listed: None };
        StartRun {
            run: RunKey::new(record.id, record.run.number),
            argv: argv.to_vec(),
            cwd: record.spec.cwd.clone(),
            env: env.into_iter().collect(),
            env_hex: BTreeMap::new(),
            person_env: BTreeMap::new(),
            size: record.size,
            record: ProcessRecord { approval: Some(approval), ..record },
            agent: None,
            content: Some(content),
            needs_built_in: false,
        }
    }
}

fn words(argv: &[&str]) -> Vec<String> {
    argv.iter().map(|word| (*word).to_owned()).collect()
}

/// A change on the disk between two starts.
type Change = fn(&ScriptProject);

#[test]
fn b7_whatever_changes_on_the_disk_is_found_before_the_next_start() {
    let cases: [(&str, &[&str], Change); 10] = [
        ("edited", &["./job.sh"], |project| project.put("web/job.sh", "#!/bin/sh\necho evil\n")),
        ("given to a program that runs it", &["sh", "job.sh"], |project| project.put("web/job.sh", "evil")),
        ("a word that is a file by now", &["sh", "late"], |project| project.put("web/late", "evil")),
        ("a link instead", &["./job.sh"], |project| {
            project.put("copy.sh", JOB);
            std::fs::remove_file(project.project_dir.dir.join("web/job.sh")).unwrap();
            symlink("../copy.sh", project.project_dir.dir.join("web/job.sh")).unwrap();
        }),
        ("another program of the name", &["tool"], |project| {
            project.put("../bin/other", "\x7fELF other");
            std::fs::remove_file(project.bin.join("tool")).unwrap();
            symlink("other", project.bin.join("tool")).unwrap();
        }),
        ("another content of a program of this user", &["tool"], |project| {
            project.put("../bin/tool", "\x7fELF evil")
        }),
        ("a script instead of a program", &["tool"], |project| project.put("../bin/tool", "#!/bin/sh\n")),
        ("another directory, plain program", &["tool"], move_away),
        ("another directory", &["./job.sh"], move_away),
        ("a script outside of the project", &["outer"], |project| {
            project.put("../bin/outer", "#!/bin/sh\nevil\n")
        }),
    ];
    for (name, argv, change) in cases {
        let project = ScriptProject::new();
        project.put("../bin/outer", "#!/bin/sh\n");
        let argv = words(argv);
        let start = project.start(Kind::Command, &argv);
        assert_eq!(changed(&start, None), Ok(None), "{name}: nothing has changed at first");
        change(&project);
        let now = changed(&start, None).unwrap().unwrap_or_else(|| panic!("{name}: it was not found"));
        assert_ne!(
            (&now.digest, &now.content),
            (&start.record.approval.as_ref().unwrap().digest, start.content.as_ref().unwrap())
        );
        assert!(
            now.command.contains("changed") && now.command.contains("with: A=\"b c\""),
            "{}",
            now.command
        );
    }
}

/// The directory becomes a link to another one with the same content.
fn move_away(project: &ScriptProject) {
    std::fs::rename(project.project_dir.dir.join("web"), project.project_dir.dir.join("elsewhere")).unwrap();
    symlink("elsewhere", project.project_dir.dir.join("web")).unwrap();
}

#[test]
fn what_a_restart_finds_is_what_a_person_trusts_when_they_look_at_the_same() {
    let project = ScriptProject::new();
    let argv = words(&["./job.sh"]);
    let start = project.start(Kind::Command, &argv);
    project.put("web/job.sh", "#!/bin/sh\necho new\n");
    assert_eq!(
        changed(&start, None).unwrap().unwrap().digest,
        project.trust_subject(Kind::Command, &argv).digest
    );
}

#[test]
fn a_leave_without_a_frame_is_known_by_the_whole_record() {
    let project = ScriptProject::new();
    let digest = |argv: &[&str], env: &str| {
        let mut start = project.start(Kind::Command, &words(argv));
        start.content = Some(String::new());
        start.record.approval = None;
        start.record.spec.environment.env.insert("A".to_owned(), env.to_owned());
        changed(&start, None).unwrap().expect("nothing on a disk is nothing").digest
    };
    assert_eq!(digest(&["./job.sh"], "1"), digest(&["./job.sh"], "1"));
    assert_ne!(digest(&["./job.sh"], "1"), digest(&["./job.sh", "x"], "1"));
    assert_ne!(digest(&["./job.sh"], "1"), digest(&["./job.sh"], "2"));
}

#[test]
fn what_needs_nobodys_leave_is_not_looked_at_and_an_agents_program_is_its_manifests_business() {
    let project = ScriptProject::new();
    let mut start = project.start(Kind::Command, &words(&["./job.sh"]));
    start.content = None;
    std::fs::remove_dir_all(project.project_dir.dir.join("web")).unwrap();
    assert_eq!(changed(&start, None), Ok(None));
    let project = ScriptProject::new();
    let start = project.start(Kind::Agent, &words(&["any", "--flag"]));
    assert!(start.content.as_ref().is_some_and(|content| !content.is_empty()));
    assert_eq!(changed(&start, None), Ok(None));
}

#[test]
fn what_is_gone_is_told_as_gone() {
    let project = ScriptProject::new();
    let start = project.start(Kind::Command, &words(&["./job.sh"]));
    std::fs::remove_file(project.project_dir.dir.join("web/job.sh")).unwrap();
    assert_eq!(changed(&start, None).unwrap_err().code, ErrorCode::SpawnFailed);
    std::fs::remove_dir_all(project.project_dir.dir.join("web")).unwrap();
    assert_eq!(changed(&start, None).unwrap_err().code, ErrorCode::WorkdirGone);
}

#[test]
fn c7_a_person_sees_every_character_of_a_command() {
    let words = ["ls", "", "a b", "\u{1b}[2J", "l\u{455}", "it's", "\\u{1b}", "-x=1"].map(str::to_owned);
    let shown = quote_words(&words);
    assert_eq!(shown, r#"ls "" "a b" "\u{1b}[2J" "l\u{455}" "it\'s" "\\u{1b}" -x=1"#);
    assert!(shown.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
}

#[test]
fn fields_do_not_run_together() {
    let digest = |values: &[&str]| {
        let mut fields = Fields::new("test");
        fields.list("argv", values.iter().map(|value| value.as_bytes()));
        fields.hex()
    };
    let all = [&["ab", "c"][..], &["a", "bc"], &["abc"], &["abc", ""], &["", "abc"], &["a", "b", "c"], &[]];
    let digests: std::collections::BTreeSet<String> = all.iter().map(|values| digest(values)).collect();
    assert_eq!(digests.len(), all.len());
}

#[test]
fn a_program_is_found_as_the_system_finds_it() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().canonicalize().unwrap();
    std::fs::create_dir(dir.join("sh")).unwrap();
    std::fs::write(dir.join("data"), "x").unwrap();
    let path = format!("{}:/nowhere:/bin", dir.display());
    assert_eq!(Program::find("sh", Some(&path), &dir).unwrap().found, Path::new("/bin/sh"), "no directory");
    assert_eq!(Program::find("data", Some(&path), &dir), None, "nothing that cannot be run");
    std::os::unix::fs::symlink("/bin/sh", dir.join("mine")).unwrap();
    let here = Program::find("mine", Some(":/bin"), &dir).unwrap();
    assert_eq!((here.found, here.real), (dir.join("mine"), Path::new("/bin/sh").canonicalize().unwrap()));
    assert_eq!(Program::find("", Some(&path), &dir), None);
}

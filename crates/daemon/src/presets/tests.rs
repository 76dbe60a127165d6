//! Valid presets, broken presets, and the text that belongs to each.

use std::os::unix::fs::symlink;

use super::*;

/// A project with this file, and a configuration beside it.
struct PresetFixture {
    _root: tempfile::TempDir,
    project_dir: ProjectDir,
    config: PathBuf,
}

fn fixture(text: &str) -> PresetFixture {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().canonicalize().unwrap().join("app");
    let config = dir.parent().unwrap().join("config");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::create_dir_all(config.join("presets")).unwrap();
    std::fs::write(dir.join(project::FILE), text).unwrap();
    PresetFixture { _root: root, project_dir: ProjectDir::of(&dir).unwrap(), config }
}

impl PresetFixture {
    fn preset_set(&self) -> PresetSet {
        PresetSet::read(&self.project_dir, &self.config)
    }

    fn rewrite(&self, text: &str) -> PresetSet {
        std::fs::write(self.project_dir.dir.join(project::FILE), text).unwrap();
        self.preset_set()
    }
}

#[test]
fn a_preset_says_what_runs_where_and_how() {
    let fixture = fixture(
        "[preset.dev]\nargv = [\"npm\", \"run\", \"dev\"]\nworking_dir = \"web\"\nauto_restart = true\n\
         restore = true\nready = { port = 3000 }\n[preset.dev.env]\nMODE = \"x\"\n\
         [preset.log]\nshell = \"tail -f log | grep x\"\nready = { pattern = \"x+\" }\n",
    );
    std::fs::create_dir(fixture.project_dir.dir.join("web")).unwrap();
    let preset_set = fixture.preset_set();
    assert_eq!(preset_set.faults, Vec::<String>::new());
    let dev = preset_set.find("dev").unwrap();
    let cwd = dev.directory(&fixture.project_dir).unwrap();
    assert_eq!(cwd, fixture.project_dir.dir.join("web").display().to_string());
    let view = dev.view(cwd, false);
    assert_eq!(
        (view.command.argv.len(), view.command.env["MODE"].as_str(), view.command.ready),
        (3, "x", Some(Ready::Port(3000)))
    );
    assert!(view.command.auto_restart && view.command.restore && view.origin.ends_with(".quarterdeck.toml"));
    assert_eq!(preset_set.find("log").unwrap().command.argv, ["/bin/sh", "-c", "tail -f log | grep x"]);
    assert_eq!(preset_set.find("none").unwrap_err().code, ErrorCode::NotFound);
}

#[test]
fn every_fault_names_its_file_and_line_and_spares_the_other_presets() {
    let fixture = fixture(
        "[preset.good]\nargv = [\"true\"]\n\n[preset.typo]\nargv = [\"true\"]\ncomand = 1\n\
         [preset.both]\nargv = [\"a\"]\nshell = \"b\"\n[preset.none]\n[preset.\"a b\"]\nargv = [\"x\"]\n\
         [preset.env]\nargv = [\"x\"]\nenv = { QD_X = \"1\" }\n[preset.re]\nargv = [\"x\"]\n\
         ready = { pattern = \"(\" }\n[other]\nx = 1\n[policy]\nfree = \"maybe\"\n",
    );
    let preset_set = fixture.preset_set();
    assert_eq!(preset_set.presets.keys().collect::<Vec<_>>(), ["good"]);
    let lines: Vec<(&str, &str)> = preset_set
        .faults
        .iter()
        .map(|fault| {
            let (_, rest) = fault.split_once(".quarterdeck.toml, line ").unwrap();
            rest.split_once(": ").unwrap()
        })
        .collect();
    let expected = [
        ("6", "comand"),
        ("9", "shell"),
        ("10", "argv"),
        ("11", "name"),
        ("15", "QD_X"),
        ("18", "ready"),
        ("19", "other"),
        ("22", "maybe"),
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:?}");
    for ((line, why), (expected_line, word)) in lines.iter().zip(expected) {
        assert_eq!(*line, expected_line, "{why}");
        assert!(why.contains(word), "{why}");
    }
    let broken = fixture.rewrite("[preset.good]\nargv = [\n");
    assert!(broken.presets.is_empty() && broken.faults[0].contains("line "), "{:?}", broken.faults);
}

#[test]
fn the_projects_preset_comes_before_the_users_and_a_user_has_no_policy() {
    let fixture = fixture("[preset.dev]\nargv = [\"ours\"]\n");
    std::fs::write(
        fixture.config.join("presets.toml"),
        "[preset.dev]\nargv = [\"mine\"]\n[preset.own]\nargv = [\"own\"]\n[policy]\nfree = \"allow\"\n",
    )
    .unwrap();
    std::fs::write(fixture.config.join("presets/notes.toml"), "shell = \"cat notes\"\nworking_dir = \"/\"\n")
        .unwrap();
    std::fs::write(fixture.config.join("presets/bad.toml"), "shel = \"x\"\n").unwrap();
    let preset_set = fixture.preset_set();
    let origins: Vec<(&str, Origin)> =
        preset_set.presets.values().map(|preset| (preset.name.as_str(), preset.origin)).collect();
    assert_eq!(origins, [("dev", Origin::Project), ("notes", Origin::User), ("own", Origin::User)]);
    assert_eq!(
        preset_set.find("notes").unwrap().directory(&fixture.project_dir).unwrap(),
        "/",
        "the user's own may"
    );
    assert_eq!(preset_set.policy.free, policy::CommandRule::Ask);
    assert_eq!(preset_set.faults.len(), 2, "{:?}", preset_set.faults);
    assert!(
        preset_set.faults.iter().any(|fault| fault.contains("presets.toml, line 5: unknown key `policy`"))
    );
}

#[test]
fn b7_a_projects_preset_does_not_leave_its_project() {
    let fixture = fixture(
        "[preset.up]\nargv = [\"x\"]\nworking_dir = \"..\"\n[preset.root]\nargv = [\"x\"]\nworking_dir = \"/\"\n\
         [preset.link]\nargv = [\"x\"]\nworking_dir = \"link\"\n[preset.gone]\nargv = [\"x\"]\nworking_dir = \"no\"\n",
    );
    symlink("/", fixture.project_dir.dir.join("link")).unwrap();
    let preset_set = fixture.preset_set();
    for name in ["up", "root", "link"] {
        let refused = preset_set.find(name).unwrap().directory(&fixture.project_dir).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgs, "{name}");
        assert!(refused.message.starts_with("working_dir"), "{}", refused.message);
    }
    let gone = preset_set.find("gone").unwrap().directory(&fixture.project_dir).unwrap_err();
    assert_eq!(gone.code, ErrorCode::WorkdirGone);
}

#[test]
fn the_text_of_a_preset_has_its_comments_and_nobody_elses() {
    let a = "# about a\n[preset.a]\nargv = [\"x\", # inside\n  \"[preset.z]\",\n]\n";
    let b = "# about b\n[preset.b]\nshell = '''\n[preset.c]\n'''\n";
    let more = "[preset.a.env]\nA = \"1\" # more\n";
    let fixture = fixture(&format!("{a}\n{b}{more}"));
    let text = |preset_set: &PresetSet, name: &str| {
        String::from_utf8(preset_set.find(name).unwrap().text.clone()).unwrap()
    };
    let preset_set = fixture.preset_set();
    assert_eq!(text(&preset_set, "a"), format!("{a}\n{more}"));
    assert_eq!(text(&preset_set, "b"), b);
    assert!(preset_set.find("c").is_err());
    let edited = fixture.rewrite(&format!("{a}\n{}{more}", b.replace("about b", "changed")));
    assert_eq!(text(&edited, "a"), text(&preset_set, "a"));
    assert_ne!(text(&edited, "b"), text(&preset_set, "b"));
    let inline = fixture.rewrite("[preset]\na = { argv = [\"x\"] }\nb = { argv = [\"y\"] }\n");
    assert_eq!(text(&inline, "a"), "a = { argv = [\"x\"] }");
}

#[test]
fn what_is_no_plain_file_or_too_long_is_a_fault() {
    let fixture = fixture("");
    let file = fixture.project_dir.dir.join(project::FILE);
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert!(fixture.preset_set().faults[0].contains("not a plain file"));
    std::fs::remove_dir(&file).unwrap();
    std::fs::write(&file, "#".repeat(300 * 1024)).unwrap();
    assert!(fixture.preset_set().faults[0].contains("256 KiB"));
    std::fs::write(&file, [0xff, 0xfe]).unwrap();
    assert_eq!(fixture.preset_set().faults.len(), 1);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(fixture.preset_set().faults, Vec::<String>::new());
}

#[test]
fn k10_a_preset_that_comes_after_one_that_is_not_there_is_a_fault_with_its_line() {
    let text =
        "[preset.db]\nargv = [\"x\"]\n[preset.web]\nargv = [\"x\"]\nafter = [\"db\",\n\"nope\", \"mine\"]\n";
    let fixture = fixture(text);
    std::fs::write(fixture.config.join("presets.toml"), "[preset.mine]\nargv = [\"x\"]\n").unwrap();
    let faults = check_presets(&fixture.project_dir.dir.join(project::FILE), &fixture.config);
    let words = "after: preset web comes after \"nope\", which is not there";
    assert_eq!(faults, [(Some(6), words.to_owned())]);
}

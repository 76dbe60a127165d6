//! A project with presets, a list of commands, scripts and a search path, all of which a case may change.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use engine::{Rule, SpawnOrder};
use proto::request::Spawn;
use proto::{Failure, Kind};

use super::super::{Asker, judged};
use crate::agents::{ForeignManifest, ManifestCache};
use crate::presets::PresetSet;
use crate::project::ProjectDir;

/// The project's file.
const FILE: &str = "\
# What runs the tests.
[preset.test]
argv = [\"./run.sh\", \"--fast\"] # the quick ones
working_dir = \"web\"
ready = { pattern = \"ok\" }

[preset.test.env]
MODE = \"1\"

# Something else.
[preset.other]
argv = [\"tool\", \"other\"]

[preset.wrapped]
argv = [\"sh\", \"run.sh\"]
working_dir = \"web\"

[preset.linked]
argv = [\"tool\"]
working_dir = \"here\"

[policy]
free = \"allow\"
allow = [[\"tool\", \"check\"], [\"tool\", \"build\", \"*\"], [\"wrap\", \"*\"], [\"local\", \"go\"],
         [\"sh\", \"web/run.sh\"]]
";

/// Programs that run what they are given; here all of them are one.
const WRAPPERS: [&str; 12] =
    ["env", "sh", "bash", "git", "npx", "find", "xargs", "timeout", "nice", "nohup", "sudo", "wrap"];

/// The result of a spawn request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SpawnRuling {
    /// Without a question.
    Allowed,
    /// No trust subject is needed at all.
    CommandRule,
    /// A person is asked.
    Asked,
    /// It is refused for what it is.
    Refused,
    /// The rules forbid it.
    Denied,
}

pub(super) struct SpawnFixture {
    root: tempfile::TempDir,
    pub(super) app: PathBuf,
    pub(super) config: PathBuf,
    pub(super) bin: PathBuf,
}

impl SpawnFixture {
    pub(super) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let top = root.path().canonicalize().unwrap();
        let fixture = Self { app: top.join("app"), config: top.join("config"), bin: top.join("bin"), root };
        for dir in ["app/web", "app/docs", "config/presets", "bin", "early", "elsewhere"] {
            std::fs::create_dir_all(top.join(dir)).unwrap();
        }
        fixture.write(".quarterdeck.toml", FILE);
        fixture.program(&fixture.app.join("web/run.sh"), "#!/bin/sh\necho tests\n");
        // Not a script; its content counts because this user may change it.
        fixture.program(&fixture.bin.join("real-tool"), "\x7fELF tool");
        fixture.program(&fixture.bin.join("other-tool"), "\x7fELF other");
        symlink("real-tool", fixture.bin.join("tool")).unwrap();
        for name in WRAPPERS {
            fixture.program(&fixture.bin.join(name), "\x7fELF wrapper");
        }
        fixture.program(&fixture.bin.join("local"), "\x7fELF local");
        fixture.link("docs", "here");
        fixture
    }

    pub(super) fn top(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap()
    }

    /// Writes a file of the project.
    pub(super) fn write(&self, file: &str, text: &str) {
        let path = self.app.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes a manifest into the user's configuration.
    pub(super) fn manifest(&self, name: &str, text: &str) {
        self.write(&format!("../config/agents/{name}.toml"), text);
    }

    /// Changes the project's file in one place, which must be there.
    pub(super) fn edit(&self, from: &str, to: &str) {
        let path = self.app.join(".quarterdeck.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from}");
        std::fs::write(path, text.replacen(from, to, 1)).unwrap();
    }

    pub(super) fn program(&self, path: &Path, text: &str) {
        drop(std::fs::remove_file(path));
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// Makes a link of the project lead here.
    pub(super) fn link(&self, to: &str, name: &str) {
        relink(Path::new(to), &self.app.join(name));
    }

    pub(super) fn preset(&self, name: &str) -> Spawn {
        let cwd = Some(self.app.display().to_string());
        Spawn { preset: Some(name.to_owned()), cwd, ..Spawn::default() }
    }

    pub(super) fn free(&self, argv: &[&str]) -> Spawn {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        Spawn { argv, cwd: Some(self.app.display().to_string()), ..Spawn::default() }
    }

    pub(super) fn agent(&self, argv: &[&str]) -> Spawn {
        Spawn { kind: Kind::Agent, ..self.free(argv) }
    }

    /// Returns the search path of what is started: a place that is empty at first, and the programs.
    fn path(&self) -> String {
        format!("{}:{}", self.top().join("early").display(), self.bin.display())
    }

    pub(super) fn judged(&self, spawn: Spawn) -> Result<SpawnOrder, Failure> {
        self.judged_from(&self.app, spawn)
    }

    /// Judges a spawn of a process of the project at this directory.
    pub(super) fn judged_from(&self, dir: &Path, spawn: Spawn) -> Result<SpawnOrder, Failure> {
        // A project that was moved away is still that of the process.
        let (own, path) = (ProjectDir::of(dir).unwrap_or_else(|_| ProjectDir::at(dir)), self.path());
        let mut manifests = ManifestCache::new(&self.config);
        let manifest_set = manifests.manifest_set(Some(&self.app));
        let manifest = |name: &str, _: &Path| ForeignManifest::find(&manifest_set.catalogue, name);
        judged(spawn, &Asker { own: &own, config: &self.config, path: Some(&path), manifest: &manifest })
    }

    /// Returns the digests when a person trusts exactly this and nothing else.
    pub(super) fn trusted(&self, spawn: &Spawn) -> Vec<String> {
        let order = self.judged(spawn.clone()).unwrap();
        vec![order.trust_subject.expect("what is trusted has a digest").digest]
    }

    /// Returns the digests when a person trusts the project's list as it is.
    pub(super) fn trusted_list(&self) -> Vec<String> {
        let project_dir = ProjectDir::of(&self.app).unwrap();
        let policy = PresetSet::read(&project_dir, &self.config).policy;
        vec![policy.digest(&project_dir, Some(&self.path()))]
    }

    /// Returns the result of a spawn when these digests are trusted.
    pub(super) fn verdict(&self, spawn: Spawn, trusted: &[String]) -> SpawnRuling {
        self.verdict_from(&self.app, spawn, trusted)
    }

    /// Returns the result of a spawn of a process in the project at this directory.
    pub(super) fn verdict_from(&self, dir: &Path, spawn: Spawn, trusted: &[String]) -> SpawnRuling {
        let Ok(order) = self.judged_from(dir, spawn) else { return SpawnRuling::Refused };
        let Some(trust_subject) = order.trust_subject else { return SpawnRuling::CommandRule };
        let is_known = |digest: &String| trusted.contains(digest);
        match trust_subject.rule {
            Rule::Deny => SpawnRuling::Denied,
            _ if is_known(&trust_subject.digest) || trust_subject.listed.as_ref().is_some_and(is_known) => {
                SpawnRuling::Allowed
            }
            Rule::Ask => SpawnRuling::Asked,
        }
    }
}

/// Makes a link lead elsewhere.
pub(super) fn relink(to: &Path, link: &Path) {
    drop(std::fs::remove_file(link));
    symlink(to, link).unwrap();
}

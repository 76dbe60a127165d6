//! A repository of its own for each test, with a canary for hooks, and plain git beside the crate under test.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use worktree::{BranchName, CreateRequest, Creation, Git, GitError, Oid, References, Repository, StartPoint};

const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-rebase",
    "prepare-commit-msg",
    "reference-transaction",
    "fsmonitor",
];

pub(crate) struct Stage {
    directory: TempDir,
    pub(crate) git: Git,
}

impl Stage {
    /// Creates a repository with one commit on `main`: `README`, `src/lib.rs`, `.gitignore` (ignores `*.log`
    /// and `build/`).
    pub(crate) fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap(), "app")
    }

    pub(crate) fn at(directory: TempDir, name: &str) -> Self {
        let home = directory.path().join("home");
        std::fs::create_dir_all(&home).unwrap();
        let config = "[user]\nname = T\nemail = t@example.org\n[init]\ndefaultBranch = main\n[protocol \"file\"]\nallow = always\n";
        std::fs::write(home.join(".gitconfig"), config).unwrap();
        let git = Git::new("git", environment(&home)).unwrap();
        let stage = Self { directory, git };
        stage.init(&stage.path(name));
        std::fs::rename(stage.path(name), stage.path("renaming")).unwrap();
        std::fs::rename(stage.path("renaming"), stage.path(name)).unwrap();
        if name != "app" {
            std::os::unix::fs::symlink(stage.path(name), stage.path("app")).unwrap();
        }
        stage
    }

    /// Another repository of the same kind.
    pub(crate) fn init(&self, path: &Path) {
        std::fs::create_dir_all(path).unwrap();
        self.plain(path, &["init", "-q"]);
        self.write(path, "README", "read me\n");
        self.write(path, "src/lib.rs", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
        self.write(path, ".gitignore", "*.log\nbuild/\n");
        self.commit_all(path, "first");
        self.install_hooks(path);
    }

    fn install_hooks(&self, repository: &Path) {
        let hooks = repository.join(".git/canary-hooks");
        std::fs::create_dir_all(&hooks).unwrap();
        for name in HOOKS {
            let text = format!("#!/bin/sh\necho {name} >>{}\n", self.canary().display());
            for place in [hooks.join(name), repository.join(".git/hooks").join(name)] {
                std::fs::create_dir_all(place.parent().unwrap()).unwrap();
                std::fs::write(&place, &text).unwrap();
                std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        self.plain(repository, &["config", "core.hooksPath", hooks.to_str().unwrap()]);
        self.plain(repository, &["config", "core.fsmonitor", hooks.join("fsmonitor").to_str().unwrap()]);
        self.plain(repository, &["config", "diff.external", hooks.join("pre-commit").to_str().unwrap()]);
    }

    fn canary(&self) -> PathBuf {
        self.path("canary")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn app(&self) -> PathBuf {
        self.path("app").canonicalize().unwrap()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub(crate) fn repository(&self) -> Repository {
        Repository::open(&self.git, &self.app()).unwrap()
    }

    /// Returns a git whose calls with these words fail.
    pub(crate) fn git_that_fails_at(&self, words: &str) -> Git {
        self.git_with(&format!("case \"$*\" in *'{words}'*) exit 1;; esac\nexec git \"$@\""))
    }

    /// Returns a git that runs a line of shell after each call with these words.
    pub(crate) fn git_that_does(&self, line: &str, words: &str) -> Git {
        self.git_with(&format!("git \"$@\"; code=$?\ncase \"$*\" in *'{words}'*) {line};; esac\nexit $code"))
    }

    fn git_with(&self, script: &str) -> Git {
        let program = self.path("scripted-git");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Git::new(program, environment(&self.home())).unwrap()
    }

    /// Runs plain git, with hooks and monitor off so that only the crate can trip the canary.
    pub(crate) fn plain(&self, directory: &Path, arguments: &[&str]) -> String {
        let output = self.try_plain(directory, arguments);
        output.unwrap_or_else(|error| panic!("git {arguments:?} in {}: {error}", directory.display()))
    }

    pub(crate) fn try_plain(&self, directory: &Path, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new("git");
        command.current_dir(directory).env_clear().envs(environment(&self.path("home")));
        command.args([
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "diff.external=",
        ]);
        let output = command.args(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    pub(crate) fn write(&self, directory: &Path, name: &str, text: &str) {
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn commit_all(&self, directory: &Path, message: &str) -> Oid {
        self.plain(directory, &["add", "-A"]);
        self.plain(directory, &["commit", "-q", "-m", message]);
        self.head(directory)
    }

    pub(crate) fn commit_file(&self, directory: &Path, name: &str, text: &str) -> Oid {
        self.write(directory, name, text);
        self.commit_all(directory, name)
    }

    pub(crate) fn head(&self, directory: &Path) -> Oid {
        Oid::parse(&self.plain(directory, &["rev-parse", "HEAD"])).unwrap()
    }

    pub(crate) fn plan(&self, name: &str, start: StartPoint) -> Creation {
        let request = CreateRequest { name: branch(name), start, root: self.path("tasks") };
        planned(&self.repository(), &request).unwrap()
    }

    /// Returns a worktree for a task, from the default branch.
    pub(crate) fn task(&self, name: &str) -> PathBuf {
        let creation = self.plan(name, StartPoint::DefaultBranch);
        creation.run(&self.git).unwrap();
        creation.path
    }

    /// Returns references, worktrees, and the settings of the repository.
    pub(crate) fn refs(&self) -> String {
        let app = self.app();
        let refs = self.plain(&app, &["for-each-ref"]);
        let list = self.plain(&app, &["worktree", "list", "--porcelain"]);
        let config = std::fs::read_to_string(app.join(".git/config")).unwrap();
        format!("{refs}{list}{config}")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let ran = std::fs::read_to_string(self.canary()).unwrap_or_default();
        if !std::thread::panicking() {
            assert_eq!(ran, "", "hooks of the repository were run");
        }
    }
}

pub(crate) fn branch(name: &str) -> BranchName {
    BranchName::parse(name).unwrap()
}

pub(crate) fn environment(home: &Path) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    vec![("PATH".into(), std::env::var_os("PATH").unwrap()), ("HOME".into(), home.into())]
}

/// Returns every file below a directory with its mode and content; links with their target. `.git` is left
/// out.
pub(crate) fn contents(directory: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    collect(directory, directory, &mut found);
    found
}

fn collect(top: &Path, directory: &Path, found: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let metadata = path.symlink_metadata().unwrap();
        if entry.file_name() == ".git" {
            continue;
        }
        let name = path.strip_prefix(top).unwrap().to_owned();
        if metadata.is_dir() {
            collect(top, &path, found);
        } else if metadata.is_symlink() {
            let target = std::fs::read_link(&path).unwrap();
            found.insert(name, (0o120_000, target.as_os_str().as_bytes().to_vec()));
        } else {
            found.insert(name, (metadata.mode(), std::fs::read(&path).unwrap()));
        }
    }
}

/// Plans a worktree with the references of this moment.
pub(crate) fn planned(repository: &Repository, request: &CreateRequest) -> Result<Creation, GitError> {
    repository.plan_worktree(&References::read(repository)?, request)
}

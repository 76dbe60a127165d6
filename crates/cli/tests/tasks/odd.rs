//! Odd repositories through the verbs: the right result or a clear error, no byte lost, and no hook run.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::stage::{TaskStage, git};

const HOOKS: [&str; 14] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-commit",
    "pre-merge-commit",
    "pre-rebase",
    "prepare-commit-msg",
    "reference-transaction",
];

/// Lets every hook and the file-system monitor of a repository leave a trace; returns the file with the traces.
fn set_traps(repository: &Path, git_dir: &Path) -> PathBuf {
    let (hooks, traces) = (git_dir.join("traps"), git_dir.join("traces"));
    std::fs::create_dir(&hooks).unwrap();
    for name in HOOKS {
        let text = format!("#!/bin/sh\necho {name} >>'{}'\n", traces.display());
        for place in [hooks.join(name), git_dir.join("hooks").join(name)] {
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(&place, &text).unwrap();
            std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    git(repository, &["config", "core.hooksPath", hooks.to_str().unwrap()]);
    git(repository, &["config", "core.fsmonitor", hooks.join("fsmonitor").to_str().unwrap()]);
    traces
}

/// Every file below a directory, without git's own.
pub(crate) fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap().map(Result::unwrap) {
            let path = entry.path();
            match entry.file_type().unwrap() {
                _ if entry.file_name() == ".git" => {}
                kind if kind.is_dir() => open.push(path),
                kind if kind.is_symlink() => {
                    let target = std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
                    found.insert(path, target);
                }
                _ => drop(found.insert(path.clone(), std::fs::read(path).unwrap())),
            }
        }
    }
    found
}

/// Creates a task in a repository, leaves work in it, drops it by force and restores it: every byte must be back. Then commits
/// and lands the work.
fn goes_and_comes_back(stage: &TaskStage, repository: &Path) {
    let name = "odd";
    stage.qd(&["new", name, "--worktree", "--directory", repository.to_str().unwrap()]);
    let directory = stage.directory(name);
    let place = repository.file_name().unwrap().to_str().unwrap();
    let (file, link) = (format!("untracked ü of {place}"), format!("link of {place}"));
    std::fs::write(directory.join(&file), [0, 255, 10, 13]).unwrap();
    std::os::unix::fs::symlink("/no/where", directory.join(link)).unwrap();
    let before = contents(&directory);
    let task = stage.task(name).unwrap();
    assert!(task["git"]["directory"] == true && task["git"]["untracked"] == 2, "{task}");
    let (code, told) = stage.refused(&["drop", name]);
    assert!(code == 7 && told.contains("untracked"), "{code} {told}");
    stage.qd(&["drop", name, "--force"]);
    assert!(!directory.exists());
    stage.qd(&["restore", name]);
    assert_eq!(contents(&directory), before, "{}", repository.display());
    goes_in(stage, &directory, name);
    assert_eq!(git(repository, &["ls-tree", "-z", "--name-only", "main", "--", &file]), format!("{file}\0"));
    stage.qd(&["drop", name, "--force", "--branch"]);
}

/// Commits everything in a task's directory, without the hooks of the repository, and lands it.
fn goes_in(stage: &TaskStage, directory: &Path, name: &str) {
    let quiet = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];
    git(directory, &[&quiet[..], &["add", "--all"]].concat());
    git(directory, &[&quiet[..], &["commit", "--quiet", "--message=work"]].concat());
    assert!(stage.qd(&["diff", name, "--stat"]).contains("of "));
    assert_eq!(stage.json(&["forecast"]), serde_json::json!([]));
    let told = stage.qd(&["land", name, "--gate", "test -e shared"]);
    assert!(told.starts_with("landed odd on main at ") && !told.contains("warning"), "{told}");
    assert_eq!(stage.status(name), "merged", "{}", directory.display());
}

fn clone(stage: &TaskStage, name: &str, options: &[&str]) -> PathBuf {
    let path = stage.repository.with_file_name(name);
    let words: Vec<&str> = ["clone", "--quiet"].iter().chain(options).copied().collect();
    git(&stage.repository, &[&words[..], &[".", path.to_str().unwrap()]].concat());
    identify(&path);
    path
}

/// A filter that git keeps running for many files, as large-file storage does: what is stored begins with a mark.
const FILTER_PROCESS: &str = r"
import sys
source, sink = sys.stdin.buffer, sys.stdout.buffer

def packet():
    size = source.read(4)
    if len(size) < 4:
        sys.exit(0)
    return None if size == b'0000' else source.read(int(size, 16) - 4)

def packets():
    found = []
    while (one := packet()) is not None:
        found.append(one)
    return found

def write(*texts):
    for text in texts:
        sink.write(b'%04x' % (len(text) + 4) + text)
    sink.write(b'0000')
    sink.flush()

packets()
write(b'git-filter-server\n', b'version=2\n')
packets()
write(b'capability=clean\n', b'capability=smudge\n')
while True:
    head, body = packets(), b''.join(packets())
    body = b'stored:' + body if b'command=clean\n' in head else body.removeprefix(b'stored:')
    write(b'status=success\n')
    write(*[body[at:at + 60000] for at in range(0, len(body), 60000)])
    write()
";

/// Sends the files `*.bin` of a repository through a filter and commits one.
fn set_filter(repository: &Path, programs: &[(&str, &str)]) {
    for (key, value) in programs.iter().chain(&[("required", "true")]) {
        git(repository, &["config", &format!("filter.pointer.{key}"), value]);
    }
    std::fs::write(repository.join(".gitattributes"), "*.bin filter=pointer\n").unwrap();
    std::fs::write(repository.join("big.bin"), "content\n").unwrap();
    git(repository, &["add", "--all"]);
    git(repository, &["commit", "--quiet", "--message=filter"]);
    assert_eq!(git(repository, &["cat-file", "blob", "HEAD:big.bin"]), "stored:content\n");
}

/// Names the person whose commits a landing makes anew.
fn identify(repository: &Path) {
    git(repository, &["config", "user.name", "t"]);
    git(repository, &["config", "user.email", "t@example.com"]);
}

#[test]
fn f5_tasks_in_bare_linked_detached_filtered_and_foreign_repositories_go_and_come_back_and_no_hook_runs() {
    let stage = TaskStage::new();
    let bare = clone(&stage, "bare.git", &["--bare"]);
    let detached = clone(&stage, "detached", &[]);
    git(&detached, &["switch", "--quiet", "--detach"]);
    let filtered = clone(&stage, "filtered", &[]);
    set_filter(&filtered, &[("clean", "sed s/^/stored:/"), ("smudge", "sed s/^stored://")]);
    let processed = clone(&stage, "processed", &[]);
    let program = stage.repository.with_file_name("filter.py");
    std::fs::write(&program, FILTER_PROCESS).unwrap();
    set_filter(&processed, &[("process", &format!("python3 '{}'", program.display()))]);
    let with_module = clone(&stage, "with module", &[]);
    let module =
        ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", bare.to_str().unwrap(), "lib"];
    git(&with_module, &module);
    git(&with_module, &["commit", "--quiet", "--message=module"]);
    let linked = stage.repository.with_file_name("link to it");
    std::os::unix::fs::symlink(&detached, &linked).unwrap();
    let mut traces = Vec::new();
    for (repository, git_dir) in [
        (&bare, bare.clone()),
        (&detached, detached.join(".git")),
        (&filtered, filtered.join(".git")),
        (&processed, processed.join(".git")),
        (&with_module, with_module.join(".git")),
    ] {
        traces.push(set_traps(repository, &git_dir));
        goes_and_comes_back(&stage, repository);
    }
    goes_and_comes_back(&stage, &linked);
    if let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") {
        let path = elsewhere.path().join("on another file system");
        git(&stage.repository, &["clone", "--quiet", ".", path.to_str().unwrap()]);
        identify(&path);
        traces.push(set_traps(&path, &path.join(".git")));
        goes_and_comes_back(&stage, &path);
        stage.qd(&["shutdown", "--kill"]);
    } else {
        eprintln!("/dev/shm cannot be written to: not tested on another file system");
    }
    assert!(traces.iter().all(|file| !file.exists()), "a hook was run");
}

#[test]
fn f5_a_task_with_an_initialised_submodule_stays_even_by_force_until_the_submodule_is_gone() {
    let stage = TaskStage::new();
    let library = clone(&stage, "library", &[]);
    let allow = ["-c", "protocol.file.allow=always", "submodule", "--quiet"];
    git(&stage.repository, &[&allow[..], &["add", library.to_str().unwrap(), "lib"]].concat());
    git(&stage.repository, &["commit", "--quiet", "--message=module"]);
    let directory = stage.new_task("fix");
    git(&directory, &[&allow[..], &["update", "--init"]].concat());
    std::fs::write(directory.join("lib/untracked"), "precious").unwrap();
    let before = contents(&directory);
    let (code, told) = stage.refused(&["drop", "fix", "--force"]);
    assert!(code == 7 && told.contains("`lib`"), "{code} {told}");
    assert_eq!(contents(&directory), before);
    git(&directory, &["submodule", "--quiet", "deinit", "--force", "lib"]);
    stage.qd(&["drop", "fix"]);
    assert!(!directory.exists());
    stage.qd(&["restore", "fix"]);
    assert_eq!(git(&directory, &["status", "--porcelain"]), "");
}

#[test]
fn f5_a_landing_a_forecast_and_a_diff_run_no_hook() {
    let stage = TaskStage::new();
    for (name, line) in [("one", "ONE"), ("two", "TWO")] {
        let directory = stage.new_task(name);
        std::fs::write(directory.join("shared"), format!("{line}\n")).unwrap();
        git(&directory, &["commit", "--quiet", "--all", "--message=work"]);
    }
    std::fs::write(stage.repository.join("other"), "moved on\n").unwrap();
    git(&stage.repository, &["commit", "--quiet", "--all", "--message=main"]);
    let traces = set_traps(&stage.repository, &stage.repository.join(".git"));
    assert_eq!(stage.json(&["forecast"]).as_array().unwrap().len(), 1);
    assert!(stage.qd(&["diff", "one"]).contains("+ONE"));
    stage.qd(&["land", "one"]);
    let (_, told) = stage.refused(&["land", "two", "--merge"]);
    assert!(told.contains("conflict in shared"), "{told}");
    assert!(!traces.exists(), "ran {:?}", std::fs::read_to_string(&traces));
}

#[test]
fn f5_repositories_that_cannot_have_a_task_give_a_clear_error_and_keep_what_they_have() {
    let stage = TaskStage::new();
    let empty = stage.repository.with_file_name("empty");
    std::fs::create_dir(&empty).unwrap();
    git(&empty, &["init", "--quiet"]);
    let (code, told) = stage.refused(&["new", "a", "--worktree", "--directory", empty.to_str().unwrap()]);
    assert!(code == 7 && told.contains("commit"), "{code} {told}");
    // A branch that differs in case only cannot be there on every file system.
    stage.new_task("Fix");
    let (code, told) = stage.refused(&["new", "fix", "--worktree"]);
    assert!(code == 7 && told.contains("Fix"), "{code} {told}");
    // A worktree that another tool has locked, or that holds a repository of its own, stays even by force.
    let locked = stage.directory("Fix");
    git(&stage.repository, &["worktree", "lock", "--reason", "in use elsewhere", locked.to_str().unwrap()]);
    let (code, told) = stage.refused(&["drop", "Fix", "--force"]);
    assert!(code == 7 && told.contains("lock"), "{code} {told}");
    git(&stage.repository, &["worktree", "unlock", locked.to_str().unwrap()]);
    let inner = locked.join("inner");
    git(&stage.repository, &["worktree", "add", "--quiet", "--detach", inner.to_str().unwrap()]);
    let (code, told) = stage.refused(&["drop", "Fix", "--force"]);
    assert!(code == 7 && told.contains("inner"), "{code} {told}");
    assert!(inner.join("shared").exists() && locked.join("shared").exists());
}

#[test]
fn f5_a_task_in_a_detached_checkout_has_a_status_and_does_not_land() {
    let stage = TaskStage::new();
    git(&stage.repository, &["switch", "--quiet", "--detach"]);
    stage.qd(&["new", "look"]);
    assert_eq!(stage.status("look"), "idle");
    let (code, told) = stage.refused(&["land", "look"]);
    assert!(code == 7 && told.contains("no branch is checked out"), "{code} {told}");
    stage.qd(&["drop", "look"]);
    assert!(stage.repository.join("shared").exists(), "a directory of the person's own is never touched");
}

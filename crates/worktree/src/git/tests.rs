//! The runner against small scripts in the place of git: environment, limits and time.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// Returns a program that answers `git version` and otherwise runs `script`.
fn scripted(directory: &Path, script: &str) -> Git {
    let program = directory.join("git");
    let text =
        format!("#!/bin/sh\ncase \"$*\" in *' version'*) echo git version 2.47.3; exit;; esac\n{script}\n");
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let environment = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
    // Another thread that is just starting a child may hold the file open for writing until it executes.
    loop {
        match Git::new(&program, environment.clone()) {
            Err(GitError::Io { source, .. }) if source.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
            other => return other.unwrap(),
        }
    }
}

#[test]
fn f5_a_git_that_is_missing_or_too_old_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let missing = Git::new(directory.path().join("no-git"), Vec::new()).unwrap_err();
    assert!(matches!(missing, GitError::GitMissing), "{missing}");
    let program = directory.path().join("git");
    std::fs::write(&program, "#!/bin/sh\necho git version 2.25.1\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let old = Git::new(program, Vec::new()).unwrap_err();
    assert!(matches!(&old, GitError::GitTooOld { found } if found == "2.25.1"), "{old}");
    assert!(version("2.9") < version(MINIMUM_VERSION) && version("2.47.3 (Apple Git-1)") == (2, 47));
}

#[test]
fn f5_a_call_gets_the_fixed_environment_and_settings_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let git = scripted(directory.path(), "env; echo \"$*\"");
    let printed = git.read(directory.path(), "status").names(["--lock"]).text().unwrap();
    for wanted in ["GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C", "core.hooksPath=/dev/null"] {
        assert!(printed.contains(wanted), "{wanted} is missing in {printed}");
    }
    assert!(printed.trim().ends_with("status --end-of-options --lock"), "{printed}");
    assert!(!printed.contains("CARGO"), "{printed}");
}

#[test]
fn f5_time_that_is_over_kills_git_and_what_it_started() {
    let directory = tempfile::tempdir().unwrap();
    // Both hold the write end of a pipe: it ends when both are dead.
    let fifo = directory.path().join("alive");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let reader = std::thread::spawn({
        let fifo = fifo.clone();
        move || std::fs::read(fifo).unwrap()
    });
    let script = format!("exec 7>{}; sleep 1000 & sleep 1000", fifo.display());
    let git = scripted(directory.path(), &script).with_timeout(Duration::from_millis(300));
    let error = git.read(directory.path(), "status").run().unwrap_err();
    assert!(matches!(&error, GitError::TimedOut { command, .. } if command == "status"), "{error}");
    assert_eq!(reader.join().unwrap(), b"");
}

#[test]
fn f5_output_is_bounded_and_its_beginning_can_be_kept() {
    let directory = tempfile::tempdir().unwrap();
    let git = scripted(directory.path(), "exec yes");
    let error = git.read(directory.path(), "log").limit(1000).run().unwrap_err();
    assert!(matches!(error, GitError::OutputTooLarge { limit: 1000, .. }), "{error}");
    let (kept, is_truncated) = git.read(directory.path(), "log").limit(1000).run_truncating().unwrap();
    assert!(is_truncated && kept.len() == 1000);
}

#[test]
fn f5_input_larger_than_a_pipe_arrives_whole_while_output_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let git = scripted(directory.path(), "exec cat");
    let bytes = vec![7; 3 << 20];
    let echoed = git.read(directory.path(), "x").input(GitInput::Bytes(bytes.clone())).run().unwrap();
    assert!(echoed == bytes);
}

#[test]
fn f5_messages_of_git_become_what_the_caller_can_do() {
    let error = |message: &str| GitError::from_message(Path::new("/r"), "x", Some(128), message);
    assert!(matches!(error("fatal: not a git repository (or any"), GitError::NotARepository { .. }));
    assert!(matches!(error("fatal: detected dubious ownership in"), GitError::NotTrusted { .. }));
    let lock = error("fatal: Unable to create '/r/.git/index.lock': File exists.");
    assert!(matches!(&lock, GitError::Locked { what, .. } if what == "/r/.git/index.lock"), "{lock}");
    let moved = error("error: cannot lock ref 'refs/heads/a': is at 1 but expected 2");
    assert!(matches!(&moved, GitError::Moved { reference } if reference == "refs/heads/a"), "{moved}");
    assert!(matches!(error("fatal: '/w' already exists"), GitError::Exists { .. }));
    assert!(matches!(error("fatal: other"), GitError::Failed { code: Some(128), .. }));
}

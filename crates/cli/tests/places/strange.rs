//! Unusual directories, which work all the same or lead to one clear error.

use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::process::Command;

use testkit::TestDaemon;

use crate::{QD, said};

#[test]
fn m8_a_configuration_that_others_may_read_or_that_is_a_link_to_dotfiles_works() {
    for is_link in [false, true] {
        let daemon = TestDaemon::without_start(QD);
        let config = daemon.dirs().config;
        let real = if is_link { daemon.root().join("dotfiles") } else { config.clone() };
        std::fs::create_dir(&real).unwrap();
        std::fs::set_permissions(&real, Permissions::from_mode(0o755)).unwrap();
        std::fs::write(real.join("settings"), "[notify]\ndesktop = false\n").unwrap();
        symlink("settings", real.join("config.toml")).unwrap();
        if is_link {
            symlink(&real, &config).unwrap();
        }
        let listed = daemon.qd(&["ps"]);
        assert!(listed.status.success(), "{}", said(&listed));
        assert_eq!(daemon.json(&["status"])["warnings"], serde_json::Value::Null);
        let doctor = daemon.qd(&["doctor"]);
        assert!(doctor.status.success(), "{}", said(&doctor));
    }
}

#[test]
fn m8_a_configuration_that_others_may_write_is_refused_in_one_sentence_that_doctor_says_too() {
    let daemon = TestDaemon::without_start(QD);
    let config = daemon.dirs().config;
    std::fs::create_dir(&config).unwrap();
    std::fs::set_permissions(&config, Permissions::from_mode(0o777)).unwrap();
    for verb in ["ps", "doctor"] {
        let output = daemon.qd(&[verb]);
        assert!(!output.status.success(), "{verb}");
        let told = said(&output);
        assert!(told.contains(config.to_str().unwrap()) && told.contains("go-w"), "{verb}: {told}");
    }
}

#[test]
fn m8_a_pipe_in_place_of_the_configuration_hangs_nobody() {
    let daemon = TestDaemon::without_start(QD);
    let config = daemon.dirs().config;
    std::fs::create_dir(&config).unwrap();
    std::fs::set_permissions(&config, Permissions::from_mode(0o700)).unwrap();
    assert!(Command::new("mkfifo").arg(config.join("config.toml")).status().unwrap().success());
    daemon.spawn("x", testkit::child::run_for_ever());
    for verb in ["status", "doctor"] {
        let told = said(&daemon.qd(&[verb]));
        assert!(told.contains("config.toml") && told.contains("not a plain file"), "{verb}: {told}");
    }
}

#[test]
fn m8_a_pipe_in_place_of_the_decks_settings_or_of_a_manifest_hangs_nobody_and_is_told() {
    let daemon = TestDaemon::without_start(QD);
    let config = daemon.dirs().config;
    DirBuilder::new().recursive(true).mode(0o700).create(config.join("agents")).unwrap();
    for file in ["tui.toml", "agents/mine.toml"] {
        assert!(Command::new("mkfifo").arg(config.join(file)).status().unwrap().success());
    }
    symlink("nowhere", config.join("agents/gone.toml")).unwrap();
    for verb in [&["config", "check"][..], &["doctor"]] {
        let told = said(&daemon.qd(verb));
        assert!(told.contains("tui.toml") && told.contains("not a plain file"), "{verb:?}: {told}");
    }
    assert!(daemon.qd(&["agents"]).status.success());
    let told = said(&daemon.qd(&["doctor"]));
    for words in ["mine.toml: is not a plain file", "gone.toml: leads nowhere"] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
fn m8_a_setting_that_is_not_known_is_found_by_doctor_without_a_daemon() {
    let daemon = TestDaemon::without_start(QD);
    let config = daemon.dirs().config;
    std::fs::create_dir(&config).unwrap();
    std::fs::set_permissions(&config, Permissions::from_mode(0o700)).unwrap();
    std::fs::write(config.join("config.toml"), "histroy = 5\n").unwrap();
    let told = said(&daemon.qd(&["doctor"]));
    assert!(told.contains("line 1") && told.contains("histroy"), "{told}");
}

#[test]
fn m8_a_small_limit_of_file_sizes_is_told_before_anything_is_lost() {
    let daemon = TestDaemon::without_start(QD);
    for verb in ["ps", "doctor"] {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -f 8; exec \"$0\" \"$1\"", QD, verb]).envs(daemon.variables());
        let output = command.output().unwrap();
        assert!(!output.status.success(), "{verb}");
        assert!(said(&output).contains("ulimit -f"), "{verb}: {}", said(&output));
    }
    assert!(daemon.qd(&["ps"]).status.success());
}

#[test]
fn m8_a_running_daemon_survives_a_limit_of_file_sizes() {
    let daemon = TestDaemon::start(QD);
    let pid = daemon.pid();
    let limited = Command::new("prlimit").args([&format!("--pid={pid}"), "--fsize=1:unlimited"]).status();
    if !limited.is_ok_and(|status| status.success()) {
        return;
    }
    // Whatever it prints, it writes and continues.
    drop(daemon.qd(&["spawn", "--name", "x", "--", "sleep", "1000000"]));
    assert_eq!(daemon.pid(), pid, "the same daemon answers");
    let freed = Command::new("prlimit").args([&format!("--pid={pid}"), "--fsize=unlimited"]).status();
    assert!(freed.unwrap().success());
}

#[test]
fn m8_a_holder_survives_a_limit_of_file_sizes_and_its_child_has_the_usual_signals() {
    let daemon = TestDaemon::start(QD);
    let spawned = daemon.spawn("x", testkit::child::repeat_lines());
    daemon.wait_pattern("x", "ready");
    let child = spawned.pid.unwrap();
    let holder = testkit::process_scan::parent(child);
    // The kernel's signal for a write beyond the limit.
    let pid = rustix::process::Pid::from_raw(holder).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::XFSZ).unwrap();
    assert!(daemon.qd(&["send", "x", "hello"]).status.success());
    daemon.wait_pattern("x", "got:hello");
    assert_eq!(testkit::process_scan::parent(child), holder, "the same holder has it");
    let ignored = std::fs::read_to_string(format!("/proc/{child}/status")).unwrap();
    let ignored = ignored.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim().to_owned();
    let ignored = u64::from_str_radix(&ignored, 16).unwrap();
    let limit = rustix::process::Signal::XFSZ.as_raw();
    assert_eq!(ignored >> (limit - 1) & 1, 0, "a child meets the limit as it would without us");
    assert!(daemon.qd(&["close", "x"]).status.success());
}

#[test]
fn m8_a_directory_of_holders_that_others_may_enter_is_found_by_doctor() {
    let daemon = TestDaemon::without_start(QD);
    daemon.spawn("x", testkit::child::run_for_ever());
    assert!(daemon.qd(&["doctor"]).status.success());
    let holders = daemon.dirs().holders();
    std::fs::set_permissions(&holders, Permissions::from_mode(0o755)).unwrap();
    let told = said(&daemon.qd(&["doctor"]));
    assert!(told.contains(&format!("chmod 700 {}", holders.display())), "{told}");
}

//! `cargo xtask setup`: installs what the tests and the bench call: Debian packages, pinned cargo tools and the packages of the page;
//! `setup/vendors` has the vendors' programs. It installs only what is missing, so a second run costs
//! nothing. Without root it prints the command to run.

pub(crate) mod vendors;

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::{page, step};

/// (program that must be on PATH, Debian package that brings it, who needs it).
const NEEDED: &[(&str, &str, &str)] = &[
    ("git", "git", "tidy"),
    ("python3", "python3", "fake children in tests"),
    ("perl", "perl-base", "fake children in tests"),
    ("bash", "bash", "shell tests"),
    ("zsh", "zsh", "shell tests"),
    ("fish", "fish", "shell tests"),
    ("tmux", "tmux", "bench and tests"),
    ("xterm", "xterm", "a person's terminal in tests"),
    ("Xvfb", "xvfb", "a display for it"),
    ("setsid", "util-linux", "bench"),
    ("c++", "g++", "the fuzzing runtime"),
    ("node", "nodejs", "vendors' programs in tests"),
    ("npm", "npm", "vendors' programs in tests"),
    ("chromium", "chromium", "tests of the page"),
    ("nginx", "nginx-light", "tests of the page behind a proxy"),
    ("caddy", "caddy", "tests of the page behind a proxy"),
    ("openssl", "openssl", "certificates of these proxies"),
];

/// Programs that only make the bench table or a test longer: peers, the counter of instructions, what runs in panes. A
/// distribution without them is no reason to fail.
const WELCOME: &[(&str, &str)] = &[
    ("dtach", "dtach"),
    ("abduco", "abduco"),
    ("screen", "screen"),
    ("valgrind", "valgrind"),
    ("htop", "htop"),
    ("vim", "vim"),
    ("less", "less"),
];

/// Pinned so that every machine checks the same tree by the same rules.
const DENY_VERSION: &str = "0.20.2";

/// Installs what is missing and says what it did.
pub(crate) fn command(arguments: &[String]) -> Result<(), String> {
    if let Some(extra) = arguments.first() {
        return Err(format!("takes no arguments, got `{extra}`"));
    }
    debian_packages()?;
    vendors::install()?;
    page::install()?;
    cargo_deny()
}

/// Returns the `cargo-deny` to call: ours if `setup` built one, else the one on PATH.
pub(crate) fn deny_program() -> PathBuf {
    let ours = tools_dir().join("bin/cargo-deny");
    if ours.is_file() { ours } else { PathBuf::from("cargo-deny") }
}

fn debian_packages() -> Result<(), String> {
    let needed: Vec<&str> =
        NEEDED.iter().filter(|(program, ..)| is_missing(program)).map(|(_, package, _)| *package).collect();
    let welcome: Vec<&str> =
        WELCOME.iter().filter(|(program, _)| is_missing(program)).map(|(_, package)| *package).collect();
    if needed.is_empty() && welcome.is_empty() {
        println!("setup: all programs present");
        return Ok(());
    }
    if is_missing("apt-get") {
        return without_apt(&needed, &welcome);
    }
    if !rustix::process::geteuid().is_root() {
        return without_root(&needed, &welcome);
    }
    if !needed.is_empty() {
        step::output(&mut apt(&["update"]))?;
        install(&needed)?;
        println!("setup: installed {}", needed.join(" "));
    }
    // Queries the local package lists: looking for a package that this release does not have must cost
    // nothing.
    for package in welcome {
        match is_packaged(package).then(|| install(&[package])) {
            Some(Ok(())) => println!("setup: installed {package}"),
            Some(Err(error)) => println!("setup: the bench goes without {package}: {error}"),
            None => println!("setup: {package} is not packaged here; the bench goes without it"),
        }
    }
    Ok(())
}

/// Installs packages; a server among them is not started.
fn install(packages: &[&str]) -> Result<(), String> {
    let _stopped = NoServices::begin(PathBuf::from("/usr/sbin/policy-rc.d"));
    let mut command = apt(&["install", "--yes", "--no-install-recommends"]);
    step::output(command.args(packages)).map(|_| ())
}

/// While this lives, Debian starts no service that it installs: the proxies of the tests would take port 80. A machine that
/// has a rule of its own for that keeps it.
struct NoServices(Option<PathBuf>);

impl NoServices {
    fn begin(rule: PathBuf) -> Self {
        let made = OpenOptions::new().write(true).create_new(true).mode(0o755).open(&rule);
        let written = made.and_then(|mut file| file.write_all(b"#!/bin/sh\nexit 101\n"));
        Self(written.is_ok().then_some(rule))
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if let Some(rule) = &self.0 {
            let _gone = std::fs::remove_file(rule);
        }
    }
}

fn is_packaged(package: &str) -> bool {
    step::output(step::command("apt-cache").args(["show", package])).is_ok()
}

fn apt(arguments: &[&str]) -> std::process::Command {
    let mut command = step::command("apt-get");
    command.arg("-qq").args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn without_apt(needed: &[&str], welcome: &[&str]) -> Result<(), String> {
    if needed.is_empty() {
        println!("setup: no apt-get here; the bench goes without {}", welcome.join(" "));
        return Ok(());
    }
    Err(format!("no apt-get on this system; install these by hand: {}", needed.join(" ")))
}

fn without_root(needed: &[&str], welcome: &[&str]) -> Result<(), String> {
    let all = [needed, welcome].concat().join(" ");
    println!("setup: run this first: sudo apt-get update && sudo apt-get install {all}");
    if needed.is_empty() {
        return Ok(());
    }
    Err(format!("missing {} and no right to install them", needed.join(" ")))
}

fn is_missing(program: &str) -> bool {
    // Servers are on the PATH of root alone.
    step::find_program(program).is_none() && !Path::new("/usr/sbin").join(program).is_file()
}

/// Tools are built into the target directory, so they belong to this checkout and are removed with it.
fn tools_dir() -> PathBuf {
    step::target_dir().join("tools")
}

fn cargo_deny() -> Result<(), String> {
    let wanted = format!("cargo-deny {DENY_VERSION}");
    if version_of(&deny_program()).is_some_and(|version| version.trim() == wanted) {
        println!("setup: {wanted} present");
        return Ok(());
    }
    // Unoptimised and without default features: 80 s on two cores instead of five minutes, and it runs for one.
    println!("setup: building {wanted} (once, about two minutes)");
    let mut command = step::cargo(&["install", "--quiet", "--locked", "--debug", "--version", DENY_VERSION]);
    command.args(["--no-default-features", "cargo-deny", "--root"]).arg(tools_dir());
    // Its own build directory: the shared one would be rebuilt with other flags and back again.
    step::run(command.env("CARGO_TARGET_DIR", tools_dir().join("build")))?;
    // The build directory is several hundred megabytes and never used again.
    let _unused = std::fs::remove_dir_all(tools_dir().join("build"));
    Ok(())
}

fn version_of(program: &PathBuf) -> Option<String> {
    let mut command = step::command(program);
    step::output(command.arg("--version").stderr(Stdio::null())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_exist_is_missing_and_a_shell_is_not() {
        assert!(is_missing("no-such-program-anywhere"));
        assert!(!is_missing("sh"));
    }

    #[test]
    fn a_rule_against_services_goes_again_and_one_of_the_machine_stays() {
        let rule = std::env::temp_dir().join(format!("qd-setup-policy-{}", std::process::id()));
        let ours = NoServices::begin(rule.clone());
        assert!(rule.is_file());
        drop(NoServices::begin(rule.clone()));
        assert!(rule.is_file(), "another one's");
        drop(ours);
        assert!(!rule.exists());
    }

    #[test]
    fn without_root_only_needed_packages_are_an_error() {
        assert!(without_root(&[], &["dtach"]).is_ok());
        let error = without_root(&["zsh"], &["dtach"]).unwrap_err();
        assert!(error.contains("zsh") && !error.contains("dtach"));
    }
}

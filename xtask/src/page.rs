//! `cargo xtask page`: builds the browser's page into web/dist. `setup` installs what the build needs,
//! and `test` checks that the committed files are what the sources give and runs the page's tests.

use std::path::PathBuf;
use std::process::Command;

use crate::step;
use crate::test::failures;

/// Node older than this cannot run the build.
const NODE: (u32, u32) = (20, 19);

/// Builds the page.
pub(crate) fn command(arguments: &[String]) -> Result<(), String> {
    if let Some(extra) = arguments.first() {
        return Err(format!("takes no arguments, got `{extra}`"));
    }
    install()?;
    step::run(&mut npm(&["run", "--silent", "build"]))
}

/// Installs the packages that the lock file pins, unless they are there. No script of a package runs.
pub(crate) fn install() -> Result<(), String> {
    check_node(&step::output(step::command("node").arg("--version"))?)?;
    if is_installed() {
        println!("setup: packages of the page present");
        return Ok(());
    }
    println!("setup: installing the packages of the page");
    step::output(&mut npm(&["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]))?;
    write_mark()
}

/// Checks the page alone: types, tests of its parts, the committed bytes and their sizes, the views in Chromium,
/// and that they look as in docs/screens/web.
pub(crate) fn check() -> Result<(), String> {
    step::run(&mut npm(&["run", "--silent", "test"]))?;
    step::run(&mut npm(&["run", "--silent", "check"]))?;
    in_chromium(|| npm(&["run", "--silent", "browser"]))?;
    step::run(&mut npm(&["run", "--silent", "compare"]))
}

/// Checks the page in Chromium with the `qd` that was built.
pub(crate) fn check_with_server() -> Result<(), String> {
    in_chromium(|| {
        let mut command = npm(&["run", "--silent", "real"]);
        command.env("QD_PROGRAM", step::target_dir().join("debug/qd"));
        command
    })
}

/// Runs tests in Chromium, all of them once more if a few fail.
fn in_chromium(tests: impl Fn() -> Command) -> Result<(), String> {
    failures::run(&mut tests(), |_| tests(), &mut std::io::stdout())
}

fn check_node(version: &str) -> Result<(), String> {
    let numbers: Vec<u32> =
        version.trim().trim_start_matches('v').split('.').filter_map(|part| part.parse().ok()).collect();
    let (major, minor) = NODE;
    match numbers[..] {
        [found, and, ..] if (found, and) >= NODE => Ok(()),
        _ => Err(format!(
            "the page needs Node {major}.{minor} or newer, this is {}: install it from nodejs.org",
            version.trim()
        )),
    }
}

fn place() -> PathBuf {
    step::root().join("web/page")
}

fn npm(arguments: &[&str]) -> Command {
    let mut command = step::command("npm");
    command.current_dir(place()).args(arguments);
    command
}

/// A copy of the lock file that was installed. npm's own record has another form.
fn mark() -> PathBuf {
    place().join("node_modules/.installed-lock.json")
}

fn is_installed() -> bool {
    let read = |path: PathBuf| std::fs::read(path).ok();
    let lock = read(place().join("package-lock.json"));
    lock.is_some() && lock == read(mark())
}

fn write_mark() -> Result<(), String> {
    let lock = place().join("package-lock.json");
    std::fs::copy(&lock, mark()).map(|_| ()).map_err(|error| format!("{}: {error}", lock.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_must_be_new_enough() {
        assert!(check_node("v20.19.0\n").is_ok());
        assert!(check_node("v22.1.0").is_ok());
        for old in ["v18.20.4", "v20.18.9", "", "node"] {
            assert!(check_node(old).unwrap_err().contains("20.19"), "{old}");
        }
    }
}

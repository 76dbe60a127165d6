//! Installs the foreign programs that end-to-end tests run: the vendors' own and the public tools that check
//! our servers. They are pinned npm packages in a cache shared by all checkouts, each installed whole or not
//! at all. The lists are in testkit.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::step;

/// Where the tests keep the lists.
const LISTS: [&str; 2] = ["crates/testkit/src/vendor/pins.json", "crates/testkit/src/vendor/tools.json"];

/// One program to install.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pin {
    pub(crate) name: String,
    pub(crate) package: String,
    pub(crate) version: String,
    /// A script of the package that installs its native program. We run it ourselves, because npm is
    /// configured to run none: dependencies of dependencies would compile things that are never used.
    pub(crate) finish: Option<String>,
    /// Where the program is in its package, when npm has not linked it because a script installs it later.
    pub(crate) program: Option<String>,
    /// The name of the program, installed before, that runs this one. The system's is too old for some.
    pub(crate) runtime: Option<String>,
}

impl Pin {
    /// Returns the directory that has all of it.
    fn place(&self, vendors: &Path) -> PathBuf {
        vendors.join(format!("{}@{}", self.package, self.version))
    }

    /// Returns the program, when all of it is in this directory.
    fn program(&self, place: &Path) -> PathBuf {
        let modules = place.join("node_modules");
        match &self.program {
            Some(program) => modules.join(&self.package).join(program),
            None => modules.join(".bin").join(&self.name),
        }
    }
}

/// Installs what is missing.
pub(super) fn install() -> Result<(), String> {
    all_pins()?.iter().try_for_each(install_pin)
}

/// Installs one program in one version, unless it is there.
pub(crate) fn install_pin(pin: &Pin) -> Result<(), String> {
    let vendors = vendors_dir()?;
    let place = pin.place(&vendors);
    if place.is_dir() {
        println!("setup: {} {} present", pin.package, pin.version);
        return Ok(());
    }
    println!("setup: installing {} {}", pin.package, pin.version);
    let runtime = runtime(pin, &all_pins()?, &vendors)?;
    put_in_place(pin, runtime.as_deref(), &vendors, &place)
}

/// Returns the directory of one program in one version.
pub(crate) fn place_of(pin: &Pin) -> Result<PathBuf, String> {
    Ok(pin.place(&vendors_dir()?))
}

/// Returns the pinned program of this name.
pub(crate) fn pin_of(name: &str) -> Result<Pin, String> {
    let pin = all_pins()?.into_iter().find(|pin| pin.name == name);
    pin.ok_or_else(|| format!("no program called {name} is pinned"))
}

fn all_pins() -> Result<Vec<Pin>, String> {
    let mut all = Vec::new();
    for list in LISTS {
        let file = step::root().join(list);
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        all.extend(pins(&text).map_err(|error| format!("{list}: {error}"))?);
    }
    Ok(all)
}

fn pins(text: &str) -> Result<Vec<Pin>, String> {
    let list: Vec<Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    list.iter().map(pin).collect::<Option<_>>().ok_or_else(|| "a field is missing".to_owned())
}

/// Returns the directory with the program that runs this one; `None` when the system's suffices.
fn runtime(pin: &Pin, all: &[Pin], vendors: &Path) -> Result<Option<PathBuf>, String> {
    let Some(name) = &pin.runtime else { return Ok(None) };
    let found = all.iter().find(|other| other.name == *name);
    let found = found.ok_or_else(|| format!("{} needs {name}, which nobody installs", pin.name))?;
    Ok(found.program(&found.place(vendors)).parent().map(Path::to_owned))
}

fn pin(entry: &Value) -> Option<Pin> {
    let field = |name: &str| entry[name].as_str().map(str::to_owned);
    Some(Pin {
        name: field("name")?,
        package: field("package")?,
        version: field("version")?,
        finish: field("finish"),
        program: field("program"),
        runtime: field("runtime"),
    })
}

/// Installs beside the final place and moves it there once the program has printed its version, so that an
/// interrupted run leaves nothing that looks finished.
fn put_in_place(pin: &Pin, runtime: Option<&Path>, vendors: &Path, place: &Path) -> Result<(), String> {
    let draft = vendors.join(format!("draft-{}-{}", pin.name, std::process::id()));
    make_dir(&draft)?;
    let installed = fill(pin, runtime, &draft).and_then(|()| publish(&draft, place));
    if draft.exists() {
        drop(std::fs::remove_dir_all(&draft));
    }
    installed
}

fn publish(draft: &Path, place: &Path) -> Result<(), String> {
    place.parent().map_or(Ok(()), make_dir)?;
    match std::fs::rename(draft, place) {
        // Another checkout was quicker.
        Err(_) if place.is_dir() => Ok(()),
        moved => moved.map_err(|error| format!("{}: {error}", place.display())),
    }
}

fn make_dir(directory: &Path) -> Result<(), String> {
    std::fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))
}

fn fill(pin: &Pin, runtime: Option<&Path>, draft: &Path) -> Result<(), String> {
    let mut npm = step::command("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]);
    npm.args(["--loglevel=error", "--prefix"]).arg(draft).arg(format!("{}@{}", pin.package, pin.version));
    step::output(&mut npm)?;
    if let Some(finish) = &pin.finish {
        let package = draft.join("node_modules").join(&pin.package);
        step::output(step::command("node").arg(package.join(finish)).current_dir(&package))?;
    }
    let mut program = step::command(pin.program(draft));
    if let Some(runtime) = runtime {
        let path = std::env::var("PATH").unwrap_or_default();
        program.env("PATH", format!("{}:{path}", runtime.display()));
    }
    let printed = step::output(program.arg("--version"))?;
    if printed.split_whitespace().any(|word| word.trim_start_matches('v') == pin.version) {
        return Ok(());
    }
    Err(format!("{} {} was installed, but calls itself `{}`", pin.name, pin.version, printed.trim()))
}

/// Returns the directory in which the tests look.
fn vendors_dir() -> Result<PathBuf, String> {
    let set =
        |name: &str| std::env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
    if let Some(directory) = set("QD_VENDORS_DIR") {
        return Ok(directory);
    }
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    cache.map(|cache| cache.join("quarterdeck/vendors")).ok_or_else(|| "HOME is not set".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_of_the_tests_can_be_read_and_pin_every_program_once() {
        let pins = all_pins().unwrap();
        assert!(pins.iter().all(|pin| pin.version.split('.').count() >= 3), "{pins:?}");
        let mut names: Vec<&str> = pins.iter().map(|pin| pin.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), pins.len(), "{pins:?}");
    }

    #[test]
    fn a_program_is_installed_after_the_one_that_runs_it() {
        let pins = all_pins().unwrap();
        for (number, pin) in pins.iter().enumerate() {
            assert!(runtime(pin, &pins[..number], Path::new("/v")).is_ok(), "{pin:?}");
        }
    }

    #[test]
    fn an_entry_without_a_version_is_refused() {
        assert!(pins(r#"[{"name": "a", "package": "b"}]"#).unwrap_err().contains("missing"));
    }

    #[test]
    fn a_failed_installation_leaves_nothing() {
        let vendors = std::env::temp_dir().join(format!("xtask-vendors-{}", std::process::id()));
        let broken = r#"[{"name": "none", "package": "./no-such-package", "version": "0.0.0"}]"#;
        let pins = pins(broken).unwrap();
        let place = vendors.join("none@0.0.0");
        assert!(put_in_place(&pins[0], None, &vendors, &place).is_err());
        assert_eq!(std::fs::read_dir(&vendors).unwrap().count(), 0);
        std::fs::remove_dir(&vendors).unwrap();
    }
}

//! The vendors' programs that end-to-end tests run: pinned npm packages in a cache shared by all checkouts. Owns their
//! installation, each whole or not at all; refuses to know any vendor: the list belongs to the tests.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::step;

/// Where the tests keep the list.
const PINS: &str = "crates/testkit/src/vendor/pins.json";

/// One program to install.
#[derive(Debug, PartialEq)]
struct Pin {
    name: String,
    package: String,
    version: String,
    /// A script of the package that puts its native program in place. Called by us because npm is told to run none:
    /// dependencies of dependencies would compile things nobody uses.
    finish: Option<String>,
}

/// Installs what is missing.
pub(super) fn install() -> Result<(), String> {
    let vendors = vendors_dir()?;
    let list = step::root().join(PINS);
    let text = std::fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    for pin in pins(&text)? {
        let place = vendors.join(format!("{}@{}", pin.package, pin.version));
        if place.is_dir() {
            println!("setup: {} {} present", pin.package, pin.version);
        } else {
            println!("setup: installing {} {}", pin.package, pin.version);
            put_in_place(&pin, &vendors, &place)?;
        }
    }
    Ok(())
}

fn pins(text: &str) -> Result<Vec<Pin>, String> {
    let list: Vec<Value> = serde_json::from_str(text).map_err(|error| format!("{PINS}: {error}"))?;
    list.iter().map(pin).collect::<Option<_>>().ok_or_else(|| format!("{PINS}: a field is missing"))
}

fn pin(entry: &Value) -> Option<Pin> {
    let field = |name: &str| entry[name].as_str().map(str::to_owned);
    Some(Pin {
        name: field("name")?,
        package: field("package")?,
        version: field("version")?,
        finish: field("finish"),
    })
}

/// Installs beside the final place and moves it there when its program has told its version, so that an interrupted
/// run leaves nothing that looks finished.
fn put_in_place(pin: &Pin, vendors: &Path, place: &Path) -> Result<(), String> {
    let draft = vendors.join(format!("draft-{}-{}", pin.name, std::process::id()));
    make_dir(&draft)?;
    let installed = fill(pin, &draft).and_then(|()| publish(&draft, place));
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

fn fill(pin: &Pin, draft: &Path) -> Result<(), String> {
    let mut npm = step::command("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]);
    npm.args(["--loglevel=error", "--prefix"]).arg(draft).arg(format!("{}@{}", pin.package, pin.version));
    step::output(&mut npm)?;
    let modules = draft.join("node_modules");
    if let Some(finish) = &pin.finish {
        let package = modules.join(&pin.package);
        step::output(step::command("node").arg(package.join(finish)).current_dir(&package))?;
    }
    let told = step::output(step::command(modules.join(".bin").join(&pin.name)).arg("--version"))?;
    if told.split_whitespace().any(|word| word == pin.version) {
        return Ok(());
    }
    Err(format!("{} {} was installed, but calls itself `{}`", pin.name, pin.version, told.trim()))
}

/// The directory the tests look in.
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
    fn the_list_of_the_tests_can_be_read() {
        let text = std::fs::read_to_string(step::root().join(PINS)).unwrap();
        let pins = pins(&text).unwrap();
        assert_eq!(pins.len(), 4);
        assert!(pins.iter().all(|pin| pin.version.split('.').count() == 3), "{pins:?}");
    }

    #[test]
    fn an_entry_without_a_version_is_refused() {
        assert!(pins(r#"[{"name": "a", "package": "b"}]"#).unwrap_err().contains("missing"));
    }

    #[test]
    fn a_failed_installation_leaves_nothing() {
        let vendors = std::env::temp_dir().join(format!("xtask-vendors-{}", std::process::id()));
        let pin = Pin {
            name: "none".to_owned(),
            package: "./no-such-package".to_owned(),
            version: "0.0.0".to_owned(),
            finish: None,
        };
        let place = vendors.join("none@0.0.0");
        assert!(put_in_place(&pin, &vendors, &place).is_err());
        assert_eq!(std::fs::read_dir(&vendors).unwrap().count(), 0);
        std::fs::remove_dir(&vendors).unwrap();
    }
}

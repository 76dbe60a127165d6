//! `cargo xtask vendors`: runs the scenarios of the vendors' tests with older versions and with the newest one of each
//! program, and prints what works as a table; `--bless` writes the table into docs/agents.md.
//!
//! The programs and versions are listed beside the tests. A version that was not installed before is removed again.

mod table;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::setup::vendors::{self, Pin};
use crate::step;
use table::{Row, Table};

/// Which older versions are tried when no version is named.
const OLDER: &str = "crates/testkit/src/vendor/older.json";
/// Where the table stands.
const DOCUMENT: &str = "docs/agents.md";

/// What is wished on the command line.
#[derive(Debug, Default, PartialEq)]
struct Options {
    vendor: Option<String>,
    version: Option<String>,
    is_blessed: bool,
}

/// Installs each version, runs its scenarios and prints the table.
pub(crate) fn command(arguments: &[String]) -> Result<(), String> {
    let options = options(arguments)?;
    step::run(&mut step::cargo(&["test", "--quiet", "--workspace", "--test", "vendors", "--no-run"]))?;
    let mut rows = Vec::new();
    for pin in wanted(&options)? {
        println!("vendors: {} {}", pin.name, pin.version);
        rows.push(row(&pin)?);
    }
    let document = step::root().join(DOCUMENT);
    let text = read(&document)?;
    let known = Table::in_text(&text).map_err(|error| format!("{DOCUMENT}: {error}"))?;
    let table = known.with(rows);
    println!("{}", table.text());
    if options.is_blessed {
        let renewed = table.put_into(&text).map_err(|error| format!("{DOCUMENT}: {error}"))?;
        std::fs::write(&document, renewed).map_err(|error| format!("{DOCUMENT}: {error}"))?;
    }
    Ok(())
}

fn options(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--vendor" => options.vendor = Some(value()?),
            "--version" => options.version = Some(value()?),
            "--bless" => options.is_blessed = true,
            other => {
                return Err(format!("unknown argument `{other}`: --vendor NAME, --version X.Y.Z, --bless"));
            }
        }
    }
    if options.version.is_some() && options.vendor.is_none() {
        return Err(
            "--version needs --vendor: versions of different programs have nothing in common".to_owned()
        );
    }
    Ok(options)
}

/// Returns which programs in which versions: those named, else the older ones of the list and the newest.
fn wanted(options: &Options) -> Result<Vec<Pin>, String> {
    let older: Vec<Value> = serde_json::from_str(&read(&step::root().join(OLDER))?)
        .map_err(|error| format!("{OLDER}: {error}"))?;
    let mut all = Vec::new();
    for entry in &older {
        let name = entry["name"].as_str().unwrap_or_default();
        if options.vendor.as_deref().is_some_and(|vendor| vendor != name) {
            continue;
        }
        let pin = vendors::pin_of(name)?;
        let versions = match &options.version {
            Some(version) => vec![version.clone()],
            None => {
                let listed = entry["versions"].as_array().into_iter().flatten().filter_map(Value::as_str);
                listed.map(str::to_owned).chain([newest(&pin)?]).collect()
            }
        };
        all.extend(versions.into_iter().map(|version| Pin { version, ..pin.clone() }));
    }
    if all.is_empty() { Err(format!("{OLDER} lists no such program")) } else { Ok(all) }
}

fn newest(pin: &Pin) -> Result<String, String> {
    let told = step::output(step::command("npm").args(["view", &pin.package, "version"]))?;
    Ok(told.trim().to_owned())
}

/// Runs the scenarios with one version.
fn row(pin: &Pin) -> Result<Row, String> {
    let was_there = vendors::place_of(pin)?.is_dir();
    vendors::install_pin(pin)?;
    let logs = step::target_dir().join("vendors");
    std::fs::create_dir_all(&logs).map_err(|error| format!("{}: {error}", logs.display()))?;
    let report = logs.join(format!("{}-{}.jsonl", pin.name, pin.version));
    // What an earlier run has left.
    drop(std::fs::remove_file(&report));
    let log = run_scenarios(pin, &report, &logs)?;
    if !was_there {
        let place = vendors::place_of(pin)?;
        std::fs::remove_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    }
    let row = Row::from_report(&pin.name, &pin.version, &read(&report)?);
    row.map_err(|error| format!("{}: {error}; see {}", report.display(), log.display()))
}

/// A scenario that fails is a word in the table, not the end: what it printed is kept.
fn run_scenarios(pin: &Pin, report: &Path, logs: &Path) -> Result<PathBuf, String> {
    let filter = format!("_{}_meets_every_scenario", pin.name);
    let mut tests = step::cargo(&["test", "--quiet", "--workspace", "--test", "vendors", "--", &filter]);
    tests.env("QD_TEST_VERSION", format!("{}@{}", pin.name, pin.version)).env("QD_VENDOR_REPORT", report);
    let output = tests.output().map_err(|error| format!("cargo cannot be started: {error}"))?;
    let log = logs.join(format!("{}-{}.log", pin.name, pin.version));
    let text = [output.stdout, output.stderr].concat();
    std::fs::write(&log, text).map_err(|error| format!("{}: {error}", log.display()))?;
    Ok(log)
}

fn read(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Options, String> {
        options(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn c22_a_version_is_tried_only_of_a_named_program() {
        assert_eq!(words("").unwrap(), Options::default());
        let named = words("--vendor a --version 1.2.3 --bless").unwrap();
        assert_eq!((named.vendor.as_deref(), named.version.as_deref()), (Some("a"), Some("1.2.3")));
        assert!(named.is_blessed);
        for wrong in ["--version 1.2.3", "--vendor", "now"] {
            assert!(words(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn c22_older_versions_are_listed_for_programs_that_are_pinned() {
        let unknown = Options { vendor: Some("nothing-of-this-name".to_owned()), ..Options::default() };
        assert!(wanted(&unknown).unwrap_err().contains("no such program"));
        let older: Vec<Value> = serde_json::from_str(&read(&step::root().join(OLDER)).unwrap()).unwrap();
        for entry in &older {
            let pin = vendors::pin_of(entry["name"].as_str().unwrap()).unwrap();
            let versions = entry["versions"].as_array().unwrap();
            assert!(versions.len() >= 2 && versions.iter().all(|version| *version != pin.version), "{entry}");
        }
    }
}

//! Instruction counts of the hot paths for a byte, a key, a frame, a repaint, by callgrind, because time is
//! too noisy to show five per cent. Compares them with the committed counts. Each crate's example does the
//! work. The counts hold for one compiler and one kind of processor: `--bless` renews them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::goals::Verdict;
use super::report::{Report, Unit};
use crate::step;

/// The committed counts.
const COUNTS: &str = "xtask/instructions.txt";
/// How much more than the committed count is a loss, and how much less is worth committing.
const TOLERANCE: f64 = 0.05;

/// Crates with hot paths, and the example of each that runs them.
const EXAMPLES: &[(&str, &str)] =
    &[("term", "screen_instructions"), ("proto", "wire_instructions"), ("tui", "deck_instructions")];

/// One hot path: the crate whose example runs it, its case there, and its unit.
struct HotPath {
    package: &'static str,
    case: &'static str,
    unit: &'static str,
}

const fn path(package: &'static str, case: &'static str, unit: &'static str) -> HotPath {
    HotPath { package, case, unit }
}

const PATHS: &[HotPath] = &[
    path("term", "plain", "byte"),
    path("term", "colour", "byte"),
    path("term", "true-colour", "byte"),
    path("term", "utf8", "byte"),
    path("term", "tui", "byte"),
    path("term", "keys", "key"),
    path("term", "repaint", "drawing"),
    path("term", "text", "text"),
    path("term", "checkpoint", "checkpoint"),
    path("proto", "encode-short", "frame"),
    path("proto", "encode-long", "frame"),
    path("proto", "decode-short", "frame"),
    path("proto", "decode-long", "frame"),
    path("proto", "call", "call"),
    path("proto", "filter-colour", "byte"),
    path("proto", "filter-query", "byte"),
    path("tui", "whole", "picture"),
    path("tui", "row", "key"),
];

impl HotPath {
    /// Returns its name in the table and in the committed file.
    fn name(&self) -> String {
        format!("{} {}, per {}", self.package, self.case, self.unit)
    }
}

/// Counts everything and compares it. Without callgrind there is nothing to compare; a count that fails is a
/// missed goal and does not stop the others.
pub(crate) fn run(report: &mut Report) -> Vec<Verdict> {
    if step::find_program("valgrind").is_none() {
        report.note("qd", super::INSTRUCTIONS, "valgrind is not on PATH; `cargo xtask setup` installs it");
        return Vec::new();
    }
    let (counts, committed) = match (count_all(), committed()) {
        (Ok(counts), Ok(committed)) => (counts, committed),
        (Err(error), _) | (_, Err(error)) => {
            report.note("qd", super::INSTRUCTIONS, &error);
            return vec![verdict("all", None, None)];
        }
    };
    let mut verdicts = Vec::new();
    for (name, count) in counts {
        report.record(&format!("instructions, {name}"), "qd", Unit::Count, Ok(count));
        let before = committed.get(&name).copied();
        if before.is_some_and(|before| count < before * (1.0 - TOLERANCE)) {
            report.note("qd", &name, "needs fewer instructions than committed; renew with `bench --bless`");
        }
        verdicts.push(verdict(&name, Some(count), before));
    }
    verdicts
}

/// Counts everything and writes the file.
pub(crate) fn bless() -> Result<(), String> {
    let mut text = String::from("# Instructions of the hot paths, by `cargo xtask bench --bless`.\n");
    for (name, count) in count_all()? {
        // Writing to a string does not fail.
        let _written = writeln!(text, "{count:.2} {name}");
    }
    let file = step::root().join(COUNTS);
    std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    println!("bench: {COUNTS} renewed");
    Ok(())
}

fn verdict(name: &str, count: Option<f64>, committed: Option<f64>) -> Verdict {
    let limit = committed.map(|committed| committed * (1.0 + TOLERANCE));
    let shown =
        |figure: Option<f64>| figure.map_or_else(|| "none".to_owned(), |figure| format!("{figure:.2}"));
    Verdict {
        name: "instructions",
        row: name.to_owned(),
        value: shown(count),
        limit: format!("<={}", shown(limit)),
        is_met: count.zip(limit).is_some_and(|(count, limit)| count <= limit),
    }
}

fn committed() -> Result<BTreeMap<String, f64>, String> {
    let file = step::root().join(COUNTS);
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(parse(&text))
}

fn parse(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(count, name)| Some((name.to_owned(), count.parse().ok()?)))
        .collect()
}

fn count_all() -> Result<Vec<(String, f64)>, String> {
    let mut programs = BTreeMap::new();
    for (package, example) in EXAMPLES {
        programs.insert(*package, build(package, example)?);
    }
    let mut counts = Vec::new();
    for path in PATHS {
        let program = programs.get(path.package).ok_or("a path of a crate that was not built")?;
        let (once, units) = count(program, path.case, 1)?;
        let (twice, _) = count(program, path.case, 2)?;
        if units == 0 || twice <= once {
            return Err(format!("{} counts nothing", path.name()));
        }
        counts.push((path.name(), (twice - once) as f64 / units as f64));
    }
    Ok(counts)
}

/// Builds it as the product is.
pub(super) fn build(package: &str, example: &str) -> Result<PathBuf, String> {
    let mut command =
        step::cargo(&["build", "--release", "--quiet", "--package", package, "--example", example]);
    step::run(&mut command)?;
    Ok(step::target_dir().join("release/examples").join(example))
}

/// Instructions of the whole process, and the units of one pass.
fn count(program: &Path, case: &str, passes: usize) -> Result<(u64, u64), String> {
    let mut command = step::command("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    let output = command.args([case, &passes.to_string()]).output();
    let output = output.map_err(|error| format!("cannot start valgrind: {error}"))?;
    let (printed, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let units = printed.trim().parse().map_err(|_| format!("`{case}` named no units: {printed}"))?;
    let counted = collected(&said).ok_or_else(|| format!("callgrind counted nothing: {said}"))?;
    Ok((counted, units))
}

fn collected(said: &str) -> Option<u64> {
    let line = said.lines().find_map(|line| line.split_once("Collected :"))?;
    line.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_what_callgrind_says() {
        assert_eq!(collected("==7== Events    : Ir\n==7== Collected : 40215\n"), Some(40215));
        assert_eq!(collected("==7== nothing"), None);
    }

    #[test]
    fn five_per_cent_more_is_too_much_and_less_is_not() {
        assert!(verdict("x", Some(104.9), Some(100.0)).is_met);
        assert!(!verdict("x", Some(105.1), Some(100.0)).is_met);
        assert!(verdict("x", Some(10.0), Some(100.0)).is_met);
        assert!(!verdict("x", Some(10.0), None).is_met, "a path without a committed count");
        assert!(!verdict("x", None, Some(100.0)).is_met, "a path that could not be counted");
    }

    #[test]
    fn every_path_has_a_committed_count() {
        let committed = committed().unwrap();
        for path in PATHS {
            assert!(committed.get(&path.name()).is_some_and(|count| *count > 0.0), "{}", path.name());
        }
        assert_eq!(committed.len(), PATHS.len());
    }
}

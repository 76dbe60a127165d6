//! `cargo xtask fuzz`: a short run of every fuzz target. Owns the compiler flags that give libFuzzer its coverage
//! on a stable compiler, so the smoke run needs neither nightly nor cargo-fuzz; long hunts with sanitizers use
//! `cargo +nightly fuzz run` on the same directory. Refuses to keep a corpus: that is for the long hunts.

use std::path::PathBuf;
use std::time::Instant;

use crate::step;

/// What `cargo fuzz --sanitizer none` passes: edge counters and comparison tracing through LLVM, which need no
/// unstable compiler option. Debug assertions stay on so that overflow counts as a crash.
const COVERAGE_FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions";

/// An input that takes longer than this, or a process that grows past the limit, is a finding.
const HANG_SECONDS: u32 = 10;
const MEMORY_LIMIT_MIB: u32 = 1024;

/// Parses `[--seconds N] [TARGET]` and runs.
pub(crate) fn command(arguments: &[String]) -> Result<(), String> {
    let mut seconds = 15;
    let mut target = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--seconds" {
            let value = rest.next().ok_or("--seconds needs a number")?;
            seconds = value.parse().map_err(|_| format!("--seconds: `{value}` is not a number"))?;
        } else {
            target = Some(argument.as_str());
        }
    }
    smoke(seconds, target)
}

/// Builds all targets once, then runs each (or the one named) for `seconds`.
pub(crate) fn smoke(seconds: u32, only: Option<&str>) -> Result<(), String> {
    let manifest = std::fs::read_to_string(step::root().join("fuzz/Cargo.toml"))
        .map_err(|error| format!("cannot read fuzz/Cargo.toml: {error}"))?;
    let targets: Vec<String> =
        targets(&manifest).into_iter().filter(|name| only.is_none_or(|wanted| wanted == name)).collect();
    if targets.is_empty() {
        return Err(format!("no fuzz target {}", only.unwrap_or("in fuzz/Cargo.toml")));
    }
    let triple = host_triple()?;
    build(&targets, &triple)?;
    for name in &targets {
        run(name, &triple, seconds)?;
    }
    println!("fuzz: {} targets, {seconds} s each, no finding", targets.len());
    Ok(())
}

/// Naming the target triple keeps the coverage flags away from build scripts and proc macros.
fn build(targets: &[String], triple: &str) -> Result<(), String> {
    let mut command = step::cargo(&["build", "--release", "--quiet", "--manifest-path", "fuzz/Cargo.toml"]);
    command.args(["--target", triple]).args(targets.iter().flat_map(|name| ["--bin", name]));
    step::run(command.env("RUSTFLAGS", COVERAGE_FLAGS).env("CARGO_TARGET_DIR", build_dir()))
}

fn run(name: &str, triple: &str, seconds: u32) -> Result<(), String> {
    let artifacts = step::root().join("fuzz/artifacts").join(name);
    std::fs::create_dir_all(&artifacts).map_err(|error| format!("{}: {error}", artifacts.display()))?;
    let mut command = step::command(build_dir().join(triple).join("release").join(name));
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-timeout={HANG_SECONDS}"));
    command.arg(format!("-rss_limit_mb={MEMORY_LIMIT_MIB}"));
    command.args(["-print_final_stats=1", "-verbosity=0"]);
    // Seeds committed beside the targets, if there are any.
    let seeds = step::root().join("fuzz/seeds").join(name);
    if seeds.is_dir() {
        command.arg(scratch_corpus(name)?).arg(seeds);
    }
    let start = Instant::now();
    let printed = command.output().map_err(|error| format!("cannot start fuzz target {name}: {error}"))?;
    let said = String::from_utf8_lossy(&printed.stderr).into_owned();
    if !printed.status.success() {
        let kept = artifacts.display();
        return Err(format!(
            "fuzz target {name} found something ({}); input in {kept}\n{said}",
            printed.status
        ));
    }
    let inputs =
        executed(&said).ok_or_else(|| format!("fuzz target {name} did not say how much it ran:\n{said}"))?;
    if inputs == 0 {
        return Err(format!("fuzz target {name} executed no input"));
    }
    println!("fuzz: {name}: {inputs} inputs in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// libFuzzer writes what it learns into the first corpus directory; the committed seeds stay as they are.
fn scratch_corpus(name: &str) -> Result<PathBuf, String> {
    let directory = build_dir().join("corpus").join(name);
    std::fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    Ok(directory)
}

fn build_dir() -> PathBuf {
    step::target_dir().join("fuzz")
}

fn host_triple() -> Result<String, String> {
    let version = step::output(step::command("rustc").arg("-vV"))?;
    let line = version.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| "rustc -vV names no host".to_owned())
}

/// The names of all `[[bin]]` tables.
fn targets(manifest: &str) -> Vec<String> {
    let mut in_bin = false;
    let mut names = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            in_bin = line == "[[bin]]";
        } else if let Some(value) = line.strip_prefix("name").filter(|_| in_bin) {
            names.push(value.trim_matches([' ', '=', '"']).to_owned());
        }
    }
    names
}

fn executed(said: &str) -> Option<u64> {
    let line = said.lines().find(|line| line.contains("number_of_executed_units"))?;
    line.rsplit(' ').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_the_bin_names_and_not_the_package_name() {
        let manifest = "[package]\nname = \"fuzz\"\n[[bin]]\nname = \"frame\"\npath = \"a.rs\"\n[[bin]]\nname = \"screen\"\n";
        assert_eq!(targets(manifest), ["frame", "screen"]);
    }

    #[test]
    fn the_number_of_executed_inputs_is_read_from_the_final_statistics() {
        assert_eq!(executed("Done\nstat::number_of_executed_units: 4711\nstat::x: 1"), Some(4711));
        assert_eq!(executed("nothing"), None);
    }
}

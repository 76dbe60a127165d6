//! `cargo xtask fuzz`: runs every fuzz target for a short while or for a number of inputs. It passes the
//! compiler flags that give libFuzzer its coverage on a stable compiler, so that neither nightly nor
//! cargo-fuzz is needed. Long runs with sanitizers use `cargo +nightly fuzz run` on the same directory. The
//! committed seeds are only read: what a run learns stays in the build directory.

mod options;

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::step;
use options::{Budget, Options};

/// What `cargo fuzz --sanitizer none` passes: edge counters and comparison tracing through LLVM, which need no
/// unstable compiler option. Debug assertions stay on so that overflow counts as a crash.
const COVERAGE_FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions";

/// A process that grows past this is a finding.
const MEMORY_LIMIT_MIB: u32 = 512;
/// An input that never ends is a finding. Which one is too slow is said by the targets themselves, in processor time: a
/// machine that is busy elsewhere is no finding.
const ENDLESS_SECONDS: u32 = 30;
/// A target that is still there so long after its time is ended. libFuzzer's own alarm can stand still in itself.
const GRACE_SECONDS: u32 = 60;
/// Targets run at once; each is one thread.
const AT_ONCE: usize = 2;

/// Where the smoke run's chance begins: the same commit meets the same inputs, so that a finding is the commit's and not the
/// day's. Hunts begin elsewhere each time.
const SMOKE_SEED: u32 = 1;

/// What is known of a target.
struct Known {
    name: &'static str,
    /// Longest input. Inputs name long stretches in a few bytes (see `fuzz/src/lib.rs`), so this is where inputs of many
    /// pieces end, not where the parsers' limits are.
    max_length: u32,
    /// Inputs of a smoke run, about a quarter of a minute's work.
    smoke_runs: u32,
}

const KNOWN: &[Known] = &[
    Known { name: "deck_input", max_length: 16 << 10, smoke_runs: 100_000 },
    Known { name: "frame", max_length: 64 << 10, smoke_runs: 40_000 },
    Known { name: "git_diff", max_length: 64 << 10, smoke_runs: 40_000 },
    Known { name: "holder_wire", max_length: 64 << 10, smoke_runs: 500_000 },
    Known { name: "mcp_line", max_length: 64 << 10, smoke_runs: 15_000 },
    Known { name: "screen", max_length: 64 << 10, smoke_runs: 10_000 },
    Known { name: "terminal_filter", max_length: 96 << 10, smoke_runs: 30_000 },
    Known { name: "typed_keys", max_length: 16 << 10, smoke_runs: 100_000 },
];

/// Parses `[--seconds N | --runs N] [TARGET]` and runs.
pub(crate) fn command(arguments: &[String]) -> Result<(), String> {
    run_all(&options::parse(arguments)?)
}

/// Runs every target for a short time, the same for the same commit.
pub(crate) fn smoke() -> Result<(), String> {
    run_all(&Options { budget: Budget::Smoke, only: None })
}

/// Builds all targets once, then runs them, a few at a time.
fn run_all(options: &Options) -> Result<(), String> {
    let manifest = std::fs::read_to_string(step::root().join("fuzz/Cargo.toml"))
        .map_err(|error| format!("cannot read fuzz/Cargo.toml: {error}"))?;
    let targets: Vec<String> = targets(&manifest)
        .into_iter()
        .filter(|name| options.only.as_ref().is_none_or(|wanted| wanted == name))
        .collect();
    if targets.is_empty() {
        return Err(format!("no fuzz target {}", options.only.as_deref().unwrap_or("in fuzz/Cargo.toml")));
    }
    let triple = host_triple()?;
    build(&targets, &triple)?;
    for group in targets.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            let runs: Vec<_> =
                group.iter().map(|name| scope.spawn(|| run(name, &triple, options.budget))).collect();
            runs.into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err("a run of a fuzz target died".to_owned())))
                .collect::<Result<Vec<()>, String>>()
        })?;
    }
    println!("fuzz: {} targets, {} each, no finding", targets.len(), options.budget);
    Ok(())
}

/// Naming the target triple keeps the coverage flags away from build scripts and proc macros.
fn build(targets: &[String], triple: &str) -> Result<(), String> {
    let mut command = step::cargo(&["build", "--release", "--quiet", "--manifest-path", "fuzz/Cargo.toml"]);
    command.args(["--target", triple]).args(targets.iter().flat_map(|name| ["--bin", name]));
    step::run(command.env("RUSTFLAGS", COVERAGE_FLAGS).env("CARGO_TARGET_DIR", build_dir()))
}

/// Runs one target until its budget is used up, from the committed seeds on.
fn run(name: &str, triple: &str, budget: Budget) -> Result<(), String> {
    let artifacts = step::root().join("fuzz/artifacts").join(name);
    std::fs::create_dir_all(&artifacts).map_err(|error| format!("{}: {error}", artifacts.display()))?;
    let mut command = within(budget, &build_dir().join(triple).join("release").join(name));
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    let known = known(name)?;
    command.args(match budget {
        Budget::Seconds(seconds) => vec![format!("-max_total_time={seconds}")],
        Budget::Runs(runs) => vec![format!("-runs={runs}")],
        Budget::Smoke => vec![format!("-runs={}", known.smoke_runs), format!("-seed={SMOKE_SEED}")],
    });
    command.arg(format!("-max_len={}", known.max_length));
    command.arg(format!("-timeout={ENDLESS_SECONDS}"));
    command.arg(format!("-rss_limit_mb={MEMORY_LIMIT_MIB}"));
    command.args(["-print_final_stats=1", "-verbosity=0"]);
    command.arg(scratch_corpus(name, budget)?).arg(seeds(name)?);
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

/// Returns the program, ended by force when it outlives a budget of time; a number of inputs takes as long as
/// it takes.
fn within(budget: Budget, program: &Path) -> std::process::Command {
    let Budget::Seconds(seconds) = budget else { return step::command(program) };
    let mut command = step::command("timeout");
    command.arg("--signal=KILL").arg((seconds + GRACE_SECONDS).to_string()).arg(program);
    command
}

fn known(name: &str) -> Result<&'static Known, String> {
    KNOWN
        .iter()
        .find(|known| known.name == name)
        .ok_or_else(|| format!("xtask knows nothing of fuzz target {name}"))
}

/// Returns the committed beginning of every hunt.
fn seeds(name: &str) -> Result<PathBuf, String> {
    let directory = step::root().join("fuzz/seeds").join(name);
    if directory.is_dir() { Ok(directory) } else { Err(format!("{} is missing", directory.display())) }
}

/// libFuzzer writes what it learns into the first corpus directory; the committed seeds stay as they are. A smoke run
/// begins with nothing: what an earlier run learnt would change its course.
fn scratch_corpus(name: &str, budget: Budget) -> Result<PathBuf, String> {
    let is_smoke = matches!(budget, Budget::Smoke);
    let directory = build_dir().join(if is_smoke { "smoke" } else { "corpus" }).join(name);
    let told = |error: std::io::Error| format!("{}: {error}", directory.display());
    if is_smoke && directory.exists() {
        std::fs::remove_dir_all(&directory).map_err(told)?;
    }
    std::fs::create_dir_all(&directory).map_err(told)?;
    Ok(directory)
}

fn build_dir() -> PathBuf {
    step::target_dir().join("fuzz")
}

pub(crate) fn host_triple() -> Result<String, String> {
    let version = step::output(step::command("rustc").arg("-vV"))?;
    let line = version.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| "rustc -vV names no host".to_owned())
}

/// Returns the names of all `[[bin]]` tables.
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
    fn every_target_has_seeds_and_a_longest_input_and_fits_it() {
        let manifest = std::fs::read_to_string(step::root().join("fuzz/Cargo.toml")).unwrap();
        let targets = targets(&manifest);
        assert_eq!(targets.len(), KNOWN.len());
        for name in targets {
            let longest = u64::from(known(&name).unwrap().max_length);
            let sizes: Vec<u64> = std::fs::read_dir(seeds(&name).unwrap())
                .unwrap()
                .map(|entry| entry.unwrap().metadata().unwrap().len())
                .collect();
            assert!(!sizes.is_empty() && sizes.iter().all(|size| *size <= longest.min(8192)), "{name}");
        }
    }

    #[test]
    fn the_number_of_executed_inputs_is_read_from_the_final_statistics() {
        assert_eq!(executed("Done\nstat::number_of_executed_units: 4711\nstat::x: 1"), Some(4711));
        assert_eq!(executed("nothing"), None);
    }
}

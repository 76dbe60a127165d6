//! `cargo xtask sanitize`: runs the tests of the one crate with `unsafe`, and the holders that they start,
//! built with the address sanitizer on a stable compiler. It builds into a directory of its own.

use crate::{fuzz, step};

/// The only crate that may have `unsafe`.
const CRATE: &str = "holder";

/// The sanitizer watches every access to memory, reads of what was freed and leaks.
const FLAGS: &str = "-Zsanitizer=address";

/// Tests that prove nothing here: what holders weigh and how soon they start is another matter with a sanitizer in them, and
/// ten thousand forks beside threads that allocate are the allocator's matter, which the sanitizer replaces.
const LEFT_OUT: &[&str] = &["figures::", "b11_spawns_beside_allocating_threads_never_hang"];

/// What is not ours is only there to build the tests: as fast as it goes.
const PROFILE: &[&str] =
    &["profile.dev.package.\"*\".opt-level=0", "profile.dev.package.term.opt-level=0", "profile.dev.debug=0"];

/// Takes no arguments.
pub(crate) fn command(arguments: &[String]) -> Result<(), String> {
    if let Some(extra) = arguments.first() {
        return Err(format!("takes no arguments, got `{extra}`"));
    }
    run()
}

/// Builds and runs. Naming the target triple keeps the sanitizer away from build scripts and proc macros.
pub(crate) fn run() -> Result<(), String> {
    let mut command = step::cargo(&["test", "--quiet", "--package", CRATE, "--lib", "--test", CRATE]);
    command.args(["--target", &fuzz::host_triple()?]);
    command.args(PROFILE.iter().flat_map(|setting| ["--config", *setting]));
    command.arg("--").args(LEFT_OUT.iter().flat_map(|name| ["--skip", *name]));
    command.env("RUSTFLAGS", FLAGS).env("RUSTC_BOOTSTRAP", "1");
    step::run(command.env("CARGO_TARGET_DIR", step::target_dir().join("sanitize")))
}

//! Makes the start of every `qd` cheap: nothing of the program is relocated, and the C++ library of the emulator's text
//! decoder is linked from its archive instead of the shared object, where there is an archive.
//!
//! Loading and relocating the shared object costs every `qd` a part of its start and every daemon and
//! forkserver some hundred kilobytes, for a handful of functions. Relocating the program itself writes into 250 pages,
//! which was half of what a command like `qd ps` works, and a megabyte in the daemon. So the optimised program has
//! fixed addresses; stack, heap, libraries and mappings stay at random ones. `QUARTERDECK_PIE=1` gives the program random
//! addresses as well (docs/design/0005-figures.md).

use std::path::{Path, PathBuf};
use std::process::Command;

const ARCHIVE: &str = "libstdc++.a";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CXX");
    println!("cargo::rerun-if-env-changed=QUARTERDECK_PIE");
    if has_fixed_addresses() {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    let Some(directory) = std::env::var_os("OUT_DIR").map(PathBuf::from) else { return };
    if let Some(archive) = archive()
        && link(&archive, &directory.join(ARCHIVE)).is_ok()
    {
        // The linker uses the first match, and it searches here before its own directories. The shared object
        // is not here.
        println!("cargo::rustc-link-search=native={}", directory.display());
    }
}

/// Returns true for an optimised program on Linux with the GNU library, unless the builder decides otherwise.
fn has_fixed_addresses() -> bool {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    is("PROFILE", "release")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && !is("QUARTERDECK_PIE", "1")
}

/// Returns the compiler's own archive; it prints the bare name where it has none.
fn archive() -> Option<PathBuf> {
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let output = Command::new(compiler).arg(format!("-print-file-name={ARCHIVE}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    (path.is_absolute() && path.is_file()).then_some(path)
}

fn link(archive: &Path, name: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(name) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::os::unix::fs::symlink(archive, name)
}

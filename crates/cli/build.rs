//! Links the C++ library of the emulator's text decoder from its archive instead of the shared object, where
//! there is an archive.
//!
//! Loading and relocating the shared object costs every `qd` a part of its start and every daemon and
//! forkserver some hundred kilobytes, for a handful of functions.

use std::path::{Path, PathBuf};
use std::process::Command;

const ARCHIVE: &str = "libstdc++.a";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CXX");
    let Some(directory) = std::env::var_os("OUT_DIR").map(PathBuf::from) else { return };
    if let Some(archive) = archive()
        && link(&archive, &directory.join(ARCHIVE)).is_ok()
    {
        // The linker uses the first match, and it searches here before its own directories. The shared object
        // is not here.
        println!("cargo::rustc-link-search=native={}", directory.display());
    }
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

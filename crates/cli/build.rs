//! Makes the start of every `qd` cheap: nothing of the program is relocated, and no library is loaded.
//!
//! Relocating the program writes into 250 pages, which was half of what a command like `qd ps` works, and a megabyte in
//! the daemon. So the optimised program has fixed addresses; stack, heap and mappings stay at random ones.
//! Loading the C library and two more costs every start a third of its page faults, so they are linked from their
//! archives, where those are installed. `QUARTERDECK_PIE=1` gives the program random addresses and shared libraries
//! (docs/design/0005-figures.md).
//!
//! In every profile, the C++ library of the emulator's text decoder is linked from its archive.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Archives that the compiler has, and the name under which the linker looks for them. The unwinder's archive has
/// another name than its shared object.
const ALL: [(&str, &str); 7] = [
    ("libc.a", "libc.a"),
    ("libm.a", "libm.a"),
    ("libgcc_eh.a", "libgcc_s.a"),
    ("libpthread.a", "libpthread.a"),
    ("librt.a", "librt.a"),
    ("libdl.a", "libdl.a"),
    ("libutil.a", "libutil.a"),
];
const CXX: &str = "libstdc++.a";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CXX");
    println!("cargo::rerun-if-env-changed=QUARTERDECK_PIE");
    let Some(directory) = std::env::var_os("OUT_DIR").map(PathBuf::from) else { return };
    if has_fixed_addresses() {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        if !has_lookups() && collect(&directory.join("static")).is_some() {
            println!("cargo::rustc-link-arg-bins=-static");
            println!("cargo::rustc-link-arg-bins=-L{}", directory.join("static").display());
        }
    }
    if let Some(archive) = archive(CXX)
        && link(&archive, &directory.join(CXX)).is_ok()
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

/// Returns true if the program looks up names of other computers in its everyday work. The archive of the C library
/// cannot load what a system has configured for that.
fn has_lookups() -> bool {
    std::env::var_os("CARGO_FEATURE_PUSH").is_some()
}

/// Puts links to all archives into a directory; `None` if one is missing.
fn collect(directory: &Path) -> Option<()> {
    std::fs::create_dir_all(directory).ok()?;
    ALL.iter().try_for_each(|(file, name)| link(&archive(file)?, &directory.join(name)).ok())
}

/// Returns the compiler's own archive; it prints the bare name where it has none.
fn archive(file: &str) -> Option<PathBuf> {
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let output = Command::new(compiler).arg(format!("-print-file-name={file}")).output().ok()?;
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

//! Finds out whether a program failed to start because the interpreter in its first line is missing. It
//! searches only after a start has failed, as `exec` does, and runs nothing.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::config::RunConfig;
use crate::program::find_program;

/// The kernel reads no further.
const FIRST_LINE: usize = 256;

/// Returns the missing interpreter, if the program itself exists.
pub(super) fn missing(config: &RunConfig) -> Option<PathBuf> {
    let program = find(config)?;
    match named(&program) {
        Some(interpreter) if config.cwd.join(&interpreter).exists() => None,
        Some(interpreter) => Some(interpreter),
        None => Some(PathBuf::from("the loader that its header names")),
    }
}

/// Returns the program as the child would find it.
fn find(config: &RunConfig) -> Option<PathBuf> {
    let path = config.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    find_program(config.argv.first()?, path, &config.cwd)
}

/// Returns the interpreter that a script's first line names.
fn named(program: &Path) -> Option<PathBuf> {
    let mut start = Vec::with_capacity(FIRST_LINE);
    File::open(program).ok()?.take(FIRST_LINE as u64).read_to_end(&mut start).ok()?;
    let line = start.split(|byte| *byte == b'\n').next()?.strip_prefix(b"#!")?.trim_ascii();
    let name = line.split(|byte| matches!(byte, b' ' | b'\t' | b'\r')).next()?;
    (!name.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn t11_the_interpreter_that_is_missing_is_named_and_one_that_is_there_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let file = directory.path().join(name);
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(file, PermissionsExt::from_mode(0o755)).unwrap();
        };
        write("gone", "#! /no/such/python -u\nprint()\n");
        write("there", "#!/bin/sh\n");
        write("strange", "\x7fELF");
        let missing = |program: &str, path: Option<&Path>| {
            let cwd = directory.path().to_path_buf();
            let mut config = RunConfig::new(vec![program.into()], cwd, "/socket".into());
            config.env.extend(path.map(|path| ("PATH".into(), path.into())));
            super::missing(&config)
        };
        assert_eq!(missing("./gone", None), Some("/no/such/python".into()));
        assert_eq!(missing("gone", Some(directory.path())), Some("/no/such/python".into()));
        assert_eq!(missing("gone", None), None, "it is not on its way");
        assert_eq!(missing("./there", None), None);
        assert_eq!(missing("./nothing", None), None);
        assert!(missing("./strange", None).is_some_and(|found| found.to_string_lossy().contains("loader")));
    }
}

//! What vendors' programs say of their version, asked once per file.
//!
//! Owns the asking and the memory of it. Refuses waiting for a program that does not answer.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use proto::Printable;

use super::errand::{Errand, find};

/// Some vendors' programs take seconds to say a number.
const LIMIT: Duration = Duration::from_secs(10);
/// Longest version that is shown.
const LONGEST: usize = 80;

/// What a file was when it was asked.
type Stamp = (Option<SystemTime>, u64);

/// The versions known so far.
#[derive(Default)]
pub(crate) struct Versions {
    /// A short lock, never held while a program runs.
    known: Mutex<HashMap<PathBuf, (Stamp, Option<String>)>>,
    /// Held while a program runs: a hundred agents of one vendor are one question.
    asking: Mutex<()>,
}

impl Versions {
    /// What the program says, asking it if its file has changed. Blocks for as long as that takes.
    pub(crate) fn ask(&self, argv: &[String], env: &BTreeMap<String, String>) -> Option<String> {
        let program = find(argv.first()?, env, Path::new("/"))?;
        let stamp = stamp(&program);
        let _one_at_a_time = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(version) = self.known(&program, stamp) {
            return version;
        }
        let errand = Errand {
            argv: argv.to_vec(),
            env: env.clone(),
            cwd: "/".into(),
            input: String::new(),
            limit: LIMIT,
        };
        let version =
            errand.run().ok().filter(|done| done.code == Some(0)).and_then(|done| first(&done.output));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(program, (stamp, version.clone()));
        version
    }

    fn known(&self, program: &Path, stamp: Stamp) -> Option<Option<String>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(program).filter(|(then, _)| *then == stamp).map(|(_, version)| version.clone())
    }
}

fn stamp(program: &Path) -> Stamp {
    std::fs::metadata(program).map_or((None, 0), |meta| (meta.modified().ok(), meta.len()))
}

fn first(output: &str) -> Option<String> {
    let line = output.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(Printable(line).to_string().chars().take(LONGEST).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_program_is_asked_again_only_when_its_file_has_changed() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("vendor");
        let write = |text: &str| {
            std::fs::write(&program, format!("#!/bin/sh\necho x >> {}/asked\n{text}", root.path().display()))
                .unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        let env = [("PATH".to_owned(), format!("{}:/usr/bin:/bin", root.path().display()))].into();
        let argv = ["vendor".to_owned(), "--version".to_owned()];
        let versions = Versions::default();
        let asked = || std::fs::read_to_string(root.path().join("asked")).unwrap_or_default().lines().count();
        write("echo; echo ' vendor 1.2.3 '");
        assert_eq!(versions.ask(&argv, &env).as_deref(), Some("vendor 1.2.3"));
        assert_eq!(versions.ask(&argv, &env).as_deref(), Some("vendor 1.2.3"));
        assert_eq!(asked(), 1);
        write("exit 3");
        assert_eq!(versions.ask(&argv, &env), None);
        assert_eq!((versions.ask(&argv, &env), asked()), (None, 2));
    }

    #[test]
    fn a_program_that_is_not_there_has_no_version() {
        assert_eq!(Versions::default().ask(&["nowhere-to-be-found".to_owned()], &BTreeMap::new()), None);
        assert_eq!(Versions::default().ask(&[], &BTreeMap::new()), None);
    }
}

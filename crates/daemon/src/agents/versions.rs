//! Finds out the versions of vendors' programs, once per file, with a time limit.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use agents::{Manifest, Version};
use proto::Printable;

use super::subprocess::{Subprocess, find};

/// Some vendors' programs take seconds to print a number.
const LIMIT: Duration = Duration::from_secs(10);
/// Longest version that is shown.
const LONGEST: usize = 80;

/// How far above a program its package's description may be.
const PACKAGE_DEPTH: usize = 4;
/// Largest description of a package that is read.
const LARGEST_DESCRIPTION: u64 = 1 << 20; // 1 MiB

/// The time and size of a file when its version was found.
type ProgramStamp = (Option<SystemTime>, u64);

/// The versions known so far.
#[derive(Default)]
pub(crate) struct ProgramVersions {
    /// A short lock, never held while a program runs.
    known: Mutex<HashMap<PathBuf, (ProgramStamp, Option<String>)>>,
    /// Held while a program runs, so that a hundred agents of one vendor ask once.
    asking: Mutex<()>,
}

impl ProgramVersions {
    /// Returns the version for a launch by this manifest, where it matters. The description of an installed
    /// package is enough; without one the program is asked.
    pub(crate) fn before_launch(
        &self,
        manifest: &Manifest,
        env: &BTreeMap<String, String>,
    ) -> Option<String> {
        if !manifest.depends_on_version() {
            return None;
        }
        let program = find(manifest.version_argv.first()?, env, Path::new("/"))?;
        let known = self.known(&program, stamp(&program)).flatten();
        known.or_else(|| packaged(&program)).or_else(|| self.ask(&manifest.version_argv, env))
    }

    /// Returns the version that the program prints; runs it if its file has changed. Blocks for that time.
    pub(crate) fn ask(&self, argv: &[String], env: &BTreeMap<String, String>) -> Option<String> {
        let program = find(argv.first()?, env, Path::new("/"))?;
        let stamp = stamp(&program);
        let _one_at_a_time = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(version) = self.known(&program, stamp) {
            return version;
        }
        let subprocess = Subprocess {
            argv: argv.to_vec(),
            env: env.clone(),
            cwd: "/".into(),
            input: String::new(),
            limit: LIMIT,
        };
        let version =
            subprocess.run().ok().filter(|done| done.code == Some(0)).and_then(|done| first(&done.output));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(program, (stamp, version.clone()));
        version
    }

    fn known(&self, program: &Path, stamp: ProgramStamp) -> Option<Option<String>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(program).filter(|(then, _)| *then == stamp).map(|(_, version)| version.clone())
    }
}

/// Returns the version of the package that contains a program, from its description.
fn packaged(program: &Path) -> Option<String> {
    let real = program.canonicalize().ok()?;
    let description = real.ancestors().skip(1).take(PACKAGE_DEPTH).map(|dir| dir.join("package.json"));
    let description = description.into_iter().find(|file| file.is_file())?;
    let meta = std::fs::metadata(&description).ok()?;
    if meta.len() > LARGEST_DESCRIPTION {
        return None;
    }
    let text = std::fs::read_to_string(&description).ok()?;
    let package: serde_json::Value = serde_json::from_str(&text).ok()?;
    let version = package.get("version")?.as_str()?;
    // Only a package with programs is the program's own: others describe a directory that happens to contain
    // it.
    package.get("bin").and(Version::in_output(version)).map(|version| version.to_string())
}

fn stamp(program: &Path) -> ProgramStamp {
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
        let versions = ProgramVersions::default();
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
    fn c22_a_package_says_the_version_of_its_program_without_running_it() {
        let root = tempfile::tempdir().unwrap();
        let package = root.path().join("node_modules/vendor");
        std::fs::create_dir_all(package.join("bin")).unwrap();
        let program = package.join("bin/vendor");
        std::fs::write(&program, format!("#!/bin/sh\ntouch {}/asked\necho 9.9.9\n", root.path().display()))
            .unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink(&program, root.path().join("vendor")).unwrap();
        let env = [("PATH".to_owned(), format!("{}:/usr/bin:/bin", root.path().display()))].into();
        let argv = vec!["vendor".to_owned(), "--version".to_owned()];
        let tried = agents::version::Tried { oldest: "1.0".parse().ok(), newest: None };
        let manifest = Manifest { version_argv: argv, tried, ..Manifest::default() };
        let describe = |text: &str| std::fs::write(package.join("package.json"), text).unwrap();
        describe(r#"{"version": "1.2.3", "bin": {"vendor": "bin/vendor"}}"#);
        assert_eq!(ProgramVersions::default().before_launch(&manifest, &env).as_deref(), Some("1.2.3"));
        assert!(!root.path().join("asked").exists());
        describe(r#"{"version": "1.2.3"}"#);
        assert_eq!(ProgramVersions::default().before_launch(&manifest, &env).as_deref(), Some("9.9.9"));
        assert_eq!(ProgramVersions::default().before_launch(&Manifest::default(), &env), None);
    }

    #[test]
    fn a_program_that_is_not_there_has_no_version() {
        assert_eq!(
            ProgramVersions::default().ask(&["nowhere-to-be-found".to_owned()], &BTreeMap::new()),
            None
        );
        assert_eq!(ProgramVersions::default().ask(&[], &BTreeMap::new()), None);
    }
}

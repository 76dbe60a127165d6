//! Where a database was made: by a daemon outside of every run, or by one inside a run, which takes that run's program
//! for a person. What such a daemon trusts must never count for one outside, so each has databases of its own.
//!
//! The database itself says where it was made. A file beside it says the same before the database may be opened; a
//! process of a run can make and remove that file, so it decides only for an empty database. One that has processes or
//! grants and does not say it comes from an earlier version, and was made outside.

use proto::Dirs;
use store::{Change, Contents, Store};

use crate::DaemonError;
use crate::warnings::{Cause, Warnings};

/// The file that marks a data directory whose database a daemon inside a run has made.
const MARK: &str = "inside-a-run";
/// The setting of the database that says where it was made.
const ORIGIN: &str = "origin";
/// The values of that setting.
const INSIDE: &str = "inside";
const OUTSIDE: &str = "outside";

/// What a database says about where it was made.
#[derive(Debug)]
pub(crate) struct RecordedOrigin {
    /// The setting, if it is there.
    value: Option<String>,
    /// A daemon has stored processes, grants or the like.
    has_records: bool,
}

impl RecordedOrigin {
    pub(crate) fn of(contents: &Contents) -> Self {
        let value = contents.settings.iter().find(|(key, _)| key == ORIGIN).map(|(_, value)| value.clone());
        Self { value, has_records: !contents.processes.is_empty() || !contents.documents.is_empty() }
    }
}

/// Refuses, before anything is locked, a daemon inside a run on a database that was made outside. Marks the directory in
/// which it is to make one.
pub(crate) fn check_mark(dirs: &Dirs, is_inside: bool) -> Result<(), DaemonError> {
    let mark = dirs.data.join(MARK);
    if !is_inside || mark.exists() {
        return Ok(());
    }
    if dirs.database().exists() {
        return Err(DaemonError::Inside);
    }
    std::fs::write(&mark, "")
        .map_err(DaemonError::system("the database cannot be marked as one of a process"))
}

/// Refuses a database that was made on the other side, and writes into one that does not say it yet where it was made.
pub(crate) fn check(
    store: &mut Store,
    recorded: &RecordedOrigin,
    dirs: &Dirs,
    is_inside: bool,
    warnings: &Warnings,
) -> Result<(), DaemonError> {
    let mark = dirs.data.join(MARK);
    let was_inside = match &recorded.value {
        Some(origin) => origin == INSIDE,
        None => mark.exists() && !recorded.has_records,
    };
    match (is_inside, was_inside) {
        (true, false) => return Err(DaemonError::Inside),
        (false, true) => return Err(DaemonError::MadeInside(dirs.data.clone())),
        (true, true) | (false, false) => {}
    }
    if !is_inside && mark.exists() {
        warn_of_forged_mark(&mark, warnings);
    }
    if recorded.value.is_none() {
        let value = if is_inside { INSIDE } else { OUTSIDE }.to_owned();
        // A disk that refuses has its own warning, and the next daemon writes it.
        if let Err(error) = store.apply(&[Change::Setting { key: ORIGIN.to_owned(), value }]) {
            tracing::warn!(%error, "where the database was made could not be stored");
        }
    }
    Ok(())
}

/// Removes a mark that no daemon has made.
fn warn_of_forged_mark(mark: &std::path::Path, warnings: &Warnings) {
    let what = match std::fs::remove_file(mark) {
        Ok(()) => "it was removed".to_owned(),
        Err(error) => format!("it cannot be removed: {error}"),
    };
    let text = format!(
        "{} says that the database was made inside a process, and the database says that it was not: one of your \
         processes has made that file; {what}",
        mark.display()
    );
    warnings.set(Cause::ForgedMark, text);
}

/// Returns true if the calling process is inside a run, and this data directory is that of a daemon outside of it.
pub fn is_inside_a_run_of(dirs: &Dirs) -> bool {
    holder::run_mark::is_inside_a_run() && !dirs.data.join(MARK).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of a start at these directories.
    fn start(dirs: &Dirs, is_inside: bool) -> Result<Vec<String>, DaemonError> {
        check_mark(dirs, is_inside)?;
        let mut store = Store::open(&dirs.database()).unwrap();
        let recorded = RecordedOrigin::of(&store.load().unwrap());
        let warnings = Warnings::default();
        check(&mut store, &recorded, dirs, is_inside, &warnings)?;
        Ok(warnings.texts())
    }

    fn dirs() -> (tempfile::TempDir, Dirs) {
        let root = tempfile::tempdir().unwrap();
        let dirs = Dirs::below(root.path());
        store::ensure_private_dir(&dirs.data).unwrap();
        (root, dirs)
    }

    #[test]
    fn m4f_a_daemon_inside_a_run_and_one_outside_never_share_a_database() {
        for was_inside in [true, false] {
            let (_root, dirs) = dirs();
            start(&dirs, was_inside).unwrap();
            start(&dirs, was_inside).unwrap();
            let failure = start(&dirs, !was_inside).unwrap_err();
            let is_expected = match failure {
                DaemonError::Inside => !was_inside,
                DaemonError::MadeInside(ref data) => was_inside && *data == dirs.data,
                _ => false,
            };
            assert!(is_expected, "{failure}");
        }
    }

    #[test]
    fn m4f_a_mark_that_a_process_forges_or_removes_changes_nothing() {
        let (_root, dirs) = dirs();
        assert_eq!(start(&dirs, false).unwrap(), Vec::<String>::new());
        std::fs::write(dirs.data.join(MARK), "").unwrap();
        assert!(matches!(start(&dirs, true), Err(DaemonError::Inside)), "it is still a person's database");
        let told = start(&dirs, false).unwrap();
        assert!(told.iter().any(|text| text.contains(MARK) && text.contains("removed")), "{told:?}");
        assert_eq!(start(&dirs, false).unwrap(), Vec::<String>::new(), "and it is gone");
    }

    #[test]
    fn m4f_a_database_of_an_earlier_version_is_a_persons_whatever_the_mark_says() {
        let process = Change::PutProcess { id: "p_aaaaaaaa".to_owned(), document: "{}".to_owned() };
        let grant = Change::PutDocument { kind: "grant", id: "g".to_owned(), document: "{}".to_owned() };
        for record in [process, grant] {
            let (_root, dirs) = dirs();
            Store::open(&dirs.database()).unwrap().apply(&[record]).unwrap();
            std::fs::write(dirs.data.join(MARK), "").unwrap();
            assert!(matches!(start(&dirs, true), Err(DaemonError::Inside)));
            let told = start(&dirs, false).unwrap();
            assert!(told.iter().any(|text| text.contains(MARK)), "{told:?}");
        }
    }

    #[test]
    fn m4f_a_removed_mark_does_not_make_a_processs_database_a_persons() {
        let (_root, dirs) = dirs();
        start(&dirs, true).unwrap();
        std::fs::remove_file(dirs.data.join(MARK)).unwrap();
        assert!(matches!(start(&dirs, false), Err(DaemonError::MadeInside(_))));
    }
}

//! The warnings that `qd status` shows a person: the sentences of each cause, kept until the cause has gone.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::RunKey;
use proto::ProcessId;

/// Why a person is warned. Each cause has its own sentences, which replace the ones before them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The store refuses to write.
    StoreRefuses,
    /// Messages and timers wait until their records are stored.
    HeldDeliveries,
    /// The store refused for so long that older changes were dropped.
    StoreGaveUp,
    /// The database was damaged and another one was begun.
    DamagedDatabase,
    /// The log of the database was damaged.
    DamagedLog,
    /// A file claims that the database was made inside a process.
    ForgedMark,
    /// A record of this name cannot be read.
    Record(String),
    /// A living process was not in the database.
    Recovered(ProcessId),
    /// No holder answers at this socket.
    SilentHolder(PathBuf),
    /// The link to the holder of a run is broken or was taken over.
    Holder(RunKey),
    /// The display of a run was reset after a fault.
    Display(RunKey),
    /// The shared memory with the output of a run was overwritten.
    DamagedOutput(RunKey),
    /// The child of a run does not read what its terminal answers.
    UnreadAnswers(RunKey),
    /// The manifests of a project, or those of the user alone.
    Manifests(Option<PathBuf>),
    /// The user's settings.
    Settings,
    /// The runtime directory cannot be used.
    RuntimeDir,
    /// The data directory was replaced by one that another process holds.
    DataDir,
}

impl Cause {
    fn run(&self) -> Option<RunKey> {
        match self {
            Self::Holder(run) | Self::Display(run) | Self::DamagedOutput(run) | Self::UnreadAnswers(run) => {
                Some(*run)
            }
            _ => None,
        }
    }
}

#[derive(Debug)]
struct Warning {
    cause: Cause,
    texts: Vec<String>,
}

/// All warnings of this daemon, oldest first. Cheap to clone; the lock is held for one change or one copy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Warnings(Arc<Mutex<Vec<Warning>>>);

impl Warnings {
    /// Replaces all sentences of a cause by this one.
    pub(crate) fn set(&self, cause: Cause, text: String) {
        self.set_all(cause, vec![text]);
    }

    /// Replaces all sentences of a cause by these; an empty list ends the warning.
    pub(crate) fn set_all(&self, cause: Cause, texts: Vec<String>) {
        let mut all = self.lock();
        let known = all.iter().position(|known| known.cause == cause);
        let before = known.map(|at| all.remove(at).texts).unwrap_or_default();
        for text in texts.iter().filter(|text| !before.contains(text)) {
            tracing::warn!("{text}");
        }
        if !texts.is_empty() {
            let at = known.unwrap_or(all.len());
            all.insert(at, Warning { cause, texts });
        }
    }

    /// Ends the warning of a cause that has gone.
    pub(crate) fn clear(&self, cause: &Cause) {
        self.lock().retain(|known| known.cause != *cause);
    }

    /// Ends every warning about a run that has gone.
    pub(crate) fn clear_run(&self, run: RunKey) {
        self.lock().retain(|known| known.cause.run() != Some(run));
    }

    /// Returns every sentence once: a fault in the user's manifests is found again for each project.
    pub(crate) fn texts(&self) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for text in self.lock().iter().flat_map(|known| &known.texts) {
            if !texts.contains(text) {
                texts.push(text.clone());
            }
        }
        texts
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Warning>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_has_its_newest_sentences_where_its_first_one_stood() {
        let warnings = Warnings::default();
        warnings.set(Cause::StoreRefuses, "full".to_owned());
        warnings.set(Cause::Settings, "line 3".to_owned());
        warnings.set(Cause::StoreRefuses, "locked".to_owned());
        assert_eq!(warnings.texts(), ["locked", "line 3"]);
        warnings.set_all(Cause::StoreRefuses, Vec::new());
        assert_eq!(warnings.texts(), ["line 3"]);
        warnings.clear(&Cause::Settings);
        assert!(warnings.texts().is_empty());
    }

    #[test]
    fn a_sentence_of_two_causes_is_shown_once_and_until_both_have_gone() {
        let (warnings, user, project) =
            (Warnings::default(), Cause::Manifests(None), Cause::Manifests(Some("/p".into())));
        for cause in [user.clone(), project.clone()] {
            warnings.set_all(cause, vec!["agents/x.toml: line 1".to_owned()]);
        }
        assert_eq!(warnings.texts().len(), 1);
        warnings.clear(&user);
        assert_eq!(warnings.texts().len(), 1);
        warnings.clear(&project);
        assert!(warnings.texts().is_empty());
    }

    #[test]
    fn a_run_that_has_gone_leaves_no_warning_and_other_runs_keep_theirs() {
        let warnings = Warnings::default();
        let runs = [1, 2].map(|run| RunKey::new(ProcessId::from_entropy(7), proto::RunNumber(run)));
        for run in runs {
            warnings.set(Cause::Holder(run), format!("holder {run:?}"));
            warnings.set(Cause::Display(run), format!("display {run:?}"));
        }
        warnings.clear_run(runs[0]);
        assert_eq!(warnings.texts().len(), 2);
    }
}

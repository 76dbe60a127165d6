//! One run of an agent: its manifest, its launch and what its hooks have reported, shared by the effect
//! runner, the door and the file watcher under short locks. Its worker has the terminal.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agents::Manifest;
use engine::{ComposerVisibility, RunKey};
use proto::agent::Source;

use super::directory::{Directory, Note};
use super::vendor_server::VendorServer;

/// One agent's run.
pub(crate) struct AgentRun {
    pub(crate) run: RunKey,
    /// Its directory, which also contains its project's manifests.
    pub(crate) cwd: PathBuf,
    /// What it was started with.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) directory: Directory,
    /// A process had it started: its manifest stays the approved one, even if the files change.
    pub(crate) is_fixed: bool,
    /// Replaced when its file changes.
    manifest: Mutex<Arc<Manifest>>,
    note: Mutex<Note>,
    version: Mutex<Option<String>>,
    /// The connection to its vendor's server, if it has one.
    line: Mutex<Option<Arc<VendorServer>>>,
}

impl AgentRun {
    pub(crate) fn new(
        run: RunKey,
        cwd: PathBuf,
        env: BTreeMap<String, String>,
        directory: Directory,
        manifest: Arc<Manifest>,
        note: Note,
    ) -> Self {
        let (manifest, note) = (Mutex::new(manifest), Mutex::new(note));
        let (version, line) = (Mutex::default(), Mutex::default());
        Self { run, cwd, env, directory, is_fixed: false, manifest, note, version, line }
    }

    pub(crate) fn manifest(&self) -> Arc<Manifest> {
        Arc::clone(&lock(&self.manifest))
    }

    /// Replaces its manifest; returns true if it differs.
    pub(crate) fn take_manifest(&self, manifest: &Arc<Manifest>) -> bool {
        let mut known = lock(&self.manifest);
        let is_another = !Arc::ptr_eq(&known, manifest) && **known != **manifest;
        if is_another {
            *known = Arc::clone(manifest);
        }
        is_another
    }

    pub(crate) fn note(&self) -> Note {
        lock(&self.note).clone()
    }

    pub(crate) fn version(&self) -> Option<String> {
        lock(&self.version).clone()
    }

    pub(crate) fn set_version(&self, version: Option<String>) {
        *lock(&self.version) = version;
    }

    pub(crate) fn line(&self) -> Option<Arc<VendorServer>> {
        lock(&self.line).clone()
    }

    pub(crate) fn set_line(&self, line: Option<Arc<VendorServer>>) {
        *lock(&self.line) = line;
    }

    /// Closes the server connection: the program has ended, or the run was released.
    pub(crate) fn cut_line(&self) {
        if let Some(line) = lock(&self.line).take() {
            line.cut();
        }
    }

    /// Records the vendor's session; returns true if it is new.
    pub(crate) fn pin_session(&self, session: &str) -> bool {
        self.amend(|note| {
            let is_news = note.session.as_deref() != Some(session);
            note.session = Some(session.to_owned());
            is_news
        })
    }

    /// Records the transcript's path; returns true if it is new.
    pub(crate) fn pin_transcript(&self, path: &Path) -> bool {
        self.amend(|note| {
            let is_news = note.transcript.as_deref() != Some(path);
            note.transcript = Some(path.to_owned());
            is_news
        })
    }

    /// Changes the note, and stores it for a later daemon if anything changed.
    fn amend(&self, change: impl FnOnce(&mut Note) -> bool) -> bool {
        let mut note = lock(&self.note);
        let is_news = change(&mut note);
        if is_news && let Err(error) = self.directory.keep(&note) {
            tracing::warn!(%error, run = ?self.run, "a later daemon will not know this session");
        }
        is_news
    }

    /// Returns the launch, as the engine needs it.
    pub(crate) fn launched(&self) -> engine::Launched {
        let (manifest, note) = (self.manifest(), self.note());
        let deliver = &manifest.deliver;
        let has_channel = match deliver.channel {
            agents::deliver::Channel::None => false,
            agents::deliver::Channel::Server => note.port.is_some(),
            agents::deliver::Channel::Command => true,
        };
        let composer = match (&manifest.composer, deliver.draft) {
            (Some(_), _) => ComposerVisibility::Seen,
            (None, agents::deliver::DraftPolicy::Unseen) => ComposerVisibility::Blind,
            (None, agents::deliver::DraftPolicy::Wait) => ComposerVisibility::Undescribed,
        };
        let shell_prefix = manifest.composer.as_ref().and_then(|composer| composer.shell_prefix.clone());
        let marks = [Source::ProgramStatus, Source::Server, Source::StateFile, Source::Hook];
        engine::Launched {
            session: note.session,
            version: self.version().or(note.version),
            has_channel,
            channel_reaches_busy: has_channel && deliver.reaches_busy,
            delivers_at_turn_end: manifest.delivers_at_turn_end(),
            confirms_prompts: deliver.confirm.iter().any(|source| marks.contains(source)),
            composer,
            shell_prefix,
            interrupt: deliver.interrupt.iter().map(|key| key.as_str().to_owned()).collect(),
            clear: deliver.clear.iter().map(|key| key.as_str().to_owned()).collect(),
            new_line: deliver.new_line.as_ref().map(|key| key.as_str().to_owned()),
            patience_ms: manifest.ready.patience_ms,
            shortfalls: note.shortfalls,
        }
    }
}

/// Locks briefly: nothing panics or waits while the lock is held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

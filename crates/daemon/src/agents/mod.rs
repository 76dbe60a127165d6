//! Agents, as far as they need hands: launching, watching and reaching vendors' programs.
//!
//! Owns what is done about an agent outside of its terminal. Refuses knowing vendors (the crate `agents` does, as data)
//! and refuses deciding (the engine does).
//!
//! Reading order: `catalogue` (manifests on disk), `launch` (from a name to a program) with `fitting`, `directory` and `random`,
//! `agent_run` (one agent's run), `file_watcher` and `agent_files` (its files) with `inotify` and `tail`, `vendor_server` (its vendor's server)
//! with `server` and `stream`, `channels` (messages by the vendor's own ways), `list`, `drift`, `subprocess` (short programs).

mod agent_files;
mod agent_run;
mod channels;
mod directory;
mod drift;
mod file_watcher;
mod fitting;
mod http;
mod inotify;
mod launch;
mod list;
mod manifest_cache;
mod random;
mod server;
mod stream;
pub(crate) mod subprocess;
mod tail;
mod vendor_server;
mod versions;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agents::hook::{EventMoment, Reading};
use agents::{Detector, Manifest};
use engine::{Input, ProcessRecord, RunFact, RunKey, StartRun};
use proto::{Dirs, ErrorCode, Evidence, Failure, Kind, Printable, ProcessId};
use term::Wraps;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::notify::{self, NotifyConfig};
use crate::records::Warnings;
use crate::screens::{ObservedAgent, Order, Screens};
use crate::settings::{self, Settings};
use crate::tokens::Tokens;
pub(crate) use agent_run::AgentRun;
use directory::Directory;
use file_watcher::{AgentNotice, FileWatcher};
pub(crate) use file_watcher::{SoughtMessage, WantedText};
use fitting::Fitted;
use launch::AgentLauncher;
use manifest_cache::ManifestSet;
pub(crate) use manifest_cache::{ForeignManifest, ManifestCache};
use vendor_server::VendorServer;
use versions::Versions;

/// How many lines of a screen tell why a program ended.
const LAST_LINES: usize = 8;

/// All agents of this daemon. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Agents {
    shared: Arc<Shared>,
}

struct Shared {
    launcher: AgentLauncher,
    /// Files are read under this lock, a few at a time: only launches, offers and reloads take it.
    manifests: Mutex<ManifestCache>,
    /// A short lock: look-ups and inserts only.
    charges: Mutex<HashMap<RunKey, Arc<AgentRun>>>,
    /// What the user was told is wrong with a project's manifests, until it is mended.
    told: Mutex<HashMap<Option<PathBuf>, Vec<String>>>,
    versions: Versions,
    /// What programs that are run on an agent's or a person's behalf inherit.
    env: BTreeMap<String, String>,
    screens: Screens,
    facts: mpsc::Sender<Input>,
    warnings: Warnings,
    file_watcher: FileWatcher,
    /// Where calls to vendors' servers run: the thread that watches files asks for them too.
    runtime: Handle,
}

impl Agents {
    /// Starts the thread that watches agents' files.
    pub(crate) fn start(
        places: Arc<Dirs>,
        exe: PathBuf,
        screens: Screens,
        facts: mpsc::Sender<Input>,
        warnings: Warnings,
    ) -> std::io::Result<Self> {
        let manifests = Mutex::new(ManifestCache::new(&places.config));
        let launcher = AgentLauncher { places, exe, tokens: Tokens::default() };
        let env = std::env::vars().filter(|(name, _)| proto::environment::is_allowed(name)).collect();
        let (charges, told, versions) = (Mutex::default(), Mutex::default(), Versions::default());
        let (file_watcher, post) = FileWatcher::new()?;
        let shared = Shared {
            launcher,
            manifests,
            charges,
            told,
            versions,
            env,
            screens,
            facts,
            warnings,
            file_watcher,
            runtime: Handle::current(),
        };
        let agents = Self { shared: Arc::new(shared) };
        post.work(agents.clone())?;
        // Now and not at the first notification: whoever wrote the file looks for a word about it after the start.
        let _known = agents.settings();
        Ok(agents)
    }

    /// The manifests for a project.
    pub(crate) fn manifest_set(&self, project: Option<&Path>) -> Arc<ManifestSet> {
        let manifest_set = lock(&self.shared.manifests).manifest_set(project);
        let before =
            lock(&self.shared.told).insert(project.map(Path::to_owned), manifest_set.problems.clone());
        let is_mended = |warning: &String| before.iter().flatten().any(|told| told == warning);
        lock(&self.shared.warnings)
            .retain(|warning| manifest_set.problems.contains(warning) || !is_mended(warning));
        for problem in &manifest_set.problems {
            crate::records::warn(&self.shared.warnings, problem.clone());
        }
        manifest_set
    }

    /// What a person has to trust before a process may start this agent there: nothing if its manifest is built in, or if
    /// there is none.
    pub(crate) fn foreign_manifest(&self, name: &str, cwd: &Path) -> Option<ForeignManifest> {
        ForeignManifest::find(&self.manifest_set(Some(cwd)).catalogue, name)
    }

    /// What agents' runs prove themselves with.
    pub(crate) fn tokens(&self) -> &Tokens {
        &self.shared.launcher.tokens
    }

    /// The agent of this run.
    pub(crate) fn find(&self, run: RunKey) -> Option<Arc<AgentRun>> {
        self.charges().get(&run).map(Arc::clone)
    }

    /// Turns an agent's start into its program's; nothing for other kinds.
    pub(crate) fn prepare(&self, start: &mut StartRun) -> Result<Option<Arc<AgentRun>>, Failure> {
        if start.record.spec.kind != Kind::Agent {
            return Ok(None);
        }
        let name = start.argv.first().map_or("", String::as_str);
        let manifest_set = self.manifest_set(Some(Path::new(&start.cwd)));
        let manifest = manifest_set.catalogue.get(name).ok_or_else(|| unknown(name))?;
        let search_path = start.env.iter().cloned().collect();
        let version = self.shared.versions.before_launch(manifest, &search_path);
        let directory = Directory::of(&self.shared.launcher.places, start.run);
        let fitted = Fitted::find(&manifest_set.catalogue, name, version, directory.path());
        let fitted = fitted.ok_or_else(|| unknown(name))?;
        let agent_run = Arc::new(self.shared.launcher.prepare(start, directory, fitted)?);
        // Known before the program runs: its first hook may come at once.
        self.charges().insert(agent_run.run, Arc::clone(&agent_run));
        Ok(Some(agent_run))
    }

    /// Its program runs with this pid: what its worker needs to look at it.
    pub(crate) fn begin(&self, agent_run: &Arc<AgentRun>, pid: i32, is_fresh: bool) -> ObservedAgent {
        let manifest = agent_run.manifest();
        self.shared.file_watcher.begin(Arc::clone(agent_run), pid, is_fresh);
        let shared = &self.shared;
        let line = VendorServer::open(agent_run, &shared.facts, &shared.file_watcher, &shared.runtime);
        agent_run.set_line(line);
        self.learn_version(agent_run);
        ObservedAgent {
            detector: detector(&manifest),
            launched: agent_run.launched(),
            settle: Duration::from_millis(manifest.deliver.settle_ms.0),
        }
    }

    /// Asks the program for its version, unless that is known, and tells the engine when it has said it.
    fn learn_version(&self, agent_run: &Arc<AgentRun>) {
        let (agents, agent_run) = (self.clone(), Arc::clone(agent_run));
        let asking = move || {
            let argv = agent_run.manifest().version_argv.clone();
            let version = agents.shared.versions.ask(&argv, &agent_run.env);
            if version.is_some() {
                agent_run.set_version(version);
                agents.send_fact(agent_run.run, RunFact::Launched(agent_run.launched()));
            }
        };
        if let Err(error) = std::thread::Builder::new().name("agent-version".to_owned()).spawn(asking) {
            tracing::warn!(%error, "no thread to ask for a version with");
        }
    }

    /// Takes over an agent that an earlier daemon launched; nothing for other kinds.
    pub(crate) fn adopt(&self, record: &ProcessRecord, pid: i32) -> Option<ObservedAgent> {
        if record.spec.kind != Kind::Agent {
            return None;
        }
        let run = RunKey::new(record.id, record.run.number);
        let directory = Directory::of(&self.shared.launcher.places, run);
        if let Some(token) = directory.token() {
            self.tokens().admit(run, &token);
        }
        let note = directory.note().unwrap_or_default();
        let name = record.spec.argv.first().map_or("", String::as_str);
        let manifest_set = self.manifest_set(Some(Path::new(&record.spec.cwd)));
        // A manifest that is gone leaves an agent whose screen nobody can read; it lives on.
        let fitted = Fitted::find(&manifest_set.catalogue, name, note.version.clone(), directory.path());
        let manifest = fitted.map(|fitted| fitted.manifest).unwrap_or_default();
        let env = record.spec.environment.env.iter().filter(|(name, _)| !manifest.unset.contains(name));
        let env = env.map(|(name, value)| (name.clone(), value.clone())).collect();
        let mut agent_run =
            AgentRun::new(run, PathBuf::from(&record.spec.cwd), env, directory, manifest, note);
        agent_run.is_fixed = record.spec.parent.is_some();
        let agent_run = Arc::new(agent_run);
        self.charges().insert(run, Arc::clone(&agent_run));
        Some(self.begin(&agent_run, pid, false))
    }

    /// A hook told something about an agent.
    pub(crate) fn heard(&self, agent_run: &Arc<AgentRun>, reading: &Reading, is_new_session: bool) {
        let file_watcher = &self.shared.file_watcher;
        let is_elsewhere = reading.transcript.as_ref().is_some_and(|path| agent_run.pin_transcript(path));
        if is_elsewhere || is_new_session {
            file_watcher.heard(agent_run.run, AgentNotice::Moved);
        }
        if reading.moment == EventMoment::PromptSubmitted {
            file_watcher.heard(agent_run.run, AgentNotice::Prompt);
        }
        if let Some(text) = &reading.text {
            file_watcher.heard(agent_run.run, AgentNotice::HookText(text.clone()));
        }
    }

    /// Finds what an agent said at the end of a turn.
    pub(crate) fn collect(&self, run: RunKey, wanted: WantedText) {
        if self.find(run).is_some() {
            self.shared.file_watcher.collect(run, wanted);
        }
    }

    /// Looks whether the transcript or the vendor's server has a message.
    pub(crate) fn find_prompt(&self, run: RunKey, sought: SoughtMessage) {
        if self.find(run).is_some() {
            self.shared.file_watcher.find_prompt(run, sought);
        }
    }

    /// An agent's program is over.
    pub(crate) fn ended(&self, run: RunKey) {
        self.tokens().revoke(run);
        if let Some(agent_run) = self.find(run) {
            agent_run.cut_line();
            self.shared.file_watcher.heard(run, AgentNotice::Over);
            drop(crate::threads::run(move || {
                if let Err(error) = agent_run.directory.remove_token() {
                    tracing::warn!(%error, ?run, "the token of a run that is over could not be removed");
                }
            }));
        }
    }

    /// An agent's manifest may have changed: its screen is looked at by the new rules from now on.
    fn reload(&self, run: RunKey) {
        // What a process has started stays as it was allowed.
        let Some(agent_run) = self.find(run).filter(|agent_run| !agent_run.is_fixed) else { return };
        let name = agent_run.manifest().name.clone();
        let manifest_set = self.manifest_set(Some(&agent_run.cwd));
        let fitted = Fitted::find(
            &manifest_set.catalogue,
            &name,
            agent_run.note().version,
            agent_run.directory.path(),
        );
        let Some(Fitted { manifest, .. }) = fitted.filter(|fitted| agent_run.take_manifest(&fitted.manifest))
        else {
            return;
        };
        if let Some(detector) = detector(&manifest) {
            self.shared.screens.order(run, Order::Observe(run, Box::new(detector)));
        }
        self.send_fact(run, RunFact::Launched(agent_run.launched()));
    }

    /// The files that may change a manifest.
    fn manifest_files(&self, name: &str, cwd: &Path) -> Vec<PathBuf> {
        lock(&self.shared.manifests).files_of(name, cwd)
    }

    /// What an agent's screen shows, as text.
    fn screen_text(&self, run: RunKey) -> Option<String> {
        Some(self.shared.screens.find(run)?.screen().text(Wraps::Join))
    }

    /// Says what the last lines of an agent's screen are.
    pub(crate) fn read_last_lines(&self, run: RunKey) {
        let (agents, Some(agent_run)) = (self.clone(), self.find(run)) else { return };
        drop(crate::threads::run(move || {
            let text = agents.screen_text(run).unwrap_or_default();
            let lines = last_lines(&::agents::trim(&agent_run.manifest(), &text));
            agents.send_fact(run, RunFact::LastLines(lines));
        }));
    }

    /// Says a fact, from a thread that may block.
    fn send_fact(&self, run: RunKey, fact: RunFact) {
        // The daemon is ending when nobody listens.
        drop(self.shared.facts.blocking_send(Input::Fact { run, fact }));
    }

    /// Sends a fact from a task, which waits while the engine's queue is full.
    async fn deliver_fact(&self, run: RunKey, fact: RunFact) {
        // Without a receiver the daemon is ending.
        drop(self.shared.facts.send(Input::Fact { run, fact }).await);
    }

    /// Keeps the screen of an agent about which two sources disagree. On a thread that may block.
    pub(crate) fn keep_drift(&self, run: RunKey, winner: Box<Evidence>, other: Box<Evidence>) {
        let (Some(agent_run), Some(handle)) = (self.find(run), self.shared.screens.find(run)) else { return };
        let data = self.shared.launcher.places.data.clone();
        drop(crate::threads::run(move || {
            let (manifest, version) = (agent_run.manifest(), agent_run.version());
            let about = (&*manifest, version.as_deref());
            if let Err(error) = drift::keep(&data, about, &handle.screen(), (&winner, &other)) {
                tracing::warn!(%error, ?run, "a disagreement could not be kept");
            }
        }));
    }

    /// How the user wants to be notified, as the file says now.
    fn ways(&self) -> NotifyConfig {
        self.settings().notify
    }

    /// The user's settings as the file says them now; a file that does not read is a warning until it is mended.
    pub(crate) fn settings(&self) -> Settings {
        let places = &self.shared.launcher.places;
        let (settings, problem) = Settings::read(places);
        let about = settings::file(places).display().to_string();
        lock(&self.shared.warnings)
            .retain(|warning| Some(warning) == problem.as_ref() || !warning.starts_with(&about));
        if let Some(problem) = problem {
            crate::records::warn(&self.shared.warnings, problem);
        }
        settings
    }

    /// Tells a person who may be looking elsewhere.
    pub(crate) fn notify(&self, run: RunKey, title: String, body: String) {
        let agents = self.clone();
        drop(crate::threads::run(move || {
            let ways = agents.ways();
            if ways.terminal {
                agents.shared.screens.alert(run, &title, &body);
            }
            for failed in notify::send_notification(&ways, agents.env(), run, &title, &body) {
                tracing::warn!(?run, "nobody was notified: {failed}");
            }
        }));
    }

    /// The run's holder is let go: nothing of its launch stays.
    pub(crate) fn release(&self, run: RunKey) {
        self.tokens().revoke(run);
        let agent_run = self.charges().remove(&run);
        if let Some(agent_run) = &agent_run {
            agent_run.cut_line();
            self.shared.file_watcher.end(run);
        }
        let directory = agent_run.map_or_else(
            || Directory::of(&self.shared.launcher.places, run),
            |agent_run| agent_run.directory.clone(),
        );
        drop(crate::threads::run(move || {
            if let Err(error) = directory.remove() {
                tracing::warn!(%error, ?run, "a launch's directory could not be removed");
            }
        }));
    }

    /// An entry is gone: whatever is left of its launches goes too, as after a lost holder.
    pub(crate) fn forget(&self, process: ProcessId) {
        let runs: Vec<RunKey> = self.charges().keys().filter(|run| run.process == process).copied().collect();
        runs.into_iter().for_each(|run| self.release(run));
    }

    /// Removes what launches of runs that no longer exist have left. What may still be found needs its own.
    pub(crate) fn sweep(&self, pending: &HashSet<RunKey>) {
        let alive: HashSet<RunKey> = self.charges().keys().chain(pending).copied().collect();
        directory::sweep(&self.shared.launcher.places, &alive);
    }

    fn charges(&self) -> MutexGuard<'_, HashMap<RunKey, Arc<AgentRun>>> {
        lock(&self.shared.charges)
    }
}

/// Looks by a manifest. One whose tables contradict each other was refused when it was read; were it not, nothing would
/// be seen, which is better than an agent that cannot be started.
fn detector(manifest: &Manifest) -> Option<Detector> {
    let made = Detector::new(manifest);
    made.inspect_err(|error| tracing::error!(%error, manifest = manifest.name, "rules cannot be used")).ok()
}

/// The last lines of a screen that say something, safe to show.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    let last = lines.iter().skip(lines.len().saturating_sub(LAST_LINES));
    last.map(|line| Printable(line).to_string()).collect::<Vec<_>>().join("\n")
}

fn unknown(name: &str) -> Failure {
    let message = format!("there is no agent called {}", Printable(name));
    Failure::new(ErrorCode::NotFound, message).hint("qd agents shows which there are")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Everything that is done about agents outside their terminals: launching and watching vendors' programs,
//! and delivering to them. The crate `agents` knows vendors, as data; the engine decides.
//!
//! Reading order: `manifest_cache` (manifests on disk), `launch` (from a name to a program) with `fitting`,
//! `directory` and `random`, `agent_run` (one agent's run), `file_watcher` and `agent_files` (its files) with
//! `file_watches` and `tail`, `vendor_server` (its vendor's server) with `server` and `stream`, `channels`
//! (delivery by the vendor's own channels), `list`, `drift`, `subprocess` (short programs).

mod agent_files;
mod agent_run;
mod channels;
mod directory;
mod drift;
mod file_watcher;
mod file_watches;
mod fitting;
mod http;
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

use agents::hook::HookReading;
use agents::{Detector, Manifest};
use engine::{Input, ProcessRecord, RunFact, RunKey, StartRun};
use proto::observed::HookMoment;
use proto::{Dirs, ErrorCode, Evidence, Failure, Kind, Printable, ProcessId};
use term::Wraps;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::notify::{self, NotifyConfig};
use crate::screens::{ObservedAgent, Order, Screens};
use crate::settings::{Settings, SpawnSettings};
use crate::tokens::Tokens;
use crate::warnings::{Cause, Warnings};
pub(crate) use agent_run::AgentRun;
use directory::Directory;
use file_watcher::{AgentNotice, FileWatcher};
pub(crate) use file_watcher::{SoughtMessage, WantedText};
use fitting::Fitted;
use launch::AgentLauncher;
use manifest_cache::ManifestSet;
pub(crate) use manifest_cache::{ForeignManifest, ManifestCache};
use vendor_server::VendorServer;
use versions::ProgramVersions;

/// How many last lines of a screen are kept to explain why a program ended.
const LAST_LINES: usize = 8;

/// All agents of this daemon. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Agents {
    shared: Arc<Shared>,
}

struct Shared {
    launcher: AgentLauncher,
    /// Files are read under this lock, a few at a time: only launches, lists and reloads take it.
    manifests: Mutex<ManifestCache>,
    /// A short lock: look-ups and inserts only.
    agent_runs: Mutex<HashMap<RunKey, Arc<AgentRun>>>,
    versions: ProgramVersions,
    /// The environment of programs that are run on an agent's or a person's behalf.
    env: BTreeMap<String, String>,
    screens: Screens,
    facts: mpsc::Sender<Input>,
    warnings: Warnings,
    file_watcher: FileWatcher,
    /// Where calls to vendors' servers run: the file watcher's thread makes them too.
    runtime: Handle,
}

impl Agents {
    /// Starts the thread that watches agents' files.
    pub(crate) fn start(
        dirs: Arc<Dirs>,
        exe: PathBuf,
        screens: Screens,
        facts: mpsc::Sender<Input>,
        warnings: Warnings,
    ) -> std::io::Result<Self> {
        let manifests = Mutex::new(ManifestCache::new(&dirs.config));
        let launcher = AgentLauncher { dirs, exe, tokens: Tokens::default() };
        let env = std::env::vars().filter(|(name, _)| proto::inherited_variables::is_allowed(name)).collect();
        let (agent_runs, versions) = (Mutex::default(), ProgramVersions::default());
        let (file_watcher, post) = FileWatcher::new()?;
        let shared = Shared {
            launcher,
            manifests,
            agent_runs,
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
        // Read now and not at the first notification: a person who wrote the file expects a warning at the
        // start.
        let _known = agents.settings();
        Ok(agents)
    }

    /// Returns the manifests for a project.
    pub(crate) fn manifest_set(&self, project: Option<&Path>) -> Arc<ManifestSet> {
        let manifest_set = lock(&self.shared.manifests).manifest_set(project);
        let cause = Cause::Manifests(project.map(Path::to_owned));
        let problems = manifest_set.problems.iter().map(|problem| problem.text.clone()).collect();
        self.shared.warnings.set_all(cause, problems);
        manifest_set
    }

    /// Returns what a person must trust before a process may start this agent there: `None` if its manifest
    /// is built in, or if there is none.
    pub(crate) fn foreign_manifest(&self, name: &str, cwd: &Path) -> Option<ForeignManifest> {
        ForeignManifest::find(&self.manifest_set(Some(cwd)).catalogue, name)
    }

    /// Checks that there is an agent of this name for a project.
    pub(crate) fn check_name(&self, name: &str, project: &Path) -> Result<(), Failure> {
        let manifest_set = self.manifest_set(Some(project));
        manifest_set.catalogue.get(name).map(drop).ok_or_else(|| unknown(name, &manifest_set))
    }

    /// Returns the tokens with which agents' runs identify themselves.
    pub(crate) fn tokens(&self) -> &Tokens {
        &self.shared.launcher.tokens
    }

    /// Returns the agent of this run.
    pub(crate) fn find(&self, run: RunKey) -> Option<Arc<AgentRun>> {
        self.agent_runs().get(&run).map(Arc::clone)
    }

    /// Turns an agent's start into its program's; `None` for other kinds.
    pub(crate) fn prepare(&self, start: &mut StartRun) -> Result<Option<Arc<AgentRun>>, Failure> {
        if start.record.spec.kind != Kind::Agent {
            return Ok(None);
        }
        let name = start.argv.first().map_or("", String::as_str);
        let manifest_set = self.manifest_set(Some(Path::new(&start.cwd)));
        let manifest = manifest_set.catalogue.get(name).ok_or_else(|| unknown(name, &manifest_set))?;
        let search_path = start.env.iter().cloned().collect();
        let version = self.shared.versions.before_launch(manifest, &search_path);
        let directory = Directory::of(&self.shared.launcher.dirs, start.run);
        let fitted = Fitted::find(&manifest_set.catalogue, name, version, directory.path());
        let fitted = fitted.ok_or_else(|| unknown(name, &manifest_set))?;
        let agent_run = Arc::new(self.shared.launcher.prepare(start, directory, fitted)?);
        // Registered before the program runs: its first hook may come at once.
        self.agent_runs().insert(agent_run.run, Arc::clone(&agent_run));
        Ok(Some(agent_run))
    }

    /// Records that its program runs with this pid; returns what its worker needs to read its screen.
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

    /// Asks the program for its version, unless that is known, and reports it to the engine.
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

    /// Takes over an agent that an earlier daemon launched; `None` for other kinds.
    pub(crate) fn adopt(&self, record: &ProcessRecord, pid: i32) -> Option<ObservedAgent> {
        if record.spec.kind != Kind::Agent {
            return None;
        }
        let run = RunKey::new(record.id, record.run.number);
        let directory = Directory::of(&self.shared.launcher.dirs, run);
        if let Some(token) = directory.token() {
            self.tokens().admit(run, &token);
        }
        let note = directory.note().unwrap_or_default();
        let name = record.spec.argv.first().map_or("", String::as_str);
        let manifest_set = self.manifest_set(Some(Path::new(&record.spec.cwd)));
        // Without its manifest an agent lives on, but its screen cannot be read.
        let fitted = Fitted::find(&manifest_set.catalogue, name, note.version.clone(), directory.path());
        let manifest = fitted.map(|fitted| fitted.manifest).unwrap_or_default();
        let env = record.spec.environment.env.iter().filter(|(name, _)| !manifest.unset.contains(name));
        let env = env.map(|(name, value)| (name.clone(), value.clone())).collect();
        let mut agent_run =
            AgentRun::new(run, PathBuf::from(&record.spec.cwd), env, directory, manifest, note);
        agent_run.is_fixed = record.spec.parent.is_some();
        let agent_run = Arc::new(agent_run);
        self.agent_runs().insert(run, Arc::clone(&agent_run));
        Some(self.begin(&agent_run, pid, false))
    }

    /// Passes on what a hook has reported about an agent.
    pub(crate) fn hook_reported(
        &self,
        agent_run: &Arc<AgentRun>,
        reading: &HookReading,
        is_new_session: bool,
    ) {
        let file_watcher = &self.shared.file_watcher;
        let is_elsewhere = reading.transcript.as_ref().is_some_and(|path| agent_run.pin_transcript(path));
        if is_elsewhere || is_new_session {
            file_watcher.notify(agent_run.run, AgentNotice::Moved);
        }
        if matches!(reading.moment, HookMoment::PromptSubmitted { .. }) {
            file_watcher.notify(agent_run.run, AgentNotice::Prompt);
        }
        if let Some(text) = &reading.text {
            file_watcher.notify(agent_run.run, AgentNotice::HookText(text.clone()));
        }
    }

    /// Finds the agent's text at the end of a turn.
    pub(crate) fn collect(&self, run: RunKey, wanted: WantedText) {
        if self.find(run).is_some() {
            self.shared.file_watcher.collect(run, wanted);
        }
    }

    /// Checks whether the transcript or the vendor's server has a message.
    pub(crate) fn find_prompt(&self, run: RunKey, sought: SoughtMessage) {
        if self.find(run).is_some() {
            self.shared.file_watcher.find_prompt(run, sought);
        }
    }

    /// Records that an agent's program has ended.
    pub(crate) fn ended(&self, run: RunKey) {
        self.tokens().revoke(run);
        if let Some(agent_run) = self.find(run) {
            agent_run.cut_line();
            self.shared.file_watcher.notify(run, AgentNotice::Over);
            drop(crate::threads::run(move || {
                if let Err(error) = agent_run.directory.remove_token() {
                    tracing::warn!(%error, ?run, "the token of a run that is over could not be removed");
                }
            }));
        }
    }

    /// Applies a changed manifest: the agent's screen is read by the new rules from now on.
    fn reload(&self, run: RunKey) {
        // An agent that a process has started keeps the manifest that was approved.
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

    /// Returns the files that may change a manifest.
    fn manifest_files(&self, name: &str, cwd: &Path) -> Vec<PathBuf> {
        lock(&self.shared.manifests).files_of(name, cwd)
    }

    /// Returns the text of an agent's screen.
    fn screen_text(&self, run: RunKey) -> Option<String> {
        Some(self.shared.screens.find(run)?.screen().text(Wraps::Join))
    }

    /// Reports the last lines of an agent's screen.
    pub(crate) fn read_last_lines(&self, run: RunKey) {
        let (agents, Some(agent_run)) = (self.clone(), self.find(run)) else { return };
        drop(crate::threads::run(move || {
            let text = agents.screen_text(run).unwrap_or_default();
            let lines = last_lines(&::agents::trim(&agent_run.manifest(), &text));
            agents.send_fact(run, RunFact::LastLines(lines));
        }));
    }

    /// Sends a fact to the engine, from a thread that may block.
    fn send_fact(&self, run: RunKey, fact: RunFact) {
        // The receiver is gone only when the daemon is ending.
        drop(self.shared.facts.blocking_send(Input::Fact { run, fact }));
    }

    /// Sends a fact from a task, which waits while the engine's queue is full.
    async fn deliver_fact(&self, run: RunKey, fact: RunFact) {
        // The receiver is gone only when the daemon is ending.
        drop(self.shared.facts.send(Input::Fact { run, fact }).await);
    }

    /// Keeps a sample of the screen about which two sources disagree. Runs on a thread that may block.
    pub(crate) fn keep_drift(&self, run: RunKey, winner: Box<Evidence>, other: Box<Evidence>) {
        let (Some(agent_run), Some(handle)) = (self.find(run), self.shared.screens.find(run)) else { return };
        let data = self.shared.launcher.dirs.data.clone();
        drop(crate::threads::run(move || {
            let (manifest, version) = (agent_run.manifest(), agent_run.version());
            let screen = handle.screen();
            let kept = drift::keep(&data, &manifest, version.as_deref(), &screen, &winner, &other);
            if let Err(error) = kept {
                tracing::warn!(%error, ?run, "a disagreement could not be kept");
            }
        }));
    }

    /// Returns how the user wants to be notified, as the file says now.
    fn ways(&self) -> NotifyConfig {
        self.settings().notify
    }

    /// Returns the user's settings as the file has them now; a broken file is a warning until it is repaired.
    pub(crate) fn settings(&self) -> Settings {
        let dirs = &self.shared.launcher.dirs;
        let (settings, problem) = Settings::read(dirs);
        self.shared.warnings.set_all(Cause::Settings, problem.into_iter().collect());
        settings
    }

    /// Returns which variables no process inherits. A fault of the file is a warning, unless it hides which ones these are.
    pub(crate) fn spawn_settings(&self) -> Result<SpawnSettings, Failure> {
        let read = Settings::read_spawn(&self.shared.launcher.dirs);
        let problem =
            read.as_ref().map_or_else(|problem| Some(problem.clone()), |(_, problem)| problem.clone());
        self.shared.warnings.set_all(Cause::Settings, problem.into_iter().collect());
        read.map(|(spawn, _)| spawn).map_err(|problem| {
            let what = format!("{problem}; it may say which variables no process gets");
            Failure::new(ErrorCode::InvalidArgs, what)
                .hint("correct the file; qd config check shows every fault")
        })
    }

    /// Notifies a person who may be looking elsewhere.
    pub(crate) fn notify(&self, run: RunKey, title: String, body: String) {
        let agents = self.clone();
        drop(crate::threads::run(move || {
            let ways = agents.ways();
            if ways.terminal {
                agents.shared.screens.alert(&title, &body);
            }
            for failed in notify::send_notification(&ways, agents.env(), run, &title, &body) {
                tracing::warn!(?run, "a notification failed: {failed}");
            }
        }));
    }

    /// Removes everything of a launch when the run's holder is released.
    pub(crate) fn release(&self, run: RunKey) {
        self.tokens().revoke(run);
        let agent_run = self.agent_runs().remove(&run);
        if let Some(agent_run) = &agent_run {
            agent_run.cut_line();
            self.shared.file_watcher.end(run);
        }
        let directory = agent_run.map_or_else(
            || Directory::of(&self.shared.launcher.dirs, run),
            |agent_run| agent_run.directory.clone(),
        );
        drop(crate::threads::run(move || {
            if let Err(error) = directory.remove() {
                tracing::warn!(%error, ?run, "a launch's directory could not be removed");
            }
        }));
    }

    /// Removes what is left of a removed entry's launches, as after a lost holder.
    pub(crate) fn forget(&self, process: ProcessId) {
        let runs: Vec<RunKey> =
            self.agent_runs().keys().filter(|run| run.process == process).copied().collect();
        runs.into_iter().for_each(|run| self.release(run));
    }

    /// Removes the files of launches whose runs no longer exist. Runs whose holder may still answer keep
    /// theirs.
    pub(crate) fn sweep(&self, pending: &HashSet<RunKey>) {
        let alive: HashSet<RunKey> = self.agent_runs().keys().chain(pending).copied().collect();
        directory::sweep(&self.shared.launcher.dirs, &alive);
    }

    fn agent_runs(&self) -> MutexGuard<'_, HashMap<RunKey, Arc<AgentRun>>> {
        lock(&self.shared.agent_runs)
    }
}

/// Creates a detector. A manifest whose tables contradict each other was refused when it was read; if one got
/// here, the agent runs without a detector, which is better than not at all.
fn detector(manifest: &Manifest) -> Option<Detector> {
    let made = Detector::new(manifest);
    made.inspect_err(|error| tracing::error!(%error, manifest = manifest.name, "rules cannot be used")).ok()
}

/// Returns the last non-empty lines of a screen, safe to show.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    let last = lines.iter().skip(lines.len().saturating_sub(LAST_LINES));
    last.map(|line| Printable(line).to_string()).collect::<Vec<_>>().join("\n")
}

fn unknown(name: &str, manifest_set: &ManifestSet) -> Failure {
    if let Some(problem) = manifest_set.problems_of(name).first() {
        let message = format!("the manifest of {} cannot be used: {}", Printable(name), Printable(problem));
        return Failure::new(ErrorCode::NotFound, message).hint("qd agents check FILE names all its faults");
    }
    let message = format!("there is no agent called {}", Printable(name));
    Failure::new(ErrorCode::NotFound, message).hint("qd agents shows which there are")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

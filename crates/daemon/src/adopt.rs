//! Adopts what an earlier daemon left: takes over every holder that answers, reports every run that is
//! certainly lost, and waits for the rest.
//!
//! The search has two phases. Before the door opens, something must be known soon about every run.
//! Afterwards, a silent holder may still answer. A run counts as lost only when no process listens at its
//! socket, and an unexpected holder becomes an entry again.

mod pending;
mod probe;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::input::Survivor;
use engine::{Input, ProcessRecord, RunFact, RunKey};
use proto::dirs::holders_in;
use proto::{Dirs, ProcessId, RunNumber};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

use crate::agents::Agents;
use crate::failpoint::{self, Failpoint};
use crate::records::closed::Closed;
use crate::screens::{NewRun, Screens};
use crate::warnings::{Cause, Warnings};
pub(crate) use pending::PendingHolders;
use probe::{HolderProbe, ProbeResult};

/// How long the door stays closed for holders that do not answer. They answer in microseconds unless they are
/// stopped or the machine is overloaded, and people wait for the door.
const FIRST_TIMEOUT: Duration = Duration::from_millis(500);
/// The most holders that are greeted at the same time: each may send a long checkpoint at once.
const GREETED: usize = 64;
/// The most probe results that wait. When the queue is full, the probe waits.
const RESULTS: usize = 64;

/// What a search needs.
#[derive(Clone)]
pub(crate) struct Search {
    pub(crate) dirs: Arc<Dirs>,
    pub(crate) screens: Screens,
    pub(crate) agents: Agents,
    pub(crate) warnings: Warnings,
    pub(crate) facts: mpsc::Sender<Input>,
    pub(crate) pending: PendingHolders,
    /// Every entry of the database.
    pub(crate) known: Arc<HashSet<ProcessId>>,
    /// Entries that were closed. A holder of one did not receive its release; it is released, not adopted.
    pub(crate) closed: Arc<HashMap<ProcessId, Closed>>,
    /// The runtime directory of the previous daemon, where holders of an earlier version may listen.
    pub(crate) former: Option<PathBuf>,
}

/// A search that continues until the fate of every run is certain.
pub(crate) struct Adoption {
    search: Search,
    results: mpsc::Receiver<ProbeResult>,
    /// Probes without a result yet.
    unanswered: usize,
    /// Closed entries of which no socket is left.
    holderless: Vec<ProcessId>,
    /// Runs that are certainly lost. An earlier holder of the same process may be silent still. Only that one has the
    /// environment for the next run, so the engine must not hear of the loss before it hears of that holder.
    lost: Vec<LostRun>,
}

/// A run whose holder is certainly gone.
pub(crate) struct LostRun {
    run: RunKey,
    /// What lives on of it.
    survivors: Vec<Survivor>,
}

impl Adoption {
    /// Probes every holder that exists, and every one that should.
    pub(crate) fn begin(search: Search, expected: Vec<ProcessRecord>) -> Self {
        let (sender, results) = mpsc::channel(RESULTS);
        let turns = Arc::new(Semaphore::new(GREETED));
        let deadline = Instant::now() + FIRST_TIMEOUT;
        let wanted = wanted(&search.dirs, search.former.as_deref(), expected);
        let unanswered = wanted.len();
        let has_socket =
            |id: &&ProcessId| wanted.values().any(|(run, _)| run.is_some_and(|run| run.process == **id));
        let holderless = search.closed.keys().filter(|id| !has_socket(id)).copied().collect();
        for (path, (run, record)) in wanted {
            let end = run.map(|run| search.pending.add(run));
            let probe = HolderProbe::new(search.clone(), path, (run, record), sender.clone(), end);
            drop(tokio::spawn(probe.probe(deadline, Arc::clone(&turns))));
        }
        Self { search, results, unanswered, holderless, lost: Vec::new() }
    }

    /// Returns the closed entries whose holders are certainly gone.
    pub(crate) fn closed_without_holder(&mut self) -> Vec<ProcessId> {
        std::mem::take(&mut self.holderless)
    }

    /// Waits until every probe has a first result, which may be that its holder is silent; returns the inputs
    /// for the engine.
    pub(crate) async fn first_results(&mut self) -> Vec<Input> {
        let mut inputs = Vec::new();
        while self.unanswered > 0 {
            let Some(result) = self.results.recv().await else { break };
            self.unanswered -= 1;
            match result {
                ProbeResult::Found(new, input) => {
                    self.take_in(*new, &input);
                    inputs.push(*input);
                    failpoint::pass(Failpoint::Adopting);
                }
                ProbeResult::Lost(lost) => self.lost.push(lost),
                ProbeResult::Silent | ProbeResult::Nobody => {}
            }
        }
        inputs.extend(self.take_certainly_lost().into_iter().map(|lost| self.give_up(lost)));
        let (agents, pending) = (self.search.agents.clone(), self.search.pending.runs());
        // No caller is served yet, so none waits; a panic in there has nothing to report.
        drop(crate::threads::run(move || agents.sweep(&pending)).await);
        inputs
    }

    /// Takes over holders that answer later. Ends when no holder is left to wait for.
    pub(crate) async fn adopt_late(mut self) {
        while let Some(result) = self.results.recv().await {
            match result {
                ProbeResult::Found(new, input) if self.is_awaited_by_lost(new.handle.run) => {
                    // The engine ignores facts about a run that is not the newest, but not this input, which must come
                    // before the loss.
                    self.take_in(*new, &input);
                    self.report(*input).await;
                }
                ProbeResult::Found(mut new, input) => {
                    // The worker that hosts the run sends this input, so that no fact about the run can come
                    // before it.
                    new.adopted = Some(input.clone());
                    self.take_in(*new, &input);
                }
                ProbeResult::Lost(lost) => self.lost.push(lost),
                ProbeResult::Silent | ProbeResult::Nobody => {}
            }
            for lost in self.take_certainly_lost() {
                let run = lost.run;
                let lost = self.give_up(lost);
                // The files of its launch were kept for it.
                self.search.agents.release(run);
                self.report(lost).await;
            }
        }
    }

    async fn report(&self, input: Input) {
        // The receiver is gone only when the daemon is ending.
        drop(self.search.facts.send(input).await);
    }

    /// Returns true if the holder belongs to an earlier run of a process whose newest run is lost.
    fn is_awaited_by_lost(&self, run: RunKey) -> bool {
        self.lost.iter().any(|lost| lost.run.process == run.process && lost.run.run != run.run)
    }

    /// Takes the lost runs whose process has no other holder that may still answer.
    fn take_certainly_lost(&mut self) -> Vec<LostRun> {
        let pending = self.search.pending.runs();
        let is_waiting = |LostRun { run: lost, .. }: &LostRun| {
            pending.iter().any(|run| run.process == lost.process && run.run != lost.run)
        };
        let (waiting, gone) = std::mem::take(&mut self.lost).into_iter().partition(is_waiting);
        self.lost = waiting;
        gone
    }

    fn take_in(&self, new: NewRun, input: &Input) {
        let run = new.handle.run;
        self.warn_if_recovered(input);
        self.search.screens.host(new);
        self.search.pending.remove(run);
    }

    fn give_up(&self, LostRun { run, survivors }: LostRun) -> Input {
        self.search.pending.remove(run);
        Input::Fact { run, fact: RunFact::Lost { final_offset: 0, survivors } }
    }

    /// Warns about a running process that the database does not have: it was damaged, deleted or could not be
    /// written.
    fn warn_if_recovered(&self, input: &Input) {
        if let Input::Adopted { record, .. } = input
            && !self.search.known.contains(&record.id)
        {
            let text = format!(
                "{} ({}) was not in the database; it was recovered from its holder",
                record.name, record.id
            );
            self.search.warnings.set(Cause::Recovered(record.id), text);
        }
    }
}

/// The holder to look for: its run, and the database's record of it.
type WantedHolder = (Option<RunKey>, Option<ProcessRecord>);

/// Returns every holder that should exist, and every one that does. Earlier versions had their sockets in the
/// runtime directory.
fn wanted(
    dirs: &Dirs,
    former: Option<&Path>,
    expected: Vec<ProcessRecord>,
) -> HashMap<PathBuf, WantedHolder> {
    let runtimes = [Some(dirs.runtime.as_path()), former].into_iter().flatten();
    let mut directories = vec![dirs.holders()];
    directories.extend(runtimes.map(holders_in));
    // A directory that cannot be read hides no expected holder: their paths are known.
    let entries = directories.iter().filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().flatten();
    // A holder whose socket was removed makes it again soon.
    let listening = directories.iter().filter_map(|dir| holder::listening_in(dir).ok()).flatten();
    let mut wanted: HashMap<PathBuf, WantedHolder> = (entries.map(|entry| entry.path()).chain(listening))
        .map(|path| (path.clone(), (run_at(&path), None)))
        .collect();
    for record in expected {
        let run = RunKey::new(record.id, record.run.number);
        let usual = crate::launch::socket_path(dirs, run);
        let name = usual.file_name().unwrap_or_default();
        let paths = directories.iter().map(|dir| dir.join(name));
        let path = paths.into_iter().find(|path| wanted.contains_key(path)).unwrap_or(usual.clone());
        wanted.insert(path, (Some(run), Some(record)));
    }
    wanted
}

/// Returns the run whose holder listens there, by the socket's name.
fn run_at(path: &Path) -> Option<RunKey> {
    let (process, run) = path.file_name()?.to_str()?.rsplit_once('.')?;
    Some(RunKey::new(process.parse().ok()?, RunNumber(run.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_named_after_its_run() {
        let run = RunKey::new(ProcessId::from_entropy(7), RunNumber(12));
        let dirs = Dirs::below(Path::new("/somewhere"));
        assert_eq!(run_at(&crate::launch::socket_path(&dirs, run)), Some(run));
        for other in ["/somewhere/holders/notes", "/somewhere/holders/p_.x", "/somewhere/holders/a.1", "/"] {
            assert_eq!(run_at(Path::new(other)), None, "{other}");
        }
    }
}

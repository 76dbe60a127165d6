//! Taking over what an earlier daemon left: every holder that answers, the loss of every one that is certainly gone, and
//! patience with the rest.
//!
//! Owns the search and its two times: before the door opens, when about every run something must be known soon, and after
//! it, when whoever was silent may still answer. Refuses killing on doubt: a run is given up only when nobody listens at
//! its socket, and a holder nobody expected becomes an entry again.

mod pending;
mod probe;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::{Input, ProcessRecord, RunFact, RunKey};
use proto::dirs::holders_in;
use proto::{Dirs, ProcessId, RunNumber};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

use crate::agents::Agents;
use crate::failpoint::{self, Failpoint};
use crate::records::{self, Warnings};
use crate::screens::{NewRun, Screens};
pub(crate) use pending::PendingHolders;
use probe::{HolderProbe, ProbeResult};

/// How long the door stays closed for holders that do not answer. They do so in microseconds unless they are stopped or
/// the machine is drowning, and people wait for the door.
const PATIENCE: Duration = Duration::from_millis(500);
/// Holders that are greeted at the same time: each may send a long checkpoint at once.
const GREETED: usize = 64;
/// Words that may wait to be taken. Full-queue policy: whoever has found something waits.
const WORDS: usize = 64;

/// What a search is made with.
#[derive(Clone)]
pub(crate) struct Search {
    pub(crate) places: Arc<Dirs>,
    pub(crate) screens: Screens,
    pub(crate) agents: Agents,
    pub(crate) warnings: Warnings,
    pub(crate) facts: mpsc::Sender<Input>,
    pub(crate) pending: PendingHolders,
    /// Every entry of the database.
    pub(crate) known: Arc<HashSet<ProcessId>>,
    /// The runtime directory of the daemon before this one, where holders may listen that an earlier version started.
    pub(crate) former: Option<PathBuf>,
}

/// A search that goes on until about every run something is certain.
pub(crate) struct Adoption {
    search: Search,
    words: mpsc::Receiver<ProbeResult>,
    /// Seekers that have said nothing yet.
    unsaid: usize,
}

impl Adoption {
    /// Knocks at every holder there is, and at every one there should be.
    pub(crate) fn begin(search: Search, expected: Vec<ProcessRecord>) -> Self {
        let (say, words) = mpsc::channel(WORDS);
        let turns = Arc::new(Semaphore::new(GREETED));
        let patience = Instant::now() + PATIENCE;
        let wanted = wanted(&search.places, search.former.as_deref(), expected);
        let unsaid = wanted.len();
        for (path, (run, record)) in wanted {
            let end = run.map(|run| search.pending.add(run));
            let seeker = HolderProbe::new(search.clone(), path, (run, record), say.clone(), end);
            drop(tokio::spawn(seeker.probe(patience, Arc::clone(&turns))));
        }
        Self { search, words, unsaid }
    }

    /// Waits until every seeker has said something, and be it that its holder is silent; what the engine is to be told.
    pub(crate) async fn first_words(&mut self) -> Vec<Input> {
        let mut inputs = Vec::new();
        while self.unsaid > 0 {
            let Some(word) = self.words.recv().await else { break };
            self.unsaid -= 1;
            match word {
                ProbeResult::Found(new, input) => {
                    self.take_in(*new, &input);
                    inputs.push(*input);
                    failpoint::pass(Failpoint::Adopting);
                }
                ProbeResult::Lost(run) => inputs.push(self.give_up(run)),
                ProbeResult::Silent | ProbeResult::Nobody => {}
            }
        }
        let (agents, pending) = (self.search.agents.clone(), self.search.pending.runs());
        // Nobody is served yet who could be kept waiting; a panic in there has nothing to tell us.
        drop(crate::threads::run(move || agents.sweep(&pending)).await);
        inputs
    }

    /// Takes in whoever answers later. Ends when there is nobody left to wait for.
    pub(crate) async fn go_on(mut self) {
        while let Some(word) = self.words.recv().await {
            match word {
                ProbeResult::Found(mut new, input) => {
                    // Said by the worker that hosts it, so that nothing about the run can be said before it.
                    new.adopted = Some(input.clone());
                    self.take_in(*new, &input);
                }
                ProbeResult::Lost(run) => {
                    let lost = self.give_up(run);
                    // What its launch left was spared for it.
                    self.search.agents.release(run);
                    // The daemon is ending when nobody listens.
                    drop(self.search.facts.send(lost).await);
                }
                ProbeResult::Silent | ProbeResult::Nobody => {}
            }
        }
    }

    fn take_in(&self, new: NewRun, input: &Input) {
        let run = new.handle.run;
        self.warn_if_recovered(input);
        self.search.screens.host(new);
        self.search.pending.remove(run);
    }

    fn give_up(&self, run: RunKey) -> Input {
        self.search.pending.remove(run);
        Input::Fact { run, fact: RunFact::Lost { final_offset: 0 } }
    }

    /// A running process that the database does not have: it was damaged, deleted or could not be written.
    fn warn_if_recovered(&self, input: &Input) {
        if let Input::Adopted { record, .. } = input
            && !self.search.known.contains(&record.id)
        {
            let text = format!(
                "{} ({}) was not in the database; it was recovered from its holder",
                record.name, record.id
            );
            records::warn(&self.search.warnings, text);
        }
    }
}

/// Whose holder is looked for: which run it is, and what the database has of it.
type Wanted = (Option<RunKey>, Option<ProcessRecord>);

/// Every holder that should be there, and every one that is there all the same. Earlier versions had their sockets in
/// the runtime directory.
fn wanted(places: &Dirs, former: Option<&Path>, expected: Vec<ProcessRecord>) -> HashMap<PathBuf, Wanted> {
    let runtimes = [Some(places.runtime.as_path()), former].into_iter().flatten();
    let mut directories = vec![places.holders()];
    directories.extend(runtimes.map(holders_in));
    // A directory that cannot be read hides nobody who is expected: their places are known.
    let entries = directories.iter().filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().flatten();
    let mut wanted: HashMap<PathBuf, Wanted> =
        entries.map(|entry| entry.path()).map(|path| (path.clone(), (run_at(&path), None))).collect();
    for record in expected {
        let run = RunKey::new(record.id, record.run.number);
        let usual = crate::launch::socket_path(places, run);
        let name = usual.file_name().unwrap_or_default();
        let paths = directories.iter().map(|dir| dir.join(name));
        let path = paths.into_iter().find(|path| wanted.contains_key(path)).unwrap_or(usual.clone());
        wanted.insert(path, (Some(run), Some(record)));
    }
    wanted
}

/// The run whose holder listens there, by the socket's name.
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
        let places = Dirs::below(Path::new("/somewhere"));
        assert_eq!(run_at(&crate::launch::socket_path(&places, run)), Some(run));
        for other in ["/somewhere/holders/notes", "/somewhere/holders/p_.x", "/somewhere/holders/a.1", "/"] {
            assert_eq!(run_at(Path::new(other)), None, "{other}");
        }
    }
}

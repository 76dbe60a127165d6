//! The thread that watches agents' files: state files, transcripts and changed manifests. It waits for
//! changes, orders and its own deadlines, and does not poll. The crate `agents` interprets the files.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use agents::transcript::EndedTurn;
use engine::RunKey;
use proto::agent::{MailId, TurnEnd};
use std::path::PathBuf;

use super::Agents;
use super::agent_files::{AgentFiles, Watched};
use super::agent_run::AgentRun;
use super::file_watches::{Waker, WatchMark, Watches};

/// The most orders that wait. When the queue is full, an order is refused and logged: the engine task must
/// not wait for a thread that may be waiting for the engine task. What is lost is the text of a turn, for
/// which the engine stops waiting.
const ORDERS: usize = 1024;

/// What other sources report about an agent.
pub(crate) enum AgentNotice {
    /// A prompt was submitted: earlier text belongs to an older turn.
    Prompt,
    /// The agent's text in a turn, from a hook.
    HookText(String),
    /// The agent's text in a turn and how it ended, from the vendor's server.
    ServerText(String, TurnEnd),
    /// The vendor's list for this turn.
    Listed(WantedText, Option<EndedTurn>),
    /// The transcript's path or the session may have become known.
    Moved,
    /// Its program is over.
    Over,
}

enum WatcherOrder {
    Begin { agent_run: Arc<AgentRun>, pid: i32, is_fresh: bool },
    End(RunKey),
    AgentNotice(RunKey, AgentNotice),
    Collect(RunKey, WantedText),
    Find(RunKey, SoughtMessage),
}

/// A turn whose text is wanted.
#[derive(Clone, Debug)]
pub(crate) struct WantedText {
    pub(crate) turn: u64,
    /// From the end of the turn before to its own, in milliseconds since the epoch: its prompt was written
    /// within.
    pub(crate) span: RangeInclusive<u64>,
    pub(crate) is_interrupted: bool,
}

/// A message to look for in a transcript or on a server.
#[derive(Clone, Debug)]
pub(crate) struct SoughtMessage {
    pub(crate) mail: MailId,
    pub(crate) text: String,
    /// When it was sent, in milliseconds since the epoch.
    pub(crate) since: u64,
}

/// The handle of the thread. Cheap to clone.
#[derive(Clone)]
pub(crate) struct FileWatcher {
    orders: SyncSender<WatcherOrder>,
    waker: Waker,
}

/// What the thread starts with.
pub(crate) struct FileWatcherSetup {
    orders: Receiver<WatcherOrder>,
    watches: Watches,
}

impl FileWatcher {
    /// Returns the handle and the thread's own end, which starts with [`FileWatcherSetup::work`].
    pub(crate) fn new() -> io::Result<(Self, FileWatcherSetup)> {
        let (orders, queue) = sync_channel(ORDERS);
        let watches = Watches::new()?;
        Ok((Self { orders, waker: watches.waker() }, FileWatcherSetup { orders: queue, watches }))
    }

    /// Watches the files of an agent whose program runs. A fresh one has a session of its own, in which
    /// everything is new.
    pub(crate) fn begin(&self, agent_run: Arc<AgentRun>, pid: i32, is_fresh: bool) {
        self.order(WatcherOrder::Begin { agent_run, pid, is_fresh });
    }

    /// Stops watching a run that was released.
    pub(crate) fn end(&self, run: RunKey) {
        self.order(WatcherOrder::End(run));
    }

    /// Passes a notice about an agent on.
    pub(crate) fn notify(&self, run: RunKey, notice: AgentNotice) {
        self.order(WatcherOrder::AgentNotice(run, notice));
    }

    /// Requests the text of a turn.
    pub(crate) fn collect(&self, run: RunKey, wanted: WantedText) {
        self.order(WatcherOrder::Collect(run, wanted));
    }

    /// Requests a search for a message in the transcript.
    pub(crate) fn find_prompt(&self, run: RunKey, sought: SoughtMessage) {
        self.order(WatcherOrder::Find(run, sought));
    }

    fn order(&self, order: WatcherOrder) {
        match self.orders.try_send(order) {
            Ok(()) => self.waker.wake(),
            Err(TrySendError::Full(_)) => tracing::warn!("the agents' files are not looked at fast enough"),
            // The daemon is ending.
            Err(TrySendError::Disconnected(_)) => {}
        }
    }
}

impl FileWatcherSetup {
    /// Starts the thread.
    pub(crate) fn work(self, agents: Agents) -> io::Result<()> {
        let watching = Watching {
            agents,
            orders: self.orders,
            watches: self.watches,
            watched: HashMap::new(),
            marks: BTreeMap::new(),
        };
        std::thread::Builder::new().name("agents-watch".to_owned()).spawn(move || watching.work())?;
        Ok(())
    }
}

struct Watching {
    agents: Agents,
    orders: Receiver<WatcherOrder>,
    watches: Watches,
    watched: HashMap<RunKey, AgentFiles>,
    marks: BTreeMap<WatchMark, WatchedFile>,
}

/// A file that is watched for a run.
struct WatchedFile {
    run: RunKey,
    what: Watched,
    path: PathBuf,
}

impl Watching {
    fn work(mut self) {
        loop {
            let changes = match self.watches.wait(self.timeout()) {
                Ok(changes) => changes,
                Err(error) => return tracing::error!(%error, "agents' files are watched no longer"),
            };
            if !self.obey_all() {
                return;
            }
            for mark in changes.marks {
                if let Some((run, what)) = self.marks.get(&mark).map(|file| (file.run, file.what)) {
                    self.read_watched(run, what);
                }
            }
            let now = Instant::now();
            for agent_files in self.watched.values_mut() {
                agent_files.give_up(&self.agents, now);
            }
        }
    }

    /// Returns the time until the wait for a text ends.
    fn timeout(&self) -> Option<Duration> {
        let due = self.watched.values().filter_map(AgentFiles::due).min()?;
        Some(due.saturating_duration_since(Instant::now()))
    }

    /// Executes waiting orders; returns false when every handle is gone.
    fn obey_all(&mut self) -> bool {
        loop {
            match self.orders.try_recv() {
                Ok(order) => self.obey(order),
                Err(std::sync::mpsc::TryRecvError::Empty) => return true,
                Err(std::sync::mpsc::TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn obey(&mut self, order: WatcherOrder) {
        match order {
            WatcherOrder::Begin { agent_run, pid, is_fresh } => {
                let run = agent_run.run;
                self.watched.insert(run, AgentFiles::new(agent_run, pid, is_fresh));
                self.watch_what_there_is(run);
            }
            WatcherOrder::End(run) => {
                self.watched.remove(&run);
                self.unwatch(run, |_| true);
            }
            WatcherOrder::AgentNotice(run, AgentNotice::Moved) => self.watch_what_there_is(run),
            WatcherOrder::AgentNotice(run, notice) => {
                if let Some(agent_files) = self.watched.get_mut(&run) {
                    agent_files.take_notice(notice, &self.agents);
                }
            }
            WatcherOrder::Find(run, sought) => {
                self.watch_what_there_is(run);
                if let Some(agent_files) = self.watched.get(&run) {
                    agent_files.find_prompt(&sought, &self.agents);
                }
            }
            WatcherOrder::Collect(run, wanted) => {
                // A transcript that no hook named may have appeared with the turn.
                self.watch_what_there_is(run);
                self.read_watched(run, Watched::Transcript);
                if let Some(agent_files) = self.watched.get_mut(&run) {
                    agent_files.collect(wanted, &self.agents);
                }
            }
        }
    }

    /// Watches every file of an agent that has become known, and reads each at once.
    fn watch_what_there_is(&mut self, run: RunKey) {
        let Some(agent_files) = self.watched.get_mut(&run) else { return };
        for (what, path) in agent_files.files(&self.agents) {
            let is_known =
                self.marks.values().any(|file| file.run == run && file.what == what && file.path == path);
            if is_known {
                continue;
            }
            if what == Watched::Transcript {
                self.unwatch(run, |kind| kind == Watched::Transcript);
            }
            let mark = self.watches.add(path.clone());
            self.marks.insert(mark, WatchedFile { run, what, path });
            if what != Watched::Manifest {
                self.read_watched(run, what);
            }
        }
    }

    fn unwatch(&mut self, run: RunKey, is_meant: impl Fn(Watched) -> bool) {
        let gone: Vec<WatchMark> = self
            .marks
            .iter()
            .filter(|(_, file)| file.run == run && is_meant(file.what))
            .map(|(mark, _)| *mark)
            .collect();
        for mark in gone {
            self.watches.remove(mark);
            self.marks.remove(&mark);
        }
    }

    fn read_watched(&mut self, run: RunKey, what: Watched) {
        let Some(agent_files) = self.watched.get_mut(&run) else { return };
        let has_moved = match what {
            Watched::StateFile => agent_files.read_state(&self.agents),
            Watched::Transcript => agent_files.read_transcript(&self.agents),
            Watched::Manifest => {
                self.agents.reload(run);
                false
            }
        };
        if has_moved {
            self.watch_what_there_is(run);
        }
    }
}

//! The data plane: every run's ring, emulator, viewers and input, on a few dedicated threads.
//!
//! Orders come from the engine's effects, and facts go back. There is no async here: parsing output is CPU
//! work and must not run on the door's thread.
//!
//! | thread | owns | receives | sends | when others are slow |
//! |---|---|---|---|---|
//! | `screens-N` (2 to 4) | its runs: link, ring position, viewers, input queue | bounded orders, rings, links, viewers, by epoll | facts (kept and retried when the engine's queue is full), viewers' frames | never waits: a full viewer is skipped ahead by repaint, a full engine queue is retried |
//! | `patterns`, `patterns-slow` | open searches for patterns | text to search, bounded | matches | a search that falls too far behind ends with an error |

mod alert;
mod budget;
mod checkpoint;
mod checkpoint_io;
mod displaced;
mod echo;
mod facts;
mod failpoint;
mod fault;
mod flood_wait;
mod handle;
mod holder_end;
mod holder_process;
mod hosting;
mod input_queue;
mod kept_runs;
mod log_position;
mod log_times;
mod observe;
mod order;
mod out_of_band;
mod pace;
mod readable;
mod reports;
mod run;
mod run_end;
pub(crate) mod settle;
mod sync_limit;
mod terminal;
mod terminal_size;
mod tree_end;
mod typing;
mod typing_guard;
mod unread_answers;
mod unsent_bytes;
mod versions;
mod view_options;
mod viewer;
mod viewer_colors;
mod viewer_input;
mod viewer_output;
mod viewer_position;
mod viewer_socket;
mod watch;
mod worker;
mod worker_viewers;
mod writing;

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use engine::{FormerRun, Input, RunKey};
use term::Limits;
use tokio::sync::{mpsc, oneshot, watch as value};

pub(crate) use handle::ScreenHandle;
pub(crate) use holder_end::name_survivors;
use hosting::{WorkerSlot, register};
pub(crate) use kept_runs::{KeptRuns, newest_before};
pub(crate) use observe::ObservedAgent;
pub(crate) use order::{
    AnsweredHolder, Ended, JobKey, NewRun, NewViewer, Order, Text, WriteJob, WriteOutcome,
};
pub(crate) use readable::{Log, ReadableRun};
pub(crate) use typing::{MAX_CANONICAL, TypeJob};
pub(crate) use versions::offset_of;
pub(crate) use view_options::ViewOptions;
use viewer_colors::LastColors;
use watch::Matcher;
use worker::{OrderSender, Worker};

use crate::warnings::Warnings;

/// The fewest and most worker threads. Two keep a flood on one from delaying keys on the other even on one
/// core.
const WORKERS: std::ops::RangeInclusive<usize> = 2..=4;

/// The first number of runs that are registered before they are hosted.
const REGISTERED: u64 = 1 << 32;

/// How long released holders may take to exit: their trees are gone already, or end within three seconds.
const FINISH: Duration = Duration::from_secs(4);

/// All hosted runs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Screens {
    shared: Arc<Index>,
}

struct Index {
    workers: Vec<OrderSender>,
    next: AtomicUsize,
    /// The limits of each screen.
    limits: Limits,
    /// What is kept of earlier runs.
    kept: Arc<KeptRuns>,
    /// How many runs are being stored and released.
    retiring: value::Sender<usize>,
    /// How many runs were hosted so far.
    arrivals: value::Sender<u64>,
    /// Which runs are hosted where. A short lock: look-ups and inserts only.
    runs: RwLock<HashMap<RunKey, Hosted>>,
}

#[derive(Clone)]
struct Hosted {
    handle: Arc<ScreenHandle>,
    worker: usize,
}

impl Screens {
    /// Starts the worker threads.
    pub(crate) fn start(
        facts: &mpsc::Sender<Input>,
        warnings: &Warnings,
        limits: Limits,
        kept: Arc<KeptRuns>,
    ) -> io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let count = cores.clamp(*WORKERS.start(), *WORKERS.end());
        let matcher = Matcher::start(facts.clone())?;
        let colors = LastColors::default();
        let workers = (0..count)
            .map(|n| Worker::start(n, facts.clone(), warnings.clone(), Arc::clone(&matcher), colors.clone()))
            .collect::<io::Result<Vec<_>>>()?;
        let (next, retiring, arrivals) = (AtomicUsize::new(0), value::Sender::new(0), value::Sender::new(0));
        let index = Index { workers, next, limits, kept, retiring, arrivals, runs: RwLock::default() };
        Ok(Self { shared: Arc::new(index) })
    }

    /// Returns the limits of each screen.
    pub(crate) fn limits(&self) -> Limits {
        self.shared.limits
    }

    /// Returns what is kept of earlier runs.
    pub(crate) fn kept(&self) -> &Arc<KeptRuns> {
        &self.shared.kept
    }

    /// Stores what a run has printed when another one follows; its holder is released once the disk has it,
    /// so that a daemon that dies in between loses nothing. `then` runs last.
    pub(crate) fn retire(&self, former: FormerRun, then: impl FnOnce() + Send + 'static) {
        let Some(handle) = self.find(former.run) else { return then() };
        self.shared.kept.expect(former.run);
        self.shared.retiring.send_modify(|count| *count += 1);
        let screens = self.clone();
        drop(tokio::spawn(async move {
            handle.ready().await;
            let kept = Arc::clone(screens.kept());
            // The panic hook has reported a panic; the holder is released all the same.
            drop(crate::threads::run(move || kept.keep(&handle, former)).await);
            let run = former.run;
            screens.order(run, Order::Release { run, end_tree: true, reason: "restarted" });
            screens.forget(run);
            screens.shared.retiring.send_modify(|count| *count = count.saturating_sub(1));
            then();
        }));
    }

    /// Watches a run that is to be hosted, so that one that cannot be watched is never announced.
    pub(crate) fn watch(&self, run: &mut NewRun) -> io::Result<()> {
        let count = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let worker = count % self.shared.workers.len();
        // Workers number other runs from one on.
        let number = REGISTERED + count as u64;
        register(self.shared.workers[worker].epoll.as_fd(), run, number)?;
        run.place = Some(WorkerSlot { worker, number });
        Ok(())
    }

    /// Hosts a run whose holder is linked.
    pub(crate) fn host(&self, run: NewRun) {
        let next = || self.shared.next.fetch_add(1, Ordering::Relaxed) % self.shared.workers.len();
        let worker = run.place.map_or_else(next, |place| place.worker);
        let hosted = Hosted { handle: Arc::clone(&run.handle), worker };
        self.write().insert(run.handle.run, hosted);
        self.shared.arrivals.send_modify(|count| *count += 1);
        self.shared.workers[worker].send(Order::Host(Box::new(run)));
    }

    /// Returns a receiver that changes with every run that is hosted.
    pub(crate) fn arrivals(&self) -> value::Receiver<u64> {
        self.shared.arrivals.subscribe()
    }

    /// Removes a run that was released or lost; its worker drops the rest.
    pub(crate) fn forget(&self, run: RunKey) {
        self.write().remove(&run);
    }

    /// Returns the hosted run, if there is one.
    pub(crate) fn find(&self, run: RunKey) -> Option<Arc<ScreenHandle>> {
        self.read().get(&run).map(|hosted| Arc::clone(&hosted.handle))
    }

    /// Sends an order to the worker that hosts this run; returns false if there is none.
    pub(crate) fn order(&self, run: RunKey, order: Order) -> bool {
        let worker = self.read().get(&run).map(|hosted| hosted.worker);
        if let Some(worker) = worker {
            self.shared.workers[worker].send(order);
        }
        worker.is_some()
    }

    /// Alerts every attached person.
    pub(crate) fn alert(&self, title: &str, body: &str) {
        let sound: Arc<[u8]> = alert::sound(title, body).into();
        for worker in &self.shared.workers {
            worker.send(Order::Alert { sound: Arc::clone(&sound) });
        }
    }

    /// Waits until every released holder has exited, up to a time limit.
    pub(crate) async fn finish(&self) {
        let mut retiring = self.shared.retiring.subscribe();
        let all = async {
            // This value has the sender, so it cannot be gone.
            drop(retiring.wait_for(|count| *count == 0).await);
            for worker in &self.shared.workers {
                let (told, finished) = oneshot::channel();
                worker.send(Order::Finish(told));
                // A worker that has ended has no holders to wait for.
                let _ended = finished.await;
            }
        };
        if tokio::time::timeout(FINISH, all).await.is_err() {
            tracing::warn!("some holders did not end; the next daemon adopts them");
        }
    }

    /// Returns the run whose holder is this process: turns a caller's lineage into an identity. A recycled
    /// pid does not match.
    pub(crate) fn run_of_holder(&self, pid: i32, start_time: u64) -> Option<RunKey> {
        let is_holder = |handle: &ScreenHandle| {
            handle.holder_pid == pid && handle.holder_start_time.is_none_or(|started| started == start_time)
        };
        self.read().values().find(|hosted| is_holder(&hosted.handle)).map(|hosted| hosted.handle.run)
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, HashMap<RunKey, Hosted>> {
        self.shared.runs.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, HashMap<RunKey, Hosted>> {
        self.shared.runs.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

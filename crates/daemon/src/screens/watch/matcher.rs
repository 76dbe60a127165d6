//! The threads that search for patterns, a slice of a search at a time, so that neither a screen nor another
//! search waits for a costly one.
//!
//! It has every open search, their order, and the bound on waiting text. It gets text and uses no lock that
//! screens need. The result of a search goes to the engine as a fact.
//!
//! | thread | searches for | when it is behind |
//! |---|---|---|
//! | `patterns` | patterns that have been cheap so far | text waits, up to [`MAX_HELD`] |
//! | `patterns-slow`, at the lowest priority | the others, each a slice at a time | the same; the search that is furthest behind then ends with an error |

use std::collections::{HashMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::{Input, RunFact, RunKey, WaitId};
use tokio::sync::mpsc;

use super::search::{ScreenSearch, Search, Step};
use crate::line_pattern::thread_time;

/// The most text that waits for all searches together: three seconds of ten megabytes a second.
const MAX_HELD: usize = 32 << 20; // 32 MiB
/// A slice ends after this much text, or after this long.
const SLICE: usize = 64 * 1024;
const SLICE_TIME: Duration = Duration::from_millis(5);
/// What a pattern may cost before it is slow: this much once, and this much for every byte.
const ALLOWANCE: Duration = Duration::from_millis(20);
const ALLOWANCE_PER_BYTE: Duration = Duration::from_nanos(200);

/// Which thread searches for a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speed {
    Quick,
    Slow,
}

/// All open searches.
pub(crate) struct Matcher {
    /// A short lock: searches are put in and taken out under it, never executed.
    queues: Mutex<Queues>,
    quick: Condvar,
    slow: Condvar,
    engine: mpsc::Sender<Input>,
    /// Bytes of text that wait.
    held: Arc<AtomicUsize>,
}

#[derive(Default)]
struct Queues {
    open: HashMap<u64, Open>,
    next_search: u64,
    next_text: u64,
    quick: VecDeque<u64>,
    slow: VecDeque<u64>,
    /// Facts to send. Bounded by the number of searches: each ends once.
    words: VecDeque<(RunKey, RunFact)>,
}

/// One search and its unsearched text.
struct Open {
    run: RunKey,
    wait: WaitId,
    /// `None` while a thread executes it.
    search: Option<Search>,
    waiting: VecDeque<(u64, ScreenSearch)>,
    /// True if it is in its queue.
    is_queued: bool,
    /// True if no more text will be given.
    is_closed: bool,
    speed: Speed,
    is_over: Arc<AtomicBool>,
    looked: u64,
    spent: Duration,
}

/// A search, as the watch that began it sees it.
pub(super) struct Began {
    pub(super) id: u64,
    /// It has ended, or need not continue.
    pub(super) is_over: Arc<AtomicBool>,
}

/// A search that a thread executes.
struct Slice {
    id: u64,
    search: Search,
    is_over: Arc<AtomicBool>,
    looked: u64,
}

enum Job {
    Say(RunKey, RunFact),
    Look(Slice),
}

impl Matcher {
    /// Starts the threads.
    pub(crate) fn start(engine: mpsc::Sender<Input>) -> io::Result<Arc<Self>> {
        let matcher = Arc::new(Self::idle(engine));
        let (quick, slow) = (Arc::clone(&matcher), Arc::clone(&matcher));
        std::thread::Builder::new().name("patterns".to_owned()).spawn(move || quick.work(Speed::Quick))?;
        std::thread::Builder::new().name("patterns-slow".to_owned()).spawn(move || {
            // Of this thread alone. Without it slow patterns only compete with other threads.
            let _unchanged = rustix::process::setpriority_process(None, 19);
            slow.work(Speed::Slow);
        })?;
        Ok(matcher)
    }

    fn idle(engine: mpsc::Sender<Input>) -> Self {
        let (queues, held) = (Mutex::default(), Arc::default());
        Self { queues, quick: Condvar::new(), slow: Condvar::new(), engine, held }
    }

    /// Returns the count of waiting text.
    pub(super) fn held(&self) -> &Arc<AtomicUsize> {
        &self.held
    }

    /// Begins a search.
    pub(super) fn begin(&self, run: RunKey, wait: WaitId, search: Search) -> Began {
        let mut queues = self.lock();
        let id = queues.next_search;
        queues.next_search += 1;
        let speed = if search.is_light() { Speed::Quick } else { Speed::Slow };
        let is_over = Arc::new(AtomicBool::new(false));
        let open = Open {
            run,
            wait,
            search: Some(search),
            waiting: VecDeque::new(),
            is_queued: false,
            is_closed: false,
            speed,
            is_over: Arc::clone(&is_over),
            looked: 0,
            spent: Duration::ZERO,
        };
        queues.open.insert(id, open);
        queues.queue(id);
        self.ring(&queues);
        Began { id, is_over }
    }

    /// Returns true if a search has not searched everything that it was given.
    pub(super) fn is_behind(&self, id: u64) -> bool {
        self.lock().open.get(&id).is_some_and(|open| !open.waiting.is_empty() || open.search.is_none())
    }

    /// Gives searches more text. When too much waits, those that are furthest behind end.
    pub(super) fn give(&self, texts: Vec<(u64, ScreenSearch)>) {
        let mut queues = self.lock();
        let number = queues.next_text;
        queues.next_text += 1;
        for (id, text) in texts {
            if let Some(open) = queues.open.get_mut(&id) {
                open.waiting.push_back((number, text));
                queues.queue(id);
            }
        }
        while self.held.load(Ordering::Relaxed) > MAX_HELD && queues.drop_the_last() {}
        self.ring(&queues);
    }

    /// Closes these searches: one that has searched everything has not found its pattern.
    pub(super) fn close(&self, ids: &[u64]) {
        let mut queues = self.lock();
        for id in ids {
            if let Some(open) = queues.open.get_mut(id) {
                open.is_closed = true;
                queues.queue(*id);
            }
        }
        self.ring(&queues);
    }

    /// Drops searches whose result is no longer wanted.
    pub(super) fn forget(&self, ids: &[u64]) {
        let mut queues = self.lock();
        for id in ids {
            drop(queues.end(*id));
        }
    }

    /// Runs these searches on the caller's thread, unless they may be slow or are being executed; returns the
    /// facts. A run's last output is searched before its end is reported, because a waiting caller may only
    /// learn of that end.
    pub(super) fn finish(&self, ids: &[u64], until: Instant) -> Vec<(RunKey, RunFact)> {
        let mut facts = Vec::new();
        for id in ids {
            while Instant::now() < until {
                let Some(slice) = self.lock().take(*id, Speed::Quick) else { break };
                facts.extend(self.slice(slice));
            }
        }
        facts
    }

    fn work(&self, speed: Speed) {
        loop {
            let fact = match self.next(speed) {
                Job::Say(run, fact) => Some((run, fact)),
                Job::Look(slice) => self.slice(slice),
            };
            if let Some((run, fact)) = fact {
                // The receiver is gone only when the daemon is ending.
                drop(self.engine.blocking_send(Input::Fact { run, fact }));
            }
        }
    }

    fn next(&self, speed: Speed) -> Job {
        let mut queues = self.lock();
        loop {
            if let Some(job) = queues.job(speed) {
                return job;
            }
            let condvar = self.condvar(speed);
            queues = condvar.wait(queues).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn condvar(&self, speed: Speed) -> &Condvar {
        match speed {
            Speed::Quick => &self.quick,
            Speed::Slow => &self.slow,
        }
    }

    /// Wakes the threads that have something to do.
    fn ring(&self, queues: &Queues) {
        if !queues.quick.is_empty() || !queues.words.is_empty() {
            self.quick.notify_one();
        }
        if !queues.slow.is_empty() {
            self.slow.notify_one();
        }
    }

    /// Executes one slice of a search; returns its fact, if it has ended.
    fn slice(&self, mut slice: Slice) -> Option<(RunKey, RunFact)> {
        let begun = thread_time();
        let step = catch_unwind(AssertUnwindSafe(|| slice.go())).ok();
        let spent = thread_time().saturating_sub(begun);
        let mut queues = self.lock();
        let open = queues.open.get_mut(&slice.id)?;
        open.account(slice.looked, spent);
        let (run, wait, speed) = (open.run, open.wait, open.speed);
        let fact = match step {
            Some(Step::Found { text, offset }) => RunFact::Matched { wait, text, offset },
            Some(Step::Overtaken) if speed == Speed::Slow => RunFact::Outrun { wait },
            Some(Step::Idle | Step::Looked(_) | Step::Overtaken) => {
                open.search = Some(slice.search);
                queues.queue(slice.id);
                self.ring(&queues);
                return None;
            }
            None => {
                tracing::error!(?run, "looking for a pattern failed");
                RunFact::Unmatched { wait }
            }
        };
        queues.end(slice.id);
        Some((run, fact))
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queues {
    /// Queues a search if it has something to do and no thread executes it.
    fn queue(&mut self, id: u64) {
        let Some(open) = self.open.get_mut(&id) else { return };
        let is_idle = open.search.as_ref().is_some_and(Search::is_idle);
        let has_work = !is_idle || !open.waiting.is_empty() || open.is_closed;
        if open.is_queued || open.search.is_none() || !has_work {
            return;
        }
        open.is_queued = true;
        match open.speed {
            Speed::Quick => self.quick.push_back(id),
            Speed::Slow => self.slow.push_back(id),
        }
    }

    fn job(&mut self, speed: Speed) -> Option<Job> {
        loop {
            if let Some((run, fact)) = self.words.pop_front() {
                return Some(Job::Say(run, fact));
            }
            let queue = match speed {
                Speed::Quick => &mut self.quick,
                Speed::Slow => &mut self.slow,
            };
            let id = queue.pop_front()?;
            if let Some(open) = self.open.get_mut(&id) {
                open.is_queued = false;
            }
            if let Some(slice) = self.take(id, speed) {
                return Some(Job::Look(slice));
            }
        }
    }

    /// Takes a search from this queue for a slice, if it has text.
    fn take(&mut self, id: u64, speed: Speed) -> Option<Slice> {
        let open = self.open.get_mut(&id).filter(|open| open.speed == speed)?;
        let search = open.search.as_mut()?;
        if search.is_idle() {
            match open.waiting.pop_front() {
                Some((_, text)) => search.take(text),
                None if open.is_closed => {
                    self.end_with(id, |wait| RunFact::Unmatched { wait });
                    return None;
                }
                None => return None,
            }
        }
        let is_over = Arc::clone(&open.is_over);
        Some(Slice { id, search: open.search.take()?, is_over, looked: 0 })
    }

    /// Ends the search with the oldest waiting text of all; returns true if there was one.
    fn drop_the_last(&mut self) -> bool {
        let behind = self.open.iter().filter_map(|(id, open)| Some((open.waiting.front()?.0, *id)));
        let Some((_, id)) = behind.min() else { return false };
        if let Some(open) = self.open.get(&id) {
            let (run, looked) = (open.run, open.looked);
            tracing::warn!(?run, looked, "a pattern is too slow for what its run prints; its wait ends");
        }
        self.end_with(id, |wait| RunFact::Outrun { wait });
        true
    }

    fn end_with(&mut self, id: u64, fact: impl FnOnce(WaitId) -> RunFact) {
        if let Some(open) = self.end(id) {
            self.words.push_back((open.run, fact(open.wait)));
        }
    }

    fn end(&mut self, id: u64) -> Option<Open> {
        let open = self.open.remove(&id)?;
        open.is_over.store(true, Ordering::Relaxed);
        Some(open)
    }
}

impl Open {
    /// Adds the cost of a slice. A pattern that was slow once stays slow: its next text may be the same.
    fn account(&mut self, looked: u64, spent: Duration) {
        self.looked += looked;
        self.spent += spent;
        let per_byte = u64::try_from(ALLOWANCE_PER_BYTE.as_nanos()).unwrap_or(u64::MAX);
        if self.spent > ALLOWANCE + Duration::from_nanos(self.looked.saturating_mul(per_byte)) {
            // It may still be in the other queue, which skips it.
            self.is_queued &= self.speed == Speed::Slow;
            self.speed = Speed::Slow;
        }
    }
}

impl Slice {
    fn go(&mut self) -> Step {
        let until = Instant::now() + SLICE_TIME;
        loop {
            let step = self.search.step();
            let Step::Looked(count) = step else { return step };
            self.looked += count as u64;
            let is_enough = self.looked >= SLICE as u64 || Instant::now() >= until;
            if is_enough || self.is_over.load(Ordering::Relaxed) {
                return step;
            }
        }
    }
}

#[cfg(test)]
pub(super) mod bench {
    //! Searches without threads: the test runs the slices itself.

    use super::*;

    impl Matcher {
        pub(in crate::screens) fn without_threads(engine: mpsc::Sender<Input>) -> Arc<Self> {
            Arc::new(Self::idle(engine))
        }

        /// Runs all searches on all their text; returns the facts.
        pub(in crate::screens::watch) fn work_off(&self) -> Vec<(RunKey, RunFact)> {
            let mut facts = Vec::new();
            loop {
                let mut queues = self.lock();
                let job = queues.job(Speed::Quick).or_else(|| queues.job(Speed::Slow));
                drop(queues);
                match job {
                    Some(Job::Say(run, fact)) => facts.push((run, fact)),
                    Some(Job::Look(slice)) => facts.extend(self.slice(slice)),
                    None => return facts,
                }
            }
        }

        /// Works off everything but the slices of one of them; returns each result in a word.
        pub(in crate::screens::watch) fn work_off_but(&self, other: u64) -> Vec<(u64, &'static str)> {
            let absent = self.lock().open.get_mut(&other).and_then(|open| open.search.take());
            let facts = self.work_off();
            if let Some(open) = self.lock().open.get_mut(&other) {
                open.search = absent;
            }
            let word = |(_, fact)| match fact {
                RunFact::Matched { wait, .. } => (wait.0, "matched"),
                RunFact::Outrun { wait } => (wait.0, "outrun"),
                other => panic!("{other:?}"),
            };
            facts.into_iter().map(word).collect()
        }

        pub(in crate::screens::watch) fn is_slow(&self, id: u64) -> bool {
            self.lock().open.get(&id).is_some_and(|open| open.speed == Speed::Slow)
        }
    }
}

//! Threads for work that may block: on the disk, a program or a lock.
//!
//! One thread stays as long as the daemon; more are started while there is more to do. Because one stays,
//! work continues even when the system gives no thread, and a call that needs one to start a process gets an
//! error that names the limit. Work that never ends must not run here, because it could block the thread that
//! stays; pieces run at the same time, in no order.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The most threads at once. More work waits; it comes from calls, whose number is bounded.
const MOST: usize = 32;
/// How long an extra thread waits for work: a new one costs less than the memory of many that wait.
const IDLE: Duration = Duration::from_secs(2);

type Work = Box<dyn FnOnce() + Send>;

struct Threads {
    /// A short lock: work is put in or taken out under it, never executed.
    state: Mutex<State>,
    news: Condvar,
}

struct State {
    work: VecDeque<Work>,
    all: usize,
    /// Threads that wait for work, or have been woken and not taken it yet.
    waiting: usize,
}

static THREADS: Threads =
    Threads { state: Mutex::new(State { work: VecDeque::new(), all: 0, waiting: 0 }), news: Condvar::new() };

/// Starts the thread that stays.
pub(crate) fn start() -> io::Result<()> {
    THREADS.add(true, &mut THREADS.lock())
}

/// Runs work on a thread that may block. It runs even if the caller drops the result.
pub(crate) fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Doing<T> {
    let (done, outcome) = oneshot::channel();
    let runtime = Handle::try_current().ok();
    let work = move || {
        let _entered = runtime.as_ref().map(Handle::enter);
        // The panic hook has reported a panic; the caller gets an error.
        if let Ok(result) = catch_unwind(AssertUnwindSafe(work)) {
            drop(done.send(result));
        }
    };
    THREADS.put(Box::new(work));
    Doing(outcome)
}

/// Work that is running.
pub(crate) struct Doing<T>(oneshot::Receiver<T>);

impl<T> Doing<T> {
    /// Takes the result if it has ended; returns `None` while it is under way.
    pub(crate) fn try_wait(&mut self) -> Option<Result<T, Unfinished>> {
        match self.0.try_recv() {
            Err(oneshot::error::TryRecvError::Empty) => None,
            ended => Some(ended.map_err(|_| Unfinished)),
        }
    }

    /// Waits for its end, on a thread that may block. Work is begun in the order in which it was given, so work may
    /// wait for earlier work.
    pub(crate) fn wait(self) -> Result<T, Unfinished> {
        self.0.blocking_recv().map_err(|_| Unfinished)
    }
}

/// It panicked.
#[derive(Debug)]
pub(crate) struct Unfinished;

impl fmt::Display for Unfinished {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a thread failed at it")
    }
}

impl std::error::Error for Unfinished {}

impl<T> Future for Doing<T> {
    type Output = Result<T, Unfinished>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map_err(|_| Unfinished)
    }
}

impl Threads {
    fn put(&'static self, work: Work) {
        let mut state = self.lock();
        state.work.push_back(work);
        // Without another thread, one of the existing ones does it later.
        if state.work.len() > state.waiting
            && state.all < MOST
            && let Err(error) = self.add(false, &mut state)
        {
            tracing::warn!(%error, "no thread could be had; work waits for those there are");
        }
        drop(state);
        self.news.notify_one();
    }

    fn add(&'static self, stays: bool, state: &mut State) -> io::Result<()> {
        let name = if stays { "worker" } else { "extra-worker" };
        std::thread::Builder::new().name(name.to_owned()).spawn(move || self.work(stays))?;
        state.all += 1;
        Ok(())
    }

    fn work(&self, stays: bool) {
        while let Some(work) = self.next(stays) {
            work();
        }
    }

    /// Returns the next piece; `None` when there has been none for long enough.
    fn next(&self, stays: bool) -> Option<Work> {
        let until = Instant::now() + IDLE;
        let mut state = self.lock();
        state.waiting += 1;
        while state.work.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            state = if stays {
                self.news.wait(state).unwrap_or_else(PoisonError::into_inner)
            } else if left.is_zero() {
                state.all -= 1;
                break;
            } else {
                self.news.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
            };
        }
        state.waiting -= 1;
        state.work.pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier};

    use super::*;

    fn wait<T>(doing: Doing<T>) -> Result<T, Unfinished> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(doing)
    }

    #[test]
    fn work_is_done_at_the_same_time_and_each_piece_once() {
        let meeting = Arc::new(Barrier::new(8));
        let all: Vec<_> = (0..8)
            .map(|number| {
                let meeting = Arc::clone(&meeting);
                run(move || {
                    meeting.wait();
                    number
                })
            })
            .collect();
        let done: Vec<i32> = all.into_iter().map(|doing| wait(doing).unwrap()).collect();
        assert_eq!(done, [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_panic_is_told_to_whoever_waits_and_harms_no_later_work() {
        let failed: Result<(), Unfinished> = wait(run(|| std::panic::resume_unwind(Box::new("on purpose"))));
        assert_eq!(failed.unwrap_err().to_string(), "a thread failed at it");
        assert_eq!(wait(run(|| 7)).unwrap(), 7);
    }
}

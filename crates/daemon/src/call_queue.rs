//! The queue of calls in front of the engine task: who is decided next when many ask at once.
//!
//! Every caller has a queue of its own. People come first, but after a few of them one call of somebody else; the
//! others take turns, one call each, however many connections they have. So the calls of one process delay a
//! person's call by at most the one that is being decided, and another process's call by one for each caller.
//!
//! | queue | owner | bound | when full |
//! |---|---|---|---|
//! | one per caller | the engine task takes from it; calls of the door add to it | `ROOM` calls | the calls of that caller wait, in their order; nobody else does |
//!
//! A queue is made with a caller's first call and goes with its last one.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::caller::Who;

/// The most calls that one caller has in its queue.
const ROOM: usize = 64;
/// Calls of people that are taken in a row while others wait: people's programs must not starve processes either.
const PEOPLE_IN_A_ROW: usize = 8;

/// One caller's calls that wait, in their order.
#[derive(Debug)]
struct CallerQueue<T> {
    calls: VecDeque<(T, OwnedSemaphorePermit)>,
    room: Arc<Semaphore>,
}

impl<T> Default for CallerQueue<T> {
    fn default() -> Self {
        Self { calls: VecDeque::new(), room: Arc::new(Semaphore::new(ROOM)) }
    }
}

impl<T> CallerQueue<T> {
    /// Returns true if nothing waits in it and nobody waits for room in it.
    fn is_unused(&self) -> bool {
        self.calls.is_empty() && Arc::strong_count(&self.room) == 1
    }
}

/// The queues of all callers.
#[derive(Debug)]
struct Queues<T> {
    callers: HashMap<Who, CallerQueue<T>>,
    /// Those who are not people and have calls, in the order of their turns.
    turns: VecDeque<Who>,
    people_in_a_row: usize,
    is_closed: bool,
}

impl<T> Default for Queues<T> {
    fn default() -> Self {
        Self { callers: HashMap::new(), turns: VecDeque::new(), people_in_a_row: 0, is_closed: false }
    }
}

impl<T> Queues<T> {
    /// Returns the room of a caller's queue, or `None` if nobody takes calls any more.
    fn room(&mut self, who: Who) -> Option<Arc<Semaphore>> {
        if self.is_closed {
            return None;
        }
        // What callers that went have left is forgotten.
        self.callers.retain(|_, queue| !queue.is_unused());
        Some(Arc::clone(&self.callers.entry(who).or_default().room))
    }

    fn add(&mut self, who: Who, call: T, permit: OwnedSemaphorePermit) {
        let queue = self.callers.entry(who).or_default();
        if queue.calls.is_empty() && who != Who::People {
            self.turns.push_back(who);
        }
        queue.calls.push_back((call, permit));
    }

    fn is_empty(&self) -> bool {
        self.turns.is_empty() && !self.have_people()
    }

    fn have_people(&self) -> bool {
        self.callers.get(&Who::People).is_some_and(|queue| !queue.calls.is_empty())
    }

    /// Returns whose turn it is.
    fn next_caller(&mut self) -> Option<Who> {
        let are_people_next = self.turns.is_empty() || self.people_in_a_row < PEOPLE_IN_A_ROW;
        if self.have_people() && are_people_next {
            self.people_in_a_row += 1;
            return Some(Who::People);
        }
        self.people_in_a_row = 0;
        self.turns.pop_front()
    }

    fn take(&mut self) -> Option<(Who, T)> {
        let who = self.next_caller()?;
        let queue = self.callers.get_mut(&who)?;
        let (call, permit) = queue.calls.pop_front()?;
        if !queue.calls.is_empty() && who != Who::People {
            self.turns.push_back(who);
        }
        drop(permit);
        if queue.is_unused() {
            self.callers.remove(&who);
        }
        Some((who, call))
    }

    /// Drops every call and refuses those to come.
    fn close(&mut self) {
        self.is_closed = true;
        self.turns.clear();
        for (_, queue) in self.callers.drain() {
            queue.room.close();
        }
    }
}

/// The end that adds calls. Cheap to clone.
pub(crate) struct CallSender<T> {
    queues: watch::Sender<Queues<T>>,
}

impl<T> Clone for CallSender<T> {
    fn clone(&self) -> Self {
        Self { queues: self.queues.clone() }
    }
}

/// The end of the engine task. When it is dropped, every call that waits is dropped, and later ones are refused.
pub(crate) struct CallReceiver<T> {
    queues: watch::Sender<Queues<T>>,
    changes: watch::Receiver<Queues<T>>,
    /// The last call was not a person's: whoever else is ready has a turn on the thread before the next one.
    owes_turn: bool,
}

/// Returns both ends of an empty queue.
pub(crate) fn call_queue<T>() -> (CallSender<T>, CallReceiver<T>) {
    let (queues, changes) = watch::channel(Queues::default());
    (CallSender { queues: queues.clone() }, CallReceiver { queues, changes, owes_turn: false })
}

impl<T> CallSender<T> {
    /// Adds a call to its caller's queue, when there is room; returns false if nobody takes calls any more.
    pub(crate) async fn send(&self, who: Who, call: T) -> bool {
        let mut room = None;
        self.queues.send_if_modified(|queues| {
            room = queues.room(who);
            false
        });
        let Some(room) = room else { return false };
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return false };
        let mut is_added = false;
        self.queues.send_if_modified(|queues| {
            if !queues.is_closed {
                queues.add(who, call, permit);
                is_added = true;
            }
            is_added
        });
        is_added
    }
}

impl<T> CallReceiver<T> {
    /// Returns the next call. After a call that is not a person's, everything that is ready on this thread goes on
    /// first: a person's call needs several steps on it until it is here. Nothing is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<T> {
        if self.owes_turn && !self.changes.borrow().is_empty() {
            tokio::task::yield_now().await;
        }
        self.owes_turn = false;
        self.changes.wait_for(|queues| !queues.is_empty()).await.ok()?;
        let mut taken = None;
        self.queues.send_if_modified(|queues| {
            taken = queues.take();
            false
        });
        taken.map(|(who, call)| {
            self.owes_turn = who != Who::People;
            call
        })
    }
}

impl<T> Drop for CallReceiver<T> {
    fn drop(&mut self) {
        self.queues.send_modify(Queues::close);
    }
}

#[cfg(test)]
mod tests;

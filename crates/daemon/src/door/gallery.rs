//! The room for viewers: so many in all, and so many for one process. A viewer has left the door, and the limit of its
//! connections with it.
//!
//! Owns the counts. Refuses forgetting to count down: a seat is free when whoever had it is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proto::{ErrorCode, Failure, ProcessId};

/// Viewers of all processes.
const IN_ALL: usize = 1024;
/// Viewers of one process: each is drawn for whenever it changes.
const PER_PROCESS: usize = 256;

/// Who watches what, by number. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gallery {
    taken: Arc<Mutex<HashMap<ProcessId, usize>>>,
}

/// One viewer's place.
#[derive(Debug)]
pub(crate) struct Seat {
    gallery: Gallery,
    process: ProcessId,
}

impl Gallery {
    /// A place for one more. Whoever sends the others away finds one for this process in any case.
    pub(crate) fn sit(&self, process: ProcessId, is_taking_over: bool) -> Result<Seat, Failure> {
        let mut taken = self.lock();
        if taken.values().sum::<usize>() >= IN_ALL {
            return Err(full(format!("there are {IN_ALL} viewers, which is the limit")));
        }
        let count = taken.entry(process).or_insert(0);
        if *count >= PER_PROCESS && !is_taking_over {
            return Err(full(format!("this process has {PER_PROCESS} viewers, which is the limit")));
        }
        *count += 1;
        Ok(Seat { gallery: self.clone(), process })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ProcessId, usize>> {
        // Every change is one number: a panic of another thread cannot have left half of it.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.gallery.lock();
        if let Some(count) = taken.get_mut(&self.process) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                taken.remove(&self.process);
            }
        }
    }
}

fn full(message: String) -> Failure {
    Failure::new(ErrorCode::Limit, message)
        .hint("detach some viewers; --take-over detaches a process's others")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(n: u64) -> ProcessId {
        ProcessId::from_entropy(n)
    }

    #[test]
    fn d10_viewers_are_bounded_for_one_process_and_in_all_and_a_left_seat_is_free() {
        let gallery = Gallery::default();
        let mut seats: Vec<Seat> =
            (0..PER_PROCESS).map(|_| gallery.sit(process(0), false).unwrap()).collect();
        let refused = gallery.sit(process(0), false).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Limit);
        assert!(refused.message.contains("256"), "{}", refused.message);
        drop(seats.pop());
        seats.push(gallery.sit(process(0), false).unwrap());
        let more = (1..).map_while(|n| gallery.sit(process(n), false).ok());
        seats.extend(more);
        assert_eq!(seats.len(), IN_ALL);
        assert!(gallery.sit(process(0), true).is_err(), "in all is in all");
        seats.pop();
        seats.push(gallery.sit(process(0), true).unwrap());
        drop(seats);
        assert!(gallery.lock().is_empty());
    }
}

//! Who is taken next, counted in turns.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use proto::ProcessId;

use super::*;

fn process(n: u64) -> Who {
    Who::Process(ProcessId::from_entropy(n))
}

/// Polls a future once and returns its result, if it is ready.
fn poll<T>(future: &mut std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// Adds calls of one caller that fit.
fn add(sender: &CallSender<Who>, who: Who, count: usize) {
    for _ in 0..count {
        assert_eq!(poll(&mut pin!(sender.send(who, who))), Some(true));
    }
}

/// Takes the next call.
fn take(receiver: &mut CallReceiver<Who>) -> Option<Who> {
    // The first poll may only give way to others on this thread.
    let mut next = pin!(receiver.next());
    poll(&mut next).or_else(|| poll(&mut next)).flatten()
}

#[test]
fn m5_a_call_of_a_person_is_taken_before_all_that_a_process_has_waiting() {
    let (sender, mut receiver) = call_queue();
    add(&sender, process(1), ROOM);
    assert_eq!(take(&mut receiver), Some(process(1)));
    add(&sender, Who::People, 1);
    assert_eq!(take(&mut receiver), Some(Who::People));
    assert_eq!(take(&mut receiver), Some(process(1)));
}

#[test]
fn m5_processes_take_turns_however_many_calls_one_has() {
    let (sender, mut receiver) = call_queue();
    add(&sender, process(1), ROOM);
    add(&sender, process(2), 2);
    add(&sender, Who::Nobody, 1);
    let order: Vec<Who> = (0..6).map_while(|_| take(&mut receiver)).collect();
    let [one, two] = [process(1), process(2)];
    assert_eq!(order, [one, two, Who::Nobody, one, two, one]);
}

#[test]
fn m5_calls_of_people_without_pause_leave_every_ninth_turn_to_others() {
    let (sender, mut receiver) = call_queue();
    add(&sender, Who::People, ROOM);
    add(&sender, process(1), 2);
    let order: Vec<Who> = (0..2 * (PEOPLE_IN_A_ROW + 1)).map_while(|_| take(&mut receiver)).collect();
    let of_the_process: Vec<usize> =
        order.iter().enumerate().filter(|(_, who)| **who == process(1)).map(|(n, _)| n).collect();
    assert_eq!(of_the_process, [PEOPLE_IN_A_ROW, 2 * PEOPLE_IN_A_ROW + 1]);
}

#[test]
fn m5_a_full_queue_holds_up_only_its_own_caller_and_keeps_the_order() {
    let (sender, mut receiver) = call_queue();
    let numbered = |who, number| sender.send(who, (who, number));
    for number in 0..ROOM {
        assert_eq!(poll(&mut pin!(numbered(process(1), number))), Some(true));
    }
    let mut beyond = pin!(numbered(process(1), ROOM));
    assert_eq!(poll(&mut beyond), None, "its queue is full");
    assert_eq!(poll(&mut pin!(numbered(process(2), 0))), Some(true));
    assert_eq!(poll(&mut pin!(numbered(Who::People, 0))), Some(true));
    let mut next = || {
        let mut next = pin!(receiver.next());
        poll(&mut next).or_else(|| poll(&mut next)).flatten()
    };
    assert_eq!(next(), Some((Who::People, 0)));
    assert_eq!(next(), Some((process(1), 0)));
    assert_eq!(poll(&mut beyond), Some(true), "there is room again");
    let rest: Vec<usize> =
        std::iter::from_fn(next).filter(|(who, _)| *who == process(1)).map(|(_, n)| n).collect();
    assert_eq!(rest, (1..=ROOM).collect::<Vec<usize>>());
}

#[test]
fn m5_who_has_no_call_left_is_forgotten_also_after_giving_up() {
    let (sender, mut receiver) = call_queue();
    add(&sender, process(1), ROOM);
    {
        let mut given_up = pin!(sender.send(process(1), process(1)));
        assert_eq!(poll(&mut given_up), None);
        while take(&mut receiver).is_some() {}
    }
    add(&sender, process(2), 1);
    let callers: Vec<Who> = sender.queues.borrow().callers.keys().copied().collect();
    assert_eq!(callers, [process(2)]);
    assert_eq!(take(&mut receiver), Some(process(2)));
    assert!(sender.queues.borrow().callers.is_empty());
}

#[test]
fn calls_that_wait_when_the_engine_task_ends_are_dropped_and_later_ones_refused() {
    let (sender, receiver) = call_queue();
    add(&sender, process(1), ROOM);
    let mut waiting = pin!(sender.send(process(1), process(1)));
    assert_eq!(poll(&mut waiting), None);
    drop(receiver);
    assert_eq!(poll(&mut waiting), Some(false));
    assert_eq!(poll(&mut pin!(sender.send(Who::People, Who::People))), Some(false));
    assert!(sender.queues.borrow().callers.is_empty());
}

/// A person's call needs several steps on the daemon's one thread before it is in the queue: accepting, reading, its
/// own task. Between two calls of a process each of these steps gets its turn.
#[test]
fn m5_what_a_person_needs_before_the_queue_waits_for_one_call_of_a_process_at_each_step() {
    const STEPS: usize = 10;
    let taken = Arc::new(AtomicUsize::new(0));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (sender, mut receiver) = call_queue();
    add(&sender, process(1), ROOM);
    let count = Arc::clone(&taken);
    let before = runtime.block_on(async move {
        let person = tokio::spawn(async move {
            for _ in 0..STEPS {
                tokio::task::yield_now().await;
            }
            add(&sender, Who::People, 1);
            taken.load(Ordering::Relaxed)
        });
        while let Some(who) = receiver.next().await {
            if who == Who::People {
                break;
            }
            count.fetch_add(1, Ordering::Relaxed);
        }
        person.await.unwrap()
    });
    assert!(before <= STEPS + 2, "{before} calls of the process were taken during {STEPS} steps");
}

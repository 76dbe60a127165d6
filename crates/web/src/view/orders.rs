//! What a client wants of the daemon: bytes to type, and repaints. What the child does not read yet waits here, so that the client's
//! other messages are heard meanwhile.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Bytes that may wait; beyond them the client is not read.
const MAX_WAITING: usize = 1 << 20; // 1 MiB
/// Bytes that the daemon gets at once. It confirms each piece, which is how the client knows how far a paste is.
const PIECE: usize = 16 << 10; // 16 KiB

/// Something for the daemon.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Order {
    Input(Vec<u8>),
    Repaint,
}

#[derive(Debug, Default)]
struct Waiting {
    input: VecDeque<u8>,
    is_repaint_due: bool,
    /// One of both ends is gone.
    is_over: bool,
}

#[derive(Debug, Default)]
struct Queue {
    /// Locked for moments, never across an await.
    waiting: Mutex<Waiting>,
    is_ordered: Notify,
    is_taken: Notify,
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds orders. When it is dropped, those that wait are still taken.
#[derive(Debug)]
pub(super) struct OrderSender(Arc<Queue>);

/// Takes orders.
#[derive(Debug)]
pub(super) struct OrderReceiver(Arc<Queue>);

/// Returns both ends of a queue.
pub(super) fn queue() -> (OrderSender, OrderReceiver) {
    let queue = Arc::new(Queue::default());
    (OrderSender(Arc::clone(&queue)), OrderReceiver(queue))
}

impl OrderSender {
    /// Adds bytes to type. The caller asks [`Self::has_room`] before it reads them from the client.
    pub(super) fn add_input(&self, bytes: &[u8]) {
        let mut waiting = self.0.waiting();
        if !waiting.is_over {
            waiting.input.extend(bytes);
            self.0.is_ordered.notify_one();
        }
    }

    /// Asks for a repaint; a second one before the first was taken is the same.
    pub(super) fn add_repaint(&self) {
        self.0.waiting().is_repaint_due = true;
        self.0.is_ordered.notify_one();
    }

    /// Returns true if another message of the client may be read.
    pub(super) fn has_room(&self) -> bool {
        self.0.waiting().input.len() < MAX_WAITING
    }

    /// Returns when something was taken since the last call.
    pub(super) async fn taken(&self) {
        self.0.is_taken.notified().await;
    }
}

impl Drop for OrderSender {
    fn drop(&mut self) {
        self.0.waiting().is_over = true;
        self.0.is_ordered.notify_one();
    }
}

impl OrderReceiver {
    /// Returns the next order; none when the sender is gone and nothing waits.
    pub(super) async fn next(&mut self) -> Option<Order> {
        loop {
            if let Some(order) = self.take() {
                self.0.is_taken.notify_one();
                return Some(order);
            }
            if self.0.waiting().is_over {
                return None;
            }
            self.0.is_ordered.notified().await;
        }
    }

    fn take(&mut self) -> Option<Order> {
        let mut waiting = self.0.waiting();
        if std::mem::take(&mut waiting.is_repaint_due) {
            return Some(Order::Repaint);
        }
        let length = waiting.input.len().min(PIECE);
        (length > 0).then(|| Order::Input(waiting.input.drain(..length).collect()))
    }
}

impl Drop for OrderReceiver {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting();
        (waiting.is_over, waiting.input) = (true, VecDeque::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn w20_what_waits_has_a_bound_and_is_taken_in_order_also_when_its_client_has_left() {
        let (sender, mut receiver) = queue();
        let typed: Vec<u8> = (0..MAX_WAITING).map(|n| u8::try_from(n % 251).unwrap()).collect();
        typed.chunks(100_000).for_each(|piece| sender.add_input(piece));
        assert!(!sender.has_room());
        sender.add_repaint();
        sender.add_repaint();
        assert_eq!(receiver.next().await, Some(Order::Repaint));
        let Some(Order::Input(mut taken)) = receiver.next().await else { panic!("no input") };
        sender.taken().await;
        assert!(sender.has_room() && taken.len() == PIECE);
        drop(sender);
        while let Some(order) = receiver.next().await {
            let Order::Input(piece) = order else { panic!("{order:?}") };
            taken.extend_from_slice(&piece);
        }
        assert!(taken == typed, "{} bytes", taken.len());
    }

    #[test]
    fn a_queue_whose_daemon_is_gone_keeps_nothing() {
        let (sender, receiver) = queue();
        drop(receiver);
        sender.add_input(&vec![b'x'; 2 * MAX_WAITING]);
        assert!(sender.has_room());
    }
}

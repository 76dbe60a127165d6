//! The bounded, ordered queue of bytes for the child. Ids make it idempotent across daemons: an input that
//! was accepted once is never written twice. It writes without waiting and never looks at what it writes.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;

use crate::fdpass::is_not_now;
use crate::keyed_inputs::KeyedInputs;
use crate::wire::{FromHolder, INPUT_WINDOW, KeyState, PendingInput};

/// How far an id may be beyond the newest accepted one. A program that links for a moment must not use the
/// ids up: an input with the highest id of all would make every later one look as if it had been written
/// already.
const MOST_SKIPPED: u64 = 1 << 20;

/// One accepted input.
struct Item {
    id: u64,
    bytes: Vec<u8>,
    written: usize,
    /// The key of the write that it is a part of.
    key: Option<Vec<u8>>,
}

impl Item {
    fn done(&self) -> FromHolder {
        FromHolder::InputDone { id: self.id, written: self.written as u64, of: self.bytes.len() as u64 }
    }
}

/// Input that has been accepted and not yet written.
#[derive(Default)]
pub(crate) struct InputQueue {
    items: VecDeque<Item>,
    queued: usize,
    last_id: u64,
    /// The answer to the newest finished input, in case a new daemon repeats it.
    last_done: Option<FromHolder>,
    keyed: KeyedInputs,
    closed: bool,
}

impl InputQueue {
    /// Returns the highest id accepted so far.
    pub(crate) fn last_id(&self) -> u64 {
        self.last_id
    }

    /// Returns true if there is something to write.
    pub(crate) fn has_work(&self) -> bool {
        !self.items.is_empty()
    }

    /// Accepts an input or answers it at once: already seen, an id out of reach, no room, or the child is
    /// gone.
    pub(crate) fn accept(&mut self, id: u64, bytes: Vec<u8>) -> Option<FromHolder> {
        self.accept_part(id, bytes, None)
    }

    /// Accepts an input as a part of a keyed write, or answers it at once.
    pub(crate) fn accept_keyed(
        &mut self,
        id: u64,
        key: Vec<u8>,
        note: u64,
        bytes: Vec<u8>,
    ) -> Option<FromHolder> {
        let (last_id, length) = (self.last_id, bytes.len());
        let answer = self.accept_part(id, bytes, Some(key.clone()));
        if self.last_id != last_id {
            self.keyed.accepted(key, note, length as u64);
        }
        answer
    }

    /// Returns how much of the write with this key was accepted and written.
    pub(crate) fn state_of(&self, key: Vec<u8>) -> KeyState {
        let is_part = |item: &&Item| item.key.as_ref() == Some(&key);
        let pending = |item: &Item| PendingInput { id: item.id, length: item.bytes.len() as u64 };
        let pending = self.items.iter().filter(is_part).map(pending).collect();
        KeyState { pending, ..self.keyed.state_of(key) }
    }

    fn accept_part(&mut self, id: u64, bytes: Vec<u8>, key: Option<Vec<u8>>) -> Option<FromHolder> {
        let of = bytes.len() as u64;
        if id <= self.last_id {
            return self.answer_again(id, of);
        }
        let is_too_far = id - self.last_id > MOST_SKIPPED;
        if self.closed || is_too_far || self.queued + bytes.len() > INPUT_WINDOW {
            return Some(FromHolder::InputDone { id, written: 0, of });
        }
        self.last_id = id;
        self.queued += bytes.len();
        self.items.push_back(Item { id, bytes, written: 0, key });
        None
    }

    /// Drops the rest of an input. One that was already answered is not answered again.
    pub(crate) fn cancel(&mut self, id: u64) -> Option<FromHolder> {
        let position = self.items.iter().position(|item| item.id == id)?;
        let item = self.items.remove(position)?;
        Some(self.finish(&item))
    }

    /// Writes as much as the PTY accepts now and returns the answers of finished inputs.
    pub(crate) fn write_to(&mut self, master: BorrowedFd<'_>) -> Vec<FromHolder> {
        let mut answers = Vec::new();
        while let Some(item) = self.items.front_mut() {
            if item.written == item.bytes.len() {
                answers.extend(self.finish_front());
                continue;
            }
            match rustix::io::write(master, &item.bytes[item.written..]).map_err(io::Error::from) {
                Ok(0) => break,
                Ok(count) => item.written += count,
                Err(error) if is_not_now(&error) => break,
                // The PTY is gone; the rest will never be written.
                Err(_) => answers.extend(self.close()),
            }
        }
        answers
    }

    /// Closes the queue after the child has gone: everything queued is answered with what was written, and
    /// nothing more is accepted.
    pub(crate) fn close(&mut self) -> Vec<FromHolder> {
        self.closed = true;
        let mut answers = Vec::new();
        while let Some(answer) = self.finish_front() {
            answers.push(answer);
        }
        answers
    }

    fn finish_front(&mut self) -> Option<FromHolder> {
        let item = self.items.pop_front()?;
        Some(self.finish(&item))
    }

    fn finish(&mut self, item: &Item) -> FromHolder {
        self.queued -= item.bytes.len();
        if let Some(key) = &item.key {
            self.keyed.finished(key, item.written as u64);
        }
        if item.id == self.last_id {
            self.last_done = Some(item.done());
        }
        item.done()
    }

    fn answer_again(&self, id: u64, of: u64) -> Option<FromHolder> {
        if self.items.iter().any(|item| item.id == id) {
            // It is still being written: its answer comes when it is finished.
            return None;
        }
        match &self.last_done {
            Some(done) if id == self.last_id => Some(done.clone()),
            _ => Some(FromHolder::InputDone { id, written: of, of }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(id: u64, written: u64, of: u64) -> FromHolder {
        FromHolder::InputDone { id, written, of }
    }

    #[test]
    fn an_input_is_written_once_however_often_it_is_sent() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let mut queue = InputQueue::default();
        assert_eq!(queue.accept(7, b"abc".to_vec()), None);
        assert_eq!(queue.accept(7, b"abc".to_vec()), None, "still queued");
        assert_eq!(queue.write_to(std::os::fd::AsFd::as_fd(&writer)), vec![done(7, 3, 3)]);
        assert_eq!(queue.accept(7, b"abc".to_vec()), Some(done(7, 3, 3)));
        assert_eq!(queue.accept(3, b"old".to_vec()), Some(done(3, 3, 3)));
        assert!(queue.write_to(std::os::fd::AsFd::as_fd(&writer)).is_empty());
        let mut got = [0; 16];
        assert_eq!(rustix::io::read(&reader, &mut got).unwrap(), 3);
    }

    #[test]
    fn h8_a_full_queue_refuses_and_does_not_use_up_the_id() {
        let mut queue = InputQueue::default();
        assert_eq!(queue.accept(1, vec![0; INPUT_WINDOW]), None);
        assert_eq!(queue.accept(2, b"x".to_vec()), Some(done(2, 0, 1)));
        assert_eq!(queue.cancel(1), Some(done(1, 0, INPUT_WINDOW as u64)));
        assert_eq!(queue.accept(2, b"x".to_vec()), None);
        assert_eq!(queue.last_id(), 2);
    }

    #[test]
    fn a_cancelled_input_tells_the_truth_when_it_is_asked_for_again() {
        let mut queue = InputQueue::default();
        queue.accept(5, b"hello".to_vec());
        assert_eq!(queue.cancel(5), Some(done(5, 0, 5)));
        assert_eq!(queue.cancel(5), None);
        assert_eq!(queue.accept(5, b"hello".to_vec()), Some(done(5, 0, 5)));
    }

    #[test]
    fn m7d_the_state_of_a_key_tells_what_was_accepted_written_and_is_pending() {
        let (_reader, writer) = rustix::pipe::pipe().unwrap();
        let mut queue = InputQueue::default();
        let key = || b"send-1".to_vec();
        assert_eq!(queue.state_of(key()).accepted, 0);
        queue.accept_keyed(1, key(), 2, b"abc".to_vec());
        queue.write_to(std::os::fd::AsFd::as_fd(&writer));
        queue.accept_keyed(2, key(), 3, b"de".to_vec());
        assert_eq!(queue.accept_keyed(2, key(), 3, b"de".to_vec()), None, "a repeated id counts once");
        let pending = vec![PendingInput { id: 2, length: 2 }];
        let state = KeyState { key: key(), note: 3, accepted: 5, written: 3, pending };
        assert_eq!(queue.state_of(key()), state);
        assert!(!state.is_cut());
        queue.cancel(2);
        assert!(queue.state_of(key()).is_cut(), "what was given up is not written later");
        assert_eq!(queue.state_of(key()).written, 3);
    }

    #[test]
    fn everything_is_answered_when_the_child_is_gone() {
        let mut queue = InputQueue::default();
        queue.accept(1, b"a".to_vec());
        queue.accept(2, b"bc".to_vec());
        assert_eq!(queue.close(), vec![done(1, 0, 1), done(2, 0, 2)]);
        assert_eq!(queue.accept(3, b"d".to_vec()), Some(done(3, 0, 1)));
        assert!(!queue.has_work());
    }

    #[test]
    fn an_empty_input_is_answered_too() {
        let (_reader, writer) = rustix::pipe::pipe().unwrap();
        let mut queue = InputQueue::default();
        assert_eq!(queue.accept(1, Vec::new()), None);
        assert_eq!(queue.write_to(std::os::fd::AsFd::as_fd(&writer)), vec![done(1, 0, 0)]);
    }
}

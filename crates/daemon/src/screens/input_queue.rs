//! The one queue through which bytes reach a child: ordered, bounded, acknowledged. It never blocks, and
//! every job with a waiting caller gets the number of bytes written.
//!
//! A person's keystrokes go straight to the terminal while nothing else is queued, which saves a hop;
//! everything else, and whatever the terminal did not accept, goes through the holder's queue with ids, so
//! that a daemon that dies cannot type a prompt twice.

mod continued_jobs;
mod job;
mod queue;
mod replies;
#[cfg(test)]
mod tests;

use std::time::Instant;

use engine::ViewerId;
use engine::effect::Guard;
use engine::input::TypingOutcome;
use holder::{KeyState, Link, ToHolder, WIRE_WITH_KEYS};

use super::handle::ScreenHandle;
use super::order::WriteJob;
use super::unread_answers::AnswerCount;
use crate::failpoint::{self, Failpoint};
use queue::{Outlet, Queue};

/// The input of one run.
pub(crate) struct InputQueue {
    queue: Queue,
    /// The holder counts the bytes of keyed jobs.
    has_keys: bool,
    /// The answers that the child has asked for and does not read.
    pub(super) unread_answers: AnswerCount,
}

struct PtyOutlet<'a> {
    handle: &'a ScreenHandle,
    link: &'a mut Link,
    has_keys: bool,
}

impl Outlet for PtyOutlet<'_> {
    fn is_canonical(&self) -> bool {
        self.handle.is_canonical()
    }

    fn takes_brackets(&self) -> bool {
        self.handle.screen().modes().bracketed_paste
    }

    fn write_now(&mut self, bytes: &[u8]) -> usize {
        rustix::io::write(self.handle.master(), bytes).unwrap_or(0)
    }

    // A broken link shows itself as end of file; the run is lost then and the input queue is cleared.
    fn send_to_holder(&mut self, id: u64, bytes: Vec<u8>, key: Option<(Vec<u8>, u64)>) {
        let message = match key.filter(|_| self.has_keys) {
            Some((key, note)) => ToHolder::KeyedInput { id, key, note, bytes },
            None => ToHolder::Input { id, bytes },
        };
        let _gone = self.link.send(&message);
        failpoint::pass(Failpoint::InputQueued);
    }

    fn ask_key(&mut self, key: &[u8]) -> bool {
        self.has_keys && self.link.send(&ToHolder::AskKey { key: key.to_vec() }).is_ok()
    }

    fn cancel(&mut self, id: u64) {
        let _gone = self.link.send(&ToHolder::CancelInput { id });
    }
}

impl InputQueue {
    /// Returns the input of a run whose holder has this wire version and has accepted inputs up to this id,
    /// from an earlier daemon.
    pub(crate) fn new(last_input_id: u64, wire_version: u16) -> Self {
        let has_keys = wire_version >= WIRE_WITH_KEYS;
        Self { queue: Queue::new(last_input_id), has_keys, unread_answers: AnswerCount::default() }
    }

    /// Adds a viewer's keystrokes. They are always accepted.
    pub(crate) fn type_keys(
        &mut self,
        typist: ViewerId,
        bytes: &[u8],
        handle: &ScreenHandle,
        link: &mut Link,
    ) {
        self.queue.type_keys(
            typist,
            bytes,
            Instant::now(),
            &mut PtyOutlet { handle, link, has_keys: self.has_keys },
        );
    }

    /// Returns true if so many of a viewer's keys wait that it is not to be read for now.
    pub(crate) fn is_full_for(&self, typist: ViewerId, was_full: bool) -> bool {
        self.queue.is_full_for(typist, was_full)
    }

    /// Adds the emulator's answers to queries.
    pub(crate) fn answer(&mut self, bytes: &[u8], handle: &ScreenHandle, link: &mut Link) {
        self.queue.answer(bytes, Instant::now(), &mut PtyOutlet { handle, link, has_keys: self.has_keys });
    }

    /// Counts the answers that were dropped since the last call, because the child does not read them: this
    /// many by the screen, and those of the queue.
    pub(crate) fn count_dropped_answers(&mut self, by_screen: u64) {
        let dropped = by_screen + self.queue.take_dropped_answers();
        self.unread_answers.add(dropped);
    }

    /// Returns how many answers wait, because the child does not read.
    pub(crate) fn waiting_answers(&self) -> u64 {
        self.queue.waiting_answers()
    }

    /// Adds a job with a waiting caller.
    pub(crate) fn write(&mut self, job: WriteJob, now: Instant, handle: &ScreenHandle, link: &mut Link) {
        self.queue.write(job, now, &mut PtyOutlet { handle, link, has_keys: self.has_keys });
    }

    /// Records that the holder wrote, cancelled or refused an input.
    pub(crate) fn done(&mut self, id: u64, written: u64, handle: &ScreenHandle, link: &mut Link) {
        self.queue.done(
            id,
            written,
            Instant::now(),
            &mut PtyOutlet { handle, link, has_keys: self.has_keys },
        );
    }

    /// Returns the conditions under which the job that the holder has reported on may continue.
    pub(crate) fn repeated_guard(&self, state: &KeyState) -> Option<Guard> {
        self.queue.repeated_guard(state)
    }

    /// Continues a job of an earlier daemon after the holder has reported how much of it it has.
    pub(crate) fn go_on(
        &mut self,
        state: &KeyState,
        obstacle: Option<TypingOutcome>,
        handle: &ScreenHandle,
        link: &mut Link,
    ) {
        let mut out = PtyOutlet { handle, link, has_keys: self.has_keys };
        self.queue.go_on(state, obstacle, Instant::now(), &mut out);
    }

    /// Returns when the queue must be checked.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.queue.due()
    }

    /// Cancels jobs whose time is over and checks whether a held one may go.
    pub(crate) fn pass(&mut self, now: Instant, handle: &ScreenHandle, link: &mut Link) {
        self.queue.pass(now, &mut PtyOutlet { handle, link, has_keys: self.has_keys });
    }

    /// Returns the conditions of the held job that is about to go.
    pub(crate) fn about_to_go(&self, now: Instant) -> Option<Guard> {
        self.queue.about_to_go(now)
    }

    /// Refuses the held job because of an obstacle.
    pub(crate) fn refuse_held(&mut self, obstacle: TypingOutcome) {
        self.queue.refuse_held(obstacle);
    }

    /// Handles that another program may have typed meanwhile, and that the holder has accepted inputs up to
    /// this id. What was on its way is reported as far as it was acknowledged.
    pub(crate) fn inherit(&mut self, last_input_id: u64) {
        self.queue.inherit(last_input_id);
    }

    /// Clears the queue after the child has gone: nothing more will be written.
    pub(crate) fn clear(&mut self) {
        self.queue.clear();
    }
}

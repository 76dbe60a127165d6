//! A worker's holders: taking a run in, hearing its holder, and what is left to do when the holder has gone.
//!
//! Owns a run's place in the worker. Refuses guessing: a link that ended without a release is a loss, and is swept.

use std::os::fd::AsFd;
use std::time::Instant;

use engine::{Fact, Input, RunKey};
use rustix::event::epoll;

use super::order::NewRun;
use super::run::{HolderIs, Run};
use super::worker::{Slot, Source, Worker};

impl Worker {
    pub(super) fn host(&mut self, new: NewRun, now: Instant) {
        let number = self.next_slot;
        self.next_slot += 1;
        if new.is_new {
            self.facts.say(new.handle.run, Fact::Started { pid: new.handle.child_pid });
        }
        if let Some(agent) = &new.agent {
            self.facts.say(new.handle.run, Fact::Launched(agent.launched.clone()));
        }
        let (mut run, wake) = Run::new(new, now);
        run.begin_observing(now, &mut self.facts);
        let ring = epoll::EventData::new_u64(Source::Ring(number).token());
        let link = epoll::EventData::new_u64(Source::Link(number).token());
        let added = epoll::add(&self.epoll, &wake, ring, epoll::EventFlags::IN)
            .and_then(|()| epoll::add(&self.epoll, run.link.as_fd(), link, epoll::EventFlags::IN));
        self.by_run.insert(run.key(), number);
        self.slots.insert(number, Slot { run, wake, viewers: Vec::new(), is_waiting_for_room: false });
        if let Err(error) = added {
            // A run that cannot be watched (the kernel limits watches) would hang for ever: it ends as lost instead.
            tracing::error!(%error, "a run could not be watched");
            if let Some(slot) = self.slots.get_mut(&number) {
                kill_holder(&mut slot.run);
            }
            return self.holder_gone(number, now);
        }
        self.ready.insert(number);
        self.on_link(number, now);
    }

    pub(super) fn on_link(&mut self, number: u64, now: Instant) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        slot.run.flush_link();
        match slot.run.hear_holder(now, &mut self.facts) {
            HolderIs::Here => {
                slot.run.say_exit_if_drained(now, &mut self.facts);
                // An exit may have been said before the last bytes were taken.
                self.ready.insert(number);
                self.settle(number);
            }
            HolderIs::Anothers => {
                tracing::warn!(run = ?slot.run.key(), "another daemon has taken a holder over");
                slot.run.is_released = true;
                self.holder_gone(number, now);
            }
            HolderIs::Gone => self.holder_gone(number, now),
        }
    }

    pub(super) fn release(&mut self, run: RunKey, end_tree: bool, reason: &'static str, now: Instant) {
        let Some(number) = self.by_run.get(&run).copied() else { return };
        self.end_viewers(number, reason, now);
        self.tell(run, |run, _| run.release(end_tree));
    }

    /// A holder closed its link: it was released, or it was killed.
    pub(super) fn holder_gone(&mut self, number: u64, now: Instant) {
        let Some(mut slot) = self.slots.remove(&number) else { return };
        let run = slot.run.key();
        self.by_run.remove(&run);
        self.ready.remove(&number);
        self.timed.remove(&number);
        let _gone =
            (epoll::delete(&self.epoll, &slot.wake), epoll::delete(&self.epoll, slot.run.link.as_fd()));
        self.end_echo(&slot.run);
        while let Some(advance) = slot.run.advance(&mut self.buffer, now) {
            slot.run.feed(&self.buffer[..advance.count], now, &mut self.facts);
        }
        slot.run.say_exit_if_drained(now, &mut self.facts);
        slot.run.end_watches(&mut self.facts);
        slot.run.lane.clear();
        slot.run.abandon_typing(&mut self.facts);
        slot.run.close_progress();
        for id in slot.viewers.clone() {
            if let Some(viewer) = self.viewers.get_mut(&id).filter(|viewer| !viewer.is_closing()) {
                slot.run.repaint(viewer, now);
                viewer.end("lost");
            }
            self.catch_up(id, now);
        }
        if !slot.run.is_released {
            self.sweep(&slot.run);
        }
    }

    /// Cleans up after a killed holder on a thread of its own, because looking through every process may take a while.
    pub(super) fn sweep(&self, run: &Run) {
        let (key, token, seen) = (run.key(), run.token.clone(), run.seen);
        let (pid, start_time) = (run.handle.child_pid, run.child_start_time);
        let engine = self.facts.sender();
        let sweeper = move || {
            if let Err(error) = holder::sweep_lost_run(&token, pid, start_time) {
                tracing::warn!(%error, run = ?key, "could not sweep after a lost holder");
            }
            let fact = Input::Fact { run: key, fact: Fact::Lost { final_offset: seen } };
            // The daemon is ending when nobody listens.
            drop(engine.blocking_send(fact));
        };
        if let Err(error) = std::thread::Builder::new().name("sweeper".to_owned()).spawn(sweeper) {
            tracing::error!(%error, "no thread to sweep with");
        }
    }
}

/// Ends a holder that does not answer; its end is then noticed and swept like any other loss.
pub(super) fn kill_holder(run: &mut Run) {
    let pinned =
        run.holder_start_time.and_then(|start| holder::tree::open_checked(run.handle.holder_pid, start));
    if let Some(pidfd) = pinned {
        let _gone = rustix::process::pidfd_send_signal(pidfd, rustix::process::Signal::KILL);
    }
}

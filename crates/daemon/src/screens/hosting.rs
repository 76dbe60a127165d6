//! A worker's holders: hosting a run, reading its holder's messages, and cleaning up after the holder has
//! gone. A link that ended without a release is a loss, and is swept. A run that cannot be watched is not
//! adopted.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use engine::{Input, RunFact, RunKey};
use rustix::event::epoll;
use rustix::io::Result;

use super::budget::SHARE;
use super::failpoint;
use super::fault::{FaultScope, attempt};
use super::holder_end::name_survivors;
use super::order::NewRun;
use super::run::{LinkState, Run};
use super::worker::{Slot, Source, Worker};
use crate::threads;

/// Where a run is watched: by which worker, under which number.
#[derive(Clone, Copy)]
pub(super) struct WorkerSlot {
    pub(super) worker: usize,
    pub(super) number: u64,
}

/// Registers a run's descriptors with a worker's epoll, without events yet. Only this can fail for lack of
/// memory or watches; enabling events cannot.
pub(super) fn register(epoll: BorrowedFd<'_>, new: &NewRun, number: u64) -> Result<()> {
    let data = |source: Source| epoll::EventData::new_u64(source.token());
    // A hang-up is reported even without requested events; until the run is hosted, once is enough.
    let silent = epoll::EventFlags::ONESHOT;
    epoll::add(epoll, &new.wake, data(Source::Ring(number)), silent)?;
    let added = failpoint::watching()
        .and_then(|()| epoll::add(epoll, new.link.as_fd(), data(Source::Link(number)), silent));
    if added.is_err() {
        // Closing would not suffice: its holder has the same descriptor open.
        let _gone = epoll::delete(epoll, &new.wake);
    }
    added
}

impl Worker {
    /// Watches a run that may be registered already; returns its number.
    fn watch(&mut self, new: &mut NewRun) -> (u64, Result<()>) {
        let data = |source: Source| epoll::EventData::new_u64(source.token());
        let number = new.place.map_or(self.next_slot, |place| place.number);
        let registered = if new.place.is_some() {
            Ok(())
        } else {
            self.next_slot += 1;
            register(self.epoll.as_fd(), new, number)
        };
        let (ring, link) = (data(Source::Ring(number)), data(Source::Link(number)));
        let watched = registered
            .and_then(|()| epoll::modify(&self.epoll, &new.wake, ring, epoll::EventFlags::IN))
            .and_then(|()| epoll::modify(&self.epoll, new.link.as_fd(), link, epoll::EventFlags::IN));
        (number, watched)
    }

    pub(super) fn host(&mut self, mut new: NewRun, now: Instant) {
        let (number, watched) = self.watch(&mut new);
        if let Some(adopted) = new.adopted.take() {
            self.facts.push_input(*adopted);
        }
        // First, so that the reply to the spawn has what the launch lacks.
        if let Some(agent) = &new.agent {
            self.facts.push_fact(new.handle.run, RunFact::Launched(agent.launched.clone()));
        }
        if new.is_new {
            self.facts.push_fact(new.handle.run, RunFact::Started { pid: new.handle.child_pid });
        }
        let (run, wake) = Run::new(new, &self.matcher, &self.last_colors, now);
        let key = run.key();
        self.by_run.insert(key, number);
        self.slots.insert(number, Slot { run, wake, viewers: Vec::new(), is_waiting_for_room: false });
        if let Err(error) = watched {
            // A new run that cannot be watched (the kernel limits watches) would hang for ever: it ends as
            // lost instead.
            tracing::error!(%error, "a run could not be watched");
            if let Some(slot) = self.slots.get_mut(&number) {
                kill_holder(&mut slot.run);
            }
            return self.holder_gone(number, now);
        }
        self.ready.insert(number);
        self.contained(FaultScope::Run(number), now, |worker| {
            worker.with_run(key, |run, facts| run.begin_observing(now, facts));
        });
        self.contained(FaultScope::Run(number), now, |worker| worker.on_link(number, now));
    }

    pub(super) fn on_link(&mut self, number: u64, now: Instant) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        slot.run.flush_link();
        if slot.run.link.is_greeting() {
            return self.on_greeting(number, now);
        }
        match slot.run.hear_holder(now, &mut self.facts) {
            LinkState::Here => {
                slot.run.report_exit_if_drained(now, &mut self.facts);
                // An exit may have been announced before the last bytes were read.
                self.ready.insert(number);
                self.go_on_hearing(number, now);
                self.sync_interest(number);
            }
            LinkState::Anothers => self.on_displaced(number, now),
            // The holder lives, so it has accepted another link and could not report it.
            LinkState::Gone if !slot.run.holder.is_released() && slot.run.holder.is_alive() => {
                self.on_displaced(number, now);
            }
            LinkState::Gone => self.holder_gone(number, now),
        }
    }

    pub(super) fn release(&mut self, run: RunKey, end_tree: bool, reason: &'static str, now: Instant) {
        let Some(number) = self.by_run.get(&run).copied() else { return };
        // A holder that is not released would stay for ever, so this happens even if ending viewers fails.
        self.contained(FaultScope::Run(number), now, |worker| worker.end_viewers(number, reason, now));
        self.with_run(run, |run, _| run.release(end_tree));
        self.link_now(run, now);
    }

    /// Handles a holder that closed its link: it was released, or it was killed.
    pub(super) fn holder_gone(&mut self, number: u64, now: Instant) {
        let Some(mut slot) = self.slots.remove(&number) else { return };
        let run = slot.run.key();
        self.by_run.remove(&run);
        self.ready.remove(&number);
        self.behind.remove(&number);
        self.timed.remove(&number);
        let _gone =
            (epoll::delete(&self.epoll, &slot.wake), epoll::delete(&self.epoll, slot.run.link.as_fd()));
        self.end_echo(&slot.run);
        self.warnings.clear_run(run);
        if !attempt("the last output", run, || self.drain(&mut slot.run, now)) {
            // The exit comes after the rest of the output, drawn or not.
            slot.run.faults.go_blind(now);
            attempt("the rest of the last output", run, || self.drain(&mut slot.run, now));
        }
        slot.run.report_exit_if_drained(now, &mut self.facts);
        slot.run.watches.close_all();
        slot.run.input_queue.clear();
        slot.run.typing.abandon(run, &mut self.facts);
        slot.run.close_progress();
        for id in slot.viewers.clone() {
            self.contained(FaultScope::Viewer(id), now, |worker| {
                if let Some(viewer) = worker.viewers.get_mut(&id).filter(|viewer| !viewer.is_closing()) {
                    slot.run.output().end_bytes(viewer, &mut worker.buffer, now);
                    if !viewer.options.exact {
                        slot.run.output().repaint(viewer, now);
                    }
                    if !viewer.is_closing() {
                        viewer.end("lost");
                    }
                }
                worker.catch_up(id, now);
            });
        }
        if !slot.run.holder.is_released() {
            self.sweep(&mut slot.run);
        }
    }

    /// Draws all remaining output, as far as it is not too costly for the others.
    fn drain(&mut self, run: &mut Run, now: Instant) {
        run.budget.end_at_once();
        while let Some(advance) = run.advance(&mut self.buffer, now) {
            let drawn = run.draw(&self.buffer[..advance.count], SHARE, now);
            run.after_drawing(&self.buffer[..drawn.bytes], now, &mut self.facts);
            run.skip_costly(now, &mut self.facts);
        }
    }

    /// Cleans up after a killed holder on another thread, because searching every process may take a while.
    fn sweep(&self, run: &mut Run) {
        let (key, token, seen) = (run.key(), run.holder.token.clone(), run.position.seen());
        let (pid, start_time) = (run.handle.child_pid, run.holder.child_start_time);
        let killing = run.holder.tree_end.holder_end.take_killing();
        let engine = self.facts.sender();
        let sweeper = move || {
            let below = killing.and_then(|killing| killing.wait().ok()).unwrap_or_default();
            let swept = holder::sweep_lost_run(&token, pid, start_time);
            let survivors = name_survivors(below.into_iter().chain(swept.left));
            if !survivors.is_empty() {
                tracing::warn!(run = ?key, ?survivors, "descendants survived the end of their holder");
            }
            let fact = Input::Fact { run: key, fact: RunFact::Lost { final_offset: seen, survivors } };
            // The receiver is gone only when the daemon is ending.
            drop(engine.blocking_send(fact));
        };
        drop(threads::run(sweeper));
    }
}

/// Ends a holder that cannot be used, and its descendants; its end is then noticed and swept like any other loss.
pub(super) fn kill_holder(run: &mut Run) {
    run.holder.tree_end.holder_end.forget_report();
    sweep_holder(run);
}

/// Ends a holder that does not answer, and its descendants, unless it reports the end of its tree meanwhile.
pub(super) fn sweep_holder(run: &mut Run) {
    if let Some(start_time) = run.holder.start_time() {
        run.holder.tree_end.holder_end.kill(run.holder.pid(), start_time);
    }
}

//! A worker's viewers: accepting them, sending them what they can accept, detaching them, and their sockets
//! in the worker's epoll. `viewer_output` decides what is shown.

use std::os::fd::OwnedFd;
use std::time::Instant;

use engine::{RunFact, RunKey, ViewerId};
use proto::{ExitReason, Notice};
use rustix::event::epoll;

use super::fault::FaultScope;
use super::order::{Ended, NewViewer};
use super::terminal::Typed;
use super::viewer::{HUNG_UP, LET_GO, Mode, PendingRepaint, Presence, Viewer};
use super::worker::{Source, Worker};

impl Worker {
    /// Sends every viewer of a slot what it can accept.
    pub(super) fn catch_up_viewers(&mut self, number: u64, now: Instant) {
        let Some(slot) = self.slots.get(&number) else { return };
        for id in slot.viewers.clone() {
            self.catch_up(id, now);
        }
    }

    pub(super) fn catch_up(&mut self, id: ViewerId, now: Instant) {
        let Some(viewer) = self.viewers.get_mut(&id) else { return };
        let slot = self.by_run.get(&viewer.run).and_then(|number| self.slots.get(number));
        let presence = match slot {
            Some(slot) => {
                slot.run.hold_back(viewer);
                slot.run.output().catch_up(viewer, &mut self.buffer, now)
            }
            None => viewer.flush(),
        };
        if presence == Presence::Gone {
            return self.let_go(id);
        }
        watch_terminal(&self.epoll, viewer);
        let wants = viewer.wants();
        if wants != viewer.socket.watched {
            viewer.socket.watched = wants;
            let data = epoll::EventData::new_u64(Source::Viewer(id.0).token());
            let _gone = epoll::modify(&self.epoll, &viewer.socket, data, wants);
        }
    }

    pub(super) fn on_viewer(&mut self, id: ViewerId, flags: epoll::EventFlags, now: Instant) {
        let Some(viewer) = self.viewers.get_mut(&id) else { return };
        viewer.socket.note_events(flags);
        if flags.intersects(epoll::EventFlags::IN) || viewer.socket.is_peer_gone() {
            let presence = viewer.socket.receive(&mut self.buffer);
            let slot = self.by_run.get(&viewer.run).copied();
            if let Some(number) = slot {
                self.hear(number, id, now);
            }
            if presence == Presence::Gone {
                return self.let_go(id);
            }
        }
        self.catch_up(id, now);
        // It may have room again before the next repaint is due.
        if let Some(number) = self.viewers.get(&id).and_then(|viewer| self.by_run.get(&viewer.run)).copied() {
            self.sync_interest(number);
        }
    }

    /// Handles input on a viewer's terminal, or room on it.
    pub(super) fn on_terminal(&mut self, id: ViewerId, flags: epoll::EventFlags, now: Instant) {
        let Some(viewer) = self.viewers.get_mut(&id) else { return };
        let Some(terminal) = &mut viewer.terminal else { return };
        let is_gone = flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        let typed = match flags.contains(epoll::EventFlags::IN) {
            _ if is_gone => Typed::HungUp,
            true => terminal.read(&mut self.buffer),
            false => Typed::Nothing,
        };
        let number = self.by_run.get(&viewer.run).copied();
        match (typed, number.and_then(|number| self.slots.get_mut(&number))) {
            (Typed::Keys(count), Some(slot)) => {
                slot.run.hear_terminal(viewer, &self.buffer[..count], now, &mut self.facts);
            }
            (Typed::HungUp, _) => viewer.end(HUNG_UP),
            (Typed::Keys(_) | Typed::Nothing, _) => {}
        }
        self.catch_up(id, now);
        if let Some(number) = number {
            self.watch_echo(number);
            self.sync_interest(number);
        }
    }

    /// The child has read keys: viewers of a slot that were held back continue, if there is room for theirs.
    pub(super) fn go_on_hearing(&mut self, number: u64, now: Instant) {
        let Some(slot) = self.slots.get(&number) else { return };
        let is_held_back =
            |id: &ViewerId| self.viewers.get(id).is_some_and(|viewer| viewer.keys.is_held_back);
        for id in slot.viewers.iter().copied().filter(is_held_back).collect::<Vec<_>>() {
            self.contained(FaultScope::Viewer(id), now, |worker| {
                worker.hear(number, id, now);
                worker.catch_up(id, now);
            });
        }
    }

    /// Types keys that began on a terminal of a slot's viewers and whose rest did not come in time.
    pub(super) fn release_keys(&mut self, number: u64, now: Instant) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        for id in &slot.viewers {
            if let Some(viewer) = self.viewers.get_mut(id) {
                slot.run.hear_late(viewer, now, &mut self.facts);
            }
        }
        self.watch_echo(number);
    }

    /// Reads what a viewer sent.
    pub(super) fn hear(&mut self, number: u64, id: ViewerId, now: Instant) {
        if let (Some(slot), Some(viewer)) = (self.slots.get_mut(&number), self.viewers.get_mut(&id)) {
            slot.run.hear(viewer, now, &mut self.facts);
            viewer.send_receipt();
            self.watch_echo(number);
            self.sync_interest(number);
        }
    }

    pub(super) fn attach(&mut self, new: NewViewer, now: Instant) {
        let Some(number) = self.by_run.get(&new.run).copied() else {
            return refuse(new);
        };
        if new.take_over {
            self.end_viewers(number, "taken_over", now);
        }
        let Some(slot) = self.slots.get_mut(&number) else { return };
        let viewer = Viewer::new(new, Mode::Live);
        let (id, data) = (viewer.id, epoll::EventData::new_u64(Source::Viewer(viewer.id.0).token()));
        // Before it is announced: otherwise its end might not be announced.
        if let Err(error) = epoll::add(&self.epoll, &viewer.socket, data, viewer.socket.watched) {
            tracing::warn!(%error, "a viewer could not be watched");
            return turn_away(viewer, "lost");
        }
        let viewer = slot.run.welcome(viewer, now, &mut self.facts);
        slot.viewers.push(id);
        self.viewers.insert(id, viewer);
        // It may have sent frames right after its attach call.
        self.hear(number, id, now);
        self.on_viewer(id, epoll::EventFlags::empty(), now);
    }

    /// Ends every viewer of a slot with a reason.
    pub(super) fn end_viewers(&mut self, number: u64, reason: &str, now: Instant) {
        let Some(slot) = self.slots.get(&number) else { return };
        for id in slot.viewers.clone() {
            let slot = self.slots.get(&number);
            let viewer = self.viewers.get_mut(&id).filter(|viewer| !viewer.is_closing());
            if let (Some(slot), Some(viewer)) = (slot, viewer) {
                slot.run.output().end_bytes(viewer, &mut self.buffer, now);
                if !viewer.is_closing() {
                    slot.run.output().end(viewer, reason);
                }
            }
            self.catch_up(id, now);
        }
    }

    pub(super) fn let_go(&mut self, id: ViewerId) {
        let Some(viewer) = self.viewers.remove(&id) else { return };
        let _gone = epoll::delete(&self.epoll, &viewer.socket);
        if let Some(slot) = self.by_run.get(&viewer.run).and_then(|number| self.slots.get_mut(number)) {
            slot.viewers.retain(|known| *known != id);
        }
        self.facts.push_fact(viewer.run, RunFact::ViewerLeft { viewer: id });
    }

    pub(super) fn show_new_size(&mut self, run: RunKey, now: Instant) {
        let Some(number) = self.by_run.get(&run).copied() else { return };
        if let Some(slot) = self.slots.get_mut(&number) {
            for id in &slot.viewers {
                if let Some(viewer) = self.viewers.get_mut(id) {
                    slot.run.output().repaint_when_clear(viewer, PendingRepaint::SizeAndScreen, now);
                }
            }
        }
        self.catch_up_viewers(number, now);
    }

    /// Handles the end of a run. Viewers of one that is restarted get the end when it is released, and attach
    /// to the next.
    pub(super) fn report_exit(&mut self, run: RunKey, ended: Ended, now: Instant) {
        let Some(number) = self.by_run.get(&run).copied() else { return };
        let Some(slot) = self.slots.get_mut(&number) else { return };
        slot.run.know_exit(ended);
        for id in &slot.viewers {
            if let Some(viewer) = self.viewers.get_mut(id) {
                slot.run.output().report_exit(viewer, ended, now);
            }
        }
        self.catch_up_viewers(number, now);
    }

    /// Detaches one viewer by request.
    pub(super) fn end_viewer(&mut self, run: RunKey, id: ViewerId, now: Instant) {
        let slot = self.by_run.get(&run).and_then(|number| self.slots.get(number));
        let viewer = self.viewers.get_mut(&id).filter(|viewer| viewer.run == run && !viewer.is_closing());
        if let (Some(slot), Some(viewer)) = (slot, viewer) {
            slot.run.output().end(viewer, LET_GO);
        }
        self.catch_up(id, now);
    }

    pub(super) fn mark_stale(&mut self, number: u64) {
        let Some(slot) = self.slots.get(&number) else { return };
        for id in &slot.viewers {
            if let Some(viewer) = self.viewers.get_mut(id) {
                viewer.position.mark_stale();
            }
        }
    }
}

/// Watches a viewer's terminal for what it needs. One that cannot be watched is returned to its client.
fn watch_terminal(epoll: &OwnedFd, viewer: &mut Viewer) {
    let Some(terminal) = &mut viewer.terminal else { return };
    let wants = terminal.wants(viewer.keys.is_held_back);
    let data = epoll::EventData::new_u64(Source::Terminal(viewer.id.0).token());
    let watched = match terminal.watched.replace(wants) {
        None => epoll::add(epoll, &*terminal, data, wants),
        Some(before) if before != wants => epoll::modify(epoll, &*terminal, data, wants),
        Some(_) => Ok(()),
    };
    if let Err(error) = watched {
        tracing::warn!(%error, "a terminal could not be watched");
        viewer.end("lost");
    }
}

/// Refuses a viewer for a run whose holder has gone: as lost, unless its end was announced before.
fn refuse(new: NewViewer) {
    let ended =
        new.handle.progress.borrow().reported_exit.filter(|(exit, _)| exit.reason != ExitReason::Lost);
    let mut viewer = Viewer::new(new, Mode::Live);
    match ended {
        Some((exit, offset)) => {
            viewer.send_notice(Notice::Exit { stream: viewer.stream, exit, offset });
            turn_away(viewer, "exited");
        }
        None => turn_away(viewer, "lost"),
    }
}

/// Sends a viewer that was not accepted the reason.
fn turn_away(mut viewer: Viewer, reason: &str) {
    viewer.end(reason);
    let _presence = viewer.flush();
}

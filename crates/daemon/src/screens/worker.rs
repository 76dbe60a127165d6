//! The loop of one worker thread: orders, rings, links and viewers, by epoll.
//!
//! Owns the runs and viewers given to it and the order they are served in. Refuses waiting for any one of them.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use engine::{Fact, Input, RunKey, ViewerId};
use proto::event::Notice;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use tokio::sync::{mpsc, oneshot};

use super::facts::FactLane;
use super::order::{NewRun, NewViewer, Order};
use super::run::{HolderIs, Run};
use super::viewer::{Mode, Presence, Viewer};
use super::viewers::frame_due;

/// Orders that may wait. Full-queue policy: the engine waits, because a worker never waits for the engine.
/// The queue is made in full, so it is no larger than it needs to be.
const ORDERS: usize = 256;
/// Most output handled for one run before the others get their turn: a fraction of a millisecond of parsing.
const SLICE: usize = 128 * 1024;
/// Events taken per turn.
const EVENTS: usize = 256;
/// How soon to look again at what has no event: a full fact queue, a holder about to be reaped.
const SOON: Duration = Duration::from_millis(5);

/// What an epoll event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Bell,
    Ring(u64),
    Link(u64),
    Viewer(u64),
}

impl Source {
    fn token(self) -> u64 {
        match self {
            Self::Bell => 0,
            Self::Ring(slot) => slot << 2 | 1,
            Self::Link(slot) => slot << 2 | 2,
            Self::Viewer(id) => id << 2 | 3,
        }
    }

    fn from_token(token: u64) -> Self {
        match token & 3 {
            1 => Self::Ring(token >> 2),
            2 => Self::Link(token >> 2),
            3 => Self::Viewer(token >> 2),
            _ => Self::Bell,
        }
    }
}

/// The way to tell a worker something.
#[derive(Clone)]
pub(crate) struct OrderSender {
    orders: SyncSender<Order>,
    bell: Arc<OwnedFd>,
}

impl OrderSender {
    /// Queues an order. An order to a worker that has ended is dropped: the daemon is ending.
    pub(crate) fn send(&self, order: Order) {
        if self.orders.send(order).is_ok() {
            // A full counter means the bell is ringing already.
            let _already = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        }
    }
}

/// A run with the descriptors that wake for it.
struct Slot {
    run: Run,
    wake: OwnedFd,
    viewers: Vec<ViewerId>,
    /// Whether the link is watched for room.
    is_waiting_for_room: bool,
}

/// One worker.
pub(crate) struct Worker {
    epoll: OwnedFd,
    bell: Arc<OwnedFd>,
    orders: Receiver<Order>,
    facts: FactLane,
    slots: HashMap<u64, Slot>,
    by_run: HashMap<RunKey, u64>,
    viewers: HashMap<ViewerId, Viewer>,
    next_slot: u64,
    /// Slots with output right now.
    ready: BTreeSet<u64>,
    /// Slots with something due at some time.
    timed: BTreeSet<u64>,
    buffer: Vec<u8>,
    /// Whoever waits until every holder that was let go has gone.
    finishing: Option<oneshot::Sender<()>>,
}

impl Worker {
    /// Starts a worker thread.
    pub(crate) fn start(number: usize, engine: mpsc::Sender<Input>) -> io::Result<OrderSender> {
        let (sender, orders) = sync_channel(ORDERS);
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell_event = epoll::EventData::new_u64(Source::Bell.token());
        epoll::add(&epoll, &bell, bell_event, epoll::EventFlags::IN)?;
        let mut worker = Self {
            epoll,
            bell: Arc::clone(&bell),
            orders,
            facts: FactLane::new(engine),
            slots: HashMap::new(),
            by_run: HashMap::new(),
            viewers: HashMap::new(),
            next_slot: 1,
            ready: BTreeSet::new(),
            timed: BTreeSet::new(),
            buffer: vec![0; SLICE],
            finishing: None,
        };
        std::thread::Builder::new().name(format!("screens-{number}")).spawn(move || worker.work())?;
        Ok(OrderSender { orders: sender, bell })
    }

    /// Serves until the daemon ends.
    fn work(&mut self) {
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            events.clear();
            let timeout = self.timeout();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tracing::error!(%error, "a screens worker cannot wait any more");
                    return;
                }
            }
            let now = Instant::now();
            for event in &events {
                self.on_event(Source::from_token(event.data.u64()), event.flags, now);
            }
            self.on_time(now);
            self.serve_ready();
            self.facts.flush();
            self.tell_finished();
        }
    }

    /// Answers a daemon that waits for its end. A holder that was told to go and has not heard it would stay for ever.
    fn tell_finished(&mut self) {
        let is_over = self.finishing.is_some() && self.slots.values().all(|slot| !slot.run.is_released);
        if let Some(told) = self.finishing.take_if(|_| is_over) {
            // The daemon may have waited long enough.
            let _unheard = told.send(());
        }
    }

    fn timeout(&mut self) -> Option<Timespec> {
        if !self.ready.is_empty() {
            return Some(Timespec { tv_sec: 0, tv_nsec: 0 });
        }
        let now = Instant::now();
        let timed = self.timed.iter().filter_map(|slot| self.slot_due(*slot));
        let soon = (!self.facts.is_clear()).then(|| now + SOON);
        let due = timed.chain(soon).min()?;
        let wait = due.saturating_duration_since(now);
        Some(Timespec { tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX), tv_nsec: wait.subsec_nanos().into() })
    }

    /// When a slot or one of its viewers next wants something.
    fn slot_due(&self, slot: u64) -> Option<Instant> {
        let slot = self.slots.get(&slot)?;
        let frames = slot.viewers.iter().filter_map(|id| self.viewers.get(id)).filter_map(frame_due);
        frames.chain(slot.run.due()).min()
    }

    fn on_event(&mut self, source: Source, flags: epoll::EventFlags, now: Instant) {
        match source {
            Source::Bell => self.on_bell(now),
            Source::Ring(slot) => {
                if let Some(slot) = self.slots.get(&slot) {
                    let _count = rustix::io::read(&slot.wake, &mut [0u8; 8]);
                }
                self.ready.insert(slot);
            }
            Source::Link(slot) => self.on_link(slot, now),
            Source::Viewer(id) => self.on_viewer(ViewerId(id), flags, now),
        }
    }

    fn on_bell(&mut self, now: Instant) {
        let _count = rustix::io::read(&self.bell, &mut [0u8; 8]);
        while let Ok(order) = self.orders.try_recv() {
            self.obey(order, now);
        }
    }

    fn obey(&mut self, order: Order, now: Instant) {
        match order {
            Order::Host(run) => self.host(*run, now),
            Order::Attach(viewer) => self.attach(*viewer, now),
            Order::Resize(run, size) => {
                if self.with(run, |run, _| run.want_size(size, now)) == Some(true) {
                    self.show_new_size(run, now);
                }
            }
            Order::Signal(run, signal) => self.tell(run, |run, _| run.signal(signal)),
            Order::Kill(run, grace_ms) => self.tell(run, |run, _| run.kill(grace_ms)),
            Order::Sweep(run) => self.tell(run, |run, _| kill_holder(run)),
            Order::Release { run, end_tree, reason } => self.release(run, end_tree, reason, now),
            Order::Watch { run, wait, pattern, since } => {
                if self.with(run, |run, facts| run.watch(wait, pattern, since, facts)).is_none() {
                    self.facts.say(run, Fact::Unmatched { wait });
                }
            }
            Order::Unwatch(run, wait) => self.tell(run, |run, _| run.watches.end(wait)),
            Order::TellExit { run, exit, final_offset } => self.tell_exit(run, exit, final_offset, now),
            Order::Write(run, job) => self.tell(run, |run, facts| run.write(job, now, facts)),
            Order::Finish(told) => self.finishing = Some(told),
        }
    }

    /// Does something to a hosted run and keeps its descriptors and deadlines watched.
    fn with<T>(&mut self, key: RunKey, act: impl FnOnce(&mut Run, &mut FactLane) -> T) -> Option<T> {
        let number = *self.by_run.get(&key)?;
        let slot = self.slots.get_mut(&number)?;
        let result = act(&mut slot.run, &mut self.facts);
        self.settle(number);
        Some(result)
    }

    /// [`Worker::with`] for orders that leave nothing to be done here; one for a run that went is moot.
    fn tell(&mut self, key: RunKey, act: impl FnOnce(&mut Run, &mut FactLane)) {
        let _moot = self.with(key, act);
    }

    /// Brings what is watched for a slot in line with what it wants.
    fn settle(&mut self, number: u64) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        let wants_room = slot.run.link.wants_write();
        if wants_room != slot.is_waiting_for_room {
            slot.is_waiting_for_room = wants_room;
            let room = if wants_room { epoll::EventFlags::OUT } else { epoll::EventFlags::empty() };
            let data = epoll::EventData::new_u64(Source::Link(number).token());
            let _gone = epoll::modify(&self.epoll, slot.run.link.as_fd(), data, epoll::EventFlags::IN | room);
        }
        if self.slot_due(number).is_some() {
            self.timed.insert(number);
        } else {
            self.timed.remove(&number);
        }
    }

    fn host(&mut self, new: NewRun, now: Instant) {
        let number = self.next_slot;
        self.next_slot += 1;
        if new.is_new {
            self.facts.say(new.handle.run, Fact::Started { pid: new.handle.child_pid });
        }
        let (run, wake) = Run::new(new, now);
        let ring = epoll::EventData::new_u64(Source::Ring(number).token());
        let link = epoll::EventData::new_u64(Source::Link(number).token());
        let added = epoll::add(&self.epoll, &wake, ring, epoll::EventFlags::IN)
            .and_then(|()| epoll::add(&self.epoll, run.link.as_fd(), link, epoll::EventFlags::IN));
        if let Err(error) = added {
            return tracing::error!(%error, "a run could not be watched");
        }
        self.by_run.insert(run.key(), number);
        self.slots.insert(number, Slot { run, wake, viewers: Vec::new(), is_waiting_for_room: false });
        self.ready.insert(number);
        self.on_link(number, now);
    }

    /// Gives every run with output one slice, then the next round.
    fn serve_ready(&mut self) {
        for number in std::mem::take(&mut self.ready) {
            self.serve(number);
        }
    }

    fn serve(&mut self, number: u64) {
        let now = Instant::now();
        let Some(slot) = self.slots.get_mut(&number) else { return };
        let slice = if slot.run.watches.is_empty() { SLICE } else { SLICE / 16 };
        if let Some(advance) = slot.run.advance(&mut self.buffer[..slice], now) {
            let bytes = &self.buffer[..advance.count];
            for id in &slot.viewers {
                if let Some(viewer) = self.viewers.get_mut(id) {
                    slot.run.show_output(viewer, advance.before, bytes, now);
                }
            }
            slot.run.feed(bytes, now, &mut self.facts);
            if advance.has_more {
                self.ready.insert(number);
            }
        }
        slot.run.say_exit_if_drained(now, &mut self.facts);
        self.catch_up_viewers(number, now);
        self.settle(number);
    }

    /// Lets every viewer of a slot have what it can take.
    fn catch_up_viewers(&mut self, number: u64, now: Instant) {
        let Some(slot) = self.slots.get(&number) else { return };
        for id in slot.viewers.clone() {
            self.catch_up(id, now);
        }
    }

    fn catch_up(&mut self, id: ViewerId, now: Instant) {
        let Some(viewer) = self.viewers.get_mut(&id) else { return };
        let slot = self.by_run.get(&viewer.run).and_then(|number| self.slots.get(number));
        let presence = match slot {
            Some(slot) => slot.run.catch_up(viewer, &mut self.buffer, now),
            None => viewer.flush(),
        };
        if presence == Presence::Gone {
            return self.let_go(id);
        }
        let wants_room = !viewer.is_clear();
        if wants_room != viewer.is_waiting_for_room {
            viewer.is_waiting_for_room = wants_room;
            let room = if wants_room { epoll::EventFlags::OUT } else { epoll::EventFlags::empty() };
            let data = epoll::EventData::new_u64(Source::Viewer(id.0).token());
            let _gone = epoll::modify(&self.epoll, viewer.socket(), data, epoll::EventFlags::IN | room);
        }
    }

    fn on_link(&mut self, number: u64, now: Instant) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        slot.run.flush_link();
        match slot.run.hear_holder(&mut self.facts) {
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

    fn on_viewer(&mut self, id: ViewerId, flags: epoll::EventFlags, now: Instant) {
        let Some(viewer) = self.viewers.get_mut(&id) else { return };
        if flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR) {
            if viewer.receive(&mut self.buffer) == Presence::Gone {
                return self.let_go(id);
            }
            let slot = self.by_run.get(&viewer.run).copied();
            if let Some(number) = slot {
                self.hear(number, id, now);
            }
        }
        self.catch_up(id, now);
    }

    /// Takes what a viewer sent, and the echo of its keystrokes if it comes at once.
    fn hear(&mut self, number: u64, id: ViewerId, now: Instant) {
        let (Some(slot), Some(viewer)) = (self.slots.get_mut(&number), self.viewers.get_mut(&id)) else { return };
        slot.run.hear(viewer, now, &mut self.facts);
        // Only while nothing else wants this thread.
        if self.ready.is_empty() && slot.run.look_for_echo() {
            self.serve(number);
        }
        self.settle(number);
    }

    fn attach(&mut self, new: NewViewer, now: Instant) {
        let Some(number) = self.by_run.get(&new.run).copied() else {
            return refuse(new);
        };
        if new.take_over {
            self.end_viewers(number, "taken_over", now);
        }
        let Some(slot) = self.slots.get_mut(&number) else { return };
        let viewer = slot.run.welcome(Viewer::new(new, Mode::Live), now, &mut self.facts);
        let (id, data) = (viewer.id, epoll::EventData::new_u64(Source::Viewer(viewer.id.0).token()));
        if let Err(error) = epoll::add(&self.epoll, viewer.socket(), data, epoll::EventFlags::IN) {
            return tracing::warn!(%error, "a viewer could not be watched");
        }
        slot.viewers.push(id);
        self.viewers.insert(id, viewer);
        self.on_viewer(id, epoll::EventFlags::empty(), now);
        // It may have sent frames right behind its attach call.
        self.hear(number, id, now);
    }

    /// Ends every viewer of a slot with a reason.
    fn end_viewers(&mut self, number: u64, reason: &str, now: Instant) {
        let Some(slot) = self.slots.get(&number) else { return };
        for id in slot.viewers.clone() {
            if let Some(viewer) = self.viewers.get_mut(&id).filter(|viewer| !viewer.is_closing()) {
                viewer.send_notice(Notice::End { stream: viewer.stream, reason: reason.to_owned() });
                viewer.close_when_clear();
            }
            self.catch_up(id, now);
        }
    }

    fn let_go(&mut self, id: ViewerId) {
        let Some(viewer) = self.viewers.remove(&id) else { return };
        let _gone = epoll::delete(&self.epoll, viewer.socket());
        if let Some(slot) = self.by_run.get(&viewer.run).and_then(|number| self.slots.get_mut(number)) {
            slot.viewers.retain(|known| *known != id);
        }
        self.facts.say(viewer.run, Fact::ViewerLeft { viewer: id });
    }

    fn show_new_size(&mut self, run: RunKey, now: Instant) {
        let Some(number) = self.by_run.get(&run).copied() else { return };
        if let Some(slot) = self.slots.get_mut(&number) {
            let is_shown = |viewer: &&mut Viewer| slot.viewers.contains(&viewer.id);
            let mut viewers: Vec<&mut Viewer> = self.viewers.values_mut().filter(is_shown).collect();
            slot.run.show_new_size(&mut viewers, now);
        }
        self.catch_up_viewers(number, now);
    }

    fn tell_exit(&mut self, run: RunKey, exit: proto::Exit, final_offset: u64, now: Instant) {
        let Some(number) = self.by_run.get(&run).copied() else { return };
        let Some(slot) = self.slots.get_mut(&number) else { return };
        slot.run.know_exit(exit, final_offset);
        for id in &slot.viewers {
            if let Some(viewer) = self.viewers.get_mut(id) {
                slot.run.tell_exit(viewer, exit, final_offset, now);
            }
        }
        self.catch_up_viewers(number, now);
    }

    fn release(&mut self, run: RunKey, end_tree: bool, reason: &'static str, now: Instant) {
        let Some(number) = self.by_run.get(&run).copied() else { return };
        self.end_viewers(number, reason, now);
        self.tell(run, |run, _| run.release(end_tree));
    }

    /// A holder closed its link: it was released, or it was killed.
    fn holder_gone(&mut self, number: u64, now: Instant) {
        let Some(mut slot) = self.slots.remove(&number) else { return };
        let run = slot.run.key();
        self.by_run.remove(&run);
        self.ready.remove(&number);
        self.timed.remove(&number);
        let _gone = (epoll::delete(&self.epoll, &slot.wake), epoll::delete(&self.epoll, slot.run.link.as_fd()));
        while let Some(advance) = slot.run.advance(&mut self.buffer, now) {
            slot.run.feed(&self.buffer[..advance.count], now, &mut self.facts);
        }
        slot.run.say_exit_if_drained(now, &mut self.facts);
        slot.run.end_watches(&mut self.facts);
        slot.run.lane.clear();
        slot.run.close_progress();
        for id in slot.viewers.clone() {
            if let Some(viewer) = self.viewers.get_mut(&id).filter(|viewer| !viewer.is_closing()) {
                slot.run.repaint(viewer, now);
                viewer.send_notice(Notice::End { stream: viewer.stream, reason: "lost".to_owned() });
                viewer.close_when_clear();
            }
            self.catch_up(id, now);
        }
        if !slot.run.is_released {
            self.sweep(&slot.run);
        }
    }

    /// Cleans up after a killed holder on a thread of its own, because looking through every process may take a while.
    fn sweep(&self, run: &Run) {
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

    fn on_time(&mut self, now: Instant) {
        let due: Vec<u64> =
            self.timed.iter().copied().filter(|slot| self.slot_due(*slot).is_some_and(|due| due <= now)).collect();
        for number in due {
            let Some(slot) = self.slots.get_mut(&number) else { continue };
            if slot.run.is_look_due(now) {
                self.ready.insert(number);
            }
            let (run, passed) = (slot.run.key(), slot.run.pass(now, &mut self.facts));
            if passed.is_resized {
                self.show_new_size(run, now);
            } else if passed.is_shown {
                self.mark_stale(number);
            }
            self.catch_up_viewers(number, now);
            self.settle(number);
        }
    }

    fn mark_stale(&mut self, number: u64) {
        let Some(slot) = self.slots.get(&number) else { return };
        for id in &slot.viewers {
            if let Some(viewer) = self.viewers.get_mut(id) {
                viewer.is_stale = true;
            }
        }
    }
}

/// Ends a holder that does not answer; its end is then noticed and swept like any other loss.
fn kill_holder(run: &mut Run) {
    let pinned = run.holder_start_time.and_then(|start| holder::tree::open_checked(run.handle.holder_pid, start));
    if let Some(pidfd) = pinned {
        let _gone = rustix::process::pidfd_send_signal(pidfd, rustix::process::Signal::KILL);
    }
}

/// A viewer for a run that went while the door was handing it over.
fn refuse(new: NewViewer) {
    let mut viewer = Viewer::new(new, Mode::Live);
    viewer.send_notice(Notice::End { stream: viewer.stream, reason: "closed".to_owned() });
    let _presence = viewer.flush();
}

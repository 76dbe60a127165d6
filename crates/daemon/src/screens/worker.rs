//! The loop of one worker thread: serves its runs and viewers by orders, rings, links and sockets, with
//! epoll. It waits for none of them.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use engine::{Input, RunFact, RunKey, ViewerId};
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use tokio::sync::{mpsc, oneshot};

use super::budget::SHARE;
use super::facts::FactQueue;
use super::fault::FaultScope;
use super::flood_wait::FloodWait;
use super::hosting::sweep_holder;
use super::order::Order;
use super::run::Run;
use super::viewer::Viewer;
use super::viewer_colors::LastColors;
use super::watch::Matcher;
use crate::warnings::Warnings;

/// The most orders that wait. When the queue is full, the engine waits, because a worker never waits for the
/// engine. The queue is allocated in full, so it is no larger than needed.
const ORDERS: usize = 256;
/// The most output handled for one run before the others get their share: a fraction of a millisecond of
/// parsing.
const SLICE: usize = 128 * 1024;
/// Events read per round.
const EVENTS: usize = 256;
/// How soon to check again what has no event: a full fact queue, a holder about to be reaped.
const SOON: Duration = Duration::from_millis(5);

const NOTHING: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// The source of an epoll event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Bell,
    Ring(u64),
    Link(u64),
    Viewer(u64),
    Terminal(u64),
    Echo(u64),
}

impl Source {
    pub(super) fn token(self) -> u64 {
        match self {
            Self::Bell => 0,
            Self::Ring(slot) => slot << 3 | 1,
            Self::Link(slot) => slot << 3 | 2,
            Self::Viewer(id) => id << 3 | 3,
            Self::Terminal(id) => id << 3 | 4,
            Self::Echo(slot) => slot << 3 | 5,
        }
    }

    fn from_token(token: u64) -> Self {
        match token & 7 {
            1 => Self::Ring(token >> 3),
            2 => Self::Link(token >> 3),
            3 => Self::Viewer(token >> 3),
            4 => Self::Terminal(token >> 3),
            5 => Self::Echo(token >> 3),
            _ => Self::Bell,
        }
    }
}

/// Sends orders to a worker.
#[derive(Clone)]
pub(crate) struct OrderSender {
    orders: SyncSender<Order>,
    wake_fd: Arc<OwnedFd>,
    /// The worker's own epoll, for registering a run before it is hosted.
    pub(super) epoll: Arc<OwnedFd>,
}

impl OrderSender {
    /// Queues an order. An order to a worker that has ended is dropped: the daemon is ending.
    pub(crate) fn send(&self, order: Order) {
        if self.orders.send(order).is_ok() {
            // A full counter means that a wake-up is pending.
            let _already = rustix::io::write(&self.wake_fd, &1u64.to_ne_bytes());
        }
    }
}

/// A run with its wake-up descriptors.
pub(super) struct Slot {
    pub(super) run: Run,
    pub(super) wake: OwnedFd,
    pub(super) viewers: Vec<ViewerId>,
    /// True if the link is watched for room.
    pub(super) is_waiting_for_room: bool,
}

/// One worker.
pub(crate) struct Worker {
    pub(super) epoll: OwnedFd,
    pub(super) wake_fd: Arc<OwnedFd>,
    pub(super) orders: Receiver<Order>,
    pub(super) facts: FactQueue,
    pub(super) warnings: Warnings,
    /// Searches for the patterns that callers wait for.
    pub(super) matcher: Arc<Matcher>,
    pub(super) last_colors: LastColors,
    pub(super) slots: HashMap<u64, Slot>,
    pub(super) by_run: HashMap<RunKey, u64>,
    pub(super) viewers: HashMap<ViewerId, Viewer>,
    pub(super) next_slot: u64,
    /// Slots that may have output right now.
    pub(super) ready: BTreeSet<u64>,
    /// Slots that have had their share and have more output.
    pub(super) behind: BTreeSet<u64>,
    /// The one of them that had the last share.
    pub(super) last_behind: u64,
    /// Slots with a deadline.
    pub(super) timed: BTreeSet<u64>,
    pub(super) buffer: Vec<u8>,
    /// The daemon's end, which waits until every released holder has exited.
    pub(super) finishing: Option<oneshot::Sender<()>>,
    flood_wait: FloodWait,
}

impl Worker {
    /// Starts a worker thread.
    pub(crate) fn start(
        number: usize,
        engine: mpsc::Sender<Input>,
        warnings: Warnings,
        matcher: Arc<Matcher>,
        last_colors: LastColors,
    ) -> io::Result<OrderSender> {
        let (sender, orders) = sync_channel(ORDERS);
        let wake_fd = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let registry = Arc::new(epoll.try_clone()?);
        let wake_event = epoll::EventData::new_u64(Source::Bell.token());
        epoll::add(&epoll, &wake_fd, wake_event, epoll::EventFlags::IN)?;
        let mut worker = Self {
            epoll,
            wake_fd: Arc::clone(&wake_fd),
            orders,
            facts: FactQueue::new(engine),
            warnings,
            matcher,
            last_colors,
            slots: HashMap::new(),
            by_run: HashMap::new(),
            viewers: HashMap::new(),
            next_slot: 1,
            ready: BTreeSet::new(),
            behind: BTreeSet::new(),
            last_behind: 0,
            timed: BTreeSet::new(),
            buffer: vec![0; SLICE],
            finishing: None,
            flood_wait: FloodWait::new(),
        };
        let work = move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| worker.work()));
            // Its runs would stand still while the daemon seems well. The next daemon adopts them all.
            tracing::error!(
                is_panic = outcome.is_err(),
                "a screens worker has ended; the daemon ends with it"
            );
            std::process::abort();
        };
        std::thread::Builder::new().name(format!("screens-{number}")).spawn(work)?;
        Ok(OrderSender { orders: sender, wake_fd, epoll: registry })
    }

    /// Serves until the daemon ends.
    fn work(&mut self) {
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            events.clear();
            let timeout = self.timeout().map(|wait| if self.yielded() { NOTHING } else { wait });
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

    /// Replies to the daemon's end once all released holders have exited. A holder that has not got its
    /// release would stay for ever.
    fn tell_finished(&mut self) {
        let is_over =
            self.finishing.is_some() && self.slots.values().all(|slot| !slot.run.holder.is_released());
        if let Some(told) = self.finishing.take_if(|_| is_over) {
            // The daemon may have stopped waiting.
            let _unheard = told.send(());
        }
    }

    /// Yields the processor once if all that is to come is the next look at a flood; returns false if the worker has
    /// to sleep.
    fn yielded(&mut self) -> bool {
        let start = Instant::now();
        let is_flooded =
            |slot| self.slots.get(slot).is_some_and(|slot: &Slot| slot.run.waits_for_flood(start));
        if !self.flood_wait.may_yield(start) || self.has_work() || !self.timed.iter().any(is_flooded) {
            return false;
        }
        rustix::thread::sched_yield();
        self.flood_wait.yielded(start, Instant::now());
        true
    }

    /// Returns true if some run has output to serve right now.
    fn has_work(&self) -> bool {
        !self.ready.is_empty() || !self.behind.is_empty()
    }

    fn timeout(&mut self) -> Option<Timespec> {
        if self.has_work() {
            return Some(NOTHING);
        }
        let now = Instant::now();
        let timed = self.timed.iter().filter_map(|slot| self.slot_due(*slot));
        let soon = (!self.facts.is_clear()).then(|| now + SOON);
        let due = timed.chain(soon).min()?;
        Timespec::try_from(due.saturating_duration_since(now)).ok()
    }

    /// Returns when a slot or one of its viewers next needs something.
    fn slot_due(&self, slot: u64) -> Option<Instant> {
        let slot = self.slots.get(&slot)?;
        let frames = slot.viewers.iter().filter_map(|id| self.viewers.get(id)).filter_map(Viewer::due);
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
            Source::Link(slot) => {
                self.contained(FaultScope::Run(slot), now, |worker| worker.on_link(slot, now))
            }
            Source::Viewer(id) => {
                let id = ViewerId(id);
                self.contained(FaultScope::Viewer(id), now, |worker| worker.on_viewer(id, flags, now));
            }
            Source::Terminal(id) => {
                let id = ViewerId(id);
                self.contained(FaultScope::Viewer(id), now, |worker| worker.on_terminal(id, flags, now));
            }
            Source::Echo(slot) => self.contained(FaultScope::Run(slot), now, |worker| worker.on_echo(slot)),
        }
    }

    fn on_bell(&mut self, now: Instant) {
        let _count = rustix::io::read(&self.wake_fd, &mut [0u8; 8]);
        while let Ok(order) = self.orders.try_recv() {
            let number = order.run().and_then(|run| self.by_run.get(&run).copied());
            let owed = order.owed_fact();
            let mut is_done = false;
            self.contained(number.map_or(FaultScope::Nobody, FaultScope::Run), now, |worker| {
                worker.obey(order, now);
                is_done = true;
            });
            match owed.filter(|_| !is_done) {
                Some((_, RunFact::ViewerLeft { viewer })) if self.viewers.contains_key(&viewer) => {
                    self.let_go(viewer);
                }
                Some((run, fact)) => self.facts.push_fact(run, fact),
                None => {}
            }
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
            Order::Signal(run, signal) => {
                self.link_now(run, now);
                self.with_run(run, |run, _| run.signal(signal));
            }
            Order::EndChild(run, signal) => {
                self.link_now(run, now);
                self.with_run(run, |run, _| run.end_child(signal));
            }
            Order::Kill { run, signal, grace_ms } => {
                self.with_run(run, |run, _| run.kill(signal, grace_ms, now));
                self.link_now(run, now);
            }
            Order::Sweep(run) => self.with_run(run, |run, _| sweep_holder(run)),
            Order::Release { run, end_tree, reason } => self.release(run, end_tree, reason, now),
            Order::Watch { run, wait, pattern, since } => {
                if self.with(run, |run, _| run.watch(wait, pattern, since)).is_none() {
                    self.facts.push_fact(run, RunFact::Unmatched { wait });
                }
            }
            Order::Unwatch(run, wait) => self.with_run(run, |run, _| run.watches.end(wait)),
            Order::ReportExit(run, ended) => self.report_exit(run, ended, now),
            Order::LetGo(run, viewer) => self.end_viewer(run, viewer, now),
            Order::Write(run, job) => {
                self.link_now(run, now);
                self.with_run(run, |run, facts| run.write(job, now, facts));
            }
            Order::Observe(run, detector) => self.with_run(run, |run, _| run.observe_with(*detector, now)),
            Order::Alert { sound } => self.alert(&sound, now),
            Order::Type(run, job) => self.type_into(run, *job, now),
            Order::Finish(told) => self.finishing = Some(told),
        }
    }

    /// Runs `act` on a hosted run and keeps its descriptors and deadlines watched.
    pub(super) fn with<T>(
        &mut self,
        key: RunKey,
        act: impl FnOnce(&mut Run, &mut FactQueue) -> T,
    ) -> Option<T> {
        let number = *self.by_run.get(&key)?;
        let slot = self.slots.get_mut(&number)?;
        let result = act(&mut slot.run, &mut self.facts);
        self.sync_interest(number);
        Some(result)
    }

    /// [`Worker::with`] for orders without a result; one for a run that went has no effect.
    pub(super) fn with_run(&mut self, key: RunKey, act: impl FnOnce(&mut Run, &mut FactQueue)) {
        let _moot = self.with(key, act);
    }

    /// Updates the watched events of a slot.
    pub(super) fn sync_interest(&mut self, number: u64) {
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
        self.tell_faults(number);
        self.report_unread_answers(number);
    }

    /// Gives runs with output their shares. Runs that have kept up come first: a keystroke's echo never waits
    /// for more than the share of one that is behind. Those get shares of equal work, one after the other,
    /// about one share in all; then all events are read again.
    fn serve_ready(&mut self) {
        for number in std::mem::take(&mut self.ready) {
            if !self.behind.contains(&number) {
                self.serve_and_show(number);
            }
        }
        let mut work = 0;
        for _ in 0..self.behind.len() {
            let after = self.behind.range(self.last_behind + 1..).next();
            let Some(number) = after.or(self.behind.first()).copied() else { return };
            self.last_behind = number;
            self.behind.remove(&number);
            work += self.serve_and_show(number);
            if work >= SHARE {
                return;
            }
        }
    }

    /// Executes one share of work; returns the work that was done.
    fn serve_and_show(&mut self, number: u64) -> u64 {
        let now = Instant::now();
        let mut work = 0;
        self.contained(FaultScope::Run(number), now, |worker| work = worker.serve(number, now));
        self.show(number, now);
        work
    }

    /// Sends every viewer of a slot what it can accept, and keeps the slot watched.
    fn show(&mut self, number: u64, now: Instant) {
        let Some(slot) = self.slots.get(&number) else { return };
        for id in slot.viewers.clone() {
            self.contained(FaultScope::Viewer(id), now, |worker| worker.catch_up(id, now));
        }
        self.sync_interest(number);
    }

    fn serve(&mut self, number: u64, now: Instant) -> u64 {
        let Some(slot) = self.slots.get_mut(&number) else { return 0 };
        if slot.run.faults.is_output_resting(now) {
            return 0;
        }
        let Some(granted) = slot.run.budget.next_share() else {
            self.behind.insert(number);
            return 0;
        };
        slot.run.skip_costly(now, &mut self.facts);
        let slice = if slot.run.watches.is_empty() { SLICE } else { SLICE / 16 };
        let mut work = 0;
        if let Some(advance) = slot.run.advance(&mut self.buffer[..slice], now) {
            let bytes = &self.buffer[..advance.count];
            let drawn = catch_unwind(AssertUnwindSafe(|| slot.run.draw(bytes, granted, now)));
            // Viewers that get bytes get those of a failed share, too: the log has them.
            let bytes = drawn.as_ref().map_or(bytes, |drawn| &bytes[..drawn.bytes]);
            for id in &slot.viewers {
                if let Some(viewer) = self.viewers.get_mut(id) {
                    slot.run.output().show_output(viewer, advance.before, bytes, now);
                }
            }
            match drawn {
                Ok(drawn) => work = drawn.work,
                Err(panic) => resume_unwind(panic),
            }
            slot.run.after_drawing(bytes, now, &mut self.facts);
            if advance.has_more || bytes.len() < advance.count {
                self.behind.insert(number);
            }
        }
        slot.run.report_exit_if_drained(now, &mut self.facts);
        self.tell_damaged_output(number);
        work
    }

    fn on_time(&mut self, now: Instant) {
        let due: Vec<u64> = self
            .timed
            .iter()
            .copied()
            .filter(|slot| self.slot_due(*slot).is_some_and(|due| due <= now))
            .collect();
        for number in due {
            self.contained(FaultScope::Run(number), now, |worker| worker.pass(number, now));
            self.show(number, now);
        }
    }

    /// Does what is due for one run.
    fn pass(&mut self, number: u64, now: Instant) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        if slot.run.faults.take_rest(now) || slot.run.is_look_due(now) {
            self.ready.insert(number);
        }
        if slot.run.displacement.is_unlinked() {
            return self.look_unlinked(number, now);
        }
        if slot.run.faults.is_resting(now) {
            return;
        }
        let (run, passed) = (slot.run.key(), slot.run.pass(now, &mut self.facts));
        if passed.is_resized {
            self.show_new_size(run, now);
        } else if passed.is_shown {
            self.mark_stale(number);
        }
        self.release_keys(number, now);
    }
}

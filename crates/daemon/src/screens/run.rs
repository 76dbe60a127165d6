//! One hosted run: feeds its ring into the screen and does what follows from it. It has the run's position in
//! the log, its link, its input queue, its watches and its checkpoints. It gets orders and sends facts.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use engine::input::ChildExit;
use engine::{RunFact, RunKey};
use holder::{ArmOutcome, ExitStatus, FromHolder, Link, ReadOutcome, SignalTarget, ToHolder};
use proto::Size;
use rustix::process::Signal;
use term::{Depth, Screen};

use super::budget::Budget;
use super::checkpoint::{CheckpointStep, Checkpoints};
use super::checkpoint_io::{CheckpointSender, restore};
use super::displaced::Displacement;
use super::echo::EchoWatch;
use super::facts::FactQueue;
use super::failpoint;
use super::fault::{Faults, attempt};
use super::handle::{Progress, ScreenHandle};
use super::holder_process::HolderProcess;
use super::input_queue::InputQueue;
use super::log_position::LogPosition;
use super::observe::Observer;
use super::order::{Ended, NewRun};
use super::pace::Pace;
use super::reports::Reports;
use super::run_end::RunEnd;
use super::settle::SETTLE;
use super::sync_limit::SyncLimit;
use super::terminal_size::TerminalSize;
use super::tree_end::survivors;
use super::typing::GuardedTyping;
use super::viewer_colors::{LastColors, RunColors};
use super::viewer_output::ViewerOutput;
use super::watch::{Matcher, Watches};
use super::writing::go_on_writing;

/// The control character that aborts an open sequence.
const CANCEL: u8 = 0x18;

/// One hosted run.
pub(crate) struct Run {
    pub(crate) handle: Arc<ScreenHandle>,
    pub(crate) link: Link,
    /// Whether another program has the link, and when it is taken back.
    pub(super) displacement: Displacement,
    pub(super) holder: HolderProcess,
    pub(super) position: LogPosition,
    pub(super) end: RunEnd,
    pub(super) size: TerminalSize,
    pub(super) sync: SyncLimit,
    pub(super) reports: Reports,
    pub(crate) input_queue: InputQueue,
    /// What programs type.
    pub(super) typing: GuardedTyping,
    /// Reads the screen, if the run is an agent's.
    pub(super) observer: Option<Observer>,
    pub(crate) watches: Watches,
    pub(crate) echo: EchoWatch,
    pub(super) colors: RunColors,
    pub(super) checkpoints: Checkpoints,
    /// What went wrong while it was served.
    pub(super) faults: Faults,
    pub(super) budget: Budget,
    pace: Pace,
}

/// The result of one check of the ring.
pub(crate) struct Advance {
    /// Where the bytes begin.
    pub(crate) before: u64,
    /// How many there are in the buffer.
    pub(crate) count: usize,
    /// True if there is more right now.
    pub(crate) has_more: bool,
}

/// What was drawn in one share.
pub(super) struct Drawn {
    /// How many bytes.
    pub(super) bytes: usize,
    /// What they cost.
    pub(super) work: u64,
}

impl Run {
    /// Creates a run, and what wakes its worker.
    pub(crate) fn new(
        new: NewRun,
        matcher: &Arc<Matcher>,
        last_colors: &LastColors,
        now: Instant,
    ) -> (Self, OwnedFd) {
        let holder = HolderProcess::of(&new);
        let seen = restore(&new.handle, new.checkpoint);
        let colors = RunColors::new(last_colors, &mut new.handle.screen());
        let position = LogPosition::new(seen, new.handle.ring.end(), new.is_new);
        let settle = new.agent.as_ref().map_or(SETTLE, |agent| agent.settle);
        let new_line = new.agent.as_ref().and_then(|agent| agent.launched.new_line.as_ref()?.parse().ok());
        let grid = new.handle.screen().size();
        let run = Self {
            link: new.link,
            displacement: Displacement::default(),
            holder,
            position,
            end: RunEnd::new(new.exited),
            size: TerminalSize::new(Size { cols: grid.cols, rows: grid.rows }, now),
            sync: SyncLimit::default(),
            reports: Reports::default(),
            input_queue: InputQueue::new(new.last_input_id, new.wire_version),
            typing: GuardedTyping::new(settle, new_line),
            observer: new.agent.and_then(|agent| agent.detector).map(Observer::new),
            watches: Watches::new(new.handle.run, Arc::clone(matcher)),
            echo: EchoWatch::default(),
            colors,
            checkpoints: Checkpoints::new(seen, now),
            faults: Faults::default(),
            budget: Budget::for_replay(if new.is_new { 0 } else { position.ready_at().saturating_sub(seen) }),
            pace: Pace::new(now),
            handle: new.handle,
        };
        run.publish(run.handle.screen().version());
        (run, new.wake)
    }

    pub(crate) fn key(&self) -> RunKey {
        self.handle.run
    }

    /// Returns what its viewers are shown.
    pub(super) fn output(&self) -> ViewerOutput<'_> {
        let (size, seen) = (self.size.get(), self.position.seen());
        ViewerOutput { handle: &self.handle, size, seen, flood: self.pace.flood() }
    }

    /// Returns what sends its checkpoints.
    pub(super) fn checkpoint_sender(&mut self) -> CheckpointSender<'_> {
        let (checkpoints, seen) = (&mut self.checkpoints, self.position.seen());
        CheckpointSender { handle: &self.handle, link: &mut self.link, checkpoints, seen }
    }

    /// Reads the next piece of output, if there is one. Otherwise arms the wake-up, or schedules the next
    /// check.
    pub(crate) fn advance(&mut self, buffer: &mut [u8], now: Instant) -> Option<Advance> {
        self.pace.looked();
        let most = self.position.piece(buffer.len());
        let buffer = &mut buffer[..most];
        loop {
            let before = self.position.seen();
            match self.handle.ring.read(before, buffer) {
                ReadOutcome::Bytes(0) => match self.handle.ring.arm(before) {
                    ArmOutcome::Armed => {
                        self.pace.found_nothing(now);
                        return None;
                    }
                    ArmOutcome::MovedTo(_) => {}
                },
                ReadOutcome::Bytes(count) => {
                    self.position.advance(count);
                    let seen = self.position.seen();
                    let has_more = self.handle.ring.end() > seen;
                    let is_flood = self.pace.took(count, now);
                    // Without a flood the ring is armed right away: the next byte wakes us.
                    let is_armed = has_more || is_flood || self.handle.ring.arm(seen) == ArmOutcome::Armed;
                    if has_more {
                        self.pace.looked();
                    }
                    return Some(Advance { before, count, has_more: has_more || !is_armed });
                }
                ReadOutcome::Missed { resume_at } => self.pass_over_gap(resume_at),
            }
        }
    }

    /// Continues after bytes that were overwritten before they were drawn. A sequence that they cut is
    /// aborted: otherwise its end would count as text, and text as its end.
    fn pass_over_gap(&mut self, resume_at: u64) {
        tracing::warn!(run = ?self.key(), from = self.position.seen(), to = resume_at, "output was lost before it was drawn");
        self.handle.screen().feed(&[CANCEL]);
        self.position.skip_to(resume_at);
    }

    /// Skips output that is too costly to draw while others wait: what an earlier daemon had drawn already,
    /// and what was printed before an end. The log keeps it.
    pub(super) fn skip_costly(&mut self, now: Instant, facts: &mut FactQueue) {
        let end = self.handle.ring.end();
        let until = if self.position.is_replaying() { self.position.ready_at() } else { end };
        let is_ahead = |resume_at: &u64| *resume_at > self.position.seen();
        let Some(resume_at) = self.budget.pass_over_to(until).filter(is_ahead) else { return };
        self.pass_over_gap(resume_at);
        self.checkpoint_sender().keep_screen();
        self.report_output(now, facts);
        let version = self.handle.screen().version();
        self.publish(version);
    }

    /// Draws output within this much work; returns how many bytes that were, and their cost. The rest follows
    /// in the next share.
    pub(super) fn draw(&mut self, bytes: &[u8], work: u64, now: Instant) -> Drawn {
        if self.faults.is_blind(now) {
            return Drawn { bytes: bytes.len(), work: 0 };
        }
        let handle = Arc::clone(&self.handle);
        let mut screen = handle.screen();
        self.colors.update(&mut screen);
        let before = screen.work();
        failpoint::before_output(bytes, &mut screen);
        let taken = screen.feed_within(bytes, work);
        failpoint::after_output(bytes, self.key());
        let spent = screen.work().saturating_sub(before);
        self.budget.spent(work, spent);
        self.position.go_back(bytes.len() - taken);
        Drawn { bytes: taken, work: spent }
    }

    /// Does what follows from drawn output.
    pub(super) fn after_drawing(&mut self, bytes: &[u8], now: Instant, facts: &mut FactQueue) {
        if self.faults.is_blind(now) {
            return self.pass_over(now, facts);
        }
        let handle = Arc::clone(&self.handle);
        let mut screen = handle.screen();
        let replies = screen.take_replies();
        let dropped = screen.take_dropped_replies();
        let news = screen.take_facts();
        if news.contains(&term::Fact::DisplayReset) {
            self.faults.display_reset();
        }
        let title = if news.is_empty() { None } else { self.reports.new_title(screen.title()) };
        self.observe(&screen, &news, now, facts);
        self.sync.update(screen.is_synchronizing(), now);
        let (seen, is_answered) = (self.position.seen(), self.position.is_answered());
        if !self.position.is_replaying() {
            self.budget.replayed();
        }
        if is_answered {
            self.watches.replayed(&screen);
        } else {
            handle.times().record(seen - bytes.len() as u64, crate::clock::now().wall_ms);
        }
        self.watches.changed(&screen, seen, now, false);
        let verdict = self.checkpoints.fed(seen, bytes.len(), now);
        let step = (verdict == CheckpointStep::Step).then(|| screen.checkpoint(Depth::Screen));
        let version = screen.version();
        drop(screen);
        if !replies.is_empty() && !is_answered {
            // A child that asks and does not read gets no answer; no other run is delayed.
            self.input_queue.answer(&replies, &self.handle, &mut self.link);
            self.input_queue.count_dropped_answers(dropped);
        }
        if let Some(title) = title {
            facts.push_fact(self.key(), RunFact::Title(title));
        }
        if let Some(blob) = step {
            let ready = self.checkpoints.stepped(seen, blob);
            self.checkpoint_sender().send_taken(ready);
        }
        self.report_output(now, facts);
        self.publish(version);
        self.go_on_typing(now, facts);
    }

    /// Records output that is not drawn, so that the log and the child continue.
    fn pass_over(&mut self, now: Instant, facts: &mut FactQueue) {
        // The holder's checkpoint covers less than this: a replay finds a gap, and reports it.
        self.checkpoints.completed(self.position.seen());
        self.checkpoint_sender().let_go_of_covered();
        self.report_output(now, facts);
        let version = self.handle.screen().version();
        self.publish(version);
    }

    /// Handles a screen that was reset: it no longer stands for earlier output. The terminal has the size
    /// that we last chose, whether or not the holder has got it.
    pub(super) fn forget_picture(&mut self, screen: &Screen, now: Instant, facts: &mut FactQueue) {
        self.sync.forget();
        self.watches.resized(screen);
        self.publish(screen.version());
        self.look_anew(now, facts);
        self.send_size();
    }

    /// Sends the holder the size that the terminal is to have.
    pub(super) fn send_size(&mut self) {
        let Size { cols, rows } = self.size.get();
        let _gone = self.link.send(&ToHolder::Resize { cols, rows });
    }

    fn publish(&self, version: u64) {
        let (seen, size, exited_at) = (self.position.seen(), Some(self.size.get()), self.end.final_offset());
        // Always sent: a waiter that starts between a check for waiters and a silent change would wait for
        // ever.
        self.handle.progress.send_modify(|progress| {
            let is_ready = progress.is_ready || !self.position.is_replaying();
            *progress = Progress { seen, version, size, exited_at, is_ready, ..*progress };
        });
    }

    fn report_output(&mut self, now: Instant, facts: &mut FactQueue) {
        if self.reports.output.note(now) {
            facts.push_fact(self.key(), RunFact::Output { end: self.position.seen() });
        }
    }

    /// Reports the exit, once every byte before it is on the screen.
    pub(crate) fn report_exit_if_drained(&mut self, now: Instant, facts: &mut FactQueue) {
        let log_end = self.handle.ring.end();
        // From a damaged ring the rest never comes: the run must end all the same.
        let is_cut = self.handle.ring.is_damaged() || self.end.is_after(log_end);
        let seen = if is_cut { u64::MAX } else { self.position.seen() };
        let Some(exit) = self.end.take_drained(seen) else { return };
        let has_looked = attempt("the last look", self.key(), || {
            self.look_at_last_words(now, facts);
            self.say_last_look(now, facts);
        });
        if !has_looked {
            // The exit is reported whatever the state of the screen.
            self.start_over(now, facts);
        }
        self.watches.close_all();
        self.input_queue.clear();
        let status = match exit.status {
            ExitStatus::Code(code) => ChildExit::Code(code),
            ExitStatus::Signal(signal) => ChildExit::Signal(signal),
        };
        facts.push_fact(self.key(), RunFact::Exited { exit: status, final_offset: exit.final_offset });
        let version = self.handle.screen().version();
        self.publish(version);
        self.go_on_typing(now, facts);
    }

    /// Processes the holder's messages.
    pub(crate) fn hear_holder(&mut self, now: Instant, facts: &mut FactQueue) -> LinkState {
        loop {
            match self.link.receive() {
                Ok(None) => return LinkState::Here,
                Ok(Some(FromHolder::InputDone { id, written, .. })) => {
                    crate::failpoint::pass(crate::Failpoint::InputTyped);
                    self.input_queue.done(id, written, &self.handle, &mut self.link);
                    self.go_on_typing(now, facts);
                }
                Ok(Some(FromHolder::KeyState(state))) => go_on_writing(self, &state, now),
                Ok(Some(FromHolder::Exited(exit))) => {
                    self.end.exited(exit);
                    self.budget.end();
                    let is_alone =
                        self.holder.tree_end.is_waiting() && survivors(self.holder.pid()).is_empty();
                    if let Some(message) = self.holder.tree_end.pass(now, is_alone) {
                        let _gone = self.link.send(&message);
                    }
                }
                Ok(Some(FromHolder::TreeGone { survivors: 0 })) => {
                    self.budget.end();
                    self.holder.tree_end.over();
                    facts.push_fact(self.key(), RunFact::TreeGone);
                }
                Ok(Some(FromHolder::TreeGone { .. })) => {
                    self.budget.end();
                    self.holder.tree_end.over();
                    // Processes that ended since the holder counted them did not survive.
                    let left = survivors(self.holder.pid());
                    tracing::warn!(run = ?self.key(), ?left, "descendants survived their end");
                    let is_gone = left.is_empty();
                    facts.push_fact(
                        self.key(),
                        if is_gone { RunFact::TreeGone } else { RunFact::TreeSurvived(left) },
                    );
                }
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionAborted => {
                    return LinkState::Anothers;
                }
                Err(_) => return LinkState::Gone,
            }
        }
    }

    /// Requests another size. Returns true if it takes effect now.
    pub(crate) fn want_size(&mut self, size: Size, now: Instant) -> bool {
        self.size.want(size);
        self.apply_size(now)
    }

    fn apply_size(&mut self, now: Instant) -> bool {
        if self.position.is_replaying() || self.size.take(now).is_none() {
            return false;
        }
        // Lines get other ids and come back from the history, so what is new is given to the searches first.
        self.watches.changed(&self.handle.screen(), self.position.seen(), now, true);
        // A replay of older bytes at the new size would wrap them differently: they are covered by a
        // checkpoint first. The checkpoint may be long and the daemon may die while it is being sent; the
        // holder must not have the new size before it.
        self.checkpoint_sender().cover_everything();
        self.send_size();
        let handle = Arc::clone(&self.handle);
        let mut screen = handle.screen();
        screen.resize(self.size.grid());
        self.watches.resized(&screen);
        self.publish(screen.version());
        true
    }

    /// Sends one signal to the foreground.
    pub(crate) fn signal(&mut self, signal: i32) {
        let _gone = self.link.send(&ToHolder::Signal { signal, to: SignalTarget::ForegroundGroup });
    }

    /// Ends only the child. A stopped one is woken for it. A hang-up would be passed on: an interactive shell
    /// hangs up its jobs, which are to be kept.
    pub(crate) fn end_child(&mut self, signal: i32) {
        self.holder.tree_end.holder_end.forget_report();
        for signal in [signal, Signal::CONT.as_raw()] {
            let order = ToHolder::Signal { signal, to: SignalTarget::Leader };
            let _gone = self.link.send(&order);
        }
    }

    /// Ends the tree.
    pub(crate) fn kill(&mut self, signal: i32, grace_ms: u32, now: Instant) {
        for message in self.holder.tree_end.ask(signal, grace_ms, now) {
            let _gone = self.link.send(&message);
        }
    }

    /// Records how the run ended, from the engine.
    pub(crate) fn know_exit(&mut self, ended: Ended) {
        self.end.announce(ended);
        let exit = Some((ended.exit, ended.final_offset));
        self.handle.progress.send_modify(|progress| progress.reported_exit = exit);
    }

    /// Announces that nothing more will come.
    pub(crate) fn close_progress(&self) {
        self.handle.progress.send_modify(|progress| progress.is_over = true);
    }

    /// Returns when something is due without an event.
    pub(crate) fn due(&self) -> Option<Instant> {
        let is_replaying = self.position.is_replaying();
        let all = [
            self.input_queue.due(),
            self.checkpoints.due(),
            self.watches.due(),
            self.typing.due().filter(|_| !is_replaying),
            self.observer.as_ref().and_then(Observer::due),
            self.reports.output.due(),
            self.sync.due(),
            self.size.due().filter(|_| !is_replaying),
            self.holder.tree_end.due(),
            self.displacement.due(),
        ];
        self.faults.postpone(self.pace.due(), all.into_iter().flatten().min())
    }

    /// Returns true if a flood that has lasted is looked at again by the clock and not by a wake-up.
    pub(super) fn waits_for_flood(&self, now: Instant) -> bool {
        self.pace.due().is_some() && self.pace.flood().has_lasted(now)
    }

    /// Returns true if the ring is due to be checked without a wake-up.
    pub(crate) fn is_look_due(&self, now: Instant) -> bool {
        self.pace.due().is_some_and(|due| due <= now)
    }

    /// Does what is due; returns whether the size changed and whether a synchronized update was released.
    pub(crate) fn pass(&mut self, now: Instant, facts: &mut FactQueue) -> Passed {
        failpoint::at_deadline(self.key());
        self.look_before_releasing(now);
        if let Some(message) = self.holder.tree_end.pass(now, false) {
            let _gone = self.link.send(&message);
        }
        self.input_queue.pass(now, &self.handle, &mut self.link);
        if self.checkpoints.quiet(now) == CheckpointStep::Full {
            self.checkpoint_sender().keep_everything();
        }
        if self.reports.output.is_due(now) {
            facts.push_fact(self.key(), RunFact::Output { end: self.position.seen() });
        }
        let is_sync_late = self.sync.is_over(now);
        if is_sync_late {
            self.handle.screen().release_sync();
            let version = self.handle.screen().version();
            self.publish(version);
        }
        if is_sync_late || self.watches.due().is_some_and(|due| due <= now) {
            self.watches.changed(&self.handle.screen(), self.position.seen(), now, is_sync_late);
        }
        if is_sync_late || self.observer.as_ref().and_then(Observer::due).is_some_and(|due| due <= now) {
            let handle = Arc::clone(&self.handle);
            self.observe(&handle.screen(), &[], now, facts);
        }
        self.go_on_typing(now, facts);
        Passed { is_resized: self.apply_size(now), is_shown: is_sync_late }
    }

    /// Sends more when the link has room again.
    pub(crate) fn flush_link(&mut self) {
        let _gone = self.link.flush();
        self.checkpoint_sender().let_go_of_covered();
    }
}

/// The state of a holder's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkState {
    /// It is there.
    Here,
    /// Another daemon has taken it over: the run lives, and is no longer ours.
    Anothers,
    /// It closed its link: it was released, or it was killed.
    Gone,
}

/// What deadlines changed for viewers.
pub(crate) struct Passed {
    /// The terminal has another size.
    pub(crate) is_resized: bool,
    /// Something withheld is visible now.
    pub(crate) is_shown: bool,
}

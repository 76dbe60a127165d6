//! One hosted run: feeds its ring into the screen and does what follows from it. It has the run's position in
//! the log, its link, its input queue, its watches and its checkpoints. It gets orders and sends facts.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::input::ChildExit;
use engine::{RunFact, RunKey};
use holder::{ArmOutcome, ExitStatus, FromHolder, Link, ReadOutcome, SignalTarget, ToHolder};
use proto::Size;
use rustix::process::Signal;
use term::{Depth, Screen};

use super::budget::Budget;
use super::checkpoint::{CheckpointStep, Checkpoints};
use super::checkpoint_io::restore;
use super::displaced::Displacement;
use super::echo::EchoWatch;
use super::facts::FactQueue;
use super::failpoint;
use super::fault::{Faults, attempt};
use super::handle::{Progress, ScreenHandle};
use super::input_queue::InputQueue;
use super::observe::Observer;
use super::order::{Ended, NewRun};
use super::pace::{Flood, Pace};
use super::reports::TypistReport;
use super::tree_end::{TreeEnd, survivors};
use super::typing::{GuardedTyping, SETTLE};
use super::unread_answers::AnswerCount;
use super::viewer_colors::{LastColors, RunColors};
use super::viewer_output::ViewerOutput;
use super::watch::{Matcher, Watches};
use super::writing::go_on_writing;

/// The shortest time between two resizes of the terminal; the first and the last always happen.
const RESIZE: Duration = Duration::from_millis(16);
/// The shortest time between two reports of output to the engine.
const OUTPUT: Duration = Duration::from_millis(100);
/// A synchronized update that has not ended by then is shown as it is.
const SYNC: Duration = Duration::from_millis(150);
/// The control character that aborts an open sequence.
const CANCEL: u8 = 0x18;

/// One hosted run.
pub(crate) struct Run {
    pub(crate) handle: Arc<ScreenHandle>,
    pub(crate) link: Link,
    pub(crate) input_queue: InputQueue,
    pub(crate) size: Size,
    /// Output up to here is on the screen.
    pub(crate) seen: u64,
    /// How it ended, once the engine has announced it.
    pub(crate) ended: Option<Ended>,
    pub(crate) watches: Watches,
    /// What went wrong while it was served.
    pub(super) faults: Faults,
    pub(super) typist: TypistReport,
    pub(crate) echo: EchoWatch,
    /// What programs type.
    pub(super) typing: GuardedTyping,
    /// Reads the screen, if the run is an agent's.
    pub(super) observer: Option<Observer>,
    pub(crate) child_start_time: u64,
    pub(crate) holder_start_time: Option<u64>,
    pub(crate) token: String,
    /// The holder was released: its end is no loss.
    pub(crate) is_released: bool,
    /// True if the holder ends its tree before it exits.
    pub(super) release_ends_tree: bool,
    /// Where the holder listens.
    pub(super) socket: PathBuf,
    /// Whether another program has the link, and when it is taken back.
    pub(super) displacement: Displacement,
    /// The log's end when the run was hosted: once it is on the screen, the screen can be shown.
    pub(super) ready_at: u64,
    /// The daemon that saw them first has answered queries before this offset: answering them again during a
    /// replay would type at the child.
    answers_from: u64,
    pace: Pace,
    pub(super) budget: Budget,
    flood: Flood,
    pub(super) checkpoints: Checkpoints,
    pub(super) exited: Option<holder::RunExit>,
    is_exit_said: bool,
    resized_at: Option<Instant>,
    hosted_at: Instant,
    wanted_size: Option<Size>,
    output_said_at: Option<Instant>,
    output_due: Option<Instant>,
    sync_due: Option<Instant>,
    title: String,
    pub(super) colors: RunColors,
    pub(super) unread_answers: AnswerCount,
    /// An end that the holder cannot time itself.
    pub(super) asking: TreeEnd,
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

/// What was drawn in one turn.
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
        let seen = restore(&new.handle, new.checkpoint);
        let colors = RunColors::new(last_colors, &mut new.handle.screen());
        let ready_at = new.handle.ring.end();
        let size = new.handle.screen().size();
        let version = new.handle.screen().version();
        new.handle.progress.send_modify(|progress| {
            let size = Some(Size { cols: size.cols, rows: size.rows });
            *progress = Progress { seen, version, size, is_ready: seen >= ready_at, ..*progress };
        });
        let holder_start_time = new.handle.holder_start_time;
        let settle = new.agent.as_ref().map_or(SETTLE, |agent| agent.settle);
        let new_line = new.agent.as_ref().and_then(|agent| agent.launched.new_line.as_ref()?.parse().ok());
        let run = Self {
            size: Size { cols: size.cols, rows: size.rows },
            seen,
            ready_at,
            answers_from: if new.is_new { 0 } else { ready_at },
            input_queue: InputQueue::new(new.last_input_id, new.wire_version),
            watches: Watches::new(new.handle.run, Arc::clone(matcher)),
            handle: new.handle,
            link: new.link,
            ended: None,
            faults: Faults::default(),
            typist: TypistReport::default(),
            echo: EchoWatch::default(),
            typing: GuardedTyping::new(settle, new_line),
            observer: new.agent.and_then(|agent| agent.detector).map(Observer::new),
            child_start_time: new.child_start_time,
            holder_start_time,
            token: new.token,
            is_released: false,
            release_ends_tree: false,
            socket: new.socket,
            displacement: Displacement::default(),
            asking: TreeEnd::new(new.wire_version),
            pace: Pace::new(now),
            budget: Budget::for_replay(if new.is_new { 0 } else { ready_at.saturating_sub(seen) }),
            flood: Flood::default(),
            checkpoints: Checkpoints::new(seen, now),
            exited: new.exited,
            is_exit_said: false,
            resized_at: None,
            hosted_at: now,
            wanted_size: None,
            output_said_at: None,
            output_due: None,
            sync_due: None,
            title: String::new(),
            colors,
            unread_answers: AnswerCount::default(),
        };
        (run, new.wake)
    }

    pub(crate) fn key(&self) -> RunKey {
        self.handle.run
    }

    /// Returns what its viewers are shown.
    pub(super) fn output(&self) -> ViewerOutput<'_> {
        ViewerOutput { handle: &self.handle, size: self.size, seen: self.seen, flood: &self.flood }
    }

    /// Reads the next piece of output, if there is one. Otherwise arms the wake-up, or schedules the next
    /// check.
    pub(crate) fn advance(&mut self, buffer: &mut [u8], now: Instant) -> Option<Advance> {
        self.pace.looked();
        // A piece is before or after what an earlier daemon has answered, never across.
        let answered = usize::try_from(self.answers_from.saturating_sub(self.seen)).unwrap_or(usize::MAX);
        let most = if answered == 0 { buffer.len() } else { answered.min(buffer.len()) };
        let buffer = &mut buffer[..most];
        loop {
            match self.handle.ring.read(self.seen, buffer) {
                ReadOutcome::Bytes(0) => match self.handle.ring.arm(self.seen) {
                    ArmOutcome::Armed => {
                        self.flood.note_look(false, now);
                        return None;
                    }
                    ArmOutcome::MovedTo(_) => {}
                },
                ReadOutcome::Bytes(count) => {
                    let before = self.seen;
                    self.seen += count as u64;
                    let has_more = self.handle.ring.end() > self.seen;
                    let is_flood = self.pace.took(count, now);
                    self.flood.note_look(is_flood, now);
                    // Without a flood the ring is armed right away: the next byte wakes us.
                    let is_armed =
                        has_more || is_flood || self.handle.ring.arm(self.seen) == ArmOutcome::Armed;
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
        tracing::warn!(run = ?self.key(), from = self.seen, to = resume_at, "output was lost before it was drawn");
        self.handle.screen().feed(&[CANCEL]);
        self.seen = resume_at;
    }

    /// Skips output that is too costly to draw while others wait: what an earlier daemon had drawn already,
    /// and what was printed before an end. The log keeps it.
    pub(super) fn skip_costly(&mut self, now: Instant, facts: &mut FactQueue) {
        let end = self.handle.ring.end();
        let until = if self.seen < self.ready_at { self.ready_at } else { end };
        let Some(resume_at) = self.budget.pass_over_to(until).filter(|resume_at| *resume_at > self.seen)
        else {
            return;
        };
        self.pass_over_gap(resume_at);
        self.keep_screen();
        self.say_output(now, facts);
        let version = self.handle.screen().version();
        self.publish(version);
    }

    /// Draws output within this much work; returns how many bytes that were, and their cost. The rest follows
    /// in the next turn.
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
        self.seen -= (bytes.len() - taken) as u64;
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
        let title = (!news.is_empty() && screen.title() != self.title).then(|| screen.title().to_owned());
        self.observe(&screen, &news, now, facts);
        self.sync_due = screen.is_synchronizing().then(|| self.sync_due.unwrap_or(now + SYNC));
        let is_replayed = self.seen <= self.answers_from;
        if self.seen >= self.ready_at {
            self.budget.replayed();
        }
        if is_replayed {
            self.watches.replayed(&screen);
        } else {
            handle.times().record(self.seen - bytes.len() as u64, crate::clock::now().wall_ms);
        }
        self.watches.changed(&screen, self.seen, now, false);
        let verdict = self.checkpoints.fed(self.seen, bytes.len(), now);
        let step = (verdict == CheckpointStep::Step).then(|| screen.checkpoint(Depth::Screen));
        let version = screen.version();
        drop(screen);
        if !replies.is_empty() && self.seen > self.answers_from {
            // A child that asks and does not read gets no answer; no other run is delayed.
            self.input_queue.answer(&replies, &self.handle, &mut self.link);
            self.unread_answers.add(dropped + self.input_queue.take_dropped_answers());
        }
        if let Some(title) = title {
            self.title.clone_from(&title);
            facts.push_fact(self.key(), RunFact::Title(title));
        }
        if let Some(blob) = step {
            let ready = self.checkpoints.stepped(self.seen, blob);
            self.send_taken_checkpoint(ready);
        }
        self.say_output(now, facts);
        self.publish(version);
        self.go_on_typing(now, facts);
    }

    /// Records output that is not drawn, so that the log and the child continue.
    fn pass_over(&mut self, now: Instant, facts: &mut FactQueue) {
        // The holder's checkpoint covers less than this: a replay finds a gap, and reports it.
        self.checkpoints.completed(self.seen);
        self.let_go_of_covered();
        self.say_output(now, facts);
        let version = self.handle.screen().version();
        self.publish(version);
    }

    /// Handles a screen that was reset: it no longer stands for earlier output. The terminal has the size
    /// that we last chose, whether or not the holder has got it.
    pub(super) fn forget_picture(&mut self, screen: &Screen, now: Instant, facts: &mut FactQueue) {
        self.sync_due = None;
        self.watches.resized(screen);
        self.publish(screen.version());
        self.look_anew(now, facts);
        let _gone = self.link.send(&ToHolder::Resize { cols: self.size.cols, rows: self.size.rows });
    }

    fn publish(&self, version: u64) {
        let (seen, exited_at) =
            (self.seen, self.exited.filter(|_| self.is_exit_said).map(|exit| exit.final_offset));
        // Always sent: a waiter that starts between a check for waiters and a silent change would wait for
        // ever.
        self.handle.progress.send_modify(|progress| {
            let is_ready = progress.is_ready || seen >= self.ready_at;
            let size = Some(self.size);
            *progress = Progress { seen, version, size, exited_at, is_ready, ..*progress };
        });
    }

    fn say_output(&mut self, now: Instant, facts: &mut FactQueue) {
        match self.output_said_at {
            Some(last) if now.duration_since(last) < OUTPUT => {
                self.output_due.get_or_insert(last + OUTPUT);
            }
            _ => {
                self.output_said_at = Some(now);
                self.output_due = None;
                facts.push_fact(self.key(), RunFact::Output { end: self.seen });
            }
        }
    }

    /// Reports the exit, once every byte before it is on the screen.
    pub(crate) fn say_exit_if_drained(&mut self, now: Instant, facts: &mut FactQueue) {
        let Some(exit) = self.exited.filter(|exit| !self.is_exit_said && self.seen >= exit.final_offset)
        else {
            return;
        };
        self.is_exit_said = true;
        let has_looked = attempt("the last look", self.key(), || {
            self.look_at_last_words(now, facts);
            self.say_last_look(now, facts);
        });
        if !has_looked {
            // The exit is reported whatever the state of the screen.
            self.start_over(now, facts);
        }
        self.end_watches();
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

    /// Returns true if the child has ended and everything it printed is on the screen.
    pub(super) fn is_over(&self) -> bool {
        self.is_exit_said
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
                    self.exited = Some(exit);
                    self.budget.end();
                    let is_alone = self.asking.is_waiting() && survivors(self.handle.holder_pid).is_empty();
                    if let Some(message) = self.asking.pass(now, is_alone) {
                        let _gone = self.link.send(&message);
                    }
                }
                Ok(Some(FromHolder::TreeGone { survivors: 0 })) => {
                    self.budget.end();
                    self.asking.over();
                    facts.push_fact(self.key(), RunFact::TreeGone);
                }
                Ok(Some(FromHolder::TreeGone { .. })) => {
                    self.budget.end();
                    self.asking.over();
                    // Processes that ended since the holder counted them did not survive.
                    let left = survivors(self.handle.holder_pid);
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
        self.wanted_size = (size != self.size).then_some(size);
        self.apply_size(now)
    }

    fn apply_size(&mut self, now: Instant) -> bool {
        let is_replaying = self.seen < self.ready_at;
        if is_replaying || self.resized_at.is_some_and(|at| now.duration_since(at) < RESIZE) {
            return false;
        }
        let Some(size) = self.wanted_size.take() else { return false };
        self.resized_at = Some(now);
        self.size = size;
        // Lines get other ids and come back from the history, so what is new is given to the searches first.
        self.watches.changed(&self.handle.screen(), self.seen, now, true);
        // A replay of older bytes at the new size would wrap them differently: they are covered by a
        // checkpoint first. The checkpoint may be long and the daemon may die while it is being sent; the
        // holder must not have the new size before it.
        self.full_checkpoint();
        let _gone = self.link.send(&ToHolder::Resize { cols: size.cols, rows: size.rows });
        let handle = Arc::clone(&self.handle);
        let mut screen = handle.screen();
        screen.resize(term::GridSize::clamped(size.cols.into(), size.rows.into()));
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
        for signal in [signal, Signal::CONT.as_raw()] {
            let order = ToHolder::Signal { signal, to: SignalTarget::Leader };
            let _gone = self.link.send(&order);
        }
    }

    /// Ends the tree.
    pub(crate) fn kill(&mut self, signal: i32, grace_ms: u32, now: Instant) {
        for message in self.asking.ask(signal, grace_ms, now) {
            let _gone = self.link.send(&message);
        }
    }

    /// Records how the run ended, from the engine.
    pub(crate) fn know_exit(&mut self, ended: Ended) {
        self.ended = Some(ended);
        let exit = Some((ended.exit, ended.final_offset));
        self.handle.progress.send_modify(|progress| progress.reported_exit = exit);
    }

    /// Announces that nothing more will come.
    pub(crate) fn close_progress(&self) {
        self.handle.progress.send_modify(|progress| progress.is_over = true);
    }

    /// Returns when something is due without an event.
    pub(crate) fn due(&self) -> Option<Instant> {
        let is_replaying = self.seen < self.ready_at;
        let may_resize_at = self.resized_at.map_or(self.hosted_at, |at| at + RESIZE);
        let resize = self.wanted_size.filter(|_| !is_replaying).map(|_| may_resize_at);
        let all = [
            self.input_queue.due(),
            self.checkpoints.due(),
            self.watches.due(),
            self.typing.due().filter(|_| !is_replaying),
            self.observer.as_ref().and_then(Observer::due),
            self.output_due,
            self.sync_due,
            resize,
            self.asking.due(),
            self.displacement.due(),
        ];
        self.faults.postpone(self.pace.due(), all.into_iter().flatten().min())
    }

    /// Returns true if the ring is due to be checked without a wake-up.
    pub(crate) fn is_look_due(&self, now: Instant) -> bool {
        self.pace.due().is_some_and(|due| due <= now)
    }

    /// Does what is due; returns whether the size changed and whether a synchronized update was released.
    pub(crate) fn pass(&mut self, now: Instant, facts: &mut FactQueue) -> Passed {
        failpoint::at_deadline(self.key());
        self.look_before_releasing(now);
        if let Some(message) = self.asking.pass(now, false) {
            let _gone = self.link.send(&message);
        }
        self.input_queue.pass(now, &self.handle, &mut self.link);
        if self.checkpoints.quiet(now) == CheckpointStep::Full {
            self.keep_everything();
        }
        if self.output_due.is_some_and(|due| due <= now) {
            self.output_due = None;
            self.output_said_at = Some(now);
            facts.push_fact(self.key(), RunFact::Output { end: self.seen });
        }
        let is_sync_late = self.sync_due.is_some_and(|due| due <= now);
        if is_sync_late {
            self.sync_due = None;
            self.handle.screen().release_sync();
            let version = self.handle.screen().version();
            self.publish(version);
        }
        if is_sync_late || self.watches.due().is_some_and(|due| due <= now) {
            self.watches.changed(&self.handle.screen(), self.seen, now, is_sync_late);
        }
        if is_sync_late || self.observer.as_ref().and_then(Observer::due).is_some_and(|due| due <= now) {
            let handle = Arc::clone(&self.handle);
            self.observe(&handle.screen(), &[], now, facts);
        }
        self.go_on_typing(now, facts);
        Passed { is_resized: self.wanted_size.is_some() && self.apply_size(now), is_shown: is_sync_late }
    }

    /// Sends more when the link has room again.
    pub(crate) fn flush_link(&mut self) {
        let _gone = self.link.flush();
        self.let_go_of_covered();
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

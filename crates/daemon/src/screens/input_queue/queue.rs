//! The order in which bytes go to one child, without I/O: output and time are arguments.
//!
//! The rules:
//! - Jobs go in the order they came, each whole. What comes after a bracketed paste waits until all of it is
//!   written, between its pieces too: nothing else may be within its brackets. A paste that is cancelled half
//!   written is closed first. One whose next piece does not come is closed for what waits after it, and
//!   continues in brackets of its own.
//! - Answers to the child's queries go before every job that has not begun. They never go into one that has.
//! - A person's keys go before a job that is held, because it may be held as long as its caller likes.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use engine::ViewerId;
use engine::effect::Guard;
use engine::input::TypingOutcome;
use holder::INPUT_WINDOW;

use super::continued_jobs;
use super::job::{Before, Hold, Job};
use super::replies::Replies;
use crate::screens::order::WriteJob;

/// Bytes of one input message.
const CHUNK: usize = 64 * 1024;
/// The bytes of one viewer's keystrokes that may wait for a child that does not read. When it is full, that
/// viewer is not read until half of them are written, so a paste waits in its terminal and none of it is
/// lost. Reads ahead this far so that the detach keys are still seen.
pub(super) const MAX_KEYS: usize = 2 << 20;
/// The same for all viewers of one run, with those that have left.
pub(super) const MAX_ALL_KEYS: usize = 4 << 20;
/// The cost of waiting keystrokes beside their bytes: one key at a time must not cost a hundred times its
/// bound.
const JOB: usize = size_of::<Job>();
/// How often a held job checks whether the child has left canonical mode: the kernel has no event for it.
const LOOK: Duration = Duration::from_millis(20);
/// How long the child must have read raw before a held job goes: only after that it reports whether it
/// accepts brackets, and it may drop what came while it was changing modes.
const RAW: Duration = Duration::from_millis(100);

/// How long what comes after a paste waits for its next piece.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(1);

/// The outputs, and the terminal's modes.
pub(super) trait Outlet {
    /// Returns true if the child reads whole lines.
    fn is_canonical(&self) -> bool;
    /// Returns true if the child accepts pastes in brackets.
    fn takes_brackets(&self) -> bool;
    /// Writes what the terminal accepts now; returns the number of bytes.
    fn write_now(&mut self, bytes: &[u8]) -> usize;
    /// Gives the holder bytes to write, with the key and the note that it keeps of them.
    fn send_to_holder(&mut self, id: u64, bytes: Vec<u8>, key: Option<(Vec<u8>, u64)>);
    /// Asks the holder for the state of a key. Returns false if this holder does not know keys.
    fn ask_key(&mut self, key: &[u8]) -> bool;
    /// Asks the holder to give up what it has not written.
    fn cancel(&mut self, id: u64);
}

/// Bytes that the holder has and has not acknowledged.
pub(super) struct InFlight {
    pub(super) id: u64,
    /// The job they belong to; `None` for answers.
    pub(super) job: Option<u64>,
    pub(super) length: usize,
}

/// A paste whose last piece is not written.
#[derive(Clone, Copy)]
struct OpenPaste {
    is_bracketed: bool,
    /// Its brackets were closed for something that could not wait.
    is_interrupted: bool,
    before: Before,
}

/// The input for one child.
pub(super) struct Queue {
    pub(super) jobs: VecDeque<Job>,
    /// Jobs that an earlier daemon may have begun. They wait here until the holder reports their state.
    pub(super) repeated: VecDeque<Job>,
    replies: Replies,
    paste: Option<OpenPaste>,
    pub(super) in_flight: VecDeque<InFlight>,
    pub(super) in_flight_bytes: usize,
    /// The cost of waiting keystrokes, by viewer.
    keys: HashMap<ViewerId, usize>,
    /// The holder may still have input of an earlier daemon: nothing may be written past it.
    is_inherited: bool,
    next_id: u64,
    next_serial: u64,
    look_at: Option<Instant>,
    /// When the brackets of a paste are closed for what waits after it.
    interrupt_at: Option<Instant>,
}

impl Queue {
    pub(super) fn new(last_input_id: u64) -> Self {
        Self {
            jobs: VecDeque::new(),
            repeated: VecDeque::new(),
            replies: Replies::default(),
            paste: None,
            in_flight: VecDeque::new(),
            in_flight_bytes: 0,
            keys: HashMap::new(),
            is_inherited: last_input_id > 0,
            next_id: last_input_id.saturating_add(1),
            next_serial: 0,
            look_at: None,
            interrupt_at: None,
        }
    }

    /// Adds a viewer's keystrokes. They are always accepted; the viewer is not read while
    /// [`Queue::is_full_for`].
    pub(super) fn type_keys(&mut self, typist: ViewerId, bytes: &[u8], now: Instant, out: &mut dyn Outlet) {
        let rest = self.write_past(bytes, out);
        self.push_keys(Some(typist), rest);
        self.pump(now, out);
    }

    /// Returns true if a viewer is not to be read. One that was not read is read again when half of its keys
    /// are written: once per megabyte, not once per key.
    pub(super) fn is_full_for(&self, typist: ViewerId, was_full: bool) -> bool {
        let share = if was_full { 2 } else { 1 };
        let of_all: usize = self.keys.values().sum();
        let own = self.keys.get(&typist).copied().unwrap_or(0);
        own >= MAX_KEYS / share || of_all >= MAX_ALL_KEYS / share
    }

    /// Adds the emulator's answers to queries.
    pub(super) fn answer(&mut self, bytes: &[u8], now: Instant, out: &mut dyn Outlet) {
        let rest = self.write_past(bytes, out);
        if rest.len() < bytes.len() {
            // The rest of an answer that has begun cannot be dropped.
            self.push_keys(None, rest);
        } else {
            self.replies.push(rest);
        }
        self.pump(now, out);
    }

    /// Returns how many answers were dropped since the last call, because the child does not read them.
    pub(super) fn take_dropped_answers(&mut self) -> u64 {
        self.replies.take_dropped()
    }

    /// Returns how many answers the terminal has not accepted, because the child does not read.
    pub(super) fn waiting_answers(&self) -> u64 {
        self.replies.waiting() + self.jobs.iter().map(Job::answers).sum::<u64>()
    }

    /// Adds a job with a waiting caller.
    pub(super) fn write(&mut self, job: WriteJob, now: Instant, out: &mut dyn Outlet) {
        let job = Job::watched(self.take_serial(), job);
        if job.key.as_ref().is_some_and(|key| key.is_repeated) {
            return self.ask_before(job, out);
        }
        self.insert(job);
        self.pump(now, out);
    }

    /// Inserts a job at its place in the order.
    pub(super) fn insert(&mut self, job: Job) {
        let place = match self.jobs.iter().rposition(|other| other.piece.is_some()) {
            _ if !job.goes_on() => self.jobs.len(),
            Some(earlier) => earlier + 1,
            None if self.is_pasting() => 0,
            None => self.jobs.len(),
        };
        self.jobs.insert(place, job);
    }

    /// Records that the holder wrote, cancelled or refused an input.
    pub(super) fn done(&mut self, id: u64, written: u64, now: Instant, out: &mut dyn Outlet) {
        let Some(place) = self.in_flight.iter().position(|known| known.id == id) else { return };
        let Some(InFlight { job, length, .. }) = self.in_flight.remove(place) else { return };
        self.in_flight_bytes -= length;
        let is_whole = written == length as u64;
        // The holder writes in order: what it had before ours is written too.
        self.is_inherited &= !is_whole;
        if job.is_none() {
            self.replies.done();
        }
        if let Some(job) = self.jobs.iter_mut().find(|known| Some(known.serial) == job) {
            job.in_flight -= 1;
            job.written += written;
            job.is_given_up |= !is_whole;
        }
        self.pump(now, out);
    }

    /// Returns when the queue must be checked.
    pub(super) fn due(&self) -> Option<Instant> {
        let deadlines = self.jobs.iter().filter(|job| !job.is_given_up).filter_map(|job| job.deadline);
        let look_at = self.look_at.filter(|_| self.jobs.iter().any(Job::is_held));
        deadlines.chain(look_at).chain(self.interrupt_at).min()
    }

    /// Cancels jobs whose time is over and checks whether a held one may go.
    pub(super) fn pass(&mut self, now: Instant, out: &mut dyn Outlet) {
        if self.due().is_none_or(|due| due > now) {
            return;
        }
        self.look_at = None;
        let is_canonical = out.is_canonical();
        for job in self.jobs.iter_mut().filter(|job| !job.is_given_up) {
            if let Hold::Held { raw_since } = &mut job.hold {
                *raw_since = (!is_canonical).then(|| raw_since.unwrap_or(now));
            }
            if is_raw_enough(job, now) {
                job.hold = Hold::CommandRule;
            }
            job.is_given_up |= job.deadline.is_some_and(|deadline| deadline <= now);
        }
        // The newest first: the holder may continue to write between two of them, and what is written stays a
        // prefix.
        for sent in self.in_flight.iter().rev() {
            if self.jobs.iter().any(|job| job.is_given_up && Some(job.serial) == sent.job) {
                out.cancel(sent.id);
            }
        }
        if self.interrupt_at.is_some_and(|at| at <= now) {
            self.interrupt();
        }
        self.pump(now, out);
    }

    /// Returns the conditions of the held job that is about to go.
    pub(super) fn about_to_go(&self, now: Instant) -> Option<Guard> {
        let held = self.jobs.iter().find(|job| job.is_held() && !job.is_given_up)?;
        held.guard.clone().filter(|_| is_raw_enough(held, now))
    }

    /// Refuses the held job because of an obstacle.
    pub(super) fn refuse_held(&mut self, obstacle: TypingOutcome) {
        if let Some(held) = self.jobs.iter_mut().find(|job| job.is_held() && !job.is_given_up) {
            (held.obstacle, held.is_given_up) = (Some(obstacle), true);
        }
    }

    /// Clears the queue after the child has gone.
    pub(super) fn clear(&mut self) {
        self.jobs.drain(..).for_each(Job::reply);
        // Only the holder knows how much of these was written. Dropping them closes their reply channels,
        // which tells their callers.
        self.repeated.clear();
        self.in_flight.clear();
        self.replies = Replies::default();
        self.keys.clear();
        (self.in_flight_bytes, self.paste) = (0, None);
        (self.look_at, self.interrupt_at) = (None, None);
    }

    /// Handles that input of another program may come before ours, with ids up to this one.
    pub(super) fn inherit(&mut self, last_input_id: u64) {
        self.clear();
        self.next_id = self.next_id.max(last_input_id.saturating_add(1));
        self.is_inherited = true;
    }

    /// Writes straight to the terminal where nothing is on its way; returns the rest.
    fn write_past<'b>(&self, bytes: &'b [u8], out: &mut dyn Outlet) -> &'b [u8] {
        let is_free = self.jobs.front().is_none_or(Job::is_held)
            && self.in_flight.is_empty()
            && self.replies.is_empty()
            && !self.is_pasting()
            && !self.is_inherited;
        let written = if is_free { out.write_now(bytes) } else { 0 };
        bytes.get(written..).unwrap_or_default()
    }

    fn push_keys(&mut self, typist: Option<ViewerId>, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let place = self.jobs.iter().position(Job::is_held).unwrap_or(self.jobs.len());
        let before = place.checked_sub(1).and_then(|place| self.jobs.get_mut(place));
        let is_joined = before.is_some_and(|job| job.join(typist, bytes, CHUNK));
        if let Some(typist) = typist {
            *self.keys.entry(typist).or_default() += bytes.len() + if is_joined { 0 } else { JOB };
        }
        if !is_joined {
            let job = Job::keys(self.take_serial(), typist, bytes.to_vec());
            self.jobs.insert(place, job);
        }
    }

    /// Records that a viewer's keys no longer wait.
    fn forget_keys(&mut self, typist: ViewerId, length: usize) {
        if let Some(waiting) = self.keys.get_mut(&typist) {
            *waiting = waiting.saturating_sub(length + JOB);
            if *waiting == 0 {
                self.keys.remove(&typist);
            }
        }
    }

    pub(super) fn take_serial(&mut self) -> u64 {
        self.next_serial += 1;
        self.next_serial
    }

    /// Returns true if brackets are open between two pieces.
    fn is_pasting(&self) -> bool {
        self.paste.is_some_and(|paste| paste.is_bracketed && !paste.is_interrupted)
    }

    /// Closes the brackets of a paste whose next piece does not come.
    fn interrupt(&mut self) {
        self.interrupt_at = None;
        if let Some(paste) = self.paste.as_mut().filter(|paste| paste.is_bracketed) {
            paste.is_interrupted = true;
            let ending = Job::ending(self.take_serial());
            self.jobs.push_front(ending);
        }
    }

    /// Sends the holder what fits its window, in order.
    pub(super) fn pump(&mut self, now: Instant, out: &mut dyn Outlet) {
        loop {
            self.reply_to_ended();
            self.hand_out(now, out);
            if !self.jobs.front().is_some_and(Job::is_over) {
                break;
            }
        }
        let is_kept_waiting = self.jobs.front().map_or(!self.replies.is_empty(), |job| job.piece.is_none());
        let latest = self.interrupt_at.unwrap_or(now + INTERRUPT_TIMEOUT);
        self.interrupt_at = (self.is_pasting() && is_kept_waiting).then_some(latest);
    }

    fn hand_out(&mut self, now: Instant, out: &mut dyn Outlet) {
        for place in 0.. {
            self.send_replies(place, out);
            let may_go = self.jobs.get(place).is_some_and(|job| !self.is_pasting() || job.goes_on());
            if !may_go || !self.release(place, now, out) || !self.send(place, out) {
                return;
            }
            if self.jobs.get(place).is_some_and(|job| job.is_bracketed && !job.is_over()) {
                return;
            }
        }
    }

    /// Sends the waiting answers, if the holder has all jobs before `place` and the next has not begun.
    fn send_replies(&mut self, place: usize, out: &mut dyn Outlet) {
        let is_begun = |job: &Job| job.sent > 0 || job.is_ending;
        let is_within = self.is_pasting() || self.jobs.get(place).is_some_and(is_begun);
        if !is_within && self.replies.ready().is_some_and(|length| self.has_room(length)) {
            let replies = self.replies.take();
            self.send_to_holder(None, replies, out);
        }
    }

    /// Encodes a job for the child's present modes; returns false while it is held.
    fn release(&mut self, place: usize, now: Instant, out: &dyn Outlet) -> bool {
        let Some(job) = self.jobs.get_mut(place) else { return false };
        let Some(text) = job.text.as_ref().filter(|_| !job.is_given_up) else { return true };
        if job.is_held() {
            self.look_at.get_or_insert(now + LOOK);
            return false;
        }
        let goes_on = job.goes_on();
        if goes_on && self.paste.is_none() {
            // Its paste was cancelled, and closed.
            job.is_given_up = true;
            return true;
        }
        let paste = self.paste.filter(|_| goes_on);
        let is_bracketed = match paste {
            Some(paste) => paste.is_bracketed,
            None => job.piece.is_some() && out.takes_brackets(),
        };
        let bytes = match paste {
            Some(paste) if paste.is_interrupted => text.encode_again(is_bracketed),
            _ => text.encode(is_bracketed),
        };
        let before = paste.map_or(Before::default(), |paste| paste.before);
        let is_canonical = out.is_canonical();
        job.of = bytes.len();
        if job.hold == Hold::Unjudged && is_canonical && before.needs_raw(&bytes, job.is_prompt) {
            job.hold = Hold::Held { raw_since: None };
            self.look_at.get_or_insert(now + LOOK);
            return false;
        }
        job.hold = Hold::CommandRule;
        job.is_bracketed = is_bracketed;
        if job.piece.is_some_and(|ends| !(ends.is_first && ends.is_last)) {
            let before = before.and(&bytes, is_canonical);
            self.paste = Some(OpenPaste { is_bracketed, is_interrupted: false, before });
        }
        (job.bytes, job.text) = (bytes, None);
        true
    }

    /// Sends a job to the holder; returns true if the holder has all of it.
    fn send(&mut self, place: usize, out: &mut dyn Outlet) -> bool {
        while let Some(job) = self.jobs.get(place).filter(|job| !job.is_sent()) {
            let rest = job.bytes.get(job.sent..).unwrap_or_default();
            let chunk = rest.get(..CHUNK).unwrap_or(rest).to_vec();
            if !self.has_room(chunk.len()) {
                return false;
            }
            let serial = job.serial;
            if let Some(job) = self.jobs.get_mut(place) {
                job.sent += chunk.len();
                job.in_flight += 1;
            }
            self.send_to_holder(Some(serial), chunk, out);
        }
        true
    }

    fn has_room(&self, length: usize) -> bool {
        self.in_flight_bytes + length <= INPUT_WINDOW / 2
    }

    fn send_to_holder(&mut self, job: Option<u64>, bytes: Vec<u8>, out: &mut dyn Outlet) {
        let (id, length) = (self.next_id, bytes.len());
        let key =
            self.jobs.iter().find(|known| Some(known.serial) == job).and_then(continued_jobs::key_and_note);
        self.next_id += 1;
        self.in_flight_bytes += length;
        self.in_flight.push_back(InFlight { id, job, length });
        out.send_to_holder(id, bytes, key);
    }

    /// Sends the outcomes of jobs that are over.
    fn reply_to_ended(&mut self) {
        while let Some(job) = self.jobs.pop_front_if(|job| job.is_over()) {
            if let Some(typist) = job.typist {
                self.forget_keys(typist, job.of);
            }
            let is_open = if job.goes_on() { self.is_pasting() } else { job.is_bracketed && job.written > 0 };
            if job.piece.is_some_and(|ends| ends.is_last || job.is_given_up) {
                self.paste = None;
            }
            if (is_open && job.is_cut()) || job.leaves_open() {
                let ending = Job::ending(self.take_serial());
                self.jobs.push_front(ending);
            }
            job.reply();
        }
    }
}

fn is_raw_enough(job: &Job, now: Instant) -> bool {
    matches!(job.hold, Hold::Held { raw_since: Some(since) } if now >= since + RAW)
}

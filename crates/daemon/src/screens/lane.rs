//! The one way bytes reach a child: ordered, bounded, acknowledged.
//!
//! Owns the order of keystrokes, replies and jobs. Refuses blocking and refuses silence: every job with somebody
//! waiting is told how much was written.
//!
//! A person's keystrokes go straight to the terminal while nothing else is queued, which saves a hop; everything else,
//! and whatever the terminal did not take, goes through the holder's queue with ids, so that a daemon that dies cannot
//! type a prompt twice.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use holder::{INPUT_WINDOW, Link, ToHolder};
use tokio::sync::oneshot;

use super::handle::ScreenHandle;
use super::order::{WriteJob, WriteOutcome};

/// Bytes of one input message.
const CHUNK: usize = 64 * 1024;
/// Bytes of emulator replies that may wait for a child that does not read; older ones are worth nothing to it.
const MAX_REPLIES: usize = 4 * 1024;
/// Bytes of keystrokes that may wait for a child that does not read.
const MAX_KEYS: usize = 256 * 1024;
/// How often a held job looks whether the child has left canonical mode: the kernel tells nobody.
const LOOK: Duration = Duration::from_millis(20);

struct Job {
    serial: u64,
    bytes: Vec<u8>,
    sent: usize,
    written: u64,
    in_flight: usize,
    needs_raw: bool,
    was_held: bool,
    deadline: Option<Instant>,
    is_given_up: bool,
    reply: Option<oneshot::Sender<WriteOutcome>>,
}

impl Job {
    fn is_over(&self) -> bool {
        self.in_flight == 0 && (self.is_given_up || self.sent == self.bytes.len())
    }
}

/// The input of one run.
pub(crate) struct Lane {
    jobs: VecDeque<Job>,
    /// Id, job and length of what the holder has and has not acknowledged.
    in_flight: VecDeque<(u64, u64, usize)>,
    in_flight_bytes: usize,
    next_id: u64,
    next_serial: u64,
    /// Bytes of jobs nobody waits for.
    unwatched: usize,
    look_at: Option<Instant>,
}

impl Lane {
    pub(crate) fn new(last_input_id: u64) -> Self {
        Self {
            jobs: VecDeque::new(),
            in_flight: VecDeque::new(),
            in_flight_bytes: 0,
            next_id: last_input_id + 1,
            next_serial: 0,
            unwatched: 0,
            look_at: None,
        }
    }

    /// A person's keystrokes; whether they were taken.
    pub(crate) fn type_keys(&mut self, bytes: &[u8], handle: &ScreenHandle, link: &mut Link) -> bool {
        self.direct(bytes, MAX_KEYS, handle, link)
    }

    /// The emulator's answers to queries.
    pub(crate) fn answer(&mut self, bytes: &[u8], handle: &ScreenHandle, link: &mut Link) -> bool {
        self.direct(bytes, MAX_REPLIES, handle, link)
    }

    fn direct(&mut self, bytes: &[u8], most: usize, handle: &ScreenHandle, link: &mut Link) -> bool {
        let written = if self.jobs.is_empty() && self.in_flight.is_empty() {
            rustix::io::write(handle.master(), bytes).unwrap_or(0)
        } else {
            0
        };
        let rest = &bytes[written.min(bytes.len())..];
        if rest.is_empty() {
            return true;
        }
        if self.unwatched + rest.len() > most {
            return false;
        }
        self.unwatched += rest.len();
        self.push(rest.to_vec(), false, None, None);
        self.pump(handle, link, None);
        true
    }

    /// A job somebody waits for.
    pub(crate) fn write(&mut self, job: WriteJob, now: Instant, handle: &ScreenHandle, link: &mut Link) {
        self.push(job.bytes, job.needs_raw, Some(job.deadline), Some(job.reply));
        self.pump(handle, link, Some(now));
    }

    fn push(
        &mut self,
        bytes: Vec<u8>,
        needs_raw: bool,
        deadline: Option<Instant>,
        reply: Option<oneshot::Sender<WriteOutcome>>,
    ) {
        let serial = self.next_serial;
        self.next_serial += 1;
        self.jobs.push_back(Job {
            serial,
            bytes,
            sent: 0,
            written: 0,
            in_flight: 0,
            needs_raw,
            was_held: false,
            deadline,
            is_given_up: false,
            reply,
        });
    }

    /// Hands the holder what fits its window, in order.
    fn pump(&mut self, handle: &ScreenHandle, link: &mut Link, now: Option<Instant>) {
        self.look_at = None;
        for job in &mut self.jobs {
            if job.needs_raw && !job.is_given_up {
                if handle.is_canonical() {
                    job.was_held = true;
                    self.look_at = Some(now.unwrap_or_else(Instant::now) + LOOK);
                    break;
                }
                job.needs_raw = false;
                job.was_held = false;
            }
            while job.sent < job.bytes.len() && !job.is_given_up {
                let chunk = CHUNK.min(job.bytes.len() - job.sent);
                if self.in_flight_bytes + chunk > INPUT_WINDOW / 2 {
                    return;
                }
                let bytes = job.bytes[job.sent..job.sent + chunk].to_vec();
                // A broken link shows itself as end of file; the run is lost then and the lane is cleared.
                let _gone = link.send(&ToHolder::Input { id: self.next_id, bytes });
                self.in_flight.push_back((self.next_id, job.serial, chunk));
                self.in_flight_bytes += chunk;
                self.next_id += 1;
                job.sent += chunk;
                job.in_flight += 1;
            }
        }
        self.settle();
    }

    /// The holder wrote, cancelled or refused an input.
    pub(crate) fn done(&mut self, id: u64, written: u64, handle: &ScreenHandle, link: &mut Link) {
        let Some(place) = self.in_flight.iter().position(|(known, _, _)| *known == id) else { return };
        let Some((_, serial, length)) = self.in_flight.remove(place) else { return };
        self.in_flight_bytes -= length;
        if let Some(job) = self.jobs.iter_mut().find(|job| job.serial == serial) {
            job.in_flight -= 1;
            job.written += written;
            job.is_given_up |= written < length as u64;
        }
        self.settle();
        self.pump(handle, link, None);
    }

    /// Tells whoever waits for the jobs that are over.
    fn settle(&mut self) {
        while self.jobs.front().is_some_and(Job::is_over) {
            let Some(job) = self.jobs.pop_front() else { return };
            match job.reply {
                Some(reply) => {
                    // Whoever waited may have gone.
                    let _gone = reply.send(WriteOutcome {
                        written: job.written,
                        was_held: job.was_held,
                        obstacle: None,
                    });
                }
                None => self.unwatched = self.unwatched.saturating_sub(job.bytes.len()),
            }
        }
    }

    /// When the lane wants to be looked at.
    pub(crate) fn due(&self) -> Option<Instant> {
        let deadlines = self.jobs.iter().filter(|job| !job.is_given_up).filter_map(|job| job.deadline);
        deadlines.chain(self.look_at).min()
    }

    /// Gives up jobs whose time is over and looks whether held ones may go.
    pub(crate) fn pass(&mut self, now: Instant, handle: &ScreenHandle, link: &mut Link) {
        if self.due().is_none_or(|due| due > now) {
            return;
        }
        let mut late = Vec::new();
        for job in self.jobs.iter_mut().filter(|job| job.deadline.is_some_and(|deadline| deadline <= now)) {
            job.is_given_up = true;
            late.push(job.serial);
        }
        for (id, serial, _) in &self.in_flight {
            if late.contains(serial) {
                let _gone = link.send(&ToHolder::CancelInput { id: *id });
            }
        }
        self.settle();
        self.pump(handle, link, Some(now));
    }

    /// The child is gone: nothing more will be written.
    pub(crate) fn clear(&mut self) {
        for job in &mut self.jobs {
            job.is_given_up = true;
            job.in_flight = 0;
        }
        self.in_flight.clear();
        self.in_flight_bytes = 0;
        self.settle();
    }
}

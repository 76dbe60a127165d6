//! Continues jobs that an earlier daemon may have begun. The holder counts the bytes that it has accepted of
//! each keyed job, and the queue continues after them: no byte is typed twice and none is left out.

use std::time::Instant;

use engine::effect::Guard;
use engine::input::TypingOutcome;
use holder::KeyState;

use super::job::{Hold, Job};
use super::queue::{InFlight, Outlet, Queue};
use crate::screens::order::Begun;

/// The bit of a note for bytes that were encoded for a child that accepts bracketed pastes.
const BRACKETED: u64 = 1;
/// The bit of a note for the last bytes of a text.
const LAST: u64 = 2;
/// The other bits of a note are the end of the log before the job.
const OFFSET_SHIFT: u32 = 2;

/// Returns the key of a job and the note that its holder keeps.
pub(super) fn key_and_note(job: &Job) -> Option<(Vec<u8>, u64)> {
    let key = job.key.as_ref()?;
    let is_last = job.piece.is_none_or(|ends| ends.is_last) && job.sent == job.bytes.len();
    let flags = u64::from(job.is_bracketed) * BRACKETED + u64::from(is_last) * LAST;
    Some((key.key.clone(), key.offset << OFFSET_SHIFT | flags))
}

impl Queue {
    /// Holds a job back until the holder has reported its state. If the holder does not know keys, the job is
    /// dropped, and its caller learns that from the closed reply channel.
    pub(super) fn ask_before(&mut self, job: Job, out: &mut dyn Outlet) {
        if job.key.as_ref().is_some_and(|key| out.ask_key(&key.key)) {
            self.repeated.push_back(job);
        }
    }

    /// Returns the conditions under which the job that the holder has reported on may continue. A job that was
    /// begun finds its own text in the composer, so that is no obstacle.
    pub(super) fn repeated_guard(&self, state: &KeyState) -> Option<Guard> {
        let job = self.repeated.iter().find(|job| has_key(job, state))?;
        let guard = job.guard.clone()?;
        match state.accepted {
            0 => Some(guard),
            _ => Some(Guard { composer: engine::effect::ComposerIs::NoShell, ..guard }),
        }
    }

    /// Continues a job after the bytes that the holder has accepted, unless there is an obstacle.
    pub(super) fn go_on(
        &mut self,
        state: &KeyState,
        obstacle: Option<TypingOutcome>,
        now: Instant,
        out: &mut dyn Outlet,
    ) {
        let Some(place) = self.repeated.iter().position(|job| has_key(job, state)) else { return };
        let Some(mut job) = self.repeated.remove(place) else { return };
        let is_late = job.deadline.is_some_and(|deadline| deadline <= now);
        if state.accepted > 0 {
            self.inherit_parts(&mut job, state);
        }
        if !job.is_sent() {
            job.obstacle = obstacle;
            job.is_given_up = obstacle.is_some() || is_late || state.is_cut();
        }
        if state.accepted == 0 {
            self.insert(job);
        } else {
            let is_begun = |job: &Job| job.sent > 0 || job.is_ending;
            let place = self.jobs.iter().position(|job| !is_begun(job)).unwrap_or(self.jobs.len());
            self.jobs.insert(place, job);
        }
        self.pump(now, out);
    }

    /// Takes over the bytes of a job that the holder has accepted or not yet written.
    fn inherit_parts(&mut self, job: &mut Job, state: &KeyState) {
        let is_bracketed = state.note & BRACKETED != 0;
        let bytes = job.text.take().map(|text| text.encode(is_bracketed)).unwrap_or_default();
        let accepted = usize::try_from(state.accepted).unwrap_or(usize::MAX);
        // A caller that only asks about its text does not send it again, so the text may be empty here.
        job.of = bytes.len().max(accepted);
        job.sent = accepted.min(bytes.len());
        job.bytes = bytes;
        job.written = state.written;
        job.hold = Hold::CommandRule;
        job.is_bracketed = is_bracketed;
        job.begun = Some(Begun { offset: state.note >> OFFSET_SHIFT, is_whole: state.note & LAST != 0 });
        job.in_flight = state.pending.len();
        for (place, input) in state.pending.iter().enumerate() {
            let length = usize::try_from(input.length).unwrap_or(usize::MAX);
            self.in_flight_bytes = self.in_flight_bytes.saturating_add(length);
            self.in_flight.insert(place, InFlight { id: input.id, job: Some(job.serial), length });
        }
    }
}

fn has_key(job: &Job, state: &KeyState) -> bool {
    job.key.as_ref().is_some_and(|key| key.key == state.key)
}

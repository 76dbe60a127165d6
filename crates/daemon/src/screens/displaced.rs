//! Notices that another program has linked to a holder, warns about it and links again.
//!
//! A holder has one link. It accepts a new one from any process of its user outside every run, and names the
//! newcomer to the former daemon, which links again at once. If the other program does the same, both would
//! alternate without end, so every further link within [`WINDOW`] waits twice as long as the one before, up
//! to [`LONGEST_PAUSE`]: two daemons that claim one holder exchange it about once a minute. A person's
//! command does not wait: ending, signalling and typing link at once, and the holder executes an end in the
//! moment it accepts the link.
//!
//! Without the link the run is still read: its ring is shared memory, checked every [`LONGEST_LOOK`].

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use engine::RunKey;
use holder::{HolderHello, Link, LinkError};
use rustix::event::epoll;

use super::hosting::kill_holder;
use super::run::Run;
use super::worker::{Source, Worker};
use crate::warnings::{Cause, Warnings};

/// The pause before the second link within a window; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause before a link.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// After a link has lasted this long, the next displacement counts as the first again.
const WINDOW: Duration = Duration::from_secs(300);
/// The first pause before a run without a link is checked; each further one doubles it.
const FIRST_LOOK: Duration = Duration::from_millis(5);
/// How often a run without a link is checked.
const LONGEST_LOOK: Duration = Duration::from_millis(100);

/// The state of the link to one holder, and when this daemon links again.
#[derive(Debug, Default)]
pub(super) struct Displacement {
    /// How often another program has taken the link.
    times: u32,
    /// Links that were started within the window.
    tries: u32,
    linked_at: Option<Instant>,
    /// When to link again, and when to check the run; `None` while it is linked.
    unlinked: Option<Unlinked>,
}

#[derive(Debug, Clone, Copy)]
struct Unlinked {
    link_at: Instant,
    look_at: Instant,
    pause: Duration,
}

impl Displacement {
    /// Records that the link is gone; returns when to link again.
    fn displaced(&mut self, now: Instant) -> Instant {
        if self.linked_at.take().is_some_and(|at| now.duration_since(at) >= WINDOW) {
            self.tries = 0;
        }
        let pause = match self.tries {
            0 => Duration::ZERO,
            tries => FIRST_PAUSE.saturating_mul(1 << (tries - 1).min(10)).min(LONGEST_PAUSE),
        };
        let link_at = now + pause;
        self.unlinked = Some(Unlinked { link_at, look_at: now + FIRST_LOOK, pause: FIRST_LOOK });
        link_at
    }

    /// Returns true if the holder certainly lives: it has named another program, or has outlived a first
    /// attempt to link.
    fn is_certain(&self) -> bool {
        self.times > 0 || self.tries > 1
    }

    /// Records the start of a link.
    fn begins(&mut self) {
        self.tries = self.tries.saturating_add(1);
    }

    /// Records that the holder has accepted this daemon.
    fn linked(&mut self, now: Instant) {
        (self.linked_at, self.unlinked) = (Some(now), None);
    }

    /// Returns true if the run has no link, not even one whose answer is awaited.
    pub(super) fn is_unlinked(&self) -> bool {
        self.unlinked.is_some()
    }

    /// Returns when to check a run that has no link.
    pub(super) fn due(&self) -> Option<Instant> {
        self.unlinked.map(|unlinked| unlinked.look_at.min(unlinked.link_at))
    }

    /// Records a check; returns true if it is time to link again.
    fn looked(&mut self, now: Instant) -> bool {
        let Some(unlinked) = &mut self.unlinked else { return false };
        unlinked.pause = (unlinked.pause * 2).min(LONGEST_LOOK);
        unlinked.look_at = now + unlinked.pause;
        unlinked.link_at <= now
    }
}

impl Run {
    /// Releases the holder.
    pub(super) fn release(&mut self, end_tree: bool) {
        let order = self.holder.release(end_tree);
        let _gone = self.link.send(&order);
        self.input_queue.clear();
    }

    /// Continues over a new link to the same holder. The size and the checkpoint replace what another program
    /// has sent meanwhile. The exit may have been announced to that program.
    fn go_on_linked(&mut self, exited: Option<holder::RunExit>, last_input_id: u64) {
        self.end.learn(exited);
        self.input_queue.inherit(last_input_id);
        self.send_size();
        self.checkpoint_sender().cover_everything();
    }
}

impl Worker {
    /// Handles that another program has the link now.
    pub(super) fn on_displaced(&mut self, number: u64, now: Instant) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        let by = slot.run.link.displaced_by();
        if by.is_some() {
            slot.run.displacement.times += 1;
        }
        let text = by.map(|pid| {
            format!("was taken over by pid {pid}{}{}", name(pid), times(slot.run.displacement.times))
        });
        slot.run.input_queue.clear();
        slot.run.go_on_typing(now, &mut self.facts);
        if let Some(text) = text {
            warn(&self.warnings, slot.run.key(), &format!("{text}; this daemon takes it back"));
        }
        self.unlink(number, now);
    }

    /// Handles a link that has ended or failed: it is made again when its time has come.
    fn unlink(&mut self, number: u64, now: Instant) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        let _gone = epoll::delete(&self.epoll, slot.run.link.as_fd());
        slot.is_waiting_for_room = false;
        if slot.run.displacement.displaced(now) <= now {
            return self.link_again(number, now);
        }
        self.sync_interest(number);
    }

    /// Links again without a pause, because a command needs the holder.
    pub(super) fn link_now(&mut self, run: RunKey, now: Instant) {
        let Some(number) = self.by_run.get(&run).copied() else { return };
        if self.slots.get(&number).is_some_and(|slot| slot.run.displacement.is_unlinked()) {
            self.link_again(number, now);
        }
    }

    /// Checks a run that has no link: for output, for the end of its holder, and whether it is time to link
    /// again.
    pub(super) fn look_unlinked(&mut self, number: u64, now: Instant) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        let is_time = slot.run.displacement.looked(now);
        if !slot.run.holder.is_alive() {
            return self.holder_gone(number, now);
        }
        self.ready.insert(number);
        if is_time {
            self.link_again(number, now);
        }
    }

    /// Starts a link; its answer comes as an event.
    fn link_again(&mut self, number: u64, now: Instant) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        slot.run.displacement.begins();
        let holder = &mut slot.run.holder;
        let (pid, start_time) = (holder.pid(), holder.start_time().unwrap_or_default());
        let first = holder.unheard_orders(now);
        let data = epoll::EventData::new_u64(Source::Link(number).token());
        let linked = Link::reconnect(&holder.socket, pid, start_time, &first).and_then(|link| {
            let added = epoll::add(&self.epoll, link.as_fd(), data, epoll::EventFlags::IN);
            added.map(|()| link).map_err(|error| LinkError::Io(error.into()))
        });
        match linked {
            Ok(link) => {
                slot.run.link = link;
                slot.run.displacement.linked(now);
                self.sync_interest(number);
            }
            Err(error) => self.cannot_link(number, &error, now),
        }
    }

    fn cannot_link(&mut self, number: u64, error: &LinkError, now: Instant) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        slot.run.displacement.displaced(now);
        if !slot.run.holder.is_alive() {
            // The next check finds it gone; until then it may still be exiting.
            return self.sync_interest(number);
        }
        let key = slot.run.key();
        // A holder that is killed may still exist when its link and its socket do not.
        if slot.run.displacement.is_certain() {
            let id = key.process;
            let rest =
                format!("this daemon tries again; its output is still read, and `qd close {id}` ends it");
            warn(&self.warnings, key, &format!("cannot be reached: {error}; {rest}"));
        }
        if slot.run.holder.is_to_end() {
            kill_holder(&mut slot.run);
        }
        self.sync_interest(number);
    }

    /// Reads the holder's answer to a new link, if it is there.
    pub(super) fn on_greeting(&mut self, number: u64, now: Instant) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        match slot.run.link.take_hello() {
            Ok(None) => self.sync_interest(number),
            Ok(Some(hello)) => self.go_on_linked(number, hello, now),
            Err(error) => {
                tracing::warn!(%error, run = ?slot.run.key(), "a holder did not take a new link");
                if slot.run.holder.is_alive() {
                    self.unlink(number, now)
                } else {
                    self.holder_gone(number, now)
                }
            }
        }
    }

    fn go_on_linked(&mut self, number: u64, hello: HolderHello, now: Instant) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        let data = epoll::EventData::new_u64(Source::Ring(number).token());
        let _gone = epoll::delete(&self.epoll, &slot.wake);
        if let Err(error) = epoll::add(&self.epoll, &hello.wake, data, epoll::EventFlags::IN) {
            // Without wake-ups it would stand still: it is treated as a failed link.
            tracing::error!(%error, run = ?slot.run.key(), "a run could not be watched");
            return self.unlink(number, now);
        }
        slot.wake = hello.wake;
        slot.run.go_on_linked(hello.fields.exited, hello.fields.last_input_id);
        let key = slot.run.key();
        let times = slot.run.displacement.times;
        if times > 0 {
            warn(
                &self.warnings,
                key,
                &format!("was taken over{}; this daemon has it again", self::times(times)),
            );
        }
        self.ready.insert(number);
        self.on_link(number, now);
    }
}

/// Returns the name of a process, for a sentence.
fn name(pid: i32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    if name.trim().is_empty() { String::new() } else { format!(" ({})", name.trim()) }
}

fn times(count: u32) -> String {
    if count <= 1 { String::new() } else { format!(", {count} times by now") }
}

fn warn(warnings: &Warnings, run: RunKey, text: &str) {
    warnings.set(Cause::Holder(run), format!("the holder of {} {text}", run.process));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Displaces again whenever it is linked, until `end`; returns how often it linked.
    fn links_within(end: Duration) -> u32 {
        let (mut displacement, begin) = (Displacement::default(), Instant::now());
        let (mut now, mut links) = (begin, 0);
        while now < begin + end {
            now = displacement.displaced(now);
            displacement.begins();
            displacement.linked(now);
            links += 1;
        }
        links
    }

    #[test]
    fn m4c_the_first_link_comes_at_once_and_two_that_claim_one_holder_do_not_storm() {
        let (mut displacement, now) = (Displacement::default(), Instant::now());
        assert_eq!(displacement.displaced(now), now);
        assert!(links_within(Duration::from_secs(60)) <= 8);
        assert!(links_within(Duration::from_secs(3600)) <= 70);
    }

    #[test]
    fn m4c_a_link_that_has_lasted_makes_the_next_displacement_the_first_again() {
        let (mut displacement, mut now) = (Displacement::default(), Instant::now());
        for _ in 0..20 {
            now = displacement.displaced(now);
            displacement.begins();
            displacement.linked(now);
        }
        assert!(displacement.displaced(now) > now);
        displacement.linked(now);
        now += WINDOW;
        assert_eq!(displacement.displaced(now), now);
    }

    #[test]
    fn m4c_a_run_without_a_link_is_looked_at_and_one_with_a_link_is_not() {
        let (mut displacement, now) = (Displacement::default(), Instant::now());
        assert!(displacement.due().is_none() && !displacement.is_unlinked());
        displacement.begins();
        let link_at = displacement.displaced(now);
        assert!(displacement.is_unlinked() && displacement.due().is_some_and(|due| due < link_at));
        assert!(!displacement.looked(now));
        assert!(displacement.due().is_some_and(|due| due > now && due <= now + LONGEST_LOOK));
        assert!(displacement.looked(link_at));
        displacement.linked(now);
        assert!(displacement.due().is_none());
    }
}

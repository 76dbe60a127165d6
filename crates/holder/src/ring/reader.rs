//! The daemon's end of the ring: copies bytes by absolute offset, publishes how far it has kept, and arms the
//! wake-up. It never blocks and never writes the data.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use rustix::fs::{SealFlags, fcntl_get_seals, fstat};

use super::map::{Access, Map};
use super::{CONTROL_BYTES, LAYOUT, MAGIC};
use crate::config::{MAX_RING_BYTES, MIN_RING_BYTES};

/// The result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOutcome {
    /// This many bytes were copied; 0 when the offset is the end.
    Bytes(usize),
    /// The bytes at the offset have been overwritten; the oldest that are left start at `resume_at`.
    Missed {
        /// Where to continue; the gap is everything before it.
        resume_at: u64,
    },
}

/// What arming found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArmOutcome {
    /// Nothing new: the eventfd becomes readable when the end moves.
    Armed,
    /// The end has moved already: read on instead of waiting.
    MovedTo(u64),
}

/// No run prints so much. Offsets below this can be added up without overflow.
const LONGEST_LOG: u64 = 1 << 62;

/// The reading end, for the daemon. One task of the daemon arms and keeps; any number may read.
///
/// Any process of the user can write into the control area, by the holder's descriptors in `/proc`. Offsets that no
/// holder writes make the ring damaged for good: it then has no bytes beyond those that were known before, and nothing
/// that waits for it turns in a circle.
pub struct RingReader {
    map: Map,
    /// The newest end that was read, and that is believed.
    last_end: AtomicU64,
    is_damaged: AtomicBool,
}

impl RingReader {
    /// Maps a ring received from a holder, after checking that it is one and cannot shrink under us.
    pub(crate) fn open(file: OwnedFd, capacity: u32) -> io::Result<RingReader> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("not a ring: {what}"));
        if !capacity.is_power_of_two() || !(MIN_RING_BYTES..=MAX_RING_BYTES).contains(&capacity) {
            return Err(invalid("capacity"));
        }
        if !fcntl_get_seals(&file)?.contains(SealFlags::SHRINK | SealFlags::GROW) {
            return Err(invalid("not sealed"));
        }
        let length = CONTROL_BYTES + capacity as usize;
        if usize::try_from(fstat(&file)?.st_size) != Ok(length) {
            return Err(invalid("length"));
        }
        let map = Map::new(file.as_fd(), capacity as usize, Access::Reader)?;
        let control = map.control();
        if control.magic.load(Ordering::Acquire) != MAGIC || control.layout.load(Ordering::Relaxed) != LAYOUT
        {
            return Err(invalid("layout"));
        }
        Ok(RingReader { map, last_end: AtomicU64::new(0), is_damaged: AtomicBool::new(false) })
    }

    /// Returns the offset after the newest byte.
    pub fn end(&self) -> u64 {
        self.bounds().1
    }

    /// Returns the offset of the oldest byte that can be read.
    pub fn start(&self) -> u64 {
        self.bounds().0
    }

    /// Returns true if the control area had offsets that no holder writes.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Acquire)
    }

    /// Returns the offsets of the oldest byte and after the newest one.
    fn bounds(&self) -> (u64, u64) {
        if !self.is_damaged() {
            let control = self.map.control();
            let known = self.last_end.load(Ordering::Acquire);
            // The end only grows, and the start never passes it: in this order neither can look wrong by being read
            // while the holder moves them.
            let before = control.end.load(Ordering::Acquire);
            let start = control.start.load(Ordering::Acquire);
            let end = control.end.load(Ordering::Acquire);
            let is_held = before.saturating_sub(start) <= self.capacity() as u64;
            if is_held && start <= end && known <= before && before <= end && end < LONGEST_LOG {
                self.last_end.fetch_max(end, Ordering::AcqRel);
                return (start, end);
            }
            self.is_damaged.store(true, Ordering::Release);
        }
        let end = self.last_end.load(Ordering::Acquire);
        (end, end)
    }

    /// Bytes that the ring holds.
    pub fn capacity(&self) -> usize {
        self.map.capacity()
    }

    /// Bytes that were overwritten before they were kept, over the life of the run.
    pub fn lost(&self) -> u64 {
        self.map.control().lost.load(Ordering::Acquire)
    }

    /// Copies bytes from the absolute offset `from` into `buf`.
    pub fn read(&self, from: u64, buf: &mut [u8]) -> ReadOutcome {
        let (start, end) = self.bounds();
        if from < start {
            return ReadOutcome::Missed { resume_at: start };
        }
        let available = usize::try_from(end.saturating_sub(from)).unwrap_or(usize::MAX);
        let length = buf.len().min(available).min(self.capacity());
        self.copy_out(from, &mut buf[..length]);
        // The copy counts only if the holder had not begun to overwrite it; `start` moves before the bytes
        // do.
        fence(Ordering::Acquire);
        let start = self.start();
        if from < start { ReadOutcome::Missed { resume_at: start } } else { ReadOutcome::Bytes(length) }
    }

    /// Publishes that the holder may overwrite everything before `offset`. Returns
    /// [`RingReader::is_stalled`]: when true, send [`ToHolder::Resume`](crate::ToHolder::Resume) on the link.
    ///
    /// A stalled holder continues when a quarter of the ring is free, so a daemon that has consumed
    /// everything must be able to keep to within three quarters of the capacity of the end.
    pub fn keep_from(&self, offset: u64) -> bool {
        self.map.control().kept.fetch_max(offset, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        self.is_stalled()
    }

    /// Returns true if the holder has stopped reading because the ring was full and there is room again.
    pub fn is_stalled(&self) -> bool {
        let control = self.map.control();
        let wanted = control.resume_at.load(Ordering::Acquire);
        wanted != 0 && control.kept.load(Ordering::Acquire) >= wanted - 1
    }

    /// Requests one wake-up when the end moves beyond `seen`; checks again afterwards, so a wake-up is never
    /// lost.
    pub fn arm(&self, seen: u64) -> ArmOutcome {
        let control = self.map.control();
        control.armed.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let end = self.end();
        if end <= seen {
            return ArmOutcome::Armed;
        }
        control.armed.store(0, Ordering::Relaxed);
        ArmOutcome::MovedTo(end)
    }

    /// Cancels the request for a wake-up, which may be under way already. The caller then reads and arms
    /// again.
    pub fn disarm(&self) {
        self.map.control().armed.store(0, Ordering::Relaxed);
    }

    #[expect(unsafe_code, reason = "copies out of memory that another process writes")]
    fn copy_out(&self, from: u64, buf: &mut [u8]) {
        let at = self.map.at(from);
        // SAFETY: `at` is followed by `capacity` mapped bytes and buf.len() <= capacity; `buf` is our own memory, so
        // the ranges cannot overlap. The holder may be overwriting the source: the bytes are then garbage (never
        // invalid, they are plain `u8`), and the caller discards them after re-checking `start`.
        unsafe { std::ptr::copy_nonoverlapping(at.as_ptr(), buf.as_mut_ptr(), buf.len()) }
    }
}

impl std::fmt::Debug for RingReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RingReader({}..{} of {})", self.start(), self.end(), self.capacity())
    }
}

//! The holder's end of the ring: reads a descriptor straight into the shared memory and publishes. It never
//! blocks; `flow` decides what to do when the ring is full.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{Ordering, fence};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

use super::map::{Access, Map};
use super::{CONTROL_BYTES, LAYOUT, MAGIC};

/// Longest single read. A PTY gives at most 4 KiB; more would only make the oldest bytes unreadable earlier.
pub(crate) const CHUNK: usize = 8 << 10;

/// The writing end. `end` and `start` live here and are only copied to the shared page, so that a faulty
/// daemon cannot make the holder touch the wrong memory.
pub(crate) struct RingWriter {
    map: Map,
    file: OwnedFd,
    end: u64,
    start: u64,
    lost: u64,
}

impl RingWriter {
    /// Creates a new ring of `capacity` bytes (a power of two, at least 64 KiB). Its memory is touched only
    /// as it fills.
    pub(crate) fn create(capacity: u32) -> io::Result<RingWriter> {
        let capacity = capacity as usize;
        let file = memfd_create("qd-ring", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, (CONTROL_BYTES + capacity) as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let map = Map::new(file.as_fd(), capacity, Access::Writer)?;
        let control = map.control();
        control.capacity.store(capacity as u64, Ordering::Relaxed);
        control.layout.store(LAYOUT, Ordering::Relaxed);
        control.magic.store(MAGIC, Ordering::Release);
        Ok(RingWriter { map, file, end: 0, start: 0, lost: 0 })
    }

    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.map.capacity() as u64
    }

    /// Returns how far the daemon has kept, clamped to what is in the ring.
    pub(crate) fn kept(&self) -> u64 {
        self.map.control().kept.load(Ordering::Acquire).clamp(self.start, self.end)
    }

    /// Bytes that can be written without touching any that the daemon has not kept.
    pub(crate) fn room(&self) -> u64 {
        self.capacity() - (self.end - self.kept())
    }

    /// Reads once from `source` into the ring and publishes the new end. Zero means end of file.
    ///
    /// The caller has made sure that there is room (or has dropped the oldest bytes).
    pub(crate) fn fill(&mut self, source: BorrowedFd<'_>) -> io::Result<usize> {
        let length = self.room().min(CHUNK as u64);
        // The oldest bytes become unreadable before they are overwritten: a reader that copied them meanwhile sees
        // the moved start and drops its copy.
        self.advance_start((self.end + length).saturating_sub(self.capacity()));
        let (read, _) = rustix::io::read(source, self.slot(length as usize))?;
        let read = read.len();
        self.end += read as u64;
        self.map.control().end.store(self.end, Ordering::Release);
        Ok(read)
    }

    /// Returns true if the daemon waits to be woken, and clears the request, so that there is one wake-up per
    /// wait.
    pub(crate) fn take_armed(&self) -> bool {
        let control = self.map.control();
        // Pairs with the fence in `arm`: either we see the flag or the daemon sees the new end.
        fence(Ordering::SeqCst);
        control.armed.load(Ordering::Relaxed) != 0 && control.armed.swap(0, Ordering::AcqRel) != 0
    }

    /// Drops the oldest bytes so that one chunk fits, and counts those that were not kept.
    pub(crate) fn drop_oldest(&mut self) {
        let kept = self.kept();
        let start = (self.end + CHUNK as u64).saturating_sub(self.capacity());
        if start > kept {
            self.lost += start - kept;
            self.map.control().lost.store(self.lost, Ordering::Release);
        }
        self.advance_start(start);
    }

    /// Asks the daemon to send `Resume` once it has kept up to `offset`.
    pub(crate) fn ask_resume(&self, offset: u64) {
        self.map.control().resume_at.store(offset + 1, Ordering::Release);
        // Pairs with the fence in `keep_from`: either we see the new `kept` or the daemon sees the request.
        fence(Ordering::SeqCst);
    }

    /// Cancels that request.
    pub(crate) fn clear_resume(&self) {
        self.map.control().resume_at.store(0, Ordering::Release);
    }

    fn advance_start(&mut self, start: u64) {
        if start > self.start {
            self.start = start;
            self.map.control().start.store(start, Ordering::Release);
            fence(Ordering::SeqCst);
        }
    }

    #[expect(unsafe_code, reason = "the kernel writes output straight into shared memory")]
    fn slot(&mut self, length: usize) -> &mut [MaybeUninit<u8>] {
        let at = self.map.at(self.end);
        // SAFETY: `at` is followed by `capacity` mapped, writable bytes and length <= CHUNK <= capacity. This process
        // has no other reference to them, and other processes map them read-only and use them only after checking
        // `start`; a copy of half-written bytes is discarded there.
        unsafe { std::slice::from_raw_parts_mut(at.as_ptr().cast(), length) }
    }
}

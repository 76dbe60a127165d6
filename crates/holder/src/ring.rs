//! The output of one run by absolute offset, in a sealed memfd that the holder writes and the daemon reads:
//! no copy between them and no system call while the daemon is busy. It never blocks.
//!
//! Layout: one control area, then the data. The data is mapped twice, one copy after the other, so that no
//! slice wraps. The holder trusts only `kept` and `armed` in the control area, and those only after clamping;
//! the daemon maps the data read-only.

mod flow;
mod map;
mod reader;
mod writer;

use std::sync::atomic::{AtomicU32, AtomicU64};

pub(crate) use flow::Flow;
pub use reader::{ArmOutcome, ReadOutcome, RingReader};
pub(crate) use writer::RingWriter;

/// Bytes of the memfd before the data. Only the first page is ever touched; 64 KiB keeps the data aligned on
/// architectures with large pages.
const CONTROL_BYTES: usize = 64 << 10;

/// First word of every ring.
const MAGIC: u64 = u64::from_le_bytes(*b"qd-ring\0");

/// Layout of [`Control`]; a daemon refuses a ring with a layout it does not know.
const LAYOUT: u32 = 1;

/// The shared words. Written by the holder, except `kept` and `armed`, which the daemon writes too.
#[repr(C)]
struct Control {
    magic: AtomicU64,
    layout: AtomicU32,
    /// Set by the daemon when it is about to wait; swapped to 0 by the holder before the one wake-up.
    armed: AtomicU32,
    capacity: AtomicU64,
    /// Offset after the newest byte.
    end: AtomicU64,
    /// Offset of the oldest byte that has not been overwritten; moves before the bytes are touched.
    start: AtomicU64,
    /// Bytes before this offset may be overwritten; published by the daemon.
    kept: AtomicU64,
    /// Bytes that were overwritten before the daemon kept them, in total.
    lost: AtomicU64,
    /// 0, or the value of `kept` (plus one) from which a stalled holder reads on.
    resume_at: AtomicU64,
}

#[cfg(test)]
mod tests;

//! The wall clock in milliseconds: what is kept in files counts in it, because it outlives this process.

use std::time::{SystemTime, UNIX_EPOCH};

/// One minute.
pub(crate) const MINUTE: u64 = 60_000;
/// One day.
pub(crate) const DAY: u64 = 24 * 60 * MINUTE;

/// Returns the milliseconds since the epoch.
#[must_use]
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

//! Reads the two clocks of a [`Moment`]. [`crate::alarm`] waits.

use std::time::{SystemTime, UNIX_EPOCH};

use engine::Moment;
use rustix::time::{ClockId, clock_gettime};

/// Returns the present moment on both clocks. Uptime counts suspended time, so that suspending the
/// machine does not extend a deadline.
pub(crate) fn now() -> Moment {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Moment { uptime_ms: uptime_ms(), wall_ms: u64::try_from(wall).unwrap_or(u64::MAX) }
}

/// Returns the local time: a vendor's "try again at 4:09 AM" refers to it.
pub(crate) fn local() -> agents::quota::Now {
    // Without a known time zone the local clock is UTC.
    agents::quota::Now { epoch_ms: now().wall_ms, zone: jiff::tz::TimeZone::system() }
}

/// Milliseconds since boot, suspended time included.
pub(crate) fn uptime_ms() -> u64 {
    let boot = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(boot.tv_sec).unwrap_or(0);
    seconds * 1000 + u64::try_from(boot.tv_nsec).unwrap_or(0) / 1_000_000
}

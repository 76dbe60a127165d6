//! Reads the two clocks of a [`Moment`]. [`crate::alarm`] waits.

use std::time::{SystemTime, UNIX_EPOCH};

use engine::Moment;
use rustix::time::{ClockId, clock_gettime};

/// Returns the present moment on both clocks. Uptime counts suspended time, so that a closed lid does not
/// extend a deadline.
pub(crate) fn now() -> Moment {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Moment { uptime_ms: uptime_ms(), wall_ms: u64::try_from(wall).unwrap_or(u64::MAX) }
}

/// Returns the local time: a vendor's "try again at 4:09 AM" refers to it.
pub(crate) fn local() -> agents::quota::Now {
    let epoch_ms = now().wall_ms;
    let moment = jiff::Timestamp::from_millisecond(i64::try_from(epoch_ms).unwrap_or(0)).unwrap_or_default();
    // Without a known time zone the local clock is UTC.
    let offset_s = jiff::tz::TimeZone::system().to_offset(moment).seconds();
    agents::quota::Now { epoch_ms, offset_s }
}

/// Milliseconds since boot, suspended time included.
pub(crate) fn uptime_ms() -> u64 {
    let boot = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(boot.tv_sec).unwrap_or(0);
    seconds * 1000 + u64::try_from(boot.tv_nsec).unwrap_or(0) / 1_000_000
}

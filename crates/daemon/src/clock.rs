//! The two clocks of a [`Moment`].
//!
//! Owns reading them. Refuses being used for waiting: [`crate::alarm`] does that.

use std::time::{SystemTime, UNIX_EPOCH};

use engine::Moment;
use rustix::time::{ClockId, clock_gettime};

/// Now, on both clocks. Uptime counts suspended time, so that a closed lid does not stretch a deadline.
pub(crate) fn now() -> Moment {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Moment { uptime_ms: uptime_ms(), wall_ms: u64::try_from(wall).unwrap_or(u64::MAX) }
}

/// Milliseconds since boot, suspended time included.
pub(crate) fn uptime_ms() -> u64 {
    let boot = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(boot.tv_sec).unwrap_or(0);
    seconds * 1000 + u64::try_from(boot.tv_nsec).unwrap_or(0) / 1_000_000
}

//! The two clocks of a [`Moment`].
//!
//! Owns reading them. Refuses being used for waiting: [`crate::alarm`] does that.

use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use engine::Moment;
use rustix::time::{ClockId, clock_gettime};

/// Now, on both clocks. Uptime counts suspended time, so that a closed lid does not stretch a deadline.
pub(crate) fn now() -> Moment {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Moment { uptime_ms: uptime_ms(), wall_ms: u64::try_from(wall).unwrap_or(u64::MAX) }
}

/// How far the local clock is ahead of UTC, once it was asked.
static OFFSET: OnceLock<i32> = OnceLock::new();

/// Asks how far the local clock is ahead of UTC, on a thread of its own: it takes a program, and whoever looks at a screen
/// later must not wait for one.
pub(crate) fn learn() {
    let asking = std::thread::Builder::new().name("clock".to_owned());
    if let Err(error) = asking.spawn(local) {
        tracing::debug!(%error, "the local clock is asked for when it is needed");
    }
}

/// Now, as people around here tell the time: what a vendor's "try again at 4:09 AM" is reckoned from.
pub(crate) fn local() -> agents::quota::Now {
    agents::quota::Now { epoch_ms: now().wall_ms, offset_s: *OFFSET.get_or_init(offset_s) }
}

/// How far the local clock is ahead of UTC. Asked once of the system's own tool: the time zone's rules are its business,
/// and a daemon that outlives a change of the clocks is an hour off in a hint.
fn offset_s() -> i32 {
    let said = Command::new("date").arg("+%z").stdin(Stdio::null()).stderr(Stdio::null()).output();
    said.ok().and_then(|said| spelled_offset(str::from_utf8(&said.stdout).ok()?.trim())).unwrap_or(0)
}

/// `+0530` in seconds.
fn spelled_offset(text: &str) -> Option<i32> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_at_checked(2)?;
    Some(sign * (hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60))
}

/// Milliseconds since boot, suspended time included.
pub(crate) fn uptime_ms() -> u64 {
    let boot = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(boot.tv_sec).unwrap_or(0);
    seconds * 1000 + u64::try_from(boot.tv_nsec).unwrap_or(0) / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::spelled_offset;

    #[test]
    fn an_offset_is_read_in_both_directions_and_nonsense_is_not() {
        assert_eq!(spelled_offset("+0530"), Some(19_800));
        assert_eq!(spelled_offset("-0800"), Some(-28_800));
        for bad in ["", "0530", "+", "+x", "+05é"] {
            assert_eq!(spelled_offset(bad), None, "{bad}");
        }
    }
}

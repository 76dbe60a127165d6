//! The offset of the local clock from UTC, by the system's time zone rules.

/// Seconds that the local clock is ahead of UTC at a moment, given in seconds since the epoch. Where nothing is known of a
/// time zone, the local clock is UTC.
#[expect(unsafe_code, reason = "the standard library has no time zones")]
pub fn offset_from_utc(epoch_s: i64) -> i32 {
    // SAFETY: a `tm` is plain numbers and a pointer that is never dereferenced; all zeros is valid.
    let mut local: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to locals that live through the call.
    let known = unsafe { libc::localtime_r(&raw const epoch_s, &raw mut local) };
    if known.is_null() { 0 } else { i32::try_from(local.tm_gmtoff).unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::offset_from_utc;

    #[test]
    fn m4b_the_local_clock_is_within_a_day_of_utc_at_any_moment() {
        for moment in [0, 1_800_000_000, -1, i64::MAX] {
            assert!(offset_from_utc(moment).abs() < 24 * 3600, "{moment}");
        }
    }
}

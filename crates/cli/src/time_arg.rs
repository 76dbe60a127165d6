//! Times as people type them in arguments and read them in output: an age or a moment in UTC. Durations are the same in
//! every face: `client::typed_duration`.

pub(crate) use client::typed_duration::{milliseconds as seconds, unit_seconds};

/// Milliseconds of a second.
const SECOND: u64 = 1000;
/// A number with fewer digits is not milliseconds since the epoch but lacks its unit.
const EPOCH_DIGITS: usize = 12;
const USAGE: &str =
    "an age such as 90s, 10m, 2h or 7d, or a time in UTC such as 2026-11-16 or 2026-11-16T08:30";

/// Returns the moment that a text means, in milliseconds since the epoch.
pub(crate) fn parse(text: &str, now: u64) -> Result<u64, String> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return epoch(text);
    }
    age(text)
        .map(|age| now.saturating_sub(age))
        .or_else(|| time(text))
        .ok_or_else(|| format!("{USAGE}, not {}", proto::Printable(text)))
}

/// Milliseconds since the epoch, as `at` in the JSON.
fn epoch(digits: &str) -> Result<u64, String> {
    if digits.len() < EPOCH_DIGITS {
        return Err(format!("{digits} of what? {USAGE}"));
    }
    digits.parse().map_err(|_| format!("{digits} is too large: milliseconds since the epoch"))
}

fn age(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let count = number(digits)?;
    count.checked_mul(unit_seconds(unit)?)?.checked_mul(SECOND)
}

fn time(text: &str) -> Option<u64> {
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    // jiff also reads hours alone, offsets and time zones, which the usage does not name.
    let is_plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b'T' | b't' | b' ');
    let is_whole = text.contains(':') == (text.len() > "2026-11-16".len());
    if !text.bytes().all(is_plain) || !is_whole {
        return None;
    }
    let moment: jiff::civil::DateTime = text.parse().ok()?;
    let moment = moment.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond();
    u64::try_from(moment).ok()
}

fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

/// Returns a moment with tenths of a second, in UTC.
pub(crate) fn shown_with_tenths(at: u64) -> String {
    let whole = format_utc(at);
    match whole.strip_suffix('Z') {
        Some(seconds) => format!("{seconds}.{}Z", at % SECOND / 100),
        None => whole,
    }
}

/// Returns a moment as a person reads it, in UTC.
pub(crate) fn format_utc(at: u64) -> String {
    let moment =
        i64::try_from(at / SECOND).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    moment.map_or_else(|| format!("{at} ms"), |moment| moment.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_counts_back_from_now_and_not_beyond_the_epoch() {
        let now = 1_000_000_000_000;
        for (text, seconds) in [("90s", 90), ("10m", 600), ("2h", 7200), ("7d", 604_800), ("1w", 604_800)] {
            assert_eq!(parse(text, now), Ok(now - seconds * 1000), "{text}");
        }
        assert_eq!(parse("9999w", 5), Ok(0));
    }

    #[test]
    fn a_time_is_in_utc_and_reads_back_as_it_is_shown() {
        for (text, at) in [
            ("1970-01-01", 0),
            ("2000-02-29T12:00", 951_825_600_000),
            ("2026-11-16 04:13:42", 1_794_802_422_000),
            ("2024-12-31T23:59:59Z", 1_735_689_599_000),
            ("2100-03-01", 4_107_542_400_000),
        ] {
            assert_eq!(parse(text, 0), Ok(at), "{text}");
            assert_eq!(parse(&format_utc(at), 0), Ok(at), "{}", format_utc(at));
        }
        for day in (0..2_932_896_u64).step_by(97) {
            let at = day * 86_400_000 + 45_296_000;
            assert_eq!(parse(&format_utc(at), 0), Ok(at), "{}", format_utc(at));
        }
        assert_eq!(format_utc(u64::MAX), format!("{} ms", u64::MAX));
    }

    #[test]
    fn the_milliseconds_of_the_json_are_a_moment_and_a_forgotten_unit_is_none() {
        assert_eq!(parse("1794802422000", 0), Ok(1_794_802_422_000));
        assert!(parse("60", 0).unwrap_err().starts_with("60 of what?"));
    }

    #[test]
    fn what_is_no_moment_is_told() {
        for bad in [
            "",
            "s",
            "-5m",
            "1.5h",
            "99999999999999999999",
            "99999999999999999w",
            "2026-13-01",
            "2026-02-29",
            "2026-11-16T24:00",
            "2026-11-16T08",
            "2026-11-16T08:30:00:00",
            "2026-11-16-1",
            "1969-12-31",
            "2026-11-16T08:30+01:00",
            "ü",
            "yesterday",
        ] {
            assert!(parse(bad, 0).is_err(), "{bad}");
        }
    }
}

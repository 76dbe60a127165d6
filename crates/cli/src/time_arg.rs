//! A time as people type it in an argument and read it in an answer: an age, or a moment in UTC.

/// Milliseconds of a second.
const SECOND: u64 = 1000;
const DAY_SECONDS: u64 = 86_400;
/// The last second that has a four-digit year.
const LAST_SECOND: u64 = 253_402_300_799;
/// A number with fewer digits is no count of milliseconds since the epoch but a forgotten unit.
const EPOCH_DIGITS: usize = 12;
const USAGE: &str =
    "an age such as 90s, 10m, 2h or 7d, or a time in UTC such as 2026-11-16 or 2026-11-16T08:30";

/// The moment that a text means, in milliseconds since the epoch.
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

/// As `at` in the JSON has it.
fn epoch(digits: &str) -> Result<u64, String> {
    if digits.len() < EPOCH_DIGITS {
        return Err(format!("{digits} of what? {USAGE}"));
    }
    digits.parse().map_err(|_| format!("{digits} is too large: milliseconds since the epoch"))
}

fn age(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => DAY_SECONDS,
        "w" => 7 * DAY_SECONDS,
        _ => return None,
    };
    let count = number(digits)?;
    count.checked_mul(seconds)?.checked_mul(SECOND)
}

fn time(text: &str) -> Option<u64> {
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let (date, clock) = text.split_once(['T', 't', ' ']).unwrap_or((text, "00:00"));
    let mut parts = date.split('-').map(number);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let mut parts = clock.split(':').map(number);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?);
    let is_date = (1970..=9999).contains(&year) && (1..=12).contains(&month);
    let is_clock = hour < 24 && minute < 60 && second < 60 && parts.next().is_none();
    if !is_date || !is_clock || date.split('-').count() != 3 || !(1..=days_in(year, month)).contains(&day) {
        return None;
    }
    let months: u64 = (1..month).map(|month| days_in(year, month)).sum();
    let days = days_before(year) + months + day - 1;
    Some((days * DAY_SECONDS + hour * 3600 + minute * 60 + second) * SECOND)
}

fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

/// Days from the epoch to the first of January.
fn days_before(year: u64) -> u64 {
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    365 * (year - 1970) + leaps(year - 1) - leaps(1969)
}

fn days_in(year: u64, month: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A moment with tenths of a second, in UTC.
pub(crate) fn shown_with_tenths(at: u64) -> String {
    let whole = format_utc(at);
    match whole.strip_suffix('Z') {
        Some(seconds) => format!("{seconds}.{}Z", at % SECOND / 100),
        None => whole,
    }
}

/// A moment as a person reads it, in UTC.
pub(crate) fn format_utc(at: u64) -> String {
    let seconds = at / SECOND;
    if seconds > LAST_SECOND {
        return format!("{at} ms");
    }
    let mut days = seconds / DAY_SECONDS;
    // An average year is longer than 365 days, so the guess is never too late.
    let mut year = 1970 + days / 366;
    while days_before(year + 1) <= days {
        year += 1;
    }
    days -= days_before(year);
    let mut month = 1;
    while days >= days_in(year, month) {
        days -= days_in(year, month);
        month += 1;
    }
    let (hour, minute) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{:02}Z", days + 1, seconds % 60)
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

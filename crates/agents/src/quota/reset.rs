//! Parses the time at which a vendor accepts turns again: instants, clock times and waits. Time zones by name
//! are not supported: a clock time is the machine's own unless it says UTC.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use serde_json::Value;

const SECOND_MS: u64 = 1000;
/// Years in which a day without its year is looked for: the longest between two leap days.
const YEARS: i16 = 8;

/// Numbers below this are seconds since the epoch, the others milliseconds: as milliseconds it lies in 1973.
const LEAST_MILLISECONDS: u64 = 100_000_000_000;

/// The current time where the agent runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since the epoch.
    pub epoch_ms: u64,
    /// The time zone of the local clock.
    pub zone: TimeZone,
}

/// Returns the instant a JSON value names: seconds or milliseconds since the epoch, or a date and time in ISO
/// 8601.
#[must_use]
pub(crate) fn instant(value: &Value) -> Option<u64> {
    if let Some(number) = value.as_u64() {
        return Some(if number < LEAST_MILLISECONDS { number.saturating_mul(SECOND_MS) } else { number });
    }
    iso(value.as_str()?)
}

/// Returns the next instant at which a clock shows this time: `3pm`, `2:40am (UTC)`, `14:05`, `Nov 18th, 2026
/// 2:39 AM`.
#[must_use]
pub(crate) fn reset_time(text: &str, now: &Now) -> Option<u64> {
    let tokens = tokens(text);
    let is_utc = tokens.iter().any(|token| token.is_word("utc") || token.is_word("gmt"));
    let zone = if is_utc { TimeZone::UTC } else { now.zone.clone() };
    let present = Timestamp::from_millisecond(i64::try_from(now.epoch_ms).ok()?).ok()?;
    let today = zone.to_datetime(present).date();
    let time = clock(&tokens)?;
    let on = |day: Date| zone.to_timestamp(day.to_datetime(time)).ok();
    let instant = match date(&tokens) {
        None => on(today).filter(|instant| *instant > present).or_else(|| on(today.tomorrow().ok()?)),
        Some((month, day, Some(year))) => on(Date::new(year, month, day).ok()?),
        Some((month, day, None)) => on(next_day(month, day, today)?),
    };
    milliseconds(instant?)
}

/// Returns the instant after a wait: `59m 55s`, `2 hours`, `1d 3h`.
#[must_use]
pub(crate) fn after(text: &str, now: &Now) -> Option<u64> {
    let tokens = tokens(text);
    let waits = tokens.iter().zip(tokens.iter().skip(1)).filter_map(|(count, unit)| match (count, unit) {
        (TimeWord::Number(count), TimeWord::Word(unit)) => seconds_of(unit)?.checked_mul(*count),
        _ => None,
    });
    let seconds: u64 = waits.fold(0, u64::saturating_add);
    (seconds > 0).then(|| now.epoch_ms.saturating_add(seconds.saturating_mul(SECOND_MS)))
}

fn seconds_of(unit: &str) -> Option<u64> {
    match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3600),
        "d" | "day" | "days" => Some(86_400),
        "w" | "week" | "weeks" => Some(604_800),
        _ => None,
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TimeWord {
    Number(u64),
    Word(String),
    Colon,
}

impl TimeWord {
    fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own == word)
    }

    fn number(&self) -> Option<i16> {
        match self {
            Self::Number(number) => i16::try_from(*number).ok(),
            Self::Word(_) | Self::Colon => None,
        }
    }
}

/// Returns numbers, words in lower case and colons; everything else only separates them.
fn tokens(text: &str) -> Vec<TimeWord> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let same = |c: char| {
            (first.is_ascii_digit() && c.is_ascii_digit()) || (first.is_alphabetic() && c.is_alphabetic())
        };
        let length = rest.find(|c| !same(c)).unwrap_or(rest.len()).max(first.len_utf8());
        let (token, after) = rest.split_at(length);
        match first {
            '0'..='9' => tokens.extend(token.parse().ok().map(TimeWord::Number)),
            ':' => tokens.push(TimeWord::Colon),
            _ if first.is_alphabetic() => tokens.push(TimeWord::Word(token.to_lowercase())),
            _ => {}
        }
        rest = after;
    }
    tokens
}

/// Returns the time of day.
fn clock(tokens: &[TimeWord]) -> Option<Time> {
    (0..tokens.len()).find_map(|from| {
        let tokens = tokens.get(from..)?;
        let hour = tokens.first()?.number()?;
        let (minute, behind) = match (tokens.get(1), tokens.get(2)) {
            (Some(TimeWord::Colon), Some(minute)) => (Some(minute.number()?), tokens.get(3)),
            (unit, _) => (None, unit),
        };
        let is_am = behind.is_some_and(|word| word.is_word("am"));
        let is_pm = behind.is_some_and(|word| word.is_word("pm"));
        if minute.is_none() && !is_am && !is_pm {
            return None;
        }
        let hour = match (is_am || is_pm, hour) {
            (true, 1..=12) => hour % 12 + if is_pm { 12 } else { 0 },
            (false, 0..=23) => hour,
            _ => return None,
        };
        let part = |number: i16| i8::try_from(number).ok();
        Time::new(part(hour)?, part(minute.unwrap_or(0))?, 0, 0).ok()
    })
}

/// Returns month, day and year, where the text has them.
fn date(tokens: &[TimeWord]) -> Option<(i8, i8, Option<i16>)> {
    let found = tokens.iter().enumerate().find_map(|(at, token)| Some((at, month(token)?)));
    let (at, month) = found?;
    let numbers = || tokens.iter().skip(at + 1).filter_map(TimeWord::number);
    let day = i8::try_from(numbers().next()?).ok()?;
    let year = numbers().nth(1).filter(|year| (2000..10_000).contains(year));
    Some((month, day, year))
}

fn month(token: &TimeWord) -> Option<i8> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let TimeWord::Word(word) = token else { return None };
    let at = MONTHS.iter().position(|month| word.starts_with(month))?;
    i8::try_from(at + 1).ok()
}

/// Returns the next such day, today included.
fn next_day(month: i8, day: i8, today: Date) -> Option<Date> {
    let mut years = today.year()..=today.year().saturating_add(YEARS);
    years.find_map(|year| Date::new(year, month, day).ok().filter(|day| *day >= today))
}

/// Parses `2026-11-16T01:52:58.711Z`, with any offset; a date without one is in UTC.
fn iso(text: &str) -> Option<u64> {
    let text = text.trim();
    // A date alone is no instant.
    text.split_once(['T', ' '])?;
    let in_utc = || text.parse::<DateTime>().ok().and_then(|moment| TimeZone::UTC.to_timestamp(moment).ok());
    milliseconds(text.parse().ok().or_else(in_utc)?)
}

/// Returns an instant in milliseconds since the epoch; none before it.
fn milliseconds(instant: Timestamp) -> Option<u64> {
    u64::try_from(instant.as_millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// 2026-11-16 01:53:11 UTC.
    const NOW_S: u64 = 1_794_793_991;
    const NOW: Now = Now { epoch_ms: NOW_S * 1000, zone: TimeZone::UTC };

    fn east() -> Now {
        Now { zone: TimeZone::fixed(jiff::tz::offset(1)), ..NOW }
    }

    /// Seconds from now.
    fn until(text: &str, now: Now) -> Option<i64> {
        Some(i64::try_from(reset_time(text, &now)? / 1000).unwrap() - i64::try_from(NOW_S).unwrap())
    }

    #[test]
    fn a_clock_time_is_the_next_one() {
        let (hour, minute) = (3600, 60);
        assert_eq!(until("3am", NOW), Some(hour + 6 * minute + 49));
        assert_eq!(until("2:53am (UTC)", NOW), Some(59 * minute + 49));
        assert_eq!(until("1:00 AM.", NOW), Some(23 * hour + 6 * minute + 49));
        assert_eq!(until("3pm", NOW), Some(13 * hour + 6 * minute + 49));
        assert_eq!(until("12am", NOW), Some(22 * hour + 6 * minute + 49));
        assert_eq!(until("14:05", NOW), Some(12 * hour + 11 * minute + 49));
    }

    #[test]
    fn a_clock_time_is_local_unless_it_says_utc() {
        assert_eq!(until("4am", east()), until("3am", NOW));
        assert_eq!(until("3am (UTC)", east()), until("3am", NOW));
    }

    #[test]
    fn a_date_is_read_with_and_without_its_year() {
        let day = 86_400;
        assert_eq!(until("Nov 18, 1:53am", NOW), Some(2 * day - 11));
        assert_eq!(until("Nov 18th, 2026 1:53 AM", NOW), Some(2 * day - 11));
        assert_eq!(until("Jan 1 at 12am", NOW), Some(46 * day - 6791));
    }

    #[test]
    fn a_clock_time_behind_a_change_of_the_clock_counts_with_it() {
        // A Friday, 8 pm; on the Sunday after it the clock goes back from 2 to 1.
        let zone = TimeZone::posix("EST5EDT,M3.2.0,M11.1.0").unwrap();
        let now = Now { epoch_ms: 1_793_404_800_000, zone };
        let day = |text: &str| (reset_time(text, &now).unwrap() - now.epoch_ms) / 1000;
        assert_eq!(day("Oct 31, 2026 8pm"), 86_400);
        assert_eq!(day("Nov 1, 2026 8pm"), 2 * 86_400 + 3600, "that day has 25 hours");
    }

    #[test]
    fn text_without_a_time_is_no_time() {
        for text in ["soon", "", "25:00", "13pm", "3", "Nov 18", "12:75", "Feb 30, 2027 1am"] {
            assert_eq!(reset_time(text, &NOW), None, "{text}");
        }
    }

    #[test]
    fn waits_add_up() {
        let wait = |text: &str| after(text, &NOW).map(|at| at / 1000 - NOW_S);
        assert_eq!(wait("59m 55s"), Some(3595));
        assert_eq!(wait("1 day 2 hours"), Some(93_600));
        assert_eq!(wait("3600s"), Some(3600));
        assert_eq!(wait("a while"), None);
    }

    #[test]
    fn instants_are_read_in_every_unit() {
        let expected = Some(NOW_S * 1000);
        assert_eq!(instant(&json!(NOW_S)), expected);
        assert_eq!(instant(&json!(NOW_S * 1000)), expected);
        assert_eq!(instant(&json!("2026-11-16T01:53:11Z")), expected);
        assert_eq!(instant(&json!("2026-11-16T02:53:11.000+01:00")), expected);
        assert_eq!(instant(&json!("2026-11-15T20:53:11-0500")), expected);
        assert_eq!(instant(&json!("2026-13-16T01:53:11Z")), None);
        assert_eq!(instant(&json!(null)), None);
    }

    proptest! {
        #[test]
        fn times_of_any_text_never_panic(text in ".{0,40}", digits in "[0-9:apm T.+-]{0,30}") {
            for text in [text, digits] {
                let _at = reset_time(&text, &east());
                let _after = after(&text, &east());
                let _instant = instant(&json!(text));
            }
        }
    }
}

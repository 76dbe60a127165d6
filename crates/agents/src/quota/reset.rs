//! Parses the time at which a vendor accepts turns again: instants, clock times and waits. Time zones by name
//! are not supported: a clock time is the machine's own unless it says UTC.

use serde_json::Value;

const SECOND_MS: u64 = 1000;
const DAY_S: i64 = 86_400;

/// Numbers below this are seconds since the epoch, the others milliseconds: as milliseconds it lies in 1973.
const LEAST_MILLISECONDS: u64 = 100_000_000_000;

/// The current time where the agent runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since the epoch.
    pub epoch_ms: u64,
    /// How far the local clock is ahead of UTC, in seconds.
    pub offset_s: i32,
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
pub(crate) fn at(text: &str, now: Now) -> Option<u64> {
    let tokens = tokens(text);
    let is_utc = tokens.iter().any(|token| token.is_word("utc") || token.is_word("gmt"));
    let offset = if is_utc { 0 } else { i64::from(now.offset_s) };
    let now_s = i64::try_from(now.epoch_ms / SECOND_MS).ok()? + offset;
    let time = clock(&tokens)?;
    let today = now_s.div_euclid(DAY_S);
    let day = match date(&tokens) {
        None if today * DAY_S + time > now_s => today,
        None => today + 1,
        Some((month, day, Some(year))) => days(year, month, day),
        Some((month, day, None)) => next_day(month, day, today),
    };
    u64::try_from(day * DAY_S + time - offset).ok()?.checked_mul(SECOND_MS)
}

/// Returns the instant after a wait: `59m 55s`, `2 hours`, `1d 3h`.
#[must_use]
pub(crate) fn after(text: &str, now: Now) -> Option<u64> {
    let tokens = tokens(text);
    let waits = tokens.iter().zip(tokens.iter().skip(1)).filter_map(|(count, unit)| match (count, unit) {
        (Token::Number(count), Token::Word(unit)) => seconds_of(unit)?.checked_mul(*count),
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
enum Token {
    Number(u64),
    Word(String),
    Colon,
}

impl Token {
    fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own == word)
    }

    fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => i64::try_from(*number).ok(),
            Self::Word(_) | Self::Colon => None,
        }
    }
}

/// Returns numbers, words in lower case and colons; everything else only separates them.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let same = |c: char| {
            (first.is_ascii_digit() && c.is_ascii_digit()) || (first.is_alphabetic() && c.is_alphabetic())
        };
        let length = rest.find(|c| !same(c)).unwrap_or(rest.len()).max(first.len_utf8());
        let (token, after) = rest.split_at(length);
        match first {
            '0'..='9' => tokens.extend(token.parse().ok().map(Token::Number)),
            ':' => tokens.push(Token::Colon),
            _ if first.is_alphabetic() => tokens.push(Token::Word(token.to_lowercase())),
            _ => {}
        }
        rest = after;
    }
    tokens
}

/// Returns the time of day, in seconds.
fn clock(tokens: &[Token]) -> Option<i64> {
    (0..tokens.len()).find_map(|from| {
        let tokens = tokens.get(from..)?;
        let hour = tokens.first()?.number()?;
        let (minute, behind) = match (tokens.get(1), tokens.get(2)) {
            (Some(Token::Colon), Some(minute)) => (Some(minute.number()?), tokens.get(3)),
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
        let minute = minute.unwrap_or(0);
        (0..60).contains(&minute).then_some(hour * 3600 + minute * 60)
    })
}

/// Returns month, day and year, where the text has them.
fn date(tokens: &[Token]) -> Option<(i64, i64, Option<i64>)> {
    let found = tokens.iter().enumerate().find_map(|(at, token)| Some((at, month(token)?)));
    let (at, month) = found?;
    let numbers = || tokens.iter().skip(at + 1).filter_map(Token::number);
    let day = numbers().next().filter(|day| (1..=31).contains(day))?;
    let year = numbers().nth(1).filter(|year| (2000..10_000).contains(year));
    Some((month, day, year))
}

fn month(token: &Token) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let Token::Word(word) = token else { return None };
    let at = MONTHS.iter().position(|month| word.starts_with(month))?;
    i64::try_from(at + 1).ok()
}

/// Returns the next such day, today included.
fn next_day(month: i64, day: i64, today: i64) -> i64 {
    let year = 1970 + today.div_euclid(365);
    let candidates = (year - 2..=year + 2).map(|year| days(year, month, day));
    candidates.filter(|candidate| *candidate >= today).min().unwrap_or(today)
}

/// Days from the epoch to a day of the Gregorian calendar. Years are counted from March, so that the leap day is last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let before_month = (153 * month + 2) / 5;
    // 719,468 days lie between the first of March of the year 0 and the epoch.
    365 * year + leap_days + before_month + day - 1 - 719_468
}

/// Parses `2026-11-16T01:52:58.711Z`, with any offset; a date without one is in UTC.
fn iso(text: &str) -> Option<u64> {
    let (date, time) = text.trim().split_once(['T', ' '])?;
    let mut date = date.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (time, offset) = split_offset(time)?;
    let mut time = time.split(':');
    let (hour, minute) = (time.next()?.parse::<i64>().ok()?, time.next()?.parse::<i64>().ok()?);
    let seconds: f64 = time.next().unwrap_or("0").parse().ok()?;
    let is_sane = (1970..10_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_sane || !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0.0..61.0).contains(&seconds) {
        return None;
    }
    let whole = days(year, month, day) * DAY_S + hour * 3600 + minute * 60 - offset;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 61,000")]
    let milliseconds = (seconds * 1000.0) as u64;
    u64::try_from(whole).ok()?.checked_mul(SECOND_MS)?.checked_add(milliseconds)
}

/// Splits a time into itself and its offset in seconds.
fn split_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let Some(at) = time.rfind(['+', '-']) else { return Some((time, 0)) };
    let (time, offset) = time.split_at(at);
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let digits: String = offset.chars().filter(char::is_ascii_digit).collect();
    let hours: i64 = digits.get(..2)?.parse().ok()?;
    let minutes: i64 =
        digits.get(2..).filter(|minutes| !minutes.is_empty()).map_or(Ok(0), str::parse).ok()?;
    Some((time, sign * (hours * 3600 + minutes * 60)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// 2026-11-16 01:53:11 UTC.
    const NOW_S: u64 = 1_794_793_991;
    const NOW: Now = Now { epoch_ms: NOW_S * 1000, offset_s: 0 };
    const EAST: Now = Now { epoch_ms: NOW_S * 1000, offset_s: 3600 };

    /// Seconds from now.
    fn until(text: &str, now: Now) -> Option<i64> {
        Some(i64::try_from(at(text, now)? / 1000).unwrap() - i64::try_from(NOW_S).unwrap())
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
        assert_eq!(until("4am", EAST), until("3am", NOW));
        assert_eq!(until("3am (UTC)", EAST), until("3am", NOW));
    }

    #[test]
    fn a_date_is_read_with_and_without_its_year() {
        let day = 86_400;
        assert_eq!(until("Nov 18, 1:53am", NOW), Some(2 * day - 11));
        assert_eq!(until("Nov 18th, 2026 1:53 AM", NOW), Some(2 * day - 11));
        assert_eq!(until("Jan 1 at 12am", NOW), Some(46 * day - 6791));
    }

    #[test]
    fn text_without_a_time_is_no_time() {
        for text in ["soon", "", "25:00", "13pm", "3", "Nov 18", "12:75"] {
            assert_eq!(at(text, NOW), None, "{text}");
        }
    }

    #[test]
    fn waits_add_up() {
        let wait = |text: &str| after(text, NOW).map(|at| at / 1000 - NOW_S);
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
                let _at = at(&text, EAST);
                let _after = after(&text, EAST);
                let _instant = instant(&json!(text));
            }
        }
    }
}
